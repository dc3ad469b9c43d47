"""Calls in sections that name what they hold: Kimi K3.

    <|open|>call tool="get_weather" index="1"<|sep|>
    <|open|>argument key="days" type="number"<|sep|>3<|close|>argument<|sep|>
    <|close|>call<|sep|>

The form says the type of every argument: a string stands as it is, anything else is JSON. A call with text between its
arguments is refused, since that text may belong to a value that holds the end of its own section. A call that is not
closed is truncated.
"""

import re
from typing import Any, cast

from toolspeak.reading.cursor import Cursor, ReadError, Truncated
from toolspeak.reading.emitter import EventEmitter
from toolspeak.reading.source import Reading
from toolspeak.reading.string_ends import BLANKS
from toolspeak.reading.tags import read_whole

CALL_SECTION = "<|open|>call "
SEPARATOR = "<|sep|>"
OPENING = re.compile(r'<\|open\|>(\w+)((?:\s+\w+="[^"]*")*)\s*<\|sep\|>')
ATTRIBUTE = re.compile(r'(\w+)="([^"]*)"')

MAX_OPENING_CHARS = 500
"""Characters after which the opening of a section is none if it is not complete."""


class SectionReader:
    """Reads calls that are written as sections."""

    def __init__(self, cursor: Cursor, emitter: EventEmitter) -> None:
        self._cursor = cursor
        self._source = cursor.source
        self._emitter = emitter

    def read_call(self) -> Reading[int]:
        """Read a section that is a call, and emit the call; returns 1."""
        source = self._source
        opening = yield from self._read_opening()
        if opening is None:
            is_cut = yield from self._is_cut()
            source.pos += len(CALL_SECTION)
            raise Truncated if is_cut else ReadError("the opening of its section cannot be read")
        name = opening[1].get("tool", "")
        arguments: dict[str, Any] = {}
        yield from source.read_while(BLANKS)
        while not (yield from source.starts_with("<|close|>call<|sep|>")):
            opening = yield from self._read_opening()
            if opening is None or opening[0] not in ("argument", "json"):
                raise Truncated if (yield from self._is_cut()) else ReadError("its arguments are not all in sections")
            section, attributes = opening
            text = yield from source.read_until(f"<|close|>{section}<|sep|>")
            if text is None:
                raise Truncated
            yield from source.read_while(BLANKS)
            if section == "json":
                given = read_whole(text, self._cursor.keys)
                if not isinstance(given, dict):
                    raise ReadError("its arguments are not an object")
                arguments |= cast("dict[str, Any]", given)
            elif attributes.get("type", "string") == "string":
                arguments[attributes.get("key", "")] = text
            else:
                arguments[attributes.get("key", "")] = read_whole(text, self._cursor.keys, text)
        source.pos += len("<|close|>call<|sep|>")
        tool = self._emitter.names.resolve(name)
        if tool is None:
            self._emitter.emit_unknown_tool(name, name)
        else:
            self._emitter.start_call(tool).finish(arguments, self._cursor.tier)
        return 1

    def _read_opening(self) -> Reading[tuple[str, dict[str, str]] | None]:
        """Read the opening of a section; its name and attributes. None, with nothing read, if none comes next."""
        source = self._source
        if not (yield from source.starts_with("<|open|>")):
            return None
        while True:
            text = source.text[source.pos : source.pos + MAX_OPENING_CHARS]
            if SEPARATOR in text or len(text) >= MAX_OPENING_CHARS or source.ended:
                break
            yield
        found = OPENING.match(text)
        if found is None:
            return None
        source.pos += found.end()
        return found[1], {key: _unescape(value) for key, value in ATTRIBUTE.findall(found[2])}

    def _is_cut(self) -> Reading[bool]:
        """Whether the message ends here, or inside the opening or closing of a section."""
        while True:
            rest = self._source.text[self._source.pos : self._source.pos + MAX_OPENING_CHARS]
            if self._source.ended or len(rest) == MAX_OPENING_CHARS or SEPARATOR in rest or rest[:1] not in ("", "<"):
                return self._source.ended and SEPARATOR not in rest and rest[:1] in ("", "<")
            yield


def _unescape(value: str) -> str:
    return value.replace("&quot;", '"').replace("&amp;", "&")
