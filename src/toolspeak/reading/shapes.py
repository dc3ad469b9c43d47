"""The shapes in which an object says a call: which key holds the name, which the arguments, what is wrapped around."""

from typing import Any, cast

from toolspeak.reading.emitter import EventEmitter, OpenCall
from toolspeak.reading.names import Names
from toolspeak.reading.values import Watch

NAME_KEYS = (
    "name",
    "tool",
    "tool_name",
    "function",
    "function_name",
    "action",
    "recipient_name",
    "toolName",
    "api_name",
)
ARGUMENT_KEYS = (
    "arguments", "parameters", "args", "params", "input", "tool_input", "action_input", "function_args", "kwargs",
    "tool_args", "toolInput", "tool_parameters", "function_arguments",
)  # fmt: skip
WRAPPER_KEYS = (
    "tool_calls", "tool_call", "function_call", "function_calls", "functionCall", "functionCalls", "toolUse",
    "tool_use", "tool_uses", "calls", "function", "tool", "action", "actions", "choices", "message", "toolCalls",
    "toolCall",
)  # fmt: skip
BESIDE_KEYS = frozenset(
    "id type index thought thoughts thinking reasoning explanation tool_call_id toolUseId call_id role content "
    "status reason rationale".split()
)
"""Keys that stand beside a call and are none of its arguments."""

TOLD_KEYS = frozenset({"description", "result", "results", "output", "error"})
"""Keys of a definition or a result, where no arguments are given."""

CALL_KEYS = frozenset({*NAME_KEYS, *ARGUMENT_KEYS, *WRAPPER_KEYS, *BESIDE_KEYS})


class NotACall(Exception):
    """What is being read is no call, but text or data."""


class CallWatch:
    """Watches an object that may be a call: begins the call once its name is known, or stops the reading.

    Attributes:
        call: The call, once it has begun.
    """

    def __init__(self, speech: EventEmitter, *, explicit: bool) -> None:
        self.call: OpenCall | None = None
        self._speech = speech
        self._explicit = explicit
        self._first = True
        self._tool: str | None = None

    def key(self, key: str) -> None:
        if self._first and not self._explicit and key not in CALL_KEYS and self._speech.names.resolve(key) is None:
            raise NotACall
        self._first = False
        # A name alone may be that of a definition or a result; with arguments, it is that of a call.
        if self._tool is not None and self.call is None and key in ARGUMENT_KEYS:
            self.call = self._speech.begin(self._tool)

    def item(self, key: str, value: Any) -> None:
        if self._tool is not None or key not in NAME_KEYS or not isinstance(value, str):
            return
        self._tool = self._speech.names.resolve(value)
        if self._tool is not None:
            return
        if not self._explicit and key == "name":
            raise NotACall

    def inside(self, key: str) -> Watch | None:
        return self.call if self.call is not None and key in ARGUMENT_KEYS else None


def calls_in(value: Any, names: Names) -> list[tuple[str, Any]]:
    """The calls that a value says: pairs of a spoken name and the arguments as they were given."""
    if isinstance(value, list):
        return [call for item in cast("list[Any]", value) for call in calls_in(item, names)]
    if not isinstance(value, dict):
        return []
    said = cast("dict[str, Any]", value)
    named = [key for key in NAME_KEYS if isinstance(said.get(key), str)]
    key = next((key for key in named if names.resolve(said[key]) is not None), named[0] if named else None)
    if key is not None:
        return [] if _is_definition(said, key) else [(said[key], _arguments(said, key))]
    for wrapper in WRAPPER_KEYS:
        if isinstance(said.get(wrapper), dict | list):
            return calls_in(said[wrapper], names)
    return [
        (each, inner) for each, inner in said.items() if isinstance(inner, dict) and names.resolve(each) is not None
    ]


def _is_definition(said: dict[str, Any], name_key: str) -> bool:
    """Whether an object defines a tool or tells a result: it names a tool and is no call of it."""
    if "input_schema" in said or "inputSchema" in said or said.get("role") == "tool":
        return True
    arguments = next((said[key] for key in ARGUMENT_KEYS if key in said and key != name_key), None)
    if arguments is None:
        return not said.keys().isdisjoint(TOLD_KEYS)
    if isinstance(arguments, dict):
        items = list(cast("dict[str, Any]", arguments).values())
        if items and all(map(_is_schema, items)):
            return True
    return "description" in said and "parameters" in said


def _is_schema(value: Any) -> bool:
    kinds = ("string", "integer", "number", "boolean", "array", "object", "null")
    return isinstance(value, dict) and cast("dict[str, Any]", value).get("type") in kinds


def _arguments(said: dict[str, Any], name_key: str) -> Any:
    for key in ARGUMENT_KEYS:
        if key in said and key != name_key:
            return said[key]
    return {key: value for key, value in said.items() if key != name_key and key not in BESIDE_KEYS}
