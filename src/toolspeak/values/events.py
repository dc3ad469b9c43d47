"""Events: one vocabulary from the readers through the loop to every surface.

Events are a closed union of two sorts. **Deltas** are for display only: never folded, logged or kept. **Facts** are the
run itself: the loop is a fold over them, and a run is resumed from them. A start (`TurnStarted`, `ToolStarted`) is
recorded as a fact before the request is sent or the tool is run.

A call has four facts. `CallStarted`: the model has begun to write the call. `CallReady`: the call is complete.
`ToolStarted`: its function runs. `ToolFinished`: its result is known. A *quoted* call (`CallQuoted`) was copied by the
model from a text that it was shown. A call of a durable run may wait in between: `ToolSuspended`, `WaitOver`, and
`ToolStarted` again.

A call may run an agent of its own (`Agent.as_tool`). The events of that inner run are events of the outer run too, as
`NestedDelta` and `NestedFact`.
"""

from typing import ClassVar, Literal, TypeAlias

from toolspeak.values.frozen import frozen
from toolspeak.values.limits import Limits
from toolspeak.values.limits import Usage as Usage
from toolspeak.values.messages import Json, Message, Text, ToolCall, ToolResult
from toolspeak.values.origin import Origin
from toolspeak.values.spec import ToolSpec

FinishReason: TypeAlias = Literal["stop", "tool_calls", "length", "refused", "closed", "error"]
"""How a message ended. `closed`: toolspeak closed the stream, because the calls of the message were complete."""

ENDED_WELL: frozenset[FinishReason] = frozenset({"stop", "tool_calls", "closed"})
"""The reasons after which the calls of a message may run."""

Repair: TypeAlias = Literal["none", "syntax", "quotes", "closers", "shape"]
"""What had to be repaired so that a call could be parsed, from nothing to its whole structure."""

StopReason: TypeAlias = Literal["answered", "empty", "length", "refused", "limit", "loop", "cancelled", "error"]
"""Why a run ended.

- `answered`: the model answered without a call, or gave the typed answer.
- `empty`: the model sent neither text nor a call, twice in a row.
- `length`: the message was cut off at the token limit.
- `refused`: the endpoint refused to answer.
- `limit`: a limit of the run was reached, or the model did not make a required call.
- `loop`: the model kept repeating the same call, or made only calls that could not run.
- `cancelled`: the run was stopped from outside.
- `error`: the endpoint failed, or a function that the run needs, such as an approver.
"""


@frozen
class ToolChoice:
    """Which tools the model may or must call.

    Attributes:
        mode: `auto`: the model decides. `none`: it may call no tool. `required`: it must call at least one. `named`: it
            must call all of `names`.
        names: The names of the tools, with `named`.
    """

    mode: Literal["auto", "none", "required", "named"] = "auto"
    names: tuple[str, ...] = ()


AUTO = ToolChoice()
"""The model decides."""


# Deltas


@frozen
class TextDelta:
    """More text of the model's message."""

    kind: ClassVar[Literal["text_delta"]] = "text_delta"
    text: str


@frozen
class ThinkingDelta:
    """More of the model's reasoning."""

    kind: ClassVar[Literal["thinking_delta"]] = "thinking_delta"
    text: str


@frozen
class ArgsDelta:
    """More of a call's arguments, as JSON. Joined, the texts are the arguments in `CallReady`."""

    kind: ClassVar[Literal["args_delta"]] = "args_delta"
    call_id: str
    text: str


@frozen
class ToolProgress:
    """The function of a call, or the MCP server of its tool, reports its progress. Of many reports some are skipped.

    Attributes:
        call_id: The id of the call.
        done: The amount of work done.
        total: The total amount of work; None if it is unknown.
        text: The current step, in words for the user.
    """

    kind: ClassVar[Literal["tool_progress"]] = "tool_progress"
    call_id: str
    done: float
    total: float | None = None
    text: str = ""

    @property
    def summary(self) -> str:
        """The progress in words, such as `3 of 10, page 3`."""
        count = f"{self.done:g}" if self.total is None else f"{self.done:g} of {self.total:g}"
        return f"{count}, {self.text}" if self.text else count


# Facts: the run


