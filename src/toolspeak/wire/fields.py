"""Reads the body of a request field by field. An error names the path of the field, as in `messages[0].role`.

A field that is null counts as left out: clients write both.
"""

import json
from collections.abc import Callable, Collection, Iterator
from typing import Any, TypeVar, cast

from toolspeak.values.errors import UsageError
from toolspeak.values.events import AUTO, ToolChoice
from toolspeak.values.messages import Extra, Media, Opaque, Text
from toolspeak.values.origin import Origin
from toolspeak.values.spec import MAX_SCHEMA_VALUES, ToolSpec, find_size_problem
from toolspeak.wire.errors import FailureName
from toolspeak.wire.media import decode_data_url, guess_image_type, is_data_url

S = TypeVar("S")
T = TypeVar("T")

MAX_TOOLS = 1_000
"""The most tools of one request."""

MAX_ANSWERS = 4
"""The most answers to one request. The model is asked for each of them."""

MAX_STOP_TEXTS = 256
"""The most texts that end an answer."""

MAX_QUOTED_CHARS = 80
"""Characters of a value that are quoted in an error."""

ADDRESS_FIELDS = frozenset("url image_url file_url video_url audio_url fileUri file_uri".split())
"""The fields in which APIs have the addresses of images and files."""

MAX_PATH_CHARS = 500
"""Characters of the path of a field, of which the end is kept."""

_KIND_NAMES = {
    dict: "an object",
    list: "a list",
    str: "text",
    bool: "true or false",
    int: "a whole number",
    float: "a number",
}


class FieldError(UsageError):
    """A field of a request is wrong.

    Attributes:
        param: The path of the field; "" for the whole request.
        code: What is wrong with it, as OpenAI's API names it.
        failure: How the error is reported.
    """

    def __init__(
        self, param: str, problem: str, code: str = "invalid_value", failure: FailureName = "bad_request"
    ) -> None:
        super().__init__(f"{param or 'the request'}: {problem}")
        self.param = param
        self.code = code
        self.failure: FailureName = failure


class ToolList(list[Any]):
    """The tools of a request, shared by all requests that have them in the same words. It must not be changed."""

    __slots__ = ("_derived",)

    def __init__(self, tools: list[Any]) -> None:
        super().__init__(tools)
        self._derived: dict[Callable[..., Any], Any] = {}

    def derive(self, make: Callable[[S], T], given: S) -> T:
        """Return `make(given)`, which depends on nothing but this list. It is made once, and must not be changed."""
        if make not in self._derived:
            self._derived[make] = make(given)
        return self._derived[make]


class Fields:
    """A JSON object within a request, and its path."""

    def __init__(self, data: Any, path: str = "") -> None:
        self.path = path
        self.data: dict[str, Any] = check_kind(data, dict, path)

    def path_of(self, name: str) -> str:
        """Return the path of a field."""
        return f"{self.path}.{name}" if self.path else name

    def value(self, name: str) -> Any:
        """Return a field of any type, or None if it is left out."""
        return self.data.get(name)

    def text(self, name: str) -> str:
        """Return a required text."""
        return check_kind(self._required(name), str, self.path_of(name))

    def optional_text(self, name: str) -> str:
        """Return a text, or an empty one if it is left out."""
        value = self.value(name)
        return "" if value is None else check_kind(value, str, self.path_of(name))

    def flag(self, name: str, default: bool) -> bool:
        """Return true or false, or `default` if the field is left out."""
        value = self.value(name)
        return default if value is None else check_kind(value, bool, self.path_of(name))

    def integer(self, name: str, *, minimum: int | None = None, maximum: int | None = None) -> int | None:
        """Return a whole number, or None if it is left out."""
        value = self.value(name)
        if value is None:
            return None
        if type(value) is float and value.is_integer():  # some clients write every number with a point
            value = int(value)
        number: int = check_kind(value, int, self.path_of(name))
        if minimum is not None and number < minimum:
            raise self.error(name, f"must be at least {minimum}, not {_cut(str(number))}")
        if maximum is not None and number > maximum:
            raise self.error(name, f"must be at most {maximum}, not {_cut(str(number))}")
        return number

    def number(self, name: str, *, maximum: float) -> float | None:
        """Return a number from 0 to `maximum`, or None if it is left out."""
        value = self.value(name)
        if value is None:
            return None
        number: float = check_kind(value, float, self.path_of(name))
        if not 0 <= number <= maximum:
            raise self.error(name, f"must be from 0 to {maximum:g}, not {number:g}")
        return number

    def texts(self, name: str, *, maximum: int) -> tuple[str, ...]:
        """Return a list of at most `maximum` texts. A single text stands for a list of one."""
        value = self.value(name)
        if isinstance(value, str):
            return (value,)
        items: list[Any] = [] if value is None else check_kind(value, list, self.path_of(name))
        if len(items) > maximum:
            raise self.error(name, f"has {len(items):,} texts; at most {maximum:,} are allowed")
        return tuple(check_kind(item, str, f"{self.path_of(name)}[{index}]") for index, item in enumerate(items))

    def object(self, name: str) -> "Fields":
        """Return a required object."""
        return Fields(self._required(name), self.path_of(name))

    def optional_object(self, name: str) -> "Fields | None":
        """Return an object, or None if it is left out."""
        return None if self.value(name) is None else self.object(name)

    def objects(self, name: str, *, required: bool = False) -> "Iterator[Fields]":
        """Yield the objects of a list."""
        value = self._required(name) if required else self.value(name)
        items: list[Any] = [] if value is None else check_kind(value, list, self.path_of(name))
        for index, item in enumerate(items):
            yield Fields(item, f"{self.path_of(name)}[{index}]")

    def error(self, name: str, problem: str, code: str = "invalid_value") -> FieldError:
        """Return the error for a field; `code` says what is wrong with it, as OpenAI's API names it."""
        return FieldError(self.path_of(name), problem, code)

    def other_fields(self, known: Collection[str]) -> dict[str, Any]:
        """Return the fields whose names are not in `known`."""
        return {name: value for name, value in self.data.items() if name not in known and value is not None}

    def _required(self, name: str) -> Any:
        value = self.value(name)
        if value is None:
            raise self.error(name, "is missing", "missing_required_parameter")
        return value


