"""Endpoints that fail: nothing is lost, nothing hangs, and the error names the endpoint and the cause."""

import asyncio
import json
import re
import socket
import ssl
from pathlib import Path
from typing import Any

import pytest

from tests.cases import each_case, sample
from tests.run.playing import Clock, play
from toolspeak.models import HttpModel, RetryPolicy, transport
from toolspeak.run import Agent
from toolspeak.testing import says
from toolspeak.values.errors import (
    EndpointDown,
    EndpointTimeout,
    ModelError,
    ProviderError,
    RateLimited,
    StreamInterrupted,
)
from toolspeak.values.messages import Message, Text
from toolspeak.values.pieces import Answer
from toolspeak.wire.errors import ErrorReport

from .asking import IMPATIENT, QUICK, SLOWLY_IMPATIENT, Plain, answer, at
from .recorded import DONE, RECORDED, delta, events
from .server import (
    APIS,
    WIRES,
    Act,
    Api,
    Connection,
    Ending,
    Post,
    Server,
    answers,
    hangs_up,
    plays,
    resets,
    serving,
    silence,
    streams,
)

MANNERS = ("streamed", "plain")

BREAKS: list[Any] = [
    pytest.param(api, ending, marks=pytest.mark.slow if ending == "silence" and api != "openai" else ())
    for api in APIS
    for ending in ("close", "reset", "silence")
]
"""How the connection ends in the middle of an answer. Silence lasts seconds, so in `make test` one API has to do."""


def failure(model: HttpModel, manner: str = "streamed", seconds: float = 60) -> ModelError:
    """How a run ends that has nothing to go on with; the outcome is whole (`play` sees to that)."""
    clock = Clock()
    with pytest.raises(ModelError) as caught:
        play(Agent(model if manner == "streamed" else Plain(model)), "arun")
    assert clock() < seconds
    error = caught.value
    assert str(error).startswith(model.endpoint.label)
    assert error.outcome.stop_reason == "error"
    assert str(error) in error.outcome.detail
    assert error.outcome.messages[0].text == "Go on."
    return error


# Statuses

STATUSES: dict[int, tuple[type[ModelError], int, str]] = {
    400: (ProviderError, 1, "the request was not accepted"),
    401: (ProviderError, 1, "the key was refused; is HOME_KEY right?"),
    403: (ProviderError, 1, "the key has no access to this"),
    404: (ProviderError, 1, "the name of the model"),
    408: (EndpointDown, 4, "(4 tries)"),
    413: (ProviderError, 1, "too long"),
    422: (ProviderError, 1, "answered 422"),
    429: (RateLimited, 4, "(4 tries)"),
    500: (EndpointDown, 4, "(4 tries)"),
    502: (EndpointDown, 4, "(4 tries)"),
    503: (EndpointDown, 4, "(4 tries)"),
    529: (RateLimited, 4, "(4 tries)"),
}


def error_of(api: Api, message: str) -> Any:
    """The body of an error, whatever its status."""
    return WIRES[api].error_body(ErrorReport(failure="upstream_failed", message=message))


WAITS = {
    "without a wait": {},
    "with a wait": {"retry_after": "0.01"},
    "with a wait that is none": {"retry_after": "soon"},
}


@pytest.mark.parametrize("api", APIS)
@each_case("status, wait", sample([(status, wait) for status in STATUSES for wait in WAITS], 12))
def test_statuses(server: Server, status: int, api: Api, wait: str):
    kind, tries, hint = STATUSES[status]
    server.plays(answers(status, error_of(api, "It is what it is."), **WAITS[wait]))
    error = failure(at(server, api, key_variable="HOME_KEY"))
    assert type(error) is kind
    assert f"answered {status}: It is what it is." in str(error)
    assert hint in str(error)
    assert len(server.posts) == tries


def test_a_key_that_is_not_there_is_missed(server: Server):
    server.plays(answers(401, {}))
    assert "HOME_KEY is not set" in str(failure(at(server, key=None, key_variable="HOME_KEY")))


