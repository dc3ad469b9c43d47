"""The routes of one run, and what all routes of the page share: JSON in and out, a run, a row of it.

`home_routes.py` has those of many runs.

    GET  /api/runs/{source}/{id}                        the outline of a run, of a long one that of its beginning
    GET  /api/runs/{source}/{id}?after=…                the rows that have changed after so many facts, to the end
    GET  /api/runs/{source}/{id}/live?after=…           what changes in it, as server-sent events
    GET  /api/runs/{source}/{id}/answer                 what was asked, and what was answered
    GET  /api/runs/{source}/{id}/conversation           its messages, and the calls in between
    GET  /api/runs/{source}/{id}/find?words=…           the rows in which words occur
    GET  /api/runs/{source}/{id}/rows/{row}             the details of a row
    GET  …/rows/{row}/shown?dialect=…                   what the model was shown in a turn, in any dialect
    GET  …/rows/{row}/sections/{section}?from=…         more of a long text
    GET  …/rows/{row}/sections/{section}/media          an attachment
    GET  …/export?as=html&hide=…&hide=…                 the run as HTML, without keys and without these fields
    GET  …/export?as=test                               the run as a test in Python
    GET  …/export?as=question                           its first turn as a question of a suite
    POST /api/runs/{source}/{id}/approve                answers whether a call may run
    POST /api/runs/{source}/{id}/cancel                 ends a run

The id of a server-sent event is the number of facts that the browser knows after it. A browser that was cut off sends
the last one back, and first gets all rows that have changed since. One that reads too slowly is cut off, and connects
again.

What reads texts needs the dialects, which take a while to import: that is done in the thread of the first request that
needs them, so that the page is there before.
"""

import asyncio
import json
from collections.abc import AsyncGenerator, Callable, Sequence
from typing import Any, TypeVar, cast
from urllib.parse import quote

from starlette.requests import Request
from starlette.responses import Response, StreamingResponse
from starlette.routing import Route

from toolspeak.page.access import FILE_POLICY
from toolspeak.page.conversation import describe_answer, list_conversation
from toolspeak.page.document import RunDocument
from toolspeak.page.library import RunControl, RunKey, RunLibrary, RunMissing
from toolspeak.page.rows import OutlineRow
from toolspeak.values.errors import UsageError
from toolspeak.values.events import Allow
from toolspeak.wire.framing import encode_event
from toolspeak.wire.json_data import dump_compact

MAX_BODY_BYTES = 1_000_000

KEEP_ALIVE_SECONDS = 15.0
MAX_BATCH = 500
"""The most changes that are joined into one event."""

FILE_FORMS = {
    "html": ("{name}.html", "text/html"),
    "test": ("test_{name}.py", "text/x-python"),
    "question": ("{name}.jsonl", "application/jsonl"),
}
"""The forms in which a run is saved: the name of the file, and its type."""

T = TypeVar("T")


class JsonAnswer(Response):
    """JSON in ASCII: an unpaired surrogate, which a model may write, cannot be encoded in UTF-8."""

    media_type = "application/json"

    def render(self, content: Any) -> bytes:
        return dump_compact(content).encode()


async def read_body(request: Request, max_bytes: int = MAX_BODY_BYTES) -> bytes:
    """Return the body of a request; raise `UsageError` if it is too large."""
    body = bytearray()
    async for chunk in request.stream():
        body += chunk
        if len(body) > max_bytes:
            raise UsageError(f"the body is larger than {max_bytes:,} bytes")
    return bytes(body)


async def read_object(request: Request, max_bytes: int = MAX_BODY_BYTES) -> dict[str, Any]:
    """Return the body of a request, a JSON object; raise `UsageError` if it is something else, or too large."""
    if request.headers.get("content-type", "").partition(";")[0].strip() != "application/json":
        raise UsageError("the body must be JSON, and say so")
    try:
        data: Any = json.loads(await read_body(request, max_bytes))
    except (ValueError, RecursionError):
        raise UsageError("the body is not JSON") from None
    if not isinstance(data, dict):
        raise UsageError("the body is not a JSON object")
    return cast("dict[str, Any]", data)


