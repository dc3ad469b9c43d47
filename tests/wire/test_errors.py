"""Errors: what a refusal says, in one line."""

import json
from typing import Any

import pytest

from tests.wire.reading import WIRES, read_stream
from toolspeak.values.errors import ContextExceeded, EndpointDown, ModelError, ProviderError, RateLimited
from toolspeak.wire import anthropic_messages, gemini_content, openai_chat
from toolspeak.wire.errors import (
    FAILURES,
    MAX_CAUSE_CHARS,
    ErrorReport,
    FailureName,
    build_error,
    is_context_overflow,
    read_error_body,
    read_retry_delay,
)


@pytest.mark.parametrize(
    ("status", "body", "said"),
    [
        (401, {"error": {"message": "Wrong key.", "type": "invalid_request_error", "code": "invalid_api_key"}}, "Wrong key. (invalid_request_error)"),
        (529, {"type": "error", "error": {"type": "overloaded_error", "message": "Overloaded"}}, "Overloaded (overloaded_error)"),
        (404, {"error": "model 'x' not found"}, "model 'x' not found"),
        (400, {"object": "error", "message": "too long", "type": "BadRequestError", "code": 400}, "too long (BadRequestError)"),
        (404, {"detail": "Not Found"}, "Not Found"),
        (422, {"detail": [{"loc": ["body", "messages", 0], "msg": "Field required", "type": "missing"}]}, "body.messages.0: Field required (missing)"),
        (502, {"error": {"message": "Provider returned error", "code": 502, "metadata": {"raw": "busy"}}}, "Provider returned error busy"),
        (500, {"error": {"message": "two\n  lines\t"}}, "two lines"),
        (500, {"errors": [{"message": "a"}, {"message": "b"}]}, "a; b"),
        (500, {"error": {"error": {"message": "deep"}}}, "deep"),
        (500, {}, "Internal Server Error"),
        (529, "", "Overloaded"),
        (599, "", "no cause was given"),
        (503, "<html><head><title>x</title></head><body><h1>503</h1>\n<p>Busy</p></body></html>", "503 Busy"),
        (500, "plain text", "plain text"),
        (500, "[" * 100_000, "[" * (MAX_CAUSE_CHARS - 1) + "…"),
        (500, "x" * 9999, "x" * (MAX_CAUSE_CHARS - 1) + "…"),
        (500, [1, None], "Internal Server Error"),
    ],
)  # fmt: skip
def test_the_cause(status: int, body: Any, said: str):
    assert read_error_body(status, body if isinstance(body, str) else json.dumps(body)) == said


@pytest.mark.parametrize("wire", WIRES.values(), ids=WIRES)
@pytest.mark.parametrize("failure", FAILURES)
def test_what_our_server_says_our_client_reads(wire: Any, failure: FailureName):
    report = ErrorReport(failure=failure, message="It broke.")
    body = wire.error_body(report)
    kind = body["error"].get("type") or body["error"]["status"]
    words = body["error"]["message"]
    assert words.endswith("It broke.")
    assert read_error_body(report.form.status, json.dumps(body)) == f"{words} ({kind})"
    writer = wire.Encoder("m", id="x", created=0)
    with pytest.raises(ModelError, match=f"It broke. .{kind}.$"):
        read_stream(wire, [writer.start(), writer.error(report)])


GOOGLE_STATUSES = {
    400: "INVALID_ARGUMENT",
    401: "UNAUTHENTICATED",
    402: "FAILED_PRECONDITION",
    403: "PERMISSION_DENIED",
    404: "NOT_FOUND",
    405: "UNIMPLEMENTED",
    408: "DEADLINE_EXCEEDED",
    409: "ABORTED",
    413: "INVALID_ARGUMENT",
    422: "FAILED_PRECONDITION",
    429: "RESOURCE_EXHAUSTED",
    500: "INTERNAL",
    502: "UNAVAILABLE",
    503: "UNAVAILABLE",
    504: "DEADLINE_EXCEEDED",
    529: "UNAVAILABLE",
}
"""Google's name for a status, in every row."""