@frozen
class Compacted:
    """The conversation became too long, and from here on the model is shown less of it. Nothing is lost from the facts.

    Messages are counted without system messages. The summary replaces the first `dropped` of them. In the following
    ones, up to `through`, long results are shortened; the rest is shown whole. This fact replaces an earlier one.

    Attributes:
        through: The number of messages that are dropped or have their results shortened.
        summary: The text that replaces the dropped messages.
        dropped: The number of dropped messages.
        rounds: The number of dropped rounds: questions with their answers, calls with their results.
        prompt: The position of the run's prompt, if it is among the dropped messages: it is shown all the same. None
            if it is not among them.
        shortened: The number of shortened results.
        failure: Why the summary is only a list of the dropped rounds: the error of the model or the function that
            should have written it. "" if it did not fail.
        usage: The tokens of the request for the summary.
        cost: Their cost in US dollars; None if the price is unknown.
    """

    kind: ClassVar[Literal["compacted"]] = "compacted"
    through: int
    summary: str = ""
    dropped: int = 0
    rounds: int = 0
    prompt: int | None = None
    shortened: int = 0
    failure: str = ""
    usage: Usage = Usage()
    cost: float | None = 0.0


EscalationCause: TypeAlias = Literal["loop", "malformed", "missing"]
"""When the next model is asked, although the current one answers.

- `loop`: it made the same call with the same result three times.
- `malformed`: no call of its last two messages could run.
- `missing`: two answers lacked a required call, or were empty.
"""


@frozen
class Escalation:
    """When another model is asked for a message, and which one.

    Attributes:
        causes: When another model is asked.
        models: The names of the models, in the order in which they are asked.
    """

    causes: tuple[EscalationCause, ...]
    models: tuple[str, ...]


Provenance: TypeAlias = Literal["ask", "refuse", "off"]
"""What happens to a call with a value that comes neither from the user nor from the program nor from its own data.

- `ask`: the call needs approval, and the approver gets the reason (`Doubt`). Without an approver, the run pauses.
- `refuse`: the call does not run, and the model is told why.
- `off`: the call runs.
"""


@frozen
class RunStarted:
    """The run starts with these messages and options.

    Attributes:
        output: The name of the tool that the model calls to give the typed answer; None if the answer has no type.
        model: The name of the first model; `TurnStarted` names the model of each turn.
        in_text: Whether calls are written in the text of messages, so that a stream can be closed after one.
        has_approver: Whether an approver can decide about a quoted call. If not, such a call is refused.
        tools: The specs of the tools that the model was offered, so that a saved run can be shown without its program.
            A resumed run uses the tools of the program that resumes it.
        compacted: The compaction of `messages` by an earlier run; None if they are shown whole.
        tool_budget: The most tokens that the tools may take in a request.
        search_tools: The names of the tools `help` and `find_tools`, if the run has a budget. They have other names if
            these were taken. Stored, since another tool could imitate their descriptions.
        guided: Whether a model that is stuck gets guidance (`Guided`), or one warning only, as in older versions.
        escalation: When another model is asked for a message because the first one is stuck; None for never.
        provenance: What happens to calls with values from untrusted sources. "off" in runs of older versions.
        exposed: Whether a model that wrote part of the prompt was shown a result that is declared as foreign.
        figures: Whether results are followed by what `toolspeak.dialects.figures` works out from them.
    """

    kind: ClassVar[Literal["run_started"]] = "run_started"
    run_id: str
    model: str
    dialect: str
    messages: tuple[Message, ...]
    choice: ToolChoice = AUTO
    parallel: bool = True
    limits: Limits = Limits()
    output: str | None = None
    in_text: bool = False
    has_approver: bool = False
    tools: tuple[ToolSpec, ...] = ()
    compacted: Compacted | None = None
    tool_budget: int | None = None
    search_tools: tuple[str, ...] = ()
    guided: bool = False
    escalation: Escalation | None = None
    provenance: Provenance = "off"
    exposed: bool = False
    figures: bool = False


@frozen
class RunResumed:
    """The run was resumed from its facts alone.

    Attributes:
        limits: The limits of the run from here on; None if they stay as they were.
    """

    kind: ClassVar[Literal["run_resumed"]] = "run_resumed"
    limits: Limits | None = None


@frozen
class Interrupted:
    """The run was stopped from outside: by a cancellation, a deadline, a failure or a full context.

    Attributes:
        cause: Why it was stopped. `endpoint` covers all failures: of the endpoint, and of functions that the run needs.
        detail: The reason in words.
    """

    kind: ClassVar[Literal["interrupted"]] = "interrupted"
    cause: Literal["cancelled", "deadline", "endpoint", "context"]
    detail: str = ""


@frozen
class RunEnded:
    """The run has ended, with or without an answer. `detail` is the reason in words for the user."""

    kind: ClassVar[Literal["run_ended"]] = "run_ended"
    reason: StopReason
    detail: str = ""