@pytest.mark.parametrize("api", APIS)
@each_case(
    "status, manner", sample([(each, how) for each in (408, 429, 500, 502, 503, 504, 529) for how in MANNERS], 4)
)
def test_what_passes_is_waited_out(server: Server, api: Api, status: int, manner: str):
    trouble = answers(status, error_of(api, "Later."))
    server.plays(trouble, hangs_up, trouble, plays([says("Here I am.")]))
    model = at(server, api)
    assert play(Agent(model if manner == "streamed" else Plain(model)), "arun").text == "Here I am."
    assert len(server.posts) == 4
    assert len({json.dumps(post.body) for post in server.posts}) == 1


@pytest.fixture
def waits(monkeypatch: pytest.MonkeyPatch) -> list[float]:
    """How long each wait between two attempts would take. Nothing is waited for."""
    noted: list[float] = []
    sleep = asyncio.sleep

    async def note(seconds: float) -> None:
        noted.append(seconds)
        await sleep(0)

    monkeypatch.setattr(transport.asyncio, "sleep", note)
    return noted


@each_case(
    "said, least, most",
    [
        ("0.2", 0.2, 0.2),
        ("0", 0, 0),
        ("-3", 0, 0),
        ("1.5", 1.5, 1.5),
        ("inf", 0.0005, 0.001),
        ("Fri, 01 Jan 2021 00:00:00 GMT", 0, 0),
        ("nan", 0.0005, 0.001),
        ("", 0.0005, 0.001),
        ("Wed, 21 Oct 99999 07:28:00 GMT", 0.0005, 0.001),
        ("\x7f", 0.0005, 0.001),
    ],
    ids=repr,
)
def test_waits_are_those_that_were_asked_for(server: Server, waits: list[float], said: str, least: float, most: float):
    retry = RetryPolicy(attempts=2, first_wait=0.001, max_wait=1.5, read_timeout=30, total_timeout=60)
    server.plays(answers(429, {}, retry_after=said))
    waits.clear()
    failure(at(server, retry=retry))
    (wait,) = waits
    assert least <= wait <= most
    assert len(server.posts) == 2


@pytest.mark.parametrize("said", ["3600", "Fri, 01 Jan 2100 00:00:00 GMT"])
@pytest.mark.parametrize("status", [429, 503])
def test_a_wait_that_is_too_long_is_named_and_ends_the_attempts(server: Server, status: int, said: str):
    server.plays(answers(status, {}, retry_after=said))
    error = failure(at(server))
    assert re.search(r"\(it asks for a wait of [\d,]{5,} s\)$", str(error))
    assert (error.retry_after or 0) >= 3600
    assert len(server.posts) == 1


def test_waits_grow_and_differ(server: Server, waits: list[float]):
    server.plays(answers(503, b""))
    failure(at(server, retry=RetryPolicy(first_wait=0.1, total_timeout=60)))
    assert len(waits) == 3
    for number, wait in enumerate(waits):
        assert 0.05 * 2**number <= wait <= 0.1 * 2**number


def test_an_error_in_pieces_is_read_whole(server: Server):
    body = json.dumps({"error": {"message": "a" * 200 + " the very end"}}).encode()

    async def act(post: Post, connection: Connection) -> None:
        connection.head(400, length=len(body))
        for place in range(0, len(body), 50):
            await connection.write(body[place : place + 50])
            await asyncio.sleep(0.01)

    server.plays(act)
    assert "the very end" in str(failure(at(server)))


def test_the_body_of_an_error_is_not_waited_for(server: Server):
    async def act(post: Post, connection: Connection) -> None:
        connection.head(400, length=100)
        await connection.write(b'{"error": ')
        await connection.gone()

    server.plays(act)
    assert "answered 400" in str(failure(at(server, retry=SLOWLY_IMPATIENT)))


@pytest.mark.parametrize("status", [301, 302, 307, 308])
def test_redirects_are_told_and_not_followed(server: Server, status: int):
    with serving() as other:
        other.plays(answers(200, {}))
        server.plays(answers(status, b"", location=f"{other.url}/v1/chat/completions"))
        error = failure(at(server, headers={"x-api-key": "sk-second-canary"}))
        assert f"moved to {other.url}" in str(error)
        assert other.posts == []


# Connections

CERTIFICATE = Path(__file__).with_name("self_signed.pem")


@pytest.mark.parametrize("manner", MANNERS)
def test_refused(server: Server, manner: str):
    with serving() as other:
        url = other.url
    error = failure(at(url), manner)
    assert type(error) is EndpointDown
    assert "cannot be reached" in str(error)
    assert "is it running? (4 tries)" in str(error)


