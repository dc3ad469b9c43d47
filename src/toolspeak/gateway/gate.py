"""`Gate`: decides which events of an answer may be sent to the client, because they cannot be taken back.

Text is sent as it arrives. The first call of a message is sent as it arrives, too. A later call may refer to the result
of an earlier one, which only the client will know; so it is held until it is complete. If it has a reference, the turn
ends before it, and the model writes it again when it has the result. Text that may still turn out to be reasoning is
held, and blank lines around calls are dropped. A call of a tool that a result names is held as well: it may turn out to
be quoted from the result, and is dropped then.

The arguments of a call are checked against the schema of its tool (`CallCheck`), unless the call was sent while it
arrived. If they do not fit, the call counts as malformed.

- A client that asks for it with `strict: true` never gets a call that does not fit. So each of these calls is held
  until it is complete.
- Calls of all other tools are held only if that costs nothing, because the dialect is read one whole call at a time.
  The last message that the model may write, and calls after one that was sent, are not checked: the client does that.

A model that is asked again writes its message anew, and often begins with the same words. If an earlier message to the
same request was sent in part, its text is not sent again (`SentText`). The words of both messages are
compared: as long as they are equal, nothing is sent, and what goes on behind them is. If the words differ, they are
held. A call ends the doubt: the client keeps the words that it has, and those of the new message, which say the same or
excuse a fault that the client has not seen, are dropped. In a message without a call they are the answer, and follow as
a paragraph of their own. Reasoning is sent with each message: it is shown while it arrives, it is no part of the
answer, and a signature of its vendor is valid for the reasoning of the last message only.
"""

import operator
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import islice
from typing import Any, cast

