"""The playground: runs that are started from the page, with models and tools that the command line named.

    GET  /api/playground                            the models, dialects and tools that can be chosen
    POST /api/playground/runs                       starts a run
    GET  /api/runs/{source}/{id}/rows/{row}/edit    what can be edited of a row
    POST /api/runs/{source}/{id}/go-on              starts a run that goes on from a fact, an edit or the end

`Playground` is a source like any other, so its runs are listed, watched, approved and ended as all are. They run in the
server of the page, with an `Agent` in its event loop. The page can choose among the models and tools that are here, and
cannot name others. Each run is kept as a file of facts, whose first line names the run that it goes on from;
`continuation.py` says where. With a log, what is asked is a conversation there too, as that of `toolspeak chat` is.
"""

import asyncio
import base64
import json
import math
import os
import secrets
import time
from collections.abc import AsyncGenerator, Callable, Generator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager, suppress
from dataclasses import fields, replace
from pathlib import Path
from typing import Any, cast

from starlette.requests import Request as HttpRequest
from starlette.responses import Response
from starlette.routing import Route

from toolspeak.dialects import DIALECTS
from toolspeak.dialects.text import TextDialect
from toolspeak.durable.log import ConversationStore, RunLink, StoredFact
from toolspeak.models import Model, Request
from toolspeak.page.annotations import Annotation
from toolspeak.page.continuation import (
    Continuation,
    EditedAnswer,
    describe_edit,
    go_on_from_edit,
    go_on_from_fact,
    list_history,
)
from toolspeak.page.document import PageFact, RunDocument, RunOrigin
from toolspeak.page.library import RunEntry, RunLibrary
from toolspeak.page.record_files import RecordFiles
from toolspeak.page.routes import JsonAnswer, find_row, read_key, read_object
from toolspeak.run import Agent
from toolspeak.run.streams import AsyncStream
from toolspeak.tools import Toolbox
from toolspeak.values import codec
from toolspeak.values.errors import ToolspeakError, UsageError
from toolspeak.values.events import Allow, CallReady, Fact, RunStarted, TextDelta, TurnStarted
from toolspeak.values.frozen import frozen
from toolspeak.values.limits import Limits
from toolspeak.values.messages import Media, Message, Text, ToolCall, user
from toolspeak.values.pieces import Answer, ApiCall, Piece

MAX_RUNNING = 8
"""How many runs of the playground may go on at the same time."""

MAX_ATTACHED_BYTES = 20_000_000
"""The most bytes of a request that starts a run, with what is attached to its prompt."""

MAX_LOOKED_UP = 500
"""How many of the latest runs of the log are searched for the conversation of a run."""

SETUP_LIMITS = ("turns", "calls", "tokens", "seconds", "cost")
"""The limits that the page can set."""


@frozen
class RunSetup:
    """With what a run of the playground is started."""

    model: str  # one of those of the playground
    dialect: str = "auto"  # `auto` for the best one known for the model
    system: str = ""
    tools: tuple[str, ...] | None = None  # None for all of the playground
    limits: Limits = Limits()


class EditedAnswerModel:
    """A model whose first answer is given, as if the model had written it; then the model itself is asked."""

    def __init__(self, model: Model, answer: EditedAnswer) -> None:
        self.name, self.dialect = model.name, model.dialect  # a protocol does not look into `__getattr__`
        self._model = model
        self._answer: EditedAnswer | None = answer

    def __getattr__(self, name: str) -> Any:
        """Return what else the model has: its price, for example."""
        return getattr(self._model, name)

    async def ask(self, request: Request) -> AsyncGenerator[Sequence[Piece]]:
        """Answer with the given text and calls once, and as the model does from then on."""
        answer, self._answer = self._answer, None
        if answer is not None:
            text, calls = answer.text, tuple(_make_api_call(place, *call) for place, call in enumerate(answer.calls))
            if calls and isinstance(used := DIALECTS.get(request.dialect), TextDialect):
                text = "\n\n".join(
                    filter(None, (text, used.format_calls([_make_call(*call) for call in answer.calls])))
                )
                calls = ()
            if text:
                yield [TextDelta(text=text)]
            parts = (*((Text(text=text),) if text else ()), *calls)
            yield [Answer(parts=parts, finish="tool_calls" if calls else "stop", usage=None)]
            return
        async for pieces in self._model.ask(request):
            yield pieces


