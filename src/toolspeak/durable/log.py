"""The log of conversations: the facts of runs, written as they happen, and read back as their program had them.

The log is one SQLite file. Only its owner may read it, and what is deleted cannot be read from the file. It has the
facts, and what is needed to find them. The messages of a conversation are not repeated in each of its runs. The first
fact of a run, `RunStarted`, is stored without the messages that it shares with the end of the run before it (`parent`);
`inherited` is their number. System messages at the beginning are always stored with the run, since they may be changed
between two runs.

A search looks for each word in prompts and answers, wherever it stands in a longer word: this finds words in languages
without spaces as well, needs no index that some builds of SQLite lack, and reads some hundred megabytes of text in a
second. Conversations are read from the newest to the oldest, until as many were found as are wanted.
"""

import json
import os
import sqlite3
import sys
import time
import zlib
from collections.abc import Sequence
from contextlib import AbstractContextManager
from dataclasses import replace
from functools import reduce as fold
from itertools import takewhile
from pathlib import Path
from typing import Any, NamedTuple, Self

from toolspeak.durable.run_index import drop_index
from toolspeak.durable.sqlite_file import LOG, create_private, name_errors, open_file, transaction
from toolspeak.values import codec
from toolspeak.values.errors import UsageError
from toolspeak.values.events import (
    ApprovalGiven,
    ApprovalNeeded,
    Compacted,
    Fact,
    Interrupted,
    RunEnded,
    RunResumed,
    RunStarted,
    TurnEnded,
)
from toolspeak.values.frozen import frozen
from toolspeak.values.messages import Message

OFFSETS = 2**31 - 1
"""The number of bytes that can be locked: Windows takes no larger offsets."""

if sys.platform == "win32":
    import msvcrt

    def _try_lock(descriptor: int, offset: int) -> bool:
        os.lseek(descriptor, offset, os.SEEK_SET)
        try:
            msvcrt.locking(descriptor, msvcrt.LK_NBLCK, 1)
        except PermissionError:
            return False
        return True

    def _unlock(descriptor: int, offset: int) -> None:
        os.lseek(descriptor, offset, os.SEEK_SET)
        msvcrt.locking(descriptor, msvcrt.LK_UNLCK, 1)

else:
    import fcntl

    def _try_lock(descriptor: int, offset: int) -> bool:
        try:
            fcntl.lockf(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB, 1, offset)
        except (BlockingIOError, PermissionError):  # which of the two depends on the system
            return False
        return True

    def _unlock(descriptor: int, offset: int) -> None:
        fcntl.lockf(descriptor, fcntl.LOCK_UN, 1, offset)


class ConversationLock:
    """Locks one conversation of a log at a time against other processes. Within a process, use one object for a log.

    It locks one byte of an empty file beside the log; which byte follows from the id of the conversation. The operating
    system releases the lock when the process ends, however that happens, so no lock outlives its process and nothing is
    left to clean up. Two ids share a byte once in two thousand million pairs; one of them then seems to be open.

    Args:
        log: The path of the log.
    """

    def __init__(self, log: Path) -> None:
        self._path = log.with_name(f"{log.name}.lock")
        self._descriptor: int | None = None
        self._offset: int | None = None

    def acquire(self, conversation: str) -> bool:
        """Lock a conversation instead of the previous one, and return whether no other process has it.

        Raises:
            UsageError: The file cannot be used.
        """
        offset = zlib.crc32(conversation.encode()) % OFFSETS
        with _name_errors(self._path):
            if self._descriptor is None:
                create_private(self._path)
                self._descriptor = os.open(self._path, os.O_RDWR)
            if offset == self._offset:
                return True
            if self._offset is not None:
                _unlock(self._descriptor, self._offset)
            self._offset = offset if _try_lock(self._descriptor, offset) else None
        return self._offset is not None

    def close(self) -> None:
        """Release the lock."""
        if self._descriptor is not None:
            os.close(self._descriptor)
            self._descriptor = self._offset = None


