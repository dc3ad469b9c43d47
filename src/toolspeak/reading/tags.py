"""Calls in tags: `<function=name>`, `<invoke name="name">`, `<arg_key>`; and arguments that follow a name.

A tag is at most one line long. The text of a parameter ends at its own closing tag, and only where another tag or the
end of the message follows: all other tags in that text are data.
"""

import json
import re
import string
from collections.abc import Collection, Set
from typing import Any, cast

from toolspeak.reading.cursor import Ambiguous, Cursor, ReadError, Truncated
from toolspeak.reading.doubt import CallDoubt, Meaning, is_call_settled, skip_block
from toolspeak.reading.emitter import EventEmitter
from toolspeak.reading.forms import LINE_MARK, SPACE_MARK
from toolspeak.reading.forms import MINIMAX_MARK as MARK
from toolspeak.reading.shapes import NotACall, has_required
from toolspeak.reading.source import Reading, run_to_end
from toolspeak.reading.strings import BLANK_LOOKAHEAD_CHARS, BLANKS
from toolspeak.reading.values import ValueReader
from toolspeak.values.coercion import coerce
from toolspeak.values.spec import Schema
from toolspeak.values.validation import is_valid

NAMESPACE = r"(?:[｜|]DSML[｜|]|\w+:)?"
TAG = re.compile(
    rf"<{NAMESPACE}(\w++)(?:[ \t]*+=([^<>\n]*+)|[ \t]((?:[^<>\n]|<\|\w++\|>)*+))?"
    r"(?:\s*+>|(?<=\|>)(?=<\w++:parameter ))"
)
"""A tag. Among its attributes a control token may stand that is no part of them, also in the place of the last `>`."""

STRAY_TOKEN = re.compile(r"<\|\w+\|>")
NAMING_TAGS = (
    *("function", "invoke", "tool_call", "tool", "function_call"),
    *("functionname", f"function{SPACE_MARK}name".lower()),
)
NAME_ATTRIBUTE = re.compile(r"""\bname\s*=\s*["']?([^"'>]*)["']?""")
PARAMETER = re.compile(
    rf"<({NAMESPACE}(?:parameter|param|arg))(?:{SPACE_MARK}?name)?(?:[ \t]*+=([^<>\n]*+)|[ \t]([^<>\n]*+))\s*+>"
)
KEY_PREFIXES = ("", "longcat_")
"""What the names of `<arg_key>` and `<arg_value>` begin with."""

CLOSING_TAG = re.compile(r"</[^<>\n]{1,60}>")
OPEN_TAG = re.compile(r"<[^>\n]*+\s*+")
"""A tag whose `>` may still come, without the stray tokens in it."""

BLANKS_AND_MARKS = f"{string.whitespace}{SPACE_MARK}{LINE_MARK}"
BLANKS_AND_QUOTES = f'{string.whitespace}"'
ALL = re.compile(r"[\s\S]*")
NOT_A_TAG = re.compile(r"[^<]*")
NEXT_PAIR = re.compile(r"<(?:longcat_)?arg_key>([^<]*)</(?:longcat_)?arg_key>\s*<(?:longcat_)?arg_value>")
CALL_END = re.compile(r"(?:</(?:longcat_)?tool_calls?>\s*)+", re.I)
MARKS_OR_BLANKS = re.compile(rf"[\s{SPACE_MARK}{LINE_MARK}]*")

