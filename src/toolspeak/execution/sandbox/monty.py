"""`monty` mode: pydantic-monty, an interpreter for a part of Python without access to files, network or processes.

It is imported when code is run, not before. Each run has a pool of its own: that costs some milliseconds, and nothing
is kept from one run to the next. `run_monty` runs code to its end. `MontyProgram` runs code step by step, and stops at
each call of a function of the host: time is counted only while the code computes, and the random numbers are the same
each time, so that a program that is run again, with the same results, makes the same calls.

A value that came out of monty may be small in memory, and yet endless when it is written: a list that holds one list a
thousand times, which holds another list a thousand times, and so on. So neither `repr` nor a conversion may see a value
of unknown size. `format_value` shows a value as a Python shell does, with work in proportion to the shown text, and
`measure_value` returns the size that it has when it is written, with work in proportion to a limit.
"""

import importlib
import importlib.util
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from contextlib import ExitStack
from itertools import chain, islice
from typing import Any, NamedTuple, TypeAlias, cast

from toolspeak.execution.sandbox.options import CodeResult, SandboxLimits
from toolspeak.values.errors import UsageError

MAX_DEPTH = 40
"""How many levels of a nested value are shown."""

VALUE_BYTES = 16
"""Bytes that count for a value beside its text: a list of numbers takes several times as much as its digits."""

KILL_GRACE_SECONDS = 0.25
"""How long after its time limit a worker that does not notice the limit is killed."""

_VALUE_ERRORS = (ArithmeticError, RecursionError, TypeError, ValueError)
"""Errors at a value that CPython cannot convert or print, such as a number of ten thousand digits."""

_Pieces: TypeAlias = "Iterator[str | Iterator[str]]"
"""The text of a value in pieces: some characters, or an iterator over characters."""

_BRACKETS: dict[type[Any], str] = {list: "[]", tuple: "()", set: "{}", frozenset: "{}", dict: "{}"}


class _OutputLimitReached(Exception):
    """The code printed more than it may."""


def has_monty() -> bool:
    """Whether pydantic-monty is installed."""
    return importlib.util.find_spec("pydantic_monty") is not None


def run_monty(code: str, limits: SandboxLimits) -> CodeResult:
    """Run code in monty.

    Raises:
        UsageError: Monty is not installed.
    """
    monty = _import_monty()
    printed = _PrintBuffer(limits.output)
    try:
        pool = monty.Monty(**_pool_options(limits), turn_duration_limit_grace=KILL_GRACE_SECONDS)
        with pool, pool.checkout(limits=_session_limits(limits)) as session:
            value = session.feed_run(code, print_callback=printed)
        text = None if value is None else format_value(value, limits.output)
    except (monty.MontyCrashedError, monty.MontyError, *_VALUE_ERRORS) as error:
        return _describe_failure(monty, error, printed, limits)
    except OSError as error:
        raise UsageError(f"monty could not be started: {error}; pip install toolspeak[sandbox] brings it") from error
    return CodeResult(mode="monty", value=text, stdout=printed.text)


def _import_monty() -> Any:
    try:
        return importlib.import_module("pydantic_monty")
    except ImportError:
        raise UsageError("running Python in monty needs pydantic-monty: pip install toolspeak[sandbox]") from None


def _pool_options(limits: SandboxLimits) -> dict[str, Any]:
    return {
        "min_processes": 1,
        "max_processes": 1,
        "request_timeout": limits.seconds + KILL_GRACE_SECONDS,
        "feed_duration_limit_grace": KILL_GRACE_SECONDS,
    }


def _session_limits(limits: SandboxLimits) -> dict[str, Any]:
    return {
        "max_feed_duration_secs": limits.seconds,
        "max_total_sleep_secs": limits.seconds,
        "max_memory": limits.memory,
        "max_recursion_depth": limits.recursion,
    }


def _describe_failure(monty: Any, error: Any, printed: "_PrintBuffer", limits: SandboxLimits) -> CodeResult:
    """Return the result of code that failed, that reached a limit, or whose interpreter was killed or ended."""
    if not isinstance(error, (monty.MontyCrashedError, monty.MontyError)):
        return CodeResult(mode="monty", stdout=printed.text, error=f"{type(error).__name__}: {error}")
    if isinstance(error, monty.MontyCrashedError):
        cause = f"it took longer than {limits.seconds:g} seconds" if error.timed_out else "the interpreter ended"
        text = f"stopped: {cause}"
    elif printed.is_full:
        text = f"stopped: it printed more than {limits.output} characters"
    else:
        # The traceback of an endless recursion is long, and its end says what went wrong: the end is kept.
        text = (error.display() if hasattr(error, "display") else str(error))[-limits.output :].strip()
        stopped = isinstance(error.exception(), (TimeoutError, MemoryError, RecursionError))
        return CodeResult(mode="monty", stdout=printed.text, error=text, stopped=stopped)
    return CodeResult(mode="monty", stdout=printed.text, error=text, stopped=True)


