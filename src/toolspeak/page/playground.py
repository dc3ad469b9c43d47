"""The playground: runs that are started from the page, with models and tools that the command line named.

`Playground` is a source like any other, so its runs are listed, watched, approved and ended as all are. The page can
choose among the models and tools that are here, and cannot name others. Each run is kept as a file of facts.
"""

import asyncio
import json
import os
import secrets
import time
from collections.abc import AsyncGenerator, Callable, Generator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import replace
from functools import reduce as fold
from pathlib import Path
from typing import Any, TextIO

from toolspeak.loop import initial_state, reduce
from toolspeak.loop.references import find_references
from toolspeak.models import Model, Request
from toolspeak.page.document import RunDocument
from toolspeak.page.rows import OutlineRow
from toolspeak.page.source import RunEntry
from toolspeak.page.sources import RecordFiles
from toolspeak.run import Agent
from toolspeak.run.streams import AsyncStream
from toolspeak.tools import Toolbox
from toolspeak.values import codec
from toolspeak.values.errors import ToolspeakError, UsageError
from toolspeak.values.events import (
    ApprovalGiven,
    ApprovalNeeded,
    CallReady,
    Fact,
    Interrupted,
    NestedFact,
    RunEnded,
    RunStarted,
    TextDelta,
    ToolFinished,
    ToolStarted,
    TurnEnded,
    TurnStarted,
)
from toolspeak.values.frozen import frozen
from toolspeak.values.limits import Limits
from toolspeak.values.messages import Message, Text, ToolCall, ToolResult
from toolspeak.values.pieces import Answer, Piece

# Where a new run goes on: the facts of another run up to some point, with or without an edit there.
#
# A run is the fold of its facts, so a run can go on from each of them. What was under way at that point has not
# happened in the new run: a message that was arriving is asked for again, and a call without a result runs again.
#
# - After an edited message at the start of the run, nothing else of the run is kept.
# - After an edited answer of the model, the new run reads the edited text as if the model had just written it.
# - After an edited result, the turn of its call is kept whole. Calls that refer to the result run again.


@frozen
class Continuation:
    """What a new run begins with.

    Attributes:
        facts: The facts of the other run that the new run begins with, the start of the run among them.
        times: Their times, in seconds since the first.
        answer: What the model is taken to write first; None if the model is asked.
    """

    facts: tuple[Fact, ...]
    times: tuple[float | None, ...]
    answer: str | None = None


def describe_edit(document: RunDocument, row: OutlineRow) -> dict[str, Any]:
    """Return what can be edited of a row, as JSON data: `what` it is ("" for nothing), its `text`, and `is_error`."""
    nothing: dict[str, Any] = {"what": "", "text": "", "is_error": False}
    if row.path:
        return nothing
    match row.kind:
        case "message":
            return {**nothing, "what": "message", "text": _find_message(document, row).text}
        case "turn":
            ended = next((fact for fact in _list_facts(document, row) if isinstance(fact, TurnEnded)), None)
            if ended is None:
                return nothing
            text = ended.message.text if ended.message.raw is None else ended.message.raw.text
            return {**nothing, "what": "answer", "text": text}
        case "call":
            finished = next((fact for fact in _list_facts(document, row) if isinstance(fact, ToolFinished)), None)
            if finished is None:
                return nothing
            result = finished.result
            text = result.error if result.error is not None else _write_output(result.output)
            return {"what": "result", "text": text, "is_error": result.error is not None}
        case _:
            return nothing


def go_on_from_fact(document: RunDocument, number: int) -> Continuation:
    """Return what a run begins with that goes on from a fact, without an edit.

    Raises:
        UsageError: The run has its answer there, or there is no such fact.
    """
    if not 0 <= number < len(document.facts):
        raise UsageError("the run has no such fact")
    kept = document.facts[: number + 1]
    while kept and isinstance(kept[-1].fact, RunEnded | Interrupted):
        last = kept.pop().fact
        if isinstance(last, RunEnded) and last.reason == "answered":
            raise UsageError("the model has answered here; write what you say next, or go on from an earlier fact")
    return _drop_unfinished([timed.fact for timed in kept], [timed.at for timed in kept])