def test_no_such_host():
    error = failure(at("http://no-such-host.invalid"))
    assert "no such host" in str(error)


def test_certificates_are_checked():
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(CERTIFICATE)
    with serving(context) as server:
        server.plays(answers(200, {}))
        error = failure(at(server))
        assert "certificate that is not trusted" in str(error)
        assert "tries" not in str(error)
        assert server.posts == []


def test_tls_with_a_server_that_has_none(server: Server):
    server.plays(answers(200, {}))
    assert "over TLS" in str(failure(at(server.url.replace("http:", "https:"))))


def test_tls_that_is_not_agreed_on():
    with socket.create_server(("127.0.0.1", 0)) as listening:  # which takes connections and never speaks
        url = f"https://127.0.0.1:{listening.getsockname()[1]}"
        clock = Clock()
        error = failure(at(url, retry=RetryPolicy(connect_timeout=0.2, attempts=2, first_wait=0.01)))
        assert 0.4 <= clock() < 10
        assert "gave no connection within 0.2 s (2 tries)" in str(error)


def test_a_server_that_speaks_no_http(server: Server):
    async def babble(post: Post, connection: Connection) -> None:
        await connection.write(b"220 smtp.example.org ESMTP\r\n\r\n")
        connection.close()

    server.plays(babble)
    error = failure(at(server))
    assert "broke the connection" in str(error)
    assert len(server.posts) == 4


@pytest.mark.parametrize(
    ("coding", "words"),
    [
        (b"br", "broke the connection (not HTTP: the encoding of the body is unknown)"),
        (b"gzip", "broke the connection (not HTTP: the body is not compressed as it says"),
        (b"identity", "broke the connection (the server disconnected)"),
    ],
)
def test_a_body_that_cannot_be_read_is_explained(server: Server, coding: bytes, words: str):
    async def act(post: Post, connection: Connection) -> None:
        head = b"HTTP/1.1 200 OK\r\ncontent-type: application/json\r\ncontent-length: 99\r\n"
        await connection.write(head + b"content-encoding: " + coding + b"\r\n\r\n{no more")
        connection.close()

    server.plays(act)
    assert words in str(failure(at(server)))


def test_a_conversation_that_is_too_long_gets_one_hint(server: Server):
    server.plays(answers(400, {"error": {"message": "Too long.", "code": "context_length_exceeded"}}))
    error = failure(at(server))
    assert "Limits(context=" in str(error)
    assert "may not support all of its fields" not in str(error)


@pytest.mark.parametrize("address", ["http://127.0.0.1:99999", "http://a..b", "http://[::1", "http://"])
def test_what_is_no_address(address: str):
    error = failure(at(address))
    assert "cannot be" in str(error)


def test_a_key_that_cannot_be_sent(server: Server):
    server.plays(answers(200, {}))
    error = failure(at(server, key="sk-canary\r\nx-evil: 1"))
    assert "cannot be asked" in str(error)
    assert "canary" not in str(error)
    assert server.posts == []


@pytest.mark.parametrize("manner", MANNERS)
@pytest.mark.parametrize("act", [hangs_up, resets], ids=["closed", "reset"])
@pytest.mark.parametrize("api", APIS)
def test_broken_before_the_answer(server: Server, api: Api, act: Act, manner: str):
    server.plays(act)
    assert "broke the connection" in str(failure(at(server, api), manner))
    assert len(server.posts) == 4


@pytest.mark.parametrize("manner", MANNERS)
@pytest.mark.parametrize("api", [APIS[0], *(pytest.param(api, marks=pytest.mark.slow) for api in APIS[1:])])
def test_silence_before_the_answer(server: Server, api: Api, manner: str):
    server.plays(silence)
    clock = Clock()
    error = failure(at(server, api, retry=IMPATIENT), manner)
    assert "sent nothing for 1 s" in str(error)
    assert 0.3 <= clock() < 10
    assert len(server.posts) == 1


# Streams that break