# Facts: a turn of the model


@frozen
class TurnStarted:
    """A model is about to be asked for its next message.

    Attributes:
        turn: The number of the turn, from 1.
        model: The name of the model that is asked; "" in facts of older versions.
        dialect: The dialect in which it is asked.
        in_text: Whether it writes calls in the text of its message; None means as in `RunStarted`.
        context: The tokens of its context, if the model has such a limit.
    """

    kind: ClassVar[Literal["turn_started"]] = "turn_started"
    turn: int
    model: str = ""
    dialect: str = ""
    in_text: bool | None = None
    context: int | None = None


@frozen
class TurnRestarted:
    """The model failed to finish its message, and another one is asked for it: `TurnStarted` follows.

    A durable run asks the same models again later; then `failed` and `model` are the same.

    Everything from this turn so far is discarded; remove it from the display, too. Running calls are cancelled.

    Attributes:
        turn: The number of the turn.
        failed: The name of the model that failed.
        reason: Why it failed.
        model: The name of the model that is asked now.
    """

    kind: ClassVar[Literal["turn_restarted"]] = "turn_restarted"
    turn: int
    failed: str
    reason: str
    model: str


@frozen
class CallStarted:
    """The model has begun to write a call: the name is known, the arguments are still arriving."""

    kind: ClassVar[Literal["call_started"]] = "call_started"
    call_id: str
    name: str


@frozen
class CallReady:
    """A call is complete. Its function has not run yet.

    Attributes:
        call: The call, with arguments coerced to fit the tool as far as possible.
        repair: What had to be repaired so that it could be parsed.
        written: The arguments of an API call as the model wrote them; "" if they were not changed. The text of a call
            that was parsed from text is in the `raw` of the message.
    """

    kind: ClassVar[Literal["call_ready"]] = "call_ready"
    call: ToolCall
    repair: Repair = "none"
    written: str = ""


@frozen
class CallQuoted:
    """A call that was parsed from text is a quotation: it occurs in a text that neither user nor program wrote.

    The fact follows the `CallReady` of the call. Such a call runs only if somebody approves it.

    Attributes:
        call_id: The id of the call.
        result_id: The id of the call whose result contains it; "" if another text does.
        tool: The tool that returned the result, or whose description contains the call; else "".
        origin: The origin of the text that contains it; None in files of versions without origins.
    """

    kind: ClassVar[Literal["call_quoted"]] = "call_quoted"
    call_id: str
    result_id: str = ""
    tool: str = ""
    origin: Origin | None = None


@frozen
class CallMalformed:
    """The model tried to write a call that cannot be parsed or has no tool. The model is told why.

    Attributes:
        name: The name of the tool, if it is known.
        raw: The text of the call.
        reason: What is wrong.
        hint: What the model can do about it.
    """

    kind: ClassVar[Literal["call_malformed"]] = "call_malformed"
    call_id: str
    name: str | None
    raw: str
    reason: str
    hint: str = ""

    @property
    def reply(self) -> str:
        """The reason and the hint, as the model is told."""
        return f"{self.reason}. {self.hint}".strip() if self.hint else self.reason


@frozen
class SaidInThought:
    """All text and calls of this turn so far turned out to be reasoning, and are discarded."""

    kind: ClassVar[Literal["said_in_thought"]] = "said_in_thought"


@frozen
class TurnEnded:
    """The message of the model is complete.

    Attributes:
        message: The message.
        finish: How it ended.
        usage: The tokens of the turn.
        cost: Their cost in US dollars, at the prices of that day; None if the price is unknown.
        stop_text: The stop text that ended the message, if one did and the endpoint reports it.
        thought_calls: The calls in its reasoning, if the message has no others. Calls in reasoning are not made.
    """

    kind: ClassVar[Literal["turn_ended"]] = "turn_ended"
    message: Message
    finish: FinishReason
    usage: Usage = Usage()
    cost: float | None = None
    stop_text: str = ""
    thought_calls: tuple[ToolCall, ...] = ()


LossCause: TypeAlias = Literal["repeated", "failing", "thought", "missing"]
"""How a model is stuck.

- `repeated`: it repeated a call with the same result.
- `failing`: no call of its last messages could run.
- `thought`: it wrote a call in its reasoning, and none in its message.
- `missing`: it did not make a required call, or wrote nothing.
"""


