"""The facts of runs: written as they happen, and read back as the program that ran them had them.

The messages of a conversation are not repeated in each of its runs. The first fact of a run, `RunStarted`, is stored
without the messages that it shares with the end of the run before it (`parent`); `inherited` is their number. System
messages at the beginning are always stored with the run, since they may be changed between two runs.
"""

import json
import sqlite3
from collections.abc import Sequence
from dataclasses import replace
from functools import reduce as fold
from itertools import takewhile
from pathlib import Path
from types import TracebackType
from typing import Any, NamedTuple, Self

from toolspeak import codec
from toolspeak._frozen import frozen
from toolspeak.errors import UsageError
from toolspeak.events import (
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
from toolspeak.messages import Message
from toolspeak.store.schema import name_errors, open_database, transaction

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
        parent: The run before it; None for the first.
        messages: The messages at the end of that run.
        options: The options to remember with the conversation, as JSON data.
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
        self._connection = open_database(path)

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def close(self) -> None:
        """Close the file."""
        with name_errors(self.path):
            self._connection.close()

    # Writing

    def start(self, started: RunStarted, at: float, link: RunLink | None = None) -> None:
        """Store the first fact of a run."""
        link = link or RunLink(conversation=started.run_id)
        inherited, own = split_inherited(started.messages, link.messages if link.parent else ())
        prompt = next((each.text for each in reversed(started.messages) if each.role == "user"), "")
        with name_errors(self.path), transaction(self._connection):
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
                (started.run_id, link.conversation, fold_text(text), text),
            )
            self._insert(started.run_id, [StoredFact(replace(started, messages=own), at)])

    def append(self, run_id: str, facts: Sequence[StoredFact]) -> None:
        """Store further facts of a run, all of them or none."""
        with name_errors(self.path), transaction(self._connection):
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
                    (fold_text(text), text, run_id),
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
        with name_errors(self.path):
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
        with name_errors(self.path):
            rows = _find_chain(self._connection, run_id)
            stored = [self._read_facts(row[0]) for row in rows]
        loaded: list[_LoadedRun] = []
        for (_, inherited), facts in zip(rows, stored, strict=True):
            loaded.append(_restore(facts, inherited, loaded[-1].messages if loaded else ()))
        return loaded

    def _read_facts(self, run_id: str) -> list[StoredFact]:
        rows = self._connection.execute("SELECT seq, at, data FROM ts_facts WHERE run_id = ? ORDER BY seq", (run_id,))
        return [StoredFact(_read_fact(data, run_id, seq), at) for seq, at, data in rows]


class _LoadedRun(NamedTuple):
    """A run as it was: its facts, and the messages at its end."""

    facts: list[StoredFact]
    messages: tuple[Message, ...]


def drop_unanswered_prompt(messages: tuple[Message, ...]) -> tuple[Message, ...]:
    """Return the messages without a last prompt that got no answer, so that the conversation can go on from them."""
    return messages[:-1] if messages and messages[-1].role == "user" else messages


def fold_text(text: str) -> str:
    """Return the form of a text in which words are searched, so that upper and lower case are alike."""
    return text.casefold()


def _find_chain(connection: sqlite3.Connection, run_id: str) -> list[tuple[str, int]]:
    """Return the ids of a run and of those before it, the first one first, with the number of inherited messages."""
    rows: list[tuple[str, int]] = []
    current: str | None = run_id
    while current is not None:
        row = connection.execute("SELECT parent, inherited FROM ts_runs WHERE run_id = ?", (current,)).fetchone()
        if row is None:
            raise UsageError(f"the run {current} is not in the log")
        rows.append((current, row[1]))
        current = row[0]
    return rows[::-1]


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
