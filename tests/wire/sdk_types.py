"""The request types of the official SDKs, checked to the last field."""

from collections.abc import Iterator, Mapping
from typing import Any

from anthropic.types import message_create_params
from openai.types.chat import completion_create_params
from openai.types.responses import response_create_params
from pydantic import BaseModel, TypeAdapter

ADAPTERS = {
    ("openai", False): TypeAdapter(completion_create_params.CompletionCreateParamsNonStreaming),
    ("openai", True): TypeAdapter(completion_create_params.CompletionCreateParamsStreaming),
    ("openai-responses", False): TypeAdapter(response_create_params.ResponseCreateParamsNonStreaming),
    ("openai-responses", True): TypeAdapter(response_create_params.ResponseCreateParamsStreaming),
    ("anthropic", False): TypeAdapter(message_create_params.MessageCreateParamsNonStreaming),
    ("anthropic", True): TypeAdapter(message_create_params.MessageCreateParamsStreaming),
}


def validate(name: str, body: dict[str, Any]) -> None:
    """Check a request body; a field that the types do not know is an error too."""
    read = ADAPTERS[name, body.get("stream", False)].validate_python(body)
    assert settled(read) == body


def settled(value: Any) -> Any:
    """What was read, with all that is checked only when it is looked at."""
    if isinstance(value, BaseModel):  # the types take what the SDK itself has read
        return settled(value.model_dump(exclude_unset=True))
    if isinstance(value, Mapping):
        return {key: settled(each) for key, each in value.items()}
    if isinstance(value, list | tuple | Iterator) or type(value).__name__ == "ValidatorIterator":
        return [settled(each) for each in value]
    return value
