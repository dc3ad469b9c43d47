"""Quotations: calls that a model copied from what neither the user nor the program wrote.

A page that a tool returned may hold a call. A model that quotes the page writes that call, and the reader of its answer
cannot tell a quotation from a call. The conversation can: a call is quoted if the same tool with the same arguments
stands in a text of foreign origin (`values/origin.py`), and neither in the words of the user or the program nor in an
earlier call that was allowed. Such texts are results, attachments, what of these was put into a prompt, and foreign
descriptions of tools; a description may show calls of its own tool. Who wrote a text is asked of its origin, never of
the role of its message.

A text is searched in two ways. It is read as a whole, by the reader that reads answers. And it is read again from each
place where the tool is named in the shape of a call, since what stands before such a place (reasoning, an open fence, a
string without its end) may hide the call from a reader of the whole, and a model may leave it out.

Names are found as the reader of answers resolves them: both fold them with `fold_name`.

A program that stands in the place of a call is quoted if all its lines stand in one foreign text, whatever is around
them: HTML, the marks of a list, other statements, comments. One call in the middle of a sentence is a hint, though, and
may be followed.

For a raw text in a block with the name of its tool, it is enough that its words follow such a label: the block in the
result may be indented, quoted or never closed, and the model may write it without those faults.

Texts are searched only for a call that was read from text, and only those that name its tool. What was read is kept for
the whole run.
"""

import html
import itertools
import json
import re
from base64 import b64decode
from codecs import BOM_UTF16_BE, BOM_UTF16_LE
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from functools import cached_property
from hashlib import blake2b
from typing import Any, NamedTuple, TypeAlias, cast
from urllib.parse import unquote_to_bytes

from toolspeak.dialects.dialect import Dialect, Parser
from toolspeak.dialects.native import NativeDialect
from toolspeak.dialects.text import TextDialect
from toolspeak.reading.forms import ROLES
from toolspeak.reading.names import (
    FoldedText,
    Place,
    ToolName,
    clean_text,
    find_raw_parameters,
    fold_name,
    fold_tool,
)
from toolspeak.reading.reader import Reader
from toolspeak.reading.source import INNER_SOURCE_CHARS, Budget
from toolspeak.values.events import CallReady
from toolspeak.values.messages import (
    Call,
    Concat,
    Media,
    Message,
    Ref,
    Result,
    Text,
    ToolCall,
    find_origin,
    holds_foreign,
    split_text,
)
from toolspeak.values.origin import Origin, Stretch
from toolspeak.values.spec import ToolSpec, list_foreign_texts

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
COMMENT = re.compile(r"""('(?:\\.|[^'\\\n])*+'?|"(?:\\.|[^"\\\n])*+"?)|#[^\n]*""")
"""A string, which may have no end, or a comment."""

MAX_RETURNS = 64
"""How often the search for the lines of a program may begin again at the beginning of a text."""

STRAIGHT_QUOTES = str.maketrans("‘’‚“”„", "'''\"\"\"")
ALIKE_IN_CODE = str.maketrans({'"': "'", "`": "'", "\\": " "})
"""Marks that a model exchanges or leaves out when it copies code."""

