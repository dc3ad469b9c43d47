"""What changes in a run, as server-sent events.

The id of an event is the number of facts that the browser knows after it. A browser that was cut off sends the last one
back, and first gets all rows that have changed since. One that reads too slowly is cut off, and connects again.
"""

import asyncio
import json
from collections.abc import AsyncGenerator
from typing import Any

from toolspeak.page.document import RunDocument

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
