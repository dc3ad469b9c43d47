"""`ResponseStore`: the answers of the responses API that clients may refer to, in SQLite: in memory, or in a file.

Answers are kept apart by owner (`name_owner`): whoever sends another key finds nothing. Of a conversation that goes on
by `previous_response_id`, each answer is stored with its own input only, and with the id of the answer before it. A
reference to an item is stored as a reference. So a conversation takes as much room as it has text.

The store is bounded (`StoreLimits`), for each owner and for all: by answers, by bytes, and by the time since an answer
was last used. Whoever goes on from an answer uses all answers before it. What was used longest ago is dropped first. So
a client that stores much drops its own answers, and a chain is dropped from its beginning; whoever goes on from its end
is then refused in words.
"""

import hashlib
import json
import sqlite3
import threading
import time
import weakref
from collections.abc import Callable, Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

from toolspeak.durable.sqlite_file import FileKind, name_errors, open_file, transaction
from toolspeak.values.frozen import frozen
from toolspeak.wire.json_data import as_list, as_object, as_text, dump_compact

KEY_HEADERS = ("authorization", "x-api-key", "x-goog-api-key")
"""The headers in which clients send keys. All of them tell owners apart."""

_SCHEMA = (
    """
    CREATE TABLE ts_responses (
        number INTEGER PRIMARY KEY,
        owner TEXT NOT NULL,
        id TEXT NOT NULL,
        previous TEXT NOT NULL,
        used REAL NOT NULL,
        bytes INTEGER NOT NULL,
        body TEXT NOT NULL,
        input TEXT NOT NULL,
        UNIQUE (owner, id)
    )
    """,
    "CREATE INDEX ts_responses_by_owner ON ts_responses (owner, used, number)",
    "CREATE INDEX ts_responses_by_use ON ts_responses (used, number)",
    """
    CREATE TABLE ts_items (
        owner TEXT NOT NULL,
        id TEXT NOT NULL,
        response INTEGER NOT NULL,
        PRIMARY KEY (owner, id, response)
    ) WITHOUT ROWID
    """,
    "CREATE INDEX ts_items_by_response ON ts_items (response)",
    # How much there is of each owner, and of all under the owner ''.
    "CREATE TABLE ts_totals (owner TEXT PRIMARY KEY, responses INTEGER NOT NULL, bytes INTEGER NOT NULL) WITHOUT ROWID",
    "INSERT INTO ts_totals VALUES ('', 0, 0)",
    """
    CREATE TRIGGER ts_response_added AFTER INSERT ON ts_responses BEGIN
        INSERT OR IGNORE INTO ts_totals VALUES (NEW.owner, 0, 0);
        UPDATE ts_totals SET responses = responses + 1, bytes = bytes + NEW.bytes WHERE owner IN ('', NEW.owner);
    END
    """,
    """
    CREATE TRIGGER ts_response_dropped AFTER DELETE ON ts_responses BEGIN
        UPDATE ts_totals SET responses = responses - 1, bytes = bytes - OLD.bytes WHERE owner IN ('', OLD.owner);
        DELETE FROM ts_totals WHERE owner = OLD.owner AND owner != '' AND responses = 0;
        DELETE FROM ts_items WHERE response = OLD.number;
    END
    """,
)

RESPONSES = FileKind("responses", (_SCHEMA,), "NORMAL", 0x7453_6573)


_FIND = "SELECT body, input, previous FROM ts_responses WHERE owner = ? AND id = ? AND used >= ?"
_FIND_BY_ITEM = """
    SELECT body, input, previous FROM ts_responses
    WHERE number = (SELECT max(response) FROM ts_items WHERE owner = ? AND id = ?) AND used >= ?
"""
_IS_TOO_MUCH = "SELECT responses > ? OR bytes > ? FROM ts_totals WHERE owner = ?"
_DROP_ONE = """
    DELETE FROM ts_responses WHERE number =
        (SELECT number FROM ts_responses WHERE owner = ? ORDER BY used, number LIMIT 1)
"""
_DROP_ONE_OF_ALL = """
    DELETE FROM ts_responses WHERE number = (SELECT number FROM ts_responses ORDER BY used, number LIMIT 1)
"""


@frozen
class StoreLimits:
    """How much is kept, and how long.

    Attributes:
        owner_responses: The most answers of one owner.
        owner_bytes: The most bytes of one owner's answers and their inputs.
        responses: The most answers of all owners.
        bytes: The most bytes of all owners.
        seconds: The time since its last use after which an answer is dropped.
    """

    owner_responses: int
    owner_bytes: int
    responses: int
    bytes: int
    seconds: float


MEMORY_LIMITS = StoreLimits(
    owner_responses=1_000, owner_bytes=32_000_000, responses=5_000, bytes=128_000_000, seconds=24 * 3600.0
)
FILE_LIMITS = StoreLimits(
    owner_responses=20_000, owner_bytes=500_000_000, responses=100_000, bytes=2_000_000_000, seconds=30 * 24 * 3600.0
)


@frozen
class StoredResponse:
    """An answer, its own input as a list of items, and the id of the answer before it; "" if it is the first.

    `written` is the answer as JSON, if it was written already.
    """

    body: Mapping[str, Any]
    input: Sequence[Mapping[str, Any]]
    previous: str = ""
    written: str = ""

    @property
    def id(self) -> str:
        return as_text(self.body.get("id"))

    @property
    def items(self) -> list[Any]:
        """The items of the input and of the answer, in order."""
        return [*self.input, *as_list(self.body.get("output"))]