def go_on_from_edit(document: RunDocument, row: OutlineRow, text: str, *, is_error: bool = False) -> Continuation:
    """Return what a run begins with that goes on from an edited message, answer or result.

    Raises:
        UsageError: The row cannot be edited, or the text is no JSON where the result was JSON.
    """
    facts = [timed.fact for timed in document.facts]
    times = [timed.at for timed in document.facts]
    match describe_edit(document, row)["what"]:
        case "message":
            number = row.facts[0]
            started = facts[number]
            if not isinstance(started, RunStarted):
                raise UsageError("this message cannot be edited")
            messages = _edit_message(started.messages, row.fields["place"], text)
            return Continuation(facts=(replace(started, messages=messages),), times=(times[number],))
        case "answer":
            return replace(_drop_unfinished(facts[: row.facts[0]], times[: row.facts[0]]), answer=text)
        case "result":
            return _edit_result(facts, times, row, text, is_error=is_error)
        case _:
            raise UsageError("this cannot be edited; go on from it, or edit a message, an answer or a result")


def list_history(document: RunDocument, number: int) -> tuple[Message, ...]:
    """Return the conversation of a run after a fact, to which something can be said.

    Raises:
        UsageError: The run is in the middle of something there.
    """
    facts = [timed.fact for timed in document.facts[: number + 1]]
    started = next((fact for fact in facts if isinstance(fact, RunStarted)), None)
    if started is None:
        raise UsageError("the record does not hold the beginning of this run")
    state = fold(reduce, facts, initial_state(started.tools))
    if state.turn.is_open or any(each.result is None for each in state.turn.calls.values()):
        raise UsageError("the run is in the middle of a turn here; go on from the end of a turn")
    return state.history


class EditedAnswerModel:
    """A model whose first answer is given, as if the model had written it; then the model itself is asked."""

    def __init__(self, model: Model, answer: str) -> None:
        self._model = model
        self._answer: str | None = answer

    def __getattr__(self, name: str) -> Any:
        """Return what the model has beside the members that every model has: its price, for example."""
        return getattr(self._model, name)

    @property
    def name(self) -> str:
        return self._model.name

    @property
    def dialect(self) -> str:
        return self._model.dialect

    async def ask(self, request: Request) -> AsyncGenerator[Sequence[Piece]]:
        """Answer with the given text once, and as the model does from then on."""
        text, self._answer = self._answer, None
        if text is not None:
            yield [TextDelta(text=text)]
            yield [Answer(parts=(Text(text=text),), finish="stop", usage=None)]
            return
        async for pieces in self._model.ask(request):
            yield pieces


def _list_facts(document: RunDocument, row: OutlineRow) -> list[Fact]:
    return [document.facts[number].fact for number in row.facts]


def _find_message(document: RunDocument, row: OutlineRow) -> Message:
    started = document.facts[row.facts[0]].fact
    if not isinstance(started, RunStarted):
        raise UsageError("this message cannot be edited")
    place: int = row.fields["place"]
    return started.messages[place]


def _edit_message(messages: tuple[Message, ...], place: int, text: str) -> tuple[Message, ...]:
    """Return messages with another text at a place. Those after it are answers to the old text, and are dropped."""
    old = messages[place]
    others = tuple(part for part in old.parts if not isinstance(part, Text))
    edited = replace(old, parts=(Text(text=text), *others), raw=None)
    before, after = messages[:place], messages[place + 1 :]
    return (*before, edited, *after) if old.role == "system" else (*before, edited)


def _edit_result(
    facts: list[Fact], times: list[float | None], row: OutlineRow, text: str, *, is_error: bool
) -> Continuation:
    number = next(number for number in row.facts if isinstance(facts[number], ToolFinished))
    old = facts[number]
    assert isinstance(old, ToolFinished)  # noqa: S101 (found as one)
    call_id = old.result.call_id
    if is_error:
        result = ToolResult(call_id=call_id, error=text)
    else:
        result = ToolResult(call_id=call_id, output=_read_output(old.result, text), media=old.result.media)
    ends = (place for place in range(number, len(facts)) if isinstance(facts[place], TurnStarted | RunEnded))
    end = next(ends, len(facts))
    kept = [*facts[:number], replace(old, result=result), *facts[number + 1 : end]]
    again = _find_dependents(kept, call_id)
    pairs = [
        (fact, at) for fact, at in zip(kept, times[:end], strict=True) if not _is_work_of(fact, again)
    ]  # fmt: skip
    return _drop_unfinished([fact for fact, _ in pairs], [at for _, at in pairs])


