"""A conversation that goes on after an answer, as the loop would lead it.

It is the loop's own fold: what a model is told of a call that could not be understood, and whether it is asked once
more, is decided there. Only that nothing is run: each call that could have been has the same result.
"""

from collections.abc import Sequence

from toolspeak.dialects import dialect
from toolspeak.evaluation.records import RecordedAnswer
from toolspeak.events import Delta, Event, RunStarted, ToolFinished, TurnStarted
from toolspeak.loop import AskModel, State, begin, decide, reduce
from toolspeak.messages import Message, Text, ToolResult
from toolspeak.pieces import Answer, ApiCall
from toolspeak.spec import ToolSpec
from toolspeak.turns import TurnReader

DONE = "done"
"""What a call is told to have returned."""


def begun(specs: Sequence[ToolSpec], dialect_name: str, messages: Sequence[Message]) -> State:
    """Before the first answer."""
    started = RunStarted(run_id="", model="", dialect=dialect_name, messages=tuple(messages))
    return reduce(begin(specs), started)


def heard(state: State, dialect_name: str, answered: RecordedAnswer) -> list[Event]:
    """What the next answer says."""
    taken = {call.id for message in state.history for call in message.calls}
    prefix = f"call_{state.turn.number + 1}"
    reader = TurnReader(dialect(dialect_name), tuple(state.specs.values()), prefix=prefix, taken=taken)
    spoken = [
        ApiCall(index=index, id="", name=call.name, arguments=call.arguments)
        for index, call in enumerate(answered.spoken)
    ]
    text = [Text(text=answered.text)] if answered.text else []
    return reader.feed([Answer(parts=(*text, *spoken), finish=answered.finish)])


def continued(state: State, dialect_name: str, answered: RecordedAnswer) -> State:
    """After the next answer, and after its calls."""
    events = heard(state, dialect_name, answered)
    state = reduce(state, TurnStarted(turn=state.turn.number + 1))
    for event in events:
        if not isinstance(event, Delta):
            state = reduce(state, event)
    for spoken in state.turn.calls.values():
        if spoken.result is None:
            state = reduce(state, ToolFinished(result=ToolResult(call_id=spoken.id, output=DONE)))
    return state


def goes_on(state: State) -> bool:
    """Whether the loop would ask the model now."""
    return any(isinstance(action, AskModel) for action in decide(state))
