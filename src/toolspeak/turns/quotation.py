"""Quotations: calls that a model copied from the result of a tool or from an attachment.

A page that a tool returned may hold a call. A model that quotes the page writes that call, and the reader of its answer
cannot tell a quotation from a call. The conversation can: a call is quoted if the same tool with the same arguments
stands in an earlier result or attachment, and neither in the user's own words nor in an earlier call that was allowed.

A text is searched in two ways. It is read as a whole, by the reader that reads answers. And it is read again from each
place where the tool is named in the shape of a call, since what stands before such a place (reasoning, an open fence, a
string without its end) may hide the call from a reader of the whole, and a model may leave it out.

For a raw text in a block with the name of its tool, it is enough that its words follow such a label: the block in the
result may be indented, quoted or never closed, and the model may write it without those faults.

Texts are searched only for a call that was read from text, and only those that name its tool. What was read is kept for
the whole run.
"""

import html
import json
import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from functools import cached_property
from hashlib import blake2b
from itertools import islice, takewhile
from typing import Any, NamedTuple, TypeAlias, cast

from toolspeak.dialects.dialect import Dialect, Parser
from toolspeak.dialects.native import NativeDialect
from toolspeak.dialects.text import TextDialect
from toolspeak.reading.forms import ROLES
from toolspeak.reading.names import find_raw_parameters
from toolspeak.reading.reader import Reader
from toolspeak.reading.source import INNER_SOURCE_CHARS, Budget
from toolspeak.values.events import CallReady
from toolspeak.values.messages import Call, Concat, Media, Message, Ref, Result, Text, ToolCall
from toolspeak.values.spec import ToolSpec

OWN_ID = re.compile(r"call_(\d+)_")
"""The beginning of an id that was given here: it has the number of its turn."""


class CallIds:
    """The ids of the calls of one conversation, so that no two calls get the same id. Each message is looked at once.

    Examples:
        >>> ids = CallIds()
        >>> ids.add(["call_1_1", "call_2_1"])
        >>> "call_1_1" in ids, ids.find_prefix(2), ids.find_prefix(4)
        (True, 'call_3', 'call_4')
    """

    def __init__(self) -> None:
        self._ids: set[str] = set()
        self._turns: set[str] = set()
        self._history: Sequence[Message] = ()

    def __contains__(self, call_id: object) -> bool:
        return call_id in self._ids

    def follow(self, history: Sequence[Message]) -> None:
        """Set the conversation so far. Ids of messages that it no longer has are forgotten."""
        count = len(self._history)
        if count > len(history) or (count and history[count - 1] is not self._history[-1]):
            self._ids, self._turns, count = set(), set(), 0
        self._history = history
        self.add(part.call.id for message in history[count:] for part in message.parts if isinstance(part, Call))

    def add(self, ids: Iterable[str]) -> None:
        """Add ids that no other call may get."""
        for call_id in ids:
            self._ids.add(call_id)
            if found := OWN_ID.match(call_id):
                self._turns.add(found[1])

    def find_prefix(self, turn: int) -> str:
        """Return a prefix for the ids of calls in a turn that no id so far begins with."""
        while str(turn) in self._turns:
            turn += 1
        return f"call_{turn}"


NOT_RUN = "not run:"
"""How the error of a call begins that was not allowed to run, where the result does not say so by its `reason`: in
conversations that were saved before results had one, or that a client of the gateway sends."""

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

SEPARATORS = "_.-\\\u200b\u200c\u200d\u200e\u200f\u2060\ufeff"
"""Characters that do not count in the name of a tool; see `toolspeak.reading.names`."""

CALL_SHAPE = re.compile(r"[^\w\s.,;!?]|[ \t]*(?:[\n({\[<]|$)")
"""What follows the name of a tool in a call, and seldom in a sentence."""

LINE_MARKS = re.compile(r"(?:[ \t>*|#-]|\d{1,3}[.)]|<[^<>\n]*>)*")
"""Marks of lists, quotations and HTML at the beginning of a line, which a model may leave out."""

OPENERS = re.compile("|".join(re.escape(token) for token, role in ROLES.items() if role == "open"), re.I)
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
QUOTE_MARKS = re.compile(r"^[ \t]*(?:[>|][ \t]*)+", re.MULTILINE)
"""Marks of a quotation at the beginning of a line."""

