"""Names and values of the API that its client side and its server side share."""

from typing import Any

from toolspeak.values.events import FinishReason

BASE_PATH: str = "/v1beta"
"""The path with which the base address of requests ends."""

IS_UNDER_V1: bool = True
"""Whether requests go to a path behind the `/v1` of the base address, here `/v1beta`."""

VENDOR: str = "gemini"
"""The vendor of `extra` data, unless the endpoint has a vendor name of its own."""

ID_PREFIX: str = ""
"""The beginning of the ids of answers."""

SAMPLING_NAMES = {
    "top_k": "topK",
    "presence_penalty": "presencePenalty",
    "frequency_penalty": "frequencyPenalty",
}
"""Fields that only control sampling: the names that all other APIs have for them, and those of this API."""

SAMPLING_FIELDS: frozenset[str] = frozenset(SAMPLING_NAMES)
"""Fields beyond `ChatRequest` that only control sampling."""

GENERATION_FIELDS = frozenset(
    "candidateCount responseMimeType responseSchema responseJsonSchema responseModalities responseLogprobs logprobs "
    "speechConfig imageConfig thinkingConfig mediaResolution enableEnhancedCivicAnswers".split()
)
"""Fields of `generationConfig`, besides those for sampling. In `ChatRequest.extra` they stand by themselves."""

PART_FIELDS = frozenset("thought thoughtSignature partMetadata videoMetadata mediaResolution".split())
"""Fields of a part besides its content. They are kept as `extra`, and sent back."""

OLDER_MODELS = r"gemini-[12]\b"
"""What the names of models contain that sign no calls and take no images in results."""

SIGNING_MODELS = r"gemini-(?:[3-9]|\d\d)"
"""What the names of models contain that refuse a call without a signature."""

FINISH_REASONS: dict[str, FinishReason] = {
    "STOP": "stop",
    "MAX_TOKENS": "length",
    "SAFETY": "refused",
    "RECITATION": "refused",
    "LANGUAGE": "refused",
    "BLOCKLIST": "refused",
    "PROHIBITED_CONTENT": "refused",
    "SPII": "refused",
    "IMAGE_SAFETY": "refused",
    "IMAGE_PROHIBITED_CONTENT": "refused",
    "IMAGE_RECITATION": "refused",
    "OTHER": "error",
    "MALFORMED_FUNCTION_CALL": "error",
    "MALFORMED_RESPONSE": "error",
    "UNEXPECTED_TOOL_CALL": "error",
    "TOO_MANY_TOOL_CALLS": "error",
    "MISSING_THOUGHT_SIGNATURE": "error",
}


def part_data(part: dict[str, Any]) -> dict[str, Any]:
    """Return the fields of a part besides its content."""
    return {name: part[name] for name in part if name in PART_FIELDS and part[name] is not None}
