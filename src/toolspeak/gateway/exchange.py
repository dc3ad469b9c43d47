"""Answers one request: asks the model in its dialect, reads the answer, and asks again if a call has a problem.

The call may be malformed, missing though it was demanded, or quoted; or the answer is not in the format that the client
asked for. A model that quotes a call from a result is asked again once. If it quotes a call again, the call is dropped.
A model that asks for help about tools whose descriptions were cut gets it, and is asked again.
"""

from collections.abc import AsyncGenerator, Sequence
from contextlib import aclosing
from dataclasses import field, replace
from typing import Protocol

from toolspeak.dialects import Constraint, Dialect, Parser, Shown
from toolspeak.dialects.native import NativeDialect, VerbatimParser
from toolspeak.gateway.attempt import Attempt
from toolspeak.gateway.context_check import ContextCheck
from toolspeak.gateway.figures import GatewayFigures
from toolspeak.gateway.gate import SentText
from toolspeak.gateway.held_format import HeldFormat, add_instruction, hold_format
from toolspeak.gateway.passthrough import Passthrough
from toolspeak.gateway.tool_list import MAX_HELP_TURNS, list_tools
from toolspeak.models import Model, Request, Sampling, match_dialect
from toolspeak.turns import QuotationFinder
from toolspeak.values.errors import ContextExceeded, ProviderError
from toolspeak.values.events import AUTO, Event, ToolChoice, TurnEnded, Usage
from toolspeak.values.frozen import frozen
from toolspeak.values.messages import Message, Result, Text, assistant, user
from toolspeak.values.pieces import Piece
from toolspeak.values.spec import ToolSpec
from toolspeak.wire.api import ServedApiName
from toolspeak.wire.chat_request import ChatRequest

# `VERBATIM`: the dialect for answers in which no call is allowed. The client gets the text of the model unchanged.


@frozen
class VerbatimDialect(NativeDialect):
    """The native dialect, without a search for calls in the text."""

    def parser(
        self, specs: Sequence[ToolSpec], *, strict: bool = False, thinking: bool = False, prefix: str = "call"
    ) -> Parser:
        """Return a parser that passes text on unchanged."""
        return VerbatimParser()


VERBATIM = VerbatimDialect()


REFUSING_STATUSES = (400, 422)
"""Statuses with which a server refuses a field that it does not know."""


@frozen
class ServedModel:
    """A model that a gateway serves.

    Attributes:
        name: Its name for clients.
        model: The model.
        dialect: The dialect in which it is asked.
        max_repairs: How often it is asked again after a malformed, missing or quoted call, or an answer that is not in
            the format of the request.
        thinks: Whether its messages may begin in the middle of reasoning.
        tool_budget: The most tokens that the tools of a request may take; their descriptions are cut to that.
        context_check: Keeps requests within the context of the model.
    """

    name: str
    model: Model
    dialect: Dialect
    max_repairs: int = 2
    thinks: bool = False
    tool_budget: int | None = None
    context_check: ContextCheck = field(default_factory=ContextCheck, repr=False, compare=False)


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


async def answer_request(
    served: ServedModel,
    request: ChatRequest,
    prefix: str,
    api: ServedApiName = "openai",
    observer: TurnObserver | None = None,
    figures: GatewayFigures | None = None,
) -> AsyncGenerator[list[Event]]:
    """Yield the events of an answer that may be sent. The last event is `TurnEnded`.

    Args:
        served: The model.
        request: The request of the client.
        prefix: The beginning of the ids of calls, which must be different for each request.
        api: The API of the client.
        observer: Who sees the messages of the model.
        figures: Where the messages are counted.
    """
    model = served.model if observer is None else observer.watch(served.model)
    open_request = _OpenRequest(served, request, prefix, api)
    while True:
        attempt = open_request.start_attempt()
        fitted = await served.context_check.fit(served.model, open_request.build_model_request())
        async with aclosing(_ask(model, fitted.request)) as answer:
            async for pieces in answer:
                if passed := attempt.feed(pieces):
                    yield passed
                if attempt.is_over:
                    break
        passed = attempt.close(served.name)
        served.context_check.note_usage(served.model, fitted, attempt.usage)
        if observer is not None:
            observer.note_reading(attempt.original, attempt.problem)
        if figures is not None:
            figures.count_message(
                served.name, attempt.usage, attempt.calls, attempt.refusal, is_rejected=attempt.problem is not None
            )
        if ended := open_request.end_attempt(attempt):
            yield [*passed, ended]
            return
        if passed:
            yield passed
        open_request.add_to_history(attempt)