TEXT_MEDIA = re.compile(r"text/|application/(?:[\w.+-]*(?:json|xml|yaml|javascript))")

NewParser: TypeAlias = Callable[[Budget, bool], Parser]
"""Makes a parser for a text, or for an excerpt of one that was read before."""

Key: TypeAlias = str
"""Equal for two calls of the same tool with the same arguments, whatever their ids and white space."""


class Quotation(NamedTuple):
    """Where a quoted call stands.

    Attributes:
        result_id: The id of the call whose result holds it; "" for an attachment.
        tool: The tool that returned the result; "" for an attachment.
    """

    result_id: str
    tool: str


class _ToolName(NamedTuple):
    """The name of a tool in all its variants.

    Attributes:
        loose: The last part of the name, without separators and in one case.
        pattern: Finds the name in a text.
    """

    loose: str
    pattern: re.Pattern[str]


class QuotationFinder:
    """Tells which calls of a model are quoted from the conversation so far.

    Attributes:
        call_ids: The ids of the calls of that conversation.
    """

    def __init__(self, specs: Sequence[ToolSpec], dialect: Dialect) -> None:
        """Prepare to search.

        Args:
            specs: The tools on offer.
            dialect: The dialect of the conversation. A text is also read with its parser, if it has one of its own.
        """
        self._parsers: list[NewParser] = [lambda budget, excerpt: Reader(specs, budget=budget, is_excerpt=excerpt)]
        if not isinstance(dialect, TextDialect | NativeDialect):
            self._parsers.append(lambda budget, excerpt: dialect.parser(specs))
        self._names: dict[str, _ToolName] = {}
        self._raw_parameters = find_raw_parameters(specs)
        self._sources: dict[str, _SourceText] = {}  # by the text; each is read once, however long the run is
        self._history: Sequence[Message] = ()
        self.call_ids = CallIds()

    def follow(self, history: Sequence[Message]) -> None:
        """Set the conversation so far. Nothing is read yet."""
        self._history = history
        self.call_ids.follow(history)

    def find_call(self, call: ToolCall, keys: dict[str, Key], budget: Budget) -> Quotation | None:
        """Return where a call that was read from text is quoted from; None if it is the model's own.

        Args:
            call: The call.
            keys: The keys of the calls before it in the same message, by id. The key of this call is added, if there is
                anything to quote from.
            budget: What counts the work of the search, for all calls of the message.
        """
        if next(self._foreign_sources(), None) is None:
            return None
        key = keys[call.id] = make_key(call, keys)
        name, words = self._name(call.name), _words(call.arguments)
        # A power of two, so that calls of about one size are looked for in the same parts of a text.
        size = 1 << (2 * len(repr(call.arguments)) + 200).bit_length()
        raw = self._raw_words(call)

        def holds(source: _SourceText, *, inline: bool) -> bool:
            if not source.names(name):
                return False
            is_raw = raw is not None and source.holds_raw(name, raw, budget, inline=inline)
            return is_raw or source.holds(key, name, words, size, budget, inline=inline)

        for quotation, source in self._foreign_sources():
            if holds(source, inline=False):
                is_own = key in self._allowed_keys() or any(holds(each, inline=True) for each in self._user_sources())
                return None if is_own else quotation
        return None

    def _raw_words(self, call: ToolCall) -> list[str] | None:
        """Return the words of a call's raw text; None if its tool takes no raw text."""
        text = call.arguments.get(self._raw_parameters.get(call.name, ""))
        return QUOTE_MARKS.sub("", text).split() if isinstance(text, str) else None

    def find_program(self, call: ToolCall, program: str) -> Quotation | None:
        """Return where a program is quoted from that stands in the message instead of a call; None if from nowhere."""
        lines = {line.strip() for line in program.split("\n")} - {""}
        for quotation, source in self._foreign_sources():
            if lines <= source.lines:
                is_own = make_key(call, {}) in self._allowed_keys() or any(
                    lines <= each.lines for each in self._user_sources()
                )
                return None if is_own else quotation
        return None

    def is_named(self, tool: str) -> bool:
        """Whether a result or an attachment names a tool, so that a call of the tool may be quoted."""
        name = self._name(tool)
        return any(source.names(name) for _, source in self._foreign_sources())

    def _name(self, tool: str) -> _ToolName:
        if tool not in self._names:
            letters = _loosen(tool.rpartition(".")[2]) or tool
            between = f"[{re.escape(SEPARATORS)}]*"
            pattern = re.compile(rf"(?<!\w){between.join(map(re.escape, letters))}(?!\w)", re.IGNORECASE)
            self._names[tool] = _ToolName(letters, pattern)
        return self._names[tool]

    def _foreign_sources(self) -> Iterator[tuple[Quotation, "_SourceText"]]:
        """Yield the texts that neither the user nor the model wrote, with their places."""
        tools: dict[str, str] = {}
        for message in self._history:
            tools |= {call.id: call.name for call in message.calls}
            for part in message.parts:
                if isinstance(part, Result):
                    quotation = Quotation(part.call_id, tools.get(part.call_id, ""))
                    yield from ((quotation, self._source(text)) for text in map(_text_of, part.content) if text)
                elif isinstance(part, Media) and (text := _text_of(part)):
                    yield Quotation("", ""), self._source(text)

    def _user_sources(self) -> Iterator["_SourceText"]:
        for message in self._history:
            if message.role in ("user", "system") and message.text:
                yield self._source(message.text)

    def _source(self, text: str) -> "_SourceText":
        if text not in self._sources:
            self._sources[text] = _SourceText(text, self._parsers)
        return self._sources[text]

    def _allowed_keys(self) -> set[Key]:
        """Return the keys of the earlier calls that were allowed to run."""
        results = {
            part.call_id: part for message in self._history for part in message.parts if isinstance(part, Result)
        }
        allowed: set[Key] = set()
        for message in self._history:
            keys: dict[str, Key] = {}
            for call in message.calls:
                keys[call.id] = make_key(call, keys)
                if call.id in results and _was_allowed(call, results[call.id]):
                    allowed.add(keys[call.id])
        return allowed