@frozen
class Guided:
    """The model is stuck, and gets guidance before its next message.

    Attributes:
        cause: How the model is stuck.
        step: `told`: it is told what it has tried without success, and what it has not tried. `withheld`: calls of
            `tools` do not run in its next message. `escalated`: another model is asked for the next message. `words`:
            it is asked for its answer, and no calls run in its next message.
        tools: The tools that it called without success, or did not call.
        note: What the model is told; None if it was told before.
        model: The name of the model that is asked for the next message, if it is another one; else "".
    """

    kind: ClassVar[Literal["guided"]] = "guided"
    cause: LossCause
    step: Literal["told", "withheld", "escalated", "words"]
    tools: tuple[str, ...] = ()
    note: Text | None = None
    model: str = ""

    @property
    def summary(self) -> str:
        """The cause and the step in words, such as `the model repeated look and was told so`."""
        names = ", ".join(self.tools) or "a tool"
        causes = {
            "repeated": f"repeated {names}",
            "failing": f"failed to call {names}",
            "thought": f"called {names} only in its reasoning",
            "missing": f"did not call {names}" if self.tools else "wrote nothing",
        }
        asked = f"{self.model} is asked" if self.model else "is asked"
        steps = {
            "told": "was told so",
            "withheld": "may not call it in the next message",
            "escalated": f"{asked} for the next message",
            "words": f"{asked} for an answer without calls",
        }
        return f"the model {causes[self.cause]} and {steps[self.step]}"


# Facts: tools


MAX_SHOWN_CHARS = 200
"""Characters of a value that a person is shown in a question."""

UNSAID = "is nothing that you, the program or its own data said"


@frozen
class Doubt:
    """A value in a call that comes from an untrusted source: not from the user, the program or its own data.

    Attributes:
        parameter: The parameter, with the position in its value: `recipient`, `recipients[0]`, `order.amount`.
        value: The value; for a long text its beginning, its length and its digest.
        tool: The tool in whose result the value was found; "" if it was found in no result.
        result_id: The id of the call that had this result; "" for other texts, such as an attachment.
        around: The words around the value in the text in which it was found; "" if it was found nowhere: the model
            may have made it up.
    """

    parameter: str
    value: Json
    tool: str = ""
    result_id: str = ""
    around: str = ""

    @property
    def summary(self) -> str:
        """The reason in words, such as `to "evil@x.org" is from the result of read_page: "…mail evil@x.org…"`."""
        import json  # imported, as the next one, with the first doubt

        from toolspeak.values.escaping import reveal

        text = json.dumps(self.value, ensure_ascii=False)
        shown = text if len(text) <= MAX_SHOWN_CHARS else f"{text[:MAX_SHOWN_CHARS]}…"
        place = f"the result of {self.tool}" if self.tool else "text that somebody else wrote"
        reason = f"is from {place}: “{self.around}”" if self.around else UNSAID
        return reveal(f"{self.parameter} {shown} {reason}", keeps_lines=False)


@frozen
class ApprovalNeeded:
    """A call needs approval. `ApprovalGiven` has the decision.

    Attributes:
        call: The call.
        digest: In a durable run, a digest of the tool, its schema and the arguments, for which a decision is valid.
        doubts: The values of the call that come from untrusted sources.
    """

    kind: ClassVar[Literal["approval_needed"]] = "approval_needed"
    call: ToolCall
    digest: str = ""
    doubts: tuple[Doubt, ...] = ()


BY_RULE = "the tool's own rule"
"""`ApprovalGiven.by` of a call whose rule (`tool(approve=function)`) requires no approval."""

BY_PROVENANCE = "provenance"
"""`ApprovalGiven.by` of a call that was refused because of a value in doubt, where `provenance` is `refuse`."""


@frozen
class ApprovalGiven:
    """Somebody has decided whether a call may run.

    Attributes:
        call_id: The id of the call.
        approved: Whether it may run.
        reason: Why it was refused.
        by: Who decided, if that is known.
        remember: Whether the values that were in doubt are allowed for the rest of the conversation.
    """

    kind: ClassVar[Literal["approval_given"]] = "approval_given"
    call_id: str
    approved: bool
    reason: str = ""
    by: str = ""
    remember: bool = False


@frozen
class Allow:
    """A decision of an approver: the call may run.

    Attributes:
        remember: Whether the values that were in doubt are allowed for the rest of the conversation, too.
    """

    remember: bool = False


@frozen
class ToolStarted:
    """The function of a call is about to run."""

    kind: ClassVar[Literal["tool_started"]] = "tool_started"
    call_id: str


