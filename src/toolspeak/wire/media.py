"""Converts images, sounds and documents between bytes and the forms that APIs use: base64, URLs, text."""

import base64
import binascii
from urllib.parse import unquote_to_bytes, urlsplit

from toolspeak.values.messages import Media

_IMAGE_TYPES = {
    "png": "image/png",
    "jpg": "image/jpeg",
    "jpeg": "image/jpeg",
    "gif": "image/gif",
    "webp": "image/webp",
}

_URL_SAFE = str.maketrans("-_", "+/")


def to_base64(media: Media) -> str:
    """Return the bytes of `media` in base64."""
    return base64.b64encode(media.data or b"").decode()


def to_url(media: Media) -> str:
    """Return the URL of `media`; a data URL if it is given as bytes."""
    if media.data is None and media.url is not None:
        return media.url
    return f"data:{media.mime};base64,{to_base64(media)}"


def decode_base64(text: str) -> bytes | None:
    """Return the bytes that `text` encodes, or None if it is not base64."""
    try:
        return base64.b64decode(text, validate=True)
    except (binascii.Error, ValueError):
        return None


def decode_any_base64(text: str) -> bytes | None:
    """Return the bytes that `text` encodes, in base64 of either alphabet, padded or not; None if it is not base64."""
    plain = text.translate(_URL_SAFE).rstrip("=")
    return decode_base64(plain + "=" * (-len(plain) % 4))


def is_data_url(url: str) -> bool:
    """Whether an address holds its data itself."""
    return url[:5].lower() == "data:"


def decode_data_url(url: str) -> tuple[str, bytes] | None:
    """Return the MIME type and the bytes of a data URL, or None if `url` is not a valid one."""
    head, comma, body = url.partition(",")
    if not comma or not is_data_url(head):
        return None
    mime, *options = head[5:].split(";")
    data = decode_base64(body) if "base64" in options else unquote_to_bytes(body)
    return None if data is None else (mime or "text/plain", data)


def guess_image_type(url: str, default: str) -> str:
    """Return the MIME type that the ending of an image's URL implies, or `default`."""
    ending = urlsplit(url).path.rpartition(".")[2].lower()
    return _IMAGE_TYPES.get(ending, default)


def decode_text(media: Media) -> str | None:
    """Return the text of a text file, or None if `media` is not a text file or only a URL."""
    if media.data is None or not media.mime.startswith("text/"):
        return None
    return media.data.decode("utf-8", "replace")


def show_text(media: Media) -> str | None:
    """Return the text of a text file behind its name, as models are shown it; None as for `decode_text`."""
    text = decode_text(media)
    return f"File {media.name}:\n\n{text}" if text is not None and media.name else text


def name_kind(media: Media) -> str:
    """Return the plural noun for media of this kind."""
    kinds = {"image": "images", "audio": "sounds", "video": "videos", "text": "text files"}
    return "PDF documents" if media.mime == "application/pdf" else kinds.get(media.mime.partition("/")[0], "files")


def explain_no_address(media: Media) -> str:
    """Return why a model cannot take an attachment that has only an address."""
    return f"takes no {name_kind(media)} by address; pass the file itself: {media.url}"


def explain_text_only(media: Media) -> str | None:
    """Return why a model that takes text only cannot take an attachment; None for a text file."""
    if media.data is not None and media.mime.startswith("text/"):
        return None
    return f"takes no {name_kind(media)}, only text" + (f": {media.name} cannot be sent to it" if media.name else "")


def describe_media(media: Media) -> str:
    """Return a text in place of media that an API cannot carry, so that the model knows of it."""
    return f"[{media.mime}: {media.url}]" if media.url else f"[{media.mime}, which cannot be shown here]"