def _make_call(name: str, arguments: str) -> ToolCall:
    return ToolCall(id="", name=name, arguments=json.loads(arguments))


def _make_api_call(place: int, name: str, arguments: str) -> ApiCall:
    return ApiCall(index=place, id=f"edited_{secrets.token_hex(4)}", name=name, arguments=arguments)


class RunLog:
    """Writes what is asked in the page to the log of conversations, in a thread of its own.

    A run that goes on from another run of the log belongs to the conversation of that one. If the log cannot be
    written, the runs go on without it, and `failure` says why.
    """

    def __init__(self, path: Path, options: Mapping[str, Any] | None = None) -> None:
        """Name the file of the log. `options` are remembered with each conversation."""
        self.failure = ""
        self._path = path
        self._options = dict(options or {})
        self._thread = ThreadPoolExecutor(1, "page-log")
        self._store: ConversationStore | None = None
        self._links: dict[str, str] = {}  # the conversations of runs

    def record(self, fact: Fact, run_id: str, parent: str | None) -> None:
        """Write a fact of a run, soon. `parent` is the run of the log that it goes on from."""
        self._thread.submit(self._write, fact, run_id, parent, time.time())

    def _write(self, fact: Fact, run_id: str, parent: str | None, at: float) -> None:
        if self.failure:
            return
        try:
            self._store = store = self._store or ConversationStore(self._path)
            if isinstance(fact, RunStarted):
                store.start(fact, at, self._link(store, fact, parent))
            else:
                store.append(run_id, [StoredFact(fact, at)])
        except UsageError as error:
            self.failure = str(error)

    def _link(self, store: ConversationStore, started: RunStarted, parent: str | None) -> RunLink:
        conversation = None
        if parent is not None:
            runs = (each for each in store.list_latest_runs(MAX_LOOKED_UP) if each.run_id == parent)
            conversation = self._links.get(parent) or next((each.conversation for each in runs), None)
        self._links[started.run_id] = conversation or started.run_id
        if parent is None or conversation is None:
            return RunLink(conversation=started.run_id, options=self._options)
        messages = store.load_messages(parent)
        return RunLink(conversation=conversation, parent=parent, messages=messages, options=self._options)

    def close(self) -> None:
        """Wait until everything is written."""
        self._thread.shutdown()
        if self._store is not None:
            self._store.close()


