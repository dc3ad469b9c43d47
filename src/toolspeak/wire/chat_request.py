"""`ChatRequest`: one request to a model, independent of the API that carries it.

As a client, an API's package writes it into a request body (`request_body`); as a server, it reads it out of one
(`read_request`).
"""

from collections.abc import Mapping
from typing import Any, Literal

from toolspeak.values.events import AUTO, ToolChoice
from toolspeak.values.frozen import frozen
from toolspeak.values.messages import Message
from toolspeak.values.spec import Schema, ToolSpec
from toolspeak.wire.fields import Fields


@frozen
class Quirks:
    """What an endpoint supports of its API. A feature that is False is left out of requests or replaced.

    The defaults describe the servers of the API's own vendor.

    Attributes:
        tools: The `tools` field. Without it no tools are sent at all.
        tool_choice: The `tool_choice` field. Without it, the choice `none` is made by sending no tools.
        named_choice: A choice that names one tool; otherwise a call of any tool is required.
        allowed_tools: A choice among several named tools (OpenAI); otherwise a call of any tool is required.
        parallel_tool_calls: A request for at most one call in an answer.
        parallel_always_sent: Parallel calls are off unless a request turns them on, so that it always says (OpenAI).
        custom_tools: Tools that take one raw text; otherwise they are sent as functions (OpenAI's responses).
        response_format: An answer constrained by a JSON schema.
        grammar: An answer constrained by a GBNF grammar, as in llama.cpp (OpenAI).
        stream_options: Token counts at the end of a stream, on request (OpenAI).
        developer_role: System messages have the role `developer` (OpenAI).
        max_completion_tokens: The limit of an answer has this newer name (OpenAI).
        seed: A seed, where the API has one (OpenAI).
        echo_reasoning: Reasoning is sent back with the message that it belongs to.
    """

    tools: bool = True
    tool_choice: bool = True
    named_choice: bool = True
    allowed_tools: bool = True
    parallel_tool_calls: bool = True
    parallel_always_sent: bool = False
    custom_tools: bool = True
    response_format: bool = True
    grammar: bool = False
    stream_options: bool = True
    developer_role: bool = False
    max_completion_tokens: bool = False
    seed: bool = True
    echo_reasoning: bool = True


NO_QUIRKS = Quirks()
"""An endpoint that supports what its API specifies."""


@frozen
class AnswerFormat:
    """The form that a client asks of an answer: JSON, by itself and without other words.

    Attributes:
        schema: The schema of the answer. None stands for any JSON object.
        is_strict: Whether the answer must match the schema. Otherwise it should, and any JSON object is accepted.
        path: The field of the request with the schema, for errors.
        is_wrapped: Whether the client gets only the one value that the schema's object holds (Gemini's `text/x.enum`).
            The API of that vendor gives it without the object.
    """

    schema: Schema | None = None
    is_strict: bool = True
    path: str = ""
    is_wrapped: bool = False


def read_answer_format(given: Fields | None, *, nested: str = "") -> AnswerFormat | None:
    """Read the object that describes the form of an answer; None if any text will do.

    `nested` is the field of the object that holds schema and strictness; empty if the object itself holds them.
    """
    if given is None:
        return None
    match given.text("type"):
        case "text":
            return None
        case "json_object":
            return AnswerFormat()
        case "json_schema":
            holder = given.object(nested) if nested else given
            schema = holder.optional_object("schema")
            if schema is None:
                return AnswerFormat()
            return AnswerFormat(schema=schema.data, is_strict=holder.flag("strict", True), path=schema.path)
        case other:
            raise given.error("type", f"{other!r} is none of text, json_object, json_schema")


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
        forbidden_tools: The tools that the client offers and does not allow in this answer. Only servers set it.
        strict_tools: The names of the tools whose calls must fit their schemas (`strict: true`). Only servers set it.
        namespaces: The groups that some of the tools belong to.
        choice: Which tools may or must be called.
        count: How many answers the client wants. Only servers set it.
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
        store: Whether the server keeps the answer, so that later requests can refer to it (OpenAI's responses). Only
            servers set it.
        previous_id: The id of the stored answer that the request goes on from; empty if there is none. Only servers set
            it.
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
    store: bool = False
    previous_id: str = ""
    extra: Mapping[str, Any] | None = None
    namespaces: tuple[ToolNamespace, ...] = ()
    strict_tools: frozenset[str] = frozenset()
    forbidden_tools: tuple[ToolSpec, ...] = ()
    count: int = 1
