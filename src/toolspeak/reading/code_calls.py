"""Calls in code: statements are read (`code/statements.py`), interpreted (`code/interpreter.py`) and emitted."""

import re
from collections.abc import Callable
from typing import Any, TypeVar

from toolspeak.reading.code.interpreter import Interpreter
from toolspeak.reading.code.layout import HINT
from toolspeak.reading.code.plain_calls import PlainCallReader
from toolspeak.reading.code.statements import StatementReader
from toolspeak.reading.code.syntax import Invocation, Name, NoOp, ObjectLiteral, Statement, walk
from toolspeak.reading.cursor import Ambiguous, Cursor, ReadError, Truncated
from toolspeak.reading.doubt import QUOTE, CallDoubt, Meaning, skip_block
from toolspeak.reading.emitter import EventEmitter
from toolspeak.reading.forms import next_token
from toolspeak.reading.shapes import NotACall
from toolspeak.reading.source import Reading, run_to_end
from toolspeak.values.spec import ToolSpec

T = TypeVar("T")

STATEMENT_END = re.compile(r"[ \t\r;}]*")
CALLED_NAME = re.compile(r"(?:\b(def|function)\s++)?(?<![\w.$])([\w.$]++)\s*+\(")
"""A name before a parenthesis, and the word before it if the name is being defined and not called."""


