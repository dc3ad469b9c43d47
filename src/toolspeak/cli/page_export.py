"""`toolspeak page run.jsonl --export run.html`: writes a run as one HTML file, and serves nothing."""

import asyncio
from collections.abc import Collection
from pathlib import Path

from toolspeak.cli.files import require_folder, write_text
from toolspeak.cli.safe_text import write_output
from toolspeak.errors import UsageError
from toolspeak.page.document import RunDocument
from toolspeak.page.export import export_run
from toolspeak.page.sources.record_files import RecordFiles


def write_export(target: Path | None, file: Path, hidden: Collection[str]) -> None:
    """Write the run in a file of facts as one HTML file.

    Args:
        target: The file of facts.
        file: The HTML file.
        hidden: The names of fields of arguments and results whose values are left out.

    Raises:
        UsageError: The target is not one readable run, or the file cannot be written.
    """
    if target is None or target.is_dir():
        raise UsageError("--export writes one run; name its file: toolspeak page run.jsonl --export run.html")
    require_folder(file)
    source = RecordFiles(target)
    document = asyncio.run(_read(source))
    if document.failure:
        raise UsageError(f"{target}, {document.failure}")
    if not document.facts:
        raise UsageError(f"{target} holds no facts")
    write_text(file, export_run(document, hidden=hidden))
    write_output(f"{file}\n")


async def _read(source: RecordFiles) -> RunDocument:
    document = await source.open(source.only_id)
    await document.wait_until_read()
    return document
