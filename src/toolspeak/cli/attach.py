"""The attachments of `toolspeak run` and `toolspeak chat`: files, addresses and standard input."""

from collections.abc import Iterable
from pathlib import Path

from toolspeak.attachments import attach
from toolspeak.cli.prompt import PipeReader
from toolspeak.cli.safe_text import escape_line
from toolspeak.messages import Media

STANDARD_INPUT = "-"


def load_attachments(sources: Iterable[str]) -> tuple[Media, ...]:
    """Load attachments from paths and addresses, and from standard input for `-`."""
    return tuple(
        attach(PipeReader().read(), label="-a -") if each == STANDARD_INPUT else load_attachment(each, f"-a {each}")
        for each in sources
    )


def load_attachment(source: str, label: str) -> Media:
    """Load an attachment from a path, in which `~` is the home folder, or from an address.

    Args:
        source: The path or the address.
        label: How the user gave it, for errors.
    """
    return attach(str(Path(source).expanduser()) if source.startswith("~") else source, label=label)


def describe_attachment(media: Media) -> str:
    """Describe an attachment in a few words: its name, its type and its size."""
    size = "by its address" if media.data is None else _format_size(len(media.data))
    return f"{escape_line(media.name or 'standard input')} ({media.mime}, {size})"


def _format_size(size: int) -> str:
    if size < 1000:
        return f"{size} byte{'' if size == 1 else 's'}"
    return f"{size / 1e3:.0f} KB" if size < 1e6 else f"{size / 1e6:.1f} MB"
