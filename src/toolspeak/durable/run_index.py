"""The index of runs: the figures and the words of many runs, so that they are listed and found without being read.

An index belongs to one place that holds runs: a folder, the log, a store. It is an SQLite file in the user's cache
folder, which only its owner may read, and holds nothing that is not in the runs: a file that is damaged, or of another
release, is made anew. Each run has a version, which its place knows; a run whose version differs is read again.

Words are found by FTS5, from their beginning and whatever their accents: `resum` finds `résumé`. In languages that are
written without spaces each character is a word, and what is looked for must stand together.
"""

import hashlib
import re
import sqlite3
import threading
import time
from collections.abc import Collection, Generator, Iterable
from contextlib import ExitStack, closing, contextmanager, suppress
from pathlib import Path
from typing import NamedTuple

from toolspeak.durable.sqlite_file import INDEX, create_private, name_errors, open_file, transaction
from toolspeak.settings.files import cache_folder
from toolspeak.values.errors import StoreUnavailable, UsageError

KEPT_SECONDS = 60 * 86_400
"""How long the index of a place is kept that nobody looks at."""

MAX_WORDS = 20
SNIPPET_WORDS = 16

BEGIN_MARK, END_MARK = "\x02", "\x03"
"""What stands around a word that was found, in an excerpt. Texts are stored without these characters."""

UNSPACED = re.compile("([\u0e00-\u0eff\u1000-\u109f\u1780-\u17ff\u3040-\u30ff\u3400-\u9fff\uf900-\ufaff])")
"""Characters of languages that are written without spaces: Thai, Lao, Burmese, Khmer, Chinese and Japanese."""

QUERY = re.compile(r'"([^"]*)"|(\S+)')


class IndexedRun(NamedTuple):
    """What the index has of a run: its version, and its figures as JSON."""

    version: str
    figures: str


class RunText(NamedTuple):
    """A run as it is put into the index: `text` is what was said in it."""

    run_id: str
    version: str
    figures: str
    text: str


class FoundRun(NamedTuple):
    """A run in which all words occur, and an excerpt with marks; "" if there are too many for excerpts."""

    run_id: str
    excerpt: str


def find_index(place: str) -> Path:
    """Return the file of the index of a place that holds runs, named by its path or its address."""
    digest = hashlib.blake2s(place.encode("utf-8", "surrogateescape"), digest_size=12).hexdigest()
    return cache_folder() / "page" / f"{digest}.db"


def drop_index(place: str) -> None:
    """Delete the index of a place, if there is one: runs were deleted, and what was said in them must go."""
    _delete(find_index(place))


def _delete(path: Path) -> None:
    for end in ("", "-wal", "-shm"):
        with suppress(OSError):
            path.with_name(f"{path.name}{end}").unlink()


