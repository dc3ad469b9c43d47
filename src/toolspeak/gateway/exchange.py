"""One request, answered: asked in the model's dialect, understood, and if need be asked again."""

from collections.abc import AsyncGenerator
from contextlib import aclosing

from toolspeak._frozen import frozen
from toolspeak.dialects import Dialect
from toolspeak.errors import ProviderError, StreamInterrupted
from toolspeak.events import AUTO, CallMalformed, Event, ToolChoice, TurnEnded, Usage
from toolspeak.gateway.gate import Gate
from toolspeak.gateway.passthrough import Passage
from toolspeak.gateway.verbatim import VERBATIM
from toolspeak.messages import Message, Result, Text, assistant, user
from toolspeak.models import Model, Request, Sampling
from toolspeak.spec import ToolSpec
from toolspeak.turns import TurnReader
from toolspeak.wire.chat_request import ChatRequest


@frozen
class Served:
    """A model that a gateway serves.

    Attributes:
        name: What clients call it.
        model: The model.
        dialect: How it is spoken to.
        mends: How often a call that it malformed is asked for again; 0 turns that off.
        thinks: Whether its messages may begin in the middle of reasoning.
    """

    name: str
    model: Model
    dialect: Dialect
    mends: int = 2
    thinks: bool = False


class NotMended(ProviderError):
    """The model did not manage a call that can be understood."""


async def answered(served: Served, asked: ChatRequest, prefix: str, api: str = "openai") -> AsyncGenerator[list[Event]]:
    """The answer to a request: events that may go out, the last of them `TurnEnded`.

    Args:
        served: Who answers.
        asked: What is asked.
        prefix: What the ids of calls begin with; it must be new for each request.
        api: The API in which it is asked.
    """
    passage = Passage(served.model, served.dialect, api)
    choice = asked.choice if asked.tools else AUTO
    history, extra = passage.inward(asked.messages), passage.fields(asked)
    tools = _callable(asked.tools, choice)
    usage = Usage()
    for tries_left in range(served.mends, -1, -1):
        gate = Gate(
            {tool.name for tool in tools},
            single=not asked.parallel,
            hold_text=choice.mode in ("required", "named"),
            hold_all=bool(tools) and (served.thinks or not asked.stream),
        )
        reader = TurnReader(
            served.dialect if tools else VERBATIM,
            tools,
            single=not asked.parallel,
            prefix=prefix,
            taken=_ids(asked.messages),
        )
        request = _request(served, asked, history, choice, extra)
        async with aclosing(served.model.ask(request)) as answer:
            async for pieces in answer:
                if passed := gate.let(reader.feed(pieces)):
                    yield passed
                if gate.enough or gate.taken_back:
                    break
        passed = [*gate.let(reader.close("closed")), *gate.rest()]
        if gate.taken_back:
            raise StreamInterrupted(
                f"what the model {served.name} was heard to say turned out to be reasoning; the gateway must be told "
                "that it thinks (toolspeak serve --thinks)"
            )
        usage += gate.usage
        problem = _problem(gate, choice)
        if problem is None:
            passed += gate.last_words()
            yield [*passed, TurnEnded(message=passage.outward(gate.message()), finish=gate.finish, usage=usage)]
            return
        if passed:
            yield passed
        if (gate.sent_call and asked.stream) or tries_left == 0:
            raise NotMended(f"the model {served.name} did not manage a call: {problem}")
        said = gate.ended.message if gate.ended else None
        history = _with_problem(history, said, problem)


def _callable(tools: tuple[ToolSpec, ...], choice: ToolChoice) -> tuple[ToolSpec, ...]:
    """What a call may be of. Where none may be made, everything that is said is text."""
    match choice.mode:
        case "none":
            return ()
        case "named":
            return tuple(tool for tool in tools if tool.name in choice.names)
        case _:
            return tools


def _problem(gate: Gate, choice: ToolChoice) -> str | None:
    """Why the answer will not do."""
    if gate.finish in ("length", "refused"):
        return None
    if gate.malformed is not None:
        return _words(gate.malformed)
    if choice.mode == "required" and not gate.called:
        return "a call is needed, and none was made"
    if choice.mode == "named" and (missing := [name for name in choice.names if name not in gate.called]):
        return f"{' and '.join(missing)} must be called, and was not"
    return None


def _words(malformed: CallMalformed) -> str:
    return " ".join(filter(None, (malformed.reason + ".", malformed.hint)))


def _with_problem(history: tuple[Message, ...], said: Message | None, problem: str) -> tuple[Message, ...]:
    """The conversation with what went wrong. The client never sees this; it is asked once more, and forgotten."""
    words = f"That did not work: {problem}"
    if said is not None and said.calls and said.raw is None:  # calls that the API marked have results
        results = (Result(call_id=call.id, content=(Text(text=words),), is_error=True) for call in said.calls)
        return (*history, said, Message(role="tool", parts=tuple(results)))
    text = said.raw.text if said and said.raw else said.text if said else ""
    mistaken = (assistant(text),) if text.strip() else ()
    return (*history, *mistaken, user(words))


def _ids(messages: tuple[Message, ...]) -> set[str]:
    return {call.id for message in messages for call in message.calls}


def _request(
    served: Served, asked: ChatRequest, history: tuple[Message, ...], choice: ToolChoice, extra: dict[str, object]
) -> Request:
    sampling = Sampling(
        max_tokens=asked.max_tokens,
        temperature=asked.temperature,
        top_p=asked.top_p,
        seed=asked.seed,
        stop=asked.stop,
        extra=extra or None,
    )
    shown = served.dialect.render(asked.tools, history, choice=choice, parallel=asked.parallel)
    return Request(shown=shown, dialect=served.dialect.name, stream=asked.stream, sampling=sampling)
