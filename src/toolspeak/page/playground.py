"""The playground: runs that are started from the page, with models and tools that the command line named.

`Playground` is a source like any other, so its runs are listed, watched, approved and ended as all are. The page can
choose among the models and tools that are here, and cannot name others. Each run is kept as a file of facts.
"""

import asyncio
import json
import os
import secrets
import time
from collections.abc import Callable, Generator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import replace
from pathlib import Path
from typing import Any, TextIO

from toolspeak import codec
from toolspeak._frozen import frozen
from toolspeak.errors import ToolspeakError, UsageError
from toolspeak.events import CallReady, Fact, RunStarted, TurnStarted
from toolspeak.limits import Limits
from toolspeak.messages import Message, ToolCall
from toolspeak.models import Model
from toolspeak.page.continuation import Continuation, EditedAnswerModel
from toolspeak.page.document import RunDocument
from toolspeak.page.sources.record_files import RecordFiles
from toolspeak.page.sources.source import RunEntry
from toolspeak.run import Agent
from toolspeak.run.streams import AsyncStream
from toolspeak.tools import Toolbox

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
