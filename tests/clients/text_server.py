"""A server of a model that knows no tools: it takes messages of text by the chat API, and answers by a script.

A request with tools or a response format is refused, as by servers that have neither. Which line of the script is next
depends on the conversation alone: on how many answers are in it.
"""

import json
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from itertools import islice
from typing import Any, TypeAlias

from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import JSONResponse, Response, StreamingResponse
from starlette.routing import Route

from tests.gateway.hosting import gateway, host_app
from toolspeak.dialects import DIALECTS
from toolspeak.gateway import ServedModel
from toolspeak.models import Endpoint, HttpModel

Line: TypeAlias = str | Callable[[str], str]
"""What the model writes, or a function that writes it from all that the model was shown."""

CHUNK_CHARS = 7
OTHER_TEXT = "A title"
USAGE = {"prompt_tokens": 10, "completion_tokens": 5, "total_tokens": 15}


class TextServer:
    """A script, and what the model was shown.

    Attributes:
        shown: The text of each request that the script answered.
    """

    def __init__(self, script: Sequence[Line], *, tool: str = "", cuts: int = 0) -> None:
        """Prepare the server.

        Args:
            script: The lines, one for each turn.
            tool: The name of a tool. A request that does not show it (the title of a conversation, for one) is no part
                of the conversation, and gets a short text.
            cuts: How many streams of the conversation end in the middle of their texts, as if the server had died.
        """
        self._script = script
        self._tool = tool
        self._cuts_left = cuts
        self.shown: list[str] = []

    def app(self) -> Starlette:
        return Starlette(routes=[Route("/v1/chat/completions", self._answer, methods=["POST"])])

    def _write(self, messages: list[dict[str, Any]]) -> str:
        shown = "\n".join(message["content"] for message in messages)
        if self._tool not in shown:
            return OTHER_TEXT
        self.shown.append(shown)
        line = self._script[sum(message["role"] == "assistant" for message in messages)]
        return line if isinstance(line, str) else line(shown)

    async def _answer(self, request: Request) -> Response:
        body = await request.json()
        unknown = body.keys() & {"tools", "functions", "tool_choice", "response_format"}
        if unknown:
            return JSONResponse({"error": {"message": f"this server knows no {sorted(unknown)}"}}, 400)
        text = self._write(body["messages"])
        if body.get("stream"):
            stream = _stream(text)
            if self._cuts_left and text != OTHER_TEXT:
                self._cuts_left -= 1
                stream = islice(stream, len(text) // CHUNK_CHARS // 2)
            return StreamingResponse(stream, media_type="text/event-stream")
        choice = {"index": 0, "message": {"role": "assistant", "content": text}, "finish_reason": "stop"}
        return JSONResponse({"object": "chat.completion", "choices": [choice], "usage": USAGE})


def _stream(text: str) -> Iterator[str]:
    chunks = [text[place : place + CHUNK_CHARS] for place in range(0, len(text), CHUNK_CHARS)]
    choices = [{"index": 0, "delta": {"content": chunk}, "finish_reason": None} for chunk in chunks]
    for choice in (*choices, {"index": 0, "delta": {}, "finish_reason": "stop"}):
        yield f"data: {json.dumps({'object': 'chat.completion.chunk', 'choices': [choice]})}\n\n"
    yield f"data: {json.dumps({'object': 'chat.completion.chunk', 'choices': [], 'usage': USAGE})}\n\n"
    yield "data: [DONE]\n\n"


@contextmanager
def serve(server: TextServer, dialect: str) -> Iterator[str]:
    """Serve the model through a gateway that asks it in this dialect; the address of the gateway."""
    with host_app(server.app()) as upstream:
        model = HttpModel(Endpoint(name="text", base_url=f"{upstream}/v1"), "text")
        with gateway(ServedModel(name="small", model=model, dialect=DIALECTS[dialect])) as url:
            yield url


def write_call(dialect: str, name: str, **arguments: Any) -> str:
    """Write a call as a line of code in one of the two languages."""
    if dialect == "python":
        return f"{name}({', '.join(f'{key}={value!r}' for key, value in arguments.items())})"
    return f"{name}({{{', '.join(f'{key}: {json.dumps(value)}' for key, value in arguments.items())}}})"


def write_calls(dialect: str, *lines: str, text: str = "") -> str:
    """Write a message with calls."""
    code = "\n".join(lines)
    return f"{text}\n\n```{dialect}\n{code}\n```".lstrip()
