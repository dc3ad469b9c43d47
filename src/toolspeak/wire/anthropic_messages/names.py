"""What both sides call things."""

from toolspeak.events import FinishReason

VENDOR = "anthropic"
"""Whose data an extra is, unless the endpoint goes by another name."""

IMAGES = ("image/jpeg", "image/png", "image/gif", "image/webp")
"""Images that the API takes as bytes."""

FINISHES: dict[str, FinishReason] = {
    "end_turn": "stop",
    "stop_sequence": "stop",
    "tool_use": "tool_calls",
    "max_tokens": "length",
    "model_context_window_exceeded": "length",
    # A turn with the API's own tools that must be sent back to go on: what was said is not all there is to say.
    "pause_turn": "length",
    "refusal": "refused",
}
