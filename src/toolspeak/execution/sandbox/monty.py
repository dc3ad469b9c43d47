"""`monty` mode: pydantic-monty, an interpreter for a part of Python without access to files, network or processes.

It is imported when code is run, not before. Each run has a pool of its own: that costs some milliseconds, and nothing
is kept from one run to the next. `run_monty` runs code to its end. `MontyProgram` runs code step by step, and stops at
each call of a function of the host: time is counted only while the code computes, and the random numbers are the same
each time, so that a program that is run again, with the same results, makes the same calls.

A value in monty may be small in memory, and yet endless when it is written or hashed: a tuple that holds one tuple a
thousand times, which holds another tuple a thousand times, and so on. So the host never converts a value of the code.
`BRIDGE`, which runs in monty before the code, packs each argument and the last value into lists of plain values, up to
a limit and within the limits of the sandbox. Only what BRIDGE itself passes is converted: monty says from which source
a call comes, and calls from any other source are refused before their arguments are read. The host unpacks the lists
into `Packed` values; nothing is hashed on the way.

`format_value` shows such a value as a Python shell does, with work in proportion to the shown text, and `measure_value`
returns the size that a value has when it is written, with work in proportion to a limit.
"""

import importlib
import importlib.util
import keyword
import re
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from contextlib import ExitStack
from itertools import chain, islice, zip_longest
from typing import Any, NamedTuple, TypeAlias, cast

from toolspeak.execution.sandbox.options import CodeResult, SandboxLimits
from toolspeak.values.errors import UsageError
from toolspeak.values.frozen import frozen

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

_BRACKETS = {"list": "[]", "tuple": "()", "set": "{}", "frozenset": "{}", "dict": "{}"}

MAX_PACKED_DEPTH = 128
"""How many levels of an argument are packed: more than a call may have, so that the host sees when it has too many."""

BRIDGE_FILE = "<python-input-0>"
"""What monty calls the source of BRIDGE, which is the first that a session runs."""

BRIDGE = """
def __bridge(type, isinstance, getattr, len, str, repr, tuple, dict, zip, host):
    import datetime
    from collections import deque
    from decimal import Decimal
    from itertools import chain
    integer, text, binary, large, huge = int, str, bytes, 2**63, 2**14_100
    constant = {type(None), bool, float, complex}
    measured = {Decimal, datetime.date, datetime.datetime, datetime.time, datetime.timedelta, datetime.timezone}
    simple = {list: 'list', tuple: 'tuple', set: 'set', frozenset: 'frozenset', deque: 'list'}
    join = chain.from_iterable

    # `left` holds what may still be packed; `each` is what a value counts beside its text.
    def pack(values, left, each, depth, packed):
        rest = left[0]
        for value in values:
            if rest < 0:
                break
            rest -= each
            kind = type(value)
            if kind is text or kind is binary:
                if len(value) > rest:
                    value = value[: rest + 1 if rest > 0 else 1]
                rest -= len(value)
            elif kind is integer:
                if not -large < value < large:
                    if -huge < value < huge:
                        rest -= len(repr(value))
                    else:
                        value = ['huge']
            elif kind in constant:
                pass
            elif kind in measured:
                rest -= len(repr(value))
            else:
                left[0] = rest
                if kind in simple:
                    value = pack(value if depth else (), left, each, depth - 1, [simple[kind]])
                elif isinstance(value, dict):
                    value = pack(join(value.items()) if depth else (), left, each, depth - 1, ['dict'])
                elif isinstance(value, tuple):
                    named = join(zip(getattr(value, '_fields', None) or [''] * len(value), value))
                    start = pack([kind.__name__], left, each, 0, ['named'])
                    value = pack(named if depth else (), left, each, depth - 1, start)
                else:
                    texts = [repr(value), str(value)] if each > 1 else [repr(value)]
                    value = pack(texts, left, each, 0, ['other'])
                rest = left[0]
            packed.append(value)
        left[0] = rest
        return packed

    def bind(name):
        def call(*args, **kwargs):
            left = [TRANSFER]
            packed = pack(args, left, VALUE_BYTES, MAX_PACKED_DEPTH, [])
            named = pack(join(kwargs.items()), left, VALUE_BYTES, MAX_PACKED_DEPTH, []) if kwargs else []
            return host(name, packed, named, left[0] < 0)
        return call

    def show(value):
        if value is not None:
            host(None, pack([value], [OUTPUT], 1, MAX_DEPTH, []), [], False)

    return bind, show
__bind, __show = __bridge(type, isinstance, getattr, len, str, repr, tuple, dict, zip, __host)
"""
"""What runs in monty before the code. It keeps the builtins that it uses, since the code may give these names other
values."""

