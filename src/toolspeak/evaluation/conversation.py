"""A conversation that goes on after an answer, as the loop would lead it.

It is the loop's own fold: what a model is told of a call that could not be understood, and whether it is asked once
more, is decided there. Only that nothing is run: each call that could have been has the same result.
"""

from collections.abc import Sequence

from toolspeak.dialects import TurnReader, dialect
from toolspeak.evaluation.nouns import Answered
from toolspeak.events import Delta, Event, RunStarted, ToolFinished, TurnStarted
from toolspeak.loop import AskModel, State, begin, decide, reduce
from toolspeak.messages import Message, Text, ToolResult
from toolspeak.pieces import Answer, SpokenCall
from toolspeak.spec import ToolSpec

DONE = "done"
"""What a call is told to have returned."""


def begun(specs: Sequence[ToolSpec], speaking: str, messages: Sequence[Message]) -> State:
    """Before the first answer."""
    started = RunStarted(run_id="", model="", dialect=speaking, messages=tuple(messages))
    return reduce(begin(specs), started)


def heard(state: State, speaking: str, answered: Answered) -> list[Event]:
    """What the next answer says."""
    taken = {call.id for message in state.history for call in message.calls}
    prefix = f"call_{state.turn.number + 1}"
    reader = TurnReader(dialect(speaking), tuple(state.specs.values()), prefix=prefix, taken=taken)
    spoken = [
        SpokenCall(index=index, id="", name=call.name, arguments=call.arguments)
        for index, call in enumerate(answered.spoken)
    ]
    text = [Text(text=answered.text)] if answered.text else []
    return reader.feed([Answer(parts=(*text, *spoken), finish=answered.finish)])


def continued(state: State, speaking: str, answered: Answered) -> State:
    """After the next answer, and after its calls."""
    events = heard(state, speaking, answered)
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
