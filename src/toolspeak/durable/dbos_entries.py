"""`EntryWriter`: enters runs in the queues of DBOS with the function that DBOS has in its database for that.

It costs a fraction of what the same takes through the library. It can be used if DBOS is ours, so that its tables are
in the database of the runs.
"""

import json
import time
from collections.abc import Iterable
from typing import NamedTuple

from toolspeak.durable.postgres_connection import connect

_ENTER = """
    SELECT dbos.enqueue_workflow(
        workflow_name => %s, queue_name => %s, positional_args => %s::text[]::json[], workflow_id => %s,
        app_version => %s, priority => %s, application_name => %s
    )
"""


class QueueEntry(NamedTuple):
    """A workflow that is to be entered in a queue of DBOS, with its arguments."""

    workflow_id: str
    queue: str
    priority: int
    arguments: tuple[str | int, ...]


class EntryWriter:
    """A connection that enters workflows. It is used by one thread at a time, and opened when it is first used.

    Args:
        url: The address of the database.
        workflow: The name of the workflow.
        application: The name and the version of the application in DBOS.
    """

    def __init__(self, url: str, workflow: str, application: str) -> None:
        self._url = url
        self._workflow = workflow
        self._application = application
        self._connection = None

    def enter(self, entries: Iterable[QueueEntry]) -> None:
        """Enter workflows; those that were entered are left alone.

        DBOS hands out those of the same priority by the millisecond in which they were entered, so each has one of its
        own. No commit waits for the disk: an entry that a crash of the server takes away is found missing later.
        """
        if self._connection is None or self._connection.closed:
            self._connection = connect(self._url)
            self._connection.execute("SET synchronous_commit = off")
        for entry in entries:
            began = time.monotonic()
            arguments = [json.dumps(each) for each in entry.arguments]
            name, application = self._workflow, self._application
            values = (name, entry.queue, arguments, entry.workflow_id, application, entry.priority, application)
            self._connection.execute(_ENTER, values)
            time.sleep(max(0.0, began + 0.001 - time.monotonic()))

    def close(self) -> None:
        """Close the connection."""
        if self._connection is not None:
            self._connection.close()
