"""`ProgramModel`: a program in the place of a model. Each message that it writes is the next call of the program.

So a program has all that a run has: its calls are validated, approved, limited, recorded, cancelled and resumed as the
calls of a model are. A program whose run is resumed is run again from its start, with the recorded results; it must
make the same calls as before.

A program runs in Python, whose values are more than those of JSON. What has a plain form in JSON gets it: a tuple is a
list, a date is its ISO text. What would be lost or changed on the way is refused with a `TypeError`, which is raised in
the program at the call.

What a program and its functions pass to each other is kept, as facts of the run, when the program and its memory are
gone. So it is counted, for all calls of a program together (`SandboxLimits.transfer`), before it is converted.
"""

import json
import math
import threading
from collections.abc import AsyncGenerator, Iterator, Mapping, Sequence
from typing import Any, cast

from toolspeak.execution.sandbox import CodeResult, SandboxLimits
from toolspeak.execution.sandbox.monty import MontyProgram, Packed, ProgramCall, measure_value
from toolspeak.execution.user_functions import call_function
from toolspeak.models import Request
from toolspeak.reading.values import MAX_VALUE_NESTING
from toolspeak.values.coercion import coerce_arguments
from toolspeak.values.events import Fact, ToolFinished, Usage
from toolspeak.values.messages import Media, Message, Part, Result, Text, ToolCall, ToolResult
from toolspeak.values.pieces import Answer, ApiCall, Piece
from toolspeak.values.spec import ToolSpec

MAX_INTEGER_BITS = 14_000
"""Bits of an integer; Python writes no more than 4,300 digits."""

TOO_MANY_DIGITS = "an integer has too many digits"


def name_arguments(spec: ToolSpec, call: ProgramCall) -> dict[str, Any]:
    """Return the arguments of a call by name, as JSON values in the form of the schema.

    Raises:
        TypeError: The call has too many arguments, two values for one parameter, or a value that JSON does not have.
    """
    names = list(spec.parameters["properties"])
    if len(call.args) > len(names):
        raise TypeError(f"{call.name}() has too many arguments: {len(call.args)}; it takes {len(names)}")
    named = dict(zip(names, call.args, strict=False))
    if doubled := next((name for name in call.kwargs if name in named), None):
        raise TypeError(f"{call.name}() got multiple values for argument {doubled!r}")
    try:
        coerced = coerce_arguments(_to_json(named | call.kwargs), spec.parameters)
        return _to_json(coerced)  # a text that was read as numbers or lists must keep the rules too
    except (ValueError, RecursionError) as error:
        raise TypeError(f"{call.name}() cannot take these arguments: {error}") from error


def _to_json(value: Any, depth: int = 0) -> Any:
    if depth > MAX_VALUE_NESTING:
        raise ValueError(f"lists and dicts are nested more than {MAX_VALUE_NESTING} deep")
    if isinstance(value, Packed):
        return _unpack_json(value, depth)
    if isinstance(value, dict):
        return {key: _to_json(each, depth + 1) for key, each in cast("dict[str, Any]", value).items()}
    if isinstance(value, list):
        return [_to_json(each, depth + 1) for each in cast("list[Any]", value)]
    if isinstance(value, float) and not math.isfinite(value):
        raise ValueError(f"{value} is no number of JSON")
    if isinstance(value, int) and value.bit_length() > MAX_INTEGER_BITS:
        raise ValueError(TOO_MANY_DIGITS)
    if isinstance(value, bytes):
        try:
            return value.decode()
        except UnicodeDecodeError:
            raise ValueError("bytes that are not text in UTF-8; pass text, such as data.hex()") from None
    plain = _convert(value)
    return _to_json(plain, depth) if isinstance(plain, dict | list) else plain


