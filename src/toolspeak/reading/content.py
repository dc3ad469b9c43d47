"""The content of one message, folded from its events, and that content as JSON."""

from collections.abc import Iterable
from typing import Any, cast

from toolspeak._frozen import frozen
from toolspeak.events import CallMalformed, CallReady, Event, SaidInThought, TextDelta, ThinkingDelta
from toolspeak.messages import Concat, Ref


@frozen
class MessageContent:
    """What a message contains once it has been read.

    Attributes:
        text: The prose of the message, without its calls and its reasoning.
        thinking: The reasoning.
        calls: The calls that can run, in the order of the message.
        malformed: What was meant as a call and cannot run, in the order of the message.
    """

    text: str = ""
    thinking: str = ""
    calls: tuple[CallReady, ...] = ()
    malformed: tuple[CallMalformed, ...] = ()


def fold(events: Iterable[Event]) -> MessageContent:
    """Fold all events of one message into its content."""
    builder = ContentBuilder()
    builder.add(events)
    return builder.build()


class ContentBuilder:
    """Folds the events of one message while they arrive.

    Attributes:
        calls: The `CallReady` and `CallMalformed` events so far, in their order.
    """

    def __init__(self) -> None:
        self.calls: list[CallReady | CallMalformed] = []
        self._text: list[str] = []
        self._thinking: list[str] = []

    def add(self, events: Iterable[Event]) -> None:
        """Add events. `SaidInThought` turns the text so far into reasoning and drops the calls so far."""
        for event in events:
            if isinstance(event, TextDelta):
                self._text.append(event.text)
            elif isinstance(event, ThinkingDelta):
                self._thinking.append(event.text)
            elif isinstance(event, CallReady | CallMalformed):
                self.calls.append(event)
            elif isinstance(event, SaidInThought):
                self._thinking += self._text
                self._text, self.calls = [], []

    @property
    def text(self) -> str:
        """The prose so far."""
        return "".join(self._text)

    @property
    def thinking(self) -> str:
        """The reasoning so far."""
        return "".join(self._thinking)

    def build(self) -> MessageContent:
        """Return the content so far."""
        return MessageContent(
            text=self.text,
            thinking=self.thinking,
            calls=tuple(call for call in self.calls if isinstance(call, CallReady)),
            malformed=tuple(call for call in self.calls if isinstance(call, CallMalformed)),
        )


def encode_calls(content: MessageContent) -> dict[str, Any]:
    """Return the calls and the malformed calls as JSON data.

    A reference to the result of another call is written as `{"$call": 0}`: the place of that call in the list.
    """
    places = {ready.call.id: place for place, ready in enumerate(content.calls)}
    return {
        "calls": [
            {"name": ready.call.name, "arguments": encode_value(ready.call.arguments, places)}
            for ready in content.calls
        ],
        "malformed": [
            {"name": call.name, "reason": call.reason, "hint": call.hint, "raw": call.raw} for call in content.malformed
        ],
    }


def encode_content(content: MessageContent) -> dict[str, Any]:
    """Return the whole content as JSON data: like `encode_calls`, with the repair of each call, text and thinking."""
    encoded = encode_calls(content)
    calls = [{**call, "repair": ready.repair} for call, ready in zip(encoded["calls"], content.calls, strict=True)]
    return {**encoded, "calls": calls, "text": content.text, "thinking": content.thinking}


def encode_value(value: Any, places: dict[str, int]) -> Any:
    """Return an argument as JSON data. `places` has the place of each call in its list, by the id of the call."""
    match value:
        case Ref(call=call, path=path):
            return {"$call": places[call], **({"path": list(path)} if path else {})}
        case Concat(parts=parts):
            return {"$concat": [encode_value(part, places) for part in parts]}
        case dict():
            return {key: encode_value(item, places) for key, item in cast("dict[str, Any]", value).items()}
        case list():
            return [encode_value(item, places) for item in cast("list[Any]", value)]
        case _:
            return value
