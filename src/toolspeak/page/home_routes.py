"""The routes of many runs.

GET  /api/runs?since=…                       the sources, with their runs; or what has changed since a revision
GET  /api/search?words=…                     the runs in which words occur
GET  /api/differences?first=…&second=…       how two runs differ; each is named as `source/id`
POST /api/sets                               chosen runs as a suite, or as a test with its recordings
GET  /api/runs/{source}/{id}/annotation      what people have said of a run
POST /api/runs/{source}/{id}/annotation      what people say of a run from now on
"""

import asyncio
import base64
from typing import Any, cast

from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

from toolspeak.page.annotations import LOW_SCORE, NOTHING_SAID, Annotation, parse_annotation
from toolspeak.page.catalogue import Catalogue
from toolspeak.page.document import RunDocument
from toolspeak.page.library import AnnotatedRuns, RunKey, RunLibrary
from toolspeak.page.routes import JsonAnswer, read_key, read_number, read_object
from toolspeak.values.errors import UsageError

MAX_QUERY_CHARS = 1000

MAX_CHOSEN_RUNS = 1000
"""How many runs one suite is made of."""


class HomeRoutes:
    """What the routes do with the runs."""

    def __init__(self, library: RunLibrary) -> None:
        self._library = library
        self._catalogue = Catalogue(library)
        library.closers.append(self._catalogue.close)

    def list_routes(self) -> list[Route]:
        """Return the routes of many runs."""
        annotation = "/api/runs/{source}/{id}/annotation"
        return [
            Route("/api/runs", self.list_runs),
            Route("/api/search", self.search),
            Route("/api/differences", self.differences),
            Route("/api/sets", self.save_set, methods=["POST"]),
            Route(annotation, self.read_annotation),
            Route(annotation, self.annotate, methods=["POST"]),
        ]

    def prepare(self) -> None:
        """Make ready for a browser that is about to ask for the list of runs."""
        self._catalogue.prepare()

    async def list_runs(self, request: Request) -> Response:
        """List the runs of all sources, or what has changed."""
        listed = await self._catalogue.list_runs(read_number(request.query_params.get("since", "")))
        return Response(listed, media_type="application/json")

    async def search(self, request: Request) -> Response:
        """Find the runs in which words occur."""
        return JsonAnswer(await self._catalogue.search(request.query_params.get("words", "")[:MAX_QUERY_CHARS]))

    async def differences(self, request: Request) -> Response:
        """Return how two runs differ."""
        from toolspeak.page.differences import compare_runs

        first, second = (parse_key(request.query_params.get(name, "")) for name in ("first", "second"))
        documents = await self._library.open(first), await self._library.open(second)
        return JsonAnswer(await asyncio.to_thread(compare_runs, *documents))

    async def read_annotation(self, request: Request) -> Response:
        """Return what people have said of a run, and whether more can be said."""
        key = read_key(request)
        source = self._library.find_source(key[0])
        annotation = await self._find_annotation(key)
        return JsonAnswer({**_encode_annotation(annotation), "can_annotate": isinstance(source, AnnotatedRuns)})

    async def annotate(self, request: Request) -> Response:
        """Keep what people say of a run."""
        key = read_key(request)
        source = self._library.find_source(key[0])
        if not isinstance(source, AnnotatedRuns):
            raise UsageError("runs from this source aren't stored, so you can't annotate them")
        annotation = parse_annotation(await read_object(request))
        await source.annotate(key[1], annotation)
        await self._catalogue.refresh(at_once=True)
        return JsonAnswer(_encode_annotation(annotation))

    async def save_set(self, request: Request) -> Response:
        """Return chosen runs as one file, and say which of them could not be part of it, and why."""
        body = await read_object(request)
        form, names = body.get("as"), body.get("runs")
        if form not in ("suite", "test"):
            raise UsageError("runs are saved as suite or as test")
        if not isinstance(names, list) or not all(isinstance(name, str) for name in cast("list[Any]", names)):
            raise UsageError("runs is a list of names, as source/id")
        keys = [parse_key(name) for name in cast("list[str]", names)]
        if not 0 < len(keys) <= MAX_CHOSEN_RUNS:
            raise UsageError(f"choose from one to {MAX_CHOSEN_RUNS} runs")
        from toolspeak.page.saved_set import SavedSet

        targets: tuple[str, ...] = tuple(getattr(self._library.sources.get("playground"), "targets", ()))
        saved = SavedSet(form, targets)
        for key in keys:
            title = (entry.title if (entry := self._catalogue.find_entry(key)) else "") or key[1]
            annotation = await self._find_annotation(key)
            if annotation.score is not None and annotation.score <= LOW_SCORE:
                saved.leave_out(title, f"its score is {annotation.score}: what it did is not what is expected")
                continue
            try:
                document: RunDocument = await self._library.open(key)
                await asyncio.to_thread(saved.add, document)
            except UsageError as error:
                saved.leave_out(title, str(error))
        name, content = await asyncio.to_thread(saved.write)
        return JsonAnswer(
            {
                "name": name,
                "content": base64.b64encode(content).decode(),
                "count": saved.count,
                "left_out": [{"title": title, "why": why} for title, why in saved.left_out],
            }
        )

    async def _find_annotation(self, key: RunKey) -> Annotation:
        entry = self._catalogue.find_entry(key)
        if entry is None:
            await self._catalogue.refresh(at_once=True)
            entry = self._catalogue.find_entry(key)
        return NOTHING_SAID if entry is None else entry.annotation


def parse_key(text: str) -> RunKey:
    """Return the run that a text names, as `source/id`."""
    source, _, run_id = text.partition("/")
    return source, run_id


def _encode_annotation(annotation: Annotation) -> dict[str, Any]:
    return {"score": annotation.score, "note": annotation.note, "tags": list(annotation.tags)}
