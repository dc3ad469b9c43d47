"""Runs that last: their facts are committed in a database, and any worker can go on with them. And the log of chats.

A durable run is an ordinary run with a `Durability` (`run/barrier.py`): the driver commits each fact before it acts on
it. The facts of an inner run (`Agent.as_tool`) are facts of the run that asked for it (`NestedFact`), and are stored
with it. The room imports the rooms below it, `run` among them; only `gateway`, `page`, `testing` and `cli` may import
it. `sqlite3`, psycopg and DBOS are imported nowhere else. Importing the package loads nothing: the log needs little of
it.

Start with `journal.py` (what a database must do), then `segment.py` (one time that a run is driven) and `worker.py`.

    rows.py, schema.py                 the values and the tables of a journal, and the tables of the log
    agenda.py, cron.py, webhooks.py    what happens by time: schedules, waits and signals, webhooks
    session.py                         what the SQL of a journal is written with
    sqlite.py, postgres.py             what the two databases do differently
    sqlite_file.py                     how any SQLite file is opened, brought up to date and written
    records.py, approvals.py           facts and requests as texts, and answers as commands
    writer.py, watcher.py              the thread that groups commits and says that a worker lives; who wakes whom
    leases.py                          when a worker that says nothing counts as lost
    dispatch.py, dbos_dispatcher.py    which worker drives which run when: by claims, or by DBOS
    quarantine.py, isolated_run.py     runs that killed workers, in a process of their own
    runs.py, event_feed.py             starting, finding and following runs, from any process
    descriptions.py                    a run as JSON data, and the figures of a store
    log.py                             the log of conversations of the command line
    run_index.py                       figures and words of many runs, to list and find them; can be made anew

To add …

- a table or a column: an entry of the migrations in `schema.py`, and a saved file of the old schema in
  `tests/durable/data/`.
- a database: a module like `postgres.py` with a `Journal` and a `JournalSession`, its address in `open_journal`
  (`runs.py`), its column types in `schema.py`, an extra in `pyproject.toml`, and a test class derived from
  `tests/durable/journal_contract.py`.
- something that a database must do: `tests/durable/journal_contract.py` first, then `JournalSession` in `journal.py`;
  in `sqlite.py` and `postgres.py` only what cannot be written alike.
- a command to a run: `COMMAND_FACTS` in `segment.py`. A figure: `render_metrics` in `descriptions.py`; if it needs a
  query, `JournalFigures` and `read_figures`. What is shown of a run: `describe_run` there.
- a dispatcher: derive its tests from `tests/durable/dispatcher_contract.py`. DBOS is the engine for many machines.
- a change of the stored form of requests and facts: `STORED_FORMAT` in `rows.py`.
- a promise that must hold when workers are killed: `judge` in `tests/durable/effects.py`. `make test-durable` kills
  them.
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from toolspeak.durable.approvals import ApprovalResult as ApprovalResult
    from toolspeak.durable.approvals import WaitingCall as WaitingCall
    from toolspeak.durable.event_feed import RunEvent as RunEvent
    from toolspeak.durable.journal import ApprovalRefused as ApprovalRefused
    from toolspeak.durable.journal import OutcomeUnknown as OutcomeUnknown
    from toolspeak.durable.journal import RetryRefused as RetryRefused
    from toolspeak.durable.journal import RunUnknown as RunUnknown
    from toolspeak.durable.journal import StartRefused as StartRefused
    from toolspeak.durable.rows import Lane as Lane
    from toolspeak.durable.rows import RunRow as RunRow
    from toolspeak.durable.rows import RunStatus as RunStatus
    from toolspeak.durable.rows import Schedule as Schedule
    from toolspeak.durable.rows import WaitRow as WaitRow
    from toolspeak.durable.rows import WorkerRow as WorkerRow
    from toolspeak.durable.runs import RunHandle as RunHandle
    from toolspeak.durable.runs import Runs as Runs
    from toolspeak.durable.worker import Worker as Worker

_PLACES = {
    "approvals": "ApprovalResult WaitingCall",
    "event_feed": "RunEvent",
    "journal": "ApprovalRefused OutcomeUnknown RetryRefused RunUnknown StartRefused",
    "rows": "Lane RunRow RunStatus Schedule WaitRow WorkerRow",
    "runs": "RunHandle Runs",
    "worker": "Worker",
}
_HOMES = {name: module for module, names in _PLACES.items() for name in names.split()}

if not TYPE_CHECKING:  # a type checker would take every name that is not there for one of this function
    __all__ = sorted(_HOMES)

    def __getattr__(name: str) -> Any:
        if name not in _HOMES:
            raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
        return getattr(import_module(f"{__name__}.{_HOMES[name]}"), name)