MAX_TITLE_CHARS = 200


class StoredFact(NamedTuple):
    """A fact, and when it happened, in seconds since 1970."""

    fact: Fact
    at: float


@frozen
class RunLink:
    """The place of a run in a conversation.

    Attributes:
        conversation: The id of the conversation: that of its first run.
        parent: The previous run; None for the first.
        messages: The messages at the end of that run.
        options: The options to save with the conversation, as JSON data.
    """

    conversation: str
    parent: str | None = None
    messages: tuple[Message, ...] = ()
    options: dict[str, Any] | None = None


class RunStore:
    """A file that holds runs. One object may be used from several threads, one at a time.

    Args:
        path: The file, which is created if it does not exist.

    Raises:
        UsageError: The file cannot be used.
    """

    def __init__(self, path: Path) -> None:
        self.path = path
        self._connection = open_log(path)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        """Close the file."""
        with _name_errors(self.path):
            self._connection.close()

    # Writing

    def start(self, started: RunStarted, at: float, link: RunLink | None = None) -> None:
        """Store the first fact of a run."""
        link = link or RunLink(conversation=started.run_id)
        inherited, own = split_inherited(started.messages, link.messages if link.parent else ())
        prompt = next((each.text for each in reversed(started.messages) if each.role == "user"), "")
        with _name_errors(self.path), transaction(self._connection):
            self._connection.execute(
                "INSERT INTO ts_runs (run_id, status, model, format, conversation, parent, inherited, created, updated)"
                " VALUES (?, 'running', ?, ?, ?, ?, ?, ?, ?)",
                (started.run_id, started.model, codec.FORMAT, link.conversation, link.parent, inherited, at, at),
            )
            self._connection.execute(
                "INSERT INTO ts_conversations (conversation, created, updated, title, model, options)"
                " VALUES (?, ?, ?, ?, ?, ?) ON CONFLICT (conversation) DO UPDATE"
                " SET updated = max(updated, excluded.updated), model = excluded.model, options = excluded.options",
                (link.conversation, at, at, _make_title(prompt), started.model, json.dumps(link.options or {})),
            )
            text = _storable(prompt)
            self._connection.execute(
                "INSERT INTO ts_texts (run_id, conversation, folded, text) VALUES (?, ?, ?, ?)",
                (started.run_id, link.conversation, text.casefold(), text),
            )
            self._insert(started.run_id, [StoredFact(replace(started, messages=own), at)])

    def append(self, run_id: str, facts: Sequence[StoredFact]) -> None:
        """Store further facts of a run, all of them or none."""
        with _name_errors(self.path), transaction(self._connection):
            self._insert(run_id, facts)

    def _insert(self, run_id: str, facts: Sequence[StoredFact]) -> None:
        row = self._connection.execute(
            "SELECT next_seq, conversation FROM ts_runs WHERE run_id = ?", (run_id,)
        ).fetchone()
        if row is None:
            raise UsageError(f"the run {run_id} is no longer in the log")
        first, conversation = row
        self._connection.execute(
            "UPDATE ts_runs SET next_seq = ?, updated = ? WHERE run_id = ?",
            (first + len(facts), facts[-1].at, run_id),
        )
        self._connection.executemany(
            "INSERT INTO ts_facts (run_id, seq, at, data) VALUES (?, ?, ?, ?)",
            [(run_id, first + n, each.at, json.dumps(codec.encode(each.fact))) for n, each in enumerate(facts)],
        )
        for each in facts:
            self._note(run_id, each.fact)
        self._connection.execute(
            "UPDATE ts_conversations SET updated = max(updated, ?) WHERE conversation = ?", (facts[-1].at, conversation)
        )

    def _note(self, run_id: str, fact: Fact) -> None:
        """Bring the columns by which runs are found up to date."""
        match fact:
            case TurnEnded(message=message, finish=finish):
                text = "\n" + _storable(message.text)
                if message.parts and finish != "error":  # otherwise the model did not answer
                    self._connection.execute("UPDATE ts_runs SET turns = turns + 1 WHERE run_id = ?", (run_id,))
                self._connection.execute(
                    "UPDATE ts_texts SET folded = folded || ?, text = text || ? WHERE run_id = ?",
                    (text.casefold(), text, run_id),
                )
            case ApprovalNeeded():
                self._set_status(run_id, "paused")
            case ApprovalGiven() | RunResumed():
                self._set_status(run_id, "running")
            case RunEnded(reason=reason):
                self._set_status(run_id, "done", reason)
            case _:
                pass

    def _set_status(self, run_id: str, status: str, stop_reason: str | None = None) -> None:
        self._connection.execute(
            "UPDATE ts_runs SET status = ?, stop_reason = ? WHERE run_id = ?", (status, stop_reason, run_id)
        )

    # Reading

    def load_facts(self, run_id: str) -> list[StoredFact]:
        """Return the facts of a run, with all messages that it began with.

        Raises:
            UsageError: There is no such run, or a fact of it cannot be read.
        """
        return self._load_chain(run_id)[-1].facts

    def has_ended(self, run_id: str) -> bool:
        """Whether a run has ended. One that has not waits for an approval, goes on elsewhere, or was cut off."""
        with _name_errors(self.path):
            row = self._connection.execute("SELECT status FROM ts_runs WHERE run_id = ?", (run_id,)).fetchone()
        return row == ("done",)

    def load_messages(self, run_id: str) -> tuple[Message, ...]:
        """Return the messages at the end of a run, those of the runs before it included.

        Raises:
            UsageError: There is no such run, or a fact of it cannot be read.
        """
        return self._load_chain(run_id)[-1].messages

    def load_compaction(self, run_id: str) -> Compacted | None:
        """Return what the model was still shown of the messages at the end of a run; None if all of them.

        Raises:
            UsageError: There is no such run, or a fact of it cannot be read.
        """
        with _name_errors(self.path):
            facts = self._read_facts(run_id)  # its own: what it began with is a field of `RunStarted`
        if not facts:
            raise UsageError(f"the run {run_id} is not in the log")
        found: Compacted | None = None
        for stored in facts:
            if isinstance(stored.fact, RunStarted):
                found = stored.fact.compacted
            elif isinstance(stored.fact, Compacted):
                found = stored.fact
        return found

    def _load_chain(self, run_id: str) -> "list[_LoadedRun]":
        """Return a run after all runs that it goes on from, the first one first."""
        with _name_errors(self.path):
            rows = self._find_chain(run_id)
            stored = [self._read_facts(row[0]) for row in rows]
        loaded: list[_LoadedRun] = []
        for (_, inherited), facts in zip(rows, stored, strict=True):
            loaded.append(_restore(facts, inherited, loaded[-1].messages if loaded else ()))
        return loaded

    def _find_chain(self, run_id: str) -> list[tuple[str, int]]:
        """Return the ids of a run and of those before it, the first one first, each with `inherited`."""
        rows: list[tuple[str, int]] = []
        current: str | None = run_id
        while current is not None:
            found = "SELECT parent, inherited FROM ts_runs WHERE run_id = ?"
            row = self._connection.execute(found, (current,)).fetchone()
            if row is None:
                raise UsageError(f"the run {current} is not in the log")
            rows.append((current, row[1]))
            current = row[0]
        return rows[::-1]

    def _read_facts(self, run_id: str) -> list[StoredFact]:
        rows = self._connection.execute("SELECT seq, at, data FROM ts_facts WHERE run_id = ? ORDER BY seq", (run_id,))
        return [StoredFact(_read_fact(data, run_id, seq), at) for seq, at, data in rows]