def read_key(request: Request) -> RunKey:
    """Return the run that the path of a request names."""
    return request.path_params["source"], request.path_params["id"]


def find_row(document: RunDocument, index: Any) -> OutlineRow:
    """Return a row of a run; raise `RunMissing` if there is none of that number."""
    if type(index) is not int or not 0 <= index < len(document.fold.rows):
        raise RunMissing("the run has no such row")
    return document.fold.rows[index]


def viewer_routes(library: RunLibrary) -> list[Route]:
    """Return the routes of the viewer."""
    routes = ViewerRoutes(library)
    run = "/api/runs/{source}/{id}"
    row = f"{run}/rows/{{row:int}}"
    section = f"{row}/sections/{{section:int}}"
    return [
        Route(run, routes.outline),
        Route(f"{run}/live", routes.live),
        Route(f"{run}/answer", routes.answer),
        Route(f"{run}/conversation", routes.conversation),
        Route(f"{run}/find", routes.find),
        Route(row, routes.details),
        Route(f"{row}/shown", routes.shown),
        Route(section, routes.text),
        Route(f"{section}/media", routes.media),
        Route(f"{run}/export", routes.export),
        Route(f"{run}/approve", routes.approve, methods=["POST"]),
        Route(f"{run}/cancel", routes.cancel, methods=["POST"]),
    ]


class ViewerRoutes:
    """What the routes do with the runs."""

    def __init__(self, library: RunLibrary) -> None:
        self._library = library

    async def outline(self, request: Request) -> Response:
        """Return the outline of a run: that of its beginning if reading it takes a while, and the rest when asked."""
        key = read_key(request)
        after = read_number(request.query_params.get("after", ""))
        document = await (self._library.open(key) if after else self._library.open_beginning(key))
        can_answer = isinstance(self._library.find_source(key[0]), RunControl)
        return JsonAnswer({**document.encode_outline(after), "answers": can_answer})

    async def live(self, request: Request) -> Response:
        """Send what changes in a run after the facts that the browser knows."""
        key = read_key(request)
        document = await self._library.open(key)
        after = read_number(request.headers.get("last-event-id") or request.query_params.get("after", ""))
        if not document.is_live and after >= len(document.facts):
            return Response(status_code=204)  # a browser then connects no more
        self._library.start_following(key, document)

        async def changes() -> AsyncGenerator[bytes]:
            try:
                async for event in stream_changes(document, after):
                    yield event
            finally:
                self._library.stop_following(key, document)

        return StreamingResponse(changes(), media_type="text/event-stream")

    async def answer(self, request: Request) -> Response:
        """Return what was asked and what was answered, as far as the run has been read."""
        document = await self._library.open(read_key(request))
        return JsonAnswer(await asyncio.to_thread(describe_answer, document))

    async def conversation(self, request: Request) -> Response:
        """Return the messages of a run as a chat has them."""
        document = await self._library.open(read_key(request))
        return JsonAnswer({"messages": list_conversation(document)})

    async def find(self, request: Request) -> Response:
        """Return the rows in which words occur."""
        document = await self._library.open(read_key(request))
        words = request.query_params.get("words", "")[:1000]
        return JsonAnswer({"rows": await asyncio.to_thread(lambda: _load_details().find_rows(document, words))})

    async def details(self, request: Request) -> Response:
        """Return the details of a row."""
        return JsonAnswer(await self._read_row(request, lambda run, row: _load_details().describe_row(run, row)))

    async def shown(self, request: Request) -> Response:
        """Return what the model was shown in a turn."""
        name = request.query_params.get("dialect", "")[:80]
        given = request.query_params.get("first")
        first = None if given is None else read_number(given)
        return JsonAnswer(
            await self._read_row(request, lambda run, row: _load_details().render_turn(run, row, name, first))
        )

    async def text(self, request: Request) -> Response:
        """Return more of a long text."""
        section, start = request.path_params["section"], read_number(request.query_params.get("from", ""))
        return JsonAnswer(
            await self._read_row(request, lambda run, row: _load_details().read_piece(run, row, section, start))
        )

    async def media(self, request: Request) -> Response:
        """Return an attachment. It may be looked at or saved, and never run."""
        section = request.path_params["section"]
        media = await self._read_row(request, lambda run, row: _load_details().find_media(run, row, section))
        headers = {"content-security-policy": FILE_POLICY}
        if media.mime in _load_details().DRAWN_TYPES:
            return Response(media.data, media_type=media.mime, headers=headers)
        headers["content-disposition"] = f"attachment; filename*=UTF-8''{quote(media.name or 'attachment', safe='')}"
        return Response(media.data, media_type="application/octet-stream", headers=headers)

    async def export(self, request: Request) -> Response:
        """Return a run as one file."""
        document = await self._library.open(read_key(request))
        form = request.query_params.get("as", "html")
        if form not in FILE_FORMS:
            raise UsageError(f"a run is saved as {', '.join(FILE_FORMS)}")
        targets: Sequence[str] = getattr(self._library.sources.get("playground"), "targets", ())
        hidden = request.query_params.getlist("hide")
        name, content = await asyncio.to_thread(_write_run, document, form, hidden, targets)
        file_name, content_type = FILE_FORMS[form]
        headers = {"content-disposition": f'attachment; filename="{file_name.format(name=name)}"'}
        return Response(content, media_type=content_type, headers=headers)

    async def approve(self, request: Request) -> Response:
        """Answer whether a call may run, and say whether this answer counts: the first one does."""
        key, control = self._find_control(request)
        body = await read_object(request)
        call_id, approved, digest = body.get("call_id"), body.get("approved"), body.get("digest")
        if not isinstance(call_id, str) or not isinstance(approved, bool | str) or approved == "":
            raise UsageError("an answer needs call_id, and approved: true, false, or a text that says why not")
        if approved is True and body.get("remember") is True:
            approved = Allow(remember=True)
        seen = digest if isinstance(digest, str) and digest else None
        return JsonAnswer({"counts": await control.approve(key[1], call_id, approved, seen)})

    async def cancel(self, request: Request) -> Response:
        """End a run early, and say whether this did it."""
        key, control = self._find_control(request)
        return JsonAnswer({"counts": await control.cancel(key[1])})

    def _find_control(self, request: Request) -> tuple[RunKey, RunControl]:
        key = read_key(request)
        source = self._library.find_source(key[0])
        if not isinstance(source, RunControl):
            raise UsageError("runs from this source are only shown; you can't control them")
        return key, source

    async def _read_row(self, request: Request, read: Callable[[RunDocument, int], T]) -> T:
        """Return what a function reads of a row, in a thread."""
        document = await self._library.open(read_key(request))
        row = find_row(document, request.path_params["row"])
        return await asyncio.to_thread(read, document, row.index)