def _unpack_json(value: Packed, depth: int) -> Any:
    if value.kind == "other":
        if value.text.startswith("<") and " at 0x" in value.text:
            raise ValueError(f"{value.text[:100]} has no form in JSON; pass what it holds")
        return value.text
    if value.kind == "huge":
        raise ValueError(TOO_MANY_DIGITS)
    if value.kind == "named":
        return [_to_json(each, depth + 1) for each in value.items[1::2]]
    if value.kind != "dict":
        return [_to_json(each, depth + 1) for each in value.items]
    found: dict[str, Any] = {}
    for key, each in zip(value.items[::2], value.items[1::2], strict=False):
        name = _name_key(key)
        if name in found:
            raise ValueError(f"two keys of a dict are {name!r} in JSON")
        found[name] = _to_json(each, depth + 1)
    return found


def _name_key(key: Any) -> str:
    """Return the text that a key of a dict is in JSON."""
    if isinstance(key, str):
        return key
    if not isinstance(key, Packed):
        return next(iter(_convert({key: None})))
    if key.kind in ("tuple", "named"):
        return ",".join(map(_name_key, key.items[1::2] if key.kind == "named" else key.items))
    if key.kind == "huge":
        raise ValueError(TOO_MANY_DIGITS)
    if key.kind == "other":
        return key.text
    raise ValueError(f"a {key.kind} is no key of a dict in JSON")


def _convert(value: Any) -> Any:
    from pydantic_core import to_jsonable_python  # imported with the first value that needs it

    return to_jsonable_python(value, fallback=str)


NO_OUTPUT = "(nothing was printed, and the last line has no value: use print)"

MAX_PRINTED_BEFORE_ERROR = 1_500
"""Characters of what a program printed that are shown before its error, so that the error is not cut off."""

CHANGED_COURSE = (
    "stopped: the program was interrupted, and run again it took another course than before; look at what its calls "
    "have done, and write another program for the rest"
)


