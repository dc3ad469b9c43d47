"""Calls in tags: `<function=name>`, `<invoke name="name">`, `<arg_key>`; and arguments that follow a name.

A tag is at most one line long. The text of a parameter ends at its own closing tag, and only where another tag or the
end of the message follows: all other tags in that text are data.
"""

import re
from typing import Any

from toolspeak.reading.cursor import Ambiguous, Cursor, ReadError, Truncated
from toolspeak.reading.doubt import CallDoubt, Meaning, is_call_settled, run_to_end, skip_block
from toolspeak.reading.emitter import EventEmitter
from toolspeak.reading.shapes import NotACall, has_required
from toolspeak.reading.source import Reading, Source
from toolspeak.reading.values import ValueReader

TAG = re.compile(r"<(?:[｜|]DSML[｜|]|\w+:)?(\w+)(?:=([^<>\n]*)|[ \t]([^<>\n]*))?>")
NAMING_TAGS = ("function", "invoke", "tool_call", "tool", "function_call")
NAME_ATTRIBUTE = re.compile(r"""\bname\s*=\s*["']?([^"'>]*)["']?""")
PARAMETER = re.compile(r"<((?:[｜|]DSML[｜|]|\w+:)?(?:parameter|param|arg))(?:=([^<>\n]*)|[ \t]([^<>\n]*))>")
CLOSING_TAG = re.compile(r"</[^<>\n]{1,60}>")

MAX_TAG_CHARS = 200
"""Characters after which a tag that is still open is no tag."""


