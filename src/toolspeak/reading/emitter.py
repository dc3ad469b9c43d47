"""The events of a message: an emitter that collects them, the call that is being read, and the content they fold to."""

import json
from collections.abc import Iterable
from typing import Any, cast

from toolspeak.reading.names import Names
from toolspeak.reading.source import Source
from toolspeak.reading.trace import MADE_UP_REASON, ReadingRule, Refusal, Trace
from toolspeak.values.codec import encode_argument
from toolspeak.values.coercion import coerce, coerce_arguments
from toolspeak.values.events import (
    ArgsDelta,
    CallMalformed,
    CallReady,
    CallStarted,
    Event,
    Repair,
    SaidInThought,
    TextDelta,
    ThinkingDelta,
)
from toolspeak.values.frozen import frozen
from toolspeak.values.messages import Concat, Ref, ToolCall
from toolspeak.values.spec import ToolSpec
from toolspeak.values.validation import is_valid


@frozen
class MessageContent:
    """The content of a parsed message.

    Attributes:
        text: The prose of the message, without its calls and its reasoning.
        thinking: The reasoning.
        calls: The calls that can run, in the order of the message.
        malformed: Attempted calls that cannot run, in the order of the message.
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
        return "".join(self._text)

    @property
    def thinking(self) -> str:
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


PLACEHOLDERS = frozenset({"...", "…", "<...>", "[...]"})
"""Texts that stand for a value which the model did not write."""


class EventEmitter:
    """Collects the events of one message, in their order.

    Attributes:
        specs: The tools on offer, by name.
        names: Resolves the names that a model writes to these tools.
        events: Events that have not been handed out yet.
        has_call: Whether the message holds a call so far.
        held_was_shown: Whether the text that was held back last has been emitted.
        muted: Whether the model has made up a result. The calls that follow it depend on fiction and are dropped.
        emitted_to: The place up to which the message has been emitted, or dropped on purpose.
        trace: Where it is noted what was read as what; None if nobody asks.
        budget: The steps in which the arguments of all calls of the message may be coerced.
    """

    def __init__(
        self,
        specs: dict[str, ToolSpec],
        names: Names,
        source: Source,
        *,
        strict: bool,
        prefix: str,
        trace: Trace | None = None,
    ) -> None:
        self.specs = specs
        self.names = names
        self.events: list[Event] = []
        self.has_call = False
        self.muted = False
        self.emitted_to = 0
        self.trace = trace
        self.budget = source.budget.coercion
        self._source = source
        self._open_call: StartedCall | None = None
        self._strict = strict
        self._prefix = prefix
        self.held_was_shown = False
        self._count = 0
        self._held = ""
        self._paused_at: int | None = None
        self._paused_place = 0

    def take_events(self) -> list[Event]:
        """Hand out the events so far, but none since a pause."""
        if self._paused_at is None:
            events, self.events = self.events, []
        else:
            events, self.events = self.events[: self._paused_at], self.events[self._paused_at :]
            self._paused_at = 0
        return events

    def pause(self) -> None:
        """Keep the events that follow until `resume`: they may have to be dropped."""
        self._paused_at = len(self.events)
        self._paused_place = self._source.here
        if self.trace is not None:
            self.trace.pause()

    def resume(self) -> None:
        """Hand out events again, with those that were kept."""
        self._paused_at = None

    def drop_paused(self) -> None:
        """Drop the events since `pause`."""
        del self.events[self._paused_at :]
        self.emitted_to = self._paused_place
        self._open_call = None
        if self.trace is not None:
            self.trace.drop_paused()

    def hold(self, text: str) -> None:
        """Hold back text that is emitted only if no call follows it, such as the opening line of a fence."""
        self._held = text
        self.held_was_shown = False
        if self.trace is not None:
            self.trace.note_held()

    def release(self) -> None:
        """Emit the text that was held back, since no call followed it."""
        held, self._held = self._held, ""
        if held:
            if self.trace is not None:
                self.trace.add_held("made_up" if self.muted else "prose", held)
            self.events.append(TextDelta(text=held))

    def emit_text(self, text: str) -> None:
        """Emit prose, after any text that was held back."""
        if text:
            if self.trace is not None:
                self._trace_text(self.trace, text)
            self.held_was_shown = self.held_was_shown or bool(self._held)
            self.events.append(TextDelta(text=self._held + text))
            self._held = ""
            self.emitted_to = self._source.here

    def _trace_text(self, trace: Trace, text: str) -> None:
        kind = "made_up" if self.muted else "prose"
        if self._held:
            trace.add_held(kind, self._held)
        trace.add_text(kind, text)

    def emit_thinking(self, text: str) -> None:
        if text:
            if self.trace is not None:
                self.trace.add_text("thinking", text)
            self.events.append(ThinkingDelta(text=text))
            self.emitted_to = self._source.here

    def emit_said_in_thought(self, token: str) -> None:
        """Emit that everything before a lone closing tag, which has just been read, was reasoning."""
        if self.trace is not None:
            self.trace.add_text("retraction", token)
        self.events.append(SaidInThought())
        self.has_call = self.muted = False

    def start_call(self, tool: str) -> "StartedCall":
        """Start a call whose tool is known."""
        self._held = ""
        call = StartedCall(self, self.specs[tool], self._next_id())
        if self.trace is not None:
            self.trace.start_call(call.id)
        self._open_call = call
        if not self.muted:
            self.events.append(CallStarted(call_id=call.id, name=tool))
        return call

    def emit_malformed(self, name: str | None, raw: str, reason: str, hint: str = "", call_id: str = "") -> None:
        """Emit that `raw` was meant as a call and cannot be read as one."""
        self._held = ""
        self._end_call()
        if self.trace is not None:
            kind = "dropped" if self.muted else "malformed"
            self.trace.refuse(kind, Refusal(name=name, reason=reason, hint=hint), call_id)
        if not self.muted:
            call_id = call_id or self._next_id()
            self.events.append(CallMalformed(call_id=call_id, name=name, raw=raw, reason=reason, hint=hint))
            self.has_call = True

    def emit_unknown_tool(self, name: str, raw: str) -> None:
        """Emit that a call names a tool which does not exist."""
        tools = ", ".join(self.specs) or "none"
        self.note_unknown_tool(name)
        self.emit_malformed(name, raw, f"there is no tool {name!r}", f"The tools are: {tools}.")

    def emit_ready(self, call: "StartedCall", arguments: dict[str, Any], repair: Repair) -> str:
        """Emit that a call is complete, and return its id; "" if the call may not run."""
        self._end_call()
        if self.muted:
            if self.trace is not None:
                self.trace.refuse("dropped", Refusal(name=call.spec.name, reason=MADE_UP_REASON), call.id)
            return ""
        if self._strict and repair != "none":
            hint = "Write the call again, exactly in the form that was asked for."
            reason = f"it had to be repaired ({repair}), which is not allowed"
            self.emit_malformed(call.spec.name, "", reason, hint, call.id)
            return ""
        self.has_call = True
        ready = CallReady(call=ToolCall(id=call.id, name=call.spec.name, arguments=arguments), repair=repair)
        if self.trace is not None:
            self.trace.finish_call(ready.call, repair)
        self.events.append(ready)
        return call.id

    def emit_args(self, call_id: str, text: str) -> None:
        """Emit a piece of the arguments of a call, as JSON text."""
        if not self.muted:
            self.events.append(ArgsDelta(call_id=call_id, text=text))

    def enter(self, rule: ReadingRule, detail: str = "", *, is_part: bool = False) -> None:
        """Note in the trace that a rule looks for a call from here on (`Trace.enter`)."""
        if self.trace is not None:
            self.trace.enter(rule, detail, is_part=is_part)

    def note_unknown_tool(self, name: str) -> None:
        """Note in the trace a name that stands where the name of a tool should."""
        if self.trace is not None:
            self.trace.note_unknown_tool(name)

    def break_off(self) -> None:
        """Emit what was read and not emitted, where the reading of calls is broken off: a call that began, or words."""
        call, self._held = self._open_call, ""
        raw = self._source.recover(self.emitted_to)
        if call is not None:
            call.fail(raw, "the message takes too much work to read", "Write the call again, alone and in plain form.")
        else:
            self.emit_text(raw)

    def _end_call(self) -> None:
        self._open_call = None
        self.emitted_to = self._source.here

    def _next_id(self) -> str:
        self._count += 1
        return f"{self._prefix}_{self._count}"


class StartedCall:
    """A call whose tool is known and whose arguments are still arriving. Each argument is emitted once it is complete.

    Attributes:
        spec: The tool.
        id: The id of the call.
    """

    def __init__(self, emitter: EventEmitter, spec: ToolSpec, call_id: str) -> None:
        self.spec = spec
        self.id = call_id
        self._emitter = emitter
        self._emitted: dict[str, Any] = {}
        self._emits_early = True

    # As a `Watch` of the object that holds the arguments

    def on_key(self, key: str) -> None:
        # A key that is no parameter of the tool may be a wrapper: then nothing is certain until the end.
        if key not in self.spec.parameters.get("properties", {}):
            self._emits_early = False

    def on_item(self, key: str, value: Any) -> None:
        if not self._emits_early:
            return
        schema = self.spec.parameters
        sub = schema["properties"][key]
        budget = self._emitter.budget.include(value)
        value = coerce(value, sub, schema, budget)
        if value is None and key not in schema.get("required", ()) and not is_valid(None, sub, schema, budget):
            return
        if not is_placeholder(value, key):
            self._emit(key, value)

    def watch_inside(self, key: str) -> None:
        """Watch no object under a key, since an argument is emitted as a whole."""

    def _emit(self, key: str, value: Any) -> None:
        sign = ", " if self._emitted else "{"
        self._emitted[key] = value
        self._emitter.emit_args(self.id, f"{sign}{_json(key)}: {_json(encode_argument(value))}")

    def finish(self, arguments: Any, repair: Repair, raw: str = "") -> str:
        """Finish the call with all its arguments, and return its id; "" if the call cannot run."""
        schema = self.spec.parameters
        arguments = _unwrap(arguments, self.spec)
        arguments = coerce_arguments(arguments, schema, self._emitter.budget.include(arguments))
        is_text = isinstance(arguments, str) and arguments.lstrip()[:1] not in ("{", "[") and repair == "none"
        if is_text and (only := _only_parameter(schema)) is not None:
            arguments, repair = {only: arguments}, "shape"
        if isinstance(arguments, dict):
            arguments = _strip_underscores(cast("dict[str, Any]", arguments), schema)
        if not isinstance(arguments, dict):
            return self.fail(raw, "its arguments are not an object", 'Write the arguments as {"name": value}.')
        given = cast("dict[str, Any]", arguments)
        if any(is_placeholder(value, key) for key, value in given.items()) or _is_schema(given, schema):
            return self.fail(raw, "it holds a placeholder instead of a value", "Write real values.")
        if repair == "closers" and any(key not in given for key in schema.get("required", ())):
            return self.fail(raw, "the message ended inside the call", "Write the whole call again.")
        for key, value in given.items():
            if key not in self._emitted:
                self._emit(key, value)
        # A value that was emitted early counts, even where no steps were left to coerce it again.
        ordered = dict(self._emitted)
        self._emitter.emit_args(self.id, "}" if ordered else "{}")
        return self._emitter.emit_ready(self, ordered, repair)

    def fail(self, raw: str, reason: str, hint: str) -> str:
        """Emit that the call is malformed, and return ""."""
        self._emitter.emit_malformed(self.spec.name, raw, reason, hint, self.id)
        return ""


def is_placeholder(value: Any, key: str) -> bool:
    """Whether a text stands for a value that was not given: `...`, or the name of its key in brackets."""
    if not isinstance(value, str):
        return False
    text = value.strip()
    bracketed = text[:1] + text[-1:] in ("<>", "{}", "[]")
    return text in PLACEHOLDERS or (bracketed and text[1:-1].replace(" ", "_").casefold() == key.casefold())


def _is_schema(arguments: dict[str, Any], schema: Any) -> bool:
    """Whether the arguments are the schema of the tool, copied from the prompt."""
    return "properties" in arguments and "properties" not in schema.get("properties", {}) and "type" in arguments


def _only_parameter(schema: Any) -> str | None:
    """Return the parameter that a lone text must be for: the only required one, or the only one."""
    names = list(schema.get("required", ())) or list(schema.get("properties", {}))
    return names[0] if len(names) == 1 else None


def _strip_underscores(given: dict[str, Any], schema: Any) -> dict[str, Any]:
    """Rename `from_` to `from`: Python code writes the underscore because the word is reserved."""
    names = schema.get("properties", {})
    plain = {f"{name}_": name for name in names if f"{name}_" not in names}
    return {plain.get(key, key): value for key, value in given.items()}


def _unwrap(arguments: Any, spec: ToolSpec) -> Any:
    """Return arguments without an object around them whose only key is the name of the tool."""
    if isinstance(arguments, dict) and spec.name not in spec.parameters.get("properties", {}):
        given = cast("dict[str, Any]", arguments)
        if given.keys() == {spec.name} and isinstance(given[spec.name], dict):
            return given[spec.name]
    return cast("Any", arguments)


def _json(value: Any) -> str:
    return json.dumps(value, ensure_ascii=False)
