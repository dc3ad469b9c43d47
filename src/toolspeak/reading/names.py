"""Which tool a spoken name means."""

import re
from collections.abc import Iterable

NAMESPACES = frozenset(
    "functions function tools tool api apis default_api namespace client mcp self this agent assistant toolbox "
    "functions_api tool_api toolkit".split()
)
"""What models put before a tool's name."""

LIBRARIES = frozenset(
    "os re sys json math random string time datetime asyncio subprocess requests np numpy pd pandas console "
    "Math JSON Object Array Promise Date Number String window document fs path process itertools functools "
    "logging".split()
)
"""What owns functions of its own: `re.search` is not the tool `search`."""

SEVERAL_WORDS = re.compile(r"\w[_.]\w|[a-z][A-Z]")

INVISIBLE = re.compile(r"[\u200b-\u200f\u2060\ufeff]")
CONTROL = re.compile(r"<[|｜][^<>]*[|｜]>")


class Names:
    """The tools on offer, by all that a model may call them."""

    def __init__(self, names: Iterable[str]) -> None:
        self._exact = frozenset(names)
        loose: dict[str, str | None] = {}
        for name in sorted(self._exact):
            key = _loose(name)
            loose[key] = None if key in loose else name  # two tools that differ in case alone: neither is meant
        self._loose = loose
        self._ends = _ends(self._exact)

    def resolve(self, spoken: str) -> str | None:
        """The tool that `spoken` means: itself, or the same but for case, a namespace or a leaked control token."""
        if spoken in self._exact:
            return spoken
        name = CONTROL.split(CONTROL.sub("", spoken, count=1) if CONTROL.match(spoken) else spoken)[0]
        name = INVISIBLE.sub("", name.split("</")[0]).replace("\\_", "_").strip(" \t\r\n`\"'*").removesuffix("()")
        name = re.sub(r"^(?:call:|functions\.)|(?::\d+)$", "", name)
        return self._found(name) or self._inside(name) or self._ends.get(name)

    def _found(self, name: str) -> str | None:
        return name if name in self._exact else self._loose.get(_loose(name))

    def _inside(self, name: str) -> str | None:
        """A name behind a namespace that is not some library's."""
        first, *rest = name.split(".")
        if first in LIBRARIES:
            return None
        return next(filter(None, (self._found(".".join(rest[start:])) for start in range(len(rest)))), None)


def _ends(names: Iterable[str]) -> dict[str, str]:
    """Tools by the ends of their dotted names: `area_circle` is `geometry.area_circle`, if it is the only one.

    An end of one short word, such as `find`, may be any function's.
    """
    found: dict[str, list[str]] = {}
    for name in names:
        parts = name.split(".")
        for start in range(1, len(parts)):
            found.setdefault(".".join(parts[start:]), []).append(name)
    return {end: tools[0] for end, tools in found.items() if len(tools) == 1 and SEVERAL_WORDS.search(end)}


def _loose(name: str) -> str:
    return name.replace("_", "").replace("-", "").replace(".", "").casefold()
