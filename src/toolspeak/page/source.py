"""What the page needs of a place that holds runs."""

from typing import Literal, Protocol, TypeAlias, runtime_checkable

from toolspeak.page.document import RunDocument
from toolspeak.values.errors import UsageError
from toolspeak.values.frozen import frozen

EntryStatus: TypeAlias = Literal["queued", "running", "paused", "done", "unknown"]


class RunMissing(UsageError):
    """A run is no longer where it was."""


@frozen
class RunEntry:
    """A run in a list.

    Attributes:
        id: Its id, which is unique in its source.
        title: The beginning of its prompt.
        where: The file, agent or conversation that it belongs to.
        model: Its model; "" if it is not known.
        status: Where it is.
        reason: Why it ended; "" as long as it has not.
        updated: When something last happened, in seconds since 1970; None if that is not known.
        size: Its size in bytes or facts, in words; "" if it is not known.
    """

    id: str
    title: str
    where: str = ""
    model: str = ""
    status: EntryStatus = "unknown"
    reason: str = ""
    updated: float | None = None
    size: str = ""


class RunSource(Protocol):
    """A place that holds runs.

    Attributes:
        name: A short name, which addresses of the page contain.
        label: What people call it.
    """

    name: str
    label: str

    async def list_runs(self) -> list[RunEntry]:
        """Return the runs, the newest first."""
        ...

    async def open(self, run_id: str) -> RunDocument:
        """Read a run as far as it has come. The rest of a long one may be read by a task (`RunDocument.read_on`).

        Raises:
            RunMissing: There is no such run.
        """
        ...

    async def follow(self, run_id: str, document: RunDocument) -> None:
        """Add what arrives to a document until the run has ended. Cancelled when nobody watches any more."""
        ...

    async def close(self) -> None:
        """Let go of files, connections and threads."""
        ...


@runtime_checkable
class RunControl(Protocol):
    """A source whose runs can be controlled: somebody approves their calls, or ends them."""

    async def approve(self, run_id: str, call_id: str, approved: bool | str, digest: str | None) -> bool:
        """Answer whether a call may run, and return whether this answer counts: the first one does."""
        ...

    async def cancel(self, run_id: str) -> bool:
        """End a run early, and return whether this did it."""
        ...
