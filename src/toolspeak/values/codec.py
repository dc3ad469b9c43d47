"""Messages and facts as JSON, and back. One format, with a number, written as plain data.

A file is JSON Lines: each line is one message or one fact, so that a log can be appended to and read up to where it was
cut. The rules of the format:

1. Each line holds the number of the format (`"v"`) and the `kind` of its content.
2. A field that this version does not know is ignored: a newer toolspeak may have written it. New fields have
   defaults, so that older files stay readable. Neither changes the number; the number goes up only when an older
   toolspeak would misread a line, and then it refuses the line.
3. Reading goes by the type of each field, never by tags found in the data: what a tool returned or a model wrote may
   look like anything and stays unchanged. Two escapes are needed, both in arguments: a `Ref` is
   `{"$call": id, "path": […]}` and a `Concat` is `{"$concat": […]}`, so a user's own key that begins with `$` is
   written with one more `$`.
4. A process that dies while it appends a fact leaves a last line that has no end. `load_facts` leaves such a line out,
   with a warning: the fact had not been recorded. Anything else that cannot be read is an error.
"""

import base64
import json
import warnings
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import MISSING, fields, is_dataclass
from functools import cache
from types import NoneType, UnionType
from typing import Any, Literal, TypeAlias, Union, cast, get_args, get_origin, get_type_hints

from toolspeak.values.errors import UsageError
from toolspeak.values.events import (
    ApprovalGiven,
    ApprovalNeeded,
    CallQuoted,
    Delta,
    Event,
    Fact,
    HandedOver,
    RunStarted,
    TurnStarted,
)
from toolspeak.values.limits import Limits
from toolspeak.values.messages import Arguments, Concat, Json, Message, Ref, Result, Text, ToolResult
from toolspeak.values.origin import Origin
from toolspeak.values.spec import ResultField, Schema, ToolSpec

FORMAT = 1
"""The number of the format that is written, and the highest that can be read."""

MAX_SECONDS = 1e11
"""The highest time in a record: 3,000 years."""

Item: TypeAlias = Message | Fact

Decoder: TypeAlias = Callable[[Any], Any]


class IncompleteLineWarning(UserWarning):
    """The last line of a file of facts was incomplete, and was skipped."""


def dump_facts(facts: Iterable[Fact]) -> str:
    r"""Write the facts of a run as JSON Lines.

    Examples:
        >>> from toolspeak.values.events import ToolStarted
        >>> text = dump_facts([ToolStarted(call_id="call_1")])
        >>> text
        '{"v": 1, "kind": "tool_started", "call_id": "call_1"}\n'
        >>> load_facts(text)
        (ToolStarted(call_id='call_1'),)
    """
    return dump_items(facts)


def load_facts(text: str) -> tuple[Fact, ...]:
    """Read the facts of a run from JSON Lines.

    An incomplete last line, which a crash may leave, is skipped with an `IncompleteLineWarning`.

    Raises:
        UsageError: A line cannot be read, or holds a message (see `load_messages`). The error names the line.
    """
    facts: list[Fact] = []
    complete = drop_incomplete_line(text)
    if len(complete) < len(text):
        number = complete.count("\n") + 1
        warnings.warn(f"line {number} was cut and is left out", IncompleteLineWarning, stacklevel=2)
    for number, item in load_items(complete):
        if isinstance(item, Message):
            raise UsageError(f"line {number}: this is a message, not a fact of a run")
        facts.append(item)
    return tuple(facts)


def read_seconds(value: Any) -> float | None:
    """Return a time of a record in seconds; None if it is not a number, or not a valid time."""
    if isinstance(value, bool) or not isinstance(value, int | float):
        return None
    return float(value) if -MAX_SECONDS < value < MAX_SECONDS else None  # false for NaN, too