class ResponseStore:
    """A store of answers. Several threads may use it.

    Attributes:
        is_file: Whether answers are in a file, so that the store may have to wait for the disk.
        limits: How much is kept, and how long.
    """

    def __init__(
        self, path: Path | None = None, limits: StoreLimits | None = None, clock: Callable[[], float] = time.time
    ) -> None:
        """Open the store. Without `path`, answers are kept in memory.

        Raises:
            UsageError: The file holds something else.
            StoreUnavailable: The file cannot be used.
        """
        self.is_file = path is not None
        self.limits = limits or (FILE_LIMITS if path is not None else MEMORY_LIMITS)
        self._clock = clock
        self._lock = threading.Lock()
        self._name = "the store of responses" if path is None else f"the store of responses {path}"
        if path is None:
            self._database = sqlite3.connect(":memory:", isolation_level=None, check_same_thread=False)
            weakref.finalize(self, self._database.close)  # whoever closes an app need not know that it has a store
            for statement in _SCHEMA:
                self._database.execute(statement)
        else:
            with name_errors(self._name, path=path):
                self._database = open_file(path, RESPONSES)

    def close(self) -> None:
        """Close the store. Answers in memory are lost."""
        with self._lock:
            self._database.close()

    def add(self, owner: str, response: StoredResponse) -> None:
        """Store an answer, and drop older ones to make room. An answer that is larger than the limits is not stored."""
        body, given = response.written or dump_compact(response.body), dump_compact(response.input)
        size = len(body) + len(given)
        if size > min(self.limits.owner_bytes, self.limits.bytes):
            return
        ids = {as_text(as_object(item).get("id")) for item in response.items if not is_reference(item)} - {""}
        with self._lock, name_errors(self._name), transaction(self._database):
            added = self._database.execute(
                "INSERT INTO ts_responses (owner, id, previous, used, bytes, body, input) VALUES (?, ?, ?, ?, ?, ?, ?)",
                (owner, response.id, response.previous, self._clock(), size, body, given),
            )
            rows = [(owner, each, added.lastrowid) for each in ids]
            self._database.executemany("INSERT OR IGNORE INTO ts_items VALUES (?, ?, ?)", rows)
            self._drop(owner)

    def find(self, owner: str, response_id: str) -> StoredResponse | None:
        """Return an answer; None if there is none, or not for this owner."""
        return self._read(_FIND, owner, response_id)

    def find_by_item(self, owner: str, item_id: str) -> StoredResponse | None:
        """Return the latest answer that has an item in its output or input; None if there is none for this owner."""
        return self._read(_FIND_BY_ITEM, owner, item_id)

    def use(self, owner: str, response_ids: Iterable[str]) -> None:
        """Mark answers as used, in this order, so that they are dropped later than others."""
        rows = [(self._clock(), owner, each) for each in response_ids]
        with self._lock, name_errors(self._name), transaction(self._database):
            self._database.executemany("UPDATE ts_responses SET used = ? WHERE owner = ? AND id = ?", rows)

    def delete(self, owner: str, response_id: str) -> bool:
        """Delete an answer and its input; return whether there was one."""
        with self._lock, name_errors(self._name), transaction(self._database):
            done = self._database.execute("DELETE FROM ts_responses WHERE owner = ? AND id = ?", (owner, response_id))
        return done.rowcount > 0

    def count(self, owner: str = "") -> tuple[int, int]:
        """Return how many answers an owner has, and their bytes; without an owner, those of all."""
        with self._lock, name_errors(self._name):
            row = self._database.execute("SELECT responses, bytes FROM ts_totals WHERE owner = ?", (owner,)).fetchone()
        return row or (0, 0)

    def _read(self, statement: str, *values: str) -> StoredResponse | None:
        with self._lock, name_errors(self._name):
            row = self._database.execute(statement, (*values, self._clock() - self.limits.seconds)).fetchone()
        if row is None:
            return None
        return StoredResponse(body=json.loads(row[0]), input=json.loads(row[1]), previous=row[2])

    def _drop(self, owner: str) -> None:
        """Drop what is too old, and what is over the limits."""
        limits = self.limits
        self._database.execute("DELETE FROM ts_responses WHERE used < ?", (self._clock() - limits.seconds,))
        while self._has_too_much(limits.owner_responses, limits.owner_bytes, owner):
            self._database.execute(_DROP_ONE, (owner,))
        while self._has_too_much(limits.responses, limits.bytes, ""):
            self._database.execute(_DROP_ONE_OF_ALL)

    def _has_too_much(self, responses: int, size: int, owner: str) -> bool:
        row = self._database.execute(_IS_TOO_MUCH, (responses, size, owner)).fetchone()
        return row is not None and bool(row[0])


def name_owner(headers: Mapping[str, str]) -> str:
    """Return the owner of what a client stores: a digest of the keys that it sends, since those are secrets."""
    sent = "\0".join(headers.get(name, "") for name in KEY_HEADERS)
    return hashlib.sha256(b"toolspeak responses\0" + sent.encode("utf-8", "surrogateescape")).hexdigest()


def is_reference(item: Any) -> bool:
    """Whether an item of an input refers to one that is stored. It may be nothing but an id."""
    given = as_object(item)
    kind = given.get("type")
    return kind == "item_reference" or (kind is None and "role" not in given and "id" in given)
