"""Cuts the descriptions of tools until the tools fit a budget of tokens.

Names, parameters, types, choices and what is required are never changed: a model can still make every call. Texts are
kept in this order, until the budget is spent:

1. the first sentence of each tool,
2. the first sentence of each parameter, and of what is inside of it,
3. all further sentences.

In each step every text may have the same number of characters, the largest number that fits: a tool with a long
description does not take the place of the others. What is cut ends with `…`, so that a model can see that there is
more, and ask for it (`make_help_tool`). Titles, comments and examples in schemas go first.

The size of tools is what they add to a request in the dialect of the model. It is estimated from their bytes.
"""

import json
import re
from bisect import bisect_right
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from itertools import chain, count
from typing import Any, NamedTuple

from toolspeak.dialects.dialect import Dialect
from toolspeak.dialects.text import TextDialect
from toolspeak.dialects.typescript_notation import format_tools
from toolspeak.values.frozen import frozen
from toolspeak.values.spec import Schema, ToolSpec, map_subschemas

BYTES_PER_TOKEN = 4.0
"""Bytes of a token in the descriptions of tools, on average."""

MIN_CUT_CHARS = 16
"""A sentence that must be cut shorter than this is left out."""

MIN_DESCRIPTION_CHARS = 40
"""Characters of a description from which on it tells what a tool does, if its first sentence is not shorter."""

SHORT_TOOL_CHARS, SHORT_PARAMETER_CHARS = 120, 60
"""Characters of the first sentences of a tool and of a parameter in its short form."""

OUTLINE_CHARS = 50
"""Characters of the first sentence of a tool in its outline, which says nothing of the parameters but their types."""

CUT_MARK = "…"

HELP = "help"
TOOL = "tool"
"""The name of the tool that gives the whole description of another one, and of its parameter."""

HELP_DESCRIPTION = f"Returns the whole description of a tool. Use it first where a description ends with {CUT_MARK}"

ANNOTATIONS = frozenset({"title", "examples", "example", "$comment"})
"""Keywords of a schema that a slim tool does without."""

_MARK_OR_SPACE = re.compile(r"[.!?][\"')\]`*]*+(?=\s)|[。！？]|\s++")
_ITEM = re.compile(r"[-*#•<]|\d++[.)]")
"""What a sentence may end with, and what an item of a list begins with. Neither goes back in a text."""


@frozen
class SlimTools:
    """Tools that were brought to a budget.

    Attributes:
        tools: The tools, in their order.
        cut: The names of those that lost a part of their texts.
        tokens: The tokens that all of them take, estimated.
        fits: Whether that is within the budget. If not, even the tools without any descriptions are larger.
    """

    tools: tuple[ToolSpec, ...]
    cut: frozenset[str]
    tokens: int
    fits: bool


class _Level(NamedTuple):
    """How many characters texts may have: the first sentence of a tool, that of a parameter, a text of sentences."""

    tool: int = 0
    parameter: int = 0
    text: int = 0


def slim_tools(
    specs: Sequence[ToolSpec],
    dialect: Dialect,
    max_tokens: int,
    *,
    beside: Sequence[ToolSpec] = (),
    bytes_per_token: float = BYTES_PER_TOKEN,
) -> SlimTools:
    """Return tools with as much of their descriptions as fits a budget.

    Args:
        specs: The tools.
        dialect: The dialect in which a model is shown the tools.
        max_tokens: The budget, in tokens.
        beside: Further tools that are shown whole and count as well, if anything has to be cut.
        bytes_per_token: How many bytes a token of the model has.

    Examples:
        >>> from toolspeak.dialects import PYTHON
        >>> about = "Read a file. " + "The path is relative to the folder of the project. " * 40
        >>> spec = ToolSpec(name="read", description=about, parameters={"properties": {"path": {"type": "string"}}})
        >>> slim = slim_tools([spec], PYTHON, 80)
        >>> slim.tools[0].description
        'Read a file.…'
        >>> slim.fits, slim.tokens <= 80
        (True, True)
    """

    def measure(tools: Sequence[ToolSpec]) -> int:
        return count_tool_tokens(tools, dialect, bytes_per_token)

    tokens = measure(specs)
    if tokens <= max_tokens:
        return SlimTools(tools=tuple(specs), cut=frozenset(), tokens=tokens, fits=True)

    cutter = _SentenceCutter()

    def fits(level: _Level) -> bool:
        return measure([*_cut_tools(specs, cutter, level), *beside]) <= max_tokens

    level = _Level()
    if fits(level):
        longest = max(map(len, _list_texts(specs)), default=0)
        level = _find_level(fits, longest)
    tools = _cut_tools(specs, cutter, level)
    tokens = measure([*tools, *beside])
    return SlimTools(tools=tools, cut=find_shortened(specs, tools), tokens=tokens, fits=tokens <= max_tokens)


