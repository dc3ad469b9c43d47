"""The records of spoken calls: what models write, the tools they had, the calls that were meant; what readers give.

The records come with the distribution `toolspeak-trained`. `scripts/pack_records.py` packs them from those of the
tests; a test fails if the two differ. A record may name its `family` and its `kind`. Where it does not, the family
follows from the text, and the kind from the calls that were meant and from the word in brackets with which the note of
the record begins.

A reader is asked in a process of its own, so that every run ends, whatever the reader does. One that raises has
answered. One that takes too long, or ends its process, is started again for the next text. If that happens for
`MAX_FAILURES_IN_A_ROW` texts in a row, the reader is not asked any more.

Readers were written for other contracts than the one of the records. So each is judged by what its calls would do:

1. Arguments are coerced by the schema before they are compared: `"3"` is as good as `3` where an integer is asked for.
2. A call of a tool that is not on offer, or with arguments that do not fit the schema even then, does not count: any
   program would refuse to run it.
3. Order counts. Calls that were meant and are missing are missed; any other difference is wrong.

A reference to the result of another call is `{"$call": 0}`, the place of that call. Records with references are a kind
of their own, since few readers have anything like them.
"""

import gzip
import json
import queue
import re
import subprocess
import sys
from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from contextlib import suppress
from threading import Thread
from typing import IO, Any, Literal, Self, TypeAlias, cast

from toolspeak.reading.forms import FAMILIES
from toolspeak.settings.files import find_trained_file
from toolspeak.values.coercion import coerce_arguments
from toolspeak.values.errors import UsageError
from toolspeak.values.frozen import frozen
from toolspeak.values.messages import Concat, Ref
from toolspeak.values.spec import ToolSpec, read_definition
from toolspeak.values.validation import is_valid

PACKED_RECORDS = find_trained_file("spoken.jsonl.gz")

REFERENCES_KIND, DECOYS_KIND, OTHER_KIND = "references", "decoys", "calls"

KINDS: dict[str, tuple[str, ...]] = {
    "forms": (
        "family", "family one", "family two", "other form", "mix", "combo", "react", "tags", "label", "line", "fence",
    ),
    "arguments": (
        "args", "arguments", "argument shape", "shape", "str", "strings", "escapes", "crlf", "invisible",
        "syntax slip", "comments",
    ),
    "names": ("name", "callee"),
    "programs": ("structure", "flow", "data flow", "loop", "bind", "arith", "wrap", "scope", "cond", "plan"),
    "reasoning": ("reasoning", "think"),
    "made-up results": ("fabricated result", "result"),
    "cut off": ("truncation", "cut"),
    "missing tokens": ("missing opener", "missing closer"),
    DECOYS_KIND: ("decoy",),
}  # fmt: skip
"""The kinds of records, each with the words in brackets that stand for it in notes."""

KIND_BY_WORD = {word: kind for kind, words in KINDS.items() for word in words}

FENCE = re.compile(r"^[ \t]*(?:```|~~~)", re.M)
REACT = re.compile(r"\bAction[ _]Input\b", re.I)

FAMILY_TOKENS = sorted(
    ((token.lower(), family.name) for family in FAMILIES for token in (*family.openers, *family.headers)),
    key=lambda pair: -len(pair[0]),
)


@frozen
class SpokenRecord:
    """A text of a model, and the intended calls.

    Attributes:
        id: The name of the record.
        family: The form of its calls: the tokens of a model family, code, plain JSON and so on.
        kind: What the record tests.
        tools: The definitions of the tools on offer, as JSON data.
        specs: The same tools.
        text: The text.
        expected: The intended calls, as JSON data.
        note: What is odd about the text.
    """

    id: str
    family: str
    kind: str
    tools: list[dict[str, Any]]
    specs: tuple[ToolSpec, ...]
    text: str
    expected: list[dict[str, Any]]
    note: str = ""


def load_records(lines: Iterable[str] | None = None) -> list[SpokenRecord]:
    """Return records.

    Args:
        lines: A record of JSON on each line; without them, the records of the distribution `toolspeak-trained`.

    Raises `UsageError` if no lines are given and that distribution is not installed.
    """
    if lines is None:
        try:
            packed = PACKED_RECORDS.read_bytes()
        except OSError as error:
            raise UsageError(
                f"the records of spoken calls are not installed: {error}; they come with: pip install toolspeak-trained"
            ) from None
        lines = gzip.decompress(packed).decode("utf-8").split("\n")
    return [build_record(json.loads(line)) for line in lines if line.strip()]