BRIDGE_END = "__bridge = __bind = __host = None\n"
"""Leaves no name by which the code could reach `host`, and have it take what is not packed."""

_SHOW, _SHOW_END = "__show((", "))"

_TOKEN = re.compile(r"\"{3}|'{3}|[\"'#\n\\;:()\[\]{}]")
"""What decides where a statement ends."""

_SOURCE_NUMBER = re.compile(r"<python-input-[0-9]>")
"""The name of a source; the code is not the first, but nobody needs to know."""

_STRING_ENDS = {
    quote: re.compile(rf"\\.|{quote}" + ("" if len(quote) == 3 else "|\n"), re.DOTALL)
    for quote in ('"""', "'''", '"', "'")
}


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
    program = MontyProgram(code, (), limits, is_alone=True)
    try:
        ended = program.start()
    finally:
        program.close()
    return cast("CodeResult", ended)  # it has no function at whose call it could wait


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
        cause = f"it took longer than {limits.seconds:g} s" if error.timed_out else "the interpreter ended"
        text = f"stopped: {cause}"
    elif printed.is_full:
        text = f"stopped: it printed more than {limits.output} characters"
    else:
        # The traceback of an endless recursion is long, and its end says what went wrong: the end is kept.
        text = _clean_traceback((error.display() if hasattr(error, "display") else str(error))[-limits.output :])
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


def _clean_traceback(text: str) -> str:
    """Return a traceback without the lines of BRIDGE, and without what was put around the last expression."""
    kept: list[str] = []
    is_bridge = False
    removed = 0
    for line in text.strip().splitlines():
        if line.startswith("  File "):
            is_bridge = f'"{BRIDGE_FILE}"' in line
        elif not line.startswith("    "):
            is_bridge = False
        if is_bridge or line == f"    {_SHOW_END}":
            continue
        if removed and not line.strip(" ~^"):
            line = line[removed:]
        removed = len(_SHOW) if _SHOW in line else 0
        kept.append(line.replace(_SHOW, "", 1) if removed else line)
    return _SOURCE_NUMBER.sub(BRIDGE_FILE, "\n".join(kept))


def wrap_last_statement(code: str) -> str | None:
    """Return code whose last statement is passed to `__show`, if it may be an expression; monty judges whether it is.

    The code is read once, and not parsed: the parser of the host may take long for what a stranger wrote.
    """
    code = code.removeprefix("\ufeff").rstrip().removesuffix(";")
    start = position = depth = 0
    is_simple = True  # no colon was found that could begin the body of an `if` or `for` in the same line
    while (token := _TOKEN.search(code, position)) is not None:
        position = token.end()
        match token[0]:
            case "#":
                position = end if (end := code.find("\n", position)) >= 0 else len(code)
            case "\\":
                position += 1
            case "(" | "[" | "{":
                depth += 1
            case ")" | "]" | "}":
                depth -= 1
                if depth < 0:
                    return None
            case ":":
                is_simple = is_simple and depth > 0
            case ";" if depth == 0 and is_simple:
                start = position
            case "\n" if depth == 0:
                if code[position : position + 1] not in ("", " ", "\t", "\n", "\r", "#"):
                    start, is_simple = position, True
            case '"' | "'" | '"""' | "'''":
                position = _find_string_end(code, position, token[0])
            case _:
                pass
    last = code[start:].lstrip(" \t")
    is_candidate = depth == 0 and last[:1] not in ("", "\n", "#")
    return f"{code[:start]}{_SHOW}{last}\n{_SHOW_END}" if is_candidate else None


