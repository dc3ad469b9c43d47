"""Names and values of the API that its client side and its server side share."""

from toolspeak.values.events import FinishReason

BASE_PATH: str = "/v1"
"""The path with which the base address of requests ends."""

IS_UNDER_V1: bool = True
"""Whether requests go to a path behind the `/v1` of the base address."""

VENDOR: str = "anthropic"
"""The vendor of `extra` data, unless the endpoint has a vendor name of its own."""

ID_PREFIX: str = "msg_"
"""The beginning of the ids of answers."""

SAMPLING_FIELDS: frozenset[str] = frozenset({"top_k"})
"""Fields beyond `ChatRequest` that only control sampling."""

IMAGE_TYPES = ("image/jpeg", "image/png", "image/gif", "image/webp")
"""The types of images that the API accepts as bytes."""

FINISH_REASONS: dict[str, FinishReason] = {
    "end_turn": "stop",
    "stop_sequence": "stop",
    "tool_use": "tool_calls",
    "max_tokens": "length",
    "model_context_window_exceeded": "length",
    # A turn with the API's own tools that is paused: the client must send it back for the rest, so it is cut short.
    "pause_turn": "length",
    "refusal": "refused",
}