class TagReader:
    """Reads calls that are written in tags."""

    def __init__(self, cursor: Cursor, emitter: EventEmitter, values: ValueReader) -> None:
        self.cursor = cursor
        self.source = cursor.source
        self.emitter = emitter
        self.values = values

    def read_arguments(self, name: str, tool: str | None) -> Reading[int]:
        """Read the object of arguments that follows a name, and emit the call; returns 1."""
        mark = self.source.mark()
        call = self.emitter.start_call(tool) if tool else None

        def find_meaning(value: Any) -> Meaning:
            return Meaning(calls=value, is_complete=call is None or has_required(call.spec, value))

        try:
            doubt = CallDoubt(self.cursor, mark, reread_object, find_meaning, is_call_settled)
            arguments = yield from doubt.read(self.values.read_object(call))
        except ReadError as error:
            if isinstance(error, Ambiguous):
                yield from skip_block(self.cursor)
            if call is None:
                raise
            call.fail(self.source.since(mark), error.reason, error.hint)
            return 1
        finally:
            self.cursor.open = []
            self.source.unmark()
        if call is None:
            self.emitter.emit_unknown_tool(name, name)
        else:
            call.finish(arguments, self.cursor.tier)
        return 1

    def read_pairs(self, name: str, tool: str | None) -> Reading[int]:
        """Read pairs of `<arg_key>…</arg_key><arg_value>…</arg_value>`, and emit the call; returns 1."""
        source = self.source
        arguments: dict[str, Any] = {}
        while (yield from self.values.skip_space()) == "<" and (yield from source.starts_with("<arg_key>")):
            source.pos += len("<arg_key>")
            key = yield from source.read_until("</arg_key>")
            yield from self.values.skip_space()
            if key is None or not (yield from source.starts_with("<arg_value>")):
                raise Truncated if (yield from source.is_at_end()) else ReadError("an <arg_key> has no <arg_value>")
            source.pos += len("<arg_value>")
            arguments[key.strip()] = yield from self._read_text("arg_value")
        if (yield from source.has_cut_tag()) or (not source.ended_well and (yield from source.is_at_end())):
            raise Truncated
        return self._finish_texts(name, tool, arguments)

    def read_tagged(self) -> Reading[int]:
        """Read a call in a tag that names the tool: `<function=name>`, `<invoke name="name">`, `<name>`; returns 1."""
        source = self.source
        tag = yield from self.match_tag(TAG)
        if tag is None:
            raise NotACall
        kind, value, attributes = tag[1].lower(), tag[2], tag[3] or ""
        named = NAME_ATTRIBUTE.search(attributes)
        if kind in NAMING_TAGS and (value or named):
            name = (value or (named[1] if named else "")).strip().strip("\"'")
        elif kind == "invoke" or self.emitter.names.resolve(kind) != kind:
            raise NotACall
        else:
            source.pos += tag.end() - tag.start()
            return (yield from self._read_children(kind))
        source.pos += tag.end() - tag.start()
        tool = self.emitter.names.resolve(name)
        arguments: dict[str, Any] = {}
        char = yield from self.values.skip_space()
        if char == "{":
            count = yield from self.read_arguments(name, tool)
            yield from self._read_closing_tag()
            return count
        closing = ""
        while (parameter := (yield from self.match_tag(PARAMETER))) is not None:
            source.pos += parameter.end() - parameter.start()
            attributes = parameter[3] or ""
            named = NAME_ATTRIBUTE.search(attributes)
            key = (parameter[2] or (named[1] if named else "")).strip().strip("\"'")
            closing = f"</{parameter[1]}>"
            text = yield from self._read_text(parameter[1])
            arguments[key] = read_whole(text, self.cursor.keys, text) if 'string="false"' in attributes else text
            yield from self.values.skip_space()
        if not arguments and tool is not None:
            arguments = yield from self._read_parameters(tool)
        yield from self._check_no_text_left(closing)
        if not (yield from self._read_closing_tag()):
            if (yield from source.has_cut_tag()) or (not source.ended_well and (yield from source.is_at_end())):
                raise Truncated
            self.cursor.note_repair("closers")
        yield from self._check_no_text_left(closing)
        return self._finish_texts(name, tool, arguments)

    def _check_no_text_left(self, closing: str) -> Reading[None]:
        """Check that the closing tag of a parameter does not follow once more: the text may have gone on up to it."""
        if closing and (yield from self.values.skip_space()) == "<" and (yield from self.source.starts_with(closing)):
            raise Ambiguous(f"the text holds {closing}, so it is not certain where it ends", "Put the text in CDATA.")

    def match_tag(self, pattern: re.Pattern[str]) -> Reading[re.Match[str] | None]:
        """Match a tag that comes next, of at most `MAX_TAG_CHARS`. The tag is not read."""
        source = self.source
        while True:
            text = source.text[source.pos : source.pos + MAX_TAG_CHARS]
            if text[:1] not in ("", "<") or ">" in text or len(text) >= MAX_TAG_CHARS or source.ended or "\n" in text:
                return pattern.match(text)
            yield

    def _read_closing_tag(self) -> Reading[bool]:
        """Read a closing tag of any name; whether one came."""
        yield from self.values.skip_space()
        tag = yield from self.match_tag(CLOSING_TAG)
        if tag is not None:
            self.source.pos += tag.end()
        return tag is not None

    def _read_children(self, tool: str) -> Reading[int]:
        """Read the content of `<get_weather>`: the parameters as tags, and nothing else."""
        source = self.source
        arguments = yield from self._read_parameters(tool)
        if not arguments:
            raise NotACall
        if not (yield from self._read_closing_tag()) and not (source.ended_well and (yield from source.is_at_end())):
            raise Truncated
        return self._finish_texts(tool, tool, arguments)

    def _read_parameters(self, tool: str) -> Reading[dict[str, Any]]:
        """Read `<city>Oslo</city>`, for as long as the tags are named like parameters of the tool."""
        source = self.source
        properties = self.emitter.specs[tool].parameters.get("properties", {})
        arguments: dict[str, Any] = {}
        while (yield from self.values.skip_space()) == "<":
            tag = yield from self.match_tag(TAG)
            if tag is None or tag[1] not in properties:
                break
            source.pos += tag.end()
            text = yield from source.read_until(f"</{tag[1]}>")
            if text is None:
                raise Truncated
            arguments[tag[1]] = _trim(text)
        return arguments

    def _read_text(self, tag: str) -> Reading[str]:
        """Read the text of a parameter with its closing tag, which counts only where a tag or the end follows."""
        source = self.source
        closing, nested = f"</{tag}>", 0
        pieces: list[str] = []
        while True:
            pieces.append((yield from source.read_while(re.compile(r"[^<]*"))))
            if (yield from source.is_at_end()):
                raise Truncated
            if (yield from source.starts_with(f"<{tag}>")):
                nested += 1  # a tag of the same name is content, and so is its closing tag
            elif nested and (yield from source.starts_with(closing)):
                nested -= 1
            elif (yield from source.starts_with(closing)) and (yield from self._is_tag_at(len(closing))):
                source.pos += len(closing)
                return _trim("".join(pieces))
            following = PARAMETER.match((yield from source.peek(len(tag) + 64)))
            if following is not None and following[1] == tag and pieces[-1].endswith("\n"):
                self.cursor.note_repair("closers")
                return _trim("".join(pieces))
            pieces.append("<")
            source.pos += 1

    def _is_tag_at(self, offset: int) -> Reading[bool]:
        """Whether a tag or the end of the message comes at `offset` from here, after any blanks."""
        source = self.source
        while True:
            rest = source.text[source.pos + offset :].lstrip()
            if rest or source.ended:
                return not rest or rest[0] == "<"
            yield

    def _finish_texts(self, name: str, tool: str | None, arguments: dict[str, Any]) -> int:
        """Emit a call whose arguments are texts. A text is read as a value where the schema asks for one; returns 1."""
        if tool is None:
            self.emitter.emit_unknown_tool(name, name)
            return 1
        spec = self.emitter.specs[tool]
        properties = spec.parameters.get("properties", {})
        for key, text in arguments.items():
            wanted = properties.get(key, {}).get("type")
            if isinstance(text, str) and (wanted in ("array", "object") or key not in properties):
                arguments[key] = read_whole(text, self.cursor.keys, text)
        self.emitter.start_call(tool).finish(arguments, self.cursor.tier)
        return 1


