"""`image` and `file`: images, documents and texts that are sent with a message of the user.

The content decides the type of an attachment, and its name only where the content does not. A text stays an attachment,
apart from the user's own words: a call that stands in it does not run by itself.
"""

import mimetypes
import os
from functools import cache
from pathlib import Path
from typing import TypeAlias, cast
from urllib.parse import unquote, urlsplit

from toolspeak.values.errors import UsageError
from toolspeak.values.messages import Media

AttachmentSource: TypeAlias = str | os.PathLike[str] | bytes
"""A path, an address that begins with `http://` or `https://`, or the content itself."""

MAX_ATTACHMENT_BYTES = 32_000_000
"""The most bytes of an attachment; hosted endpoints take no larger ones."""

UNKNOWN_TYPE = "application/octet-stream"

_SIGNATURES: tuple[tuple[int, bytes, str], ...] = (
    (0, b"\x89PNG\r\n\x1a\n", "image/png"),
    (0, b"\xff\xd8\xff", "image/jpeg"),
    (0, b"GIF87a", "image/gif"),
    (0, b"GIF89a", "image/gif"),
    (8, b"WEBP", "image/webp"),
    (8, b"WAVE", "audio/wav"),
    (0, b"II*\0", "image/tiff"),
    (0, b"MM\0*", "image/tiff"),
    (4, b"ftypheic", "image/heic"),
    (4, b"ftypavif", "image/avif"),
    (0, b"ID3", "audio/mpeg"),
    (0, b"\xff\xfb", "audio/mpeg"),
    (0, b"%PDF-", "application/pdf"),
)
"""Where the content of a type has bytes that no other type has there."""


def image(source: AttachmentSource, *, mime: str | None = None) -> Media:
    """Return an image to send with a message.

    Example: `user("What is this?", image("cat.png"))`.

    Args:
        source: The path, the address or the bytes of the image. The endpoint loads an address itself.
        mime: The type, such as `image/png`, where neither the content nor the name shows it.

    Raises:
        UsageError: The file is missing, too large or not an image.
    """
    media = attach(source, mime=mime, label=_label("image", source))
    if media.mime == UNKNOWN_TYPE and media.data is None:  # most addresses of images do not end in a type
        return Media(mime="image/*", url=media.url, name=media.name)
    if not media.mime.startswith("image/"):
        what = f"{media.name} is" if media.name else "these bytes are"
        hint = "give its type with mime=…" if media.mime == UNKNOWN_TYPE else "use file(…)"
        raise UsageError(f"{what} no image ({media.mime}); {hint}")
    return media


def file(source: AttachmentSource, *, name: str | None = None, mime: str | None = None) -> Media:
    """Return a file to send with a message.

    Example: `user("Summarise this.", file("report.pdf"))`.

    Text files are sent as text, with their name. Which other types a model takes depends on its endpoint.

    Args:
        source: The path, the address or the bytes of the file. The endpoint loads an address itself.
        name: The name that the model sees; by default that of the path or the address.
        mime: The type, where neither the content nor the name shows it.

    Raises:
        UsageError: The file is missing or too large, or a text file is not in UTF-8 or UTF-16.
    """
    return attach(source, name=name, mime=mime, label=_label("file", source))


def attach(source: object, *, label: str, name: str | None = None, mime: str | None = None) -> Media:
    """Return a file to send with a message, as `file` does.

    `label` says for errors how the user gave the source: `file('x.pdf')`, or `-a x.pdf` on the command line.
    """
    if isinstance(source, bytes):
        return _from_bytes(_check_size(source, name or "the attachment"), name, mime)
    if isinstance(source, str) and source.lower().startswith(("http://", "https://")):
        name = name or unquote(urlsplit(source).path.rpartition("/")[2]) or None
        return Media(mime=mime or _type_of_name(name), url=source, name=name)
    if not isinstance(source, str | os.PathLike):
        raise UsageError(f"{label} takes a path, an address or bytes, not {type(source).__name__}")
    path = Path(cast("str | os.PathLike[str]", source))
    return _from_bytes(_read(path, label), name or path.name, mime)


def _label(function: str, source: object) -> str:
    if not isinstance(source, str | os.PathLike):
        return f"{function}(…)"
    return f"{function}({os.fspath(cast('str | os.PathLike[str]', source))!r})"


def _read(path: Path, label: str) -> bytes:
    try:
        with path.open("rb") as opened:
            data = opened.read(MAX_ATTACHMENT_BYTES + 1)
            size = max(len(data), os.fstat(opened.fileno()).st_size)
    except (OSError, ValueError) as error:  # a path may hold a character that no path can
        reason = error.strerror or str(error) if isinstance(error, OSError) else str(error)
        raise UsageError(f"{label}: {reason[:1].lower()}{reason[1:]}") from None
    _check_size(data, path.name, size)
    return data


def _check_size(data: bytes, name: str, size: int | None = None) -> bytes:
    if len(data) > MAX_ATTACHMENT_BYTES:
        most = f"an attachment has {MAX_ATTACHMENT_BYTES / 1e6:.0f} MB at most"
        raise UsageError(f"{name} is too large, with {(size or len(data)) / 1e6:,.1f} MB: {most}")
    return data


def _from_bytes(data: bytes, name: str | None, mime: str | None) -> Media:
    by_content = (kind for place, mark, kind in _SIGNATURES if data.startswith(mark, place))
    found = mime or next(by_content, None)
    if found is not None and not found.startswith("text/"):
        return Media(mime=found, data=data, name=name)
    named = found or _type_of_name(name)
    text = _decode(data)
    if text is not None:
        if not named.startswith(("text/", "image/")):  # source code has endings of other types: `.ts` is also a video
            named = "text/plain"
        return Media(mime=named, data=text.encode(), name=name)
    if named.startswith("text/"):
        raise UsageError(f"{name or 'the attachment'} is not text in UTF-8 or UTF-16; convert it before")
    return Media(mime=named, data=data, name=name)


def _type_of_name(name: str | None) -> str:
    return (_known_types().guess_type(name)[0] if name else None) or UNKNOWN_TYPE


@cache
def _known_types() -> mimetypes.MimeTypes:
    return mimetypes.MimeTypes()  # without the lists of the system, so that all machines know the same types


def _decode(data: bytes) -> str | None:
    """Return the text that a file holds, or None if it is no text."""
    encoding = "utf-16" if data.startswith((b"\xff\xfe", b"\xfe\xff")) else "utf-8-sig"
    try:
        text = data.decode(encoding)
    except UnicodeDecodeError:
        return None
    return None if "\0" in text else text