def build_record(data: dict[str, Any]) -> SpokenRecord:
    """Build a record from its JSON data, and name its family and kind where the data do not."""
    return SpokenRecord(
        id=data["id"],
        family=data.get("family") or find_family(data["text"], is_code=data.get("dialect") == "code"),
        kind=data.get("kind") or find_kind(data.get("note", ""), data["expected"]),
        tools=data["tools"],
        specs=tuple(read_definition(tool, data["id"]) for tool in data["tools"]),
        text=data["text"],
        expected=data["expected"],
        note=data.get("note", ""),
    )


def find_family(text: str, *, is_code: bool) -> str:
    """Return the family of a text: that of its first token, or else what surrounds its calls."""
    has_fence = FENCE.search(text) is not None
    if is_code:
        return "code in a fence" if has_fence else "code without a fence"
    lower = text.lower()
    found = [(place, name) for token, name in FAMILY_TOKENS if (place := lower.find(token)) >= 0]
    if found:
        return min(found, key=lambda pair: pair[0])[1]
    if REACT.search(text):
        return "ReAct"
    if has_fence:
        return "JSON in a fence"
    return "JSON without a fence" if "{" in text else "prose, other tags"


def find_kind(note: str, expected: list[dict[str, Any]]) -> str:
    """Return the kind of a record by its note, and by whether its calls need results of each other."""
    if has_reference(expected):
        return REFERENCES_KIND
    word = re.match(r"\[([^\]]*)\]", note)
    return KIND_BY_WORD.get(word[1].lower() if word else "", OTHER_KIND if expected else DECOYS_KIND)


def has_reference(value: Any) -> bool:
    """Whether a JSON value contains a reference to the result of a call."""
    if isinstance(value, dict):
        items = cast("dict[str, Any]", value)
        return "$call" in items or "$concat" in items or any(map(has_reference, items.values()))
    return isinstance(value, list) and any(map(has_reference, cast("list[Any]", value)))


OURS = "toolspeak"
"""The name of our reader, where others are given as `module:function`."""

START_SECONDS = 60.0
"""How long a reader may take to be imported."""

MAX_FAILURES_IN_A_ROW = 5
"""Texts in a row without an answer, after which a reader is not asked any more."""


class ReaderProcess:
    """A reader in a separate process.

    Attributes:
        name: A short name for tables.
        target: Where the reader is: `module:function`, `file.py:function`, or `toolspeak` for ours.
    """

    def __init__(self, target: str, *, timeout_s: float = 5.0) -> None:
        """Name a reader; its process starts when it is first asked.

        Args:
            target: Where the reader is.
            timeout_s: How long it may take for one text.

        Raises:
            UsageError: The target has no colon.
        """
        if target != OURS and not all(target.rpartition(":")):
            raise UsageError(f"{target!r} is not a reader: write module:function, file.py:function, or {OURS} for ours")
        self.name = target.rpartition(":")[2]
        self.target = target
        self._timeout_s = timeout_s
        self._failures_in_a_row = 0
        self._process: subprocess.Popen[str] | None = None
        self._lines: queue.Queue[str | None] = queue.Queue()

    def __enter__(self) -> Self:
        """Start the reader, so that one that cannot be imported is noticed at once."""
        self._start()
        return self

    def __exit__(self, *_: object) -> None:
        """End the process."""
        self._stop()

    def ask(self, record: SpokenRecord) -> dict[str, Any]:
        """Ask the reader for the calls in the text of a record.

        Returns:
            `{"calls": …}` with its result, or `{"error": …}` with what went wrong.
        """
        if self._failures_in_a_row >= MAX_FAILURES_IN_A_ROW:
            return {"error": f"not asked: it did not answer for {MAX_FAILURES_IN_A_ROW} texts in a row"}
        process = self._process or self._start()
        question = json.dumps({"text": record.text, "tools": record.tools})
        with suppress(OSError):  # the process has ended, which the missing answer tells
            if process.stdin is not None:
                process.stdin.write(question + "\n")
                process.stdin.flush()
        answer = self._next_line(self._timeout_s)
        if isinstance(answer, str):
            self._failures_in_a_row = 0
            return _decode_answer(answer)
        self._failures_in_a_row += 1
        self._stop()
        return {"error": f"no answer after {self._timeout_s:g} s" if answer is None else "its process ended"}

    def _start(self) -> subprocess.Popen[str]:
        target = "toolspeak.lab.reader_child:read_calls" if self.target == OURS else self.target
        # -P keeps the working directory from shadowing modules; a module there is imported by its file.
        command = [sys.executable, "-P", "-m", "toolspeak.lab.reader_child", target]
        process = subprocess.Popen(  # noqa: S603 (the user named the reader)
            command,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            encoding="utf-8",
            errors="surrogatepass",
        )
        self._process = process
        self._lines = queue.Queue()
        if process.stdout is not None:
            Thread(target=_read_lines, args=(process.stdout, self._lines), daemon=True).start()
        answer = self._next_line(START_SECONDS)
        ready = _decode_answer(answer) if isinstance(answer, str) else {}
        if "ready" not in ready:
            self._stop()
            why = ready.get("failed", "its process ended" if answer is not None else "it takes too long to import")
            raise UsageError(f"cannot load the reader {self.target}: {why}")
        return process

    def _next_line(self, timeout_s: float) -> str | bool | None:
        """Return the next line of the process, None if it takes too long, False if the process has ended."""
        try:
            line = self._lines.get(timeout=timeout_s)
        except queue.Empty:
            return None
        return False if line is None else line

    def _stop(self) -> None:
        process, self._process = self._process, None
        if process is None:
            return
        process.kill()
        process.wait()
        with suppress(OSError):
            if process.stdin is not None:
                process.stdin.close()