def open_log(path: Path) -> sqlite3.Connection:
    """Open the file of a log, and create it or bring it up to date if needed.

    Raises:
        UsageError: The file cannot be opened, is not a database, or was written by a newer toolspeak.
    """
    with _name_errors(path):
        create_private(path)
        connection = open_file(path, LOG)
        connection.execute("PRAGMA secure_delete = ON")
        return connection


def _name_errors(path: Path) -> AbstractContextManager[None]:
    return name_errors(f"the log in {path}", UsageError)


class _LoadedRun(NamedTuple):
    """A run as it was: its facts, and the messages at its end."""

    facts: list[StoredFact]
    messages: tuple[Message, ...]


def _read_fact(data: str, run_id: str, seq: int) -> Fact:
    try:
        item = codec.decode(json.loads(data))
    except (ValueError, RecursionError, UsageError) as error:
        raise UsageError(f"fact {seq} of the run {run_id} in the log cannot be read: {error}") from None
    if isinstance(item, Message):
        raise UsageError(f"fact {seq} of the run {run_id} in the log is a message")
    return item


def _restore(facts: list[StoredFact], inherited: int, before: tuple[Message, ...]) -> _LoadedRun:
    """Give a run back the messages that it shares with the run before it."""
    from toolspeak.loop import initial_state, reduce  # with pydantic, which a list of conversations does not need

    first = facts[0].fact if facts else None
    if not isinstance(first, RunStarted):
        raise UsageError("a run in the log has no beginning")
    system, own = split_system(first.messages)
    started = replace(first, messages=(*system, *split_system(before)[1][:inherited], *own))
    restored = [StoredFact(started, facts[0].at), *facts[1:]]
    state = fold(reduce, (each.fact for each in restored), initial_state(started.tools))
    if state.ended is None:  # it waits for an approval, or was cut off: each call that has no result gets one
        state = fold(reduce, (RunResumed(), Interrupted(cause="cancelled")), state)
    return _LoadedRun(restored, state.history)


