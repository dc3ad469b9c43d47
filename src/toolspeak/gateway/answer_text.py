"""The JSON of an answer, in the text of a model or in the arguments of a call, while it arrives.

An answer goes out in one form, whatever the model wrote: compact JSON (`encode_answer`). So a plain answer and a
streamed one are the same text, and an answer that is written again is the same text if its values are.

- `PrefixReader` reads strictly and says how the text of the answer begins for certain. A value is certain if it is
  valid and nothing that follows can change it. The characters of a string are certain one by one, if its schema allows
  every string; the values of an object or a list one by one, if its schema is no alternative of others.
- At the end of the message, what could not be read strictly is read once more with all repairs of `toolspeak.reading`,
  brought into the form of the schema, and checked as a whole.
"""

import json
import re
from collections.abc import Generator, Iterator, Mapping
from typing import Any, cast

from toolspeak.gateway.answer_schema import AnswerCheck, AnswerSchema
from toolspeak.reading.cursor import Cursor, ReadError
from toolspeak.reading.source import OutOfBudget, Source
from toolspeak.reading.strict_json import ReadingStopped, Receiving, ReceivingText, StrictJsonReader, decode
from toolspeak.reading.values import MAX_VALUE_NESTING, ValueReader
from toolspeak.values.coercion import coerce
from toolspeak.values.frozen import frozen
from toolspeak.values.spec import Schema
from toolspeak.values.validation import get_item_schema
from toolspeak.values.work_budget import WorkBudget, count_nodes

OPENER = re.compile(r"[{\[]")
STRING_MARK = re.compile(r'["\\\x00-\x1f]')
HIGH_SURROGATE = re.compile(r"\\u[dD][89abAB][0-9a-fA-F]{2}")

COMBINING = frozenset("anyOf oneOf allOf not if enum const patternProperties propertyNames".split())
"""Keywords that decide about a value only when the whole value is there."""

STRING_BOUNDS = frozenset({"pattern", "minLength", "maxLength", "format"})

TYPES_BY_SIGN = {"{": "object", "[": "array", '"': "string"}

THOUGHT_OPENED, THOUGHT_CLOSED = "<think>", "</think>"

MAX_LEADING_CHARS = 100
"""Characters of white space before the reasoning of a message."""

FREE_REREAD_CHARS, REREAD_PER_CHAR = 100_000, 10
"""Characters that may be read again to find where an answer begins: in any message, and for each character of it."""

MAX_CANDIDATES = 50
"""Brackets that are tried as the beginning of an answer at the end of a message."""

NO_JSON = "the answer is not JSON; answer with only the JSON, without any other words"

encode_answer = json.JSONEncoder(ensure_ascii=False, separators=(",", ":"), allow_nan=False).encode
"""Write an answer as compact JSON. Raises `ValueError` for a number that JSON does not have."""


@frozen
class AnswerResult:
    """What became of an answer: one of the two is empty."""

    text: str = ""  # the answer as JSON
    problem: str = ""  # why there is none, in words for the model


def check_answer(value: Any, schema: AnswerSchema, budget: WorkBudget | None = None) -> AnswerResult:
    """Check a whole answer, after it was brought into the form of its schema.

    `budget` is shared by all that is tried as the answer of one message.
    """
    budget = WorkBudget(value) if budget is None else budget
    try:
        value = coerce(value, schema.root, schema.root, budget)
        if problems := AnswerCheck(schema, budget).find_problems(value):
            return AnswerResult(problem=f"the answer does not fit what was asked for: {'; '.join(problems)}")
        return AnswerResult(text=encode_answer(value))
    except (ValueError, TypeError, RecursionError):
        return AnswerResult(problem=NO_JSON)


