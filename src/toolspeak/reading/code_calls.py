"""Calls in code: statements are read (`code/statements.py`), interpreted (`code/interpreter.py`) and emitted."""

import re
from typing import Any

from toolspeak.reading.code.budget import Budget
from toolspeak.reading.code.interpreter import Interpreter
from toolspeak.reading.code.rules import HINT
from toolspeak.reading.code.statements import StatementReader
from toolspeak.reading.code.syntax import NoOp, Statement
from toolspeak.reading.cursor import Cursor, ReadError, Truncated
from toolspeak.reading.emitter import EventEmitter
from toolspeak.reading.shapes import NotACall
from toolspeak.reading.source import Reading
from toolspeak.spec import ToolSpec

CALLED_NAME = re.compile(r"([\w.$]+)\s*\(")
BEFORE_DEFINED_NAME = re.compile(r"(?:def|function)\s+$")


class CodeCallReader:
    """Reads calls from code. Names that one piece of code binds are known in the next.

    Args:
        cursor: Where code is read.
        emitter: Emits the calls.
    """

    def __init__(self, cursor: Cursor, emitter: EventEmitter) -> None:
        self._cursor = cursor
        self._source = cursor.source
        self._emitter = emitter
        self._statements: StatementReader | None = None  # built for the first code: most messages have none
        self._budget = Budget()  # one for the message, also where names are forgotten
        self._interpreter = self._new_interpreter()
        self._raw = ""

    def _new_interpreter(self) -> Interpreter:
        names = self._emitter.names
        return Interpreter(self._emitter.specs, names, self._budget, self._emit_call, self._refuse_call)

    def _begin_code(self, *, python: bool = False) -> StatementReader:
        """Return the reader of statements, ready for a new piece of code."""
        if self._statements is None:
            self._statements = StatementReader(self._cursor)
        self._statements.begin(python=python)
        return self._statements

    def forget(self) -> None:
        """Forget all names that were bound so far: the text so far was reasoning."""
        self._interpreter = self._new_interpreter()

    def read_item(self, count_before: int) -> Reading[int]:
        """Read an item of a list of calls in code: `[f(x=1), g()]`.

        Args:
            count_before: The number of calls that were read in this list before.

        Returns:
            The number of calls in the item, malformed ones included; 0 if it calls no tool and comes after calls.

        Raises:
            NotACall: The first item cannot be read and calls no tool.
        """
        source = self._source
        statements = self._begin_code()
        mark = source.mark()
        try:
            statement = yield from statements.read_list_item()
            if (yield from source.is_at_end()) and not source.ended_well:
                raise Truncated
        except ReadError as error:
            raw = source.since(mark)
            if count_before and self._find_called_tool(raw) is None:
                return 0
            return self._emit_malformed(error, raw)
        finally:
            source.unmark()
        self._budget.extend(source.here - mark)
        return self._follow(statement, "")

    def read_line(self, *, explicit: bool) -> Reading[int]:
        """Read a statement on a line of its own; return the number of calls in it, malformed ones included.

        Args:
            explicit: Whether a call was announced, so that a statement that cannot be read is malformed and not text.

        Raises:
            NotACall: The statement calls no tool.
        """
        source = self._source
        statements = self._begin_code()
        mark = source.mark()
        try:
            self._interpreter.stopped = False
            statement = yield from statements.read_line()
        except ReadError as error:
            if not isinstance(error, Truncated) and not explicit:
                raise NotACall from None
            return self._emit_malformed(error, source.since(mark))
        finally:
            raw = source.since(mark)
            source.unmark()
        if statement is None or isinstance(statement, NoOp):
            raise NotACall
        # Names that it binds stay bound, even if it is shown as text.
        self._budget.extend(len(raw))
        count = self._follow(statement, raw)
        if not count:
            raise NotACall
        return count

    def read_block(self, *, python: bool) -> Reading[int]:
        """Read the statements of a fenced block, up to its end; return the number of calls, malformed ones included.

        Statements before the first call are emitted as text.
        """
        source = self._source
        statements = self._begin_code(python=python)
        self._interpreter.stopped = False
        count = 0
        while True:
            mark = source.mark()
            try:
                self._cursor.reset()
                statement = yield from statements.read()
                raw = source.since(mark)
                if statement is None:
                    if not count:
                        self._emitter.emit_text(raw)
                    return count
                self._budget.extend(len(raw))
                calls = self._follow(statement, raw)
                if not calls and not count:
                    self._emitter.emit_text(raw)
                count += calls
            except ReadError as error:
                raw = source.since(mark)
                try:
                    count += self._emit_malformed(error, raw)
                except NotACall:
                    self._emitter.emit_text(raw)
                return count
            finally:
                source.unmark()

    def _follow(self, statement: Statement, raw: str) -> int:
        """Interpret a statement; return the number of events that were emitted for it."""
        before = len(self._emitter.events)
        if isinstance(statement, NoOp):
            self._interpreter.lose_track(raw)
            tool = self._find_called_tool(raw) if statement.reason else None
            if tool is not None:
                self._emitter.emit_malformed(tool, raw.strip(), statement.reason, HINT)
        else:
            self._raw = raw.strip()
            try:
                self._interpreter.follow(statement)
            except ReadError as error:
                self._emitter.emit_malformed(None, raw, error.reason, error.hint)
            except RecursionError:
                self._emitter.emit_malformed(None, raw, "it is nested too deeply", "Write plain calls, one per line.")
        return len(self._emitter.events) - before

    def _find_called_tool(self, raw: str) -> str | None:
        """Return the first tool that a piece of code calls, as far as names and parentheses tell."""
        for match in CALLED_NAME.finditer(raw[:2000]):
            if not BEFORE_DEFINED_NAME.search(raw[: match.start()]) and (tool := self._emitter.names.resolve(match[1])):
                return tool
        return None

    def _emit_malformed(self, error: ReadError, raw: str) -> int:
        """Emit a malformed call for code that could not be read; return 1.

        Raises:
            NotACall: The code calls no tool.
        """
        tool = self._find_called_tool(raw)
        if tool is None:
            raise NotACall
        self._emitter.emit_malformed(tool, raw, error.reason, error.hint)
        return 1

    # Callbacks of the interpreter

    def _emit_call(self, spec: ToolSpec, arguments: dict[str, Any]) -> str:
        return self._emitter.start_call(spec.name).finish(arguments, self._cursor.tier)

    def _refuse_call(self, name: str, reason: str) -> None:
        hint = "Use literal values, or results of earlier calls in the same block."
        self._budget.count_refusal(len(self._raw) + len(reason))
        self._emitter.emit_malformed(name, self._raw, reason, hint)
