"""What both sides call things."""

from toolspeak.events import FinishReason

VENDOR = "openai"
"""Whose data an extra is, unless the endpoint goes by another name."""

DONE = "[DONE]"
"""The data of the last event of a stream."""

REASONING_FIELDS = ("reasoning_content", "reasoning")
"""Where servers put reasoning, which the API itself has no field for. Only the first that is there is read."""

REASONING_DETAILS = "reasoning_details"
"""Reasoning in blocks, with signatures, which must go back as they came."""

FINISHES: dict[str, FinishReason] = {
    "stop": "stop",
    "length": "length",
    "tool_calls": "tool_calls",
    "content_filter": "refused",
    # What servers say beside the API:
    "function_call": "tool_calls",
    "tool_use": "tool_calls",
    "max_tokens": "length",
    "model_length": "length",
    "refusal": "refused",
    "safety": "refused",
    "error": "error",
    "insufficient_system_resource": "error",
    "abort": "error",
}
