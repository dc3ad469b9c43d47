"""Answers one request: asks the model in its dialect, reads the answer, and asks again if a call has a problem.

The call may be malformed, missing though it was demanded, or quoted; or the answer is not in the format that the client
asked for. A model that quotes a call from a result is asked again once. If it quotes a call again, the call is dropped.
A model that asks for help about tools whose descriptions were cut gets it, and is asked again.
"""

from collections.abc import AsyncGenerator, Sequence
from contextlib import aclosing
from dataclasses import field, replace
from typing import Protocol

from toolspeak._frozen import frozen
from toolspeak.dialects import Constraint, Dialect, Shown
from toolspeak.dialects.tool_selection import ToolView
from toolspeak.errors import ContextExceeded, ProviderError
from toolspeak.events import AUTO, Event, ToolChoice, TurnEnded, Usage
from toolspeak.gateway.attempt import Attempt
from toolspeak.gateway.context_check import ContextCheck
from toolspeak.gateway.held_format import HeldFormat, add_instruction, hold_format
from toolspeak.gateway.passthrough import Passthrough
from toolspeak.gateway.sent_text import SentText
from toolspeak.gateway.tool_list import MAX_HELP_TURNS, list_tools
from toolspeak.gateway.verbatim import VERBATIM
from toolspeak.messages import Message, Result, Text, assistant, user
from toolspeak.models import Model, Request, Sampling, match_dialect
from toolspeak.pieces import Piece
from toolspeak.spec import ToolSpec
from toolspeak.turns import QuotationFinder
from toolspeak.wire.api import ServedApiName
from toolspeak.wire.chat_request import ChatRequest

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
) -> AsyncGenerator[list[Event]]:
    """Yield the events of an answer that may be sent. The last event is `TurnEnded`.

    Args:
        served: The model.
        request: The request of the client.
        prefix: The beginning of the ids of calls, which must be different for each request.
        api: The API of the client.
        observer: Who sees the messages of the model.
    """
    model = served.model if observer is None else observer.watch(served.model)
    passthrough = Passthrough(served.model, served.dialect, api)
    extra = passthrough.forwarded_fields(request)
    choice = request.choice if request.tools else AUTO
    tools = _allowed_tools(request.tools, choice)
    held = None
    if request.answer_format is not None:
        held = hold_format(request.answer_format, tools, choice, knows_field=passthrough.knows_format)
        tools = (*tools, held.tool) if held.tool is not None else tools
    listed = list_tools(request.tools, served.dialect, served.tool_budget, request.messages, choice)
    tools = listed.add_help(tools, choice)
    help_turns_left = MAX_HELP_TURNS
    history = passthrough.to_model(request.messages)
    history = history if held is None else add_instruction(held, history)
    dialect = match_dialect(served.dialect, served.model) if tools else VERBATIM
    quotations = QuotationFinder(tools, dialect)
    quotations.follow(request.messages)
    has_quoted = False
    sent = SentText()
    usage = Usage()
    repairs_left = served.max_repairs
    while True:
        attempt = Attempt(
            request,
            choice,
            tools,
            dialect,
            quotations,
            sent=sent,
            prefix=prefix,
            held=held.loosen() if held is not None and repairs_left == 0 else held,
            thinks=served.thinks,
            ends_at_quotation=not has_quoted and repairs_left > 0,
            help_names=listed.help_names,
            gives_help=help_turns_left > 0,
        )
        shown = _show(listed.view(history), request, choice, held, can_constrain=passthrough.can_constrain)
        model_request = _build_model_request(served, request, shown, extra)
        fitted = await served.context_check.fit(served.model, model_request)
        async with aclosing(_ask(model, fitted.request)) as answer:
            async for pieces in answer:
                if passed := attempt.feed(pieces):
                    yield passed
                if attempt.is_over:
                    break
        passed = attempt.close(served.name)
        usage += attempt.usage
        served.context_check.note_usage(served.model, fitted, attempt.usage)
        if observer is not None:
            observer.note_reading(attempt.original, attempt.problem)
        has_quoted = has_quoted or attempt.has_quoted
        if attempt.help_calls and attempt.original is not None:
            if passed:
                yield passed
            history = (*history, *listed.answer_help(attempt.original, attempt.help_calls))
            help_turns_left -= 1
            sent.continue_message()
            continue
        if attempt.problem is None:
            message = passthrough.to_client(attempt.build_message())
            ended = TurnEnded(message=message, finish=attempt.finish, usage=usage, stop_text=attempt.stop_text)
            yield [*passed, ended]
            return
        if passed:
            yield passed
        if (attempt.has_sent_call and request.stream) or repairs_left == 0:
            raise _make_failure(served.name, attempt.problem, held)
        history = _add_problem(history, attempt.original, attempt.describe_problem())
        repairs_left -= 1
        sent = sent if request.stream else SentText()
        sent.start_message()


def _make_failure(name: str, problem: str, held: HeldFormat | None) -> CallNotRepaired:
    if held is not None:
        return AnswerNotRepaired(f"the model {name} did not answer as asked: {problem}")
    return CallNotRepaired(f"the model {name} did not manage a call: {problem}")


async def _ask(model: Model, request: Request) -> AsyncGenerator[Sequence[Piece]]:
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
        if has_begun or not is_refused or request.shown.constraint is None:
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


def _show(
    view: ToolView, request: ChatRequest, choice: ToolChoice, held: HeldFormat | None, *, can_constrain: bool
) -> Shown:
    """Return what the model is shown: the tools of the client, and how it gives an answer in a format."""
    if held is not None and held.tool is not None:
        view, choice = replace(view, listed=(*view.listed, held.tool)), ToolChoice(mode="required")
    elif held is not None and held.asking == "words" and view.dialect.in_text:
        view = replace(view, listed=(), added=())  # a text dialect would say that no tool may be called, in plain words
    shown = view.render(view.history, choice, parallel=request.parallel)
    if held is None or held.asking != "words" or not can_constrain:
        return shown
    return replace(shown, constraint=Constraint(json_schema=held.shown))


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
