"""The outline of a run: facts folded into rows, which a browser can list by the thousand.

A row is a message at the start of the run, a turn, a call, a note or the end. Rows are numbered in the order in which
they begin and are never removed; a row that belongs under another one (a call under its turn, the turns of an inner run
under its call) names it as `parent`. A row holds the beginning of its texts only, at most `MAX_PREVIEW_CHARS`: a whole
text can have megabytes, and is sent when its row is chosen (`details.py`). A turn that was taken over or passed on to
another model is marked as void, not removed, so that links to facts stay valid.

`RowFold.add` changes the row that a fact belongs to. Each row knows the number of the last fact that changed it, so
whoever has seen the facts up to some number asks for the rows that changed after it.

A program (`run/code_mode.py`) is an inner run without a model: what it did belongs to the row of its call, and its own
calls stand directly under that row. What went wrong in a row is one of its `faults` (`find_faults`), and `summary`
counts them; `count_run` returns these counts for a run that nobody looks at.
"""

import json
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any, Literal, TypeAlias

from toolspeak.values.escaping import reveal
from toolspeak.values.events import (
    ENDED_WELL,
    ApprovalGiven,
    ApprovalNeeded,
    CallMalformed,
    CallQuoted,
    CallReady,
    CallStarted,
    Compacted,
    Fact,
    Guided,
    HandedOver,
    Interrupted,
    NestedFact,
    OwnFact,
    RunEnded,
    RunResumed,
    RunStarted,
    SaidInThought,
    ToolFinished,
    ToolStarted,
    ToolSuspended,
    TurnEnded,
    TurnRestarted,
    TurnStarted,
    Usage,
    WaitOver,
    join_ids,
)
from toolspeak.values.messages import Call, Concat, Media, Message, Ref, Result, Text, ToolResult
from toolspeak.values.spec import ToolSpec

MAX_PREVIEW_CHARS = 160

MAX_DETAIL_CHARS = 4000
"""How much is kept of why a run ended: whole, since the head of a run shows it."""

MAX_ALIKE = 50
"""With how many earlier calls that begin alike a call is compared."""

PROGRAM_MODEL = "program"
"""The name of the model of an inner run that is a program."""

RowKind: TypeAlias = Literal["message", "turn", "call", "note", "end"]

Fault: TypeAlias = Literal["error", "repair", "refusal", "repeat"]
"""What went wrong in a row: it failed or could not be read, it had to be repaired, somebody did not allow it, or it
took effect although the same call had before."""

QUOTED = "quoted from a text that the model was shown, and nobody can be asked"
"""Why a quoted call is refused where nobody can approve it."""

COUNTS = {"error": "errors", "repair": "repairs", "refusal": "refusals", "repeat": "repeats"}
"""Under which names a summary counts faults."""

Path: TypeAlias = tuple[str, ...]
"""The ids of the calls that lead to an inner run; empty for the run itself."""


def preview_text(text: str) -> str:
    """Return the beginning of a text, on one line."""
    start = " ".join(text[: 4 * MAX_PREVIEW_CHARS].split())
    return start if len(start) <= MAX_PREVIEW_CHARS else f"{start[: MAX_PREVIEW_CHARS - 1]}…"


def _preview_arguments(arguments: Mapping[str, Any]) -> str:
    """Return the beginning of the arguments of a call, as `name=value, …`."""
    parts: list[str] = []
    length = 0
    for name, value in arguments.items():
        parts.append(reveal(f"{name}={_dump_start(value)}"))
        length += len(parts[-1])
        if length > MAX_PREVIEW_CHARS:
            break
    return preview_text(", ".join(parts))


def _preview_raw(arguments: Mapping[str, Any]) -> str:
    """Return the first line of a raw text, such as a program, and how many lines it has."""
    if len(arguments) != 1 or not isinstance(text := next(iter(arguments.values())), str):
        return _preview_arguments(arguments)
    lines = text.strip().splitlines()
    more = f" … {len(lines)} lines" if len(lines) > 1 else ""
    return f"{preview_text(lines[0])}{more}" if lines else ""