def _cut(text: str) -> str:
    return text if len(text) <= MAX_QUOTED_CHARS else f"{text[:MAX_QUOTED_CHARS]}…"


def check_kind(value: Any, kind: type[Any], path: str) -> Any:
    """Return `value` if it has the type `kind`. Otherwise raise `FieldError` with the path."""
    if type(value) is kind or (kind is float and type(value) is int) or (kind is list and type(value) is ToolList):
        return value
    found = _KIND_NAMES.get(value.__class__, "nothing")
    raise FieldError(path, f"expected {_KIND_NAMES[kind]}, found {found}", "invalid_type")


def read_tool(fields: Fields, schema_name: str) -> ToolSpec:
    """Read the definition of a tool; `schema_name` is the field with the schema of its parameters."""
    name = fields.text("name")
    if not name:
        raise fields.error("name", "is empty")
    schema = fields.value(schema_name)
    parameters: dict[str, Any] = {} if schema is None else check_kind(schema, dict, fields.path_of(schema_name))
    if parameters.get("type") not in (None, "object"):
        raise fields.error(f"{schema_name}.type", "must be object")
    if parameters.get("properties") is not None:
        check_kind(parameters["properties"], dict, fields.path_of(f"{schema_name}.properties"))
    description = fields.optional_text("description")
    try:
        return ToolSpec(name=name, description=description, parameters=parameters, origin=Origin.FOREIGN_DESCRIPTION)
    except UsageError:
        raise fields.error(schema_name, find_size_problem(parameters) or "cannot be used") from None


def read_tools_once(fields: Fields, read: Callable[[Fields], T]) -> T:
    """Return what `read` makes of the field `tools`, and of nothing else. It must not be changed.

    If several requests share the tools, only the first of them reads them.
    """
    tools = fields.value("tools")
    return tools.derive(read, fields) if type(tools) is ToolList else read(fields)


def is_strict(tool: Fields) -> bool:
    """Whether the client demands that the calls of a tool fit its schema."""
    return tool.value("strict") is True


def check_tool_limits(fields: Fields) -> None:
    """Raise `UsageError` if the field `tools` holds more tools or more JSON values than are allowed.

    Every tool is shown to the model as text, so that the work for a request grows with both.
    """
    value = fields.value("tools")
    tools: list[Any] = [] if value is None else check_kind(value, list, fields.path_of("tools"))
    if len(tools) > MAX_TOOLS:
        raise fields.error("tools", f"has {len(tools):,} tools; at most {MAX_TOOLS:,} are allowed")
    remaining = MAX_SCHEMA_VALUES
    waiting: list[Any] = [tools]
    while waiting:
        value = waiting.pop()
        inner: Any = list(cast("dict[str, Any]", value).values()) if isinstance(value, dict) else value
        if isinstance(inner, list):
            children = cast("list[Any]", inner)
            remaining -= len(children)
            if remaining < 0:
                raise fields.error("tools", f"hold more than {MAX_SCHEMA_VALUES:,} values in their schemas")
            waiting += children


def check_unique_names(tools: Collection[ToolSpec]) -> None:
    """Raise `UsageError` if two tools share a name."""
    seen: set[str] = set()
    for tool in tools:
        if tool.name in seen:
            raise FieldError("tools", f"the name {tool.name[:MAX_QUOTED_CHARS]!r} is given twice")
        seen.add(tool.name)