@pytest.mark.parametrize(("api", "ending"), BREAKS)
def test_broken_before_the_first_token(server: Server, api: Api, ending: Ending):
    """Nothing was told, so it is asked again; but not where the endpoint was waited for as long as it may take."""
    first = RECORDED[api]["text"].partition(b"\n\n")[0] + b"\n\n"
    server.plays(streams(first, ending=ending))
    error = failure(at(server, api, retry=SLOWLY_IMPATIENT if ending == "silence" else QUICK))
    assert type(error) is StreamInterrupted
    assert "before an answer" in str(error)
    assert len(server.posts) == (1 if ending == "silence" else 4)

    server.plays(streams(first, ending="close"), streams(b"", ending="reset"), streams(RECORDED[api]["text"]))
    assert play(Agent(at(server, api)), "arun").text.startswith("Grüße aus Köln")


@pytest.mark.parametrize(("api", "ending"), BREAKS)
def test_broken_after_the_first_token(server: Server, api: Api, ending: Ending):
    """Somebody may have seen it, so it is not asked again."""
    data = RECORDED[api]["text"]
    start = data[: data.index(b"K\xc3\xb6ln") + 3]
    server.plays(streams(start, ending=ending), streams(data))
    clock = Clock()
    error = failure(at(server, api, retry=SLOWLY_IMPATIENT if ending == "silence" else QUICK))
    assert type(error) is StreamInterrupted
    assert "in the middle of an answer" in str(error)
    assert ("sent nothing more for 5 s" in str(error)) == (ending == "silence")
    assert clock() < 25  # less than the 30 seconds of an ordinary silence
    assert error.outcome.text == "Grüße aus "
    assert len(server.posts) == 1


@pytest.mark.parametrize("ending", ["close", "reset", "silence"])
@pytest.mark.parametrize("api", APIS)
def test_broken_after_the_last_token(server: Server, monkeypatch: pytest.MonkeyPatch, api: Api, ending: Ending):
    """All was said: how the connection ends is no matter, and it is not waited for."""
    monkeypatch.setattr(transport, "TRAILER_TIMEOUT_SECONDS", 0.1)
    server.plays(streams(RECORDED[api]["text"], ending=ending))
    clock = Clock()
    assert play(Agent(at(server, api, retry=RetryPolicy(read_timeout=60))), "arun").text.startswith("Grüße aus Köln")
    assert clock() < 40


