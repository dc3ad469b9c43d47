"""What has been said so far: calls being said, and the events that tell of them."""

import json
from typing import Any, cast

from toolspeak.codec import encode_argument
from toolspeak.coercion import coerce, coerce_arguments
from toolspeak.events import (
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
from toolspeak.messages import ToolCall
from toolspeak.reading.names import Names
from toolspeak.spec import ToolSpec
from toolspeak.validation import fits

PLACEHOLDERS = frozenset({"...", "…", "<...>", "[...]"})


class EventEmitter:
    """Collects events.

    Attributes:
        events: What has not been handed over yet.
        called: Whether the message holds a call so far.
        held_was_shown: Whether what was held back last has been shown.
        muted: Whether a made-up result has been seen: calls that follow depend on fiction and are dropped.
    """

    def __init__(self, specs: dict[str, ToolSpec], names: Names, *, strict: bool, prefix: str) -> None:
        self.specs = specs
        self.names = names
        self.events: list[Event] = []
        self.called = False
        self.muted = False
        self._strict = strict
        self._prefix = prefix
        self.held_was_shown = False
        self._count = 0
        self._held = ""

    def hold(self, text: str) -> None:
        """Text that is shown only if no call comes of what follows it: the line that opens a fence."""
        self._held = text
        self.held_was_shown = False

    def release(self) -> None:
        """No call came of it: what was held back is text."""
        held, self._held = self._held, ""
        self.text(held)

    def text(self, text: str) -> None:
        if text:
            self.held_was_shown = self.held_was_shown or bool(self._held)
            self.events.append(TextDelta(text=self._held + text))
            self._held = ""

    def thinking(self, text: str) -> None:
        if text:
            self.events.append(ThinkingDelta(text=text))

    def all_was_thought(self) -> None:
        """A lone closing tag: everything before it was reasoning."""
        self.events.append(SaidInThought())
        self.called = self.muted = False

    def begin(self, tool: str) -> "OpenCall":
        """The name of a call is known."""
        self._held = ""
        call = OpenCall(self, self.specs[tool], self._next_id())
        if not self.muted:
            self.events.append(CallStarted(call_id=call.id, name=tool))
        return call

    def malformed(self, name: str | None, raw: str, reason: str, hint: str = "", call_id: str = "") -> None:
        """Something was meant as a call and cannot be one."""
        self._held = ""
        if not self.muted:
            call_id = call_id or self._next_id()
            self.events.append(CallMalformed(call_id=call_id, name=name, raw=raw, reason=reason, hint=hint))
            self.called = True

    def unknown(self, name: str, raw: str) -> None:
        """A call of a tool that is not there."""
        shown = ", ".join(self.specs) or "none"
        self.malformed(name, raw, f"there is no tool {name!r}", f"The tools are: {shown}.")

    def ready(self, call: "OpenCall", arguments: dict[str, Any], repair: Repair) -> str:
        """A call is complete; its id, or "" if it may not run."""
        if self.muted:
            return ""
        if self._strict and repair != "none":
            hint = "Write the call again, exactly in the form that was asked for."
            self.malformed(call.spec.name, "", f"it had to be repaired ({repair}), which is not allowed", hint, call.id)
            return ""
        self.called = True
        self.events.append(
            CallReady(call=ToolCall(id=call.id, name=call.spec.name, arguments=arguments), repair=repair)
        )
        return call.id

    def delta(self, call_id: str, text: str) -> None:
        if not self.muted:
            self.events.append(ArgsDelta(call_id=call_id, text=text))

    def _next_id(self) -> str:
        self._count += 1
        return f"{self._prefix}_{self._count}"


class OpenCall:
    """A call whose arguments are still being said. It watches them: each is told as soon as it is complete."""

    def __init__(self, speech: EventEmitter, spec: ToolSpec, call_id: str) -> None:
        self.spec = spec
        self.id = call_id
        self._speech = speech
        self._told: dict[str, Any] = {}
        self._telling = True

    # As a `Watch` over its arguments

    def key(self, key: str) -> None:
        # A key that is none of the tool's may be a wrapper: nothing is certain then until the end.
        if key not in self.spec.parameters.get("properties", {}):
            self._telling = False

    def item(self, key: str, value: Any) -> None:
        if not self._telling:
            return
        schema = self.spec.parameters
        sub = schema["properties"][key]
        value = coerce(value, sub, schema)
        if value is None and key not in schema.get("required", ()) and not fits(None, sub, schema):
            return
        if not is_placeholder(value, key):
            self._tell(key, value)

    def inside(self, key: str) -> None:
        return None

    def _tell(self, key: str, value: Any) -> None:
        sign = ", " if self._told else "{"
        self._told[key] = value
        self._speech.delta(self.id, f"{sign}{_json(key)}: {_json(encode_argument(value))}")

    def finish(self, arguments: Any, repair: Repair, raw: str = "") -> str:
        """All arguments are there; the id of the call, or "" if it cannot be made."""
        schema = self.spec.parameters
        arguments = coerce_arguments(_unwrapped(arguments, self.spec), schema)
        is_text = isinstance(arguments, str) and arguments.lstrip()[:1] not in ("{", "[") and repair == "none"
        if is_text and (only := _only_parameter(schema)) is not None:
            arguments, repair = {only: arguments}, "shape"
        if isinstance(arguments, dict):
            arguments = _without_underscores(cast("dict[str, Any]", arguments), schema)
        if not isinstance(arguments, dict):
            return self.fail(raw, "its arguments are not an object", 'Write the arguments as {"name": value}.')
        given = cast("dict[str, Any]", arguments)
        if any(is_placeholder(value, key) for key, value in given.items()) or _is_schema(given, schema):
            return self.fail(raw, "it holds a placeholder instead of a value", "Write real values.")
        if repair == "closers" and any(key not in given for key in schema.get("required", ())):
            return self.fail(raw, "the message ended inside the call", "Write the whole call again.")
        for key, value in given.items():
            if key not in self._told:
                self._tell(key, value)
        # What was told and turned out otherwise cannot be: a key is told once, and only if it is the tool's own.
        ordered = {key: given[key] for key in self._told}
        self._speech.delta(self.id, "}" if ordered else "{}")
        return self._speech.ready(self, ordered, repair)

    def fail(self, raw: str, reason: str, hint: str) -> str:
        self._speech.malformed(self.spec.name, raw, reason, hint, self.id)
        return ""


def is_placeholder(value: Any, key: str) -> bool:
    """Whether a text stands for a value that was not given: `...`, or its own name in brackets."""
    if not isinstance(value, str):
        return False
    text = value.strip()
    bracketed = text[:1] + text[-1:] in ("<>", "{}", "[]")
    return text in PLACEHOLDERS or (bracketed and text[1:-1].replace(" ", "_").casefold() == key.casefold())


def _is_schema(arguments: dict[str, Any], schema: Any) -> bool:
    """A tool's own schema, echoed back as its arguments."""
    return "properties" in arguments and "properties" not in schema.get("properties", {}) and "type" in arguments


def _only_parameter(schema: Any) -> str | None:
    """The parameter that a lone text must be for: the only one that there is, or that is required."""
    names = list(schema.get("required", ())) or list(schema.get("properties", {}))
    return names[0] if len(names) == 1 else None


def _without_underscores(given: dict[str, Any], schema: Any) -> dict[str, Any]:
    """`from_` for `from`: Python's way around a word that is reserved."""
    names = schema.get("properties", {})
    plain = {f"{name}_": name for name in names if f"{name}_" not in names}
    return {plain.get(key, key): value for key, value in given.items()}


def _unwrapped(arguments: Any, spec: ToolSpec) -> Any:
    """Arguments wrapped in the tool's own name."""
    if isinstance(arguments, dict) and spec.name not in spec.parameters.get("properties", {}):
        given = cast("dict[str, Any]", arguments)
        if given.keys() == {spec.name} and isinstance(given[spec.name], dict):
            return given[spec.name]
    return cast("Any", arguments)


def _json(value: Any) -> str:
    return json.dumps(value, ensure_ascii=False)