def _find_string_end(code: str, position: int, quote: str) -> int:
    ends = _STRING_ENDS[quote]
    while (found := ends.search(code, position)) is not None:
        position = found.end()
        if not found[0].startswith("\\"):
            return position
    return len(code)


class ProgramCall(NamedTuple):
    """A call of a function of the host, at which a program waits.

    Attributes:
        name: The name of the function.
        args: The arguments without a name: plain values and `Packed` ones.
        kwargs: The arguments with a name.
        is_cut: Whether the arguments are more than may be passed; then some are missing or cut.
    """

    name: str
    args: tuple[Any, ...]
    kwargs: dict[str, Any]
    is_cut: bool = False


class MontyProgram:
    """A program that calls functions of the host."""

    def __init__(self, code: str, names: Collection[str], limits: SandboxLimits, *, is_alone: bool = False) -> None:
        """Prepare a program that may call functions of these names.

        A program that is alone, and has no functions, is run once: it may wait, and its random numbers are random.

        Raises:
            UsageError: Monty is not installed.
        """
        self._monty = _import_monty()
        self._code = code.encode("utf-8", errors="replace").decode()  # a lone surrogate cannot be encoded
        self._names = [name for name in names if name.isidentifier() and not keyword.iskeyword(name)]
        self._limits = limits
        self._is_alone = is_alone
        self._printed = _PrintBuffer(limits.output)
        self._shown: str | None = None
        self._stack = ExitStack()
        self._snapshot: Any = None

    def start(self) -> ProgramCall | CodeResult:
        """Run the code to its first call, or to its end."""
        pool_options, limits, policy = _pool_options(self._limits), _session_limits(self._limits), dict[str, Any]()
        if self._is_alone:
            pool_options["turn_duration_limit_grace"] = KILL_GRACE_SECONDS
        else:
            limits["max_suspensions"] = 1000  # calls, the lookups of names included
            policy = {"os_policy": {"random_start": {"seed": 0}}}
        try:
            pool = self._stack.enter_context(self._monty.Monty(**pool_options))
            session = self._stack.enter_context(pool.checkout(limits=limits, **policy))
        except OSError as error:
            raise UsageError(f"monty could not start: {error}; pip install toolspeak[sandbox] brings it") from error
        return self._step(lambda: self._feed(session))

    def _feed(self, session: Any) -> Any:
        """Run BRIDGE, and begin to run the code."""
        sizes = {"TRANSFER": self._limits.transfer, "OUTPUT": self._limits.output, "VALUE_BYTES": VALUE_BYTES}
        sizes |= {"MAX_PACKED_DEPTH": MAX_PACKED_DEPTH, "MAX_DEPTH": MAX_DEPTH}
        bound = "".join(f"{name} = __bind({name!r})\n" for name in self._names)
        bridge = re.sub("|".join(sizes), lambda found: str(sizes[found[0]]), BRIDGE) + bound + BRIDGE_END
        stand_in: Callable[..., None] = lambda *args: None  # noqa: E731 (functions are called elsewhere)
        session.feed_start(bridge, external_lookup={"__host": stand_in}).resume_auto()
        if (wrapped := wrap_last_statement(self._code)) is not None:
            try:
                return session.feed_start(wrapped, print_callback=self._printed)
            except self._monty.MontySyntaxError as error:
                if any(frame.function_name is not None for frame in error.traceback()):
                    raise  # the code ran, and evaluated a text
        return session.feed_start(self._code, print_callback=self._printed)

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
                    self._snapshot = self._snapshot.resume()
                elif isinstance(self._snapshot, monty.FutureSnapshot):
                    return self._finish(error="stopped: functions are called without await")
                elif self._snapshot.is_os_function:
                    self._snapshot = self._answer_system(self._snapshot)
                elif self._snapshot.position.filename != BRIDGE_FILE or self._snapshot.function_name != "__host":
                    missing = NameError(f"name {self._snapshot.function_name!r} is not defined")
                    self._snapshot = self._snapshot.resume({"exception": missing})
                else:
                    name, args, kwargs, is_cut = self._snapshot.args
                    values = [unpack(each) for each in args]
                    if name is not None:
                        return ProgramCall(name, tuple(values), _pair(kwargs), is_cut)
                    self._shown = format_value(values[0], self._limits.output)
                    self._snapshot = self._snapshot.resume({"return_value": None})
            return self._finish(value=self._shown)
        except (monty.MontyCrashedError, monty.MontyError, *_VALUE_ERRORS) as error:
            return _describe_failure(monty, error, self._printed, self._limits)

    def _answer_system(self, snapshot: Any) -> Any:
        """Let code that is alone wait, and refuse everything else."""
        if self._is_alone and snapshot.function_name in ("system.sleep", "system.async_sleep"):
            return snapshot.resume_auto()
        return snapshot.resume_not_handled()

    def _finish(self, value: str | None = None, error: str | None = None) -> CodeResult:
        return CodeResult(mode="monty", value=value, stdout=self._printed.text, error=error)


