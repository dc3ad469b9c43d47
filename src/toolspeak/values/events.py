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
"""How a message ended. `closed`: toolspeak closed the stream, since the message was complete enough."""

ENDED_WELL: frozenset[FinishReason] = frozenset({"stop", "tool_calls", "closed"})
"""The ways in which a message ends well, so that its calls may run."""

Repair: TypeAlias = Literal["none", "syntax", "quotes", "closers", "shape"]
"""How much of a call had to be repaired to be read, from nothing to its whole shape."""

StopReason: TypeAlias = Literal["answered", "empty", "length", "refused", "limit", "loop", "cancelled", "error"]
"""Why a run ended.

- `answered`: the model answered without a call, or gave the typed answer.
- `empty`: the model sent neither text nor a call, twice in a row.
- `length`: the message was cut off at the most tokens that it may have.
- `refused`: the endpoint refused to answer.
- `limit`: a limit of the run was reached, or the model did not make a call that it had to make.
- `loop`: the model made the same call again and again, or only calls that could not be run.
- `cancelled`: the run was stopped from outside.
- `error`: the endpoint failed, or a function of the program did that a run needs, such as an approver.
"""


@frozen
class ToolChoice:
    """Which tools the model may or must call. With `named`, it must call all of `names`."""

    mode: Literal["auto", "none", "required", "named"] = "auto"
    names: tuple[str, ...] = ()


AUTO = ToolChoice()
"""The model decides."""


# Deltas


@frozen
class TextDelta:
    kind: ClassVar[Literal["text_delta"]] = "text_delta"
    text: str


@frozen
class ThinkingDelta:
    kind: ClassVar[Literal["thinking_delta"]] = "thinking_delta"
    text: str


@frozen
class ArgsDelta:
    """More of the JSON text of a call's arguments. Joined, the texts are the arguments in `CallReady`."""

    kind: ClassVar[Literal["args_delta"]] = "args_delta"
    call_id: str
    text: str


@frozen
class ToolProgress:
    """The function of a call, or the MCP server of its tool, says how far it is. Of many reports some are left out.

    Attributes:
        call_id: The id of the call.
        done: How much is done.
        total: How much there is to do; None if that is unknown.
        text: What is done now, for a person.
    """

    kind: ClassVar[Literal["tool_progress"]] = "tool_progress"
    call_id: str
    done: float
    total: float | None = None
    text: str = ""

    @property
    def summary(self) -> str:
        """How far the call is, such as `3 of 10, page 3`."""
        count = f"{self.done:g}" if self.total is None else f"{self.done:g} of {self.total:g}"
        return f"{count}, {self.text}" if self.text else count


# Facts: the run


@frozen
class Compacted:
    """The conversation became too long, and from here on the model is shown less of it. Nothing is lost from the facts.

    Messages are counted without system messages. The first `dropped` of them are replaced by the summary. In those
    after them, up to `through`, long results are shortened; the others are shown whole. This fact takes the place of an
    earlier one.

    Attributes:
        through: The number of messages that are dropped or have their results shortened.
        summary: What stands in place of the dropped messages.
        dropped: The number of messages that are dropped.
        rounds: The number of rounds that these messages are: questions with their answers, calls with their results.
        prompt: The place of the one message among them that is shown all the same: the prompt of the run; None if that
            is not among them.
        shortened: The number of results that are shortened.
        failure: Why the summary is only a list of what was dropped: the model or the function that should write it
            failed. "" if it did not.
        usage: The tokens of the request for the summary.
        cost: What they cost, in US dollars; None if the price is unknown.
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
"""When the next model is asked, though the one before it works.

- `loop`: it made the same call with the same result three times.
- `malformed`: no call of its last two messages could be run.
- `missing`: two answers lacked a call that must be made, or were empty.
"""


@frozen
class Escalation:
    """When another model is asked for a message, and which one.

    Attributes:
        causes: When.
        models: The names of the models, in the order in which they are asked.
    """

    causes: tuple[EscalationCause, ...]
    models: tuple[str, ...]


Provenance: TypeAlias = Literal["ask", "refuse", "off"]
"""What happens to a call with a value that neither the user nor the program nor its own data explain.

