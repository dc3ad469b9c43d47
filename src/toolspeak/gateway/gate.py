"""What may go out: a client cannot be asked to forget what it was sent.

Text goes out as it comes. A call goes out as it is said if it is the first of its message; a later one might refer to
the result of an earlier one, which only the client will know, so it waits until it is whole. If it does refer, the turn
ends before it: the model says it again when it has the result. Nothing goes out that may yet turn out to be reasoning,
and no blank lines that only stood around calls.
"""

from collections.abc import Collection, Iterable

from toolspeak.events import (
    ArgsDelta,
    CallMalformed,
    CallReady,
    CallStarted,
    Event,
    FinishReason,
    SaidInThought,
    TextDelta,
    ThinkingDelta,
    TurnEnded,
    Usage,
)
from toolspeak.loop import needs
from toolspeak.messages import Call, Message, Part, Text, Thinking


class Gate:
    """Lets the events of one message through, as far as that is safe.

    Attributes:
        sent_call: Whether a call has begun to go out: nothing can be asked again then.
        malformed: What was meant as a call and could not be one.
        enough: Whether the rest of the message is of no use.
        taken_back: Whether something that went out turned out to be reasoning.
        ended: The end of the message, once it has come.
    """

    def __init__(
        self,
        tools: Collection[str] = (),
        *,
        single: bool = False,
        hold_text: bool = False,
        hold_all: bool = False,
    ) -> None:
        """Set the gate.

        Args:
            tools: What may be called; without any, nothing is a call.
            single: One call is enough.
            hold_text: A call is demanded: text goes out only with one.
            hold_all: What looks like an answer may be reasoning: nothing goes out before it is known not to be.
        """
        self.sent_call = False
        self.enough = False
        self.taken_back = False
        self.malformed: CallMalformed | None = None
        self.ended: TurnEnded | None = None
        self._tools = tools
        self._single = single
        self._hold_text = hold_text
        self._hold_all = hold_all
        self._held: list[Event] = []  # all of it waits, in order
        self._waiting: dict[str, list[Event]] = {}  # calls that wait until they are whole
        self._live = ""  # the call that goes out as it is said
        self._calls: list[CallReady] = []
        self._text: list[str] = []  # what went out, as are these
        self._thoughts: list[str] = []
        self._blank = ""  # white space that goes out with the next word

    def let(self, events: Iterable[Event]) -> list[Event]:
        """What of this may go out now."""
        passed: list[Event] = []
        for event in events:
            if isinstance(event, TurnEnded):
                self.ended = event
            elif isinstance(event, SaidInThought):
                passed += self._was_thought()
            elif not self.enough:
                passed += self._one(event)
        return passed

    def rest(self) -> list[Event]:
        """The message is over: what waited because it might have been reasoning, and is none."""
        held, self._held, self._hold_all = self._held, [], False
        return self.let(held)

    def last_words(self) -> list[Event]:
        """The message will do: text that waited for a call."""
        passed = self._released()
        if self._blank and not self._calls:
            self._text.append(self._blank)
            passed.append(TextDelta(text=self._blank))
        return passed

    def message(self) -> Message:
        """What went out, as a message. What a vendor put on reasoning or calls stays there."""
        said = self.ended.message.parts if self.ended else ()
        own = {part.call.id: part for part in said if isinstance(part, Call)}
        thinking, text = "".join(self._thoughts), "".join(self._text)
        thoughts: list[Part] = [part for part in said if isinstance(part, Thinking)]
        if "".join(part.text for part in thoughts if isinstance(part, Thinking)) != thinking:
            thoughts = [Thinking(text=thinking)] if thinking else []
        parts = [*thoughts, *([Text(text=text)] if text else [])]
        return Message(
            role="assistant",
            parts=(*parts, *(own.get(event.call.id, Call(call=event.call)) for event in self._calls)),
        )

    @property
    def finish(self) -> FinishReason:
        """How the message that went out ends."""
        finish = self.ended.finish if self.ended else "closed"
        return finish if finish in ("length", "refused", "error") else "tool_calls" if self._calls else "stop"

    @property
    def usage(self) -> Usage:
        return self.ended.usage if self.ended else Usage(estimated=True)

    @property
    def called(self) -> set[str]:
        """The tools that were called."""
        return {event.call.name for event in self._calls}

    def _was_thought(self) -> list[Event]:
        if self.sent_call or self._text:
            self.taken_back = True
            return []
        thought = "".join(event.text for event in self._held if isinstance(event, TextDelta)) + self._blank
        self._held, self._hold_all, self._blank = [], False, ""  # the reasoning is over: no more doubt
        self._waiting, self.malformed, self.enough = {}, None, False
        return self._one(ThinkingDelta(text=thought)) if thought else []

    def _one(self, event: Event) -> list[Event]:
        if self._hold_all:
            if not isinstance(event, ThinkingDelta) or self._held:
                self._held.append(event)
                return []
            self._hold_all = False  # it says itself what is reasoning
        if isinstance(event, TextDelta):
            return self._words(event)
        if isinstance(event, ThinkingDelta):
            self._thoughts.append(event.text)
            return [event]
        if not self._tools:
            return []
        return self._bad(event) if isinstance(event, CallMalformed) else self._call(event)

    def _words(self, event: TextDelta) -> list[Event]:
        if self._hold_text:
            self._held.append(event)
            return []
        if event.text.isspace():
            self._blank += event.text
            return []
        if self._blank:
            event, self._blank = TextDelta(text=self._blank + event.text), ""
        self._text.append(event.text)
        return [event]

    def _bad(self, event: CallMalformed) -> list[Event]:
        self._waiting.pop(event.call_id, None)
        if event.call_id == self._live or not self._calls:
            self.malformed = event
            self.enough = True  # what follows was said by a model that is already mistaken
        return []

    def _call(self, event: Event) -> list[Event]:
        if isinstance(event, CallStarted):
            if not self.sent_call and event.name in self._tools:
                self._live = event.call_id
                return [*self._before_first_call(), event]
            self._waiting[event.call_id] = [event]
        elif isinstance(event, ArgsDelta):
            if event.call_id == self._live:
                return [event]
            self._waiting.setdefault(event.call_id, []).append(event)
        elif isinstance(event, CallReady):
            return self._whole(event)
        return []

    def _whole(self, event: CallReady) -> list[Event]:
        call = event.call
        if needs(call.arguments):
            self.enough = True
            return []
        self._calls.append(event)
        self.enough = self._single
        if call.id == self._live:
            return [event]
        return [*self._before_first_call(), *self._waiting.pop(call.id, []), event]

    def _before_first_call(self) -> list[Event]:
        if self.sent_call:
            return []
        self.sent_call = True
        released = self._released()
        self._blank = ""
        return released

    def _released(self) -> list[Event]:
        held, self._held, self._hold_text = self._held, [], False
        return self.let(held)