def _find_dependents(facts: Sequence[Fact], call_id: str) -> set[str]:
    """Return the ids of the calls whose arguments need the result of a call, directly or through other calls."""
    found = {call_id}
    for fact in facts:
        if isinstance(fact, CallReady) and found.intersection(find_references(fact.call.arguments)):
            found.add(fact.call.id)
    return found - {call_id}


def _is_work_of(fact: Fact, call_ids: set[str]) -> bool:
    """Whether a fact is about running one of these calls."""
    match fact:
        case ToolStarted(call_id=call_id) | ApprovalGiven(call_id=call_id):
            return call_id in call_ids
        case ApprovalNeeded(call=call):
            return call.id in call_ids
        case ToolFinished(result=result):
            return result.call_id in call_ids
        case NestedFact(path=path):
            return path[0] in call_ids
        case _:
            return False


def _drop_unfinished(facts: Sequence[Fact], times: Sequence[float | None]) -> Continuation:
    """Return facts without a message that was arriving, and without the work of calls that have no result."""
    starts = [place for place, fact in enumerate(facts) if isinstance(fact, TurnStarted)]
    end = len(facts)
    if starts and not any(isinstance(fact, TurnEnded) for fact in facts[starts[-1] :]):
        end = starts[-1]
    finished = {fact.result.call_id for fact in facts[:end] if isinstance(fact, ToolFinished)}
    called = {fact.call.id for fact in facts[:end] if isinstance(fact, CallReady)}
    kept = [
        (fact, at)
        for fact, at in zip(facts[:end], times[:end], strict=True)
        if not _is_work_of(fact, called - finished) and not isinstance(fact, RunEnded | Interrupted)
    ]
    if not any(isinstance(fact, RunStarted) for fact, _ in kept):
        raise UsageError("the record does not hold the beginning of this run")
    return Continuation(facts=tuple(fact for fact, _ in kept), times=tuple(at for _, at in kept))


def _write_output(output: Any) -> str:
    return output if isinstance(output, str) else json.dumps(output, ensure_ascii=False, indent=2)


def _read_output(old: ToolResult, text: str) -> Any:
    """Return an edited result: a text where it was a text, else JSON."""
    if isinstance(old.output, str):
        return text
    try:
        return json.loads(text)
    except (ValueError, RecursionError) as error:
        if old.error is not None:
            return text
        raise UsageError(f"the result is JSON, and this is not: {error}") from None


MAX_RUNNING = 8
"""How many runs of the playground may go on at the same time."""


@frozen
class RunSetup:
    """With what a run of the playground is started.

    Attributes:
        model: The name of the model, one of those of the playground.
        dialect: The dialect; `auto` for the best one known for the model.
        system: The system prompt; "" for none.
        tools: The names of the tools; None for all of the playground.
        limits: The limits of the run.
    """

    model: str
    dialect: str = "auto"
    system: str = ""
    tools: tuple[str, ...] | None = None
    limits: Limits = Limits()


class FactFile:
    """A new file, for its owner alone, that facts are written to as they happen."""

    def __init__(self, path: Path) -> None:
        try:
            descriptor = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
        except OSError as error:
            raise UsageError(f"cannot write {path}: {error.strerror}") from None
        self._path = path
        self._file: TextIO = os.fdopen(descriptor, "w", encoding="utf-8", newline="\n")

    def add(self, fact: Fact, at: float | None) -> None:
        """Write a fact with its time."""
        self._file.write(json.dumps({"t": at, "fact": codec.encode(fact)}) + "\n")
        self._file.flush()

    def close(self) -> None:
        """Close the file."""
        self._file.close()

    def remove(self) -> None:
        """Close the file, and remove it."""
        self._file.close()
        self._path.unlink(missing_ok=True)