def count_tool_tokens(specs: Sequence[ToolSpec], dialect: Dialect, bytes_per_token: float = BYTES_PER_TOKEN) -> int:
    """Return the tokens that tools add to a request, with what the dialect says about calls; estimated."""
    if not specs:
        return 0
    shown = dialect.render(specs, ())
    texts = [message.text for message in shown.messages]
    for spec in shown.tools:
        definition = {"name": spec.name, "description": spec.description, "parameters": spec.parameters}
        texts.append(json.dumps(definition, ensure_ascii=False, separators=(",", ":"), default=str))
    return count_text_tokens("".join(texts), bytes_per_token)


def count_text_tokens(text: str, bytes_per_token: float = BYTES_PER_TOKEN) -> int:
    """Return the tokens of a text, estimated from its bytes."""
    size = len(text) if text.isascii() else len(text.encode("utf-8", "surrogatepass"))
    return -int(-size // bytes_per_token)


def make_help_tool(specs: Sequence[ToolSpec]) -> ToolSpec:
    """Return the tool by which a model asks for the whole description of another. Its name is one that none has."""
    return ToolSpec(
        name=find_free_name(specs, HELP, f"tool_{HELP}"),
        description=HELP_DESCRIPTION,
        parameters={"type": "object", "properties": {TOOL: {"type": "string"}}, "required": [TOOL]},
        effect="read",
    )


def find_free_name(specs: Sequence[ToolSpec], *names: str) -> str:
    """Return the first of some names that no tool has; if all are taken, the last one with a number."""
    taken = {spec.name for spec in specs}
    return next(name for name in chain(names, (f"{names[-1]}_{number}" for number in count(2))) if name not in taken)


def describe_tool(spec: ToolSpec, dialect: Dialect) -> str:
    """Return a tool with all its descriptions, as the dialect writes tools."""
    return dialect.format_tools([spec]) if isinstance(dialect, TextDialect) else format_tools([spec])


def shorten_tools(specs: Sequence[ToolSpec]) -> tuple[ToolSpec, ...]:
    """Return tools with the first sentences of their descriptions only, and of those of their parameters."""
    return _cut_tools(specs, _SentenceCutter(), _Level(tool=SHORT_TOOL_CHARS, parameter=SHORT_PARAMETER_CHARS))


def outline_tools(specs: Sequence[ToolSpec]) -> tuple[ToolSpec, ...]:
    """Return tools with the beginnings of their first sentences only, and parameters without descriptions."""
    return _cut_tools(specs, _SentenceCutter(), _Level(tool=OUTLINE_CHARS))


def find_shortened(specs: Sequence[ToolSpec], shown: Sequence[ToolSpec]) -> frozenset[str]:
    """Return the names of the tools that are shown with less text than they have."""
    return frozenset(
        short.name
        for spec, short in zip(specs, shown, strict=True)
        if list(_list_texts([spec])) != list(_list_texts([short]))
    )


def is_described(spec: ToolSpec, shown: ToolSpec) -> bool:
    """Whether a tool is shown with enough of its description to tell what it does."""
    ends = _find_sentence_ends(spec.description)
    return not ends or len(shown.description) >= min(ends[0], MIN_DESCRIPTION_CHARS)


class _SentenceCutter:
    """Cuts texts at the ends of sentences, which are found once for each text."""

    def __init__(self) -> None:
        self._ends: dict[str, list[int]] = {}

    def cut(self, text: str, max_first: int, max_chars: int) -> str:
        """Return the beginning of a text.

        Args:
            text: The text.
            max_first: The most characters of its first sentence, which is cut between words.
            max_chars: The most characters of several sentences, none of which is cut.
        """
        ends = self._ends.get(text)
        if ends is None:
            ends = self._ends[text] = _find_sentence_ends(text)
        if not ends or ends[-1] <= max_chars:
            return text if ends else ""
        if ends[0] > max_first:
            return _cut_sentence(text[: ends[0]], max_first)
        place = bisect_right(ends, max_chars)
        end = ends[max(place - 1, 0)]
        return text if end == ends[-1] else text[:end].rstrip() + CUT_MARK


def _cut_sentence(sentence: str, max_chars: int) -> str:
    if max_chars < MIN_CUT_CHARS:
        return ""
    kept = sentence[: max_chars - len(CUT_MARK)]
    words = re.match(r"(.*\S)\s", sentence[: len(kept) + 1], re.DOTALL)
    return (words[1] if words and len(words[1]) > max_chars // 2 else kept).rstrip() + CUT_MARK


def _find_sentence_ends(text: str) -> list[int]:
    """Return where the sentences of a text end; the last one at the end of what is not white space."""
    last = len(text.rstrip())
    first = len(text) - len(text.lstrip())
    ends: list[int] = []
    mark = -1  # the end of a mark before the space that follows
    for found in _MARK_OR_SPACE.finditer(text, 0, last):
        if not found[0].isspace():
            mark = found.end()
            if found[0] in "。！？":
                ends.append(mark)
            continue
        start, end = found.span()
        newline = text.find("\n", start, end)
        if mark == start and not "a" <= text[end] <= "z":  # not before a small letter, as in "e.g. this"
            ends.append(start)
        elif newline >= 0 and (text.find("\n", newline + 1, end) >= 0 or _ITEM.match(text, end)):
            ends.append(newline)  # before a paragraph, or an item of a list
    return [*(end for end in ends if first < end < last), last] if last else []


def _find_level(fits: Callable[[_Level], bool], longest: int) -> _Level:
    """Return the highest level that fits, given that the lowest does.

    Each of its numbers is raised as far as possible, one after the other.
    """
    level = _Level()
    for field in _Level._fields:
        if fits(highest := level._replace(**{field: longest})):
            level = highest
            continue
        low, high = 0, longest  # `low` fits, `high` does not
        while high - low > max(low // 16, 1):  # close enough
            middle = (low + high) // 2
            low, high = (middle, high) if fits(level._replace(**{field: middle})) else (low, middle)
        level = level._replace(**{field: low})
    return level


def _cut_tools(specs: Sequence[ToolSpec], cutter: _SentenceCutter, level: _Level) -> tuple[ToolSpec, ...]:
    def cut_schema(schema: Schema) -> dict[str, Any]:
        kept = {key: value for key, value in schema.items() if key not in ANNOTATIONS}
        about = kept.get("description")
        if isinstance(about, str):
            del kept["description"]
            if shorter := cutter.cut(about, level.parameter, level.text):
                kept["description"] = shorter
        return map_subschemas(kept, cut_schema)

    return tuple(
        replace(
            spec,
            description=cutter.cut(spec.description, level.tool, level.text),
            parameters=cut_schema(spec.parameters),
            returns=None if spec.returns is None else cut_schema(spec.returns),
        )
        for spec in specs
    )


def _list_texts(specs: Sequence[ToolSpec]) -> Iterator[str]:
    """Yield the descriptions of tools and of all that is inside of their schemas."""
    found: list[str] = []

    def look(schema: Schema) -> Schema:
        if isinstance(about := schema.get("description"), str):
            found.append(about)
        map_subschemas(schema, look)
        return schema

    for spec in specs:
        found.append(spec.description)
        look(spec.parameters)
        look(spec.returns or {})
    yield from found