class _PrintBuffer:
    """Collects what is printed up to a limit, and ends the run beyond it."""

    def __init__(self, max_chars: int) -> None:
        self._max_chars = max_chars
        self._pieces: list[str] = []
        self._size = 0

    def __call__(self, stream: str, text: str) -> None:
        self._pieces.append(text[: max(0, self._max_chars - self._size)])
        self._size += len(text)
        if self.is_full:
            raise _OutputLimitReached

    @property
    def is_full(self) -> bool:
        """Whether more was printed than may be."""
        return self._size > self._max_chars

    @property
    def text(self) -> str:
        """What was printed, up to the limit."""
        return "".join(self._pieces)


class ProgramCall(NamedTuple):
    """A call of a function of the host, at which a program waits."""

    name: str
    args: tuple[Any, ...]
    kwargs: dict[str, Any]


class MontyProgram:
    """A program that calls functions of the host."""

    def __init__(self, code: str, names: Collection[str], limits: SandboxLimits) -> None:
        """Prepare a program that may call functions of these names. Raises `UsageError` if monty is not installed."""
        self._monty = _import_monty()
        self._code = code.encode("utf-8", errors="replace").decode()  # a lone surrogate cannot be encoded
        self._names = frozenset(names)
        self._limits = limits
        self._printed = _PrintBuffer(limits.output)
        self._stack = ExitStack()
        self._snapshot: Any = None

    def start(self) -> ProgramCall | CodeResult:
        """Run the code to its first call, or to its end."""
        limits = _session_limits(self._limits) | {"max_suspensions": 1000}  # calls, the lookups of names included
        try:
            pool = self._stack.enter_context(self._monty.Monty(**_pool_options(self._limits)))
            session = self._stack.enter_context(pool.checkout(limits=limits, os_policy={"random_start": {"seed": 0}}))
        except OSError as error:
            raise UsageError(f"monty could not start: {error}; pip install toolspeak[sandbox] brings it") from error
        stand_in: Callable[..., None] = lambda *args, **kwargs: None  # noqa: E731 (functions are called elsewhere)
        lookup = dict.fromkeys(self._names, stand_in)
        return self._step(lambda: session.feed_start(self._code, external_lookup=lookup, print_callback=self._printed))

    def resume(self, value: Any) -> ProgramCall | CodeResult:
        """Give the result of the call at which the program waits, and run it to its next call or its end."""
        return self._step(lambda: self._snapshot.resume({"return_value": value}))

    def fail(self, error: Exception) -> ProgramCall | CodeResult:
        """Raise an error in the call at which the program waits, and run it to its next call or its end."""
        return self._step(lambda: self._snapshot.resume({"exception": error}))

    def close(self) -> None:
        """End the interpreter."""
        self._stack.close()

    def _step(self, go_on: Any) -> ProgramCall | CodeResult:
        """Run to the next call or the end. Whatever else the code asks of its host is refused."""
        monty = self._monty
        try:
            self._snapshot = go_on()
            while not isinstance(self._snapshot, monty.MontyComplete):
                if isinstance(self._snapshot, monty.NameLookupSnapshot):
                    self._snapshot = self._snapshot.resume_auto()
                elif isinstance(self._snapshot, monty.FutureSnapshot):
                    return self._finish(error="stopped: functions are called without await")
                elif self._snapshot.is_os_function:
                    self._snapshot = self._snapshot.resume_not_handled()
                elif self._snapshot.function_name not in self._names:
                    missing = NameError(f"name {self._snapshot.function_name!r} is not defined")
                    self._snapshot = self._snapshot.resume({"exception": missing})
                else:
                    snapshot = self._snapshot
                    return ProgramCall(snapshot.function_name, tuple(snapshot.args), dict(snapshot.kwargs))
            value = self._snapshot.output
            return self._finish(value=None if value is None else format_value(value, self._limits.output))
        except (monty.MontyCrashedError, monty.MontyError, *_VALUE_ERRORS) as error:
            return _describe_failure(monty, error, self._printed, self._limits)

    def _finish(self, value: str | None = None, error: str | None = None) -> CodeResult:
        return CodeResult(mode="monty", value=value, stdout=self._printed.text, error=error)