class _OpenRequest:
    """A request that is being answered: what the model is shown next, and how often it may be asked again."""

    def __init__(self, served: ServedModel, request: ChatRequest, prefix: str, api: ServedApiName) -> None:
        self._served, self._request, self._prefix = served, request, prefix
        self._passthrough = Passthrough(served.model, served.dialect, api)
        self._extra = self._passthrough.forwarded_fields(request)
        self._choice = request.choice if request.tools else AUTO
        tools = _allowed_tools(request.tools, self._choice)
        self._held = None
        if request.answer_format is not None:
            knows_field = self._passthrough.knows_format
            self._held = hold_format(request.answer_format, tools, self._choice, knows_field=knows_field)
            tools = (*tools, self._held.tool) if self._held.tool is not None else tools
        self._listed = list_tools(request.tools, served.dialect, served.tool_budget, request.messages, self._choice)
        self._tools = self._listed.add_help(tools, self._choice)
        history = self._passthrough.to_model(request.messages)
        self._history = history if self._held is None else add_instruction(self._held, history)
        self._dialect = match_dialect(served.dialect, served.model) if self._tools else VERBATIM
        self._quotations = QuotationFinder(self._tools, self._dialect)
        self._quotations.follow(request.messages)
        self._has_quoted = False
        self._sent = SentText()
        self._usage = Usage()
        self._repairs_left = served.max_repairs
        self._help_turns_left = MAX_HELP_TURNS

    def start_attempt(self) -> Attempt:
        """Return the reader of the next message of the model."""
        held, is_last = self._held, self._repairs_left == 0
        return Attempt(
            self._request,
            self._choice,
            self._tools,
            self._dialect,
            self._quotations,
            sent=self._sent,
            prefix=self._prefix,
            held=held.loosen() if held is not None and is_last else held,
            thinks=self._served.thinks,
            ends_at_quotation=not self._has_quoted and not is_last,
            help_names=self._listed.help_names,
            gives_help=self._help_turns_left > 0,
        )

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
        return _build_model_request(self._served, request, shown, self._extra)

    def end_attempt(self, attempt: Attempt) -> TurnEnded | None:
        """Return the end of the answer; None if the message is not acceptable, or asks for help."""
        self._usage += attempt.usage
        self._has_quoted = self._has_quoted or attempt.has_quoted
        if attempt.problem is not None or (attempt.help_calls and attempt.original is not None):
            return None
        message = self._passthrough.to_client(attempt.build_message())
        return TurnEnded(message=message, finish=attempt.finish, usage=self._usage, stop_text=attempt.stop_text)

    def add_to_history(self, attempt: Attempt) -> None:
        """Add a message and the help that it asked for, or its problem. Raises `CallNotRepaired` if it was the last."""
        if attempt.problem is None and attempt.original is not None:
            self._history = (*self._history, *self._listed.answer_help(attempt.original, attempt.help_calls))
            self._help_turns_left -= 1
            self._sent.continue_message()
            return
        if (attempt.has_sent_call and self._request.stream) or self._repairs_left == 0:
            raise _make_failure(self._served.name, str(attempt.problem), self._held)
        self._history = _add_problem(self._history, attempt.original, attempt.describe_problem())
        self._repairs_left -= 1
        self._sent = self._sent if self._request.stream else SentText()
        self._sent.start_message()


def _make_failure(name: str, problem: str, held: HeldFormat | None) -> CallNotRepaired:
    if held is not None:
        return AnswerNotRepaired(f"the model {name} did not answer as asked: {problem}")
    return CallNotRepaired(f"the model {name} did not manage a call: {problem}")


def _ask(model: Model, request: Request) -> AsyncGenerator[Sequence[Piece]]:
    """Ask a model. A generator around its answer costs something for each token, so there is one only if needed."""
    return model.ask(request) if request.shown.constraint is None else _ask_constrained(model, request)


async def _ask_constrained(model: Model, request: Request) -> AsyncGenerator[Sequence[Piece]]:
    """Ask a model, and once more without the constraint if its server refuses the request: not every server has one."""
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
    unconstrained = replace(request, shown=replace(request.shown, constraint=None))
    async with aclosing(model.ask(unconstrained)) as answer:
        async for pieces in answer:
            yield pieces


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
        results = (Result(call_id=call.id, content=(Text(text=note),), is_error=True) for call in message.calls)
        return (*history, message, Message(role="tool", parts=tuple(results)))
    text = message.raw.text if message and message.raw else message.text if message else ""
    faulty = (assistant(text),) if text.strip() else ()
    return (*history, *faulty, user(note))


def _build_model_request(served: ServedModel, request: ChatRequest, shown: Shown, extra: dict[str, object]) -> Request:
    sampling = Sampling(
        max_tokens=request.max_tokens,
        temperature=request.temperature,
        top_p=request.top_p,
        seed=request.seed,
        stop=request.stop,
        extra=extra or None,
    )
    return Request(shown=shown, dialect=served.dialect.name, stream=request.stream, sampling=sampling)