def drop_incomplete_line(text: str) -> str:
    r"""Return JSON Lines without an incomplete last line: the beginning of an object, without a line break after it.

    Examples:
        >>> drop_incomplete_line('{"v": 1, "kind": "turn_started", "turn": 1}\n{"v": 1, "ki')
        '{"v": 1, "kind": "turn_started", "turn": 1}\n'
    """
    start = text.rfind("\n") + 1
    line = text[start:]
    if not line.startswith("{"):
        return text
    try:
        json.loads(line)
    except (ValueError, RecursionError):
        return text[:start]
    return text


def dump_messages(messages: Iterable[Message]) -> str:
    """Write messages as JSON Lines."""
    return dump_items(messages)


def load_messages(text: str) -> tuple[Message, ...]:
    """Read messages from JSON Lines.

    Raises:
        UsageError: A line cannot be read, or holds a fact of a run (see `load_facts`). The error names the line.
    """
    messages: list[Message] = []
    for number, item in load_items(text):
        if not isinstance(item, Message):
            raise UsageError(f"line {number}: this is a fact of a run, not a message")
        messages.append(item)
    return tuple(messages)


def encode(item: Item | Delta) -> dict[str, Any]:
    """Return one message or event as JSON data. Deltas can be sent, but are never saved."""
    return {"v": FORMAT, **cast("dict[str, Any]", _encode(item))}


def decode(data: Any) -> Item:
    """Read one message or fact from JSON data.

    Raises:
        UsageError: `data` is of a newer format or kind, or is not what `encode` writes. The error names the place.
    """
    if not isinstance(data, Mapping):
        raise UsageError(f"a saved item is a JSON object, not {type(data).__name__}")
    saved = dict(cast("Mapping[str, Any]", data))
    number = saved.pop("v", None)
    if type(number) is not int or number < 1:
        raise UsageError(f'a saved item has the number of its format as "v", not {number!r}')
    if number > FORMAT:
        raise UsageError(
            f"saved in format {number} by a newer toolspeak; this one reads format {FORMAT}: upgrade toolspeak"
        )
    try:
        return _decoder(Item)(saved)
    except _Unreadable as error:
        raise UsageError(str(error)) from None


encode_event: Callable[[Event], dict[str, Any]] = encode


def decode_delta(data: Mapping[str, Any]) -> Delta:
    """Read one delta from JSON data.

    Raises:
        UsageError: `data` is not a delta as `encode_event` writes it.
    """
    try:
        return _decoder(Delta)({name: value for name, value in data.items() if name != "v"})
    except _Unreadable as error:
        raise UsageError(str(error)) from None


def dump_items(items: Iterable[Item]) -> str:
    """Write messages and facts as JSON Lines."""
    # In ASCII: half a surrogate pair, which a model may write and no file can hold, survives as an escape.
    return "".join(json.dumps(encode(item)) + "\n" for item in items)


def load_items(text: str) -> Iterator[tuple[int, Item]]:
    """Yield each message or fact of JSON Lines with the number of its line.

    Raises:
        UsageError: A line cannot be read. The error names the line.
    """
    # Not splitlines(): a string may hold any other line break that Unicode knows.
    for number, line in enumerate(text.split("\n"), 1):
        if not line.strip():
            continue
        try:
            yield number, decode(json.loads(line))
        except (ValueError, RecursionError) as error:
            raise UsageError(f"line {number}: not JSON ({error}); the file was cut or changed") from None
        except UsageError as error:
            raise UsageError(f"line {number}: {error}") from None


def _encode(value: Any) -> Any:
    if isinstance(value, tuple):
        return [_encode(each) for each in cast("tuple[Any, ...]", value)]
    if isinstance(value, bytes):
        return base64.b64encode(value).decode()
    if isinstance(value, Origin):
        return value.value
    encoders = _field_encoders(cast("type[Any]", type(value)))
    if encoders is None:
        return value
    result: dict[str, Any] = {}
    if kind := getattr(value, "kind", None):
        result["kind"] = kind
    for name, encode_field in encoders:
        field = getattr(value, name)
        result[name] = field if encode_field is None else encode_field(field)
    for name, unsaid in _LEFT_OUT.get(cast("type[Any]", type(value)), ()):
        if result[name] == unsaid:
            del result[name]
    if isinstance(value, Result) and not value.is_error and not value.reason:
        del result["reason"]  # only an error has one; that of an error is written even if it is empty
    return result