async def stream_changes(document: RunDocument, after: int) -> AsyncGenerator[bytes]:
    """Yield the rows that changed after so many facts, then every change, until the run has ended."""
    with document.watch() as queue:
        yield _encode_event("outline", document.encode_outline(after), len(document.facts))
        while document.is_live or not queue.empty():
            try:
                first = await asyncio.wait_for(queue.get(), KEEP_ALIVE_SECONDS)
            except TimeoutError:
                yield b": keep-alive\n\n"
                continue
            changes = [first]
            while not queue.empty() and len(changes) < MAX_BATCH:
                changes.append(queue.get_nowait())
            if changes[-1]["type"] == "lost":
                return
            facts = [each["facts"] for each in changes if each["type"] == "rows"]
            yield _encode_event("changes", changes, facts[-1] if facts else None)
    yield _encode_event("end", {"failure": document.failure}, len(document.facts))


def _encode_event(kind: str, data: Any, facts: int | None) -> bytes:
    number = b"" if facts is None else b"id: %d\n" % facts
    return number + encode_event(dump_compact(data), kind)


def _load_details():
    from toolspeak.page import details

    return details


def _write_run(document: RunDocument, form: str, hidden: Sequence[str], targets: Sequence[str]) -> tuple[str, str]:
    """Return the name and the content of a file with a run; raise `UsageError` if it cannot be saved in this form."""
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


def read_number(text: str) -> int:
    """Return a number that stands in an address; 0 if it is none."""
    return int(text) if text.isascii() and text.isdecimal() and len(text) < 16 else 0