UNREAD_CONTENT = "Write each argument in a tag of its own."
UNCLOSED_PARAMETER = "Close each parameter before the next one."

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
            return Meaning(calls=value, is_complete=call is None or has_required(self.emitter, call.spec, value))

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

    def match_key(self) -> Reading[str | None]:
        """Return the prefix of the tags if `<arg_key>` or `<longcat_arg_key>` comes next."""
        for prefix in KEY_PREFIXES:
            if (yield from self.source.starts_with(f"<{prefix}arg_key>")):
                return prefix
        return None

    def read_pairs(self, prefix: str, name: str, tool: str | None) -> Reading[int]:
        """Read pairs of `<arg_key>…</arg_key><arg_value>…</arg_value>`, and emit the call; returns 1.

        Args:
            prefix: What the names of the tags begin with.
            name: The tool, as the model wrote it.
            tool: The tool that the name stands for, if there is one.
        """
        source = self.source
        arguments: dict[str, Any] = {}
        opening, value_tag = f"<{prefix}arg_key>", f"{prefix}arg_value"
        while (yield from self.values.skip_space()) == "<" and (yield from source.starts_with(opening)):
            source.pos += len(opening)
            key = yield from self._read_key(prefix)
            yield from self.values.skip_space()
            if (yield from source.starts_with(f"<{value_tag}>")):
                source.pos += len(f"<{value_tag}>")
                value = yield from self._read_pair_text(value_tag, tool, arguments.keys() | {key})
            elif (yield from source.is_at_end()):
                raise Truncated
            elif (yield from source.peek(1)) == "<":
                yield from source.read_while(ALL)
                raise ReadError("an <arg_key> has no <arg_value>")
            else:
                self.cursor.note_repair("closers")
                value = yield from self._read_text(value_tag)
            self._add(arguments, key, value)
        if (yield from source.has_cut_tag()) or (not source.ended_well and (yield from source.is_at_end())):
            raise Truncated
        return self.finish_texts(name, tool, arguments)

    def _read_key(self, prefix: str) -> Reading[str]:
        """Read the text of an `<arg_key>`, with its closing tag."""
        source = self.source
        key = yield from source.read_while(NOT_A_TAG)
        if (yield from source.starts_with(f"</{prefix}arg_key>")):
            source.pos += len(f"</{prefix}arg_key>")
        elif (yield from source.starts_with(f"<{prefix}arg_value>")):
            self.cursor.note_repair("closers")
        else:
            # What follows may be the text of a value, in which nothing is a call.
            yield from source.read_while(ALL)
            raise Truncated
        return key.strip()

    def _read_pair_text(self, tag: str, tool: str | None, given: Set[str]) -> Reading[str]:
        """Read the text of an `<arg_value>`. If its closing tag never comes, the text must end in one place only.

        Args:
            tag: The name of the tag.
            tool: The tool, if it is known.
            given: The parameters that have been read, with this one.
        """
        source = self.source
        mark = source.mark()
        tier = self.cursor.tier
        try:
            return (yield from self._read_text(tag))
        except Truncated:
            if not source.ended_well or not source.may_rewind:
                raise
            end = self._find_end(source.since(mark), tool, given)
            if end is None:
                raise
            source.rewind(mark)
            self.cursor.forget_repairs(tier)
            self.cursor.note_repair("closers")
            text = source.text[source.pos : source.pos + end]
            source.pos += end
            return _trim(text, is_closed=False)
        finally:
            source.unmark()

    def _find_end(self, rest: str, tool: str | None, given: Set[str]) -> int | None:
        """Return where a text ends whose closing tag is missing: before the next pair, or where the call ends.

        The text ends before a pair only if that pair is for a parameter which has not been given. It ends with the
        call only if calls end once in the rest of the message. None if neither is certain.
        """
        following = NEXT_PAIR.search(rest)
        ends = [found.start() for found in CALL_END.finditer(rest)]
        if len(ends) > 1:
            return None
        end = ends[0] if ends else None
        if following is not None:
            key = following[1].strip()
            is_next = tool is not None and key in self.emitter.specs[tool].parameters.get("properties", {})
            end = following.start() if is_next and key not in given else None
        return None if end is None or "<" in rest[:end] else end

    def read_tagged(self) -> Reading[int]:
        """Read a call in a tag that names the tool: `<function=name>`, `<invoke name="name">`, `<name>`; returns 1."""
        source = self.source
        tag = yield from self.match_tag(TAG)
        if tag is None:
            raise NotACall
        kind, attributes = tag[1].lower(), STRAY_TOKEN.sub("", tag[3] or "")
        named = NAME_ATTRIBUTE.search(attributes)
        if kind in NAMING_TAGS and (tag[2] or named):
            name = (tag[2] or (named[1] if named else "")).strip().strip("\"'")
        elif kind == "invoke" or self.emitter.names.resolve(kind) != kind:
            raise NotACall
        else:
            source.pos += tag.end()
            return (yield from self._read_children(kind))
        source.pos += tag.end()
        tool = self.emitter.names.resolve(name)
        if (yield from self.values.skip_space()) == "{":
            count = yield from self.read_arguments(name, tool)
            yield from self._read_closing_tag()
            return count
        properties: dict[str, Any] = self.emitter.specs[tool].parameters.get("properties", {}) if tool else {}
        arguments, closing = yield from self._read_named_parameters(properties.keys(), marked=SPACE_MARK in tag[0])
        if not arguments and tool is not None:
            arguments = yield from self._read_parameters(tool)
        yield from self._check_no_text_left(closing)
        if not (yield from self._read_closing_tag()):
            if (yield from source.has_cut_tag()) or (not source.ended_well and (yield from source.is_at_end())):
                raise Truncated
            if properties and (yield from self._is_content_next()):
                raise ReadError("the call holds text that is no parameter", UNREAD_CONTENT)
            self.cursor.note_repair("closers")
        yield from self._check_no_text_left(closing)
        return self.finish_texts(name, tool, arguments)

    def _is_content_next(self) -> Reading[bool]:
        """Whether something comes next that is neither a tag nor a token: text, or a tag of an unknown parameter."""
        source = self.source
        if (yield from source.is_at_end()):
            return False
        tag = yield from self.match_tag(TAG)
        return (yield from source.peek(1)) != "<" or (tag is not None and tag[1].lower() not in NAMING_TAGS)

    def _read_named_parameters(self, names: Set[str], *, marked: bool) -> Reading[tuple[dict[str, Any], str]]:
        """Read `<parameter=key>` and `<param name="key">` with their texts, as many as come; also the last closing tag.

        Args:
            names: The parameters of the tool.
            marked: Whether the marks of a tokenizer stand for blanks and line ends.
        """
        source = self.source
        arguments: dict[str, Any] = {}
        closing = ""
        if marked:
            yield from source.read_while(MARKS_OR_BLANKS)
        while (parameter := (yield from self.match_tag(PARAMETER))) is not None:
            source.pos += parameter.end()
            marked = marked or SPACE_MARK in parameter[0]
            attributes = parameter[3] or ""
            key = _name_of(parameter)
            closing = f"</{parameter[1]}>"
            text = yield from self._read_text(parameter[1], names - arguments.keys(), marked=marked)
            self._add(arguments, key, read_whole(text, self.cursor, text) if 'string="false"' in attributes else text)
            yield from self.values.skip_space()
            if marked:
                yield from source.read_while(MARKS_OR_BLANKS)
        return arguments, closing

    def _add(self, arguments: dict[str, Any], key: str, value: Any) -> None:
        """Add an argument. As in an object, a key may not have two values."""
        if key in arguments and arguments[key] != value:
            raise ReadError(f"the parameter {key!r} is given twice", "Give each parameter once.")
        arguments[key] = value

    def _check_no_text_left(self, closing: str) -> Reading[None]:
        """Check that the closing tag of a parameter does not follow once more: the text may have gone on up to it."""
        if closing and (yield from self.values.skip_space()) == "<" and (yield from self.source.starts_with(closing)):
            raise Ambiguous(f"the text holds {closing}, so it is not certain where it ends", "Put the text in CDATA.")

    def match_tag(self, pattern: re.Pattern[str]) -> Reading[re.Match[str] | None]:
        """Match a tag that comes next, of at most `MAX_TAG_CHARS`. The tag is not read."""
        source = self.source
        while True:
            text = source.text[source.pos : source.pos + MAX_TAG_CHARS]
            is_open = not text or OPEN_TAG.fullmatch(STRAY_TOKEN.sub("", text)) is not None
            if not is_open or len(text) >= MAX_TAG_CHARS or source.ended:
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
        return self.finish_texts(tool, tool, arguments)

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

    def _read_text(self, tag: str, others: Collection[str] = (), *, marked: bool = False) -> Reading[str]:
        """Read the text of a parameter with its closing tag, which counts only where a tag or the end follows.

        Args:
            tag: The name of the tag.
            others: The parameters that may still come. If the tag of one stands within a line of the text, and is not
                closed there, nobody can say whether it is text.
            marked: Whether the marks of a tokenizer stand for blanks and line ends.
        """
        source = self.source
        closing, nested, doubtful = f"</{tag}>", 0, 0
        pieces: list[str] = []
        while True:
            pieces.append((yield from source.read_while(NOT_A_TAG)))
            if (yield from source.is_at_end()):
                raise Truncated
            if (yield from source.starts_with(f"<{tag}>")):
                nested += 1  # a tag of the same name is content, and so is its closing tag
            elif nested and (yield from source.starts_with(closing)):
                nested -= 1
            elif (yield from source.starts_with(closing)):
                is_last = yield from self._is_tag_at(len(closing))
                if is_last and not doubtful:
                    source.pos += len(closing)
                    text = "".join(pieces)
                    return _trim(text.replace(SPACE_MARK, " ").replace(LINE_MARK, "\n") if marked else text)
                if is_last and not (yield from source.starts_with(closing + closing)):
                    raise ReadError(f"a {closing} is missing", UNCLOSED_PARAMETER)
                doubtful = max(doubtful - 1, 0)
            following = PARAMETER.match((yield from source.peek(len(tag) + 64)))
            if following is not None and following[1] == tag and _name_of(following) in others:
                if pieces[-1].endswith("\n"):
                    self.cursor.note_repair("closers")
                    return _trim("".join(pieces), is_closed=False)
                doubtful += 1
            pieces.append("<")
            source.pos += 1

    def _is_tag_at(self, offset: int) -> Reading[bool]:
        """Whether a tag or the end of the message comes at `offset` from here, after any blanks.

        Many blanks count as the end, so that waiting is bounded; text after them is refused by those who read on.
        """
        source = self.source
        while True:
            rest = source.text[source.pos + offset : source.pos + offset + BLANK_LOOKAHEAD_CHARS]
            following = rest.lstrip(BLANKS_AND_MARKS)
            if following or source.ended or len(rest) == BLANK_LOOKAHEAD_CHARS:
                return not following or following[0] == "<"
            yield

    def finish_texts(self, name: str, tool: str | None, arguments: dict[str, Any]) -> int:
        """Emit a call whose arguments are texts. A text is read as a value where the schema asks for one; returns 1."""
        if tool is None:
            self.emitter.emit_unknown_tool(name, name)
            return 1
        schema = self.emitter.specs[tool].parameters
        properties = schema.get("properties", {})
        for key, text in arguments.items():
            if not isinstance(text, str):
                continue
            wanted = properties.get(key, {})
            if wanted.get("type") in ("array", "object") or key not in properties:
                arguments[key] = read_whole(text, self.cursor, text)
            elif text != text.strip(BLANKS_AND_QUOTES):
                budget = self.emitter.budget.include(text)
                if not is_valid(coerce(text, wanted, schema, budget), wanted, schema, budget):
                    arguments[key] = _unquote(text)
        self.emitter.start_call(tool).finish(arguments, self.cursor.tier)
        return 1