_LEFT_OUT: dict[type[Any], tuple[tuple[str, Any], ...]] = {
    Text: (("origin", None), ("spans", [])),
    Result: (("origin", None), ("output", None), ("allowed", [])),
    Limits: (("result_tokens", None),),
    TurnStarted: (("context", None),),
    ToolResult: (("reason", ""),),
    ToolSpec: (
        ("origin", "program"),
        ("spans", []),
        ("result", ""),
        ("fields", []),
        ("decisive", None),
        ("free", []),
        ("reconcile", False),
    ),
    ResultField: (("when", []),),
    CallQuoted: (("origin", None),),
    RunStarted: (("exposed", False),),
    HandedOver: (("provenance", None),),
    ApprovalNeeded: (("doubts", []),),
    ApprovalGiven: (("remember", False),),
}
"""Fields that are not written if they say nothing: such a line is as short as before there were these fields."""


@cache
def _field_encoders(cls: type[Any]) -> tuple[tuple[str, Callable[[Any], Any] | None], ...] | None:
    """Return how each field of a value class is encoded, None if it is JSON as it is; None for another class."""
    if not is_dataclass(cls):
        return None
    return tuple((name, _field_encoder(hint)) for name, hint in _hints(cls).items())


def _field_encoder(hint: Any) -> Callable[[Any], Any] | None:
    if hint == Arguments:
        return encode_argument
    is_plain = hint == Json or hint in (str, int, float, bool) or get_origin(hint) is Literal
    return None if is_plain else _encode


def encode_argument(value: Any) -> Any:
    """Return arguments, or a value in them, as plain JSON; a reference becomes an object with a `$` key."""
    match value:
        case Ref(call=call, path=path):
            return {"$call": call, "path": list(path)} if path else {"$call": call}
        case Concat(parts=parts):
            return {"$concat": [encode_argument(part) for part in parts]}
        case dict():
            pairs = cast("dict[str, Any]", value).items()
            return {f"${key}" if key.startswith("$") else key: encode_argument(each) for key, each in pairs}
        case list():
            return [encode_argument(each) for each in cast("list[Any]", value)]
        case _:
            return value


def decode_argument(value: Any) -> Any:
    """Read arguments, or a value in them, back from what `encode_argument` returned."""
    match value:
        case {"$call": str() as call, **rest}:
            path = cast("list[Any]", rest.get("path", []))
            if rest.keys() - {"path"} or type(path) is not list or not all(type(step) in (str, int) for step in path):
                raise _Unreadable("not a reference to a call")
            return Ref(call=call, path=tuple(path))
        case {"$concat": list()}:
            decoded = tuple(decode_argument(part) for part in value["$concat"])
            if not all(isinstance(part, str | Ref) for part in decoded):
                raise _Unreadable("joined text holds something that is neither text nor a reference")
            return Concat(parts=decoded)
        case dict():
            pairs = cast("dict[str, Any]", value).items()
            return {key[1:] if key.startswith("$$") else key: decode_argument(each) for key, each in pairs}
        case list():
            return [decode_argument(each) for each in cast("list[Any]", value)]
        case _:
            return value


class _Unreadable(Exception):
    """Data that cannot be read. `path` leads to the place, and is completed on the way out of nested data."""

    def __init__(self, reason: str, path: str = "") -> None:
        super().__init__(reason, path)
        self.reason, self.path = reason, path

    def __str__(self) -> str:
        return f"{self.path.lstrip('.')}: {self.reason}" if self.path else self.reason


@cache
def _hints(cls: type[Any]) -> dict[str, Any]:
    hints = get_type_hints(cls, include_extras=True)
    return {field.name: hints[field.name] for field in fields(cls)}


