"""An endpoint with a small context: it counts tokens, refuses what is too long, and answers by a rule."""

import json
import re
from collections.abc import Callable
from dataclasses import replace
from typing import Any

from toolspeak.run.compaction import INSTRUCTIONS
from toolspeak.testing import ScriptedReply
from toolspeak.values.events import Usage
from toolspeak.values.frozen import frozen
from toolspeak.values.messages import Message
from toolspeak.wire.api import WIRES

from .server import Connection, Post, answers, plays


@frozen
class Sent:
    """A request that the endpoint has accepted.

    Attributes:
        tokens: How many tokens it has.
        messages: The conversation.
        tools: The names of the tools.
        wire: What a cache of prompts compares: the tools, and each message, as they arrived.
    """

    tokens: int
    messages: tuple[Message, ...]
    tools: tuple[str, ...]
    wire: tuple[str, ...]

    @property
    def is_summary(self) -> bool:
        return self.messages[0].text.startswith(INSTRUCTIONS)

    def extends(self, before: "Sent") -> bool:
        return self.wire[: len(before.wire)] == before.wire


class SmallContext:
    """What an endpoint does that has a context of `context` tokens.

    Attributes:
        sent: The requests that it has accepted, in order.
        refused: How many requests were too long.
    """

    def __init__(self, reply: Callable[[Sent], ScriptedReply], *, context: int = 4096, dialect: str = "native") -> None:
        self._reply, self._context, self._dialect = reply, context, dialect
        self.sent: list[Sent] = []
        self.refused = 0

    async def __call__(self, post: Post, connection: Connection) -> None:
        tokens = count_tokens(post.body)
        if tokens > self._context:
            self.refused += 1
            cause = f"This model's maximum context length is {self._context} tokens; your messages have {tokens}."
            await answers(400, {"error": {"message": cause, "code": "context_length_exceeded"}})(post, connection)
            return
        asked = WIRES[post.api].read_request(post.body, post.path)
        names = tuple(spec.name for spec in asked.tools)
        tools, instructions, messages = split_body(post.body)
        parts = (tools, instructions, *messages)
        sent = Sent(tokens=tokens, messages=asked.messages, tools=names, wire=tuple(map(json.dumps, parts)))
        self.sent.append(sent)
        reply = replace(self._reply(sent), usage=Usage(input_tokens=tokens, output_tokens=20))
        script = [reply] * (len(asked.messages) + 1)  # a script goes by the messages of the model in the conversation
        await plays(script, self._dialect, chunk=None)(post, connection)

    @property
    def turns(self) -> list[Sent]:
        """The requests for turns, without those for summaries."""
        return [each for each in self.sent if not each.is_summary]

    @property
    def summaries(self) -> list[Sent]:
        return [each for each in self.sent if each.is_summary]

    @property
    def changes(self) -> list[int]:
        """The turns whose request does not begin with the request before it."""
        turns = self.turns
        return [place for place in range(1, len(turns)) if not turns[place].extends(turns[place - 1])]


def split_body(body: dict[str, Any]) -> tuple[Any, Any, list[Any]]:
    """The tools, the instructions and the conversation of a request, in the form of its API."""
    fields = {"input": "instructions", "contents": "systemInstruction", "messages": "system"}
    conversation, instructions = next((name, fields[name]) for name in fields if name in body)
    return body.get("tools"), body.get(instructions), body[conversation]


def count_tokens(body: dict[str, Any]) -> int:
    """The tokens of a request: pieces of words of up to four letters, and all other characters but blanks."""
    text = json.dumps(split_body(body), ensure_ascii=False)
    return len(re.findall(r"\w{1,4}|[^\w\s]+", text))
