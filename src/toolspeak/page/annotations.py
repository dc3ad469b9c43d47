"""What people say of a run: a score, a note and tags. They stand beside its facts, which never change.

- Of a run in a file, in a small file beside it: `run.jsonl` has `run.notes.json`.
- Of a logged or a durable run, in a table of the log or the store (`ts_annotations`); it goes when the run goes.
- The exchanges of a gateway have none: the gateway forgets them.

A stored annotation is JSON. A field that is missing or of another form counts as empty, so that an older file loads.
"""

import json
from collections.abc import Iterable
from contextlib import suppress
from pathlib import Path
from typing import Any, cast

from toolspeak.settings.files import open_regular_file, write_atomically
from toolspeak.values.errors import UsageError
from toolspeak.values.frozen import frozen

SCORES = range(1, 6)
"""From 1, bad, to 5, good."""

LOW_SCORE = 2
"""Runs with this score or a lower one are examples of what must not happen."""

MAX_NOTE_CHARS = 10_000
MAX_TAGS = 20
MAX_TAG_CHARS = 60

NOTES_ENDING = ".notes.json"
MAX_NOTES_BYTES = 200_000


@frozen
class Annotation:
    """What people have said of a run."""

    score: int | None = None
    note: str = ""
    tags: tuple[str, ...] = ()

    @property
    def is_empty(self) -> bool:
        """Whether nothing was said."""
        return self == NOTHING_SAID


NOTHING_SAID = Annotation()


def parse_annotation(data: dict[str, Any]) -> Annotation:
    """Return an annotation that somebody has written; raise `UsageError` if it is none."""
    score, note, tags = data.get("score"), data.get("note", ""), data.get("tags", [])
    if score is not None and (type(score) is not int or score not in SCORES):
        raise UsageError(f"a score is a number from {SCORES[0]} to {SCORES[-1]}, or none")
    if not isinstance(note, str) or len(note) > MAX_NOTE_CHARS:
        raise UsageError(f"a note is a text of at most {MAX_NOTE_CHARS:,} characters")
    if not isinstance(tags, list) or not all(isinstance(tag, str) for tag in cast("list[Any]", tags)):
        raise UsageError("tags are a list of words")
    cleaned = _clean_tags(cast("list[str]", tags))
    if len(cleaned) > MAX_TAGS or any(len(tag) > MAX_TAG_CHARS for tag in cleaned):
        raise UsageError(f"a run has at most {MAX_TAGS} tags, of at most {MAX_TAG_CHARS} characters")
    return Annotation(score=score, note=note.strip(), tags=cleaned)


def _clean_tags(tags: Iterable[str]) -> tuple[str, ...]:
    return tuple(dict.fromkeys(cleaned for tag in tags if (cleaned := " ".join(tag.split()))))


def load_annotation(text: str) -> Annotation:
    """Return an annotation as it was stored. What cannot be read counts as empty."""
    if not text:
        return NOTHING_SAID
    try:
        data: Any = json.loads(text)
    except (ValueError, RecursionError):
        data = {}
    if not isinstance(data, dict):
        return NOTHING_SAID
    fields = cast("dict[str, Any]", data)
    score, note, tags = fields.get("score"), fields.get("note"), fields.get("tags")
    texts = [tag for tag in cast("list[Any]", tags) if isinstance(tag, str)] if isinstance(tags, list) else []
    return Annotation(
        score=score if type(score) is int and score in SCORES else None,
        note=note[:MAX_NOTE_CHARS] if isinstance(note, str) else "",
        tags=tuple(tag[:MAX_TAG_CHARS] for tag in _clean_tags(texts)[:MAX_TAGS]),
    )


def dump_annotation(annotation: Annotation) -> str:
    """Return an annotation as JSON, in ASCII."""
    return json.dumps({"score": annotation.score, "note": annotation.note, "tags": list(annotation.tags)})


def name_notes_file(record: Path) -> Path:
    """Return the file beside a record that holds what people say of its run."""
    return record.with_name(f"{record.name.removesuffix('.jsonl')}{NOTES_ENDING}")


def read_notes(record: Path) -> Annotation:
    """Return what people have said of the run in a record."""
    try:
        with open_regular_file(name_notes_file(record)) as file:
            return load_annotation(file.read(MAX_NOTES_BYTES).decode("utf-8", "replace"))
    except OSError:
        return NOTHING_SAID


def write_notes(record: Path, annotation: Annotation) -> None:
    """Write what people say of the run in a record; raise `UsageError` if the file cannot be written."""
    path = name_notes_file(record)
    if not annotation.is_empty:
        write_atomically(path, dump_annotation(annotation) + "\n")
        return
    try:
        with suppress(FileNotFoundError):
            path.unlink()
    except OSError as error:
        raise UsageError(f"cannot remove {path}: {error.strerror}") from None
