"""The events of a message, folded into what it says."""

from collections.abc import Iterable

from toolspeak._noun import noun
from toolspeak.events import CallMalformed, CallReady, Event, SaidInThought, TextDelta, ThinkingDelta


@noun
class Understood:
    """What a message says."""

    text: str = ""
    thinking: str = ""
    calls: tuple[CallReady, ...] = ()
    malformed: tuple[CallMalformed, ...] = ()


def folded(events: Iterable[Event]) -> Understood:
    """Fold the events of one message."""
    text: list[str] = []
    thinking: list[str] = []
    calls: list[CallReady] = []
    malformed: list[CallMalformed] = []
    for event in events:
        match event:
            case TextDelta(text=piece):
                text.append(piece)
            case ThinkingDelta(text=piece):
                thinking.append(piece)
            case CallReady():
                calls.append(event)
            case CallMalformed():
                malformed.append(event)
            case SaidInThought():
                thinking += text
                text, calls, malformed = [], [], []
            case _:
                pass
    return Understood(text="".join(text), thinking="".join(thinking), calls=tuple(calls), malformed=tuple(malformed))