def preview_prompt(started: RunStarted) -> str | None:
    """Return the beginning of the last message of the user at the start of a run; None if there is none."""
    prompt = next((each for each in reversed(started.messages) if each.role == "user"), None)
    return None if prompt is None else preview_message(prompt)


def preview_message(message: Message) -> str:
    """Return the beginning of the text of a message; where it has none, what else it holds."""
    if text := preview_text(next((part.text for part in message.parts if isinstance(part, Text) and part.text), "")):
        return text
    if message.role == "tool":
        results = [part for part in message.parts if isinstance(part, Result)]
        texts = [each.text for part in results for each in part.content if isinstance(each, Text)]
        return preview_text(" · ".join(text[: 4 * MAX_PREVIEW_CHARS] for text in texts[:4]))
    calls = [f"{part.call.name}(…)" for part in message.parts if isinstance(part, Call)]
    media = [part.mime for part in message.parts if isinstance(part, Media)]
    return preview_text(", ".join((*calls[:8], *media[:8])))


def _dump_start(value: Any) -> str:
    """Return the beginning of the JSON of a value. A reference is the call, and what is taken of its result."""
    if isinstance(value, Ref | Concat):
        return _format_reference(value)
    if isinstance(value, str):
        return json.dumps(value[: 4 * MAX_PREVIEW_CHARS], ensure_ascii=False)
    pieces: list[str] = []
    length = 0
    for piece in json.JSONEncoder(ensure_ascii=False, default=_format_reference).iterencode(value):
        pieces.append(piece[: 4 * MAX_PREVIEW_CHARS])
        length += len(piece)
        if length > 4 * MAX_PREVIEW_CHARS:
            break
    return "".join(pieces)


def _format_reference(value: Any) -> str:
    """Return a reference as `call_1.days[0]`, and joined texts as a template."""
    if isinstance(value, Ref):
        return value.call + "".join(f"[{step}]" if isinstance(step, int) else f".{step}" for step in value.path)
    parts = [part if isinstance(part, str) else f"{{{_format_reference(part)}}}" for part in value.parts]
    return json.dumps("".join(parts)[: 4 * MAX_PREVIEW_CHARS], ensure_ascii=False)


@dataclass(slots=True, kw_only=True)
class OutlineRow:
    """A row of an outline. Times are seconds since the first fact of the run; None where they are not known."""

    index: int
    kind: RowKind
    parent: int | None  # the row that it belongs under; None for a row of the run itself
    path: Path
    facts: list[int]  # the numbers of the facts that it is made of
    changed: int  # the number of the last fact that changed it
    fields: dict[str, Any]  # what is shown of it, by names that the browser knows

    def encode(self) -> dict[str, Any]:
        """Return the row as JSON data."""
        data: dict[str, Any] = {"i": self.index, "kind": self.kind, "facts": self.facts, **self.fields}
        if self.parent is not None:
            data["parent"] = self.parent
        if self.path:
            data["inner"] = True
        if faults := find_faults(self):
            data["faults"] = faults
        return data


def find_faults(row: OutlineRow) -> tuple[Fault, ...]:
    """Return what went wrong in a row. What does not count any more has no faults."""
    fields = row.fields
    if fields.get("void"):
        return ()
    match row.kind:
        case "call":
            stage = fields["stage"]
            ending: tuple[Fault, ...] = ("refusal",) if stage == "refused" else ()
            if stage in ("failed", "malformed"):
                ending = ("error",)
            repaired: tuple[Fault, ...] = ("repair",) if fields.get("repair") else ()
            repeated: tuple[Fault, ...] = ("repeat",) if "repeat_of" in fields else ()
            return (*ending, *repaired, *repeated)
        case "turn":
            return ("error",) if fields.get("finish", "stop") not in ENDED_WELL else ()
        case "note":
            return ("error",) if fields["note"] == "turn_restarted" else ()
        case _:
            return ()