def _read_lines(stream: IO[str], lines: queue.Queue[str | None]) -> None:
    with stream, suppress(OSError, ValueError):
        for line in stream:
            lines.put(line)
    lines.put(None)


def _decode_answer(line: str) -> dict[str, Any]:
    try:
        return json.loads(line)
    except (ValueError, RecursionError):
        return {"error": "what it returned cannot be read as JSON"}


Judgement: TypeAlias = Literal["right", "wrong", "missed", "error"]
"""What a reader made of a record.

`right`: the calls that were meant. `wrong`: something would run that was not meant. `missed`: fewer calls than were
meant, all of them right. `error`: the reader raised, did not answer in time, or returned something that is no list of
calls, so nothing would run.
"""

JUDGEMENTS: tuple[Judgement, ...] = ("right", "wrong", "missed", "error")


@frozen
class RecordResult:
    """What a reader made of a record.

    Attributes:
        record: The record.
        judgement: Whether it is right.
        got: The calls that the reader returned, unchanged.
        error: What went wrong, if the reader returned no calls.
    """

    record: SpokenRecord
    judgement: Judgement
    got: Any = None
    error: str = ""


def judge(record: SpokenRecord, got: Any) -> RecordResult:
    """Judge what a reader returned for a record."""
    if (problem := _find_problem(got)) is not None:
        return RecordResult(record=record, judgement="error", got=got, error=problem)
    try:
        return RecordResult(record=record, judgement=_judge_calls(record, cast("list[dict[str, Any]]", got)), got=got)
    except RecursionError:
        return RecordResult(record=record, judgement="error", error="it returned a value that is nested too deeply")


def _judge_calls(record: SpokenRecord, got: list[dict[str, Any]]) -> Judgement:
    specs = {spec.name: spec for spec in record.specs}
    meant = [(call["name"], _canonical(_decode(call["arguments"]))) for call in record.expected]
    calls: list[Any] = []
    for call in got:
        spec = specs.get(call["name"])
        arguments = _decode(call["arguments"])
        if spec is not None:
            arguments = coerce_arguments(arguments, spec.parameters)
        canonical = call["name"], _canonical(arguments)
        can_run = (
            spec is not None and isinstance(arguments, dict) and is_valid(arguments, spec.parameters, spec.parameters)
        )
        if canonical in meant or can_run:
            calls.append(canonical)
    if calls == meant:
        return "right"
    rest = iter(meant)
    return "missed" if all(call in rest for call in calls) else "wrong"


def _find_problem(got: Any) -> str | None:
    if not isinstance(got, list):
        return f"it returned {type(got).__name__}, not a list of calls"
    for call in cast("list[Any]", got):
        if not isinstance(call, dict) or not isinstance(cast("dict[str, Any]", call).get("name"), str):
            return "it returned a list with something that is no call: a call has a name and arguments"
        if "arguments" not in call:
            return "it returned a call without arguments"
    return None


