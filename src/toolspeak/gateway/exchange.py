"""Answers one request: asks the model in its dialect, reads the answer, and asks again if a call has a problem.

`answer_request` drives it. `_OpenRequest` has what the model is shown next, `Attempt` reads one message of the model.
What may be sent of it is decided in `gate.py`, and for answers in a format in `held_format.py`.

The call may be malformed, missing though it was demanded, or quoted; its arguments may not fit the schema of the tool;
or the answer is not in the format that the client asked for. A model that quotes a call from a result is asked again
once. If it quotes a call again, the call is dropped.
A model that asks for help about tools whose descriptions were cut gets it, and is asked again.
"""

import asyncio
from collections.abc import AsyncGenerator, Callable, Mapping, Sequence
from contextlib import aclosing
from dataclasses import field, replace
from typing import Literal, Protocol

from toolspeak.dialects import Constraint, Dialect, Parser
from toolspeak.dialects.native import NativeDialect
from toolspeak.dialects.text import show_figures
from toolspeak.gateway.context_check import ContextCheck
from toolspeak.gateway.figures import GatewayFigures
from toolspeak.gateway.gate import CallCheck, Gate, SentText
from toolspeak.gateway.held_format import FormatGate, add_instruction, hold_format
from toolspeak.gateway.passthrough import Passthrough
from toolspeak.gateway.tool_list import MAX_HELP_TURNS, answer_help, list_tools
from toolspeak.loop import words
from toolspeak.models import Model, Request, Sampling, match_dialect
from toolspeak.models.model import reads_figures
from toolspeak.turns import QuotationFinder, TurnReader
from toolspeak.values.errors import ContextExceeded, ProviderError, StreamInterrupted
from toolspeak.values.events import AUTO, Event, FinishReason, TextDelta, ThinkingDelta, ToolChoice, TurnEnded, Usage
from toolspeak.values.frozen import frozen
from toolspeak.values.messages import Message, Result, Text, ToolCall, assistant, assume_origin, user
from toolspeak.values.origin import Origin
from toolspeak.values.pieces import Piece
from toolspeak.values.spec import ToolSpec
from toolspeak.wire.api import ServedApiName
from toolspeak.wire.chat_request import ChatRequest

REFUSING_STATUSES = (400, 422)
"""Statuses with which a server refuses a field that it does not know."""

WHOLE_CALL_DIALECTS = frozenset({"python", "typescript"})
"""Dialects in which nothing of a call is known before all of it is there, but for raw texts."""

MAX_TRAILING_CHARS = 200
"""Characters after a whole answer that are read, so that the end of the message and its token counts arrive."""


@frozen
class ServedModel:
    """A model that a gateway serves.

    Attributes:
        name: Its name for clients.
        model: The model.
        dialect: Its dialect.
        max_repairs: How often it is asked again after a malformed, missing or quoted call, one whose arguments do not
            fit, or an answer that is not in the format of the request.
        thinks: Whether its messages may begin inside reasoning, without an opening tag.
        one_call: Whether only the first call of an answer is passed on, whatever the request says: for clients that run
            calls at the same time which the model means in order.
        tool_budget: The most tokens that the tools of a request may take; descriptions are shortened to fit.
        context_check: Keeps requests within the context of the model.
        refused: What the model has refused to be told, so that it is not told again.
    """

    name: str
    model: Model
    dialect: Dialect
    max_repairs: int = 2
    thinks: bool = False
    tool_budget: int | None = None
    one_call: bool = False
    context_check: ContextCheck = field(default_factory=ContextCheck, repr=False, compare=False)
    refused: set[Literal["effort"]] = field(
        default_factory=set[Literal["effort"]], init=False, repr=False, compare=False
    )

    def make_passthrough(self, api: ServedApiName) -> Passthrough:
        """Return what forwards fields between a client of `api` and this model."""
        return Passthrough(self.model, self.dialect, api, refuses_effort="effort" in self.refused)


class CallNotRepaired(ProviderError):
    """The model wrote no valid call, also when it was asked again."""


