"""The routes of the viewer.

    GET  /api/runs                                      the sources, with their runs
    GET  /api/runs/{source}/{id}                        the outline of a run, of a long one that of its beginning
    GET  /api/runs/{source}/{id}?after=…                the rows that have changed after so many facts, to the end
    GET  /api/runs/{source}/{id}/live?after=…           what changes in it, as server-sent events
    GET  /api/runs/{source}/{id}/find?words=…           the rows in which words occur
    GET  /api/runs/{source}/{id}/rows/{row}             the details of a row
    GET  …/rows/{row}/shown?dialect=…                   what the model was shown in a turn, in any dialect
    GET  …/rows/{row}/sections/{section}?from=…         more of a long text
    GET  …/rows/{row}/sections/{section}/media          an attachment
    POST /api/runs/{source}/{id}/approve                answers whether a call may run
    POST /api/runs/{source}/{id}/cancel                 ends a run

What reads texts needs the dialects, which take a while to import: that is done in the thread of the first request that
needs them, so that the page is there before.
"""

import asyncio
import json
import math
from collections.abc import AsyncGenerator, Callable, Sequence
from dataclasses import fields
from typing import Any, cast
from urllib.parse import quote

from starlette.requests import Request
from starlette.responses import Response, StreamingResponse
from starlette.routing import Route

from toolspeak.dialects import DIALECTS
from toolspeak.page.access import FILE_POLICY
from toolspeak.page.document import RunDocument
from toolspeak.page.library import RunKey, RunLibrary
from toolspeak.page.playground import (
    Playground,
    RunSetup,
    describe_edit,
    go_on_from_edit,
    go_on_from_fact,
    list_history,
)
from toolspeak.page.rows import OutlineRow
from toolspeak.page.source import RunControl, RunMissing
from toolspeak.values.errors import StoreUnavailable, UsageError
from toolspeak.values.limits import Limits

# The route that gives a run as one file.
#
# GET /api/runs/{source}/{id}/export?as=html&hide=…&hide=…    the run as HTML, without keys and without these fields
# GET /api/runs/{source}/{id}/export?as=test                  the run as a test in Python
# GET /api/runs/{source}/{id}/export?as=question              its first turn as a question of a suite


FILE_NAMES = {"html": "{name}.html", "test": "test_{name}.py", "question": "{name}.jsonl"}

CONTENT_TYPES = {"html": "text/html", "test": "text/x-python", "question": "application/jsonl"}


def export_routes(library: RunLibrary) -> list[Route]:
    """Return the route of exported runs."""

    async def export(request: Request) -> Response:
        document = await library.open((request.path_params["source"], request.path_params["id"]))
        form = request.query_params.get("as", "html")
        if form not in FILE_NAMES:
            raise UsageError(f"a run is saved as {', '.join(FILE_NAMES)}")
        targets: Sequence[str] = getattr(library.sources.get("playground"), "targets", ())
        hidden = request.query_params.getlist("hide")
        name, content = await asyncio.to_thread(write_run, document, form, hidden, targets)
        headers = {"content-disposition": f'attachment; filename="{FILE_NAMES[form].format(name=name)}"'}
        return Response(content, media_type=CONTENT_TYPES[form], headers=headers)

    return [Route("/api/runs/{source}/{id}/export", export)]


def write_run(document: RunDocument, form: str, hidden: Sequence[str], targets: Sequence[str]) -> tuple[str, str]:
    """Return the name and the content of a file with a run.

    Raises:
        UsageError: The run cannot be saved in this form.
    """
    from toolspeak.page.export import export_run
    from toolspeak.page.saved_run import name_saved, write_question, write_test

    name = name_saved(document)
    match form:
        case "test":
            return name, write_test(document, targets)
        case "question":
            return name, write_question(document)
        case _:
            return name.replace("_", "-"), export_run(document, hidden=hidden)


# What the routes share: JSON in and out.


MAX_BODY_BYTES = 1_000_000


class JsonAnswer(Response):
    """An answer in JSON."""

    media_type = "application/json"

    def render(self, content: Any) -> bytes:
        """Return the bytes. Half of a surrogate pair, which a model may write, becomes an escape."""
        return json.dumps(content, separators=(",", ":")).encode()