USE_OF_VALUE = re.compile(r"(?:\w+ = |await )*+(?:print \( (?P<printed>.*) \)\Z)?+")
"""What a model writes around a call that it copies, to see its result."""

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
        origin: The origin of the text that holds it.
        result_id: The id of the call whose result holds it; "" for another text.
        tool: The tool that returned the result, or whose description it is; else "".
    """

    origin: Origin
    result_id: str = ""
    tool: str = ""


class QuotationFinder:
    """Tells which calls of a model are quoted from the conversation so far.

    Attributes:
        call_ids: The ids of the calls of that conversation.
    """

    def __init__(self, specs: Sequence[ToolSpec], dialect: Dialect, earlier_specs: Sequence[ToolSpec] = ()) -> None:
        """Prepare to search.

        Args:
            specs: The tools on offer.
            dialect: The dialect of the conversation. A text is also read with its parser, if it has one of its own.
            earlier_specs: Tools that were on offer before in the same conversation.
        """
        self._parsers: list[NewParser] = [lambda budget, excerpt: Reader(specs, budget=budget, is_excerpt=excerpt)]
        if not isinstance(dialect, TextDialect | NativeDialect):
            self._parsers.append(lambda budget, excerpt: dialect.parser(specs))
        self._raw_parameters = find_raw_parameters(specs)
        self._described = (*specs, *earlier_specs)
        self._sources: dict[str, _SourceText] = {}  # by the text; each is read once, however long the run is
        self._history: Sequence[Message] = ()
        self.call_ids = CallIds()

    @cached_property
    def _descriptions(self) -> list[tuple[ToolSpec, str]]:
        """The tools with foreign descriptions, and these. They are collected for the first call in a text."""
        return [(spec, "\n\n".join(texts)) for spec in self._described if (texts := list_foreign_texts(spec))]

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
        name, words = fold_tool(call.name), _words(call.arguments)
        # A power of two, so that calls of about one size are looked for in the same parts of a text.
        size = 1 << (2 * len(repr(call.arguments)) + 200).bit_length()
        raw = self._raw_words(call)

        def holds(source: _SourceText, *, inline: bool) -> bool:
            if not source.names(name):
                return False
            is_raw = raw is not None and source.holds_raw(name, raw, budget, inline=inline)
            return is_raw or source.holds(key, name, words, size, budget, inline=inline)

        for quotation, source in self._foreign_sources(call.name):
            if holds(source, inline=False):
                is_own = key in self._allowed_keys() or any(holds(each, inline=True) for each in self._own_sources())
                return None if is_own else quotation
        return None

    def _raw_words(self, call: ToolCall) -> list[str] | None:
        """Return the words of a call's raw text; None if its tool takes no raw text."""
        text = call.arguments.get(self._raw_parameters.get(call.name, ""))
        return QUOTE_MARKS.sub("", text).split() if isinstance(text, str) else None

    def find_program(self, call: ToolCall, program: str) -> Quotation | None:
        """Return where a program is quoted from that stands in the message instead of a call; None if from nowhere."""
        lines = _split_program(program)
        if not any("(" in line or "@" in line for line in lines):  # it calls nothing
            return None
        for quotation, source in self._foreign_sources(call.name):
            if source.holds_program(lines, inline=False):
                # An error shows lines of the program that has failed, and the model may write them again.
                is_own = self._allowed_lines(call.name).issuperset(lines) or any(
                    each.holds_program(lines, inline=True) for each in self._own_sources()
                )
                return None if is_own else quotation
        return None

    def is_named(self, tool: str) -> bool:
        """Whether a foreign text names a tool, so that a call of the tool may be quoted."""
        name = fold_tool(tool)
        return any(
            source.names_call(name) if quotation.origin is Origin.FOREIGN_DESCRIPTION else source.names(name)
            for quotation, source in self._foreign_sources(tool)
        )

    def _foreign_sources(self, tool: str = "") -> Iterator[tuple[Quotation, "_SourceText"]]:
        """Yield the foreign texts with their places. What is written about `tool` may show calls of it, and is none."""
        tools: dict[str, str] = {}
        for message in self._history:
            tools |= {call.id: call.name for call in message.calls}
            if message.role == "assistant" or not holds_foreign(message):
                continue
            for part in message.parts:
                if isinstance(part, Result) and (origin := find_origin(part, message.role)).is_foreign:
                    quotation = Quotation(origin, part.call_id, tools.get(part.call_id, ""))
                    yield from ((quotation, self._source(text)) for text in _list_texts(part.content))
                elif isinstance(part, Media) and (text := _text_of(part)):
                    yield Quotation(Origin.ATTACHMENT), self._source(text)
                elif isinstance(part, Text):
                    # The whole text: a call may be put together from a template and what was filled in.
                    origins = [each.origin for each in split_text(part, message.role) if each.origin.is_foreign]
                    yield from ((Quotation(origin), self._source(part.text)) for origin in origins[:1])
        for spec, text in self._descriptions:
            if spec.name != tool or spec.spans:  # spans are about other tools
                yield Quotation(Origin.FOREIGN_DESCRIPTION, tool=spec.name), self._source(text)

    def _own_sources(self) -> Iterator["_SourceText"]:
        """Yield what the user and the program have written: each text up to where somebody else's begins."""
        for message in self._history:
            stretches: list[Stretch] = []
            for part in message.parts:
                stretches += split_text(part, message.role) if isinstance(part, Text) else ()
            for is_trusted, group in itertools.groupby(stretches, key=lambda stretch: stretch.origin.is_trusted):
                if is_trusted:
                    yield self._source("".join([stretch.text for stretch in group]))

    def _source(self, text: str) -> "_SourceText":
        if text not in self._sources:
            self._sources[text] = _SourceText(text, self._parsers)
        return self._sources[text]

    def _allowed_keys(self) -> set[Key]:
        """Return the keys of the earlier calls that were allowed to run."""
        return {key for key, _ in self._allowed_calls()}

    def _allowed_lines(self, tool: str) -> set[str]:
        """Return the lines of the programs in earlier calls of a tool that were allowed to run."""
        calls = [call for _, call in self._allowed_calls() if call.name == tool]
        programs = _iter_texts([value for call in calls for value in call.arguments.values()])
        return {line for program in programs for line in _split_program(program)}

    def _allowed_calls(self) -> Iterator[tuple[Key, ToolCall]]:
        results = {
            part.call_id: part for message in self._history for part in message.parts if isinstance(part, Result)
        }
        for message in self._history:
            keys: dict[str, Key] = {}
            for call in message.calls:
                keys[call.id] = make_key(call, keys)
                if call.id in results and _was_allowed(call, results[call.id]):
                    yield keys[call.id], call