class CodeCallReader:
    """Reads calls from code. Names that one piece of code binds are known in the next."""

    def __init__(self, cursor: Cursor, emitter: EventEmitter) -> None:
        self._cursor = cursor
        self._source = cursor.source
        self._emitter = emitter
        self._plain_calls = PlainCallReader(cursor.source, emitter.specs)
        self._statements: StatementReader | None = None  # built for the first code: most messages have none
        self._budget = cursor.source.budget  # of the message, also where names are forgotten
        self._interpreter = self._new_interpreter()
        self._raw = ""
        self._sound_to = -1  # the end of a line whose rest is known to be sound

    def _new_interpreter(self) -> Interpreter:
        names = self._emitter.names
        return Interpreter(self._emitter.specs, names, self._budget, self._emit_call, self._refuse_call)

    def _begin_code(self, *, python: bool = False) -> None:
        """Prepare the reader of statements for a new piece of code."""
        if self._statements is None:
            self._statements = StatementReader(self._cursor)
        self._statements.begin(python=python)

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
        self._begin_code()
        mark = source.mark()
        try:
            statement = yield from self._read_certain(mark, StatementReader.read_list_item)
            if (yield from source.is_at_end()) and not source.ended_well:
                raise Truncated
        except Ambiguous:
            raise
        except ReadError as error:
            raw = source.since(mark)
            if count_before and self.find_called_tool(raw) is None:
                return 0
            return self._emit_malformed(error, raw)
        finally:
            self._cursor.open = []
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
        self._begin_code()
        mark = source.mark()
        try:
            self._interpreter.stopped = False
            self._cursor.announced = explicit
            statement = yield from self._read_certain(mark, StatementReader.read_line)
        except ReadError as error:
            if not isinstance(error, Truncated | Ambiguous) and not explicit:
                raise NotACall from None
            if isinstance(error, Ambiguous):
                yield from skip_block(self._cursor)
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
        self._begin_code(python=python)
        self._interpreter.stopped = False
        count = 0
        while True:
            mark = source.mark()
            try:
                self._cursor.reset()
                statement = yield from self._plain_calls.read(python=python)
                if statement is None:
                    statement = yield from self._read_certain(mark, StatementReader.read)
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
                if isinstance(error, Ambiguous):
                    yield from skip_block(self._cursor)
                raw = source.since(mark)
                try:
                    count += self._emit_malformed(error, raw)
                except NotACall:
                    self._emitter.emit_text(raw)
                return count
            finally:
                source.unmark()

    def _read_certain(self, mark: int, read: Callable[[StatementReader], Reading[T]]) -> Reading[T]:
        """Read a statement that begins at `mark`, of which there must be no second reading."""
        cursor = self._cursor
        statements = self._statements or StatementReader(cursor)
        python = statements.python

        def reread(other: Cursor) -> Reading[Any]:
            again = StatementReader(other)
            again.begin(python=python)
            # A statement of a block is read like a line: one that cannot be read is no reading, and is not skipped.
            return StatementReader.read_line(again) if read is StatementReader.read else read(again)

        doubt = CallDoubt(cursor, mark, reread, self._find_meaning, self._is_line_sound)
        in_block = cursor.announced or bool(cursor.block_end)
        statement = yield from doubt.read(read(statements), may_be_prose=not in_block)
        if isinstance(statement, NoOp) and statement.reason:
            raw = self._source.since(mark)
            if QUOTE.search(raw) and self.find_called_tool(raw) and (yield from doubt.has_reading()):
                raise Ambiguous
        return statement

    def _is_line_sound(self, cursor: Cursor) -> Reading[bool]:
        """Whether the rest of the line after a statement can be read too; mostly there is none.

        The rest is read once, after the first statement of the line, however many statements follow.
        """
        source = cursor.source
        is_first_reading = cursor is self._cursor
        if (yield from source.peek(1)) in ("", "\n", "\r", ",", "]", "`"):
            return True
        if is_first_reading and source.here < self._sound_to:
            return True
        if not source.may_rewind:
            return False
        mark = source.mark()
        try:
            if (yield from source.read_while(STATEMENT_END)) and (yield from source.peek(1)) in ("", "\n"):
                return True
            if (yield from next_token(source)) is not None or (yield from source.peek(3)) == "```":
                return True
            line = yield from source.read_line()
            end = source.here
        finally:
            source.return_to(mark)
        is_sound = self._can_read(line)
        if is_sound and is_first_reading:
            self._sound_to = end
        return is_sound

    def _can_read(self, line: str) -> bool:
        """Whether a line consists of statements that can be read."""
        source = self._source.open_inner(line + "\n")
        cursor = Cursor(source, self._cursor.keys)
        statements = StatementReader(cursor)
        statements.begin(python=self._statements is not None and self._statements.python)
        try:
            while run_to_end(statements.read_line()) is not None:
                pass
        except ReadError:
            return False
        rest = source.text[source.pos :].strip()
        return not cursor.doubts and (not rest or (rest[0] == "<" and QUOTE.search(rest) is None))

    def _find_meaning(self, statement: Statement | None) -> Meaning | None:
        """Return what a statement calls; None if it could not be read."""
        if statement is None:
            return None
        nodes = list(walk([statement]))
        if any(isinstance(node, NoOp) and node.reason for node in nodes):
            return None
        is_complete = all(self._has_required(node) for node in nodes if isinstance(node, Invocation))
        return Meaning(calls=statement, is_complete=is_complete)

    def _has_required(self, node: Invocation) -> bool:
        """Whether a call of a tool leaves out no required argument; True for any other call."""
        tool = self._emitter.names.resolve(node.callee.name) if isinstance(node.callee, Name) else None
        if tool is None:
            return True
        given = {key for key, _ in node.keywords}
        args = len(node.args)
        if args == 1 and isinstance(node.args[0], ObjectLiteral):
            given |= {key for key, _ in node.args[0].items}
            args = 0
        if None in given:
            return True
        required = self._emitter.specs[tool].parameters.get("required", ())
        return sum(key not in given for key in required) <= args

    def _follow(self, statement: Statement, raw: str) -> int:
        """Interpret a statement; return the number of events that were emitted for it."""
        before = len(self._emitter.events)
        if isinstance(statement, NoOp):
            self._interpreter.lose_track(raw)
            tool = self.find_called_tool(raw) if statement.reason else None
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

    def find_called_tool(self, raw: str) -> str | None:
        """Return the first tool that a piece of code calls, as far as names and parentheses tell."""
        for match in CALLED_NAME.finditer(raw[:2000]):
            if not match[1] and (tool := self._emitter.names.resolve(match[2])):
                return tool
        return None

    def _emit_malformed(self, error: ReadError, raw: str) -> int:
        """Emit a malformed call for code that could not be read; return 1.

        Raises:
            NotACall: The code calls no tool.
        """
        tool = self.find_called_tool(raw)
        if tool is None:
            raise NotACall
        self._emitter.emit_malformed(tool, raw, error.reason, error.hint)
        return 1

    # Callbacks of the interpreter

    def _emit_call(self, spec: ToolSpec, arguments: dict[str, Any]) -> str:
        return self._emitter.start_call(spec.name).finish(arguments, self._cursor.tier)

    def _refuse_call(self, name: str, reason: str) -> None:
        hint = "Write values out, texts in quotes, or use results of earlier calls in the same block."
        self._budget.count_refusal(len(self._raw) + len(reason))
        self._emitter.emit_malformed(name, self._raw, reason, hint)