async def read_body(request: Request) -> bytes:
    """Return the body of a request.

    Raises:
        UsageError: It is too large.
    """
    chunks: list[bytes] = []
    size = 0
    async for chunk in request.stream():
        size += len(chunk)
        if size > MAX_BODY_BYTES:
            raise UsageError(f"the body is larger than {MAX_BODY_BYTES:,} bytes")
        chunks.append(chunk)
    return b"".join(chunks)


async def read_object(request: Request) -> dict[str, Any]:
    """Return the body of a request, a JSON object.

    Raises:
        UsageError: It is something else, or too large.
    """
    if request.headers.get("content-type", "").partition(";")[0].strip() != "application/json":
        raise UsageError("the body must be JSON, and say so")
    try:
        data: Any = json.loads(await read_body(request))
    except (ValueError, RecursionError):
        raise UsageError("the body is not JSON") from None
    if not isinstance(data, dict):
        raise UsageError("the body is not a JSON object")
    return cast("dict[str, Any]", data)


# The routes of the playground.
#
# GET  /api/playground                            the models, dialects and tools that can be chosen
# POST /api/playground/runs                       starts a run
# GET  /api/runs/{source}/{id}/rows/{row}/edit    what can be edited of a row
# POST /api/runs/{source}/{id}/go-on              starts a run that goes on from a fact, an edit or the end


SETUP_LIMITS = ("turns", "calls", "tokens", "seconds", "cost")
"""The limits that the page can set."""


def playground_routes(library: RunLibrary, playground: Playground) -> list[Route]:
    """Return the routes of the playground, which must be a source of the library."""
    routes = PlaygroundRoutes(library, playground)
    run = "/api/runs/{source}/{id}"
    return [
        Route("/api/playground", routes.describe),
        Route("/api/playground/runs", routes.start, methods=["POST"]),
        Route(f"{run}/rows/{{row:int}}/edit", routes.describe_edit),
        Route(f"{run}/go-on", routes.go_on, methods=["POST"]),
    ]


class PlaygroundRoutes:
    """What the routes do."""

    def __init__(self, library: RunLibrary, playground: Playground) -> None:
        self._library = library
        self._playground = playground

    async def describe(self, request: Request) -> Response:
        """Return what can be chosen."""
        limits = Limits()
        return JsonAnswer(
            {
                "models": list(self._playground.model_names),
                "dialects": ["auto", *DIALECTS],
                "tools": [
                    {"name": tool.name, "description": tool.spec.description, "approve": tool.spec.approve}
                    for tool in self._playground.toolbox
                ],
                "limits": {name: getattr(limits, name) for name in SETUP_LIMITS},
            }
        )

    async def start(self, request: Request) -> Response:
        """Start a run."""
        body = await read_object(request)
        prompt = _read_text(body, "prompt")
        return self._answer(await self._playground.start(read_setup(body.get("setup")), prompt))

    async def describe_edit(self, request: Request) -> Response:
        """Return what can be edited of a row."""
        document = await self._find(request)
        return JsonAnswer(describe_edit(document, _find_row(document, request.path_params["row"])))

    async def go_on(self, request: Request) -> Response:
        """Start a run that goes on: after a prompt, from an edit of a row, or from a fact."""
        document = await self._find(request)
        body = await read_object(request)
        setup = read_setup(body.get("setup"))
        number = body.get("fact", len(document.facts) - 1)
        if type(number) is not int or not 0 <= number < len(document.facts):
            raise UsageError("the run has no such fact")
        if body.get("prompt") is not None:
            history = await asyncio.to_thread(list_history, document, number)
            return self._answer(await self._playground.start(setup, _read_text(body, "prompt"), history))
        if body.get("text") is not None:
            row = _find_row(document, body.get("row"))
            is_error = body.get("is_error") is True
            continuation = go_on_from_edit(document, row, _read_text(body, "text"), is_error=is_error)
        else:
            continuation = go_on_from_fact(document, number)
        return self._answer(await self._playground.go_on(setup, continuation))

    def _answer(self, run_id: str) -> Response:
        return JsonAnswer({"source": self._playground.name, "id": run_id}, status_code=201)

    async def _find(self, request: Request) -> RunDocument:
        return await self._library.open((request.path_params["source"], request.path_params["id"]))


