"""A folder of recordings: one file for each day, all of which are replayed together."""

import threading
from pathlib import Path

from toolspeak.errors import UsageError
from toolspeak.models.cassettes.exchange import Exchange, RecordedModel, TapeEntry
from toolspeak.models.cassettes.tape import TapeWriter, load_tape

SUFFIX = ".jsonl"


class FolderWriter:
    """Appends entries to the file of their day. Each file can be replayed without the others."""

    def __init__(self, folder: Path) -> None:
        """Prepare the writer. The folder is made if it is missing."""
        try:
            folder.mkdir(parents=True, exist_ok=True)
        except OSError as error:
            raise UsageError(f"{folder} cannot be recorded in: {error.strerror or error}") from None
        self._folder = folder
        self._models: list[RecordedModel] = []
        self._day = ""
        self._writer: TapeWriter | None = None
        self._lock = threading.Lock()

    def add_model(self, model: RecordedModel) -> None:
        """Add what is known of a model. It is written with the next exchange."""
        with self._lock:
            if model not in self._models:
                self._models.append(model)

    def add_exchange(self, exchange: Exchange) -> None:
        """Add an exchange that has ended."""
        with self._lock:
            day = exchange.at.date().isoformat()
            if self._writer is None or day > self._day:
                self._writer, self._day = TapeWriter(self._folder / f"{day}{SUFFIX}", appends=True), day
            for model in self._models:
                self._writer.add_model(model)
            self._writer.add_exchange(exchange)


def load_folder(folder: Path) -> list[TapeEntry]:
    """Read all recordings of a folder.

    Raises:
        UsageError: There is no such folder, it has no recording, or one of them cannot be read.
    """
    files = sorted(folder.glob(f"*{SUFFIX}"))
    if not files:
        problem = f"has no recording (no file *{SUFFIX})" if folder.is_dir() else "is no folder"
        raise UsageError(f"{folder} {problem}; record one: toolspeak serve --record {folder}")
    return [entry for file in files for entry in load_tape(file)]
