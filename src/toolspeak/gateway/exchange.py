"""Answers one request: asks the model in its dialect, reads the answer, and asks again if a call has a problem.

The call may be malformed, missing though it was demanded, or quoted. A model that quotes a call from a result is asked
again once. If it quotes a call again, the call is dropped.
"""

from collections.abc import AsyncGenerator
from contextlib import aclosing

from toolspeak._frozen import frozen
from toolspeak.dialects import Dialect
from toolspeak.errors import ProviderError, StreamInterrupted
from toolspeak.events import AUTO, CallMalformed, Event, ToolChoice, TurnEnded, Usage
from toolspeak.gateway.gate import Gate
from toolspeak.gateway.passthrough import Passthrough
from toolspeak.gateway.verbatim import VERBATIM
from toolspeak.loop import words
from toolspeak.messages import Message, Result, Text, assistant, user
from toolspeak.models import Model, Request, Sampling, match_dialect
from toolspeak.spec import ToolSpec
from toolspeak.turns import QuotationFinder, TurnReader
from toolspeak.wire.api import ApiName
from toolspeak.wire.chat_request import ChatRequest


@frozen
class ServedModel:
    """A model that a gateway serves.

    Attributes:
        name: Its name for clients.
        model: The model.
        dialect: The dialect in which it is asked.
        max_repairs: How often it is asked again after a malformed, missing or quoted call.
        thinks: Whether its messages may begin in the middle of reasoning.
    """

    name: str
    model: Model
    dialect: Dialect
    max_repairs: int = 2
    thinks: bool = False


class CallNotRepaired(ProviderError):
    """The model wrote no valid call, also when it was asked again."""


async def answer_request(
    served: ServedModel, request: ChatRequest, prefix: str, api: ApiName = "openai"
) -> AsyncGenerator[list[Event]]:
    """Yield the events of an answer that may be sent. The last event is `TurnEnded`.

    Args:
        served: The model.
        request: The request of the client.
        prefix: The beginning of the ids of calls, which must be different for each request.
        api: The API of the client.
    """
    passthrough = Passthrough(served.model, served.dialect, api)
    choice = request.choice if request.tools else AUTO
    history, extra = passthrough.to_model(request.messages), passthrough.forwarded_fields(request)
    tools = _allowed_tools(request.tools, choice)
    dialect = match_dialect(served.dialect, served.model) if tools else VERBATIM
    quotations = QuotationFinder(tools, dialect)
    quotations.follow(request.messages)
    has_quoted = False
    usage = Usage()
    for repairs_left in range(served.max_repairs, -1, -1):
        gate = Gate(
            {tool.name for tool in tools},
            single=not request.parallel,
            hold_text=choice.mode in ("required", "named"),
            hold_all=bool(tools) and (served.thinks or not request.stream),
            may_be_quoted=quotations.is_named,
            ends_at_quotation=not has_quoted and repairs_left > 0,
        )
        reader = TurnReader(
            dialect,
            tools,
            single=not request.parallel,
            prefix=prefix,
            taken=_call_ids(request.messages),
            quotations=quotations,
        )
        model_request = _build_model_request(served, request, history, choice, extra)
        async with aclosing(served.model.ask(model_request)) as answer:
            async for pieces in answer:
                if passed := gate.admit(reader.feed(pieces)):
                    yield passed
                if gate.is_done or gate.has_sent_reasoning:
                    break
        passed = [*gate.admit(reader.close("closed")), *gate.release_held()]
        if gate.has_sent_reasoning:
            raise StreamInterrupted(
                f"text of the model {served.name} was sent and turned out to be reasoning; start the gateway with "
                "toolspeak serve --thinks"
            )
        usage += gate.usage
        has_quoted = has_quoted or gate.quoted is not None
        problem = _find_problem(gate, choice)
        if problem is None:
            passed += gate.release_text()
            yield [
                *passed,
                TurnEnded(message=passthrough.to_client(gate.build_message()), finish=gate.finish, usage=usage),
            ]
            return
        if passed:
            yield passed
        if (gate.has_sent_call and request.stream) or repairs_left == 0:
            raise CallNotRepaired(f"the model {served.name} did not manage a call: {problem}")
        message = gate.ended.message if gate.ended else None
        history = _add_problem(history, message, problem)


def _allowed_tools(tools: tuple[ToolSpec, ...], choice: ToolChoice) -> tuple[ToolSpec, ...]:
    """Return the tools that may be called. Without any, the whole answer is text."""
    match choice.mode:
        case "none":
            return ()
        case "named":
            return tuple(tool for tool in tools if tool.name in choice.names)
        case _:
            return tools


def _find_problem(gate: Gate, choice: ToolChoice) -> str | None:
    """Return why the answer is not acceptable, in words for the model; None if it is."""
    if gate.finish in ("length", "refused"):
        return None
    if gate.malformed is not None:
        return _describe(gate.malformed)
    if gate.quoted is not None:
        return f"{words.describe_quotation(gate.quoted)}."
    if choice.mode == "required" and not gate.called_tools:
        return "a call is needed, and none was made"
    if choice.mode == "named" and (missing := [name for name in choice.names if name not in gate.called_tools]):
        return f"{' and '.join(missing)} must be called, and was not"
    return None


def _describe(malformed: CallMalformed) -> str:
    return " ".join(filter(None, (malformed.reason + ".", malformed.hint)))


def _add_problem(history: tuple[Message, ...], message: Message | None, problem: str) -> tuple[Message, ...]:
    """Return the conversation with the faulty answer and its problem. Only the model sees them; the client does not."""
    note = f"That did not work: {problem}"
    if message is not None and message.calls and message.raw is None:  # native calls need results
        results = (Result(call_id=call.id, content=(Text(text=note),), is_error=True) for call in message.calls)
        return (*history, message, Message(role="tool", parts=tuple(results)))
    text = message.raw.text if message and message.raw else message.text if message else ""
    faulty = (assistant(text),) if text.strip() else ()
    return (*history, *faulty, user(note))


def _call_ids(messages: tuple[Message, ...]) -> set[str]:
    return {call.id for message in messages for call in message.calls}


def _build_model_request(
    served: ServedModel,
    request: ChatRequest,
    history: tuple[Message, ...],
    choice: ToolChoice,
    extra: dict[str, object],
) -> Request:
    sampling = Sampling(
        max_tokens=request.max_tokens,
        temperature=request.temperature,
        top_p=request.top_p,
        seed=request.seed,
        stop=request.stop,
        extra=extra or None,
    )
    shown = served.dialect.render(request.tools, history, choice=choice, parallel=request.parallel)
    return Request(shown=shown, dialect=served.dialect.name, stream=request.stream, sampling=sampling)