class PrefixReader(StrictJsonReader):
    """Reads the JSON of an answer strictly."""

    def __init__(self, schema: AnswerSchema, *, wrapper: str = "", in_call: bool = False) -> None:
        """Prepare to read.

        `wrapper` is the only key of an object that holds the answer; empty if nothing is around the answer. `in_call`
        says whether keys with `$` stand for the results of calls.
        """
        super().__init__()
        self.is_complete = False  # whether the answer is complete and valid
        self.has_begun = False  # whether some of the answer is certain
        self._pieces: list[str] = []
        self._taken = 0
        self._schema = schema
        self.check = AnswerCheck(schema, WorkBudget())  # of the parts as they arrive, and of the whole
        self._in_call = in_call
        self._held = ""  # certain only together with what follows
        self._depth = 0
        self.start(self._read_answer(wrapper))

    @property
    def text(self) -> str:
        """How the text of the answer begins for certain; all of it once the answer is complete."""
        return "".join(self._pieces)

    def take_new(self) -> str:
        """Return what has become certain since the last time."""
        new = "".join(self._pieces[self._taken :])
        self._taken = len(self._pieces)
        return new

    def _emit(self, text: str) -> None:
        self._pieces.append(self._held + text)
        self._held = ""
        self.has_begun = True

    def _read_answer(self, wrapper: str) -> Receiving:
        if wrapper:
            yield from self.expect("{")
            if (yield from self.read_key()) != wrapper:
                raise ReadingStopped
        yield from self._read_value(self._schema.root)
        self.is_complete = True

    def _read_value(self, schema: Any) -> Generator[None, str, Any]:
        sign = yield from self.peek_past_space()
        grown = self._find_growing_schema(schema, sign)
        self.check.budget.allow(1)
        if grown is not None:
            if sign == '"':
                return (yield from self._read_letters())
            if self._depth == MAX_VALUE_NESTING:
                raise ReadingStopped
            self._depth += 1
            value = yield from (self._read_object(grown) if sign == "{" else self._read_list(grown))
            self._depth -= 1
            self._check(value, schema)
            self._emit("}" if sign == "{" else "]")
            return value
        value = decode((yield from self.read_json()))
        self.check.budget.allow(count_nodes(value))
        self._check(value, schema)
        try:
            self._emit(encode_answer(value))
        except (ValueError, RecursionError):  # a number that is too large, or too many levels
            raise ReadingStopped from None
        return value

    def _find_growing_schema(self, schema: Any, sign: str) -> Schema | None:
        """Return the schema of a value that is certain in parts; None if the value must be complete to be certain."""
        if sign not in TYPES_BY_SIGN:
            return None
        if schema is True:
            return {}
        given = cast("Schema", schema)
        if "$ref" in given and given.keys() - {"$ref", "description", "title", "default"}:
            return None  # two schemas at once
        resolved: Schema = self._schema.resolve(given)
        if resolved.get("type", TYPES_BY_SIGN[sign]) != TYPES_BY_SIGN[sign] or COMBINING & resolved.keys():
            return None
        return None if sign == '"' and STRING_BOUNDS & resolved.keys() else resolved

    def _check(self, value: Any, schema: Any) -> None:
        if not self.check.is_valid(value, schema):
            raise ReadingStopped

    def _read_object(self, schema: Schema) -> Generator[None, str, Any]:
        self.take_sign()
        value: dict[str, Any] = {}
        properties: Mapping[str, Any] = schema.get("properties", {})
        rest = schema.get("additionalProperties", True)
        self._held += "{"
        is_empty = (yield from self.peek_past_space()) == "}"
        while not is_empty:
            key = yield from self.read_key()
            sub = properties.get(key, rest)
            if key in value or sub is False or (self._in_call and key.startswith("$")):
                raise ReadingStopped
            self._held += f"{',' if value else ''}{encode_answer(key)}:"
            value[key] = yield from self._read_value(sub)
            if (yield from self.expect(",}")) == "}":
                break
        if is_empty:
            self.take_sign()
        return value

    def _read_list(self, schema: Schema) -> Generator[None, str, Any]:
        self.take_sign()
        value: list[Any] = []
        self._held += "["
        is_empty = (yield from self.peek_past_space()) == "]"
        while not is_empty:
            value.append((yield from self._read_value(get_item_schema(schema, len(value)))))
            if (yield from self.expect(",]")) == "]":
                break
            self._held += ","
        if is_empty:
            self.take_sign()
        return value

    def _read_letters(self) -> ReceivingText:
        """Read a string, each character of which is certain."""
        self.take_sign()
        self._emit('"')
        pieces: list[str] = []
        while True:
            yield from self.peek()
            mark = self.find(STRING_MARK)
            piece = self.take(mark.start() if mark else None)
            if mark and not piece:
                if mark[0] == '"':
                    break
                if mark[0] != "\\":
                    raise ReadingStopped  # a control character
                piece = decode(f'"{(yield from self._read_escapes())}"')
                self._emit(encode_answer(piece)[1:-1])
            else:
                self._emit(piece)
            pieces.append(piece)
        self.take_sign()
        if (yield from self.peek_past_space()) not in ",}]":  # the quote may belong to the text
            raise ReadingStopped
        self._emit('"')
        return "".join(pieces)

    def _read_escapes(self) -> ReceivingText:
        """Read an escape; of the first half of a surrogate pair, also the escape after it."""
        escapes = ""
        while True:
            size = 2
            start = len(escapes)
            while len(escapes) < start + size:
                escapes += yield from self.peek()
                self.take_sign()
                if escapes[start:] == "\\u":
                    size = 6
            if not HIGH_SURROGATE.fullmatch(escapes, start) or (yield from self.peek()) != "\\":
                return escapes