# Every row, in the form of each API: status, OpenAI's type and code, Anthropic's type, the code of a Responses stream
ROWS: dict[FailureName, tuple[int, str, str, str, str]] = {
    "bad_request": (400, "invalid_request_error", "invalid_value", "invalid_request_error", "invalid_prompt"),
    "thread_unsupported": (400, "invalid_request_error", "unsupported_parameter", "invalid_request_error", "invalid_prompt"),
    "key_wrong": (401, "authentication_error", "invalid_api_key", "authentication_error", "invalid_prompt"),
    "access_refused": (403, "permission_error", "access_refused", "permission_error", "invalid_prompt"),
    "route_unknown": (404, "not_found_error", "unknown_url", "not_found_error", "invalid_prompt"),
    "model_unknown": (404, "not_found_error", "model_not_found", "not_found_error", "invalid_prompt"),
    "run_unknown": (404, "not_found_error", "run_not_found", "not_found_error", "invalid_prompt"),
    "run_refused": (409, "invalid_request_error", "run_refused", "invalid_request_error", "invalid_prompt"),
    "method_wrong": (405, "invalid_request_error", "method_not_allowed", "invalid_request_error", "invalid_prompt"),
    "body_slow": (408, "invalid_request_error", "request_timeout", "invalid_request_error", "invalid_prompt"),
    "body_too_large": (413, "invalid_request_error", "request_too_large", "request_too_large", "invalid_prompt"),
    "context_exceeded": (400, "invalid_request_error", "context_length_exceeded", "invalid_request_error", "context_length_exceeded"),
    "call_not_repaired": (422, "invalid_request_error", "tool_use_failed", "invalid_request_error", "invalid_prompt"),
    "answer_not_repaired": (422, "invalid_request_error", "json_validate_failed", "invalid_request_error", "invalid_prompt"),
    "upstream_refused": (400, "invalid_request_error", "upstream_refused", "invalid_request_error", "invalid_prompt"),
    "upstream_key_refused": (401, "authentication_error", "invalid_api_key", "authentication_error", "invalid_prompt"),
    "upstream_unpaid": (402, "insufficient_quota", "insufficient_quota", "billing_error", "insufficient_quota"),
    "upstream_forbidden": (403, "permission_error", "upstream_forbidden", "permission_error", "invalid_prompt"),
    "upstream_model_unknown": (404, "not_found_error", "model_not_found", "not_found_error", "invalid_prompt"),
    "upstream_too_large": (413, "invalid_request_error", "request_too_large", "request_too_large", "invalid_prompt"),
    "upstream_busy": (429, "rate_limit_error", "rate_limit_exceeded", "rate_limit_error", "rate_limit_exceeded"),
    "upstream_overloaded": (529, "server_error", "server_is_overloaded", "overloaded_error", "server_error"),
    "upstream_failed": (502, "server_error", "upstream_error", "api_error", "server_error"),
    "upstream_unreachable": (502, "server_error", "upstream_unreachable", "api_error", "server_error"),
    "upstream_timeout": (504, "server_error", "upstream_timeout", "timeout_error", "server_error"),
    "upstream_interrupted": (502, "server_error", "upstream_interrupted", "api_error", "server_error"),
    "store_unavailable": (503, "server_error", "store_unavailable", "api_error", "server_error"),
    "gateway_failed": (500, "server_error", "internal_error", "api_error", "server_error"),
}  # fmt: skip


@pytest.mark.parametrize("failure", FAILURES)
def test_each_failure_in_each_form(failure: FailureName):
    status, openai_type, code, anthropic_type, responses_code = ROWS[failure]
    report = ErrorReport(failure=failure, message="It broke.", param="messages[0]")
    assert (report.form.status, report.form.responses_code) == (status, responses_code)
    form = {"message": "It broke.", "type": openai_type, "param": "messages[0]", "code": code}
    assert openai_chat.error_body(report) == {"error": form}
    error = anthropic_messages.error_body(report)["error"]
    assert error["type"] == anthropic_type
    details = {"error_code": "thread_unsupported_request"} if failure == "thread_unsupported" else None
    assert error.get("details") == details
    google = gemini_content.error_body(report)["error"]
    assert (google["code"], google["message"], google["status"]) == (status, "It broke.", GOOGLE_STATUSES[status])
    assert [detail.get("reason") for detail in google["details"]] == [code.upper(), None]
    assert google["details"][1]["fieldViolations"] == [{"field": "messages[0]", "description": "It broke."}]


