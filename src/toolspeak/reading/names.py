"""Which tool a name that a model wrote stands for, and which tools take a raw text in a block with their name.

`fold_name` is the one definition of when two spellings are the same name. What reads names and what searches texts for
them (`turns/quotation.py`) both use it, so that no spelling is known to one of them only.
"""

import re
import unicodedata
from bisect import bisect_left
from collections.abc import Callable, Iterable
from functools import lru_cache

from toolspeak.reading.forms import CODE_LABELS, DATA_LABELS
from toolspeak.values.spec import ToolSpec

LABEL = re.compile(r"[\w.$:/-]*")
"""Characters of a name that can be a label."""


def has_raw_form(spec: ToolSpec) -> bool:
    """Whether a tool can be called by a block with its name.

    A tool with a name such as `python` or `json` cannot: a block with that label holds calls of any tool.
    """
    is_language = spec.name.lower() in CODE_LABELS | DATA_LABELS
    return spec.raw is not None and not is_language and LABEL.fullmatch(spec.name) is not None


def find_raw_parameters(specs: Iterable[ToolSpec]) -> dict[str, str]:
    """Return the parameter for the raw text of each tool that can be called by a block with its name."""
    return {spec.name: spec.raw for spec in specs if spec.raw is not None and has_raw_form(spec)}


NAMESPACES = frozenset(
    "functions function tools tool api apis default_api namespace client mcp self this agent assistant toolbox "
    "functions_api tool_api toolkit".split()
)
"""What models put before the name of a tool."""

LIBRARIES = frozenset(
    "os re sys json math random string time datetime asyncio subprocess requests np numpy pd pandas console "
    "Math JSON Object Array Promise Date Number String window document fs path process itertools functools "
    "logging".split()
)
"""Libraries and objects with functions of their own: `re.search` is not the tool `search`."""

SEVERAL_WORDS = re.compile(r"\w[_.]\w|[a-z][A-Z]")

CONTROL_TOKEN = re.compile(r"<[|｜][^<>]*[|｜]>")
CALL_PREFIX_OR_NUMBER = re.compile(r"^(?:call:|functions\.)|(?::\d+)$")


MAX_NAMESPACE_CHARS = 256
"""Characters that a written name may have more than the longest name of a tool."""


@lru_cache(maxsize=64)
def index_names(names: tuple[str, ...]) -> "Names":
    """Return the names of these tools. They are the same in every message of an agent, and costly to make."""
    return Names(names)


class Names:
    """The names of the tools on offer, and the variants of them that models write."""

    def __init__(self, names: Iterable[str]) -> None:
        self._exact = frozenset(names)
        by_loose_name: dict[str, str | None] = {}
        for name in sorted(self._exact):
            key = fold_name(name)
            by_loose_name[key] = None if key in by_loose_name else name  # two tools that are alike: neither is meant
        self._by_loose_name = by_loose_name
        self._by_end = _index_ends(self._exact)
        self._starts = sorted({*by_loose_name, *map(fold_name, self._by_end), *map(fold_name, NAMESPACES)})
        self._max_chars = MAX_NAMESPACE_CHARS + max(map(len, self._exact), default=0)

    def resolve(self, written: str) -> str | None:
        """Return the tool that a written name stands for, or None.

        The name may differ from the tool's in case and separators, have a namespace before it or a control token of a
        model around it, or be the end of a dotted name.
        """
        if written in self._exact:
            return written
        if len(written) > self._max_chars:
            return None
        name = CONTROL_TOKEN.split(
            CONTROL_TOKEN.sub("", written, count=1) if CONTROL_TOKEN.match(written) else written
        )[0]
        name = clean_text(name.split("</")[0]).replace("\\_", "_").strip(" \t\r\n`\"'*").removesuffix("()")
        name = CALL_PREFIX_OR_NUMBER.sub("", name)
        return self._find(name) or self._find_in_namespace(name) or self._by_end.get(name)

    def may_begin(self, word: str) -> bool:
        """Whether the name of a tool, or of a usual namespace, begins with a word, in any case and with separators."""
        start = fold_name(word)
        place = bisect_left(self._starts, start)
        return place < len(self._starts) and self._starts[place].startswith(start)

    def _find(self, name: str) -> str | None:
        return name if name in self._exact else self._by_loose_name.get(fold_name(name))

    def _find_in_namespace(self, name: str) -> str | None:
        """Return the tool after a namespace that is not the name of a library."""
        first, *rest = name.split(".")
        if first in LIBRARIES:
            return None
        return next(filter(None, (self._find(".".join(rest[start:])) for start in range(len(rest)))), None)


def _index_ends(names: Iterable[str]) -> dict[str, str]:
    """Return tools by the ends of their dotted names: `area_circle` is `geometry.area_circle`, if no other ends so.

    An end of one short word, such as `find`, may be the name of any function and is left out.
    """
    found: dict[str, list[str]] = {}
    for name in names:
        parts = name.split(".")
        for start in range(1, len(parts)):
            found.setdefault(".".join(parts[start:]), []).append(name)
    return {end: tools[0] for end, tools in found.items() if len(tools) == 1 and SEVERAL_WORDS.search(end)}


SEPARATORS = "_-.\\"
"""Characters that do not count in a name. Markdown writes a backslash before an underscore."""

MAX_KEPT_CODE = 0xFFFF
"""The highest code point whose form is kept in a table."""


class _CharTable(dict[int, str]):
    """What characters are replaced by, for `str.translate`. It is filled as they are met."""

    def __init__(self, build: Callable[[str], str]) -> None:
        super().__init__()
        self._build = build

    def __missing__(self, code: int) -> str:
        text = self._build(chr(code))
        if code <= MAX_KEPT_CODE:
            self[code] = text
        return text


def _is_invisible(char: str) -> bool:
    """Whether a character shows nothing: formats, variation selectors, fillers."""
    return unicodedata.category(char) == "Cf" or char in INVISIBLE_LETTERS or "\ufe00" <= char <= "\ufe0f"


INVISIBLE_LETTERS = "\u034f\u115f\u1160\u17b4\u17b5\u3164\uffa0"


def _clean_char(char: str) -> str:
    return "" if _is_invisible(char) else unicodedata.normalize("NFKC", char)


def _fold_char(char: str) -> str:
    return "".join(each for each in _clean_char(char).casefold() if each not in SEPARATORS)


_CLEAN = _CharTable(_clean_char)
_FOLDED = _CharTable(_fold_char)


def clean_text(text: str) -> str:
    """Return a text without invisible characters, with plain letters for ligatures, wide letters and the like."""
    return text if text.isascii() else text.translate(_CLEAN)


def fold_name(name: str) -> str:
    """Return the form in which two spellings of a name are equal: without separators, invisible characters and case.

    It is made character by character, so that `fold_name(a + b) == fold_name(a) + fold_name(b)`: a name that is a part
    of a text is found in the folded text.

    Examples:
        >>> fold_name("Write-File"), fold_name("wri\u200bte_ﬁle"), fold_name("proceß_all")
        ('writefile', 'writefile', 'processall')
    """
    if name.isascii():
        return name.replace("_", "").replace("-", "").replace(".", "").replace("\\", "").lower()
    return name.translate(_FOLDED)