def reread_object(cursor: Cursor) -> Reading[Any]:
    """Read an object once more, with a cursor of its own."""
    return ValueReader(cursor).read_object()


def read_whole(text: str, within: Cursor, otherwise: Any = None) -> Any:
    """Read a value from a whole text.

    Args:
        text: The text, with nothing after the value.
        within: The cursor of the call that holds the text.
        otherwise: What to return if the text is no value; without it, a `ReadError` is raised.
    """
    source = within.source.open_inner(text)
    cursor = Cursor(source, within.keys)
    doubt = CallDoubt(
        cursor,
        0,
        lambda other: ValueReader(other).read_value(),
        lambda value: Meaning(calls=value, is_complete=True),
        is_call_settled,
    )
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


def _unquote(text: str) -> str:
    """Return a text without the blanks around it, and without the quotes of a JSON string."""
    stripped = text.strip()
    try:
        value = json.loads(stripped) if stripped[:1] == '"' else stripped
    except ValueError:
        return stripped
    return value if isinstance(value, str) else stripped


def _name_of(tag: re.Match[str]) -> str:
    """Return what `<parameter=name>` or `<parameter name="name">` names."""
    named = NAME_ATTRIBUTE.search(tag[3] or "")
    return (tag[2] or (named[1] if named else "")).strip().strip("\"'")