def check_known_names(names: Collection[str], tools: Collection[ToolSpec], path: str) -> None:
    """Raise `UsageError` if a tool choice at `path` names a tool that is not in `tools`."""
    known = {tool.name for tool in tools}
    for name in names:
        if name not in known:
            raise FieldError(path, f"there is no tool {name[:MAX_QUOTED_CHARS]!r} in tools")


# What two APIs or more have in the same form


def read_answer_count(fields: Fields, name: str) -> int:
    """Return how many answers a request asks for, in the field `name`."""
    count = fields.integer(name, minimum=1) or 1
    if count > MAX_ANSWERS:
        raise fields.error(name, f"at most {MAX_ANSWERS} answers can be requested", "unsupported_value")
    return count


def read_content(fields: Fields, name: str, read_part: Callable[[Fields], Any]) -> tuple[Any, ...]:
    """Return the parts of a content: a text stands for a list with one text, and any other list is read by part."""
    value = fields.value(name)
    if isinstance(value, str):
        return (Text(text=value),)
    return tuple(read_part(part) for part in fields.objects(name, required=True))


def read_arguments(fields: Fields) -> dict[str, Any]:
    """Return the arguments of a call, which are written as a text; an empty one stands for an empty object."""
    encoded = fields.optional_text("arguments")
    try:
        arguments: Any = json.loads(encoded) if encoded.strip() else {}
    except (ValueError, RecursionError):
        raise fields.error("arguments", "not JSON") from None
    return check_kind(arguments, dict, fields.path_of("arguments"))


def read_address(fields: Fields, name: str) -> str:
    """Return the address of an image or a file: on the web, or a data URL.

    Whoever loads it is the model's server. An address such as `file:///etc/passwd` would name a file of that machine,
    which is nothing that a client may read; so every other kind of address is refused.
    """
    url = fields.text(name)
    _check_address(url, fields.path_of(name))
    return url


def read_opaque(fields: Fields, vendor: str) -> Opaque:
    """Return a part that only its vendor knows, whatever it is. The addresses in it are checked as all others are."""
    check_addresses(fields)
    return Opaque(vendor=vendor, data=fields.data)


def check_addresses(fields: Fields) -> None:
    """Raise `FieldError` for an address that `read_address` would refuse, anywhere within an object."""
    waiting: list[tuple[str, str, Any]] = [(fields.path, "", fields.data)]
    while waiting:
        path, name, value = waiting.pop()
        if isinstance(value, dict):
            inner = cast("dict[str, Any]", value).items()
            waiting += [(f"{path}.{key}"[-MAX_PATH_CHARS:], key, each) for key, each in inner if each]
        elif isinstance(value, list):
            waiting += [(path, name, each) for each in cast("list[Any]", value)]
        elif isinstance(value, str) and name in ADDRESS_FIELDS:
            _check_address(value, path)


def _check_address(url: str, path: str) -> None:
    if not is_data_url(url) and not url[:8].lower().startswith(("http://", "https://")):
        problem = f"{_cut(url)!r} does not begin with https://, http:// or data:; send the file itself, as a data URL"
        raise FieldError(path, problem)


def read_media(fields: Fields, name: str, extra: Extra | None, file_name: str | None = None) -> Media:
    """Return the image or file that a URL stands for, or that a data URL holds."""
    url = read_address(fields, name)
    if not is_data_url(url):
        return Media(mime=guess_image_type(url, "image/*"), url=url, extra=extra, name=file_name)
    if (decoded := decode_data_url(url)) is None:
        raise fields.error(name, "not a valid data URL")
    mime, data = decoded
    return Media(mime=mime, data=data, extra=extra, name=file_name)


def read_choice_word(fields: Fields, tools: Collection[ToolSpec]) -> ToolChoice | None:
    """Return the choice of tools if it is left out or a word; None for an object, which names tools."""
    value = fields.value("tool_choice")
    if value is None:
        return AUTO
    if value in ("auto", "none", "required"):
        if value == "required" and not tools:
            raise fields.error("tool_choice", "a call is required, but there are no tools")
        return ToolChoice(mode=value)
    if isinstance(value, str):
        raise fields.error("tool_choice", f"{value!r} is none of auto, none, required")
    return None


def read_allowed_mode(allowed: Fields) -> ToolChoice:
    """Return the choice among the tools that a request allows of those it offers.

    The API requires a call of at least one of them, but a `ToolChoice` that names several requires all. So the caller
    leaves the other tools out, and a call of any remaining tool is required.
    """
    mode = allowed.text("mode")
    if mode not in ("auto", "required"):
        raise allowed.error("mode", f"{mode!r} is none of auto, required")
    return ToolChoice(mode="required") if mode == "required" else AUTO