class PlaygroundRun:
    """A run that goes on in this process, and its file of facts.

    Attributes:
        document: The run as the page has it.
        task: The task that drives the run.
        log_id: The id that it has in the log; "" if it is not there.
    """

    def __init__(self, path: Path, began_at: float = 0.0, origin: RunOrigin | None = None) -> None:
        """Make the file, for its owner alone; raise `UsageError` if that fails. `began_at` is used time in seconds."""
        try:
            descriptor = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
        except OSError as error:
            raise UsageError(f"cannot write {path}: {error.strerror}") from None
        self.document = RunDocument()
        self.document.go_on_from(origin)
        self.document.is_live = True
        self.document.started = time.time() - began_at
        self.log_id = ""
        self.task: asyncio.Task[None] | None = None
        self._path = path
        self._file = os.fdopen(descriptor, "w", encoding="utf-8", newline="\n")
        self._began = time.monotonic() - began_at
        self._is_new = True
        self._stream: AsyncStream[Any] | None = None
        self._questions: dict[str, asyncio.Future[bool | str | Allow]] = {}

    def add_earlier(self, facts: Sequence[PageFact]) -> None:
        """Begin with facts of another run."""
        for fact, at in facts:
            self._write(fact, at)
            self.document.add(fact, at)

    def record(self, fact: Fact) -> None:
        """Write a fact before the run acts on it."""
        self._write(fact, self._now())

    def _write(self, fact: Fact, at: float | None) -> None:
        line: dict[str, Any] = {"t": at, "fact": codec.encode(fact)}
        if self._is_new and self.document.origin is not None:
            line["from"] = self.document.origin._asdict()
        self._is_new = False
        self._file.write(json.dumps(line) + "\n")
        self._file.flush()

    async def ask(self, call: ToolCall) -> bool | str | Allow:
        """Wait until somebody says in the page whether a call may run."""
        answer: asyncio.Future[bool | str | Allow] = asyncio.get_running_loop().create_future()
        self._questions[call.id] = answer
        try:
            return await answer
        finally:
            self._questions.pop(call.id, None)

    def answer(self, call_id: str, approved: bool | str | Allow) -> bool:
        """Answer a question, and return whether this answer counts."""
        question = self._questions.get(call_id)
        if question is None or question.done():
            return False
        question.set_result(approved)
        return True

    def discard(self) -> None:
        """Remove the file of a run that could not be started."""
        self._file.close()
        self._path.unlink(missing_ok=True)

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
            self.document.finish("" if has_ended else failure or "the run was cancelled when the page was stopped")

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
        log: RunLog | None = None,
    ) -> None:
        """Prepare the playground.

        Args:
            folder: Where runs are kept. It is made if it does not exist.
            model_names: The models that the page can choose from.
            find_model: Returns a model by its name, when it is first used.
            toolbox: The tools that the page can choose from.
            targets: Where the tools come from, for tests that are saved.
            log: Where what is asked is written as conversations; None for nowhere.
        """
        folder.mkdir(parents=True, exist_ok=True)
        self.model_names = tuple(dict.fromkeys(model_names))
        self.toolbox = toolbox
        self.targets = tuple(targets)
        self.log = log
        self._folder = folder
        self._files = RecordFiles(folder)
        self.place = self._files.place
        self._find_model = find_model
        self._models: dict[str, Model] = {}
        self._runs: dict[str, PlaygroundRun] = {}

    # What the page does with it

    async def start(
        self,
        setup: RunSetup,
        prompt: str,
        messages: Sequence[Message] = (),
        *,
        attachments: Sequence[Media] = (),
        origin: RunOrigin | None = None,
    ) -> str:
        """Start a run, and return its id; raise `UsageError` if the setup or an attachment cannot be used.

        The run goes on after the messages, which are those of `origin`.
        """
        if not prompt.strip():
            raise UsageError("the prompt is empty; write one")
        with self._create_run(setup, origin=origin) as (run_id, run):
            agent = self._build_agent(setup, run)
            asked = user(prompt, *attachments) if attachments else prompt
            run.start(agent.astream(asked, messages=messages, record=self._make_recorder(run)))
        return run_id

    def _make_recorder(self, run: PlaygroundRun) -> Callable[[Fact], None]:
        """Return what writes the facts of a run: to its file, and to the log if there is one."""
        log, origin = self.log, run.document.origin
        if log is None:
            return run.record
        parent = None if origin is None else origin.id if origin.source == "log" else None
        if origin is not None and origin.source == self.name and origin.id in self._runs:
            parent = self._runs[origin.id].log_id or None

        def record(fact: Fact) -> None:
            run.record(fact)
            if isinstance(fact, RunStarted):
                run.log_id = fact.run_id
            log.record(fact, run.log_id, parent)

        return record

    async def go_on(self, setup: RunSetup, continuation: Continuation, origin: RunOrigin | None = None) -> str:
        """Start a run that goes on from facts of another one, as `start` does."""
        began_at = max((timed.at for timed in continuation.facts if timed.at is not None), default=0.0)
        with self._create_run(setup, began_at, origin) as (run_id, run):
            agent = self._build_agent(setup, run, continuation.answer)
            adopted = [PageFact(self._adopt(fact, setup, agent), at) for fact, at in continuation.facts]
            facts = [timed.fact for timed in adopted]
            stream = agent.astream_resume(facts, record=run.record, limits=_add_used(setup.limits, facts))
            run.add_earlier(adopted)
            run.start(stream)
        return run_id

    @contextmanager
    def _create_run(
        self, setup: RunSetup, began_at: float = 0.0, origin: RunOrigin | None = None
    ) -> Generator[tuple[str, PlaygroundRun]]:
        """Return a new run and its id. It is removed if it cannot be started."""
        if setup.model not in self.model_names:
            raise UsageError(f"there is no model {setup.model!r} here; name it on the command line with --model")
        unknown = [name for name in setup.tools or () if name not in self.toolbox.names]
        if unknown:
            raise UsageError(f"there is no tool {unknown[0]!r} here; name its file on the command line with --tools")
        if sum(run.document.is_live for run in self._runs.values()) >= MAX_RUNNING:
            raise UsageError(f"{MAX_RUNNING} runs are in progress; wait for one of them, or cancel it")
        path = self._folder / f"{time.strftime('%Y%m%d-%H%M%S')}-{secrets.token_hex(3)}.jsonl"
        run = PlaygroundRun(path, began_at, origin)
        run_id = self._files.add(path)
        self._runs[run_id] = run
        try:
            yield run_id, run
        except ToolspeakError:
            self._runs.pop(run_id).discard()
            raise

    def _build_agent(self, setup: RunSetup, run: PlaygroundRun, answer: EditedAnswer | None = None) -> Agent:
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
        return [self._add_status(entry) for entry in await self._files.list_runs()]

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

    async def annotate(self, run_id: str, annotation: Annotation) -> None:
        """Keep what people say of a run in a file beside its own."""
        await self._files.annotate(run_id, annotation)

    async def follow(self, run_id: str, document: RunDocument) -> None:
        """Wait until the run has ended: its task adds what happens."""
        run = self._runs.get(run_id)
        if run is not None and run.task is not None:
            await asyncio.wait([run.task])

    async def approve(self, run_id: str, call_id: str, approved: bool | str | Allow, digest: str | None) -> bool:
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
        if self.log is not None:
            await asyncio.to_thread(self.log.close)


