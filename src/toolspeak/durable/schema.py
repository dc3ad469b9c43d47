"""The tables of durable runs, in SQLite and in Postgres, and those of the log of conversations, which is in SQLite.

An entry of a list of migrations brings a database from one number of the schema to the next, and is never changed once
it was released. To change a table, add an entry, which all databases of older releases go through too.

The log has tables of its own, though its facts are stored in the same form. Its files are older than durable runs,
their times are seconds, and a run is found by its conversation and its text, while a durable run has an owner, a lane
and a request. One table for both would mean to copy every old log, and would save two queries. All else is shared: how
files are opened, locked and brought up to date (`sqlite_file.py`), and how facts become texts (`values/codec.py`).
Logs of older releases have ten columns more, which nothing reads: `agent`, `request`, `priority`, `lane`, `epoch`,
`dispatched`, `owner`, `attempts`, `takeovers` and `deadline`.
"""

from typing import NamedTuple, TypeAlias

Migrations: TypeAlias = tuple[tuple[str, ...], ...]


class ColumnTypes(NamedTuple):
    """What a database calls the types of columns, and what it writes behind a table that is its own index."""

    number: str
    time: str
    flag: str
    real: str
    is_index: str


SQLITE = ColumnTypes("INTEGER", "INTEGER", "INTEGER NOT NULL DEFAULT 0", "REAL", " WITHOUT ROWID")
POSTGRES = ColumnTypes(
    number="BIGINT GENERATED ALWAYS AS IDENTITY",
    time="BIGINT",
    flag="BOOLEAN NOT NULL DEFAULT FALSE",
    real="DOUBLE PRECISION",
    is_index="",
)

_STATUS = "status TEXT NOT NULL CHECK (status IN ('queued', 'running', 'paused', 'done'))"


def _define_facts(types: ColumnTypes) -> str:
    return f"""
    CREATE TABLE ts_facts (
        run_id TEXT NOT NULL,
        seq INTEGER NOT NULL,
        at {types.time} NOT NULL,
        data TEXT NOT NULL,
        PRIMARY KEY (run_id, seq)
    ){types.is_index}
    """


def define_deltas(create: str, types: ColumnTypes) -> str:
    """Return the statement that creates the table of deltas; it begins with `create`."""
    return f"""
    {create} ts_deltas (
        run_id TEXT NOT NULL,
        seq INTEGER NOT NULL,
        pos INTEGER NOT NULL,
        data TEXT NOT NULL,
        PRIMARY KEY (run_id, seq, pos)
    ){types.is_index}
    """


def define_runs(types: ColumnTypes) -> tuple[str, ...]:
    """Return the statements that create the tables of durable runs, as of schema 1."""
    return (
        f"""
        CREATE TABLE ts_runs (
            number {types.number} PRIMARY KEY,
            run_id TEXT NOT NULL UNIQUE,
            agent TEXT NOT NULL,
            request TEXT NOT NULL,
            request_digest TEXT NOT NULL,
            key TEXT NOT NULL,
            format INTEGER NOT NULL,
            priority INTEGER NOT NULL,
            lane TEXT NOT NULL,
            chat TEXT NOT NULL,
            parent TEXT NOT NULL,
            {_STATUS},
            stop_reason TEXT NOT NULL DEFAULT '',
            epoch INTEGER NOT NULL DEFAULT 1,
            owner TEXT NOT NULL DEFAULT '',
            next_seq INTEGER NOT NULL DEFAULT 0,
            deaths INTEGER NOT NULL DEFAULT 0,
            takeovers INTEGER NOT NULL DEFAULT 0,
            deadline {types.time},
            ready {types.time} NOT NULL DEFAULT 0,
            dispatched INTEGER NOT NULL DEFAULT 0,
            created {types.time} NOT NULL,
            updated {types.time} NOT NULL
        )
        """,
        "CREATE INDEX ts_runs_queued ON ts_runs (priority DESC, number) WHERE status = 'queued'",
        "CREATE INDEX ts_runs_running ON ts_runs (owner) WHERE status = 'running'",
        "CREATE INDEX ts_runs_late ON ts_runs (deadline) WHERE status IN ('queued', 'paused') AND deadline IS NOT NULL",
        "CREATE INDEX ts_runs_by_chat ON ts_runs (chat, number) WHERE chat <> ''",
        "CREATE INDEX ts_runs_done ON ts_runs (updated) WHERE status = 'done'",
        _define_facts(types),
        """
        CREATE TABLE ts_blobs (
            run_id TEXT NOT NULL,
            name TEXT NOT NULL,
            data TEXT NOT NULL,
            PRIMARY KEY (run_id, name)
        )
        """,
        f"""
        CREATE TABLE ts_commands (
            number {types.number} PRIMARY KEY,
            run_id TEXT NOT NULL,
            name TEXT NOT NULL,
            data TEXT NOT NULL,
            at {types.time} NOT NULL,
            is_handled {types.flag},
            UNIQUE (run_id, name)
        )
        """,
        f"""
        CREATE TABLE ts_workers (
            worker TEXT PRIMARY KEY,
            beat {types.time} NOT NULL,
            expires {types.time} NOT NULL,
            info TEXT NOT NULL
        )
        """,
        f"""
        CREATE TABLE ts_lanes (
            lane TEXT PRIMARY KEY,
            concurrency INTEGER,
            rate INTEGER,
            period {types.real} NOT NULL,
            waiting INTEGER
        )
        """,
        f"CREATE TABLE ts_lane_claims (lane TEXT NOT NULL, at {types.time} NOT NULL)",
        "CREATE INDEX ts_lane_claims_by_time ON ts_lane_claims (lane, at)",
    )


