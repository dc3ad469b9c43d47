"""Rounds: the pieces into which a conversation may be cut, and the handles of its results.

A round begins with a message of the user, or with a message of the model that makes calls and follows results. It ends
before the next one, so it always holds the results of its calls. Rounds and results are numbered from 1, in the order
of the conversation; `round_3` and `result_17` are their handles. A conversation grows only at its end, so that a handle
keeps its meaning.

All functions take the messages of a conversation without its system messages.
"""

from collections.abc import Sequence
from itertools import pairwise

from toolspeak.messages import Message, Result


def drop_system(history: Sequence[Message]) -> tuple[Message, ...]:
    """Return a conversation without its system messages."""
    return tuple(message for message in history if message.role != "system")


def find_cuts(messages: Sequence[Message]) -> tuple[int, ...]:
    """Return the places at which rounds begin; the first is 0."""
    reach = _find_reach(messages)
    later = (place for place in range(1, len(messages)) if _begins_round(messages, place) and reach[place] >= place)
    return (0, *later) if messages else ()


def _begins_round(messages: Sequence[Message], place: int) -> bool:
    message, before = messages[place], messages[place - 1]
    if message.role == "user":
        return before.role != "user"
    return message.role == "assistant" and bool(message.calls) and before.role == "tool"


def _find_reach(messages: Sequence[Message]) -> list[int]:
    """Return, for each place, the place of the earliest message whose calls get a result there or later."""
    callers: dict[str, int] = {}
    reach: list[int] = []
    for place, message in enumerate(messages):
        callers |= {call.id: place for call in message.calls}
        owners = [callers.get(part.call_id, place) for part in message.parts if isinstance(part, Result)]
        reach.append(min(owners, default=place))
    for place in range(len(reach) - 2, -1, -1):
        reach[place] = min(reach[place], reach[place + 1])
    return reach


def list_rounds(messages: Sequence[Message]) -> list[tuple[Message, ...]]:
    """Return the rounds of a conversation, in order."""
    cuts = (*find_cuts(messages), len(messages))
    return [tuple(messages[start:end]) for start, end in pairwise(cuts)]


def list_results(messages: Sequence[Message]) -> list[Result]:
    """Return the results of a conversation, in order."""
    return [part for message in messages for part in message.parts if isinstance(part, Result)]