def _add_used(limits: Limits, facts: Sequence[Fact]) -> Limits:
    """Return limits for a run that goes on: what the earlier facts have used is not counted."""
    turns = sum(isinstance(fact, TurnStarted) for fact in facts)
    calls = sum(isinstance(fact, CallReady) for fact in facts)
    return replace(
        limits,
        turns=None if limits.turns is None else limits.turns + turns,
        calls=None if limits.calls is None else limits.calls + calls,
    )


# The routes


def playground_routes(library: RunLibrary, playground: Playground) -> list[Route]:
    """Return the routes of the playground, which must be a source of the library."""

    async def describe(request: HttpRequest) -> Response:
        limits = Limits()
        return JsonAnswer(
            {
                "models": list(playground.model_names),
                "dialects": ["auto", *DIALECTS],
                "tools": [
                    {"name": tool.name, "description": tool.spec.description, "approve": tool.spec.approve}
                    for tool in playground.toolbox
                ],
                "limits": {name: getattr(limits, name) for name in SETUP_LIMITS},
            }
        )

    async def start(request: HttpRequest) -> Response:
        body = await read_object(request, MAX_ATTACHED_BYTES)
        prompt, attachments = _read_text(body, "prompt"), _read_attachments(body.get("attachments"))
        return answer(await playground.start(_read_setup(body.get("setup")), prompt, attachments=attachments))

    async def describe_row_edit(request: HttpRequest) -> Response:
        document = await library.open(read_key(request))
        return JsonAnswer(describe_edit(document, find_row(document, request.path_params["row"])))

    async def go_on(request: HttpRequest) -> Response:
        """Start a run that goes on: after a prompt, from an edit of a row, or from a fact."""
        key = read_key(request)
        document = await library.open(key)
        body = await read_object(request, MAX_ATTACHED_BYTES)
        setup = _read_setup(body.get("setup"))
        title = str(document.fold.summary.get("title", ""))
        number = body.get("fact", len(document.facts) - 1)
        if type(number) is not int or not 0 <= number < len(document.facts):
            raise UsageError("the run has no such fact")
        if body.get("prompt") is not None:
            history = await asyncio.to_thread(list_history, document, number)
            attachments = _read_attachments(body.get("attachments"))
            before = RunOrigin(*key, title)
            prompt = _read_text(body, "prompt")
            return answer(await playground.start(setup, prompt, history, attachments=attachments, origin=before))
        if body.get("text") is not None:
            row = find_row(document, body.get("row"))
            is_error = body.get("is_error") is True
            text, calls = _read_text(body, "text"), _read_calls(body.get("calls"))
            continuation = go_on_from_edit(document, row, text, calls=calls, is_error=is_error)
        else:
            continuation = go_on_from_fact(document, number)
        return answer(await playground.go_on(setup, continuation, RunOrigin(*key, title, is_fork=True)))

    def answer(run_id: str) -> Response:
        return JsonAnswer({"source": playground.name, "id": run_id}, status_code=201)

    run = "/api/runs/{source}/{id}"
    return [
        Route("/api/playground", describe),
        Route("/api/playground/runs", start, methods=["POST"]),
        Route(f"{run}/rows/{{row:int}}/edit", describe_row_edit),
        Route(f"{run}/go-on", go_on, methods=["POST"]),
    ]


