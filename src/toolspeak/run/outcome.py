"""What a run came to."""

from typing import Any

from toolspeak._frozen import frozen
from toolspeak.events import Fact, StopReason, Usage
from toolspeak.loop import BrokenReference, State, resolved
from toolspeak.messages import Arguments, Json, Message, ToolCall, ToolResult


@frozen
class CallRecord:
    """A call that the model made, and what came of it."""

    call: ToolCall
    result: ToolResult

    @property
    def name(self) -> str:
        return self.call.name

    @property
    def arguments(self) -> Arguments:
        return self.call.arguments

    @property
    def output(self) -> Json:
        return self.result.output

    @property
    def error(self) -> str | None:
        return self.result.error


@frozen
class Outcome:
    """What a run came to.

    Attributes:
        text: The answer: the text of the model's last message.
        calls: The calls that were made, in order, with their results.
        messages: The whole conversation. It can always be sent again: `agent.run("…", messages=outcome.messages)`.
        facts: The run itself, from which it can be resumed.
        usage: Tokens of all turns.
        stop_reason: Why it ended: `answered`, or what came between.
        detail: The same in words, where there is more to say.
        output: The typed answer, if one was asked for.
    """

    text: str
    calls: tuple[CallRecord, ...]
    messages: tuple[Message, ...]
    facts: tuple[Fact, ...]
    usage: Usage
    stop_reason: StopReason
    detail: str = ""
    output: Any = None


def outcome_of(state: State, facts: tuple[Fact, ...], output: Any = None) -> Outcome:
    """The outcome of a run that has ended."""
    last = [message.text for message in state.history[state.turn.before :] if message.role == "assistant"]
    return Outcome(
        text=last[0] if state.turn.number and last else "",
        calls=_made(state),
        messages=state.history,
        facts=facts,
        usage=state.usage,
        stop_reason=state.ended.reason if state.ended else "error",
        detail=state.ended.detail if state.ended else "",
        output=output,
    )


def _made(state: State) -> tuple[CallRecord, ...]:
    """The calls that could be understood, with what they referred to in its place."""
    results = {each.id: each.result for each in state.done if each.result is not None}
    return tuple(
        CallRecord(call=_plain(each.call, results) if each.needs else each.call, result=each.result)
        for each in state.done
        if each.call and each.result
    )


def _plain(call: ToolCall, results: dict[str, ToolResult]) -> ToolCall:
    try:
        return ToolCall(id=call.id, name=call.name, arguments=resolved(call.arguments, results))
    except BrokenReference:
        return call