def count_run(facts: Iterable[Fact]) -> dict[str, int]:
    """Return how many `turns`, `calls`, `errors`, `repairs`, `refusals` and `repeats` a run has."""
    rows = RowFold()
    for fact in facts:
        rows.add(fact, None)
    return {name: rows.summary[name] for name in ("turns", "calls", *COUNTS.values())}


class RowFold:
    """Folds the facts of a run into rows.

    Attributes:
        rows: The rows so far.
        row_by_fact: The number of the row of each fact.
        summary: What is known of the whole run: its model, tokens, cost and end; how many turns and calls it has, those
            of inner runs not counted, and how many faults, those of inner runs included.
        is_fork: Whether the run begins with facts of another one. Then it is resumed where it leaves that one.
    """

    def __init__(self) -> None:
        self.rows: list[OutlineRow] = []
        self.row_by_fact: list[int] = []
        self.summary: dict[str, Any] = {"status": "running", "input_tokens": 0, "output_tokens": 0, "cost": 0.0}
        self.summary |= dict.fromkeys(("turns", "calls", *COUNTS.values()), 0)
        self.is_fork = False
        self.raw_tools: set[str] = set()
        self._repeatable: set[str] = set()  # tools whose calls may be repeated
        self._written: dict[int, Mapping[str, Any]] = {}  # the arguments of calls that have no result yet, by row
        self._done: dict[tuple[str, str], list[tuple[int, Mapping[str, Any]]]] = {}  # calls that took effect
        self._faults: dict[int, tuple[Fault, ...]] = {}
        self._runs: dict[Path, _RunRows] = {(): _RunRows(self, (), None)}
        self._touched: dict[int, OutlineRow] = {}

    def add(self, fact: Fact, at: float | None) -> list[OutlineRow]:
        """Fold the next fact, and return the rows that it has made or changed, in their order."""
        path, event = (fact.path, fact.event) if isinstance(fact, NestedFact) else ((), fact)
        run = self._runs.get(path)
        if run is None:
            call = self._find_call(path)
            is_program = isinstance(event, RunStarted) and event.model == PROGRAM_MODEL and self._is_raw_call(call)
            run = self._runs[path] = _RunRows(self, path, call) if not is_program else _ProgramRows(self, path, call)
        self._touched = {}
        row = run.add(event, at)
        self.row_by_fact.append(row.index)
        for each in self._touched.values():
            self._count_faults(each)
        return [self._touched[index] for index in sorted(self._touched)]

    def _count_faults(self, row: OutlineRow) -> None:
        before, faults = self._faults.get(row.index, ()), find_faults(row)
        if before == faults:
            return
        for sign, each in ((-1, before), (1, faults)):
            for fault in each:
                self.summary[COUNTS[fault]] += sign
        self._faults[row.index] = faults

    def note_tools(self, tools: Iterable[ToolSpec]) -> None:
        """Note what is known of tools that a run offers from now on."""
        for spec in tools:
            if spec.raw is not None:
                self.raw_tools.add(spec.name)
            if spec.effect == "once":
                self._repeatable.discard(spec.name)
            else:
                self._repeatable.add(spec.name)

    def note_arguments(self, row: OutlineRow, arguments: Mapping[str, Any]) -> None:
        """Note the arguments of a call, until it has a result."""
        self._written[row.index] = arguments

    def find_repeated(self, row: OutlineRow, *, took_effect: bool) -> int | None:
        """Return the row of the first equal call that took effect; None if there is none, or this one may be repeated.

        Equal calls begin alike, so a call is compared with the few whose preview is the same.
        """
        arguments = self._written.pop(row.index, None)
        name: str = row.fields["name"]
        if not took_effect or arguments is None or name in self._repeatable:
            return None
        known = self._done.setdefault((name, row.fields.get("arguments", "")), [])
        for index, others in known:
            if others == arguments:
                return index
        if len(known) < MAX_ALIKE:
            known.append((row.index, arguments))
        return None

    def find_draft_row(self, path: Path, call_id: str | None) -> OutlineRow | None:
        """Return the row that text belongs to which is arriving now: that of a call, or of the open turn."""
        run = self._runs.get(path)
        if run is None:
            return None
        return run.turn if call_id is None else run.calls.get(call_id)

    def append(self, kind: RowKind, path: Path, parent: int | None, fields: dict[str, Any]) -> OutlineRow:
        """Append a row, made by the fact that is being folded."""
        number = len(self.row_by_fact)
        row = OutlineRow(
            index=len(self.rows), kind=kind, parent=parent, path=path, facts=[number], changed=number, fields=fields
        )
        self.rows.append(row)
        self._touched[row.index] = row
        if not path and kind in ("turn", "call"):
            self.summary[f"{kind}s"] += 1
        return row

    def change(self, row: OutlineRow, **fields: Any) -> OutlineRow:
        """Change a row by the fact that is being folded, which belongs to it."""
        number = len(self.row_by_fact)
        if row.facts[-1] != number:
            row.facts.append(number)
        return self.touch(row, **fields)

    def touch(self, row: OutlineRow, **fields: Any) -> OutlineRow:
        """Change a row by the fact that is being folded, which belongs to another row."""
        row.fields |= fields
        row.changed = len(self.row_by_fact)
        self._touched[row.index] = row
        return row

    def _find_call(self, path: Path) -> int | None:
        outer = self._runs.get(path[:-1])
        row = None if outer is None else outer.calls.get(path[-1])
        return None if row is None else row.index

    def _is_raw_call(self, call: int | None) -> bool:
        """Whether a row is a call whose argument is one raw text, such as a program."""
        return call is not None and self.rows[call].fields["name"] in self.raw_tools


