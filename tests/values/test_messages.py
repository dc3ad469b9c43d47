"""Messages and their parts: what cannot be sent is refused where it is made."""

from typing import Any

import pytest

from toolspeak.values.errors import UsageError
from toolspeak.values.messages import Media


@pytest.mark.parametrize(
    ("fields", "problem"),
    [
        ({}, "Media(mime='image/png') is empty; give bytes with data=… or an address with url=…"),
        ({"data": b""}, "Media(mime='image/png') is empty"),
        ({"url": ""}, "Media(mime='image/png') is empty"),
        ({"data": "cat.png"}, "Media(data=…) takes bytes, not str; for a file: Path(…).read_bytes()"),
    ],
)
def test_media_without_content_are_refused(fields: dict[str, Any], problem: str):
    with pytest.raises(UsageError) as caught:
        Media(mime="image/png", **fields)
    assert problem in str(caught.value)


def test_an_empty_text_file_is_a_text():
    assert Media(mime="text/plain", data=b"").data == b""
