"""A stand-in for a server of Ollama, from the documentation of its API: it loads a model with a context, and keeps it."""

import json
from collections.abc import Callable
from typing import Any

from tests.wire.ollama_server import read_messages, write_answer, write_stream
from toolspeak.values.events import Usage
from toolspeak.values.messages import Message

from .server import Connection, Post, Server, answers
from .small_context import count_tokens


class Ollama:
    """What a server of Ollama does.

    Attributes:
        posts: The bodies of the requests for answers, in order.
        loaded: The context of the model; None until it was asked.
        cuts: How many conversations it has cut without notice.
    """

    def __init__(
        self,
        reply: Callable[[list[Message]], Message],
        *,
        default: int = 4096,
        longest: int = 32768,
        parameters: str = "",
        knows_truncate: bool = True,
    ) -> None:
        self._reply, self._default, self._longest = reply, default, longest
        self._parameters, self._knows_truncate = parameters, knows_truncate
        self.posts: list[dict[str, Any]] = []
        self.loaded: int | None = None
        self.cuts = 0

    def play_on(self, server: Server) -> None:
        """Let a server be this one."""
        server.plays(self.chat)
        server.abilities |= {"/api/show": self.show, "/api/ps": self.list_loaded}

    async def chat(self, post: Post, connection: Connection) -> None:
        assert post.path == "/api/chat"
        body = post.body
        self.posts.append(body)
        self.loaded = min(body.get("options", {}).get("num_ctx", self._default), self._longest)
        tokens = count_tokens(body)
        if tokens > self.loaded:
            if self._knows_truncate and body.get("truncate") is False:
                await answers(400, {"error": "the input length exceeds the context length"})(post, connection)
                return
            self.cuts += 1
        usage = Usage(input_tokens=min(tokens, self.loaded), output_tokens=20)
        said = self._reply(read_messages(body))
        if body["stream"]:
            connection.head(kind="application/x-ndjson")
            stream = write_stream(said, "stop", usage, 7)
            for at in range(0, len(stream), 100):
                await connection.write(stream[at : at + 100])
            await connection.end()
        else:
            await answers(body=json.dumps(write_answer(said, "stop", usage)).encode())(post, connection)

    async def show(self, post: Post, connection: Connection) -> None:
        info = {"general.architecture": "qwen3", "qwen3.context_length": self._longest}
        shown = {"parameters": self._parameters, "model_info": info, "capabilities": ["completion", "tools"]}
        await answers(body=shown)(post, connection)

    async def list_loaded(self, post: Post, connection: Connection) -> None:
        model = {"name": "qwen3:latest", "model": "qwen3:latest", "context_length": self.loaded}
        await answers(body={"models": [model] if self.loaded else []})(post, connection)