class AnswerNotRepaired(CallNotRepaired):
    """The model gave neither a call nor an answer in the format of the request, also when it was asked again."""


class TurnObserver(Protocol):
    """Sees each message of a model while a request is answered."""

    def watch(self, model: Model) -> Model:
        """Return a model that answers as `model` does, and whose answers are seen."""
        ...

    def note_reading(self, message: Message | None, problem: str | None) -> None:
        """Note how the last message was read, and why the model is asked again."""
        ...


THOUGHT_TOKENS: Mapping[str, str] = {
    "<think>": "</think>",
    "[THINK]": "[/THINK]",
    "◁think▷": "◁/think▷",
    "<seed:think>": "</seed:think>",
    "<mm:think>": "</mm:think>",
    "<longcat_think>": "</longcat_think>",
    "<|START_THINKING|>": "<|END_THINKING|>",
}
"""Tokens that begin reasoning at the beginning of a message, and those that end it.

Words that a prompt may ask for, such as `<thinking>`, are not among them: a client that asks for those reads them.
"""

MAX_THOUGHT_TOKEN = max(map(len, THOUGHT_TOKENS))

MAX_LEADING_CHARS = 200
"""Characters at the beginning of a message that may be blank, and then the beginning of a token."""


class ThoughtParser:
    """Passes text on unchanged, but for reasoning at the beginning of the message, which becomes reasoning."""

    def __init__(self, *, may_begin_inside: bool = False) -> None:
        """Prepare to read. If it `may_begin_inside`, only the end of the reasoning may be marked."""
        self._may_begin_inside = may_begin_inside
        self._state: Literal["start", "unclear", "thought start", "thought", "gap", "text"] = "start"
        self._held = ""  # may be the beginning of a token
        self._unclear: list[str] = []  # text or reasoning: the end of the reasoning tells, or that of the message
        self._closer = "</think>"

    def feed(self, text: str) -> list[Event]:
        """Read text that has arrived, and return the new events."""
        events: list[Event] = []
        text, self._held = self._held + text, ""
        while text:
            match self._state:
                case "start":
                    text = self._read_start(text)
                case "thought" | "unclear":
                    text = self._read_thought(text, events)
                case "text":
                    events.append(TextDelta(text=text))
                    break
                case _:  # white space around reasoning is dropped
                    text = text.lstrip()
                    if text:
                        self._state = "text" if self._state == "gap" else "thought"
        return events

    def close(self, finish: FinishReason = "stop") -> list[Event]:
        """End the message, and return what was held."""
        held, self._held = "".join(self._unclear) + self._held, ""
        if not held:
            return []
        return [ThinkingDelta(text=held) if self._state == "thought" else TextDelta(text=held)]

    def _read_start(self, text: str) -> str:
        """Look for a token at the beginning of the message, and return the rest of the text."""
        first = text.lstrip()[:MAX_THOUGHT_TOKEN]
        for opener, closer in THOUGHT_TOKENS.items():
            if first.startswith(opener):
                self._state, self._closer = "thought start", closer
                return text.lstrip()[len(opener) :]
            if opener.startswith(first) and len(text) <= MAX_LEADING_CHARS:
                self._held = text
                return ""
        self._state = "unclear" if self._may_begin_inside else "text"
        return text

    def _read_thought(self, text: str, events: list[Event]) -> str:
        """Read reasoning up to its end, and return the rest of the text."""
        thought, closer, rest = text.partition(self._closer)
        if not closer:
            sizes = range(min(len(self._closer) - 1, len(thought)), 0, -1)
            size = next((size for size in sizes if self._closer.startswith(thought[-size:])), 0)
            thought, self._held = thought[: len(thought) - size], thought[len(thought) - size :]
        if self._state == "unclear":
            self._unclear.append(thought)
            thought = "".join(self._unclear).strip() if closer else ""
        if thought:
            events.append(ThinkingDelta(text=thought))
        if closer:
            self._state, self._unclear = "gap", []
        return rest