@cache
def _decoder(hint: Any) -> Decoder:
    """Return the function that reads a value of the type `hint`; one branch for each type that a field may have."""
    if hint == Json:
        return lambda data: data
    if hint == Arguments:
        return lambda data: decode_argument(_expect(dict, data))
    if hint == Schema:
        return lambda data: _expect(dict, data)
    origin = get_origin(hint)
    if origin in (Union, UnionType):
        return _union_decoder(get_args(hint))
    if origin is tuple:
        return _tuple_decoder(_decoder(get_args(hint)[0]))
    if origin is Literal:
        return _literal_decoder(get_args(hint))
    if is_dataclass(hint):
        return _record_decoder(cast("type[Any]", hint))
    if hint is bytes:
        return _decode_bytes
    if hint is Origin:
        known = _literal_decoder(tuple(each.value for each in Origin))
        return lambda data: Origin(known(data))
    return lambda data: _expect(hint, data)


def _expect(kind: type[Any], data: Any) -> Any:
    if type(data) is kind or (kind is float and type(data) is int):
        return data
    raise _Unreadable(f"expected {kind.__name__}, found {type(data).__name__}")


def _decode_bytes(data: Any) -> bytes:
    try:
        return base64.b64decode(_expect(str, data), validate=True)
    except ValueError:
        raise _Unreadable("not base64") from None


def _literal_decoder(options: tuple[Any, ...]) -> Decoder:
    def read(data: Any) -> Any:
        if data not in options:
            raise _Unreadable(f"{data!r} is none of {', '.join(map(str, options))}")
        return data

    return read


def _tuple_decoder(each: Decoder) -> Decoder:
    def read(data: Any) -> tuple[Any, ...]:
        items: list[Any] = []
        for index, item in enumerate(_expect(list, data)):
            try:
                items.append(each(item))
            except _Unreadable as error:
                raise _Unreadable(error.reason, f"[{index}]{error.path}") from None
        return tuple(items)

    return read


def _union_decoder(options: tuple[Any, ...]) -> Decoder:
    by_kind: dict[str, Any] = {option.kind: option for option in options if hasattr(option, "kind")}
    plain = [option for option in options if option is not NoneType and not hasattr(option, "kind")]

    def read(data: Any) -> Any:
        if data is None and NoneType in options:
            return None
        if by_kind:
            kind = _expect(dict, data).get("kind")
            if not isinstance(kind, str) or kind not in by_kind:
                raise _Unreadable(f"unknown kind {kind!r}; the file may come from a newer toolspeak")
            return _decoder(by_kind[kind])(data)
        if len(plain) == 1:
            return _decoder(plain[0])(data)
        for option in plain:
            if type(data) is option:
                return data
        raise _Unreadable(f"expected {' or '.join(option.__name__ for option in plain)}, found {type(data).__name__}")

    return read


def _complete_refusal(given: dict[str, Any]) -> dict[str, Any]:
    """Give a saved result its reason, if it was saved before results had one: the text of a refusal said so then."""
    match given:
        case {"is_error": True, "content": [{"text": str() as text}, *_]} if "reason" not in given:
            return {**given, "reason": "not_allowed"} if text.startswith("not run:") else given
        case _:
            return given


def _record_decoder(cls: type[Any]) -> Decoder:
    decoders = {name: _decoder(hint) for name, hint in _hints(cls).items()}
    required = {field.name for field in fields(cls) if field.default is MISSING}
    kind = getattr(cls, "kind", None)

    def read(data: Any) -> Any:
        given = dict(cast("dict[str, Any]", _expect(dict, data)))
        if given.pop("kind", None) != kind:
            raise _Unreadable(f"expected kind {kind!r}")
        if missing := required - given.keys():
            raise _Unreadable(f"{cls.__name__} has no {', '.join(sorted(missing))}")
        if cls is Result:
            given = _complete_refusal(given)
        if cls is ToolSpec and given.get("own_results") is True:  # as it was called once
            given["result"] = "own"
        values: dict[str, Any] = {}
        for name, decoder in decoders.items():
            if name not in given:
                continue
            try:
                values[name] = decoder(given[name])
            except _Unreadable as error:
                raise _Unreadable(error.reason, f".{name}{error.path}") from None
        return cls(**values)

    return read