def _trim(text: str, *, is_closed: bool = True) -> str:
    """Remove `<![CDATA[…]]>`, or else the line ends that belong to the tags.

    The line end after the opening tag belongs to the tags, and with it the one before the closing tag. A text that
    begins on the line of its tag keeps its last line end: it is the end of a file's text. A tag that was not closed
    stands on its own line.
    """
    stripped = text.strip()
    if stripped.startswith("<![CDATA[") and stripped.endswith("]]>"):
        return stripped[len("<![CDATA[") : -len("]]>")]
    if is_closed and not text.startswith(("\n", "\r\n")):
        return text
    text = text.removeprefix("\r").removeprefix("\n")
    return text.removesuffix("\n").removesuffix("\r") if text.endswith("\n") else text


CALL_SECTION = "<|open|>call "
SEPARATOR = "<|sep|>"
SECTION_OPENING = re.compile(r'<\|open\|>(\w+)((?:\s+\w+="[^"]*")*)\s*<\|sep\|>')
ATTRIBUTE = re.compile(r'(?<!\w)(\w++)="([^"]*+)"')

MAX_OPENING_CHARS = 500
"""Characters after which the opening of a section is none if it is not complete."""


class SectionReader:
    """Reads calls in sections that name what they hold: Kimi K3.

        <|open|>call tool="get_weather" index="1"<|sep|>
        <|open|>argument key="days" type="number"<|sep|>3<|close|>argument<|sep|>
        <|close|>call<|sep|>

    The form says the type of every argument: a string stands as it is, anything else is JSON. No closers are supplied:
    a call that is not closed is truncated, and one with text between its arguments is refused, since that text may
    belong to a value that holds the end of its own section.
    """

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
                given = read_whole(text, self._cursor)
                if not isinstance(given, dict):
                    raise ReadError("its arguments are not an object")
                arguments |= cast("dict[str, Any]", given)
            elif attributes.get("type", "string") == "string":
                arguments[attributes.get("key", "")] = text
            else:
                arguments[attributes.get("key", "")] = read_whole(text, self._cursor, text)
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
        found = SECTION_OPENING.match(text)
        if found is None:
            return None
        source.pos += found.end()
        return found[1], {
            key: value.replace("&quot;", '"').replace("&amp;", "&") for key, value in ATTRIBUTE.findall(found[2])
        }

    def _is_cut(self) -> Reading[bool]:
        """Whether the message ends here, or inside the opening or closing of a section."""
        while True:
            rest = self._source.text[self._source.pos : self._source.pos + MAX_OPENING_CHARS]
            if self._source.ended or len(rest) == MAX_OPENING_CHARS or SEPARATOR in rest or rest[:1] not in ("", "<"):
                return self._source.ended and SEPARATOR not in rest and rest[:1] in ("", "<")
            yield