def read_setup(value: Any) -> RunSetup:
    """Read with what a run is started.

    Raises:
        UsageError: Something of it has the wrong form.
    """
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


def _find_row(document: RunDocument, index: Any) -> OutlineRow:
    if type(index) is not int or not 0 <= index < len(document.fold.rows):
        raise RunMissing("the run has no such row")
    return document.fold.rows[index]


# What changes in a run, as server-sent events.
#
# The id of an event is the number of facts that the browser knows after it. A browser that was cut off sends the last
# one back, and first gets all rows that have changed since. One that reads too slowly is cut off, and connects again.


KEEP_ALIVE_SECONDS = 15.0
MAX_BATCH = 500
"""The most changes that are joined into one event."""


async def stream_changes(document: RunDocument, after: int) -> AsyncGenerator[str]:
    """Yield the rows that changed after so many facts, then every change, until the run has ended."""
    with document.watch() as queue:
        yield encode_event("outline", document.encode_outline(after), len(document.facts))
        while document.is_live or not queue.empty():
            try:
                first = await asyncio.wait_for(queue.get(), KEEP_ALIVE_SECONDS)
            except TimeoutError:
                yield ": keep-alive\n\n"
                continue
            changes = [first]
            while not queue.empty() and len(changes) < MAX_BATCH:
                changes.append(queue.get_nowait())
            if changes[-1]["type"] == "lost":
                return
            facts = [each["facts"] for each in changes if each["type"] == "rows"]
            yield encode_event("changes", changes, facts[-1] if facts else None)
    yield encode_event("end", {"failure": document.failure}, len(document.facts))


def encode_event(kind: str, data: Any, facts: int | None) -> str:
    """Return an event as text."""
    name = "" if facts is None else f"id: {facts}\n"
    return f"{name}event: {kind}\ndata: {json.dumps(data, separators=(',', ':'))}\n\n"


SHOWN_TYPES = frozenset({"image/png", "image/jpeg", "image/gif", "image/webp", "image/avif"})
"""Attachments that a browser draws. All others are saved as files."""

ENTRY_FIELDS = ("id", "title", "where", "model", "status", "reason", "updated", "size")


def viewer_routes(library: RunLibrary) -> list[Route]:
    """Return the routes of the viewer."""
    routes = ViewerRoutes(library)
    run = "/api/runs/{source}/{id}"
    row = f"{run}/rows/{{row:int}}"
    section = f"{row}/sections/{{section:int}}"
    return [
        Route("/api/runs", routes.list_runs),
        Route(run, routes.outline),
        Route(f"{run}/live", routes.live),
        Route(f"{run}/find", routes.find),
        Route(row, routes.details),
        Route(f"{row}/shown", routes.shown),
        Route(section, routes.text),
        Route(f"{section}/media", routes.media),
        Route(f"{run}/approve", routes.approve, methods=["POST"]),
        Route(f"{run}/cancel", routes.cancel, methods=["POST"]),
    ]


