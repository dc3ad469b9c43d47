"""The events of a message, folded into what it says."""

from collections.abc import Iterable

from toolspeak._frozen import frozen
from toolspeak.events import CallMalformed, CallReady, Event, SaidInThought, TextDelta, ThinkingDelta


@frozen
class MessageContent:
    """What a message says."""

    text: str = ""
    thinking: str = ""
    calls: tuple[CallReady, ...] = ()
    malformed: tuple[CallMalformed, ...] = ()


def fold(events: Iterable[Event]) -> MessageContent:
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
    return MessageContent(
        text="".join(text), thinking="".join(thinking), calls=tuple(calls), malformed=tuple(malformed)
    )
