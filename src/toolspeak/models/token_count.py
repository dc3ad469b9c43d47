"""Counts the tokens of a text by the tokenizer of the server, where the server has a route for that."""

import json

from toolspeak.models.endpoint import Endpoint
from toolspeak.wire.json_data import as_count, as_list, as_object

MAX_COUNTING_SECONDS = 5.0
"""How long a server may take to count."""


async def count_tokens(endpoint: Endpoint, text: str) -> int | None:
    """Return the number of tokens of a text; None if the server does not count them.

    Servers of llama.cpp have the route `/tokenize`; other servers answer that there is none.
    """
    from toolspeak.models import transport  # aiohttp is imported with the first request

    address = endpoint.root_url + "/tokenize"
    try:
        data = await transport.fetch(endpoint, address, json.dumps({"content": text}).encode(), MAX_COUNTING_SECONDS)
        answer = as_object(json.loads(data))
    except (transport.NotReached, ValueError, RecursionError):
        return None
    return len(as_list(answer.get("tokens"))) or as_count(answer.get("count")) or None
