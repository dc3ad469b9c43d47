"""Reading a request field by field. What is wrong is said with the path of the field, as APIs say it.

A field that is null counts as left out: clients write both.
"""

from collections.abc import Collection, Iterator
from typing import Any

from toolspeak.errors import UsageError
from toolspeak.spec import ToolSpec

_KINDS = {
    dict: "an object",
    list: "a list",
    str: "text",
    bool: "true or false",
    int: "a whole number",
    float: "a number",
}


class Fields:
    """An object of a request and the path to it."""

    def __init__(self, data: Any, path: str = "") -> None:
        self.path = path
        self.data: dict[str, Any] = checked(data, dict, path or "the request")

    def at(self, name: str) -> str:
        """The path of a field."""
        return f"{self.path}.{name}" if self.path else name

    def value(self, name: str) -> Any:
        """A field of any type; None if it is left out."""
        return self.data.get(name)

    def text(self, name: str) -> str:
        """Text that must be there."""
        return checked(self._required(name), str, self.at(name))

    def maybe_text(self, name: str) -> str:
        """Text, or nothing."""
        value = self.value(name)
        return "" if value is None else checked(value, str, self.at(name))

    def flag(self, name: str, default: bool) -> bool:
        """True or false."""
        value = self.value(name)
        return default if value is None else checked(value, bool, self.at(name))

    def whole(self, name: str, *, least: int | None = None) -> int | None:
        """A whole number, or nothing."""
        value = self.value(name)
        if value is None:
            return None
        number: int = checked(value, int, self.at(name))
        if least is not None and number < least:
            raise UsageError(f"{self.at(name)}: must be at least {least}, not {number}")
        return number

    def number(self, name: str, *, most: float) -> float | None:
        """A number from 0 to `most`, or nothing."""
        value = self.value(name)
        if value is None:
            return None
        number: float = checked(value, float, self.at(name))
        if not 0 <= number <= most:
            raise UsageError(f"{self.at(name)}: must be from 0 to {most:g}, not {number:g}")
        return number

    def texts(self, name: str) -> tuple[str, ...]:
        """A list of texts; one text stands for a list of one."""
        value = self.value(name)
        if isinstance(value, str):
            return (value,)
        items: list[Any] = [] if value is None else checked(value, list, self.at(name))
        return tuple(checked(item, str, f"{self.at(name)}[{index}]") for index, item in enumerate(items))

    def object(self, name: str) -> "Fields":
        """An object that must be there."""
        return Fields(self._required(name), self.at(name))

    def maybe_object(self, name: str) -> "Fields | None":
        """An object, or nothing."""
        return None if self.value(name) is None else self.object(name)

    def objects(self, name: str, *, required: bool = False) -> "Iterator[Fields]":
        """The objects of a list."""
        value = self._required(name) if required else self.value(name)
        items: list[Any] = [] if value is None else checked(value, list, self.at(name))
        for index, item in enumerate(items):
            yield Fields(item, f"{self.at(name)}[{index}]")

    def refuse(self, name: str, why: str) -> UsageError:
        """The error for a field."""
        return UsageError(f"{self.at(name)}: {why}")

    def others(self, known: Collection[str]) -> dict[str, Any]:
        """The fields that are none of `known`."""
        return {name: value for name, value in self.data.items() if name not in known and value is not None}

    def _required(self, name: str) -> Any:
        value = self.value(name)
        if value is None:
            raise self.refuse(name, "is missing")
        return value


def checked(value: Any, kind: type[Any], path: str) -> Any:
    """`value`, if it is of the kind that belongs at `path`."""
    if type(value) is kind or (kind is float and type(value) is int):
        return value
    raise UsageError(f"{path}: expected {_KINDS[kind]}, found {_KINDS.get(value.__class__, 'nothing')}")


def read_tool(fields: Fields, schema_name: str) -> ToolSpec:
    """A tool of the client's."""
    name = fields.text("name")
    if not name:
        raise fields.refuse("name", "is empty")
    schema = fields.value(schema_name)
    parameters: dict[str, Any] = {} if schema is None else checked(schema, dict, fields.at(schema_name))
    if parameters.get("type") not in (None, "object"):
        raise fields.refuse(f"{schema_name}.type", "must be object")
    if parameters.get("properties") is not None:
        checked(parameters["properties"], dict, fields.at(f"{schema_name}.properties"))
    return ToolSpec(name=name, description=fields.maybe_text("description"), parameters=parameters)


def check_unique(tools: Collection[ToolSpec]) -> None:
    """No two tools may share a name."""
    names = [tool.name for tool in tools]
    for name in names:
        if names.count(name) > 1:
            raise UsageError(f"tools: the name {name!r} is given twice")


def check_names(names: Collection[str], tools: Collection[ToolSpec], path: str) -> None:
    """A choice may name only tools that there are."""
    known = {tool.name for tool in tools}
    for name in names:
        if name not in known:
            raise UsageError(f"{path}: there is no tool {name!r} in tools")
