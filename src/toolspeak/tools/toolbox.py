"""`Toolbox`: tools in order, by name."""

from collections.abc import Callable, Iterable, Iterator
from functools import cached_property
from typing import Any

from toolspeak.tools.function_tool import Tool, as_tool
from toolspeak.values.errors import UsageError
from toolspeak.values.frozen import frozen
from toolspeak.values.spec import ToolSpec
from toolspeak.values.validation import MAX_VALUE_CHARS, nearest

MAX_LISTED_NAMES = 40
"""Names of tools that are listed in an error."""


@frozen
class Skipped:
    """A function that discovery left out, and why."""

    name: str
    reason: str


class Toolbox:
    """Tools in order, by name. A toolbox does not change; create a new one from the tools of another.

    Examples:
        >>> def now() -> str:
        ...     "The time of day."
        ...     return "noon"
        >>> box = Toolbox([now])
        >>> box.names, "now" in box, len(box)
        (('now',), True, 1)
    """

    def __init__(
        self, tools: "Iterable[Callable[..., Any] | Tool[..., Any]]" = (), *, skipped: Iterable[Skipped] = ()
    ) -> None:
        self._tools: dict[str, Tool[..., Any]] = {}
        self.skipped: tuple[Skipped, ...] = tuple(skipped)
        for each in tools:
            new = as_tool(each)
            if old := self._tools.get(new.name):
                raise UsageError(
                    f"two tools are called {new.name!r}: {_locate(old)} and {_locate(new)}; "
                    "give one another name with tool(function, name=…)"
                )
            self._tools[new.name] = new

    @cached_property
    def names(self) -> tuple[str, ...]:
        return tuple(self._tools)

    @cached_property
    def specs(self) -> tuple[ToolSpec, ...]:
        return tuple(tool.spec for tool in self)

    def __iter__(self) -> Iterator[Tool[..., Any]]:
        return iter(self._tools.values())

    def __len__(self) -> int:
        return len(self._tools)

    def __contains__(self, name: object) -> bool:
        return name in self._tools

    def __getitem__(self, name: str) -> Tool[..., Any]:
        if name in self._tools:
            return self._tools[name]
        raise UsageError(explain_unknown_tool(name, self.names))

    def __repr__(self) -> str:
        return f"Toolbox({', '.join(self.names)})"


def explain_unknown_tool(name: str, names: Iterable[str]) -> str:
    """Return the error text for a tool that does not exist, with the nearest name or all names."""
    names = tuple(names)
    similar = nearest(name, names)
    more = f" and {len(names) - MAX_LISTED_NAMES} more" if len(names) > MAX_LISTED_NAMES else ""
    listed = ", ".join(names[:MAX_LISTED_NAMES]) + more
    cure = f"did you mean {similar}?" if similar else f"the tools are: {listed or 'none'}"
    quoted = name if len(name) <= MAX_VALUE_CHARS else f"{name[: MAX_VALUE_CHARS - 1]}…"
    return f"there is no tool {quoted!r}; {cure}"


def _locate(tool: Tool[..., Any]) -> str:
    function = getattr(tool.function, "func", tool.function)
    module, name = getattr(function, "__module__", None), getattr(function, "__qualname__", None)
    return f"{module}.{name}" if module and name else repr(function)
