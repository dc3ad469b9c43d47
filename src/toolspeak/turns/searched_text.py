"""A text in which the calls of a model are searched: does it hold this call, this raw text, these lines of a program?

The search takes work in proportion to the text, counted by the budget of the message that is read. A text that takes
more counts as one that holds the call.
"""

import html
import itertools
import json
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import suppress
from functools import cached_property
from hashlib import blake2b
from typing import Any, TypeAlias, cast

from toolspeak.dialects.dialect import Parser
from toolspeak.reading.forms import ROLES
from toolspeak.reading.names import (
    FoldedText,
    Place,
    ToolName,
    clean_text,
    fold_name,
)
from toolspeak.reading.source import INNER_SOURCE_CHARS, Budget
from toolspeak.values.events import CallReady
from toolspeak.values.messages import (
    Concat,
    Ref,
    ToolCall,
)

SEARCHED_CHARS_PER_CHAR = 8
MIN_SEARCHED_CHARS = 20_000
"""Characters that are read again, for each character of a text and at least. A text that would need more, and has all
words of a call, counts as one that holds the call: no honest text names a tool so often in the shape of a call."""

SCANNED_PER_READ_CHAR = 8
"""Characters in which something is looked for, in the work of reading one."""

LOOKBEHIND_CHARS = 2_000
"""Characters before the name of a tool in which its call may begin."""

MAX_ENCLOSING_BRACES = 3
MAX_JSON_IN_JSON = 3
"""How deeply JSON is searched in the strings of JSON."""

CALL_SHAPE = re.compile(r"[^\w\s.,;!?]|[ \t]*(?:[\n({\[<]|$)")
"""What follows the name of a tool in a call, and seldom in a sentence."""

LINE_MARKS = re.compile(r"(?:[ \t>*|#-]|\d{1,3}[.)]|<[^<>\n]*>)*")
"""Marks of lists, quotations and HTML at the beginning of a line, which a model may leave out."""

STANDS_ALONE = re.compile(r"(?:\A|[>|*#+$%\n-]|\d[.)]|[=:(\[,][ \t]?[\"'“«])[ \t`_\"'“«]{0,8}\Z")
"""What stands before the name of a tool where a line, an element of HTML, an item of a list or a value begins."""

MARK_CHARS = 16
ACTION = re.compile(r"Action[*_]{0,3}:[*_` \t]{0,4}\Z", re.I)
"""The beginning of a call in the form of ReAct, which is read where a line begins."""

OPENERS = re.compile("|".join(re.escape(token) for token, role in ROLES.items() if role in ("open", "header")), re.I)
MAX_INLINE_CLOSERS = 8
"""Brackets after the name of a tool in a sentence at which its call may end."""

WORD = re.compile(r"\S+")
CLOSERS = re.compile(r"[)}]")
BRACES = re.compile(r"[{}]")
CODED_CHARS = re.compile(r"\\[ux]|&[#\w]")
"""The beginning of an escape that may stand for a letter."""

ESCAPES = re.compile(r"\\(?:u([0-9a-fA-F]{4})|x([0-9a-fA-F]{2})|([nrt\"'/\\]))")
LONG_REFERENCE = re.compile(r"&#\d{8,}+;?")
"""The number of no character. It may have more digits than Python reads as a number."""

ESCAPED_CHARS = {"n": "\n", "r": "\r", "t": "\t"}
FENCE_END = re.compile(r"(?:`{3}|~{3})[ \t]{0,8}\Z")
"""The end of a fence, before its label."""

MAX_LABEL_LINE_CHARS = 200
TAG = re.compile(r"<[^<>\n]*>")
CODE_TOKEN = re.compile(r"\w+|[^\w\s]")
MAX_RETURNS = 64
"""How often the search for the lines of a program may begin again at the beginning of a text."""

STRAIGHT_QUOTES = str.maketrans("‘’‚“”„", "'''\"\"\"")
ALIKE_IN_CODE = str.maketrans({'"': "'", "`": "'", "\\": " "})
"""Marks that a model exchanges or leaves out when it copies code."""

QUOTE_MARKS = re.compile(r"^[ \t]*(?:[>|][ \t]*)+", re.MULTILINE)
"""Marks of a quotation at the beginning of a line."""

NewParser: TypeAlias = Callable[[Budget, bool], Parser]
"""Makes a parser for a text, or for an excerpt of one that was read before."""

Key: TypeAlias = str
"""Equal for two calls of the same tool with the same arguments, whatever their ids and white space."""


