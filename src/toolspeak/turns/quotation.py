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

import itertools
import re
from base64 import b64decode
from codecs import BOM_UTF16_BE, BOM_UTF16_LE
from collections.abc import Iterable, Iterator, Sequence
from functools import cached_property
from typing import Any, NamedTuple
from urllib.parse import unquote_to_bytes

from toolspeak.dialects.dialect import Dialect
from toolspeak.dialects.native import NativeDialect
from toolspeak.dialects.text import TextDialect
from toolspeak.reading.names import (
    find_raw_parameters,
    fold_tool,
)
from toolspeak.reading.reader import Reader
from toolspeak.reading.source import Budget
from toolspeak.turns.searched_text import (
    QUOTE_MARKS,
    Key,
    NewParser,
    SearchedText,
    iter_texts,
    make_key,
    split_words,
    write_tokens,
)
from toolspeak.values.messages import (
    Call,
    Media,
    Message,
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


COMMENT = re.compile(r"""('(?:\\.|[^'\\\n])*+'?|"(?:\\.|[^"\\\n])*+"?)|#[^\n]*""")
"""A string, which may have no end, or a comment."""

USE_OF_VALUE = re.compile(r"(?:\w+ = |await )*+(?:print \( (?P<printed>.*) \)\Z)?+")
"""What a model writes around a call that it copies, to see its result."""

TEXT_MEDIA = re.compile(r"text/|application/(?:[\w.+-]*(?:json|xml|yaml|javascript))")


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
        self._sources: dict[str, SearchedText] = {}  # by the text; each is read once, however long the run is
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

        def holds(source: SearchedText, *, inline: bool) -> bool:
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

    def _foreign_sources(self, tool: str = "") -> Iterator[tuple[Quotation, "SearchedText"]]:
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

    def _own_sources(self) -> Iterator["SearchedText"]:
        """Yield what the user and the program have written: each text up to where somebody else's begins."""
        for message in self._history:
            stretches: list[Stretch] = []
            for part in message.parts:
                stretches += split_text(part, message.role) if isinstance(part, Text) else ()
            for is_trusted, group in itertools.groupby(stretches, key=lambda stretch: stretch.origin.is_trusted):
                if is_trusted:
                    yield self._source("".join([stretch.text for stretch in group]))

    def _source(self, text: str) -> "SearchedText":
        if text not in self._sources:
            self._sources[text] = SearchedText(text, self._parsers)
        return self._sources[text]

    def _allowed_keys(self) -> set[Key]:
        """Return the keys of the earlier calls that were allowed to run."""
        return {key for key, _ in self._allowed_calls()}

    def _allowed_lines(self, tool: str) -> set[str]:
        """Return the lines of the programs in earlier calls of a tool that were allowed to run."""
        calls = [call for _, call in self._allowed_calls() if call.name == tool]
        programs = iter_texts([value for call in calls for value in call.arguments.values()])
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


def _words(arguments: Any) -> set[str]:
    """Return the words of all texts in arguments; the words of numbers may be written in many ways."""
    return {word for text in iter_texts(list(arguments.values())) for word in split_words(text)}


def _split_program(program: str) -> list[str]:
    """Return the lines of a program as their tokens, without comments."""
    code = COMMENT.sub(lambda found: found[1] or "", program).replace(";", "\n")
    return [tokens for line in code.split("\n") if (tokens := _strip_use(write_tokens(line)))]


def _strip_use(line: str) -> str:
    """Return a line of tokens without what only keeps or prints the value of a call."""
    used = USE_OF_VALUE.match(line)
    if used is None:
        return line
    return used["printed"] if used["printed"] else line[used.end() :]
