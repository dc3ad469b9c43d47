"""What a client asks of a server of ours, whichever API it speaks."""

from collections.abc import Mapping
from typing import Any

from toolspeak._frozen import frozen
from toolspeak.events import AUTO, ToolChoice
from toolspeak.messages import Message
from toolspeak.spec import ToolSpec


@frozen
class ChatRequest:
    """A request, understood.

    Attributes:
        model: The name of the model, as the client says it.
        messages: The conversation.
        tools: The client's tools; it runs them itself.
        choice: Which of them may or must be called.
        parallel: Whether one answer may hold several calls.
        stream: Whether the answer is wanted as it is made.
        max_tokens: The most tokens of the answer.
        temperature: 0 is the likeliest answer each time.
        top_p: The share of the likeliest tokens that is drawn from.
        seed: Makes an answer repeatable.
        stop: Texts that end the answer.
        include_usage: Whether a stream is to end with its usage.
        extra: All other fields, as they came; under `tools` those that only the API's maker can run.
    """

    model: str
    messages: tuple[Message, ...]
    tools: tuple[ToolSpec, ...] = ()
    choice: ToolChoice = AUTO
    parallel: bool = True
    stream: bool = False
    max_tokens: int | None = None
    temperature: float | None = None
    top_p: float | None = None
    seed: int | None = None
    stop: tuple[str, ...] = ()
    include_usage: bool = False
    extra: Mapping[str, Any] | None = None
