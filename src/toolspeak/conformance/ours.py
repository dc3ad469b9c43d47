"""Our reader, as the function that `toolspeak conformance` asks."""

from typing import Any

from toolspeak.definitions import read_definition
from toolspeak.dialects import read
from toolspeak.reading.content import encode_calls


def read_calls(text: str, tools: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """Return the calls in a text, as JSON data."""
    return encode_calls(read(text, [read_definition(tool) for tool in tools]))["calls"]
