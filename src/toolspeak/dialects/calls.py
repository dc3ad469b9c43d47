"""Calls, in all forms but prose: what may stand inside a tag or a fence, or alone on a line.

    {"name": …, "arguments": …}    one object, a list or a sequence of them, also as the text of a string
    name(…), x = name(…)           code
    name{…}, name⟨separator⟩{…}    a name, then its arguments
    <function=name> … </function>  tags within tags

Whoever comes here says whether a call was announced (`explicit`: by a tag, say). What was announced and cannot be read
is reported as malformed; what was not is left to be text.
"""

import re
from typing import Any

from toolspeak.dialects.code import Code
from toolspeak.dialects.forms import FAMILIES
from toolspeak.dialects.meaning import Meaning
from toolspeak.dialects.shapes import CallWatch, NotACall, calls_in
from toolspeak.dialects.source import Reading, Source
from toolspeak.dialects.speech import Speech
from toolspeak.dialects.strings import BLANKS, Bad, Cut
from toolspeak.dialects.syntax import Nothing, Say, Statement
from toolspeak.dialects.values import Values

NAME = re.compile(r"[\w.$:\-]*")
TAG = re.compile(r"<(?:[｜|]DSML[｜|]|\w+:)?(\w+)(?:=([^<>\n]*)|[ \t]([^<>\n]*))?>")
NAMING_TAGS = ("function", "invoke", "tool_call", "tool", "function_call")
ATTRIBUTE = re.compile(r"""\bname\s*=\s*["']?([^"'>]*)["']?""")
PARAMETER = re.compile(r"<((?:[｜|]DSML[｜|]|\w+:)?(?:parameter|param|arg))(?:=([^<>\n]*)|[ \t]([^<>\n]*))>")
CLOSING_TAG = re.compile(r"</[^<>\n]{1,60}>")


def _roles() -> dict[str, str]:
    """Every token of every family, in lower case, and what it does."""
    roles = {"<|channel|>": "harmony", "<|start|>": "harmony", "<tool_call ": "open", "<tools>": "inert"}
    for family in FAMILIES:
        roles |= dict.fromkeys(map(str.lower, family.openers), "open")
        roles |= dict.fromkeys(map(str.lower, family.closers), "close")
        roles |= dict.fromkeys(map(str.lower, family.separators), "separate")
        roles |= dict.fromkeys(map(str.lower, family.results), "result")
        roles |= {opener.lower(): "think" for opener, _ in family.thinking}
    for family in FAMILIES:
        for _, closer in family.thinking:
            roles.setdefault(closer.lower(), "thought")  # what also closes other things says nothing on its own
    return roles


ROLES = _roles()
THOUGHT_ENDS = {opener.lower(): closer for family in FAMILIES for opener, closer in family.thinking}
TOKENS = sorted(ROLES, key=len, reverse=True)
LONGEST = len(TOKENS[0])
FIRST = frozenset(token[0] for token in TOKENS)
BY_START = {start: [token for token in TOKENS if token[:2] == start] for start in {token[:2] for token in TOKENS}}