@pytest.mark.parametrize("api", APIS)
def test_a_whole_answer_that_is_cut(server: Server, api: Api):
    whole = json.dumps(WIRES[api].Encoder("m", id="1", created=1).response(said("Hello."), "stop")).encode()

    def act(length: int, framed: bool) -> Act:
        async def cut(post: Post, connection: Connection) -> None:
            connection.head(length=len(whole) if framed else None, framed=framed)
            await connection.write(whole[:length])
            connection.close()

        return cut

    for framed in (True, False):
        for length in (0, 1, len(whole) // 2, len(whole) - 1):
            server.plays(act(length, framed))
            assert type(failure(at(server, api), "plain")) is StreamInterrupted
            assert len(server.posts) == 4
        server.plays(act(7, framed), act(len(whole), framed))
        assert play(Agent(Plain(at(server, api))), "arun").text == "Hello."


def said(text: str) -> Message:
    return Message(role="assistant", parts=(Text(text=text),))


# The deadline over all of it


def hurried(total: float) -> RetryPolicy:
    return RetryPolicy(connect_timeout=60, read_timeout=60, total_timeout=total, first_wait=0.05, max_wait=60)


async def drips(post: Post, connection: Connection) -> None:
    connection.head(kind="text/event-stream")
    while True:
        await connection.write(events(delta(content="x ")))
        await asyncio.sleep(0.02)


@pytest.mark.parametrize(
    ("act", "total", "cause", "kind"),
    [
        (silence, 0.4, "had 0.4 s for an answer and was not done", EndpointTimeout),
        pytest.param(drips, 3, "had 3 s for an answer and was not done", StreamInterrupted, marks=pytest.mark.slow),
        pytest.param(
            streams(b"", ending="silence"),
            3,
            "had 3 s for an answer and was not done",
            StreamInterrupted,
            marks=pytest.mark.slow,
        ),
        pytest.param(answers(503, b"", retry_after="1.2"), 3, "answered 503", EndpointDown, marks=pytest.mark.slow),
        (answers(429, b"", retry_after="30"), 20, "answered 429", RateLimited),
    ],
    ids=["silence", "drips", "no token", "tries", "a long wait"],
)
def test_the_deadline_is_over_all_of_it(server: Server, act: Act, total: float, cause: str, kind: type[ModelError]):
    server.plays(act)
    clock = Clock()
    error = failure(at(server, retry=hurried(total)))
    assert clock() < 40  # less than the 60 seconds of a silence
    assert type(error) is kind
    assert cause in str(error)
    if act is drips:
        assert error.outcome.text.startswith("x ")


# Servers that do not do what they are asked


@pytest.mark.parametrize("api", APIS)
def test_a_whole_answer_though_a_stream_was_asked_for(server: Server, api: Api):
    whole = WIRES[api].Encoder("m", id="1", created=1).response(said("Hello."), "stop")
    for kind in ("application/json", "text/event-stream", "text/plain", ""):
        server.plays(answers(200, whole, kind=kind))
        (part,) = answer(at(server, api)).parts
        assert isinstance(part, Text)
        assert part.text == "Hello."


@pytest.mark.parametrize("api", APIS)
def test_a_stream_though_none_was_asked_for(server: Server, api: Api):
    for kind in ("text/event-stream", "text/event-stream; charset=utf-8", "application/json", "text/plain", ""):
        server.plays(streams(RECORDED[api]["text"], kind=kind))
        assert answer(at(server, api), stream=False).parts[0].text.startswith("Grüße aus Köln")


NO_ANSWERS: dict[str, tuple[Act, type[ModelError], str, int]] = {
    "a page": (
        answers(200, b"<!doctype html><html><body>Log in, please.</body></html>", kind="text/html"),
        ProviderError,
        "it begins with '<!doctype html>",
        1,
    ),
    "a page that is labelled a stream": (
        answers(200, b"<html><body>Busy.", kind="text/event-stream"),
        ProviderError,
        "it begins with '<html>",
        1,
    ),
    "nothing": (answers(200, b""), StreamInterrupted, "before an answer", 4),
    "no content": (answers(204, b""), StreamInterrupted, "before an answer", 4),
    "nothing, streamed": (streams(b""), StreamInterrupted, "before an answer", 4),
    "another object": (answers(200, {"hello": "world"}), ProviderError, "the answer is not a", 1),
    "a list": (answers(200, b"[]"), ProviderError, "the answer is not a", 1),
    "null": (answers(200, b"null"), ProviderError, "the answer is not a", 1),
    "nonsense": (answers(200, b"\xff\xfe\x00"), ProviderError, "the answer is not JSON", 1),
    "nested without end": (answers(200, b"[" * 200_000), ProviderError, "the answer is not JSON", 1),
    "an error": (
        answers(200, {"error": {"message": "No such model.", "type": "x"}}),
        EndpointDown,
        "No such model.",
        1,
    ),
    "an error that is text": (answers(200, {"error": "No such model."}), EndpointDown, "No such model.", 1),
    "too fast": (
        answers(200, {"error": {"message": "Slow down.", "type": "rate_limit_error"}}),
        RateLimited,
        "Slow down.",
        4,
    ),
    "an error, streamed": (
        streams(events({"error": {"message": "Out of memory."}})),
        EndpointDown,
        "Out of memory.",
        1,
    ),
    "too fast, streamed": (
        streams(events({"type": "error", "error": {"type": "overloaded_error", "message": "Busy."}})),
        RateLimited,
        "Busy.",
        4,
    ),
    "an error that is labelled a stream": (
        answers(200, {"error": {"message": "No such model."}}, kind="text/event-stream"),
        EndpointDown,
        "No such model.",
        1,
    ),
}


@pytest.mark.parametrize("api", APIS)
@each_case("what, manner", sample([(what, manner) for what in NO_ANSWERS for manner in MANNERS], 12))
def test_no_answer(server: Server, api: Api, what: str, manner: str):
    act, kind, cause, tries = NO_ANSWERS[what]
    server.plays(act)
    error = failure(at(server, api), manner)
    assert (type(error), len(server.posts)) == (kind, tries)
    assert cause in str(error)


@pytest.mark.parametrize("together", [True, False], ids=["in one write", "in two"])
@pytest.mark.parametrize("api", APIS)
def test_an_error_in_the_middle_of_a_stream(server: Server, api: Api, together: bool):
    """What was said before it is kept, also if it came with the error."""
    data = RECORDED[api]["text"]
    start = data[: data.index(b"\n\n", data.index(b"K\xc3\xb6ln")) + 2]
    error = events({"type": "error", "error": {"type": "overloaded_error", "message": "Overloaded."}})
    server.plays(streams(start + error) if together else streams(start, error, pause=0.02))
    failed = failure(at(server, api))
    assert type(failed) is RateLimited
    assert "Overloaded." in str(failed)
    assert failed.outcome.text.startswith("Grüße aus Köln")
    assert len(server.posts) == 1


# Garbage

COMMENT = b": keep-alive\n\n"


def between(data: bytes, garbage: bytes) -> bytes:
    return garbage + data.replace(b"\n\n", b"\n\n" + garbage)


def in_lines(data: bytes) -> bytes:
    """The data of an event on several lines."""
    return data.replace(b',"', b',\ndata: "')


GARBAGE = {
    "comments": lambda data: between(data, COMMENT),
    "lines that end in CR LF": lambda data: data.replace(b"\n", b"\r\n"),
    "lines that end in CR": lambda data: data.replace(b"\n", b"\r"),
    "a byte order mark": lambda data: b"\xef\xbb\xbf" + data,
    "no [DONE]": lambda data: data.replace(b"data: [DONE]\n\n", b""),
    "no end of the last line": lambda data: data.rstrip(b"\n"),
    "other fields": lambda data: between(data, b"id: 7\nretry: 10\nevent: ping\nfoo: bar\n\n"),
    "data of several lines": in_lines,
    "no space after the colon": lambda data: data.replace(b"data: ", b"data:"),
    "data that is no JSON": lambda data: between(data, b"data: oops, {not json\n\n"),
    "data that is no object": lambda data: between(data, b'data: 42\n\ndata: null\n\ndata: [1]\n\ndata: "x"\n\n'),
    "objects of nobody": lambda data: between(data, b'data: {"type":"ping"}\n\ndata: {"choices":[]}\n\ndata: {}\n\n'),
    "objects of the wrong shape": lambda data: between(
        data,
        b'data: {"choices":null,"type":7,"delta":[]}\n\ndata: {"choices":[7],"usage":"?"}\n\ndata: {"choices":[{"delta":{"content":null,"tool_calls":"x"}}]}\n\n',
    ),
    "bytes that are no text": lambda data: between(data, b"\xff\xfe\x00\x80garbage\n\ndata: \xc3\n\n"),
    "a page in between": lambda data: between(data, b"<html>502</html>\n\n"),
    "a line of a megabyte": lambda data: b"data: " + b"x" * 1_000_000 + b"\n\n: " + b"y" * 1_000_000 + b"\n\n" + data,
    "deep nesting": lambda data: between(data, b"data: " + b'{"a":' * 3000 + b"\n\n"),
}


@pytest.mark.parametrize(("api", "name"), [("openai", "text"), ("openai", "calls"), ("anthropic", "calls")])
@each_case("garbage, size", sample([(garbage, size) for garbage in GARBAGE for size in (None, 11)], 12))
def test_garbage(server: Server, api: Api, name: str, garbage: str, size: int | None):
    clean = RECORDED[api][name]
    data = GARBAGE[garbage](clean)
    size = max(size, len(data) // 200) if size else len(data)
    writes = [data[place : place + size] for place in range(0, len(data), size)]
    server.plays(streams(clean), streams(*writes))
    model = at(server, api, retry=QUICK)
    expected: Answer = answer(model)
    assert model.skipped == 0
    assert answer(model) == expected
    counted = garbage.startswith(("data that", "a line", "deep", "bytes"))
    assert (model.skipped > 0) == counted
    assert len(server.posts) == 2


def test_after_a_failure_the_conversation_goes_on(server: Server):
    data = RECORDED["openai"]["text"]
    server.plays(streams(data[: data.index(b"DONE") // 2], ending="close"), streams(DONE["openai"]))
    error = failure(at(server))
    assert error.outcome.text
    outcome = play(Agent(at(server)), "arun", "Go on.", messages=error.outcome.messages)
    assert outcome.text == "Fertig."
    assert [each["role"] for each in server.posts[-1].body["messages"]] == ["user", "assistant", "user"]