class AnswerFinder:
    """Finds the answer in the text of a message: the first JSON that fits, alone, in a fence or among other words.

    It begins at the first bracket after which some of an answer is certain. What a model thinks aloud between
    `<think>` and `</think>` is no answer.
    """

    def __init__(self, schema: AnswerSchema) -> None:
        self.reader: PrefixReader | None = None  # of the answer that has begun
        self._schema = schema
        self._texts: list[str] = []  # the whole message
        self._length = 0  # of the message before the answer began
        self._head = ""
        self._tail = ""  # may be the beginning of `</think>`
        self._rest: list[str] = []  # from the beginning of the candidate that is read
        self._start = 0  # of that candidate in the message
        self._thought_end = 0
        self._reread = 0

    @property
    def text(self) -> str:
        """How the text of the answer begins for certain."""
        return self.reader.text if self.reader is not None else ""

    @property
    def has_begun(self) -> bool:
        """Whether some of the answer is certain."""
        return self.reader is not None and self.reader.has_begun

    @property
    def is_complete(self) -> bool:
        """Whether the answer is complete and valid."""
        return self.reader is not None and self.reader.is_complete

    def feed(self, text: str) -> None:
        """Read text that has arrived."""
        self._texts.append(text)
        if self.reader is not None and self.reader.has_begun:
            self.reader.send(text)
            return
        self._length += len(text)
        text = self._skip_thought(text)
        self._rest.append(text)
        if self.reader is not None:
            self.reader.send(text)
        self._try_candidates()

    def _skip_thought(self, text: str) -> str:
        """Return what a piece of the message has behind all that was thought aloud."""
        self._head += text[: MAX_LEADING_CHARS - len(self._head)]
        searched = self._tail + text
        self._tail = searched[1 - len(THOUGHT_CLOSED) :]
        closed = searched.rfind(THOUGHT_CLOSED)
        if closed >= 0:
            text = searched[closed + len(THOUGHT_CLOSED) :]
            self._thought_end = self._length - len(text)
            self.reader, self._rest = None, []
        is_in_thought = not self._thought_end and self._head.lstrip().startswith(THOUGHT_OPENED)
        return "" if is_in_thought else text

    def _try_candidates(self) -> None:
        """Leave a candidate that failed before anything was certain, and read the next ones."""
        while self._reread <= FREE_REREAD_CHARS + REREAD_PER_CHAR * self._length:
            if self.reader is not None and (self.reader.has_begun or not self.reader.is_stopped):
                return
            rest = "".join(self._rest)
            opener = OPENER.search(rest, 0 if self.reader is None else 1)
            self.reader, self._rest = None, []
            if opener is None:
                return
            rest = rest[opener.start() :]
            self._rest.append(rest)
            self._start = self._length - len(rest)
            self._reread += len(rest)
            self.reader = PrefixReader(self._schema)
            self.reader.send(rest)

    def close(self, *, ended_well: bool) -> AnswerResult:
        """End the message and return the answer, read with all repairs where it is not JSON as it stands."""
        if self.is_complete:
            return AnswerResult(text=self.text)
        message = "".join(self._texts)
        first = AnswerResult(problem=NO_JSON)
        budget = WorkBudget()
        budget.allow(len(message))
        for start in self._list_candidates(message):
            value = read_repaired(message[start:], ended_well=ended_well)
            if not isinstance(value, dict | list):
                continue
            result = check_answer(cast("Any", value), self._schema, budget)
            if result.text or self.has_begun:
                return result
            if first.problem == NO_JSON and value:
                first = result
        return first

    def _list_candidates(self, message: str) -> Iterator[int]:
        if self.has_begun:
            yield self._start
            return
        openers = OPENER.finditer(message, self._thought_end)
        yield from (opener.start() for opener, _ in zip(openers, range(MAX_CANDIDATES), strict=False))


def read_repaired(text: str, *, ended_well: bool) -> Any:
    """Return the value at the beginning of a text that is nearly JSON; None if it cannot be read."""
    source = Source.hold_whole(text)
    source.ended_well = ended_well
    reading = ValueReader(Cursor(source)).read_value()
    try:
        next(reading)
    except StopIteration as end:
        return end.value
    except (OutOfBudget, ReadError, RecursionError):
        pass
    return None