def _read_setup(value: Any) -> RunSetup:
    """Read with what a run is started; raise `UsageError` if something of it has the wrong form."""
    if not isinstance(value, dict):
        raise UsageError("setup is missing: model, dialect, system, tools, limits")
    body = cast("dict[str, Any]", value)
    known = {field.name for field in fields(RunSetup)}
    if unknown := [name for name in body if name not in known]:
        raise UsageError(f"setup has no {unknown[0]!r}")
    dialect = body.get("dialect", "auto")
    if dialect != "auto" and dialect not in DIALECTS:
        raise UsageError(f"there is no dialect {dialect!r}; choose auto, {', '.join(DIALECTS)}")
    tools: Any = body.get("tools")
    if tools is not None:
        if not isinstance(tools, list) or not all(isinstance(name, str) for name in cast("list[Any]", tools)):
            raise UsageError("tools is a list of names")
        tools = tuple(cast("list[str]", tools))
    return RunSetup(
        model=_read_text(body, "model"),
        dialect=dialect,
        system=_read_text(body, "system") if body.get("system") else "",
        tools=tools,
        limits=_read_limits(body.get("limits")),
    )


def _read_calls(value: Any) -> list[tuple[str, str]]:
    """Read the calls of an edited answer: names, and arguments as a text of JSON."""
    calls: list[tuple[str, str]] = []
    for each in cast("list[Any]", value) if isinstance(value, list) else []:
        if not isinstance(each, dict):
            raise UsageError("a call is an object with name and arguments")
        call = cast("dict[str, Any]", each)
        calls.append((_read_text(call, "name"), _read_text(call, "arguments")))
    return calls


def _read_attachments(value: Any) -> list[Media]:
    """Read the files that are sent with a prompt, each with its name, type and bytes in Base64."""
    found: list[Media] = []
    for each in cast("list[Any]", value) if isinstance(value, list) else []:
        if not isinstance(each, dict):
            raise UsageError("an attachment is an object with name, mime and data")
        given = cast("dict[str, Any]", each)
        name = _read_text(given, "name")
        try:
            data = base64.b64decode(_read_text(given, "data"), validate=True)
        except ValueError:
            raise UsageError(f"the attachment {name} is not in Base64") from None
        found.append(Media(mime=_read_text(given, "mime") or "application/octet-stream", data=data, name=name))
    return found


def _read_limits(value: Any) -> Limits:
    if value is None:
        return Limits()
    if not isinstance(value, dict):
        raise UsageError("limits is an object")
    given = cast("dict[str, Any]", value)
    for name, limit in given.items():
        if name not in SETUP_LIMITS:
            raise UsageError(f"there is no limit {name!r}; choose {', '.join(SETUP_LIMITS)}")
        is_number = isinstance(limit, int | float) and not isinstance(limit, bool)
        if limit is not None and not (is_number and 0 < limit < math.inf):
            raise UsageError(f"the limit {name!r} is a number above 0, or null for none")
    whole = {name: int(limit) for name, limit in given.items() if limit is not None and name not in ("seconds", "cost")}
    return Limits(**{**given, **whole})


def _read_text(body: dict[str, Any], name: str) -> str:
    value = body.get(name)
    if not isinstance(value, str):
        raise UsageError(f"{name} is a text")
    return value