class CallReader:
    """Reads calls from a source and tells them to a speech."""

    def __init__(self, source: Source, speech: Speech) -> None:
        self.source = source
        self.speech = speech
        keys = frozenset(key for spec in speech.specs.values() for key in spec.parameters.get("properties", {}))
        self.values = Values(source, keys)
        self.meaning = self._fresh_meaning()
        self._nesting = 0

    def _fresh_meaning(self) -> Meaning:
        return Meaning(self.speech.specs, self.speech.names, self._called_in_code, self._refused_in_code)

    def forget(self) -> None:
        """Start again: what was bound so far was reasoning."""
        self.meaning = self._fresh_meaning()

    # Tokens

    def token(self) -> Reading[tuple[str, str] | None]:
        """The role and the text of the token that comes next, if one does. It is not read."""
        source = self.source
        while True:
            if source.pos >= len(source.text):
                if source.ended:
                    return None
                yield
                continue
            rest = source.text[source.pos : source.pos + LONGEST].lower()
            if rest[0] not in FIRST or (len(rest) == 1 and source.ended):
                return None
            if len(rest) == 1:
                yield
                continue
            candidates = BY_START.get(rest[:2])
            if candidates is None:
                return None
            found = next((token for token in candidates if rest.startswith(token)), None)
            if source.ended or not any(
                len(token) > len(rest) and token.startswith(rest) for token in candidates if token != found
            ):
                return (ROLES[found], source.text[source.pos : source.pos + len(found)]) if found else None
            yield

    # A sequence of calls

    def sequence(self, *, explicit: bool) -> Reading[int]:
        """Read calls one after another, as many as come; how many were said (malformed ones count)."""
        source = self.source
        said = 0
        while True:
            char = yield from self._gap(said)
            if char in (",", ";", "}", "]", ")") and said:
                source.pos += 1
                continue
            if char == "":
                return said
            if char in "`~" and (yield from source.ahead(3)) in ("```", "~~~"):
                if not explicit:
                    return said
                yield from self._fence_line()
                continue
            token = (yield from self.token()) if source.text[source.pos].lower() in FIRST else None
            if token is not None:
                role, text = token
                if role == "open" and (yield from self._opened(text)):
                    explicit = True
                    continue
                if role in ("separate", "close") and explicit:
                    source.pos += len(text)
                    if role == "close" and not (yield from self._opens_again()):
                        return said
                    continue
                if role != "open":
                    return said
            count = yield from self._one(char, explicit=explicit)
            if not count:
                return said
            said += count

    def _gap(self, said: int) -> Reading[str]:
        """Skip what stands between calls. A `#` on a new line after a call is a heading, not a comment."""
        yield from self.source.run(BLANKS)
        char = yield from self.source.ahead(1)
        if char == "#" and said:
            return char
        return (yield from self.values.space())

    def _opened(self, token: str) -> Reading[bool]:
        """Read an opener. False, with nothing read, if it is the beginning of a tag that names a tool."""
        if token[-1] in ">]:：｜":
            self.source.pos += len(token)
            return True
        tag = yield from self._tag(TAG)
        if tag is None or tag[2] or ATTRIBUTE.search(tag[3] or ""):
            return False
        self.source.pos += tag.end()
        return True

    def _opens_again(self) -> Reading[bool]:
        """Whether another opener follows the closer just read; what is between them is not text."""
        mark = self.source.mark()
        yield from self.values.space()
        token = yield from self.token()
        again = token is not None and token[0] in ("open", "close")
        if not again:
            self.source.rewind(mark)
        self.source.unmark()
        return again

    def _fence_line(self) -> Reading[None]:
        yield from self.source.run(re.compile(r"[`~]*"))
        yield from self.source.run(re.compile(r"[\w-]*"))

    def _one(self, char: str, *, explicit: bool) -> Reading[int]:
        """One item of a sequence: 0 if it is no call, with nothing read."""
        source = self.source
        mark = source.mark()
        self.values.tier = "none"
        self.values.open.clear()
        call = None
        try:
            if char == "{":
                watch = CallWatch(self.speech, explicit=explicit)
                try:
                    value = yield from self.values.object(watch)
                finally:
                    call = watch.call
                return self._said(value, watch, explicit, source.since(mark))
            if char == "[":
                if self._nesting > 8:
                    raise NotACall
                self._nesting += 1
                try:
                    return (yield from self._list(explicit))
                finally:
                    self._nesting -= 1
            if char == "<":
                return (yield from self._tagged(explicit))
            if (opener := (yield from self.values.opener())) is not None:
                if (yield from source.ahead(len(opener) + 1))[-1:] not in ("{", "[", "\\"):
                    raise NotACall
                text = yield from self.values.text(opener, "value")
                return self._encoded(text)
            return (yield from self._named(explicit))
        except NotACall:
            # Raised only while nothing has been told: what was handed over cannot be taken back.
            source.rewind(mark)
            return 0
        except Bad as bad:
            raw = source.since(mark)
            if call is not None:
                call.fail(raw, bad.reason, bad.hint)
            elif explicit:
                self.speech.malformed(None, raw, bad.reason, bad.hint)
            else:
                source.rewind(mark)
                return 0
            yield from self._leave()
            return 1
        finally:
            source.unmark()

    def _leave(self) -> Reading[None]:
        """After a call that could not be read: on to what closes it, or to the end of the line."""
        source = self.source
        while True:
            yield from source.run(re.compile(r"[^<\n\[]*"))
            if (yield from source.at_end()) or source.text[source.pos] == "\n":
                return
            token = yield from self.token()
            if token is not None:
                return
            source.pos += 1

    def _said(self, value: Any, watch: CallWatch | None, explicit: bool, raw: str) -> int:
        """Tell the calls that a value says."""
        found = calls_in(value, self.speech.names)
        if not found:
            if not explicit:
                raise NotACall
            if value:
                self.speech.malformed(None, raw, "it names no tool", 'Write {"name": …, "arguments": {…}}.')
            return 1 if value else 0
        begun = watch.call if watch is not None else None
        if begun is None and not explicit and not any(self.speech.names.resolve(name) for name, _ in found):
            raise NotACall
        for name, arguments in found:
            tool = self.speech.names.resolve(name)
            if begun is not None and begun.spec.name == tool:
                begun.finish(arguments, self.values.tier, raw)
                begun = None
            elif tool is not None:
                self.speech.begin(tool).finish(arguments, self.values.tier, raw)
            elif explicit:
                self.unknown(name, raw)
        return len(found)

    def unknown(self, name: str, raw: str) -> None:
        """A call of a tool that is not there."""
        shown = ", ".join(self.speech.specs) or "none"
        self.speech.malformed(name, raw, f"there is no tool {name!r}", f"The tools are: {shown}.")

    def _list(self, explicit: bool) -> Reading[int]:
        """A list of calls, each told as soon as it is complete."""
        source = self.source
        source.pos += 1
        said = 0
        while True:
            char = yield from self.values.space()
            if char == "]":
                source.pos += 1
                if not said and not explicit:
                    raise NotACall
                return said
            if char == ",":
                source.pos += 1
                continue
            count = 0
            if char.isalpha() or char == "_":
                count = yield from self._statement_in_list(said)
            elif char and char in "{[":
                count = yield from self._one(char, explicit=explicit)
            if not count and not said:
                raise NotACall
            if not count:
                return said
            said += count

    def _statement_in_list(self, said: int) -> Reading[int]:
        """An item of a list of calls in code: `[f(x=1), g()]`; 0 if it is none, after others that were."""
        code = self._code()
        code.open.append("]")
        mark = self.source.mark()
        try:
            value = yield from code.expression()
        except Bad as bad:
            if said and self._tool_named_in(self.source.since(mark)) is None:
                return 0
            return self._broken_code(bad, self.source.since(mark))
        finally:
            self.source.unmark()
        self.values.tier = code.tier
        return self._followed(Say(value=value), "")

    def _encoded(self, text: Any) -> int:
        """A call written as the text of a string."""
        if not isinstance(text, str) or text.lstrip()[:1] not in ("{", "["):
            raise NotACall
        value = read_whole(text, self.values.keys)
        self.values.repaired("shape")
        return self._said(value, None, explicit=False, raw=text)

    # A name, then its arguments

    def _named(self, explicit: bool) -> Reading[int]:
        source = self.source
        mark = source.mark()
        try:
            word = yield from source.run(NAME)
            if not word:
                raise NotACall
            name = word
            token = yield from self._separators()
            if word in ("function", "tool", "to=functions") and token:
                name = yield from source.run(NAME)
                token = yield from self._separators()
            tool = self.speech.names.resolve(name)
            char = yield from self.values.space()
            if char in "`~" and char and (yield from source.ahead(3)) in ("```", "~~~"):
                yield from self._fence_line()
                char = yield from self.values.space()
            if char == "{" and (tool or (explicit and token)):
                return (yield from self.arguments(name, tool))
            if char == "<" and (yield from source.starts_with("<arg_key>")):
                return (yield from self._pairs(name, tool))
            if tool and explicit and not token and char == "<":
                closing = yield from self.token()
                if closing is not None and closing[0] in ("close", "open"):
                    self.speech.begin(tool).finish({}, self.values.tier)
                    return 1
            source.rewind(mark)
        finally:
            source.unmark()
        return (yield from self._statement(explicit))

    def _separators(self) -> Reading[bool]:
        """Skip what stands between a name and its arguments; whether anything did."""
        found = False
        while True:
            mark = self.source.mark()
            yield from self.values.space()
            token = yield from self.token()
            if token is None or token[0] != "separate":
                self.source.rewind(mark)
                self.source.unmark()
                return found
            self.source.unmark()
            self.source.pos += len(token[1])
            found = True
            if token[1].lower() == "[call_id]":
                yield from self.source.run(re.compile(r"[\w-]*"))

    def arguments(self, name: str, tool: str | None) -> Reading[int]:
        """The object that follows a name."""
        mark = self.source.mark()
        call = self.speech.begin(tool) if tool else None
        try:
            arguments = yield from self.values.object(call)
        except Bad as bad:
            if call is None:
                raise
            call.fail(self.source.since(mark), bad.reason, bad.hint)
            return 1
        finally:
            self.source.unmark()
        if call is None:
            self.unknown(name, name)
        else:
            call.finish(arguments, self.values.tier)
        return 1

    def _pairs(self, name: str, tool: str | None) -> Reading[int]:
        """`<arg_key>…</arg_key><arg_value>…</arg_value>`, as many as come."""
        source = self.source
        arguments: dict[str, Any] = {}
        while (yield from self.values.space()) == "<" and (yield from source.starts_with("<arg_key>")):
            source.pos += len("<arg_key>")
            key = yield from source.until("</arg_key>")
            yield from self.values.space()
            if key is None or not (yield from source.starts_with("<arg_value>")):
                raise Cut if (yield from source.at_end()) else Bad("an <arg_key> has no <arg_value>")
            source.pos += len("<arg_value>")
            arguments[key.strip()] = yield from self._tag_value("arg_value")
        if (yield from source.cut_tag()) or (not source.well and (yield from source.at_end())):
            raise Cut
        return self._finish_texts(name, tool, arguments)

    # Tags

    def _tagged(self, explicit: bool) -> Reading[int]:
        """A tag that names the tool: `<function=name>`, `<invoke name="name">`, `<name>`."""
        source = self.source
        tag = yield from self._tag(TAG)
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
        while (parameter := (yield from self._tag(PARAMETER))) is not None:
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
                raise Cut
            self.values.repaired("closers")
        return self._finish_texts(name, tool, arguments)

    def _tag(self, pattern: re.Pattern[str]) -> Reading[re.Match[str] | None]:
        """A tag of this sort, if it comes next: at most 200 characters, not read."""
        source = self.source
        while True:
            text = source.text[source.pos : source.pos + 200]
            if text[:1] not in ("", "<") or ">" in text or len(text) >= 200 or source.ended or "\n" in text:
                return pattern.match(text)
            yield

    def _closing_tag(self) -> Reading[bool]:
        yield from self.values.space()
        tag = yield from self._tag(CLOSING_TAG)
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
            raise Cut
        return self._finish_texts(tool, tool, arguments)

    def _known_children(self, tool: str) -> Reading[dict[str, Any]]:
        """`<city>Oslo</city>`, for as long as the tags are parameters of the tool."""
        source = self.source
        properties = self.speech.specs[tool].parameters.get("properties", {})
        arguments: dict[str, Any] = {}
        while (yield from self.values.space()) == "<":
            tag = yield from self._tag(TAG)
            if tag is None or tag[1] not in properties:
                break
            source.pos += tag.end()
            text = yield from source.until(f"</{tag[1]}>")
            if text is None:
                raise Cut
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
                raise Cut
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
            self.unknown(name, name)
            return 1
        spec = self.speech.specs[tool]
        properties = spec.parameters.get("properties", {})
        for key, text in arguments.items():
            wanted = properties.get(key, {}).get("type")
            if isinstance(text, str) and (wanted in ("array", "object") or key not in properties):
                arguments[key] = read_whole(text, self.values.keys, text)
        self.speech.begin(tool).finish(arguments, self.values.tier)
        return 1

    # Code

    def _code(self) -> Code:
        return Code(self.values)

    def _statement(self, explicit: bool) -> Reading[int]:
        """A statement of code; 0 (by `NotACall`) if no tool is called in it."""
        code = self._code()
        mark = self.source.mark()
        try:
            statement = yield from code.line()
        except Bad as bad:
            if not isinstance(bad, Cut) and not explicit:
                raise NotACall from None
            return self._broken_code(bad, self.source.since(mark))
        finally:
            raw = self.source.since(mark)
            self.source.unmark()
        if statement is None or isinstance(statement, Nothing):
            raise NotACall
        self.values.tier = code.tier
        # What it binds stays bound, though as text it is shown.
        said = self._followed(statement, raw)
        if not said:
            raise NotACall
        return said

    def _broken_code(self, bad: Bad, raw: str) -> int:
        tool = self._tool_named_in(raw)
        if tool is None:
            raise NotACall
        self.speech.malformed(tool, raw, bad.reason, bad.hint)
        return 1

    def block(self, *, python: bool) -> Reading[int]:
        """The statements of a fenced block, up to its end. What is no call is told as text, statement by statement."""
        code = self._code()
        code.python = python
        said = 0
        while True:
            mark = self.source.mark()
            try:
                code.tier = "none"
                statement = yield from code.statement()
                raw = self.source.since(mark)
                if statement is None:
                    if not said:
                        self.speech.text(raw)
                    return said
                self.values.tier = code.tier
                count = self._followed(statement, raw)
                if not count and not said:
                    self.speech.text(raw)
                said += count
            except Bad as bad:
                raw = self.source.since(mark)
                try:
                    said += self._broken_code(bad, raw)
                except NotACall:
                    self.speech.text(raw)
                return said
            finally:
                self.source.unmark()

    def _followed(self, statement: Statement, raw: str) -> int:
        """Follow a statement; how many calls it said."""
        before = len(self.speech.events)
        if isinstance(statement, Nothing):
            self.meaning.lose_track(raw)
            tool = self._tool_named_in(raw) if statement.why else None
            if tool is not None:
                hint = "Write plain calls with literal values, one per line."
                self.speech.malformed(tool, raw.strip(), statement.why, hint)
        else:
            self._raw = raw
            try:
                self.meaning.follow(statement)
            except Bad as bad:
                self.speech.malformed(None, raw, bad.reason, bad.hint)
            except RecursionError:
                self.speech.malformed(None, raw, "it is nested too deeply", "Write plain calls, one per line.")
        return len(self.speech.events) - before

    def _tool_named_in(self, raw: str) -> str | None:
        for match in re.finditer(r"([\w.$]+)\s*\(", raw[:2000]):
            if not re.search(r"(?:def|function)\s+$", raw[: match.start()]) and (
                tool := self.speech.names.resolve(match[1])
            ):
                return tool
        return None

    def _called_in_code(self, spec: Any, arguments: dict[str, Any]) -> str:
        return self.speech.begin(spec.name).finish(arguments, self.values.tier)

    def _refused_in_code(self, name: str, why: str) -> None:
        hint = "Use literal values, or results of earlier calls in the same block."
        self.speech.malformed(name, "", why, hint)


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
    except Bad:
        if otherwise is None:
            raise
    if otherwise is None:
        raise Bad("it is not a value")
    return otherwise


def _trimmed(text: str) -> str:
    """Without the one line end at each side that the tags bring with them, and without `<![CDATA[…]]>`."""
    if text.strip().startswith("<![CDATA[") and text.strip().endswith("]]>"):
        return text.strip()[len("<![CDATA[") : -len("]]>")]
    text = text.removeprefix("\r").removeprefix("\n")
    return text.removesuffix("\n").removesuffix("\r") if text.endswith("\n") else text
