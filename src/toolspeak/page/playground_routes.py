"""The routes of the playground.

GET  /api/playground                            the models, dialects and tools that can be chosen
POST /api/playground/runs                       starts a run
GET  /api/runs/{source}/{id}/rows/{row}/edit    what can be edited of a row
POST /api/runs/{source}/{id}/go-on              starts a run that goes on from a fact, an edit or the end
"""

import asyncio
import math
from dataclasses import fields
from typing import Any, cast

from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

from toolspeak.dialects import DIALECTS
from toolspeak.errors import UsageError
from toolspeak.limits import Limits
from toolspeak.page.answers import JsonAnswer, read_object
from toolspeak.page.continuation import describe_edit, go_on_from_edit, go_on_from_fact, list_history
from toolspeak.page.document import RunDocument
from toolspeak.page.library import RunLibrary
from toolspeak.page.playground import Playground, RunSetup
from toolspeak.page.rows import OutlineRow
from toolspeak.page.sources.source import RunMissing

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