- `ask`: somebody is asked, with the reason (`Doubt`). Without anybody to ask, the run pauses.
- `refuse`: the call is not run, and the model is told why.
- `off`: the call runs.
"""


@frozen
class RunStarted:
    """The run begins with these messages and options.

    Attributes:
        output: The name of the tool that the model calls to give the typed answer; None if the answer has no type.
        model: The name of the model that is asked first; `TurnStarted` names the one that is asked in each turn.
        in_text: Whether calls are written in the text of messages, so that a stream can be closed after one.
        has_approver: Whether somebody can be asked about a quoted call. If not, such a call is refused.
        tools: The specs of the tools that the model was offered, so that a saved run can be shown without its program.
            A run that is resumed uses the tools of the program that resumes it.
        compacted: What an earlier run left of `messages` for the model; None if they are shown whole.
        tool_budget: The most tokens that the tools may take in a request.
        search_tools: The names of the two tools that help with others, if the run has a budget: `help` and `find_tools`
            under the names that were free. By its description, any other tool could take their place.
        guided: Whether a model that is lost is helped on its way (`Guided`). Not so in runs of older versions: a model
            that repeats itself is warned once, and then the run ends.
        escalation: When another model is asked for a message since the first one is lost; None for never.
        provenance: What happens to calls with values that nobody explains who may. Not looked at in runs of older
            versions.
        exposed: Whether the model whose words the prompt holds was shown a result that is declared as foreign.
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


@frozen
class RunResumed:
    """The run was resumed from its facts, by a process that has nothing else of the run.

    Attributes:
        limits: The limits of the run from here on; None if they stay as they were.
    """

    kind: ClassVar[Literal["run_resumed"]] = "run_resumed"
    limits: Limits | None = None


@frozen
class Interrupted:
    """The run was stopped from outside: by a cancellation, a deadline, a failure or a full context.

    `endpoint` stands for all failures: of the endpoint, and of functions that the run needs.
    """

    kind: ClassVar[Literal["interrupted"]] = "interrupted"
    cause: Literal["cancelled", "deadline", "endpoint", "context"]
    detail: str = ""


@frozen
class RunEnded:
    """The run has ended, well or not. `detail` says more than `reason`, in words for the user."""

    kind: ClassVar[Literal["run_ended"]] = "run_ended"
    reason: StopReason
    detail: str = ""


# Facts: a turn of the model


@frozen
class TurnStarted:
    """A model is about to be asked for its next message, the `turn`-th of the run.

    Attributes:
        turn: The number of the turn, from 1.
        model: The name of the model that is asked; "" in facts of older versions.
        dialect: The dialect in which it is asked.
        in_text: Whether it writes calls in the text of its message; None stands for what `RunStarted` says.
        context: The tokens of its context, where it has a limit of its own.
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

    A durable run asks the same models again later; `failed` and `model` are the same then.

    Everything that was shown of this turn so far is void: display and loop discard it. Calls that run already are
    cancelled.

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
    """A call is complete. Its function has not run.

    Attributes:
        call: The call, with arguments that fit the tool as far as they could be made to.
        repair: How much of it had to be repaired to be read.
        written: The arguments of an API call as the model wrote them; "" if nothing of them was changed. What was read
            from text is in the `raw` of the message.
    """

    kind: ClassVar[Literal["call_ready"]] = "call_ready"
    call: ToolCall
    repair: Repair = "none"
    written: str = ""


@frozen
class CallQuoted:
    """A call that was read from text is a quotation: it stands word for word in what neither user nor program wrote.

    The fact follows the `CallReady` of the call. Such a call does not run unless somebody approves it.

    Attributes:
        call_id: The id of the call.
        result_id: The id of the call whose result holds it; "" for anything but a result of the conversation.
        tool: The tool that returned the result, or whose description holds the call; else "".
        origin: The origin of the text that holds it; None in files that were saved before there were origins.
    """

    kind: ClassVar[Literal["call_quoted"]] = "call_quoted"
    call_id: str
    result_id: str = ""
    tool: str = ""
    origin: Origin | None = None


@frozen
class CallMalformed:
    """The model wrote a call that cannot be understood. It gets a result, as any call does, with the reason."""

    kind: ClassVar[Literal["call_malformed"]] = "call_malformed"
    call_id: str
    name: str | None
    raw: str
    reason: str
    hint: str = ""

    @property
    def reply(self) -> str:
        """What the model is told: why the call cannot be understood, with a hint where there is one."""
        return f"{self.reason}. {self.hint}".strip() if self.hint else self.reason


@frozen
class SaidInThought:
    """All text and calls of this turn so far turned out to be reasoning: display and loop discard them."""

    kind: ClassVar[Literal["said_in_thought"]] = "said_in_thought"


@frozen
class TurnEnded:
    """The message of the model has ended, with how it ended, the tokens it took and what they cost.

    `cost` is in US dollars, at the prices of that day; None if the price is unknown. `stop_text` is the stop text of
    the request that ended the message, if one did and the endpoint says which. `thought_calls` are the calls in
    its reasoning, if the message has no other: calls in reasoning are not made.
    """

    kind: ClassVar[Literal["turn_ended"]] = "turn_ended"
    message: Message
    finish: FinishReason
    usage: Usage = Usage()
    cost: float | None = None
    stop_text: str = ""
    thought_calls: tuple[ToolCall, ...] = ()


LossCause: TypeAlias = Literal["repeated", "failing", "thought", "missing"]
"""How a model is lost.

