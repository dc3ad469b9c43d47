"""Calls in code: statements are read (`code.py`), followed (`meaning.py`) and told."""

import re
from typing import Any

from toolspeak.reading.code.interpreter import Interpreter
from toolspeak.reading.code.statements import Code
from toolspeak.reading.code.syntax import ExprStatement, Nothing, Statement
from toolspeak.reading.emitter import EventEmitter
from toolspeak.reading.shapes import NotACall
from toolspeak.reading.source import Reading, Source
from toolspeak.reading.strings import ReadError, Truncated
from toolspeak.reading.values import Values


class CodeCallReader:
    """Reads calls from code. What one block binds is known in the next."""

    def __init__(self, source: Source, speech: EventEmitter, values: Values) -> None:
        self.source = source
        self.speech = speech
        self.values = values
        self.meaning = self._fresh_meaning()
        self._raw = ""

    def _fresh_meaning(self) -> Interpreter:
        return Interpreter(self.speech.specs, self.speech.names, self._called_in_code, self._refused_in_code)

    def forget(self) -> None:
        """Start again: what was bound so far was reasoning."""
        self.meaning = self._fresh_meaning()

    def item(self, said: int) -> Reading[int]:
        """An item of a list of calls in code: `[f(x=1), g()]`; 0 if it is none, after others that were."""
        code = self._code()
        code.open.append("]")
        mark = self.source.mark()
        try:
            value = yield from code.item()
            if (yield from self.source.at_end()) and not self.source.well:
                raise Truncated
        except ReadError as bad:
            if said and self._tool_named_in(self.source.since(mark)) is None:
                return 0
            return self._broken_code(bad, self.source.since(mark))
        finally:
            self.source.unmark()
        self.values.tier = code.tier
        return self._followed(ExprStatement(value=value), "")

    def _code(self) -> Code:
        return Code(self.values)

    def line(self, *, explicit: bool) -> Reading[int]:
        """A statement of code; 0 (by `NotACall`) if no tool is called in it."""
        code = self._code()
        mark = self.source.mark()
        try:
            self.meaning.stopped = False
            statement = yield from code.line()
        except ReadError as bad:
            if not isinstance(bad, Truncated) and not explicit:
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

    def _broken_code(self, bad: ReadError, raw: str) -> int:
        tool = self._tool_named_in(raw)
        if tool is None:
            raise NotACall
        self.speech.emit_malformed(tool, raw, bad.reason, bad.hint)
        return 1

    def block(self, *, python: bool) -> Reading[int]:
        """The statements of a fenced block, up to its end. What is no call is told as text, statement by statement."""
        code = self._code()
        code.python = python
        self.meaning.stopped = False
        said = 0
        while True:
            mark = self.source.mark()
            try:
                code.tier = "none"
                statement = yield from code.statement()
                raw = self.source.since(mark)
                if statement is None:
                    if not said:
                        self.speech.emit_text(raw)
                    return said
                self.values.tier = code.tier
                count = self._followed(statement, raw)
                if not count and not said:
                    self.speech.emit_text(raw)
                said += count
            except ReadError as bad:
                raw = self.source.since(mark)
                try:
                    said += self._broken_code(bad, raw)
                except NotACall:
                    self.speech.emit_text(raw)
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
                self.speech.emit_malformed(tool, raw.strip(), statement.why, hint)
        else:
            self._raw = raw
            try:
                self.meaning.follow(statement)
            except ReadError as bad:
                self.speech.emit_malformed(None, raw, bad.reason, bad.hint)
            except RecursionError:
                self.speech.emit_malformed(None, raw, "it is nested too deeply", "Write plain calls, one per line.")
        return len(self.speech.events) - before

    def _tool_named_in(self, raw: str) -> str | None:
        for match in re.finditer(r"([\w.$]+)\s*\(", raw[:2000]):
            if not re.search(r"(?:def|function)\s+$", raw[: match.start()]) and (
                tool := self.speech.names.resolve(match[1])
            ):
                return tool
        return None

    def _called_in_code(self, spec: Any, arguments: dict[str, Any]) -> str:
        return self.speech.start_call(spec.name).finish(arguments, self.values.tier)

    def _refused_in_code(self, name: str, why: str) -> None:
        hint = "Use literal values, or results of earlier calls in the same block."
        self.speech.emit_malformed(name, self._raw.strip(), why, hint)
