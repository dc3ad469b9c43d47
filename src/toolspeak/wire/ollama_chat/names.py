"""Names and values of the API that requests and answers share."""

from toolspeak.events import FinishReason

IS_UNDER_V1: bool = False
"""Whether requests go to a path behind the `/v1` of the base address."""

VENDOR: str = "ollama"
"""The vendor of `extra` data, unless the endpoint has a vendor name of its own."""

OPTIONS: frozenset[str] = frozenset(
    "num_ctx num_keep num_batch num_gpu main_gpu num_thread use_mmap top_k min_p typical_p repeat_last_n "
    "repeat_penalty presence_penalty frequency_penalty".split()
)
"""Fields that belong into `options`. They may be given as fields of the body, as the other APIs have some of them."""

SAMPLING_FIELDS: frozenset[str] = frozenset(
    "top_k min_p typical_p repeat_penalty presence_penalty frequency_penalty".split()
)
"""Fields beyond `ChatRequest` that only control sampling."""

FINISH_REASONS: dict[str, FinishReason] = {"stop": "stop", "length": "length"}