@frozen
class Packed:
    """A value of the code that is not plain.

    Attributes:
        kind: `list`, `tuple`, `set`, `frozenset`, `dict`, `named` (a named tuple), `huge` (an integer with too many
            digits to be written) or `other`.
        name: The name of the class of a named tuple; the text that a Python shell shows for another value.
        text: What `str` returns for another value.
        items: What the value holds. Keys and names are followed by their values.
    """

    kind: str
    name: str = ""
    text: str = ""
    items: tuple[Any, ...] = ()


def unpack(packed: Any) -> Any:
    """Return the value that BRIDGE packed."""
    if not isinstance(packed, list):
        return packed
    kind, *rest = cast("list[Any]", packed)
    if kind == "other":
        name, text = [*rest, "", ""][:2]  # where the text is cut, the second is missing
        return Packed(kind=kind, name=name, text=text)
    name = rest.pop(0) if kind == "named" and rest else ""
    return Packed(kind=kind, name=name, items=tuple(map(unpack, rest)))


def _pair(packed: list[Any]) -> dict[str, Any]:
    return dict(zip(packed[::2], map(unpack, packed[1::2]), strict=False))


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
    return iter((value.text, *value.items)) if isinstance(value, Packed) else None


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
    elif not isinstance(value, Packed):
        yield repr(value)
    elif value.kind == "other":
        yield value.name
    elif value.kind == "huge":
        yield "(an integer with too many digits to be shown)"
    elif value.kind == "named":
        yield f"{value.name}("
        yield from _item_pieces(_list_pairs(value), "=", max_chars, depth)
        yield ")"
    elif not value.items and value.kind in ("set", "frozenset"):
        yield f"{value.kind}()"
    else:
        yield from _container_pieces(value, max_chars, depth)


def _container_pieces(value: Packed, max_chars: int, depth: int) -> _Pieces:
    start, end = _BRACKETS[value.kind]
    yield f"frozenset({start}" if value.kind == "frozenset" else start
    if value.kind == "dict":
        yield from _item_pieces(_list_pairs(value), ": ", max_chars, depth)
    else:
        yield from _item_pieces(((None, item) for item in value.items), None, max_chars, depth)
    is_single = value.kind == "tuple" and len(value.items) == 1
    yield f"{',' if is_single else ''}{end}{')' if value.kind == 'frozenset' else ''}"


def _list_pairs(value: Packed) -> Iterator[tuple[Any, Any]]:
    return zip_longest(value.items[::2], value.items[1::2])  # the last value is missing where the text is cut


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