class RunIndex:
    """The index of one place. It may be used from several threads.

    Args:
        place: The path or the address of the place. If no file can be written, the index is in memory.
    """

    def __init__(self, place: str) -> None:
        self._lock = threading.Lock()
        self._connection, self._can_search = _open(find_index(place))

    def close(self) -> None:
        """Close the file."""
        with self._using():
            self._connection.close()

    @contextmanager
    def _using(self) -> Generator[None]:
        """Let one thread use the file, and name its errors."""
        with self._lock, name_errors("the index of runs", StoreUnavailable):
            yield

    def load(self) -> dict[str, IndexedRun]:
        """Return all that is known of runs, by their ids."""
        with self._using():
            rows = self._connection.execute("SELECT run_id, version, figures FROM ts_indexed").fetchall()
        return {run_id: IndexedRun(version, figures) for run_id, version, figures in rows}

    def store(self, runs: Iterable[RunText]) -> None:
        """Store runs, in the place of what was known of them."""
        with self._using(), transaction(self._connection):
            for run in runs:
                self._remove(run.run_id)
                number = self._connection.execute(
                    "INSERT INTO ts_indexed (run_id, version, figures) VALUES (?, ?, ?)", run[:3]
                ).lastrowid
                text = _separate(_clean(run.text))
                self._connection.execute("INSERT INTO ts_words (rowid, text) VALUES (?, ?)", (number, text))

    def remove(self, run_ids: Collection[str]) -> None:
        """Forget runs."""
        with self._using(), transaction(self._connection):
            for run_id in run_ids:
                self._remove(run_id)

    def _remove(self, run_id: str) -> None:
        found = self._connection.execute("SELECT number FROM ts_indexed WHERE run_id = ?", (run_id,)).fetchone()
        if found is not None:
            self._connection.execute("DELETE FROM ts_words WHERE rowid = ?", found)
            self._connection.execute("DELETE FROM ts_indexed WHERE number = ?", found)

    def search(self, words: str, excerpts: int, order: Collection[str] = ()) -> list[FoundRun]:
        """Return the runs in which all words occur.

        Args:
            words: Words, of which each may be the beginning of a longer one; what stands in quotation marks must stand
                together.
            excerpts: For how many of the runs an excerpt is given: for the first of `order`.
            order: The runs in the order in which they are listed. Others come last, the last indexed first.

        Raises:
            UsageError: This SQLite was built without FTS5.
        """
        if not self._can_search:
            raise UsageError("this Python has an SQLite without FTS5, so runs cannot be searched")
        query = build_query(words)
        if not query:
            return []
        source = "ts_words JOIN ts_indexed i ON i.number = ts_words.rowid WHERE ts_words MATCH ?"
        snippet = "snippet(ts_words, 0, ?, ?, '…', ?)"
        with self._using():
            found = dict(self._connection.execute(f"SELECT i.run_id, i.number FROM {source} ORDER BY 2 DESC", [query]))
            listed = [run_id for run_id in order if run_id in found]
            runs = list(dict.fromkeys((*listed, *found)))
            numbers = [found[run_id] for run_id in runs[:excerpts]]
            chosen = f"SELECT i.run_id, {snippet} FROM {source} AND i.number IN ({', '.join('?' * len(numbers))})"
            values = (BEGIN_MARK, END_MARK, SNIPPET_WORDS, query, *numbers)
            texts = dict(self._connection.execute(chosen, values))
        excerpted = [FoundRun(run_id, _join(texts.get(run_id, ""))) for run_id in runs[:excerpts]]
        return [*excerpted, *(FoundRun(run_id, "") for run_id in runs[excerpts:])]


def build_query(words: str) -> str:
    """Return words as a query of FTS5: all of them must occur, each as the beginning of a word; "" for no words.

    A single letter is a word of its own: it begins too many others.
    """
    found = [quoted or plain for quoted, plain in QUERY.findall(_clean(words))]
    parts = [part for part in found if any(char.isalnum() for char in part)][:MAX_WORDS]
    texts = [_separate(part.replace('"', " ")).strip() for part in parts]
    return " ".join(f'"{text}"' if len(text) == 1 else f'"{text}"*' for text in texts)


def _clean(text: str) -> str:
    """Return a text that SQLite can hold, without the marks of excerpts."""
    return text.encode("utf-8", "replace").decode().translate({0: " ", 2: " ", 3: " "})


def _separate(text: str) -> str:
    """Put spaces around characters that are words."""
    return UNSPACED.sub(r" \1 ", text)


def _join(excerpt: str) -> str:
    """Return an excerpt on one line, without the spaces that `_separate` has put into it."""
    mark = f"[{BEGIN_MARK}{END_MARK}]?"
    return " ".join(re.sub(f" ({mark}){UNSPACED.pattern}({mark}) ", r"\1\2\3", excerpt).split())


def _open(path: Path) -> tuple[sqlite3.Connection, bool]:
    """Open a file, and make one anew that cannot be used; return it, and whether it can be searched.

    Where no file can be written, or words cannot be indexed, it is in memory.
    """
    for _ in range(2):
        try:
            create_private(path)
            with ExitStack() as stack:
                connection = stack.enter_context(closing(open_file(path, INDEX)))
                connection.execute("PRAGMA secure_delete = ON")
                connection.execute("SELECT count(*) FROM ts_words").fetchone()
                stack.pop_all()  # it can be used: it stays open
        except (sqlite3.Error, OSError, UsageError):
            _delete(path)
        else:
            _drop_old(path)
            return connection, True
    connection = sqlite3.connect(":memory:", isolation_level=None, check_same_thread=False)
    [(runs, words)] = INDEX.migrations
    connection.execute(runs)
    try:
        connection.execute(words)
    except sqlite3.OperationalError:
        connection.execute("CREATE TABLE ts_words (text)")
        return connection, False
    return connection, True


def _drop_old(used: Path) -> None:
    """Remove the files that nobody has used for long."""
    with suppress(OSError):
        used.touch()
        for each in used.parent.glob("*.db"):
            if each != used and each.stat().st_mtime < time.time() - KEPT_SECONDS:
                _delete(each)
