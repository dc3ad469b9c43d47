"""Errors: what a refusal says, in one line."""

import json
from typing import Any

import pytest

from tests.wire.reading import WIRES, read_stream
from toolspeak.errors import ProviderError
from toolspeak.wire.api_errors import MAX_CAUSE_CHARS, read_error_body


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
@pytest.mark.parametrize("status", [400, 401, 402, 403, 404, 408, 413, 418, 429, 500, 503, 529])
def test_what_our_server_says_our_client_reads(wire: Any, status: int):
    body = wire.error_body(status, "It broke.")
    assert read_error_body(status, json.dumps(body)).startswith("It broke. (")
    assert (
        read_error_body(status, json.dumps(wire.error_body(status, "It broke.", "odd_error")))
        == "It broke. (odd_error)"
    )


@pytest.mark.parametrize("wire", WIRES.values(), ids=WIRES)
def test_a_stream_that_fails_says_so(wire: Any):
    speaking = wire.Encoder("m", id="x", created=0)
    with pytest.raises(ProviderError, match=r"^It broke\. \(odd_error\)$"):
        read_stream(wire, [speaking.start(), speaking.error("It broke.", "odd_error")])