class PlaygroundRun:
    """A run that goes on in this process.

    Attributes:
        document: The run as the page has it.
        task: The task that drives the run.
    """

    def __init__(self, file: FactFile, began_at: float = 0.0) -> None:
        self.document = RunDocument()
        self.document.is_live = True
        self.document.started = time.time()
        self.task: asyncio.Task[None] | None = None
        self._file = file
        self._began = time.monotonic() - began_at
        self._stream: AsyncStream[Any] | None = None
        self._questions: dict[str, asyncio.Future[bool | str]] = {}

    def add_earlier(self, continuation: Continuation) -> None:
        """Begin with facts of another run."""
        for fact, at in zip(continuation.facts, continuation.times, strict=True):
            self._file.add(fact, at)
            self.document.add(fact, at)

    def record(self, fact: Fact) -> None:
        """Write a fact before the run acts on it."""
        self._file.add(fact, self._now())

    async def ask(self, call: ToolCall) -> bool | str:
        """Wait until somebody says in the page whether a call may run."""
        answer: asyncio.Future[bool | str] = asyncio.get_running_loop().create_future()
        self._questions[call.id] = answer
        try:
            return await answer
        finally:
            self._questions.pop(call.id, None)

    def answer(self, call_id: str, approved: bool | str) -> bool:
        """Answer a question, and return whether this answer counts."""
        question = self._questions.get(call_id)
        if question is None or question.done():
            return False
        question.set_result(approved)
        return True

    def discard(self) -> None:
        """Remove the file of a run that could not be started."""
        self._file.remove()

    def start(self, stream: AsyncStream[Any]) -> None:
        """Drive the run in a task."""
        self._stream = stream
        self.task = asyncio.create_task(self._drive(stream))

    async def _drive(self, stream: AsyncStream[Any]) -> None:
        failure = ""
        try:
            async with stream:
                async for event in stream:
                    self.document.add(event, self._now())
        except ToolspeakError as error:
            failure = str(error)
        except Exception as error:
            failure = f"{type(error).__name__}: {error}"
        finally:
            self._file.close()
            has_ended = self.document.fold.summary["status"] == "done"  # then the end says what failed
            self.document.finish("" if has_ended else failure or "the run was ended with the page")

    def cancel(self) -> bool:
        """End the run early."""
        if self._stream is None or not self.document.is_live:
            return False
        self._stream.cancel()
        return True

    def _now(self) -> float:
        return round(time.monotonic() - self._began, 6)


