"""The route that gives a run as one file.

GET /api/runs/{source}/{id}/export?as=html&hide=…&hide=…    the run as HTML, without keys and without these fields
GET /api/runs/{source}/{id}/export?as=test                  the run as a test in Python
GET /api/runs/{source}/{id}/export?as=question              its first turn as a question of a suite
"""

import asyncio
from collections.abc import Sequence

from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

from toolspeak.errors import UsageError
from toolspeak.page.document import RunDocument
from toolspeak.page.library import RunLibrary

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
