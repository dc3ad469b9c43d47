"""The conversation of a trial, which goes on after a malformed call as the loop would lead it.

It uses the loop's own `reduce` and `decide`: they decide what a model is told about a call that could not be read, and
whether it is asked once more. Only no tool is run: each call that could have run has the same result.
"""

from collections.abc import Sequence

from toolspeak.dialects import dialect
from toolspeak.evaluation.answers import RecordedAnswer
from toolspeak.events import Delta, Event, RunStarted, ToolFinished, TurnStarted
from toolspeak.loop import AskModel, State, decide, initial_state, reduce
from toolspeak.messages import Message, Text, ToolResult
from toolspeak.pieces import Answer, ApiCall
from toolspeak.spec import ToolSpec
from toolspeak.turns import TurnReader

CALL_OUTPUT = "done"
"""The output of every call, since none is run."""


def begin_conversation(specs: Sequence[ToolSpec], dialect_name: str, messages: Sequence[Message]) -> State:
    """Return the state of the loop before the first answer."""
    started = RunStarted(run_id="", model="", dialect=dialect_name, messages=tuple(messages))
    return reduce(initial_state(specs), started)


def read_answer(state: State, dialect_name: str, answer: RecordedAnswer) -> list[Event]:
    """Return the events of the next answer."""
    taken = {call.id for message in state.history for call in message.calls}
    prefix = f"call_{state.turn.number + 1}"
    reader = TurnReader(dialect(dialect_name), tuple(state.specs.values()), prefix=prefix, taken=taken)
    calls = [
        ApiCall(index=index, id="", name=call.name, arguments=call.arguments)
        for index, call in enumerate(answer.api_calls)
    ]
    text = [Text(text=answer.text)] if answer.text else []
    return reader.feed([Answer(parts=(*text, *calls), finish=answer.finish)])


def take_answer(state: State, dialect_name: str, answer: RecordedAnswer) -> State:
    """Return the state of the loop after the next answer, before its calls are run."""
    events = read_answer(state, dialect_name, answer)
    state = reduce(state, TurnStarted(turn=state.turn.number + 1))
    for event in events:
        if not isinstance(event, Delta):
            state = reduce(state, event)
    return state


def add_answer(state: State, dialect_name: str, answer: RecordedAnswer) -> State:
    """Return the state of the loop after the next answer and its calls."""
    state = take_answer(state, dialect_name, answer)
    for call in state.turn.calls.values():
        if call.result is None:
            state = reduce(state, ToolFinished(result=ToolResult(call_id=call.id, output=CALL_OUTPUT)))
    return state


def will_ask_model(state: State) -> bool:
    """Whether the loop would ask the model in this state."""
    return any(isinstance(action, AskModel) for action in decide(state))