def define_labels(types: ColumnTypes) -> tuple[str, ...]:
    """Return the statements that bring schema 1 to 2: a table of the data by which runs are found."""
    return (
        f"""
        CREATE TABLE ts_labels (
            run_id TEXT NOT NULL,
            name TEXT NOT NULL,
            value TEXT NOT NULL,
            PRIMARY KEY (run_id, name)
        ){types.is_index}
        """,
        "CREATE INDEX ts_labels_by_value ON ts_labels (name, value)",
    )


def define_agenda(types: ColumnTypes) -> tuple[str, ...]:
    """Return the statements that bring schema 2 to 3: schedules, webhooks, and chats that wait."""
    return (
        f"""
        CREATE TABLE ts_schedules (
            name TEXT PRIMARY KEY,
            run TEXT NOT NULL,
            cron TEXT NOT NULL,
            zone TEXT NOT NULL,
            seconds {types.real},
            catch_up INTEGER NOT NULL,
            due {types.time} NOT NULL
        )
        """,
        f"""
        CREATE TABLE ts_webhooks (
            run_id TEXT PRIMARY KEY,
            url TEXT NOT NULL,
            attempts INTEGER NOT NULL DEFAULT 0,
            ready {types.time} NOT NULL DEFAULT 0
        )
        """,
        "CREATE INDEX ts_webhooks_by_time ON ts_webhooks (ready)",
        "CREATE INDEX ts_runs_open_chats ON ts_runs (chat, number) WHERE chat <> '' AND status <> 'done'",
    )


def define_waits(types: ColumnTypes) -> tuple[str, ...]:
    """Return the statements that bring schema 3 to 4: what calls wait for, and the signals that came."""
    return (
        f"""
        CREATE TABLE ts_signals (
            name TEXT PRIMARY KEY,
            value TEXT NOT NULL,
            at {types.time} NOT NULL,
            is_told {types.flag}
        )
        """,
        "CREATE INDEX ts_signals_untold ON ts_signals (at) WHERE NOT is_told",
        "CREATE INDEX ts_signals_by_time ON ts_signals (at)",
        f"""
        CREATE TABLE ts_waits (
            run_id TEXT NOT NULL,
            call TEXT NOT NULL,
            number INTEGER NOT NULL,
            signal TEXT NOT NULL,
            until {types.time},
            PRIMARY KEY (run_id, call)
        )
        """,
        "CREATE INDEX ts_waits_by_signal ON ts_waits (signal)",
        "CREATE INDEX ts_waits_by_time ON ts_waits (until) WHERE until IS NOT NULL",
    )


def define_annotations(types: ColumnTypes) -> tuple[str, ...]:
    """Return the statements that bring schema 4 to 5: what people have said about runs, as JSON."""
    return (f"CREATE TABLE ts_annotations (run_id TEXT PRIMARY KEY, data TEXT NOT NULL, at {types.time} NOT NULL)",)


SQLITE_MIGRATIONS: Migrations = (
    define_runs(SQLITE),
    define_labels(SQLITE),
    define_agenda(SQLITE),
    define_waits(SQLITE),
    define_annotations(SQLITE),
)

DELTA_MIGRATIONS: Migrations = ((define_deltas("CREATE TABLE IF NOT EXISTS", SQLITE),),)
"""The first entry may find the table: files of older releases have it under the number 0."""

POSTGRES_MIGRATIONS: Migrations = (
    (*define_runs(POSTGRES), define_deltas("CREATE UNLOGGED TABLE", POSTGRES)),
    define_labels(POSTGRES),
    define_agenda(POSTGRES),
    define_waits(POSTGRES),
    define_annotations(POSTGRES),
)
"""The table of deltas is unlogged: a crash of the server empties it."""

LOG_MIGRATIONS: Migrations = (
    (
        f"""
        CREATE TABLE ts_runs (
            run_id TEXT PRIMARY KEY,
            {_STATUS},
            stop_reason TEXT,
            model TEXT NOT NULL DEFAULT '',
            turns INTEGER NOT NULL DEFAULT 0,
            format INTEGER NOT NULL,
            conversation TEXT,
            parent TEXT,
            inherited INTEGER NOT NULL DEFAULT 0,
            next_seq INTEGER NOT NULL DEFAULT 0,
            created REAL NOT NULL,
            updated REAL NOT NULL
        )
        """,
        "CREATE INDEX ts_runs_by_conversation ON ts_runs (conversation, created)",
        _define_facts(SQLITE._replace(time="REAL")),
        """
        CREATE TABLE ts_conversations (
            conversation TEXT PRIMARY KEY,
            created REAL NOT NULL,
            updated REAL NOT NULL,
            title TEXT NOT NULL,
            model TEXT NOT NULL,
            options TEXT NOT NULL DEFAULT '{}'
        )
        """,
        "CREATE INDEX ts_conversations_by_time ON ts_conversations (updated)",
        """
        CREATE TABLE ts_texts (
            run_id TEXT PRIMARY KEY,
            conversation TEXT NOT NULL,
            folded TEXT NOT NULL,
            text TEXT NOT NULL
        )
        """,
    ),
    define_annotations(SQLITE._replace(time="REAL")),
)

INDEX_MIGRATIONS: Migrations = (
    (
        """
        CREATE TABLE ts_indexed (
            number INTEGER PRIMARY KEY,
            run_id TEXT NOT NULL UNIQUE,
            version TEXT NOT NULL,
            figures TEXT NOT NULL
        )
        """,
        """CREATE VIRTUAL TABLE ts_words USING fts5(text, tokenize = "unicode61 remove_diacritics 2")""",
    ),
)
"""The index of runs holds nothing that cannot be read again, so a file of another release is made anew."""
