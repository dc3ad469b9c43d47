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
from collections.abc import AsyncGenerator, Callable
from typing import Any
from urllib.parse import quote

from starlette.requests import Request
from starlette.responses import Response, StreamingResponse
from starlette.routing import Route

from toolspeak.errors import StoreUnavailable, UsageError
from toolspeak.page.access import FILE_POLICY
from toolspeak.page.answers import JsonAnswer, read_object
from toolspeak.page.document import RunDocument
from toolspeak.page.library import RunKey, RunLibrary
from toolspeak.page.live import stream_changes
from toolspeak.page.sources.source import RunControl, RunMissing

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
            from toolspeak.page.find_text import find_rows

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
            from toolspeak.page.shown_request import render_turn

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
