"""Names and values of the API that its client side and its server side share."""

from toolspeak.values.events import FinishReason

BASE_PATH: str = "/v1"
"""The path with which the base address of requests ends."""

IS_UNDER_V1: bool = True
"""Whether requests go to a path behind the `/v1` of the base address."""

VENDOR: str = "openai"
"""The vendor of `extra` data, unless the endpoint has a vendor name of its own."""

ID_PREFIX: str = "chatcmpl-"
"""The beginning of the ids of answers."""

SAMPLING_FIELDS: frozenset[str] = frozenset(
    "top_k min_p presence_penalty frequency_penalty repeat_penalty repetition_penalty logit_bias "
    "chat_template_kwargs".split()
)
"""Fields beyond `ChatRequest` that only control sampling, as OpenAI or compatible servers know them."""

DONE = "[DONE]"
"""The data of the last event of a stream."""

REASONING_FIELDS = ("reasoning_content", "reasoning")
"""Fields in which servers put reasoning: the API itself has none. Only the first field that is present is read."""

REASONING_DETAILS = "reasoning_details"
"""The field for reasoning in blocks, some of them signed, which must be sent back unchanged."""

FINISH_REASONS: dict[str, FinishReason] = {
    "stop": "stop",
    "length": "length",
    "tool_calls": "tool_calls",
    "content_filter": "refused",
    # Values of servers, which are not in the API:
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