def measure_value(value: Any, limit: int) -> int:
    """Return about how many bytes a value takes when it is written or copied; if they are more than `limit`, just more.

    What a value holds twice counts twice.
    """
    size = 0
    waiting: list[Iterator[Any]] = [iter((value,))]  # a stack of iterators: the items of a long list are not copied
    while waiting and size <= limit:
        for each in waiting[-1]:
            size += VALUE_BYTES
            if isinstance(each, str):
                size += len(each) if each.isascii() else 4 * len(each)
            elif isinstance(each, bytes):
                size += len(each)
            elif isinstance(each, int):
                size += each.bit_length() // 3
            elif (items := _list_items(each)) is not None:
                waiting.append(items)
                break
            if size > limit:
                break
        else:
            waiting.pop()
    return size


def _list_items(value: Any) -> Iterator[Any] | None:
    """Return the values that a value holds; None if it holds none."""
    if isinstance(value, list | tuple | set | frozenset):
        return iter(cast("Iterable[Any]", value))
    if isinstance(value, Mapping):
        return chain.from_iterable(cast("Mapping[Any, Any]", value).items())
    if isinstance(value, BaseException):
        return iter(value.args)
    attributes: Any = getattr(value, "attributes", None)  # of an instance of the code's own class
    return _list_items(attributes) if isinstance(attributes, Mapping) else None


def format_value(value: Any, max_chars: int) -> str:
    """Return the text of a value, cut after `max_chars` characters."""
    text = "".join(islice(_characters(value, max_chars, 0), max_chars + 1))
    return text if len(text) <= max_chars else f"{text[:max_chars]}…"


def _characters(value: Any, max_chars: int, depth: int) -> Iterator[str]:
    for piece in _value_pieces(value, max_chars, depth):
        yield from piece


def _value_pieces(value: Any, max_chars: int, depth: int) -> _Pieces:
    if isinstance(value, str | bytes):
        yield repr(value[: max_chars + 1])
    elif isinstance(attributes := getattr(value, "attributes", None), Mapping):  # an instance of the code's own class
        yield from _named_pieces(value.name, cast("Mapping[Any, Any]", attributes).items(), max_chars, depth)
    elif isinstance(fields := getattr(value, "_fields", None), tuple):  # a named tuple
        names = cast("tuple[str, ...]", fields)
        yield from _named_pieces(type(value).__name__, zip(names, value, strict=False), max_chars, depth)
    elif isinstance(value, BaseException):
        yield f"{type(value).__name__}("
        yield from _item_pieces(((None, each) for each in value.args), None, max_chars, depth)
        yield ")"
    elif isinstance(value, Collection):
        yield from _collection_pieces(cast("Collection[Any]", value), max_chars, depth)
    else:
        yield repr(value)


def _named_pieces(name: str, items: Iterable[tuple[Any, Any]], max_chars: int, depth: int) -> _Pieces:
    yield f"{name}("
    yield from _item_pieces(items, "=", max_chars, depth)
    yield ")"


def _collection_pieces(value: Collection[Any], max_chars: int, depth: int) -> _Pieces:
    kind: type[Any] = type(value)
    name = "" if kind in (list, tuple, set, dict) else kind.__name__
    is_mapping = isinstance(value, Mapping)
    brackets = "{}" if is_mapping else _BRACKETS.get(kind, "[]")
    if not value and kind not in (list, tuple, dict):
        yield f"{kind.__name__}()"
        return
    yield f"{name}({brackets[0]}" if name else brackets[0]
    items = cast("Mapping[Any, Any]", value).items() if is_mapping else ((None, item) for item in value)
    yield from _item_pieces(items, ": " if is_mapping else None, max_chars, depth)
    is_single = kind is tuple and len(value) == 1
    yield f"{',' if is_single else ''}{brackets[1]}{')' if name else ''}"


def _item_pieces(items: Iterable[tuple[Any, Any]], separator: str | None, max_chars: int, depth: int) -> _Pieces:
    """Yield the items; `separator` stands between a key or name and its value, and is None where there are no keys."""
    if depth >= MAX_DEPTH:
        yield "…"
        return
    for place, (key, item) in enumerate(items):
        if place:
            yield ", "
        if separator is not None:
            yield str(key) if separator == "=" else _characters(key, max_chars, depth + 1)
            yield separator
        yield _characters(item, max_chars, depth + 1)