def reread_object(cursor: Cursor) -> Reading[Any]:
    """Read an object once more, with a cursor of its own."""
    return ValueReader(cursor).read_object()


def read_whole(text: str, keys: frozenset[str], otherwise: Any = None) -> Any:
    """Read a value from a whole text.

    Args:
        text: The text, with nothing after the value.
        keys: The parameters of all tools, by which doubtful strings are decided.
        otherwise: What to return if the text is no value; without it, a `ReadError` is raised.
    """
    source = Source()
    source.feed(text)
    source.ended = True
    cursor = Cursor(source, keys)
    doubt = CallDoubt(cursor, 0, lambda other: ValueReader(other).read_value(), _find_any_meaning, is_call_settled)
    try:
        value = run_to_end(doubt.read(ValueReader(cursor).read_value()))
        if not source.text[source.pos :].strip():
            return value
    except ReadError as error:
        if otherwise is None or (isinstance(error, Ambiguous) and text.lstrip()[:1] in ("[", "{")):
            raise
    if otherwise is None:
        raise ReadError("it is not a value")
    return otherwise


def _find_any_meaning(value: Any) -> Meaning:
    return Meaning(calls=value, is_complete=True)


def _trim(text: str) -> str:
    """Remove `<![CDATA[…]]>`, or else the one line end on each side that belongs to the tags."""
    if text.strip().startswith("<![CDATA[") and text.strip().endswith("]]>"):
        return text.strip()[len("<![CDATA[") : -len("]]>")]
    text = text.removeprefix("\r").removeprefix("\n")
    return text.removesuffix("\n").removesuffix("\r") if text.endswith("\n") else text