class Playground:
    """Starts runs, and keeps them as files of facts."""

    name = "playground"
    label = "Playground"

    def __init__(
        self,
        folder: Path,
        model_names: Sequence[str],
        find_model: Callable[[str], Model],
        toolbox: Toolbox,
        targets: Sequence[str] = (),
    ) -> None:
        """Prepare the playground.

        Args:
            folder: Where runs are kept. It is made if it does not exist.
            model_names: The models that the page can choose from.
            find_model: Returns a model by its name, when it is first used.
            toolbox: The tools that the page can choose from.
            targets: Where the tools come from, for tests that are saved.
        """
        folder.mkdir(parents=True, exist_ok=True)
        self.model_names = tuple(dict.fromkeys(model_names))
        self.toolbox = toolbox
        self.targets = tuple(targets)
        self._folder = folder
        self._files = RecordFiles(folder)
        self._find_model = find_model
        self._models: dict[str, Model] = {}
        self._runs: dict[str, PlaygroundRun] = {}

    # What the page does with it

    async def start(self, setup: RunSetup, prompt: str, messages: Sequence[Message] = ()) -> str:
        """Start a run, and return its id.

        Raises:
            UsageError: The setup cannot be used.
        """
        if not prompt.strip():
            raise UsageError("nothing is asked; write a prompt")
        run_id, run = self._create_run(setup)
        with self._discarding(run_id):
            agent = self._build_agent(setup, run)
            run.start(agent.astream(prompt, messages=messages, record=run.record))
        return run_id

    async def go_on(self, setup: RunSetup, continuation: Continuation) -> str:
        """Start a run that goes on from facts of another one, and return its id.

        Raises:
            UsageError: The setup cannot be used.
        """
        began_at = max((at for at in continuation.times if at is not None), default=0.0)
        run_id, run = self._create_run(setup, began_at)
        with self._discarding(run_id):
            agent = self._build_agent(setup, run, continuation.answer)
            facts = [self._adopt(fact, setup, agent) for fact in continuation.facts]
            stream = agent.astream_resume(facts, record=run.record, limits=_add_used(setup.limits, facts))
            run.add_earlier(replace(continuation, facts=tuple(facts)))
            run.start(stream)
        return run_id

    def _create_run(self, setup: RunSetup, began_at: float = 0.0) -> tuple[str, PlaygroundRun]:
        if setup.model not in self.model_names:
            raise UsageError(f"there is no model {setup.model!r} here; name it on the command line with --model")
        unknown = [name for name in setup.tools or () if name not in self.toolbox.names]
        if unknown:
            raise UsageError(f"there is no tool {unknown[0]!r} here; name its file on the command line with --tools")
        if sum(run.document.is_live for run in self._runs.values()) >= MAX_RUNNING:
            raise UsageError(f"{MAX_RUNNING} runs are going on; wait for one of them, or end it")
        path = self._folder / f"{time.strftime('%Y%m%d-%H%M%S')}-{secrets.token_hex(3)}.jsonl"
        run = PlaygroundRun(FactFile(path), began_at)
        run_id = self._files.add(path)
        self._runs[run_id] = run
        return run_id, run

    @contextmanager
    def _discarding(self, run_id: str) -> Generator[None]:
        """Remove a run if it cannot be started."""
        try:
            yield
        except ToolspeakError:
            self._runs.pop(run_id).discard()
            raise

    def _build_agent(self, setup: RunSetup, run: PlaygroundRun, answer: str | None = None) -> Agent:
        if setup.model not in self._models:
            self._models[setup.model] = self._find_model(setup.model)
        model = self._models[setup.model]
        return Agent(
            model if answer is None else EditedAnswerModel(model, answer),
            self._choose_tools(setup),
            dialect=setup.dialect,
            system=setup.system or None,
            limits=setup.limits,
            approve=run.ask,
        )

    def _choose_tools(self, setup: RunSetup) -> Toolbox:
        return Toolbox([tool for tool in self.toolbox if setup.tools is None or tool.name in setup.tools])

    def _adopt(self, fact: Fact, setup: RunSetup, agent: Agent) -> Fact:
        """Return the start of another run as that of the new one; other facts stay as they are."""
        if not isinstance(fact, RunStarted):
            return fact
        dialect = fact.dialect if setup.dialect == "auto" else setup.dialect
        return replace(
            fact,
            run_id=secrets.token_hex(8),
            model=agent.model.name,
            dialect=dialect,
            in_text=dialect != "native",
            has_approver=True,
            limits=setup.limits,
            output=None,
            tools=self._choose_tools(setup).specs,
            tool_budget=None,
            search_tools=(),
        )

    # What every source does

    async def list_runs(self) -> list[RunEntry]:
        """Return the runs in the folder, the newest first."""
        entries = await self._files.list_runs()
        return [self._add_status(entry) for entry in entries]

    def _add_status(self, entry: RunEntry) -> RunEntry:
        run = self._runs.get(entry.id)
        if run is None or not run.document.is_live:
            return entry
        return replace(entry, status="paused" if run.document.fold.summary["status"] == "paused" else "running")

    async def open(self, run_id: str) -> RunDocument:
        """Return a run that goes on here, or read one from its file."""
        run = self._runs.get(run_id)
        if run is not None:
            return run.document
        document = await self._files.open(run_id)
        await document.wait_until_read()
        document.is_live = False  # the process that would go on with it has ended
        return document

    async def follow(self, run_id: str, document: RunDocument) -> None:
        """Wait until the run has ended: its task adds what happens."""
        run = self._runs.get(run_id)
        if run is not None and run.task is not None:
            await asyncio.wait([run.task])

    async def approve(self, run_id: str, call_id: str, approved: bool | str, digest: str | None) -> bool:
        """Answer whether a call may run, and return whether this answer counts: the first one does."""
        run = self._runs.get(run_id)
        return run is not None and run.answer(call_id, approved)

    async def cancel(self, run_id: str) -> bool:
        """End a run early, and return whether this did it."""
        run = self._runs.get(run_id)
        return run is not None and run.cancel()

    async def close(self) -> None:
        """End all runs."""
        tasks = [run.task for run in self._runs.values() if run.task is not None and not run.task.done()]
        for task in tasks:
            task.cancel()
        for task in tasks:
            with suppress(asyncio.CancelledError):
                await task


def _add_used(limits: Limits, facts: Sequence[Fact]) -> Limits:
    """Return limits for a run that goes on: what the earlier facts have used is not counted."""
    turns = sum(isinstance(fact, TurnStarted) for fact in facts)
    calls = sum(isinstance(fact, CallReady) for fact in facts)
    return replace(
        limits,
        turns=None if limits.turns is None else limits.turns + turns,
        calls=None if limits.calls is None else limits.calls + calls,
    )
