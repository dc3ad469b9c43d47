"""Writes one message of a conversation as JSON text.

Nearly all messages of a run are calls, results of text, and texts of the user. They are written as JSON text directly,
which takes a third of the time. `write_message` writes all others, and would write these the same.
"""

import json
from collections.abc import Sequence
from json.encoder import encode_basestring_ascii

from toolspeak.messages import Call, Message, Part, Result, Text, ToolCall
from toolspeak.wire.json_data import encode_arguments
from toolspeak.wire.openai_chat.client_request import write_message
from toolspeak.wire.quirks import Quirks


def encode_message(message: Message, quirks: Quirks, vendor: str) -> str:
    """Return the JSON of the messages of the API that a message becomes, with commas between them.

    Args:
        message: The message.
        quirks: What the endpoint supports of the API.
        vendor: The vendor of the endpoint. `extra` data of other vendors is not sent.
    """
    text: str | None = None
    match message.role:
        case "assistant":
            text = _encode_answer(message.parts)
        case "tool":
            text = _encode_results(message.parts)
        case "user":
            text = _encode_input(message.parts)
        case "system":
            pass
    return json.dumps(write_message(message, quirks, vendor))[1:-1] if text is None else text


def _encode_answer(parts: Sequence[Part]) -> str | None:
    """Return the JSON of an answer of calls, which may also have text; None if it has anything else."""
    texts: list[str] = []
    calls: list[str] = []
    for part in parts:
        if isinstance(part, Call) and part.extra is None:
            calls.append(_encode_call(part.call))
        elif isinstance(part, Text) and part.extra is None:
            texts.append(part.text)
        else:
            return None
    if not calls:
        return None
    content = _quote("".join(texts)) if texts else "null"
    return f'{{"role": "assistant", "content": {content}, "tool_calls": [{", ".join(calls)}]}}'


def _encode_call(call: ToolCall) -> str:
    function = f'{{"name": {_quote(call.name)}, "arguments": {_quote(encode_arguments(call.arguments))}}}'
    return f'{{"id": {_quote(call.id)}, "type": "function", "function": {function}}}'


def _encode_input(parts: Sequence[Part]) -> str | None:
    """Return the JSON of a user message of one text; None if it has anything else."""
    if len(parts) == 1 and isinstance(parts[0], Text):
        return f'{{"role": "user", "content": {_quote(parts[0].text)}}}'
    return None


def _encode_results(parts: Sequence[Part]) -> str | None:
    """Return the JSON of results of text; None if there is anything else."""
    results: list[str] = []
    for part in parts:
        if not isinstance(part, Result):
            return None
        texts: list[str] = []
        for each in part.content:
            if not isinstance(each, Text):
                return None
            texts.append(each.text)
        content = _quote("\n".join(texts))
        results.append(f'{{"role": "tool", "tool_call_id": {_quote(part.call_id)}, "content": {content}}}')
    return ", ".join(results)


_quote = encode_basestring_ascii