@frozen
class VerbatimDialect(NativeDialect):
    """The dialect for answers in which no call is allowed: the client gets the text of the model, and its reasoning.

    Attributes:
        thinks: Whether a message may begin in the middle of reasoning.
    """

    thinks: bool = False

    def parser(
        self, specs: Sequence[ToolSpec], *, strict: bool = False, thinking: bool = False, prefix: str = "call"
    ) -> Parser:
        """Return a parser that passes text on unchanged, but for reasoning."""
        return ThoughtParser(may_begin_inside=self.thinks)


async def answer_request(
    served: ServedModel,
    request: ChatRequest,
    prefix: str,
    api: ServedApiName = "openai",
    observer: TurnObserver | None = None,
    figures: GatewayFigures | None = None,
    *,
    is_large: bool = False,
) -> AsyncGenerator[list[Event]]:
    """Yield the events of an answer that may be sent. The last event is `TurnEnded`.

    Args:
        served: The model.
        request: The request of the client.
        prefix: The beginning of the ids of calls, which must be different for each request.
        api: The API of the client.
        observer: Who sees the messages of the model.
        figures: Where the messages are counted.
        is_large: Whether it takes so long to write what the model is shown that it is done in a thread.
    """
    model = served.model if observer is None else observer.watch(served.model)
    arguments = served, request, prefix, api
    open_request = await asyncio.to_thread(_OpenRequest, *arguments) if is_large else _OpenRequest(*arguments)
    while True:
        attempt = open_request.start_attempt()
        gate = attempt.gate
        build = open_request.build_model_request
        fitted = await served.context_check.fit(served.model, await asyncio.to_thread(build) if is_large else build())
        # A generator around an answer costs something for each token, so there is one only if needed.
        is_plain = fitted.request.shown.constraint is None and not open_request.effort
        asked = model.ask(fitted.request) if is_plain else _ask_again_without(model, fitted.request, open_request)
        async with aclosing(asked) as answer:
            async for pieces in answer:
                if passed := attempt.feed(pieces):
                    yield passed
                if attempt.is_over:
                    break
        passed = attempt.close(served.name)
        served.context_check.note_usage(served.model, fitted, gate.usage)
        if observer is not None:
            observer.note_reading(gate.original, attempt.problem)
        if figures is not None:
            refusal = "malformed" if gate.malformed is not None else "quoted" if gate.quoted is not None else ""
            figures.count_message(served.name, gate.usage, gate.calls, refusal, is_rejected=attempt.problem is not None)
        if ended := open_request.end_attempt(attempt):
            yield [*passed, ended]
            return
        if passed:
            yield passed
        open_request.add_to_history(attempt)


async def answer_several(
    ask: Callable[[ChatRequest, str], AsyncGenerator[list[Event]]], request: ChatRequest, prefix: str
) -> AsyncGenerator[list[Event]]:
    """Yield the events of as many answers as the request asks for, one after the other: the model is asked for each.

    `ask` is `answer_request` for a request and a prefix. A seed is raised by one each time, or all answers would be the
    same.
    """
    for number in range(request.count):
        asked = replace(request, seed=None if request.seed is None else request.seed + number)
        async with aclosing(ask(asked, f"{prefix}_{number}")) as events:
            async for batch in events:
                yield batch


async def _ask_again_without(
    model: Model, request: Request, open_request: "_OpenRequest"
) -> AsyncGenerator[Sequence[Piece]]:
    """Ask a model, and if its server refuses the request, without what not every server has: a constraint, effort."""
    has_begun = False
    try:
        async with aclosing(model.ask(request)) as answer:
            async for pieces in answer:
                has_begun = True
                yield pieces
        return
    except ProviderError as error:
        is_refused = error.status in REFUSING_STATUSES and not isinstance(error, ContextExceeded)
        if has_begun or not is_refused:
            raise
    was_constrained = request.shown.constraint is not None
    without = replace(
        request, shown=replace(request.shown, constraint=None), sampling=open_request.forget_effort(request)
    )
    async with aclosing(model.ask(without)) as answer:
        async for pieces in answer:
            if not was_constrained:
                open_request.note_refused_effort()
            yield pieces


