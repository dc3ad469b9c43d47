"""Calls in tags: `<function=name>`, `<invoke name="name">`, `<arg_key>`; and arguments that follow a name.

A tag is at most a line long. The text of a parameter ends at its own closing tag, and only where a tag, or the end,
follows it: other tags in it are data.
"""

import re
from typing import Any

from toolspeak.reading.emitter import EventEmitter
from toolspeak.reading.shapes import NotACall
from toolspeak.reading.source import Reading, Source
from toolspeak.reading.strings import ReadError, Truncated
from toolspeak.reading.values import Values

TAG = re.compile(r"<(?:[｜|]DSML[｜|]|\w+:)?(\w+)(?:=([^<>\n]*)|[ \t]([^<>\n]*))?>")
NAMING_TAGS = ("function", "invoke", "tool_call", "tool", "function_call")
ATTRIBUTE = re.compile(r"""\bname\s*=\s*["']?([^"'>]*)["']?""")
PARAMETER = re.compile(r"<((?:[｜|]DSML[｜|]|\w+:)?(?:parameter|param|arg))(?:=([^<>\n]*)|[ \t]([^<>\n]*))>")
CLOSING_TAG = re.compile(r"</[^<>\n]{1,60}>")


class TagReader:
    """Reads calls that tags make up."""

    def __init__(self, source: Source, speech: EventEmitter, values: Values) -> None:
        self.source = source
        self.speech = speech
        self.values = values

    def arguments(self, name: str, tool: str | None) -> Reading[int]:
        """The object that follows a name."""
        mark = self.source.mark()
        call = self.speech.begin(tool) if tool else None
        try:
            arguments = yield from self.values.object(call)
        except ReadError as bad:
            if call is None:
                raise
            call.fail(self.source.since(mark), bad.reason, bad.hint)
            return 1
        finally:
            self.source.unmark()
        if call is None:
            self.speech.unknown(name, name)
        else:
            call.finish(arguments, self.values.tier)
        return 1

    def pairs(self, name: str, tool: str | None) -> Reading[int]:
        """`<arg_key>…</arg_key><arg_value>…</arg_value>`, as many as come."""
        source = self.source
        arguments: dict[str, Any] = {}
        while (yield from self.values.space()) == "<" and (yield from source.starts_with("<arg_key>")):
            source.pos += len("<arg_key>")
            key = yield from source.until("</arg_key>")
            yield from self.values.space()
            if key is None or not (yield from source.starts_with("<arg_value>")):
                raise Truncated if (yield from source.at_end()) else ReadError("an <arg_key> has no <arg_value>")
            source.pos += len("<arg_value>")
            arguments[key.strip()] = yield from self._tag_value("arg_value")
        if (yield from source.cut_tag()) or (not source.well and (yield from source.at_end())):
            raise Truncated
        return self._finish_texts(name, tool, arguments)

    def tagged(self) -> Reading[int]:
        """A tag that names the tool: `<function=name>`, `<invoke name="name">`, `<name>`."""
        source = self.source
        tag = yield from self.tag(TAG)
        if tag is None:
            raise NotACall
        kind, value, attributes = tag[1].lower(), tag[2], tag[3] or ""
        named = ATTRIBUTE.search(attributes)
        if kind in NAMING_TAGS and (value or named):
            name = (value or (named[1] if named else "")).strip().strip("\"'")
        elif kind == "invoke" or self.speech.names.resolve(kind) != kind:
            raise NotACall
        else:
            source.pos += tag.end() - tag.start()
            return (yield from self._children(kind))
        source.pos += tag.end() - tag.start()
        tool = self.speech.names.resolve(name)
        arguments: dict[str, Any] = {}
        char = yield from self.values.space()
        if char == "{":
            said = yield from self.arguments(name, tool)
            yield from self._closing_tag()
            return said
        while (parameter := (yield from self.tag(PARAMETER))) is not None:
            source.pos += parameter.end() - parameter.start()
            attributes = parameter[3] or ""
            named = ATTRIBUTE.search(attributes)
            key = (parameter[2] or (named[1] if named else "")).strip().strip("\"'")
            text = yield from self._tag_value(parameter[1])
            arguments[key] = read_whole(text, self.values.keys, text) if 'string="false"' in attributes else text
            yield from self.values.space()
        if not arguments and tool is not None:
            arguments = yield from self._known_children(tool)
        if not (yield from self._closing_tag()):
            if (yield from source.cut_tag()) or (not source.well and (yield from source.at_end())):
                raise Truncated
            self.values.repaired("closers")
        return self._finish_texts(name, tool, arguments)

    def tag(self, pattern: re.Pattern[str]) -> Reading[re.Match[str] | None]:
        """A tag of this sort, if it comes next: at most 200 characters, not read."""
        source = self.source
        while True:
            text = source.text[source.pos : source.pos + 200]
            if text[:1] not in ("", "<") or ">" in text or len(text) >= 200 or source.ended or "\n" in text:
                return pattern.match(text)
            yield

    def _closing_tag(self) -> Reading[bool]:
        yield from self.values.space()
        tag = yield from self.tag(CLOSING_TAG)
        if tag is not None:
            self.source.pos += tag.end()
        return tag is not None

    def _children(self, tool: str) -> Reading[int]:
        """`<get_weather>` with its parameters as tags inside, and nothing else."""
        source = self.source
        arguments = yield from self._known_children(tool)
        if not arguments:
            raise NotACall
        if not (yield from self._closing_tag()) and not (source.well and (yield from source.at_end())):
            raise Truncated
        return self._finish_texts(tool, tool, arguments)

    def _known_children(self, tool: str) -> Reading[dict[str, Any]]:
        """`<city>Oslo</city>`, for as long as the tags are parameters of the tool."""
        source = self.source
        properties = self.speech.specs[tool].parameters.get("properties", {})
        arguments: dict[str, Any] = {}
        while (yield from self.values.space()) == "<":
            tag = yield from self.tag(TAG)
            if tag is None or tag[1] not in properties:
                break
            source.pos += tag.end()
            text = yield from source.until(f"</{tag[1]}>")
            if text is None:
                raise Truncated
            arguments[tag[1]] = _trimmed(text)
        return arguments

    def _tag_value(self, tag: str) -> Reading[str]:
        """The text of a parameter. Its own closing tag counts, and only where a tag, or the end, follows it."""
        source = self.source
        closing, nested = f"</{tag}>", 0
        pieces: list[str] = []
        while True:
            pieces.append((yield from source.run(re.compile(r"[^<]*"))))
            if (yield from source.at_end()):
                raise Truncated
            if (yield from source.starts_with(f"<{tag}>")):
                nested += 1  # a tag of the same name is content, and so is what closes it
            elif nested and (yield from source.starts_with(closing)):
                nested -= 1
            elif (yield from source.starts_with(closing)) and (yield from self._tag_follows(len(closing))):
                source.pos += len(closing)
                return _trimmed("".join(pieces))
            following = PARAMETER.match((yield from source.ahead(len(tag) + 64)))
            if following is not None and following[1] == tag and pieces[-1].endswith("\n"):
                self.values.repaired("closers")
                return _trimmed("".join(pieces))
            pieces.append("<")
            source.pos += 1

    def _tag_follows(self, offset: int) -> Reading[bool]:
        """Whether a tag or the end follows at `offset`, over blanks."""
        source = self.source
        while True:
            rest = source.text[source.pos + offset :].lstrip()
            if rest or source.ended:
                return not rest or rest[0] == "<"
            yield

    def _finish_texts(self, name: str, tool: str | None, arguments: dict[str, Any]) -> int:
        """A call whose arguments came as texts: each is read as its schema asks."""
        if tool is None:
            self.speech.unknown(name, name)
            return 1
        spec = self.speech.specs[tool]
        properties = spec.parameters.get("properties", {})
        for key, text in arguments.items():
            wanted = properties.get(key, {}).get("type")
            if isinstance(text, str) and (wanted in ("array", "object") or key not in properties):
                arguments[key] = read_whole(text, self.values.keys, text)
        self.speech.begin(tool).finish(arguments, self.values.tier)
        return 1


def read_whole(text: str, keys: frozenset[str], otherwise: Any = None) -> Any:
    """A value from a text that is all there; `otherwise` (or an error) if it is none."""
    source = Source()
    source.feed(text)
    source.ended = True
    values = Values(source, keys)
    reading = values.value()
    try:
        while True:
            next(reading)
    except StopIteration as stop:
        rest = source.text[source.pos :].strip()
        if not rest:
            return stop.value
    except ReadError:
        if otherwise is None:
            raise
    if otherwise is None:
        raise ReadError("it is not a value")
    return otherwise


def _trimmed(text: str) -> str:
    """Without the one line end at each side that the tags bring with them, and without `<![CDATA[…]]>`."""
    if text.strip().startswith("<![CDATA[") and text.strip().endswith("]]>"):
        return text.strip()[len("<![CDATA[") : -len("]]>")]
    text = text.removeprefix("\r").removeprefix("\n")
    return text.removesuffix("\n").removesuffix("\r") if text.endswith("\n") else text
