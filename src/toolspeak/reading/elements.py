"""Calls in tags that a mark precedes, with the name of the parameter as the tag: MiniMax M3.

    ]<]minimax[>[<invoke name="get_weather">]<]minimax[>[<city>Oslo]<]minimax[>[</city>]<]minimax[>[</invoke>

A tag without its mark is text, and so are all tags but the closing one in a value that may be a string. Objects and
lists are tags within tags; the tags in a list are named `item`. A call with text between its tags is refused, since
that text may belong to a value. A call that is not closed is truncated.
"""

import re
from typing import Any, cast

from toolspeak.reading.cursor import ReadError, Truncated
from toolspeak.reading.forms import MINIMAX_MARK as MARK
from toolspeak.reading.shapes import NotACall
from toolspeak.reading.source import Reading
from toolspeak.reading.string_ends import BLANKS
from toolspeak.reading.tags import NAME_ATTRIBUTE, TagReader
from toolspeak.spec import Schema

INVOKE = re.compile(r"<invoke[ \t]+([^<>\n]*)>")
OPENING = re.compile(r"<([^<>/\s=]+)>")

MAX_ELEMENT_NESTING = 32
"""How deeply tags may be nested in a parameter."""


class ElementReader:
    """Reads calls whose tags are all marked."""

    def __init__(self, tags: TagReader) -> None:
        self._tags = tags
        self._source = tags.source
        self._emitter = tags.emitter

    def read_call(self) -> Reading[int]:
        """Read a call from the mark before its `<invoke>` to its closing tag, and emit the call; returns 1."""
        source = self._source
        if not (yield from source.starts_with(MARK)):
            raise NotACall
        source.pos += len(MARK)
        tag = yield from self._tags.match_tag(INVOKE)
        named = NAME_ATTRIBUTE.search(tag[1]) if tag else None
        if tag is None or named is None:
            raise Truncated if (yield from source.has_cut_tag()) else ReadError("an <invoke> has no name")
        source.pos += tag.end()
        tool = self._emitter.names.resolve(named[1])
        schema: Schema = self._emitter.specs[tool].parameters if tool else {}
        yield from self._read_mark("invoke")
        children = yield from self._read_children("invoke", schema, 0)
        return self._tags.finish_texts(named[1], tool, _fold(children))

    def _read_mark(self, parent: str) -> Reading[None]:
        """Read the mark before the next tag in `parent`, and blanks before the mark."""
        source = self._source
        yield from source.read_while(BLANKS)
        if not (yield from source.starts_with(MARK)):
            is_cut = yield from self._is_cut()
            raise Truncated if is_cut else ReadError(f"text stands between the tags in <{parent}>")
        source.pos += len(MARK)

    def _read_children(self, parent: str, schema: Schema, depth: int) -> Reading[list[tuple[str, Any]]]:
        """Read tags up to the closing tag of `parent`. The mark of the first tag has been read."""
        source = self._source
        children: list[tuple[str, Any]] = []
        while not (yield from source.starts_with(f"</{parent}>")):
            tag = yield from self._tags.match_tag(OPENING)
            if tag is None:
                raise Truncated if (yield from source.has_cut_tag()) else ReadError(f"<{parent}> is not closed")
            source.pos += tag.end()
            children.append((tag[1], (yield from self._read_value(tag[1], _child_schema(schema, tag[1]), depth + 1))))
            yield from self._read_mark(parent)
        source.pos += len(f"</{parent}>")
        return children

    def _read_value(self, name: str, schema: Schema, depth: int) -> Reading[Any]:
        """Read the content of a tag with its closing tag: a text, or the tags in it."""
        if depth > MAX_ELEMENT_NESTING:
            raise ReadError("it is nested too deeply")
        source = self._source
        pieces: list[str] = []
        while True:
            text = yield from source.read_until(MARK)
            if text is None:
                raise Truncated
            pieces.append(text)
            if (yield from source.starts_with(f"</{name}>")):
                source.pos += len(f"</{name}>")
                return _to_value("".join(pieces), schema)
            if not _allows_text(schema):
                if "".join(pieces).strip():
                    raise ReadError(f"<{name}> holds both text and tags")
                children = yield from self._read_children(name, schema, depth)
                return [value for _, value in children] if _is_list(children, schema) else _fold(children)
            pieces.append(MARK)

    def _is_cut(self) -> Reading[bool]:
        """Whether the message ends here, or inside a mark."""
        rest = yield from self._source.peek(len(MARK))
        return MARK.startswith(rest)


def _child_schema(schema: Schema, name: str) -> Schema:
    """Return the schema of a tag within a value; an empty one if it is not known."""
    found: Any = schema.get("properties", {}).get(name) or (schema.get("items") if name == "item" else None)
    return cast("Schema", found) if isinstance(found, dict) else {}


def _allows_text(schema: Schema) -> bool:
    """Whether a value may be a string by its schema: then tags in the value are text."""
    kind = schema.get("type")
    options: list[Any] = [*schema.get("anyOf", ()), *schema.get("oneOf", ())]
    return kind == "string" or (isinstance(kind, list) and "string" in kind) or any(map(_is_string, options))


def _is_string(schema: Any) -> bool:
    return isinstance(schema, dict) and cast("Schema", schema).get("type") == "string"


def _to_value(text: str, schema: Schema) -> Any:
    """Return the value of a tag without tags in it: a text, or an empty list or object if the schema asks for one."""
    empty: dict[Any, Any] = {"array": [], "object": {}}
    kind = schema.get("type")
    return empty[kind] if isinstance(kind, str) and kind in empty and not text.strip() else text


def _is_list(children: list[tuple[str, Any]], schema: Schema) -> bool:
    """Whether tags are the elements of a list: all have one name, which is `item` or means nothing in the schema."""
    names = {name for name, _ in children}
    is_item = names == {"item"} and "item" not in schema.get("properties", {})
    return is_item or (len(names) == 1 and schema.get("type") == "array")


def _fold(children: list[tuple[str, Any]]) -> dict[str, Any]:
    """Return tags as an object. A tag that is repeated becomes a list of its values."""
    found: dict[str, list[Any]] = {}
    for name, value in children:
        found.setdefault(name, []).append(value)
    return {name: values[0] if len(values) == 1 else values for name, values in found.items()}
