"""Conversations: listed, searched, found by a part of their id, and deleted.

A search looks for each word in prompts and answers, wherever it stands in a longer word: this finds words in languages
without spaces as well, needs no index that some builds of SQLite lack, and reads some hundred megabytes of text in a
second. Conversations are read from the newest to the oldest, until as many were found as are wanted.
"""

import json
import time
from collections.abc import Sequence
from typing import Any

from toolspeak._frozen import frozen
from toolspeak.errors import UsageError
from toolspeak.messages import Message
from toolspeak.store.runs import MAX_TITLE_CHARS, RunStore, drop_unanswered_prompt, fold_text
from toolspeak.store.schema import name_errors, transaction

_COLUMNS = """
    c.conversation, c.created, c.updated, c.title, c.model, c.options,
    (SELECT count(*) FROM ts_runs WHERE conversation = c.conversation),
    (SELECT total(turns) FROM ts_runs WHERE conversation = c.conversation)
"""

_RUN_COLUMNS = f"""
    r.run_id, r.conversation, substr(t.text, 1, {MAX_TITLE_CHARS}), r.model, r.status, r.stop_reason,
    r.updated, r.next_seq
"""

# `ts_texts` has an index of runs only, so the texts of a conversation are found by runs; CROSS JOIN keeps this order.
_TEXTS = "ts_runs r CROSS JOIN ts_texts t ON t.run_id = r.run_id"
_OCCURS = f"EXISTS (SELECT 1 FROM {_TEXTS} WHERE r.conversation = c.conversation AND instr(t.folded, ?))"  # noqa: S608 (no text of users)


@frozen
class ConversationEntry:
    """A conversation in the log.

    Attributes:
        id: Its id.
        created: When it began, in seconds since 1970.
        updated: When something last happened in it.
        title: The beginning of its first prompt.
        model: The model that answered last.
        options: The options that are remembered with it, as JSON data.
        runs: How many prompts it has.
        turns: How many answers of the model it has, those with calls included and those that broke off not.
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
    """

    run_id: str
    conversation: str
    title: str
    model: str
    status: str
    stop_reason: str
    updated: float
    facts: int


class ConversationStore(RunStore):
    """A file that holds the runs of conversations."""

    def list_newest(self, count: int | None = None, words: Sequence[str] = ()) -> list[ConversationEntry]:
        """Return the conversations in which all words occur, the newest first.

        Args:
            count: How many at most; None for all.
            words: The words, each of which may be a part of a longer one. Upper and lower case are alike.
        """
        folded = sorted({fold_text(word) for word in words}, key=len, reverse=True)  # a long word is rarer than a short
        return self._select(
            f"WHERE {' AND '.join([_OCCURS] * len(folded)) or 'TRUE'} ORDER BY c.updated DESC, c.rowid DESC LIMIT ?",
            *folded,
            -1 if count is None else count,
        )

    def find(self, id_start: str) -> ConversationEntry:
        """Return the conversation whose id begins so.

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
        """Return the text around the first place in a conversation where a word occurs; "" if it occurs nowhere."""
        folded = fold_text(word)
        with name_errors(self.path):
            row = self._connection.execute(
                f"SELECT t.text, instr(t.folded, ?) FROM {_TEXTS}"  # noqa: S608 (no text of users)
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
        """Return the ids of the runs of a conversation, in the order in which they began."""
        with name_errors(self.path):
            rows = self._connection.execute(
                "SELECT run_id FROM ts_runs WHERE conversation = ? ORDER BY created, rowid", (conversation,)
            ).fetchall()
        return [row[0] for row in rows]

    def list_latest_runs(self, count: int) -> list[LoggedRun]:
        """Return the runs of all conversations in which something happened last, the newest first."""
        with name_errors(self.path):
            statement = f"SELECT {_RUN_COLUMNS} FROM {_TEXTS} WHERE r.conversation IS NOT NULL"  # noqa: S608 (no text of users)
            rows = self._connection.execute(f"{statement} ORDER BY r.updated DESC LIMIT ?", (count,)).fetchall()
        return [
            LoggedRun(
                run_id=row[0],
                conversation=row[1],
                title=" ".join(row[2].partition("\n")[0].split()),
                model=row[3],
                status=row[4],
                stop_reason=row[5] or "",
                updated=row[6],
                facts=row[7],
            )
            for row in rows
        ]

    def load_conversation(self, conversation: str) -> tuple[str, tuple[Message, ...]]:
        """Return the last run of a conversation, and the messages with which the conversation goes on.

        Raises:
            UsageError: The conversation has no runs, or a fact cannot be read.
        """
        runs = self.list_runs(conversation)
        if not runs:
            raise UsageError(f"the conversation {conversation} is no longer in the log")
        return runs[-1], drop_unanswered_prompt(self.load_messages(runs[-1]))

    def delete(self, conversations: Sequence[str]) -> int:
        """Delete conversations, and return how many there were."""
        with name_errors(self.path):
            with transaction(self._connection):
                count = sum(self._delete(each) for each in conversations)
            self._connection.execute("PRAGMA wal_checkpoint(TRUNCATE)").fetchall()  # it holds copies of old pages
        return count

    def _delete(self, conversation: str) -> int:
        for statement in (
            "DELETE FROM ts_facts WHERE run_id IN (SELECT run_id FROM ts_runs WHERE conversation = ?)",
            "DELETE FROM ts_texts WHERE run_id IN (SELECT run_id FROM ts_runs WHERE conversation = ?)",
            "DELETE FROM ts_runs WHERE conversation = ?",
        ):
            self._connection.execute(statement, (conversation,))
        return self._connection.execute("DELETE FROM ts_conversations WHERE conversation = ?", (conversation,)).rowcount

    def list_older(self, than: float) -> list[str]:
        """Return the ids of the conversations in which nothing has happened since a time."""
        return [each.id for each in self._select("WHERE c.updated < ? ORDER BY c.updated", min(than, time.time()))]

    def _select(self, condition: str, *values: object) -> list[ConversationEntry]:
        with name_errors(self.path):
            statement = f"SELECT {_COLUMNS} FROM ts_conversations c {condition}"  # noqa: S608 (no text of users)
            rows = self._connection.execute(statement, values).fetchall()
        return [
            ConversationEntry(
                id=row[0],
                created=row[1],
                updated=row[2],
                title=row[3],
                model=row[4],
                options=json.loads(row[5]),
                runs=row[6],
                turns=int(row[7]),
            )
            for row in rows
        ]