def count_shared(messages: tuple[Message, ...], before: tuple[Message, ...]) -> int:
    """Return with how many messages of another conversation one begins, not counting system messages."""
    pairs = zip(split_system(messages)[1], split_system(before)[1], strict=False)
    return sum(1 for _ in takewhile(lambda pair: pair[0] == pair[1], pairs))


def split_inherited(messages: tuple[Message, ...], before: tuple[Message, ...]) -> tuple[int, tuple[Message, ...]]:
    """Return how many messages a run shares with the one before it, and the messages without them."""
    count = count_shared(messages, before)
    system, own = split_system(messages)
    return count, (*system, *own[count:])


def split_system(messages: tuple[Message, ...]) -> tuple[tuple[Message, ...], tuple[Message, ...]]:
    """Split off the system messages at the beginning."""
    count = next((index for index, each in enumerate(messages) if each.role != "system"), len(messages))
    return messages[:count], messages[count:]


def _make_title(prompt: str) -> str:
    return _storable(" ".join(prompt[: 4 * MAX_TITLE_CHARS].split())[:MAX_TITLE_CHARS])


def _storable(text: str) -> str:
    """Return a text that SQLite can hold: halves of characters, which models may write, are replaced."""
    return text.encode("utf-8", "replace").decode().replace("\x00", " ")


_COLUMNS = """
    c.conversation, c.created, c.updated, c.title, c.model, c.options,
    (SELECT count(*) FROM ts_runs WHERE conversation = c.conversation),
    (SELECT total(turns) FROM ts_runs WHERE conversation = c.conversation)
"""

_RUN_COLUMNS = f"""
    r.run_id, r.conversation, substr(t.text, 1, {MAX_TITLE_CHARS}), r.model, r.status, r.stop_reason,
    r.updated, r.next_seq, a.data
"""

# `ts_texts` has an index of runs only, so the texts of a conversation are found by runs; CROSS JOIN keeps this order.
_TEXTS = "ts_runs r CROSS JOIN ts_texts t ON t.run_id = r.run_id"
_OCCURS = f"EXISTS (SELECT 1 FROM {_TEXTS} WHERE r.conversation = c.conversation AND instr(t.folded, ?))"