INVOKE = re.compile(r"<invoke[ \t]++([^<>\n]*+)>")
ELEMENT_OPENING = re.compile(r"<([^<>/\s=]+)>")

MAX_ELEMENT_NESTING = 32
"""How deeply tags may be nested in a parameter."""


class ElementReader:
    """Reads calls in tags that a mark precedes, with the name of the parameter as the tag: MiniMax M3.

        ]<]minimax[>[<invoke name="get_weather">]<]minimax[>[<city>Oslo]<]minimax[>[</city>]<]minimax[>[</invoke>

    A tag without its mark is text, and so are all tags but the closing one in a value that may be a string. Objects and
    lists are tags within tags; the tags in a list are named `item`. Closers and text between tags: as in sections.
    """

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
            rest = yield from source.peek(len(MARK))  # the message may end inside the mark
            raise Truncated if MARK.startswith(rest) else ReadError(f"text stands between the tags in <{parent}>")
        source.pos += len(MARK)

    def _read_children(self, parent: str, schema: Schema, depth: int) -> Reading[list[tuple[str, Any]]]:
        """Read tags up to the closing tag of `parent`. The mark of the first tag has been read."""
        source = self._source
        children: list[tuple[str, Any]] = []
        while not (yield from source.starts_with(f"</{parent}>")):
            tag = yield from self._tags.match_tag(ELEMENT_OPENING)
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