_Part: TypeAlias = tuple[str, int, int | None]
"""A variant of a text, and where a part of it begins and ends."""


class _SourceText:
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
        return {word for text in self._variants for word in _split_words(text)}

    def holds_program(self, lines: Sequence[str], *, inline: bool) -> bool:
        """Whether the text holds all lines of a program, each as its tokens, among whatever else.

        Args:
            lines: The lines, as `_write_tokens` writes them.
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
        return [(text, f" {_write_tokens(text)} ") for text in self._variants]

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


def _text_of(part: Text | Media) -> str:
    """Return the text of a part, whatever type a file claims to have; "" for an image and the like."""
    if isinstance(part, Text):
        return part.text
    data = part.data or _read_data_url(part.url or "")
    encoding = "utf-16" if data.startswith((BOM_UTF16_LE, BOM_UTF16_BE)) else "utf-8"
    try:
        return data.decode(encoding, errors="replace" if TEXT_MEDIA.match(part.mime) else "strict")
    except UnicodeDecodeError:
        return ""


def _read_data_url(url: str) -> bytes:
    """Return the bytes in an address that holds them itself; none for any other address."""
    head, comma, body = url.partition(",")
    if not comma or not head.lower().startswith("data:"):
        return b""
    if not head.lower().endswith(";base64"):
        return unquote_to_bytes(body)
    try:
        return b64decode(unquote_to_bytes(body) + b"==")
    except ValueError:
        return b""


def _list_texts(content: Sequence[Text | Media]) -> list[str]:
    """Return the texts of a result, and all of them as one if there are several: a call may be spread over them."""
    texts = [text for part in content if (text := _text_of(part))]
    return texts if len(texts) < 2 else [*texts, "\n".join(texts)]


def _was_allowed(call: ToolCall, result: Result) -> bool:
    """Whether a call was allowed to run. Malformed calls, which have no arguments in the history, were not."""
    return not result.is_error or (not result.reason and bool(call.arguments))


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
    for each in _iter_texts(values):
        yield from _vary(each, depth + 1) if depth < MAX_JSON_IN_JSON else (each,)


def _unescape_text(text: str) -> str:
    return ESCAPES.sub(_unescape, html.unescape(text)) if "\\" in text or "&" in text else text


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


def _write_tokens(code: str) -> str:
    """Return the tokens of code with a space between them, so that its layout and its quotation marks do not count."""
    plain = clean_text(code).translate(STRAIGHT_QUOTES).translate(ALIKE_IN_CODE)
    tokens = " ".join(CODE_TOKEN.findall(plain))
    return tokens.replace(", )", ")").replace(", ]", "]").replace(", }", "}")


def _split_program(program: str) -> list[str]:
    """Return the lines of a program as their tokens, without comments."""
    code = COMMENT.sub(lambda found: found[1] or "", program).replace(";", "\n")
    return [tokens for line in code.split("\n") if (tokens := _strip_use(_write_tokens(line)))]


def _strip_use(line: str) -> str:
    """Return a line of tokens without what only keeps or prints the value of a call."""
    used = USE_OF_VALUE.match(line)
    if used is None:
        return line
    return used["printed"] if used["printed"] else line[used.end() :]


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
    hints = sum(len(in_sentence.findall(_write_tokens(each))) for each in text.split("\n"))
    return hints >= len(sought.findall(code))