_Part: TypeAlias = tuple[str, int, int | None]
"""A variant of a text, and where a part of it begins and ends."""


class _SourceText:
    """A text that may hold calls, with what was read of it so far."""

    def __init__(self, text: str, parsers: Sequence[NewParser]) -> None:
        self._text = text
        self._parsers = parsers
        has_codes = ("\\" in text or "&" in text) and CODED_CHARS.search(text)
        self._loose = "" if has_codes else _loosen(text)
        self._naming: dict[_ToolName, tuple[str, ...]] = {}
        self._keys: dict[_Part, set[Key]] = {}
        self._refused: dict[_Part, Budget] = {}
        self._places: dict[tuple[str, _ToolName], list[tuple[re.Match[str], list[int]]]] = {}

    def names(self, tool: _ToolName) -> tuple[str, ...]:
        """Return the variants of the text that name a tool."""
        if self._loose and tool.loose not in self._loose:  # the common case
            return ()
        if tool not in self._naming:
            self._naming[tool] = tuple(text for text in self._variants if tool.pattern.search(text))
        return self._naming[tool]

    def holds(
        self, key: Key, tool: _ToolName, words: set[str], size: int, budget: Budget, *, inline: bool = False
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

    def holds_raw(self, tool: _ToolName, words: Sequence[str], budget: Budget, *, inline: bool) -> bool:
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
            for place in tool.pattern.finditer(text):
                label_end = text.find("\n", place.end(), place.end() + MAX_LABEL_LINE_CHARS)
                if label_end < 0 or not FENCE_END.search(text[max(place.start() - 16, 0) : place.start()]):
                    continue
                found = (word[0] for word in WORD.finditer(text, label_end))
                count = sum(1 for _ in takewhile(lambda pair: pair[0] == pair[1], zip(words, found, strict=False)))
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
        return {word for text in self._variants for word in _split_words(text)}

    @cached_property
    def lines(self) -> set[str]:
        """All lines of the text, without the white space and the marks around them."""
        lines = [line.strip() for text in self._variants for line in text.split("\n")]
        return {*lines, *(line.lstrip("> ") for line in lines)}

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

    def _find_places(self, text: str, tool: _ToolName, budget: Budget) -> list[tuple[re.Match[str], list[int]]] | None:
        """Return where a text names a tool in the shape of a call, and where each call may begin.

        None if that is too much work.
        """
        if (text, tool) not in self._places:
            found: list[tuple[re.Match[str], list[int]]] = []
            for name in tool.pattern.finditer(text):
                if CALL_SHAPE.match(text, name.end()):
                    if not budget.may_rewind:
                        return None
                    budget.count_rewound(LOOKBEHIND_CHARS // SCANNED_PER_READ_CHAR)
                    found.append((name, list(_find_starts(text, name.start()))))
            self._places[text, tool] = found
        budget.count_rewound(4 * len(self._places[text, tool]))
        return self._places[text, tool]

    def _holds_at_place(self, text: str, key: Key, tool: _ToolName, size: int, budget: Budget, inline: bool) -> bool:
        places = self._find_places(text, tool, budget) if budget.may_rewind else None
        if places is None:
            return not inline
        ends: dict[int, int] = {}  # of what is read again, by its start
        spans: list[tuple[int, int]] = []
        chars_left = SEARCHED_CHARS_PER_CHAR * len(text) + MIN_SEARCHED_CHARS
        for place, starts in places:
            end = place.end() + size
            for start in starts:
                chars_left -= end - ends.get(start, start)
                ends[start] = end
            if inline:
                closers = islice(CLOSERS.finditer(text, place.end(), end), MAX_INLINE_CLOSERS)
                spans += [(place.start(), closer.end()) for closer in closers]
                chars_left -= len(spans) and MAX_INLINE_CLOSERS * (spans[-1][1] - place.start())
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
            return " ".join(value.split())
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


def _text_of(part: Text | Media) -> str:
    """Return the text of a part; "" for an image and the like."""
    if isinstance(part, Text):
        return part.text
    return part.data.decode(errors="replace") if part.data and TEXT_MEDIA.match(part.mime) else ""


def _was_allowed(call: ToolCall, result: Result) -> bool:
    """Whether a call was allowed to run. Malformed calls, which have no arguments in the history, were not."""
    if not result.is_error:
        return True
    if result.reason:
        return False
    return bool(call.arguments) and not any(_text_of(part).startswith(NOT_RUN) for part in result.content)


def _vary(text: str, depth: int = 0) -> Iterator[str]:
    """Yield a text, the texts in it if it is JSON, and the text without its escapes."""
    yield text
    values: Any = None
    if text.lstrip()[:1] in ("{", "[", '"'):
        with suppress(ValueError, RecursionError):  # JSON that was cut, or no JSON
            values = json.loads(text)
    plain = text
    if "\\" in text or "&" in text:
        plain = ESCAPES.sub(_unescape, html.unescape(LONG_REFERENCE.sub("\ufffd", text)))
    if plain != text:
        yield plain
    if values is None:
        return
    for each in _iter_texts(values):
        yield from _vary(each, depth + 1) if depth < MAX_JSON_IN_JSON else (each,)


def _unescape(match: re.Match[str]) -> str:
    code = match[1] or match[2]
    return chr(int(code, 16)) if code else ESCAPED_CHARS.get(match[3], match[3])


def _iter_texts(value: Any) -> Iterator[str]:
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


def _split_words(text: str) -> list[str]:
    return re.findall(r"\w+", text.casefold())


def _words(arguments: Any) -> set[str]:
    """Return the words of all texts in arguments; the words of numbers may be written in many ways."""
    return {word for text in _iter_texts(list(arguments.values())) for word in _split_words(text)}


def _find_starts(text: str, place: int) -> Iterator[int]:
    """Yield where a call may begin that names its tool at `place`: its line, a token before it, a brace around it."""
    line = text.rfind("\n", 0, place) + 1
    yield line
    if (marks := LINE_MARKS.match(text, line, line + LOOKBEHIND_CHARS)) and marks.end() <= place:
        yield marks.end()
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


def _loosen(text: str) -> str:
    for char in SEPARATORS:
        text = text.replace(char, "")
    return text.casefold()