class Attempt:
    """One message of a model, from its pieces to what may be sent. What `feed` and `close` return is never taken back.

    Attributes:
        gate: What became of the message. An answer in a format goes through a second gate after it.
        problem: Why the message is not acceptable; None if it is, or has not ended.
        help_calls: The calls of the help tool that are to be answered, after which the model is asked again.
    """

    def __init__(
        self, gate: Gate, format_gate: FormatGate | None, reader: TurnReader, choice: ToolChoice, *, gives_help: bool
    ) -> None:
        """Prepare to read. Unless it `gives_help`, a message with nothing but calls for help is not acceptable."""
        self.gate = gate
        self.problem: str | None = None
        self.help_calls: tuple[ToolCall, ...] = ()
        self._format_gate = format_gate
        self._reader = reader
        self._choice = choice
        self._gives_help = gives_help
        self._trailing_chars = 0

    def feed(self, pieces: Sequence[Piece]) -> list[Event]:
        """Read pieces that have arrived, and return the events to send."""
        events = self.gate.admit(self._reader.feed(pieces))
        if self._format_gate is None:
            return events
        if self._format_gate.is_done:
            self._trailing_chars += sum(len(piece.text) for piece in pieces if isinstance(piece, TextDelta))
        return self._format_gate.admit(events)

    @property
    def is_over(self) -> bool:
        """Whether the rest of the message is not needed."""
        return self._trailing_chars > MAX_TRAILING_CHARS or self.gate.is_done or self.gate.has_sent_reasoning

    def close(self, name: str) -> list[Event]:
        """End the message of the model `name`, set `problem`, and return the last events to send."""
        gate = self.gate
        events = [*gate.admit(self._reader.close("closed")), *gate.release_held()]
        if gate.has_sent_reasoning:
            raise StreamInterrupted(
                f"text of the model {name} was sent and turned out to be reasoning; start the gateway with "
                "toolspeak serve --thinks"
            )
        if self._gives_help and self._only_asks_help():
            self.help_calls = tuple(gate.help_calls)
            return events if self._format_gate is None else self._format_gate.admit(events)
        self.problem = self._find_problem()
        if self._format_gate is not None:
            return self._close_format(self._format_gate, events)
        return events if self.problem is not None else [*events, *gate.release_text()]

    def _close_format(self, format_gate: FormatGate, events: list[Event]) -> list[Event]:
        gate = self.gate
        sent = format_gate.admit([*events, *gate.release_text()] if gate.is_well_formed else events)
        if gate.is_well_formed:
            sent += format_gate.close(ended_well=gate.ended_well)
        if gate.finish == "refused":
            sent += format_gate.release_prose()
        if self.problem is None and gate.finish not in ("length", "refused"):
            self.problem = format_gate.find_problem()
        return sent

    def _only_asks_help(self) -> bool:
        """Whether the message has calls of the help tool and no others."""
        gate = self.gate
        return bool(gate.help_calls) and not gate.called_tools and gate.is_well_formed and gate.ended_well

    def _find_problem(self) -> str | None:
        gate, choice = self.gate, self._choice
        if gate.finish in ("length", "refused"):
            return None
        if gate.malformed is not None:
            return " ".join(filter(None, (gate.malformed.reason + ".", gate.malformed.hint)))
        if gate.quoted is not None:
            return f"{words.describe_quotation(gate.quoted)}."
        if self._only_asks_help():
            return "help was given already; call a tool with what you know, or answer"
        if choice.mode == "required" and not gate.called_tools:
            return "a call is needed, and none was made"
        if choice.mode == "named" and (missing := [name for name in choice.names if name not in gate.called_tools]):
            return f"{' and '.join(missing)} must be called, and was not"
        return None

    def describe_problem(self) -> str:
        """Return the problem and what to do about it, in words for the model."""
        advice = self._format_gate.give_advice() if self._format_gate is not None else ""
        return f"{str(self.problem).rstrip('.')}. {advice}" if advice else str(self.problem)

    @property
    def has_sent_call(self) -> bool:
        """Whether a part of a call was sent, so that the model cannot be asked again."""
        return (self._format_gate or self.gate).has_sent_call

    @property
    def finish(self) -> FinishReason:
        """Why the message that was sent ends."""
        finish = self.gate.finish
        if self._format_gate is None:
            return finish
        if self._format_gate.has_answer:
            return "stop"
        is_usual = finish in ("stop", "tool_calls")
        return finish if not is_usual else "tool_calls" if self._format_gate.has_sent_call else "stop"

    def build_message(self) -> Message:
        """Return what was sent, as a message."""
        message = self.gate.build_message()
        return message if self._format_gate is None else self._format_gate.build_message(message)


