"""`ChatRequest`: one request to a model, independent of the API that carries it.

As a client, an API's package writes it into a request body (`request_body`); as a server, it reads it out of one
(`read_request`).
"""

from collections.abc import Mapping
from typing import Any, Literal

from toolspeak._frozen import frozen
from toolspeak.events import AUTO, ToolChoice
from toolspeak.messages import Message
from toolspeak.spec import Schema, ToolSpec
from toolspeak.wire.answer_format import AnswerFormat


@frozen
class ToolNamespace:
    """A group of tools in a request, where the API has groups (OpenAI's responses).

    Attributes:
        name: Its name, with which the names of its tools begin.
        description: What its tools are for.
        tools: The names of its tools, as they are in `ChatRequest.tools`.
    """

    name: str
    description: str
    tools: tuple[str, ...]


@frozen
class ChatRequest:
    """One request to a model. A setting that is None or empty is left to the server.

    Attributes:
        model: The model's name, as the server knows it.
        messages: The conversation.
        tools: The tools that the model may call. The client runs them, not the server.
        namespaces: The groups that some of the tools belong to.
        choice: Which tools may or must be called.
        parallel: Whether one answer may hold several calls.
        stream: Whether the answer is streamed while it is generated.
        stream_form: How a streamed answer is sent: as server-sent events, or as a JSON array (Gemini). Only servers set
            it.
        include_usage: Whether a streamed answer ends with its token counts.
        max_tokens: The most tokens of the answer.
        temperature: The sampling temperature; 0 gives the likeliest answer each time.
        top_p: The share of probability, from the likeliest token down, that tokens are sampled from.
        seed: The seed of the sampling, which makes an answer repeatable.
        stop: Texts that end the answer.
        json_schema: A schema that a server may hold the answer to. Only clients set it.
        grammar: A GBNF grammar that the answer must match. Only clients set it.
        answer_format: The form that the client wants the answer in; None for any text. Only servers set it. The field
            of the API that asks for it is in `extra` as well, for an endpoint that knows the field.
        extra: All other fields of the body, unchanged. `tools` in it are the vendor's own tools, which its servers run.
    """

    model: str
    messages: tuple[Message, ...]
    tools: tuple[ToolSpec, ...] = ()
    choice: ToolChoice = AUTO
    parallel: bool = True
    stream: bool = False
    stream_form: Literal["events", "array"] = "events"
    include_usage: bool = False
    max_tokens: int | None = None
    temperature: float | None = None
    top_p: float | None = None
    seed: int | None = None
    stop: tuple[str, ...] = ()
    json_schema: Schema | None = None
    grammar: str | None = None
    answer_format: AnswerFormat | None = None
    extra: Mapping[str, Any] | None = None
    namespaces: tuple[ToolNamespace, ...] = ()