class ProgramModel:
    """A program that a model wrote, as a model whose messages are its calls.

    Attributes:
        result: How the program ended; None if it has not.
        media: The images and files that its calls returned.
    """

    name = "program"
    dialect = "native"
    leaks_calls = False

    def __init__(self, specs: Mapping[str, ToolSpec], limits: SandboxLimits, facts: Sequence[Fact] = ()) -> None:
        """Prepare to run a program, which is the first message of the conversation.

        `specs` are the tools, by the names that they have in the program; `facts` are those of the run so far.
        """
        self.result: CodeResult | None = None
        self.media: list[Media] = []
        self._specs = specs
        self._limits = limits
        self._results: dict[str, ToolResult] = {}
        self._program: MontyProgram | None = None
        self._pending: ProgramCall | CodeResult | None = None
        self._answered = 0
        self._transferred = 0
        self._lock = threading.Lock()
        self._is_closed = False
        for fact in facts:
            self.note(fact)

    def cost(self, usage: Usage) -> float:
        """Return what tokens cost: a program has none."""
        return 0.0

    def note(self, fact: Fact) -> None:
        """Keep the result of a call, whose value the conversation holds only as text."""
        if isinstance(fact, ToolFinished):
            self._results[fact.result.call_id] = fact.result
            self.media += fact.result.media

    def close(self) -> None:
        """End the program if it has not ended: at once, or when the thread that runs it comes back."""
        self._is_closed = True
        if self._lock.acquire(blocking=False):
            try:
                self._end_program()
            finally:
                self._lock.release()

    def _end_program(self) -> None:
        if self._program is not None:
            self._program.close()

    async def ask(self, request: Request) -> AsyncGenerator[Sequence[Piece]]:
        """Run the program to its next call or to its end."""
        steps = list(_list_steps(request.shown.messages))
        code = next((message.text for message in request.shown.messages if message.role == "user"), "")
        pending = await call_function(self._run_on, code, steps)
        if isinstance(pending, CodeResult):
            self.result = pending
            part: Part | ApiCall = Text(text=format_result(pending))
        else:
            spec = self._specs[pending.name]
            arguments = json.dumps(name_arguments(spec, pending), ensure_ascii=False)
            part = ApiCall(index=0, id=f"step_{len(steps) + 1}", name=spec.name, arguments=arguments)
        yield [Answer(parts=(part,), finish="stop" if isinstance(part, Text) else "tool_calls", usage=Usage())]

    def _run_on(self, code: str, steps: Sequence[tuple[ToolCall, Result]]) -> ProgramCall | CodeResult:
        """Run the program in this thread. If nobody waits for it any more, it ends here."""
        with self._lock:
            try:
                return self._advance(code, steps)
            finally:
                if self._is_closed or isinstance(self._pending, CodeResult):
                    self._end_program()

    def _advance(self, code: str, steps: Sequence[tuple[ToolCall, Result]]) -> ProgramCall | CodeResult:
        """Give the program the results that it has not got, and return what it does next."""
        if self._program is None:
            self._program = MontyProgram(code, self._specs, self._limits)
            self._pending = self._refuse_bad_calls(self._program, self._program.start())
        for call, result in steps[self._answered :]:
            self._answered += 1
            if isinstance(self._pending, CodeResult) or self._pending is None or not self._is_same(self._pending, call):
                self._pending = CodeResult(mode="monty", error=CHANGED_COURSE, stopped=True)
                break
            self._pending = self._answer(self._program, self._results.get(call.id), result)
        return self._pending or CodeResult(mode="monty", error=CHANGED_COURSE, stopped=True)

    def _answer(self, program: MontyProgram, known: ToolResult | None, result: Result) -> ProgramCall | CodeResult:
        """Give the program the result of the call at which it waits, and return what it does next."""
        if known is not None and known.error is None:
            media = sum(len(each.data or b"") for each in known.media)
            if (stopped := self._count_transfer(known.output, media)) is not None:
                return stopped
            return self._refuse_bad_calls(program, program.resume(known.output))
        text = "".join(part.text for part in result.content if isinstance(part, Text))
        error = text if known is None or known.error is None else known.error
        if (stopped := self._count_transfer(error)) is not None:
            return stopped
        return self._refuse_bad_calls(program, program.fail(RuntimeError(error)))

    def _count_transfer(self, value: Any, more: int = 0) -> CodeResult | None:
        """Count what is passed to or from the program; if it is too much, return the result that stops the program."""
        limit = self._limits.transfer
        self._transferred += more
        self._transferred += measure_value(value, limit - self._transferred)
        if self._transferred <= limit:
            return None
        error = (
            f"stopped: the program and its functions passed more than {limit} bytes to each other; pass less in each "
            "call, or use several programs"
        )
        return CodeResult(mode="monty", error=error, stopped=True)

    def _refuse_bad_calls(self, program: MontyProgram, pending: ProgramCall | CodeResult) -> ProgramCall | CodeResult:
        """Raise an error in calls whose arguments no tool could take, until one is good."""
        while isinstance(pending, ProgramCall):
            more = self._limits.transfer if pending.is_cut else 0
            if (stopped := self._count_transfer((pending.args, pending.kwargs), more)) is not None:
                return stopped
            try:
                name_arguments(self._specs[pending.name], pending)
            except TypeError as error:
                pending = program.fail(error)
            else:
                break
        return pending

    def _is_same(self, pending: ProgramCall, call: ToolCall) -> bool:
        spec = self._specs[pending.name]
        return spec.name == call.name and name_arguments(spec, pending) == call.arguments


def format_result(result: CodeResult) -> str:
    """Return what a program printed, the value of its last expression, and what went wrong."""
    printed = result.stdout.rstrip("\n")
    if result.error is not None and len(printed) > MAX_PRINTED_BEFORE_ERROR:
        printed = f"{printed[:MAX_PRINTED_BEFORE_ERROR]}…"
    parts = (printed, result.value, result.error)
    text = "\n".join(part for part in parts if part)
    return text if text.strip() else NO_OUTPUT


def _list_steps(messages: Sequence[Message]) -> Iterator[tuple[ToolCall, Result]]:
    """Yield the calls so far that have a result, with it."""
    calls = {call.id: call for message in messages for call in message.calls}
    for message in messages:
        for part in message.parts:
            if isinstance(part, Result) and part.call_id in calls:
                yield calls[part.call_id], part