_Part: TypeAlias = tuple[str, int, int | None]
"""A variant of a text, and where a part of it begins and ends."""


class SearchedText:
    """A text that may hold calls, with what was read of it so far."""

    def __init__(self, text: str, parsers: Sequence[NewParser]) -> None:
        self._text = text
        self._parsers = parsers
        has_codes = ("\\" in text or "&" in text) and CODED_CHARS.search(text)
        self._folded = "" if has_codes else fold_name(text)
        if self._folded and "<" in text:  # tags may stand inside of a name
            self._folded += f" {fold_name(TAG.sub('', text))}"
        self._naming: dict[ToolName, tuple[str, ...]] = {}
        self._keys: dict[_Part, set[Key]] = {}
        self._refused: dict[_Part, Budget] = {}
        self._places: dict[tuple[str, ToolName], list[tuple[Place, list[int]]]] = {}
        self._folded_variants: dict[str, FoldedText] = {}

    def names(self, tool: ToolName) -> tuple[str, ...]:
        """Return the variants of the text that name a tool, as they are and with the name in its own spelling."""
        if self._folded and not any(form in self._folded for form in tool.forms):  # the common case
            return ()
        if tool not in self._naming:
            naming = [text for text in self._variants if self._fold(text).find(tool)]
            respelt = [self._fold(text).respell(tool) for text in naming]
            self._naming[tool] = tuple(dict.fromkeys([*naming, *respelt]))
        return self._naming[tool]

    def names_call(self, tool: ToolName) -> bool:
        """Whether the text names a tool in the shape of a call."""
        return any(
            CALL_SHAPE.match(text, place.end) for text in self.names(tool) for place in self._fold(text).find(tool)
        )

    def _fold(self, text: str) -> FoldedText:
        if text not in self._folded_variants:
            self._folded_variants[text] = FoldedText(text)
        return self._folded_variants[text]

    def holds(
        self, key: Key, tool: ToolName, words: set[str], size: int, budget: Budget, *, inline: bool = False
    ) -> bool:
        """Whether the text holds a call. One that takes too much work to read counts as one that holds it.

        Args:
            key: The key of the call.
            tool: The name of its tool.
            words: The words of its arguments.
            size: The most characters that it may take up.
            budget: What counts the work of the search.
            inline: Whether a call in the middle of a sentence counts.
        """
        texts = self.names(tool)
        found = [self._find_keys(text, budget) for text in texts]
        if any(keys is not None and key in keys for keys in found):
            return True
        if not words <= self._vocabulary:
            return False
        if None in found:
            return not inline
        return any(self._holds_at_place(text, key, tool, size, budget, inline) for text in texts)

    def holds_raw(self, tool: ToolName, words: Sequence[str], budget: Budget, *, inline: bool) -> bool:
        """Whether the words of a raw text follow a fence with the name of a tool.

        Args:
            tool: The name of the tool.
            words: The words of the text.
            budget: What counts the work of the search.
            inline: What a text counts as that names the tool too often to be searched: one without the call, if set.
        """
        for variant in self.names(tool):
            if not budget.may_rewind:
                return not inline
            budget.count_rewound(len(variant) // SCANNED_PER_READ_CHAR)
            text = QUOTE_MARKS.sub("", variant)
            words_left = SEARCHED_CHARS_PER_CHAR * len(text) + MIN_SEARCHED_CHARS
            for place in self._fold(text).find(tool):
                label_end = text.find("\n", place.end, place.end + MAX_LABEL_LINE_CHARS)
                if label_end < 0 or not FENCE_END.search(text[max(place.start - 16, 0) : place.start]):
                    continue
                found = (word[0] for word in WORD.finditer(text, label_end))
                count = sum(
                    1 for _ in itertools.takewhile(lambda pair: pair[0] == pair[1], zip(words, found, strict=False))
                )
                if count == len(words):
                    return True
                words_left -= count
                if words_left < 0:
                    return not inline
        return False

    @cached_property
    def _variants(self) -> tuple[str, ...]:
        return tuple(dict.fromkeys(_vary(self._text)))

    @cached_property
    def _vocabulary(self) -> set[str]:
        return {word for text in self._variants for word in split_words(text)}

    def holds_program(self, lines: Sequence[str], *, inline: bool) -> bool:
        """Whether the text holds all lines of a program, each as its tokens, among whatever else.

        Args:
            lines: The lines, as `write_tokens` writes them.
            inline: Whether a single line in the middle of a sentence counts.
        """
        for text, code in self._code:
            has_all = _has_lines(code, lines)
            if has_all is None:
                return not inline
            if has_all:
                return inline or len(lines) > 1 or not _is_hint(text, code, lines[0])
        return False

    @cached_property
    def _code(self) -> list[tuple[str, str]]:
        """The variants of the text, each with its tokens in one line."""
        return [(text, f" {write_tokens(text)} ") for text in self._variants]

    def _find_keys(self, text: str, budget: Budget, start: int = 0, end: int | None = None) -> set[Key] | None:
        """Return the keys of the calls in a variant of the text, or in a part of it; None if that is too much work.

        What is too much for one message may be read for a later one. What was read is kept.
        """
        part = (text, start, end)
        if part in self._keys:
            return self._keys[part]
        if self._refused.get(part) is budget or not budget.may_rewind:
            return None
        is_excerpt = end is not None
        if is_excerpt:
            budget.count_rewound(end - start + INNER_SOURCE_CHARS)
        refusals = budget.refusals
        parsers = [new_parser(budget, is_excerpt) for new_parser in self._parsers]
        keys = {key for parser in parsers for key in _read_keys(parser, text[start:end])}
        if budget.refusals > refusals:
            self._refused[part] = budget
            return None
        self._keys[part] = keys
        return keys

    def _find_places(self, text: str, tool: ToolName, budget: Budget) -> list[tuple[Place, list[int]]] | None:
        """Return where a text names a tool in the shape of a call, and where each call may begin.

        None if that is too much work.
        """
        if (text, tool) not in self._places:
            found: list[tuple[Place, list[int]]] = []
            for name in self._fold(text).find(tool):
                if CALL_SHAPE.match(text, name.end):
                    if not budget.may_rewind:
                        return None
                    budget.count_rewound(LOOKBEHIND_CHARS // SCANNED_PER_READ_CHAR)
                    found.append((name, list(_find_starts(text, name.start))))
            self._places[text, tool] = found
        budget.count_rewound(4 * len(self._places[text, tool]))
        return self._places[text, tool]

    def _holds_at_place(self, text: str, key: Key, tool: ToolName, size: int, budget: Budget, inline: bool) -> bool:
        places = self._find_places(text, tool, budget) if budget.may_rewind else None
        if places is None:
            return not inline
        ends: dict[int, int] = {}  # of what is read again, by its start
        spans: list[tuple[int, int]] = []
        chars_left = SEARCHED_CHARS_PER_CHAR * len(text) + MIN_SEARCHED_CHARS
        for place, starts in places:
            end = place.end + size
            for start in starts:
                chars_left -= end - ends.get(start, start)
                ends[start] = end
            if inline or _stands_alone(text, place.start):
                closers = itertools.islice(CLOSERS.finditer(text, place.end, end), MAX_INLINE_CLOSERS)
                spans += [(place.start, closer.end()) for closer in closers]
                chars_left -= len(spans) and MAX_INLINE_CLOSERS * (spans[-1][1] - place.start)
            if chars_left < 0:
                return not inline
        spans += ends.items()
        for start, end in spans:
            keys = self._find_keys(text, budget, start, min(end, len(text)))
            if keys is None:
                return not inline
            if key in keys:
                return True
        return False


def make_key(call: ToolCall, keys: Mapping[str, Key]) -> Key:
    """Return the key of a call. `keys` are those of the calls before it, which its arguments may refer to."""
    return blake2b(repr((call.name, _normalise(call.arguments, keys))).encode(errors="replace")).hexdigest()


def _normalise(value: Any, keys: Mapping[str, Key]) -> Any:
    match value:
        case Ref(call=call, path=path):
            return ("ref", keys.get(call, ""), path)
        case Concat(parts=parts):
            return ("concat", *(_normalise(part, keys) for part in parts))
        case dict():
            pairs = cast("dict[str, Any]", value).items()
            return [(key, _normalise(each, keys)) for key, each in sorted(pairs, key=lambda pair: pair[0])]
        case list():
            return ("list", *(_normalise(each, keys) for each in cast("list[Any]", value)))
        case str():
            return " ".join(clean_text(value).split())
        case float() if value.is_integer():
            return int(value)
        case _:
            return value


def _read_keys(parser: Parser, text: str) -> set[Key]:
    """Return the keys of all calls that a parser finds in a text."""
    keys: dict[str, Key] = {}
    for event in (*parser.feed(text), *parser.close()):
        if isinstance(event, CallReady):
            keys[event.call.id] = make_key(event.call, keys)
    return set(keys.values())


def _vary(text: str, depth: int = 0) -> Iterator[str]:
    """Yield a text, the texts in it if it is JSON, and the text without escapes, odd characters and tags."""
    yield text
    if (clean := clean_text(text).translate(STRAIGHT_QUOTES)) != text:
        yield clean
    if "<" in clean and (bare := TAG.sub("", clean)) != clean:
        yield _unescape_text(bare)
    values: Any = None
    if text.lstrip()[:1] in ("{", "[", '"'):
        with suppress(ValueError, RecursionError):  # JSON that was cut, or no JSON
            values = json.loads(text)
    if (plain := _unescape_text(clean)) != clean:
        yield plain
        yield _unescape_text(plain)  # a page may be quoted in a page
    if values is None:
        return
    for each in iter_texts(values):
        yield from _vary(each, depth + 1) if depth < MAX_JSON_IN_JSON else (each,)


def _unescape_text(text: str) -> str:
    if "\\" not in text and "&" not in text:
        return text
    return ESCAPES.sub(_unescape, html.unescape(LONG_REFERENCE.sub("\ufffd", text)))


def _unescape(match: re.Match[str]) -> str:
    code = match[1] or match[2]
    return chr(int(code, 16)) if code else ESCAPED_CHARS.get(match[3], match[3])


def iter_texts(value: Any) -> Iterator[str]:
    """Yield all texts in a JSON value, keys included."""
    left = [value]
    while left:
        each = left.pop()
        if isinstance(each, str):
            yield each
        elif isinstance(each, dict):
            left += [*cast("dict[str, Any]", each).keys(), *cast("dict[str, Any]", each).values()]
        elif isinstance(each, list):
            left += cast("list[Any]", each)


def split_words(text: str) -> list[str]:
    return re.findall(r"\w+", text.casefold())


def _find_starts(text: str, place: int) -> Iterator[int]:
    """Yield where a call may begin that names its tool at `place`: its line, a token before it, a brace around it."""
    line = text.rfind("\n", 0, place) + 1
    yield line
    if (marks := LINE_MARKS.match(text, line, line + LOOKBEHIND_CHARS)) and marks.end() <= place:
        yield marks.end()
    if action := ACTION.search(text[max(place - MARK_CHARS, 0) : place]):
        yield max(place - MARK_CHARS, 0) + action.start()
    first = max(place - LOOKBEHIND_CHARS, 0)
    tokens = [match.start() for match in OPENERS.finditer(text, first, place)]
    yield from tokens[-1:]
    depth, braces = 0, 0
    for brace in reversed([*BRACES.finditer(text, first, place)]):
        if brace[0] == "}":
            depth += 1
        elif depth:
            depth -= 1
        elif braces < MAX_ENCLOSING_BRACES:
            braces += 1
            yield brace.start()


def _stands_alone(text: str, place: int) -> bool:
    """Whether a line, an item of a list or an element of HTML begins at a place."""
    return STANDS_ALONE.search(text[max(place - MARK_CHARS, 0) : place]) is not None


def write_tokens(code: str) -> str:
    """Return the tokens of code with a space between them, so that its layout and its quotation marks do not count."""
    plain = clean_text(code).translate(STRAIGHT_QUOTES).translate(ALIKE_IN_CODE)
    tokens = " ".join(CODE_TOKEN.findall(plain))
    return tokens.replace(", )", ")").replace(", ]", "]").replace(", }", "}")


def _has_lines(code: str, lines: Sequence[str]) -> bool | None:
    """Whether lines of tokens all stand in others; None if they stand in another order so often that it takes long.

    Each line is looked for behind the one before, and then from the beginning.
    """
    place, returns = 0, 0
    for line in lines:
        sought = f" {line} "
        found = code.find(sought, place)
        if found < 0 and place:
            returns += 1
            found = code.find(sought)
        if found < 0:
            return False
        if returns > MAX_RETURNS:
            return None
        place = found + len(sought) - 1
    return True


def _is_hint(text: str, code: str, line: str) -> bool:
    """Whether a line of code stands only in the middle of sentences, with a word before and a word behind it.

    Args:
        text: The text.
        code: Its tokens.
        line: The tokens of the line, which stand in `code`.
    """
    sought = re.compile(rf"(?<= ){re.escape(line)}(?= )")
    in_sentence = re.compile(rf"\w (?:' )?{re.escape(line)} (?:' )?\w")
    hints = sum(len(in_sentence.findall(write_tokens(each))) for each in text.split("\n"))
    return hints >= len(sought.findall(code))