class _RunRows:
    """Folds the facts of one run: of the recorded one, or of an inner run."""

    def __init__(self, fold: RowFold, path: Path, parent: int | None) -> None:
        self.turn: OutlineRow | None = None
        self.calls: dict[str, OutlineRow] = {}
        self._fold = fold
        self._path = path
        self._parent = parent
        self._dialect = ""
        self._started: float | None = None
        self._has_approver = False
        self._approved_tools: set[str] = set()

    def add(self, fact: OwnFact, at: float | None) -> OutlineRow:
        match fact:
            case RunStarted():
                return self._start(fact, at)
            case TurnStarted():
                return self._start_turn(fact, at)
            case TurnEnded():
                return self._end_turn(fact, at)
            case CallStarted(call_id=call_id, name=name):
                return self._add_call(call_id, name=name, stage="writing", at=at)
            case CallReady(call=call, repair=repair):
                row = self._add_call(call.id, name=call.name, stage="ready", at=at)
                is_raw = call.name in self._fold.raw_tools
                written = (_preview_raw if is_raw else _preview_arguments)(call.arguments)
                row = self._fold.change(row, arguments=written, ready=at)
                self._fold.note_arguments(row, call.arguments)
                return row if repair == "none" else self._fold.change(row, repair=repair)
            case CallMalformed():
                row = self._add_call(fact.call_id, name=fact.name or "", stage="malformed", at=at)
                return self._fold.change(row, stage="malformed", error=preview_text(fact.reason), end=at)
            case CallQuoted(call_id=call_id):
                row = self._fold.change(self._find_call(call_id, at), quoted=True)
                is_asked = self._has_approver or row.fields["name"] in self._approved_tools
                return row if is_asked else self._fold.change(row, stage="refused", error=QUOTED)
            case ApprovalNeeded(call=call, digest=digest, doubts=doubts):
                self._set_status("paused")
                row = self._fold.change(self._find_call(call.id, at), stage="asking", asked=at)
                if doubts:
                    row = self._fold.change(row, doubts=[each.summary for each in doubts])
                return self._fold.change(row, digest=digest) if digest else row
            case ApprovalGiven(call_id=call_id, approved=approved, reason=reason):
                self._set_status("running")
                row = self._fold.change(self._find_call(call_id, at), answered=at, approved=approved)
                if approved:
                    return self._fold.change(row, stage="approved")
                return self._fold.change(row, stage="refused", error=preview_text(reason))
            case ToolStarted(call_id=call_id):
                return self._fold.change(self._find_call(call_id, at), stage="running", start=at)
            case ToolSuspended(call_id=call_id):
                row = self._fold.change(self._find_call(call_id, at), stage="suspended")
                if all(each.fields["stage"] != "running" for each in self.calls.values()):
                    self._set_status("paused")
                return row
            case WaitOver(call_id=call_id):
                self._set_status("running")
                return self._fold.change(self._find_call(call_id, at), stage="ready")
            case ToolFinished(result=result):
                return self._finish_call(result, at)
            case RunEnded(reason=reason, detail=detail):
                if not self._path:
                    self._fold.summary |= {"status": "done", "reason": reason, "detail": detail[:MAX_DETAIL_CHARS]}
                row = self._append("end", reason=reason, text=preview_text(detail), at=at)
                if at is not None and self._started is not None:
                    row.fields["seconds"] = round(at - self._started, 6)
                return row
            case _:
                return self._add_note(fact, at)

    def _append(self, kind: RowKind, **fields: Any) -> OutlineRow:
        """Append a row: a call or a note under the open turn, others under the call of an inner run."""
        parent = self._parent if self.turn is None or kind not in ("call", "note") else self.turn.index
        return self._fold.append(kind, self._path, parent, fields)

    def _start(self, fact: RunStarted, at: float | None) -> OutlineRow:
        self._dialect = fact.dialect
        self._started, self._has_approver = at, fact.has_approver
        self._approved_tools = {spec.name for spec in fact.tools if spec.approve}
        self._fold.note_tools(fact.tools)
        if not self._path:
            self._fold.summary |= {
                "run_id": fact.run_id,
                "model": fact.model,
                "dialect": fact.dialect,
                "title": preview_prompt(fact) or "",
                "tools": [spec.name for spec in fact.tools],
            }
        row = None
        for place, message in enumerate(fact.messages):
            row = self._append("message", role=message.role, text=preview_message(message), place=place, at=at)
        return row or self._append("note", note="started", text=f"The run starts with {fact.model}", at=at)

    def _start_turn(self, fact: TurnStarted, at: float | None) -> OutlineRow:
        self._set_status("running")
        self.turn = self._append("turn", turn=fact.turn, start=at, dialect=fact.dialect or self._dialect)
        if fact.model:
            self.turn.fields["model"] = fact.model
        return self.turn

    def _end_turn(self, fact: TurnEnded, at: float | None) -> OutlineRow:
        usage = fact.usage
        self._pay(usage, fact.cost)
        row = self.turn or self._append("turn", turn=0)
        self.turn = None
        fields: dict[str, Any] = {
            "end": at,
            "text": preview_message(fact.message),
            "finish": fact.finish,
            "calls": len(fact.message.calls),
            "input_tokens": usage.input_tokens,
            "output_tokens": usage.output_tokens,
        }
        if fact.cost is not None:
            fields["cost"] = fact.cost
        return self._fold.change(row, **fields)

    def _pay(self, usage: Usage, cost: float | None) -> None:
        summary = self._fold.summary
        summary["input_tokens"] += usage.input_tokens
        summary["output_tokens"] += usage.output_tokens
        summary["cost"] = None if cost is None or summary["cost"] is None else summary["cost"] + cost

    def _add_call(self, call_id: str, *, name: str, stage: str, at: float | None) -> OutlineRow:
        known = self.calls.get(call_id)
        if known is not None:
            return self._fold.change(known, name=name or known.fields["name"], stage=stage)
        row = self._append("call", id=join_ids(self._path, call_id), name=name, stage=stage, ready=at)
        self.calls[call_id] = row
        return row

    def _find_call(self, call_id: str, at: float | None) -> OutlineRow:
        """Return the row of a call. A call whose beginning is not in the record gets one."""
        return self.calls.get(call_id) or self._add_call(call_id, name="", stage="ready", at=at)

    def _finish_call(self, result: ToolResult, at: float | None) -> OutlineRow:
        row = self._find_call(result.call_id, at)
        stage = "done" if result.error is None else "failed"
        if row.fields["stage"] in ("malformed", "refused"):
            stage = row.fields["stage"]
        fields: dict[str, Any] = {"stage": stage, "end": at}
        output = result.output
        if result.error is not None:
            fields["error"] = preview_text(result.error)
        elif output is None and result.media:
            fields["result"] = preview_text(", ".join(f"{each.name or each.mime}" for each in result.media))
        else:
            fields["result"] = preview_text(output if isinstance(output, str) else _dump_start(output))
        if result.media:
            fields["media"] = len(result.media)
        if not result.ran:
            fields["ran"] = False
        earlier = self._fold.find_repeated(row, took_effect=result.ran and result.error is None)
        if earlier is not None:
            fields["repeat_of"] = earlier
        return self._fold.change(row, **fields)

    def _add_note(self, fact: OwnFact, at: float | None) -> OutlineRow:
        match fact:
            case RunResumed():
                self._drop_turn()
                self._set_status("running")
                text = "Resumed by another process"
                if self._fold.is_fork and not self._path:
                    text, self._fold.is_fork = "Forked here; everything above comes from the original run", False
            case Compacted(dropped=dropped, shortened=shortened):
                self._pay(fact.usage, fact.cost)
                text = f"The conversation was compacted; messages dropped: {dropped}, results shortened: {shortened}"
            case TurnRestarted(failed=failed, reason=reason, model=model):
                self._drop_turn()
                text = f"{failed} failed ({reason}); trying {model} instead"
            case SaidInThought():
                self._drop_calls()
                text = "All of this turn so far turned out to be reasoning"
            case Guided():
                text = f"{fact.summary[:1].upper()}{fact.summary[1:]}"
            case HandedOver(agent=agent):
                self._fold.note_tools(fact.tools)
                text = f"Handed over to {agent}"
            case Interrupted(cause=cause, detail=detail):
                text = f"Interrupted ({cause})" + (f": {detail}" if detail else "")
            case _:
                text = fact.kind
        return self._append("note", note=fact.kind, text=preview_text(text), at=at)

    def _drop_turn(self) -> None:
        """Mark the open turn as void: the same message is asked for again."""
        if self.turn is not None:
            self._drop_calls()
            self._fold.touch(self.turn, void=True)
            self.turn = None

    def _drop_calls(self) -> None:
        for row in self._fold.rows:
            if self.turn is not None and row.parent == self.turn.index and row.kind == "call":
                self._fold.touch(row, void=True)

    def _set_status(self, status: str) -> None:
        if self._fold.summary["status"] != "done":
            self._fold.summary["status"] = status


class _ProgramRows(_RunRows):
    """Folds the facts of a program: its calls stand under the call that runs it, and all else belongs to that call."""

    def add(self, fact: OwnFact, at: float | None) -> OutlineRow:
        if self._parent is None:
            return super().add(fact, at)
        match fact:
            case RunStarted():
                self._fold.note_tools(fact.tools)
            case TurnEnded():
                self._pay(fact.usage, fact.cost)
            case TurnStarted() | RunEnded() | RunResumed() | Interrupted():
                pass
            case _:
                return super().add(fact, at)
        return self._fold.change(self._fold.rows[self._parent], is_program=True)