@frozen
class ToolSuspended:
    """The function of a call waits, and does not run meanwhile. It is called again after `WaitOver`.

    Attributes:
        call_id: The id of the call.
        number: The number of the wait in this call, from 1.
        signal: The name of the signal that the call waits for; "" if it only waits for a time.
        seconds: The longest time to wait, from this fact on; None for no limit.
    """

    kind: ClassVar[Literal["tool_suspended"]] = "tool_suspended"
    call_id: str
    number: int
    signal: str = ""
    seconds: float | None = None

    @property
    def summary(self) -> str:
        """What the call waits for, such as `waits for payment-42, at most 60 s`."""
        if not self.signal:
            return f"waits {self.seconds:g} s"
        return f"waits for {self.signal}" + ("" if self.seconds is None else f", at most {self.seconds:g} s")


@frozen
class WaitOver:
    """A wait of a call is over: its time has passed, or the signal arrived.

    Attributes:
        call_id: The id of the call.
        number: The number of the wait in this call, from 1.
        signal: The name of the signal that it waited for; "" if it only waited for a time.
        came: Whether the signal arrived.
        value: The value of the signal.
    """

    kind: ClassVar[Literal["wait_over"]] = "wait_over"
    call_id: str
    number: int
    signal: str = ""
    came: bool = False
    value: Json = None

    @property
    def summary(self) -> str:
        """Why the wait is over, such as `payment-42 came`."""
        return f"{self.signal} {'came' if self.came else 'did not come'}" if self.signal else "the time has passed"


@frozen
class ToolFinished:
    """A call has a result: what its function returned, or why it failed or did not run."""

    kind: ClassVar[Literal["tool_finished"]] = "tool_finished"
    result: ToolResult


@frozen
class HandedOver:
    """Another agent takes over the conversation, as soon as all calls of the turn have results.

    Attributes:
        call_id: The call that hands the conversation over.
        agent: The name of the other agent, which is the name of the called tool.
        system: Its system prompt, which replaces the one in the conversation.
        model: Its model; `dialect`, `choice` and the others are its options, as in `RunStarted`.
    """

    kind: ClassVar[Literal["handed_over"]] = "handed_over"
    call_id: str
    agent: str
    model: str
    dialect: str
    system: str | None = None
    choice: ToolChoice = AUTO
    parallel: bool = True
    in_text: bool = False
    has_approver: bool = False
    tools: tuple[ToolSpec, ...] = ()
    tool_budget: int | None = None
    search_tools: tuple[str, ...] = ()
    escalation: Escalation | None = None
    provenance: Provenance | None = None


OwnDelta: TypeAlias = TextDelta | ThinkingDelta | ArgsDelta | ToolProgress
"""A delta of the run itself, not of an inner run."""
OwnFact: TypeAlias = (
    RunStarted
    | RunResumed
    | Compacted
    | TurnStarted
    | TurnRestarted
    | CallStarted
    | CallReady
    | CallQuoted
    | CallMalformed
    | SaidInThought
    | TurnEnded
    | Guided
    | ApprovalNeeded
    | ApprovalGiven
    | ToolStarted
    | ToolSuspended
    | WaitOver
    | ToolFinished
    | HandedOver
    | Interrupted
    | RunEnded
)
"""A fact of the run itself, not of an inner run."""


# Events of inner runs


@frozen
class NestedDelta:
    """A delta of an inner run, of an agent that is a tool of this run.

    Attributes:
        path: The ids of the calls that lead to the inner run, from the outermost run.
        event: The delta.
    """

    kind: ClassVar[Literal["nested_delta"]] = "nested_delta"
    path: tuple[str, ...]
    event: OwnDelta


@frozen
class NestedFact:
    """A fact of an inner run, of an agent that is a tool of this run.

    Attributes:
        path: The ids of the calls that lead to the inner run, from the outermost run.
        event: The fact.
    """

    kind: ClassVar[Literal["nested_fact"]] = "nested_fact"
    path: tuple[str, ...]
    event: OwnFact


def join_ids(path: tuple[str, ...], call_id: str) -> str:
    """Return the id that a call of an inner run has in the outermost run."""
    return "/".join((*path, call_id))


Delta: TypeAlias = OwnDelta | NestedDelta
"""A piece to display as it arrives. Deltas are not kept."""

Fact: TypeAlias = OwnFact | NestedFact
"""Something that happened. Facts are saved, and a run is resumed from them."""

Event: TypeAlias = Delta | Fact
"""A delta or a fact, as streams yield them. Distinguish them by `kind` or by their class."""
