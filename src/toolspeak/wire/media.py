"""Bytes of images, sounds and documents, as APIs write them."""

import base64
import binascii
from urllib.parse import unquote_to_bytes, urlsplit

from toolspeak.messages import Media

_IMAGES = {
    "png": "image/png",
    "jpg": "image/jpeg",
    "jpeg": "image/jpeg",
    "gif": "image/gif",
    "webp": "image/webp",
}


def base64_of(media: Media) -> str:
    """The bytes in base64."""
    return base64.b64encode(media.data or b"").decode()


def url_of(media: Media) -> str:
    """Its address; bytes become an address that holds them."""
    if media.data is None and media.url is not None:
        return media.url
    return f"data:{media.mime};base64,{base64_of(media)}"


def bytes_from_base64(text: str) -> bytes | None:
    """The bytes that `text` holds, or None if it is not base64."""
    try:
        return base64.b64decode(text, validate=True)
    except (binascii.Error, ValueError):
        return None


def from_data_url(url: str) -> tuple[str, bytes] | None:
    """The type and the bytes that an address holds, or None if it holds none."""
    head, comma, body = url.partition(",")
    if not comma or not head.startswith("data:"):
        return None
    mime, *options = head.removeprefix("data:").split(";")
    data = bytes_from_base64(body) if "base64" in options else unquote_to_bytes(body)
    return None if data is None else (mime or "text/plain", data)


def mime_of(url: str, otherwise: str) -> str:
    """The type of an image that an address names, as far as the address tells."""
    ending = urlsplit(url).path.rpartition(".")[2].lower()
    return _IMAGES.get(ending, otherwise)


def text_of(media: Media) -> str | None:
    """The text of a text file, or None if it is something else."""
    if media.data is None or not media.mime.startswith("text/"):
        return None
    return media.data.decode("utf-8", "replace")


def mentioned(media: Media) -> str:
    """Words for media that an API cannot hold, so that the model knows there was something."""
    return f"[{media.mime}: {media.url}]" if media.url else f"[{media.mime}, which cannot be shown here]"