- `repeated`: it made the same call with the same result again.
- `failing`: no call of its last messages could be run.
- `thought`: it wrote a call in its reasoning, and none in its message.
- `missing`: it did not make a call that it had to make, or wrote nothing.
"""


@frozen
class Guided:
    """The model is lost, and before its next message it is helped on its way.

    Attributes:
        cause: How the model is lost.
        step: `told`: it is told what it has tried in vain, and what it has not tried. `withheld`: calls of `tools` are
            not run in its next message. `escalated`: another model is asked for the next message. `words`: it is asked
            for its answer, and no calls are run in its next message.
        tools: The tools that it called in vain, or did not call.
        note: What the model is told; None if it was told before.
        model: The name of the model that is asked for the next message, if that is another one; else "".
    """

    kind: ClassVar[Literal["guided"]] = "guided"
    cause: LossCause
    step: Literal["told", "withheld", "escalated", "words"]
    tools: tuple[str, ...] = ()
    note: Text | None = None
    model: str = ""

    @property
    def summary(self) -> str:
        """What happened and what is done about it, such as `repeated look in vain: was told so`."""
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
    """A value of a call that neither the user nor the program nor its own data explain, after foreign text was shown.

    Attributes:
        parameter: The parameter, with the place in its value: `recipient`, `recipients[0]`, `order.amount`.
        value: The value; of a long text the beginning, its length and its digest.
        tool: The tool in whose result the value was found; "" if it was found in no result.
        result_id: The id of the call that had this result; "" for other texts, such as an attachment.
        around: The words around the value in the text in which it was found; "" if it was found nowhere, so that the
            model may have put it together.
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
    """A call may run only if somebody allows it. `ApprovalGiven` holds the answer.

    Attributes:
        call: The call.
        digest: In a durable run, what an answer is bound to: a digest of the tool, its schema and the arguments.
        doubts: The values of the call that nobody explains who may.
    """

    kind: ClassVar[Literal["approval_needed"]] = "approval_needed"
    call: ToolCall
    digest: str = ""
    doubts: tuple[Doubt, ...] = ()


BY_RULE = "the tool's own rule"
"""Who answered (`ApprovalGiven.by`) for a call of `tool(approve=function)` that needs nobody to be asked."""

BY_PROVENANCE = "provenance"
"""Who answered for a call with a value in doubt where `provenance` is `refuse`."""

BY_EARLIER_ANSWER = "an earlier answer"
"""Who answered for a call whose values in doubt were allowed with another call of the same message."""


@frozen
class ApprovalGiven:
    """Somebody has answered whether a call may run: `approved` is False for a refusal, and `reason` says why.

    Attributes:
        by: Who answered, if that is known.
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
    """An answer to the question whether a call may run: yes.

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
    """The function of a call waits, and does not run meanwhile. After `WaitOver` it is called again.

    Attributes:
        call_id: The id of the call.
        number: The number of the wait in this call, from 1.
        signal: The name of the signal that the call waits for; "" if it only lets time pass.
        seconds: How long it waits at most, from this fact on; None for any time.
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
    """A wait of a call is over: its time has passed, or the signal came.

    Attributes:
        call_id: The id of the call.
        number: The number of the wait in this call, from 1.
        signal: The name of the signal that it waited for; "" if it only let time pass.
        came: Whether the signal came.
        value: What the signal said.
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
    """A call has its result: what its function returned, or why it failed or did not run."""

    kind: ClassVar[Literal["tool_finished"]] = "tool_finished"
    result: ToolResult


@frozen
class HandedOver:
    """Another agent goes on with the conversation, as soon as all calls of the turn have their results.

    Attributes:
        call_id: The call that hands it over.
        agent: The name of the other agent: that of the tool that was called.
        system: Its system prompt, with which the model is asked instead of the one in the conversation.
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
    """A delta of an inner run: of an agent that a call of this run asks.

    Attributes:
        path: The ids of the calls that lead to the inner run, from the outermost run on.
        event: The delta.
    """

    kind: ClassVar[Literal["nested_delta"]] = "nested_delta"
    path: tuple[str, ...]
    event: OwnDelta


@frozen
class NestedFact:
    """A fact of an inner run: of an agent that a call of this run asks.

    Attributes:
        path: The ids of the calls that lead to the inner run, from the outermost run on.
        event: The fact.
    """

    kind: ClassVar[Literal["nested_fact"]] = "nested_fact"
    path: tuple[str, ...]
    event: OwnFact


def join_ids(path: tuple[str, ...], call_id: str) -> str:
    """Return the id by which a call of an inner run is known in the outermost run."""
    return "/".join((*path, call_id))


Delta: TypeAlias = OwnDelta | NestedDelta

Fact: TypeAlias = OwnFact | NestedFact

Event: TypeAlias = Delta | Fact
