"""The shapes of objects that are calls: the key of the name, the key of the arguments, and the wrappers around them."""

from typing import Any, cast

from toolspeak.reading.doubt import Meaning
from toolspeak.reading.emitter import EventEmitter, StartedCall
from toolspeak.reading.names import Names
from toolspeak.reading.values import Watch
from toolspeak.values.coercion import coerce_arguments
from toolspeak.values.spec import ToolSpec

NAME_KEYS = "name tool tool_name function function_name action recipient_name toolName api_name".split()
ARGUMENT_KEYS = (
    "arguments parameters args params input tool_input action_input function_args kwargs tool_args toolInput "
    "tool_parameters function_arguments".split()
)
WRAPPER_KEYS = (
    "tool_calls tool_call function_call function_calls functionCall functionCalls toolUse tool_use tool_uses calls "
    "function tool action actions choices message toolCalls toolCall".split()
)
EXTRA_KEYS = frozenset(
    "id type index thought thoughts thinking reasoning explanation tool_call_id toolUseId call_id role content "
    "status reason rationale".split()
)
"""Keys that stand beside the name of a call and are no arguments."""

DEFINITION_OR_RESULT_KEYS = frozenset({"description", "result", "results", "output", "error"})
"""Keys by which an object with a name and without arguments is the definition of a tool, or a result."""

CALL_KEYS = frozenset({*NAME_KEYS, *ARGUMENT_KEYS, *WRAPPER_KEYS, *EXTRA_KEYS})


class NotACall(Exception):
    """Raised by a reader of calls that has come upon text or data."""


class CallDetector:
    """Watches an object that may be a call. Starts the call once its name is known, or raises `NotACall`.

    Attributes:
        call: The call, once it has been started.
    """

    def __init__(self, emitter: EventEmitter, *, explicit: bool) -> None:
        self.call: StartedCall | None = None
        self._emitter = emitter
        self._explicit = explicit
        self._is_first = True
        self._tool: str | None = None

    def on_key(self, key: str) -> None:
        if self._is_first and not self._explicit and key not in CALL_KEYS and self._emitter.names.resolve(key) is None:
            raise NotACall
        self._is_first = False
        # A name alone may belong to a definition or a result; with arguments it belongs to a call.
        if self._tool is not None and self.call is None and key in ARGUMENT_KEYS:
            self.call = self._emitter.start_call(self._tool)

    def on_item(self, key: str, value: Any) -> None:
        if self._tool is not None or key not in NAME_KEYS or not isinstance(value, str):
            return
        self._tool = self._emitter.names.resolve(value)
        if self._tool is not None:
            return
        if not self._explicit and key == "name":
            self._emitter.note_unknown_tool(value)
            raise NotACall

    def watch_inside(self, key: str) -> Watch | None:
        """Return the watch of the object under a key: the call itself, if that object holds its arguments."""
        return self.call if self.call is not None and key in ARGUMENT_KEYS else None


def find_calls(value: Any, names: Names) -> list[tuple[str, Any]]:
    """Return the calls in a value, as pairs of the name that was written and the arguments that were given."""
    if isinstance(value, list):
        return [call for item in cast("list[Any]", value) for call in find_calls(item, names)]
    if not isinstance(value, dict):
        return []
    given = cast("dict[str, Any]", value)
    named = [key for key in NAME_KEYS if isinstance(given.get(key), str)]
    key = next((key for key in named if names.resolve(given[key]) is not None), named[0] if named else None)
    if key is not None:
        return [] if _is_definition_or_result(given, key) else [(given[key], _arguments(given, key))]
    for wrapper in WRAPPER_KEYS:
        if isinstance(given.get(wrapper), dict | list):
            return find_calls(given[wrapper], names)
    return [
        (name, inner) for name, inner in given.items() if isinstance(inner, dict) and names.resolve(name) is not None
    ]


def _is_definition_or_result(given: dict[str, Any], name_key: str) -> bool:
    """Whether an object that names a tool defines the tool or holds its result, and so is no call."""
    if "input_schema" in given or "inputSchema" in given or given.get("role") == "tool":
        return True
    arguments = next((given[key] for key in ARGUMENT_KEYS if key in given and key != name_key), None)
    if arguments is None:
        return not given.keys().isdisjoint(DEFINITION_OR_RESULT_KEYS)
    if isinstance(arguments, dict):
        items = list(cast("dict[str, Any]", arguments).values())
        if items and all(map(_is_schema, items)):
            return True
    return "description" in given and "parameters" in given


def _is_schema(value: Any) -> bool:
    types = ("string", "integer", "number", "boolean", "array", "object", "null")
    return isinstance(value, dict) and cast("dict[str, Any]", value).get("type") in types


def _arguments(given: dict[str, Any], name_key: str) -> Any:
    """Return the arguments of a call: those under their own key, or else all keys beside the name."""
    for key in ARGUMENT_KEYS:
        if key in given and key != name_key:
            return given[key]
    return {key: value for key, value in given.items() if key != name_key and key not in EXTRA_KEYS}


def find_meaning(value: Any, emitter: EventEmitter) -> Meaning | None:
    """Return what a value calls; None if it calls no tool."""
    calls: list[tuple[str, Any]] = []
    is_complete = True
    for name, arguments in find_calls(value, emitter.names):
        tool = emitter.names.resolve(name)
        if tool is None:
            return None
        calls.append((tool, arguments))
        is_complete = is_complete and has_required(emitter, emitter.specs[tool], arguments)
    return Meaning(calls=calls, is_complete=is_complete) if calls else None


def has_required(emitter: EventEmitter, spec: ToolSpec, arguments: Any) -> bool:
    """Whether no required argument is missing."""
    given = coerce_arguments(arguments, spec.parameters, emitter.budget.include(arguments))
    return not isinstance(given, dict) or all(key in given for key in spec.parameters.get("required", ()))