def _decode(value: Any) -> Any:
    """Return a value with its references as `Ref` and `Concat`, which coercion leaves alone."""
    if isinstance(value, list):
        return [_decode(item) for item in cast("list[Any]", value)]
    if not isinstance(value, dict):
        return value
    items = cast("dict[str, Any]", value)
    if items.keys() in ({"$call"}, {"$call", "path"}):
        return Ref(call=str(items["$call"]), path=tuple(items.get("path", ())))
    if items.keys() == {"$concat"} and isinstance(items["$concat"], list):
        return Concat(parts=tuple(_decode(part) for part in cast("list[Any]", items["$concat"])))
    return {key: _decode(item) for key, item in items.items()}


def _canonical(value: Any) -> Any:
    """Return a value in a form whose equality is that of JSON: `1` equals `1.0`, and `true` is no number."""
    match value:
        case bool():
            return "bool", value
        case dict():
            return {key: _canonical(item) for key, item in cast("dict[str, Any]", value).items()}
        case list():
            return [_canonical(item) for item in cast("list[Any]", value)]
        case _:
            return value


Grouping = Callable[[SpokenRecord], str]


@frozen
class ReaderReport:
    """The results of one reader.

    Attributes:
        name: The short name of the reader.
        target: Where the reader is.
        results: A result for each record, in the order of the records.
    """

    name: str
    target: str
    results: tuple[RecordResult, ...]

    def count(self, group_of: Grouping, group: str | None = None) -> Counter[Judgement]:
        """Count the judgements of one group of records, or of all."""
        return Counter(each.judgement for each in self.results if group is None or group_of(each.record) == group)


def check_reader(reader: ReaderProcess, records: Sequence[SpokenRecord]) -> ReaderReport:
    """Ask a reader for the calls of every record, and judge its answers.

    Raises:
        UsageError: The reader cannot be loaded.
    """
    results: list[RecordResult] = []
    with reader:
        for record in records:
            answer = reader.ask(record)
            if "error" in answer:
                results.append(RecordResult(record=record, judgement="error", error=answer["error"]))
            else:
                results.append(judge(record, answer["calls"]))
    return ReaderReport(name=reader.name, target=reader.target, results=tuple(results))


def build_table(reports: Sequence[ReaderReport], title: str, group_of: Grouping) -> list[list[str]]:
    """Return a heading, a row for each group and one for all, with a column for each reader."""
    records = [each.record for each in reports[0].results]
    sizes = Counter(map(group_of, records))
    rows = [[title, "records", *(report.name for report in reports)]]
    for group in (*sorted(sizes), None):
        size = len(records) if group is None else sizes[group]
        counts = [report.count(group_of, group) for report in reports]
        cells = [" / ".join(str(each[judgement]) for judgement in JUDGEMENTS) for each in counts]
        rows.append(["all" if group is None else group, str(size), *cells])
    return rows


def encode_report(report: ReaderReport) -> dict[str, Any]:
    """Return the counts of a reader, and each record that it got wrong, as JSON data."""

    def encode(group_of: Grouping, group: str | None) -> dict[str, int]:
        counts = report.count(group_of, group)
        return {each: counts[each] for each in JUDGEMENTS}

    records = [each.record for each in report.results]
    return {
        "name": report.name,
        "target": report.target,
        "all": encode(family_of, None),
        "families": {each: encode(family_of, each) for each in sorted(set(map(family_of, records)))},
        "kinds": {each: encode(kind_of, each) for each in sorted(set(map(kind_of, records)))},
        "failures": [encode_failure(each) for each in report.results if each.judgement != "right"],
    }


def encode_failure(result: RecordResult) -> dict[str, Any]:
    """Return a record that a reader got wrong, with the expected and the returned calls, as JSON data."""
    record = result.record
    return {
        "id": record.id,
        "family": record.family,
        "kind": record.kind,
        "judgement": result.judgement,
        "text": record.text,
        "expected": record.expected,
        "got": result.got,
        "error": result.error,
    }


def family_of(record: SpokenRecord) -> str:
    """Return the family of a record."""
    return record.family


def kind_of(record: SpokenRecord) -> str:
    """Return the kind of a record."""
    return record.kind