def test_the_time_to_wait_is_told_in_googles_form_and_read_from_it():
    report = ErrorReport(failure="upstream_busy", message="Busy.", retry_after=2.5)
    assert read_retry_delay(json.dumps(gemini_content.error_body(report))) == 2.5
    for other in ("", "[]", "{}", '{"error":{"details":[7,{"retryDelay":5},{"retryDelay":"soon"}]}}', "[" * 100_000):
        assert read_retry_delay(other) is None


def test_an_exact_code_counts_more_than_that_of_the_row():
    report = ErrorReport(failure="bad_request", message="x: is missing", code="missing_required_parameter")
    assert report.openai_error()["code"] == "missing_required_parameter"


def test_clients_of_anthropic_know_a_long_conversation_by_its_words():
    report = ErrorReport(failure="context_exceeded", message="there answered 400")
    assert report.anthropic_error()["message"] == "prompt is too long: there answered 400"


OVERFLOWS = {
    "llama.cpp": "request (5021 tokens) exceeds the available context size (4096 tokens), try increasing it",
    "llama.cpp before": "the request exceeds the available context size. try increasing the context size",
    "vLLM": "This model's maximum context length is 4096 tokens. However, you requested 5021 tokens in the messages.",
    "vLLM of late": "You passed 5021 input tokens. However, the model's context length is only 4096 tokens.",
    "vLLM decoder": "The decoder prompt (length 5021) is longer than the maximum model length of 4096.",
    "SGLang": "The input (5021 tokens) is longer than the model's context length (4096 tokens).",
    "Ollama": "prompt too long; exceeded max context length by 925 tokens",
    "Ollama's other": "the input length exceeds the context length",
    "OpenAI": "Your input exceeds the context window of this model. Please adjust your input and try again.",
    "OpenAI's limit": "Input tokens exceed the configured limit of 272000 tokens.",
    "Anthropic": "prompt is too long: 210021 tokens > 200000 maximum",
    "Anthropic's sum": "input length and `max_tokens` exceed context limit: 190021 + 20000 > 200000",
    "LM Studio": "The number of tokens to keep from the initial prompt is greater than the context length.",
    "LM Studio loaded": "the model is loaded with context length of only 4096 tokens, which is not enough",
    "Gemini": "The input token count (1200021) exceeds the maximum number of tokens allowed (1048576).",
    "Mistral": "Prompt contains 40021 tokens, too large for model with 32768 maximum context length",
    "Bedrock": "Input is too long for requested model.",
    "TGI": "Input validation error: `inputs` must have less than 1024 tokens. Given: 5021",
    "xAI": "This model's maximum prompt length is 131072 but the request contains 537812 tokens.",
    "Groq": "Please reduce the length of the messages or completion.",
}


@pytest.mark.parametrize("server", OVERFLOWS)
def test_a_conversation_that_is_too_long_is_known_by_the_words_of_every_server(server: str):
    assert is_context_overflow(OVERFLOWS[server])
    assert isinstance(build_error({"message": OVERFLOWS[server]}), ContextExceeded)


@pytest.mark.parametrize(
    "text",
    [
        "Rate limit reached for requests: 30 per minute",
        "the model 'x' does not exist",
        "max_tokens must be at least 1",
        "Request too large: tokens per minute limit 6000, requested 7000",
        "invalid context: the key is not valid",
        "The context of a message must be a string",
    ],
)
def test_other_errors_are_no_overflow(text: str):
    assert not is_context_overflow(text)


@pytest.mark.parametrize(
    ("error", "kind", "status"),
    [
        ({"type": "exceed_context_size_error", "message": "no"}, ContextExceeded, 400),
        ({"code": "context_length_exceeded", "message": "no"}, ContextExceeded, 400),
        ({"type": "authentication_error", "message": "no"}, ProviderError, 401),
        ({"type": "insufficient_quota", "message": "no"}, ProviderError, 402),
        ({"type": "permission_error", "message": "no"}, ProviderError, 403),
        ({"type": "not_found_error", "message": "no"}, ProviderError, 404),
        ({"type": "invalid_request_error", "message": "no"}, ProviderError, 400),
        ({"code": 422, "message": "no"}, ProviderError, 422),
        ({"code": 429, "message": "no"}, RateLimited, 429),
        ({"type": "overloaded_error", "message": "no"}, RateLimited, 529),
        ({"type": "api_error", "message": "no"}, EndpointDown, None),
    ],
)
def test_an_error_in_an_answer_has_the_status_of_its_type(error: Any, kind: type, status: int | None):
    built = build_error(error)
    assert (type(built), built.status) == (kind, status)