class ViewerRoutes:
    """What the routes do with the runs."""

    def __init__(self, library: RunLibrary) -> None:
        self._library = library

    async def list_runs(self, request: Request) -> Response:
        """List the runs of all sources. A source that fails says why, and does not hide the others."""
        sources = await asyncio.gather(*(self._list_source(name) for name in self._library.sources))
        return JsonAnswer({"sources": sources})

    async def _list_source(self, name: str) -> dict[str, Any]:
        source = self._library.sources[name]
        data: dict[str, Any] = {"name": name, "label": source.label, "runs": [], "failure": ""}
        try:
            entries = await source.list_runs()
        except (UsageError, StoreUnavailable) as error:
            return {**data, "failure": str(error)}
        runs = [{field: getattr(entry, field) for field in ENTRY_FIELDS} for entry in entries]
        return {**data, "runs": runs}

    async def outline(self, request: Request) -> Response:
        """Return the outline of a run: that of its beginning if reading it takes a while, and the rest when asked."""
        key = _key(request)
        after = _read_number(request.query_params.get("after", ""))
        document = await (self._library.open(key) if after else self._library.open_beginning(key))
        can_answer = isinstance(self._library.find_source(key[0]), RunControl)
        return JsonAnswer({**document.encode_outline(after), "answers": can_answer})

    async def live(self, request: Request) -> Response:
        """Send what changes in a run after the facts that the browser knows."""
        key, document = await self._find(request)
        given = request.headers.get("last-event-id") or request.query_params.get("after", "")
        after = _read_number(given)
        if not document.is_live and after >= len(document.facts):
            return Response(status_code=204)  # a browser then connects no more
        self._library.start_following(key, document)

        async def changes() -> AsyncGenerator[str]:
            try:
                async for event in stream_changes(document, after):
                    yield event
            finally:
                self._library.stop_following(key, document)

        return StreamingResponse(changes(), media_type="text/event-stream")

    async def find(self, request: Request) -> Response:
        """Return the rows in which words occur."""
        _, document = await self._find(request)
        words = request.query_params.get("words", "")[:1000]

        def work() -> list[int]:
            from toolspeak.page.details import find_rows

            return find_rows(document, words)

        return JsonAnswer({"rows": await asyncio.to_thread(work)})

    async def details(self, request: Request) -> Response:
        """Return the details of a row."""

        def work(document: RunDocument, row: int) -> Any:
            from toolspeak.page.details import describe_row

            return describe_row(document, row)

        return JsonAnswer(await self._work(request, work))

    async def shown(self, request: Request) -> Response:
        """Return what the model was shown in a turn."""
        name = request.query_params.get("dialect", "")[:80]
        given = request.query_params.get("first")
        first = None if given is None else _read_number(given)

        def work(document: RunDocument, row: int) -> Any:
            from toolspeak.page.details import render_turn

            return render_turn(document, row, name, first)

        return JsonAnswer(await self._work(request, work))

    async def text(self, request: Request) -> Response:
        """Return more of a long text."""
        section, start = request.path_params["section"], _read_number(request.query_params.get("from", ""))

        def work(document: RunDocument, row: int) -> Any:
            from toolspeak.page.details import read_piece

            return read_piece(document, row, section, start)

        return JsonAnswer(await self._work(request, work))

    async def media(self, request: Request) -> Response:
        """Return an attachment. It may be looked at or saved, and never run."""

        def work(document: RunDocument, row: int) -> Any:
            from toolspeak.page.details import find_media

            return find_media(document, row, request.path_params["section"])

        media = await self._work(request, work)
        headers = {"content-security-policy": FILE_POLICY}
        if media.mime in SHOWN_TYPES:
            return Response(media.data, media_type=media.mime, headers=headers)
        headers["content-disposition"] = f"attachment; filename*=UTF-8''{quote(media.name or 'attachment', safe='')}"
        return Response(media.data, media_type="application/octet-stream", headers=headers)

    async def approve(self, request: Request) -> Response:
        """Answer whether a call may run, and say whether this answer counts: the first one does."""
        key, control = self._find_control(request)
        body = await read_object(request)
        call_id, approved, digest = body.get("call_id"), body.get("approved"), body.get("digest")
        if not isinstance(call_id, str) or not isinstance(approved, bool | str) or approved == "":
            raise UsageError("an answer needs call_id, and approved: true, false, or a text that says why not")
        seen = digest if isinstance(digest, str) and digest else None
        return JsonAnswer({"counts": await control.approve(key[1], call_id, approved, seen)})

    async def cancel(self, request: Request) -> Response:
        """End a run early, and say whether this did it."""
        key, control = self._find_control(request)
        return JsonAnswer({"counts": await control.cancel(key[1])})

    def _find_control(self, request: Request) -> tuple[RunKey, RunControl]:
        key = _key(request)
        source = self._library.find_source(key[0])
        if not isinstance(source, RunControl):
            raise UsageError("the runs of this source have happened; nothing can be answered")
        return key, source

    async def _find(self, request: Request) -> tuple[RunKey, RunDocument]:
        key = _key(request)
        return key, await self._library.open(key)

    async def _work(self, request: Request, work: Callable[[RunDocument, int], Any]) -> Any:
        """Do something with a row, in a thread."""
        _, document = await self._find(request)
        index = request.path_params["row"]
        if index >= len(document.fold.rows):
            raise RunMissing("the run has no such row")
        return await asyncio.to_thread(work, document, index)


def _key(request: Request) -> RunKey:
    return request.path_params["source"], request.path_params["id"]


def _read_number(text: str) -> int:
    return int(text) if text.isascii() and text.isdecimal() and len(text) < 16 else 0