from toolspeak.loop import find_references
from toolspeak.values.events import (
    ArgsDelta,
    CallMalformed,
    CallQuoted,
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
from toolspeak.values.messages import Call, Message, Part, Text, Thinking, ToolCall
from toolspeak.values.spec import Schema, ToolSpec, resolve_reference
from toolspeak.values.validation import find_problems, is_valid
from toolspeak.wire.vendor_tools import find_text_fault, get_text_form

MAX_FAULTS = 8
"""Faults in the arguments of one call that a model is told of."""


class CallCheck:
    """Checks the arguments of calls against the schemas of their tools.

    `strict` are the names of the tools whose calls must fit. Unless it `checks_all`, only their calls are checked. With
    `holds_all`, all calls that are checked are held until they are complete.
    """

    def __init__(
        self, tools: Sequence[ToolSpec], strict: Collection[str], *, checks_all: bool, holds_all: bool = False
    ) -> None:
        # A client cannot be given a call of its vendor's own tools whose text is not in the form that it knows.
        self._strict = {tool.name for tool in tools if tool.name in strict or get_text_form(tool)}
        self._checked = {tool.name: tool for tool in tools if checks_all or tool.name in self._strict}
        self._holds_all = holds_all

    def is_held(self, name: str) -> bool:
        """Whether calls of a tool are held until they are complete. A raw text is sent as it arrives."""
        tool = self._checked.get(name)
        if tool is None or (tool.raw is not None and not get_text_form(tool)):
            return False
        return self._holds_all or name in self._strict

    def complete(self, call: ToolCall) -> ToolCall:
        """Return a call with null for what is missing, if the client is strict and the schema allows null there.

        A schema for strict clients requires every key, and writes what may be left out as a value that may be null.
        """
        if call.name not in self._strict:
            return call
        schema = self._checked[call.name].parameters
        completed = _add_nulls(call.arguments, schema, schema)
        return call if completed is call.arguments else replace(call, arguments=completed)

    def find_fault(self, call: ToolCall, *, is_first: bool) -> str:
        """Return what is wrong with the arguments of a call; empty if they fit, or are not checked."""
        tool = self._checked.get(call.name)
        if tool is None or not (is_first or call.name in self._strict):
            return ""
        faults = list(islice(find_problems(dict(call.arguments), tool.parameters, tool.parameters), MAX_FAULTS))
        if tool.raw is not None and not faults:
            faults = list(filter(None, [find_text_fault(tool, call.arguments[tool.raw])]))
        return f"the arguments of {call.name} do not fit: {'; '.join(faults)}" if faults else ""


def _add_nulls(value: Any, schema: Any, root: Schema) -> Any:
    """Return a value with null for required keys that it lacks, as far as they may be null, in its objects as well.

    A value that lacks none is returned as it is.
    """
    if not isinstance(value, dict | list) or not isinstance(schema, Mapping):
        return cast("Any", value)
    schema = resolve_reference(cast("Schema", schema), root)
    kind = "object" if isinstance(value, dict) else "array"
    options = [each for each in (*schema.get("anyOf", ()), *schema.get("oneOf", ())) if _may_be(each, kind, root)]
    if len(options) == 1:  # as of a value that may be null; with more of them it is not known which is meant
        value = _add_nulls(value, options[0], root)
    if isinstance(value, list):
        items = cast("list[Any]", value)
        completed = [_add_nulls(each, schema.get("items"), root) for each in items]
        return items if all(map(operator.is_, completed, items)) else completed
    given = cast("dict[str, Any]", value)
    properties = cast("Mapping[str, Any]", schema.get("properties", {}))
    added = {name: _add_nulls(each, properties.get(name), root) for name, each in given.items()}
    missing = [name for name in schema.get("required", ()) if name not in given]
    added |= {name: None for name in missing if is_valid(None, properties.get(name, False), root)}
    is_same = len(added) == len(given) and all(added[name] is each for name, each in given.items())
    return given if is_same else added


def _may_be(schema: Any, kind: str, root: Schema) -> bool:
    """Whether a schema names a type among its own: "object" or "array"."""
    if not isinstance(schema, Mapping):
        return False
    types = resolve_reference(cast("Schema", schema), root).get("type")
    return types == kind or (isinstance(types, list) and kind in types)


NO_CHECK = CallCheck((), (), checks_all=False)


class SentText:
    """The text that a client has got of the answer to one request, over all messages of the model."""

    def __init__(self) -> None:
        self._pieces: list[str] = []
        self._earlier = ""  # what was sent of earlier messages, if this one is expected to begin with it
        self._repeated_chars = 0  # how much of it this message has repeated
        self._gap = ""  # what separates the next text from the one before it

    def __str__(self) -> str:
        return "".join(self._pieces)

    def __bool__(self) -> bool:
        return bool(self._pieces)

    @property
    def is_repeated(self) -> bool:
        """Whether the message has repeated all that was sent before it."""
        return self._repeated_chars == len(self._earlier)

    def start_message(self) -> None:
        """Begin another message: it is expected to begin with the text that was sent."""
        self._earlier, self._repeated_chars = str(self), 0

    def continue_message(self) -> None:
        """Begin another message, which goes on after what was sent, in a paragraph of its own."""
        self.stop_comparing()
        self._gap = "\n\n" if self._pieces else ""

    def extend(self, text: str) -> str | None:
        """Return what is to be sent of the next text of the message; None if the message is not what was sent."""
        if not self.is_repeated:
            if self._earlier.startswith(text, self._repeated_chars):
                self._repeated_chars += len(text)
                return ""
            unrepeated = self._earlier[self._repeated_chars :]
            if not text.startswith(unrepeated):
                return None
            text = text.removeprefix(unrepeated)
            self.stop_comparing()
        if text and self._gap:
            text = text.lstrip()
        if text:
            text, self._gap = self._gap + text, ""
            self._pieces.append(text)
        return text

    def stop_comparing(self) -> None:
        """Send all further text of the message, whatever was sent before."""
        self._earlier, self._repeated_chars = "", 0

    def append(self, text: str) -> None:
        """Add text that is sent without a comparison."""
        self._earlier, self._repeated_chars = "", 0
        self._pieces.append(text)


@dataclass(slots=True, kw_only=True)
class Gate:
    """Lets the events of one message pass, as far as that is safe."""

    tools: Collection[str] = ()  # the names of the tools that may be called; without any, calls are dropped
    single: bool = False  # whether the message is done after one call
    hold_text: bool = False  # whether a call is required, so that text is sent only with one
    hold_all: bool = False  # whether text may turn out to be reasoning, so that it is held until that is known
    may_be_quoted: Callable[[str], bool] = lambda tool: False  # whether a call of a tool is held until that is known
    ends_at_quotation: bool = True  # whether a quoted call before all others ends the message; else it is only dropped
    sent: SentText = field(default_factory=SentText)  # what was sent of earlier messages to the same request
    help_names: frozenset[str] = frozenset()  # the tools that the gateway answers itself; their calls are not sent
    check: CallCheck = NO_CHECK  # of the arguments of calls
    forbidden: Collection[str] = ()  # the names of tools that the client has and does not allow in this answer

    has_sent_call: bool = field(default=False, init=False)  # after that the model cannot be asked again
    has_sent_reasoning: bool = field(default=False, init=False)  # whether what was sent turned out to be reasoning
    is_done: bool = field(default=False, init=False)  # whether the rest of the message is not needed
    calls: list[CallReady] = field(default_factory=list[CallReady], init=False)  # those that were sent
    help_calls: list[ToolCall] = field(default_factory=list[ToolCall], init=False)
    malformed: CallMalformed | None = field(default=None, init=False)  # the malformed call that ends the message
    quoted: CallQuoted | None = field(default=None, init=False)  # the quoted call that ends the message
    ended: TurnEnded | None = field(default=None, init=False)  # the end of the message, once it has arrived

    _help_ids: set[str] = field(default_factory=set[str], init=False)
    _quoted_ids: set[str] = field(default_factory=set[str], init=False)
    _held: list[Event] = field(default_factory=list[Event], init=False)  # events that wait, in order
    _waiting: dict[str, list[Event]] = field(default_factory=dict[str, list[Event]], init=False)  # of later calls
    _live: str = field(default="", init=False)  # the id of the call that is sent as it arrives
    _is_first: bool = field(default=False, init=False)  # whether nothing was sent before this message
    _text: list[str] = field(default_factory=list[str], init=False)  # of this message, sent now or before
    _differs: bool = field(default=False, init=False)  # whether that text is not the text that was sent before
    _thoughts: list[str] = field(default_factory=list[str], init=False)
    _blank: str = field(default="", init=False)  # white space that is sent with the next word

    def __post_init__(self) -> None:
        self._is_first = not self.sent

    def admit(self, events: Sequence[Event]) -> list[Event]:
        """Return the events that may be sent now. A `CallQuoted` must come together with the end of its call."""
        passed: list[Event] = []
        self._quoted_ids.update(event.call_id for event in events if isinstance(event, CallQuoted))
        for event in events:
            if isinstance(event, TurnEnded):
                self.ended = event
            elif isinstance(event, SaidInThought):
                passed += self._turn_into_reasoning()
            elif not self.is_done:
                passed += self._admit_one(event)
        return passed

    def release_held(self) -> list[Event]:
        """Return, at the end of the message, the events that were held because they might have been reasoning."""
        held, self._held, self.hold_all = self._held, [], False
        return self.admit(held)

    def release_text(self) -> list[Event]:
        """Return, at the end of an acceptable message, the text that was held until a call."""
        passed = self._release()
        if self._differs:  # the text follows that of an earlier message
            self._differs = False
            paragraph = "\n\n" + "".join(self._text)
            self.sent.append(paragraph)
            passed.append(TextDelta(text=paragraph))
        if self._blank and not self.calls:
            passed += self._send_text(self._blank)
        return passed

    def build_message(self) -> Message:
        """Return what was sent, as a message. Reasoning and calls keep the data of their vendor."""
        original = self.ended.message.parts if self.ended else ()
        calls = {part.call.id: part for part in original if isinstance(part, Call)}
        thinking, text = "".join(self._thoughts), str(self.sent)
        thoughts = [part for part in original if isinstance(part, Thinking)]
        if "".join(part.text for part in thoughts) != thinking:
            thoughts = [Thinking(text=thinking)] if thinking else []
        parts: list[Part] = [*thoughts, *([Text(text=text)] if text else [])]
        for event in self.calls:
            call = calls.get(event.call.id)
            parts.append(Call(call=event.call, extra=call.extra if call is not None else None))
        return Message(role="assistant", parts=tuple(parts))

    @property
    def finish(self) -> FinishReason:
        """Why the message that was sent ends."""
        finish = self.ended.finish if self.ended else "closed"
        return finish if finish in ("length", "refused", "error") else "tool_calls" if self.calls else "stop"

    @property
    def is_well_formed(self) -> bool:
        """Whether no malformed or quoted call ends the message."""
        return self.malformed is None and self.quoted is None

    @property
    def ended_well(self) -> bool:
        """Whether the message is whole."""
        return self.finish not in ("length", "refused", "error")

    @property
    def original(self) -> Message | None:
        """The message as the model wrote it."""
        return self.ended.message if self.ended else None

    @property
    def usage(self) -> Usage:
        return self.ended.usage if self.ended else Usage(estimated=True)

    @property
    def stop_text(self) -> str:
        """The stop text of the request that ended the message; empty if none did, or the endpoint does not say."""
        return self.ended.stop_text if self.ended and self.finish == "stop" else ""

    @property
    def called_tools(self) -> set[str]:
        """The names of the tools that were called."""
        return {event.call.name for event in self.calls}

    def _turn_into_reasoning(self) -> list[Event]:
        if self.has_sent_call or self._text:
            self.has_sent_reasoning = True
            return []
        thought = "".join(event.text for event in self._held if isinstance(event, TextDelta)) + self._blank
        self._held, self.hold_all, self._blank = [], False, ""  # the reasoning is over: further text is text
        self._waiting, self.malformed, self.quoted, self.is_done = {}, None, None, False
        self.help_calls = []
        return self._admit_one(ThinkingDelta(text=thought)) if thought else []

    def _admit_one(self, event: Event) -> list[Event]:
        if self.hold_all:
            if not isinstance(event, ThinkingDelta) or self._held:
                self._held.append(event)
                return []
            self.hold_all = False  # the model marks its reasoning, so that text is text
        if isinstance(event, TextDelta):
            return self._admit_text(event)
        if isinstance(event, ThinkingDelta):
            self._thoughts.append(event.text)
            return [event]
        if not self.tools:
            return []
        if isinstance(event, CallQuoted | CallMalformed):
            self._reject(event)
            return []
        return self._admit_call(event)

    def _admit_text(self, event: TextDelta) -> list[Event]:
        if self.hold_text:
            self._held.append(event)
            return []
        if event.text.isspace():
            self._blank += event.text
            return []
        if self._blank:
            event, self._blank = TextDelta(text=self._blank + event.text), ""
        if not self._is_first:
            return self._send_text(event.text)
        self._text.append(event.text)
        self.sent.append(event.text)
        return [event]

    def _send_text(self, text: str) -> list[Event]:
        """Return the text to send: all of it, unless it repeats what was sent before, or differs from that."""
        if not self._text and not self.sent.is_repeated:
            text = text.lstrip()
        self._text.append(text)
        if self._differs:
            return []
        new = self.sent.extend(text)
        self._differs = new is None
        return [TextDelta(text=new)] if new else []

    def _reject(self, event: CallMalformed | CallQuoted) -> None:
        self._waiting.pop(event.call_id, None)
        if isinstance(event, CallQuoted):
            if self.ends_at_quotation and not self.calls:
                self.quoted, self.is_done = event, True
        elif event.call_id == self._live or not self.calls:
            self.malformed, self.is_done = event, True  # the model is on a wrong path, and would stay there

    def _admit_call(self, event: Event) -> list[Event]:
        if self._is_help(event):
            return []
        if isinstance(event, CallStarted):
            is_open = not self.has_sent_call and event.name in self.tools and event.call_id not in self._quoted_ids
            if is_open and not self.may_be_quoted(event.name) and not self.check.is_held(event.name):
                self._live = event.call_id
                return [*self._open_for_calls(), event]
            self._waiting[event.call_id] = [event]
        elif isinstance(event, ArgsDelta):
            if event.call_id == self._live:
                return [event]
            self._waiting.setdefault(event.call_id, []).append(event)
        elif isinstance(event, CallReady):
            return self._complete_call(event)
        return []

    def _is_help(self, event: Event) -> bool:
        """Whether an event is part of a call of the help tool. A whole call is kept for the gateway."""
        if isinstance(event, CallReady):
            is_help = event.call.name in self.help_names
            if is_help and event.call.id not in self._quoted_ids:
                self.help_calls.append(event.call)
            return is_help
        if isinstance(event, CallStarted) and event.name in self.help_names:
            self._help_ids.add(event.call_id)
        return isinstance(event, CallStarted | ArgsDelta) and event.call_id in self._help_ids

    def _complete_call(self, event: CallReady) -> list[Event]:
        call = event.call
        if call.id in self._quoted_ids:
            return []
        if find_references(call.arguments):
            self.is_done = True
            return []
        if call.name in self.forbidden:
            hint = f"Call one of {', '.join(sorted(self.tools)[:MAX_FAULTS])}, or answer in words."
            reason = f"{call.name} may not be called now"
            self._reject(CallMalformed(call_id=call.id, name=call.name, raw="", reason=reason, hint=hint))
            return []
        if call.id != self._live:
            completed = self.check.complete(call)
            if fault := self.check.find_fault(completed, is_first=not self.calls):
                self._reject(CallMalformed(call_id=call.id, name=call.name, raw="", reason=fault, hint=""))
                return []
            if completed is not call:  # the arguments that were written are not those that are sent
                event, self._waiting[call.id] = replace(event, call=completed), []
        self.calls.append(event)
        self.is_done = self.single
        if call.id == self._live:
            return [event]
        return [*self._open_for_calls(), *self._waiting.pop(call.id, []), event]

    def _open_for_calls(self) -> list[Event]:
        """Return the text that was held until the first call."""
        if self.has_sent_call:
            return []
        self.has_sent_call = True
        released = self._release()
        self._blank = ""
        if self._differs or not self.sent.is_repeated:  # the client has other words already, or more of them
            self._differs = False
            self.sent.stop_comparing()
        return released

    def _release(self) -> list[Event]:
        held, self._held, self.hold_text = self._held, [], False
        return self.admit(held)