@frozen
class ConversationEntry:
    """A conversation in the log.

    Attributes:
        id: Its id.
        created: When it started, in seconds since 1970.
        updated: When it last changed.
        title: The beginning of its first prompt.
        model: The model that answered last.
        options: The options that are saved with it, as JSON data.
        runs: How many prompts it has.
        turns: How many answers of the model it has, including those with calls, without those that broke off.
    """

    id: str
    created: float
    updated: float
    title: str
    model: str
    options: dict[str, Any]
    runs: int
    turns: int


@frozen
class LoggedRun:
    """A run in the log: one prompt of a conversation, with what came of it.

    Attributes:
        run_id: Its id.
        conversation: The id of its conversation.
        title: The beginning of its prompt.
        model: The model that it began with.
        status: Where it is: `running`, `paused` or `done`.
        stop_reason: Why it ended; "" as long as it has not.
        updated: When something last happened in it, in seconds since 1970.
        facts: How many facts it has.
        annotation: What people have said of it, as JSON; "" for nothing.
    """

    run_id: str
    conversation: str
    title: str
    model: str
    status: str
    stop_reason: str
    updated: float
    facts: int
    annotation: str


class ConversationStore(RunStore):
    """The log: a file with the runs of conversations."""

    def list_newest(self, count: int | None = None, words: Sequence[str] = ()) -> list[ConversationEntry]:
        """Return the conversations in which all words occur, the newest first.

        Args:
            count: The maximum number; None for all.
            words: The words, each of which may be part of a longer one. Case is ignored.
        """
        folded = sorted({word.casefold() for word in words}, key=len, reverse=True)  # a long word is rarer than a short
        return self._select(
            f"WHERE {' AND '.join([_OCCURS] * len(folded)) or 'TRUE'} ORDER BY c.updated DESC, c.rowid DESC LIMIT ?",
            *folded,
            -1 if count is None else count,
        )

    def find(self, id_start: str) -> ConversationEntry:
        """Return the conversation whose id begins with these characters.

        Raises:
            UsageError: There is none, or more than one.
        """
        found = self._select(
            "WHERE substr(c.conversation, 1, ?) = ? ORDER BY c.updated DESC LIMIT 3", len(id_start), id_start
        )
        exact = [each for each in found if each.id == id_start]
        if exact or (id_start and len(found) == 1):
            return (exact or found)[0]
        if not found or not id_start:
            raise UsageError(f"there is no conversation {id_start!r}; toolspeak log lists them")
        raise UsageError(f"{id_start!r} is the beginning of several ids: {', '.join(each.id for each in found)}, …")

    def find_excerpt(self, conversation: str, word: str, width: int) -> str:
        """Return the text around the first occurrence of a word in a conversation; "" if it does not occur."""
        folded = word.casefold()
        with _name_errors(self.path):
            row = self._connection.execute(
                f"SELECT t.text, instr(t.folded, ?) FROM {_TEXTS}"
                " WHERE r.conversation = ? AND instr(t.folded, ?) ORDER BY r.created LIMIT 1",
                (folded, conversation, folded),
            ).fetchone()
        if row is None:
            return ""
        text, place = row[0], row[1] - 1
        start = max(0, place - width // 3)
        part = " ".join(text[start : start + width].split())
        return f"{'…' if start else ''}{part}{'…' if start + width < len(text) else ''}"

    def list_runs(self, conversation: str) -> list[str]:
        """Return the ids of the runs of a conversation, oldest first."""
        with _name_errors(self.path):
            rows = self._connection.execute(
                "SELECT run_id FROM ts_runs WHERE conversation = ? ORDER BY created, rowid", (conversation,)
            ).fetchall()
        return [row[0] for row in rows]

    def list_latest_runs(self, count: int) -> list[LoggedRun]:
        """Return the runs of all conversations, most recently changed first."""
        with _name_errors(self.path):
            source = f"{_TEXTS} LEFT JOIN ts_annotations a ON a.run_id = r.run_id WHERE r.conversation IS NOT NULL"
            statement = f"SELECT {_RUN_COLUMNS} FROM {source} ORDER BY r.updated DESC LIMIT ?"
            rows = self._connection.execute(statement, (count,)).fetchall()
        return [
            LoggedRun(
                run_id=run_id,
                conversation=conversation,
                title=" ".join(start.lstrip().partition("\n")[0].split()),
                model=model,
                status=status,
                stop_reason=stop_reason or "",
                updated=updated,
                facts=facts,
                annotation=annotation or "",
            )
            for run_id, conversation, start, model, status, stop_reason, updated, facts, annotation in rows
        ]

    def read_version(self) -> int:
        """Return a number that changes when another connection, but not this one, has changed the file."""
        with _name_errors(self.path):
            return self._connection.execute("PRAGMA data_version").fetchone()[0]

    def annotate(self, run_id: str, data: str) -> bool:
        """Replace the annotations of a run; return whether there is such a run."""
        with _name_errors(self.path), transaction(self._connection):
            self._connection.execute("DELETE FROM ts_annotations WHERE run_id = ?", (run_id,))
            found = "INSERT INTO ts_annotations SELECT run_id, ?, ? FROM ts_runs WHERE run_id = ?"
            return self._connection.execute(found, (data, time.time(), run_id)).rowcount == 1

    def load_conversation(self, conversation: str) -> tuple[str, tuple[Message, ...]]:
        """Return the last run of a conversation, and the messages to continue from.

        Raises:
            UsageError: The conversation has no runs, or a fact cannot be read.
        """
        runs = self.list_runs(conversation)
        if not runs:
            raise UsageError(f"the conversation {conversation} is no longer in the log")
        messages = self.load_messages(runs[-1])
        if messages and messages[-1].role == "user":  # a prompt that got no answer: the conversation goes on before it
            messages = messages[:-1]
        return runs[-1], messages

    def delete(self, conversations: Sequence[str]) -> int:
        """Delete conversations, and return how many there were."""
        with _name_errors(self.path):
            with transaction(self._connection):
                count = sum(self._delete(each) for each in conversations)
            self._connection.execute("PRAGMA wal_checkpoint(TRUNCATE)").fetchall()  # it holds copies of old pages
            drop_index(str(self.path))  # it holds what was said, too
        return count

    def _delete(self, conversation: str) -> int:
        for statement in (
            "DELETE FROM ts_facts WHERE run_id IN (SELECT run_id FROM ts_runs WHERE conversation = ?)",
            "DELETE FROM ts_texts WHERE run_id IN (SELECT run_id FROM ts_runs WHERE conversation = ?)",
            "DELETE FROM ts_annotations WHERE run_id IN (SELECT run_id FROM ts_runs WHERE conversation = ?)",
            "DELETE FROM ts_runs WHERE conversation = ?",
        ):
            self._connection.execute(statement, (conversation,))
        return self._connection.execute("DELETE FROM ts_conversations WHERE conversation = ?", (conversation,)).rowcount

    def list_older(self, than: float) -> list[str]:
        """Return the ids of the conversations that have not changed since a time."""
        return [each.id for each in self._select("WHERE c.updated < ? ORDER BY c.updated", min(than, time.time()))]

    def _select(self, condition: str, *values: object) -> list[ConversationEntry]:
        with _name_errors(self.path):
            statement = f"SELECT {_COLUMNS} FROM ts_conversations c {condition}"
            rows = self._connection.execute(statement, values).fetchall()
        return [
            ConversationEntry(
                id=conversation,
                created=created,
                updated=updated,
                title=title,
                model=model,
                options=json.loads(options),
                runs=runs,
                turns=int(turns),
            )
            for conversation, created, updated, title, model, options, runs, turns in rows
        ]