class _OpenRequest:
    """A request that is being answered: what the model is shown next, and how often it may be asked again."""

    def __init__(self, served: ServedModel, request: ChatRequest, prefix: str, api: ServedApiName) -> None:
        if served.one_call and request.parallel:
            request = replace(request, parallel=False)
        self._served, self._request, self._prefix = served, request, prefix
        self._passthrough = served.make_passthrough(api)
        self._extra = self._passthrough.forwarded_fields(request)
        self.effort = self._passthrough.map_effort(request)  # the fields that tell the model how hard to think
        self._choice = request.choice if request.tools else AUTO
        tools = _allowed_tools(request.tools, self._choice)
        self._held = None
        knows_field = self._passthrough.knows_format
        if request.answer_format is not None and not (request.answer_format.is_wrapped and knows_field):
            self._held = hold_format(request.answer_format, tools, self._choice, knows_field=knows_field)
            tools = (*tools, self._held.tool) if self._held.tool is not None else tools
        shown_in = show_figures(served.dialect) if reads_figures(served.model) else served.dialect
        self._listed = list_tools(request.tools, shown_in, served.tool_budget, request.messages, self._choice)
        has_help = bool(tools) and self._choice.mode != "named"  # if the client names tools, one of those is called
        self._tools = (*tools, *self._listed.own_tools) if has_help else tools
        history = self._passthrough.to_model(request.messages)
        self._history = history if self._held is None else add_instruction(self._held, history)
        verbatim = VerbatimDialect(thinks=served.thinks)
        self._dialect = match_dialect(served.dialect, served.model) if self._tools else verbatim
        self._checked_tools = _allowed_tools(request.tools, self._choice)
        self._quotations = QuotationFinder(self._tools, self._dialect)
        self._quotations.follow(request.messages)
        self._has_quoted = False
        self._sent = SentText()
        self._usage = Usage()
        self._repairs_left = served.max_repairs
        self._help_turns_left = MAX_HELP_TURNS

    def start_attempt(self) -> Attempt:
        """Return the reader of the next message of the model."""
        request, thinks, is_last = self._request, self._served.thinks, self._repairs_left == 0
        held = self._held.loosen() if self._held is not None and is_last else self._held
        by_tool = held is not None and held.asking in ("tool", "none")
        gate = Gate(
            tools={tool.name for tool in self._tools},
            single=not request.parallel,
            hold_text=self._choice.mode in ("required", "named") or by_tool,
            hold_all=bool(self._tools) and (thinks or not request.stream),
            may_be_quoted=self._quotations.is_named,
            ends_at_quotation=not self._has_quoted and not is_last,
            sent=self._sent if held is None else SentText(),
            help_names=frozenset(each.name for each in self._listed.own_tools),
            forbidden={tool.name for tool in request.forbidden_tools},
            check=CallCheck(
                self._checked_tools,
                request.strict_tools,
                checks_all=not is_last,
                holds_all=not request.stream or self._dialect.name in WHOLE_CALL_DIALECTS,
            ),
        )
        format_gate = FormatGate(held, self._sent, hold_text=by_tool or thinks) if held is not None else None
        reader = TurnReader(
            self._dialect,
            (*self._tools, *request.forbidden_tools),
            single=not request.parallel,
            prefix=self._prefix,
            taken={call.id for message in request.messages for call in message.calls},
            quotations=self._quotations,
        )
        return Attempt(gate, format_gate, reader, self._choice, gives_help=self._help_turns_left > 0)

    def build_model_request(self) -> Request:
        """Return what the model is asked: the tools of the client, and how it gives an answer in a format."""
        request, held, choice = self._request, self._held, self._choice
        view = self._listed.view(self._history)
        if held is not None and held.tool is not None:
            view, choice = replace(view, listed=(*view.listed, held.tool)), ToolChoice(mode="required")
        elif held is not None and held.asking == "words" and view.dialect.in_text:
            view = replace(view, listed=(), added=())  # else the model would be told that no tool may be called
        shown = view.render(view.history, choice, parallel=request.parallel)
        if held is not None and held.asking == "words" and self._passthrough.can_constrain:
            shown = replace(shown, constraint=Constraint(json_schema=held.shown))
        sampling = Sampling(
            max_tokens=request.max_tokens,
            temperature=request.temperature,
            top_p=request.top_p,
            seed=request.seed,
            stop=request.stop,
            extra={**self._extra, **self.effort} or None,
        )
        return Request(shown=shown, dialect=self._served.dialect.name, stream=request.stream, sampling=sampling)

    def forget_effort(self, request: Request) -> Sampling:
        """Return the settings of a request without effort. Later requests of this one are made without it, too."""
        self.effort = {}
        return replace(request.sampling, extra=self._extra or None)

    def note_refused_effort(self) -> None:
        """Note that the model answers only if it is not told how hard to think."""
        self._served.refused.add("effort")

    def end_attempt(self, attempt: Attempt) -> TurnEnded | None:
        """Return the end of the answer; None if the message is not acceptable, or asks for help."""
        gate = attempt.gate
        self._usage += gate.usage
        self._has_quoted = self._has_quoted or gate.quoted is not None
        if attempt.problem is not None or (attempt.help_calls and gate.original is not None):
            return None
        message = self._passthrough.to_client(attempt.build_message())
        return TurnEnded(message=message, finish=attempt.finish, usage=self._usage, stop_text=gate.stop_text)

    def add_to_history(self, attempt: Attempt) -> None:
        """Add a message and the help that it asked for, or its problem. Raises `CallNotRepaired` if it was the last."""
        original = attempt.gate.original
        if attempt.problem is None and original is not None:
            self._history = (*self._history, *answer_help(self._listed, original, attempt.help_calls))
            self._help_turns_left -= 1
            self._sent.continue_message()
            return
        if (attempt.has_sent_call and self._request.stream) or self._repairs_left == 0:
            name, problem = self._served.name, attempt.problem
            if self._held is not None:
                raise AnswerNotRepaired(f"the model {name} did not answer as asked: {problem}")
            raise CallNotRepaired(f"the model {name} did not manage a call: {problem}")
        self._history = _add_problem(self._history, original, attempt.describe_problem())
        self._repairs_left -= 1
        self._sent = self._sent if self._request.stream else SentText()
        self._sent.start_message()


def _allowed_tools(tools: tuple[ToolSpec, ...], choice: ToolChoice) -> tuple[ToolSpec, ...]:
    """Return the tools that may be called. Without any, the whole answer is text."""
    match choice.mode:
        case "none":
            return ()
        case "named":
            return tuple(tool for tool in tools if tool.name in choice.names)
        case _:
            return tools


def _add_problem(history: tuple[Message, ...], message: Message | None, problem: str) -> tuple[Message, ...]:
    """Return the conversation with the faulty answer and its problem. Only the model sees them; the client does not."""
    note = f"That did not work: {problem}"
    if message is not None and message.calls and message.raw is None:  # native calls need results
        content = (Text(text=note),)
        results = (
            Result(call_id=call.id, content=content, is_error=True, reason="not_allowed") for call in message.calls
        )
        return (*history, message, Message(role="tool", parts=tuple(results)))
    text = message.raw.text if message and message.raw else message.text if message else ""
    faulty = (assistant(text),) if text.strip() else ()
    return (*history, *faulty, assume_origin(user(note), Origin.LOOP))
