"""`Dispatcher`: decides which worker drives which run when. Nothing that it does wrong can harm a run.

The journal says who may write a run. So a dispatcher may give a run to two workers, too late, or to a worker that dies:
`drive` claims the run first, and does nothing if the claim fails. A run that a dispatcher lost is found by the sweep.

`ClaimDispatcher` (`claim.py`) needs nothing but the journal. An engine (DBOS) keeps a queue of its own; each entry is
known by `(run_id, epoch)`, so that entering one twice is entering it once.
"""

from collections.abc import Callable, Collection, Sequence
from contextlib import AbstractAsyncContextManager
from typing import Protocol, TypeAlias, TypeVar

from toolspeak.durable.journal import JournalSession
from toolspeak.durable.rows import RunRow

T = TypeVar("T")

Entry: TypeAlias = tuple[str, int]
"""A run id and an epoch: one time that a run is to be driven."""


class Driving(Protocol):
    """What a dispatcher may ask of the worker that launched it. All of it is called in the worker's event loop.

    Attributes:
        name: The name of the worker, unique among all workers that ever were.
        slots: How many runs it drives at once.
        agents: The names of its agents.
        is_stopping: Whether it takes no more runs.
    """

    name: str
    slots: int
    agents: tuple[str, ...]
    is_stopping: bool

    async def drive(self, run_id: str, epoch: int) -> None:
        """Claim a run with this epoch, and drive it until it ends, pauses, or is parked.

        It never raises. If the run cannot be claimed, because it was claimed before or has another epoch, it returns at
        once. If the claim itself fails, the run gets another epoch, so that it is entered again.
        """
        ...

    async def drive_claimed(self, run: RunRow) -> None:
        """Drive a run that was claimed already, by `JournalSession.claim_next`; give it back if the worker stops.

        It never raises.
        """
        ...

    async def write(self, job: Callable[[JournalSession], T]) -> T:
        """Do something with the journal, in a transaction that the worker's writer thread commits."""
        ...

    async def read(self, job: Callable[[JournalSession], T]) -> T:
        """Read something from the journal, in the worker's writer thread."""
        ...


class Dispatcher(Protocol):
    """The seam between a worker and whatever hands out runs."""

    def launch(self, worker: Driving) -> AbstractAsyncContextManager[None]:
        """Return a context in which runs are handed to a worker, at most `worker.slots` at once.

        Nothing is handed out any more when `worker.is_stopping`. When the context is left, the worker has no run.
        """
        ...

    async def enqueue(self, runs: Sequence[RunRow]) -> None:
        """Enter runs, each as `(run_id, epoch)` with its priority and lane; those that were entered are left alone.

        The worker calls this for all that `list_undispatched` returns, and notes them as dispatched afterwards. A
        dispatcher that takes runs from the journal itself does nothing here.
        """
        ...

    async def forget(self, entries: Collection[Entry]) -> None:
        """Remove entries of runs that were taken from a lost worker, so that they hold no place in a lane any more."""
        ...

    async def held_by_none_of(self, alive: Collection[str]) -> Sequence[Entry]:
        """Return entries that were handed out to a worker that does not live, so that nobody will drive them.

        The worker raises the epoch of those that are still queued (`requeue`), and forgets the entries.
        """
        ...
