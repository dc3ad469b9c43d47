"""What goes wrong on either side: each gets a clear error, nothing is left behind, and nobody gets what is another's."""

import asyncio
import contextlib
import gc
import json
import multiprocessing
import os
import re
import socket
import threading
import time
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from tests.cases import RUNS_ALL
from toolspeak.dialects import DIALECTS, JSON, NATIVE, TYPESCRIPT
from toolspeak.gateway import ServedModel, app, guard, server
from toolspeak.gateway.server import TimeoutProtocol
from toolspeak.models import RetryPolicy, connect
from toolspeak.testing import ScriptedModel, breaks, calls, says
from toolspeak.values.errors import RateLimited, StreamInterrupted
from toolspeak.values.events import TextDelta
from toolspeak.values.messages import Text
from toolspeak.values.pieces import Answer

from .conversing import OPENAI_TOOLS, QUESTION
from .hosting import Reply, ask, gateway, host_app, send_request, serve_model, until
from .upstream import HEAD, PATIENT, Upstream, drips, event, sends, upstream

needs_proc = pytest.mark.skipif(not Path("/proc/self/statm").exists(), reason="needs /proc")
both = pytest.mark.parametrize("streamed", [False, True], ids=["plain", "streamed"])

BODY: dict[str, Any] = {"model": "scripted", "messages": [{"role": "user", "content": QUESTION}]}
WITH_TOOLS: dict[str, Any] = {**BODY, "tools": OPENAI_TOOLS}


def post_raw(url: str, body: Any, headers: str = "", path: str = "/v1/chat/completions") -> socket.socket:
    """A connection on which a request was sent, and its answer is still to be read."""
    data = body if isinstance(body, bytes) else json.dumps(body).encode()
    host, port = url.removeprefix("http://").split(":")
    client = socket.create_connection((host, int(port)), timeout=60)
    head = f"POST {path} HTTP/1.1\r\nhost: {host}:{port}\r\ncontent-length: {len(data)}\r\n{headers}\r\n"
    client.sendall(head.encode() + data)
    return client


def raw(url: str, data: bytes) -> bytes:
    """All that comes back for some bytes."""
    host, port = url.removeprefix("http://").split(":")
    with socket.create_connection((host, int(port)), timeout=60) as client:
        with contextlib.suppress(OSError):
            client.sendall(data)
        return everything(client)


def everything(client: socket.socket) -> bytes:
    received = b""
    with contextlib.suppress(OSError):
        while chunk := client.recv(65536):
            received += chunk
            if received.endswith(b"\r\n0\r\n\r\n"):  # the last chunk
                break
    return received


# The endpoint


@pytest.fixture
def behind() -> Iterator[Upstream]:
    with upstream() as made:
        yield made


BROKEN_OFF = sends(HEAD, event("Once upon"), event(" a time"))
FAULTS: dict[str, tuple[Any, str]] = {  # what each is reported as: test_errors.py
    "ends": (BROKEN_OFF, "in the middle of an answer"),
    "resets": (sends(HEAD, event("Once upon"), reset=True), "in the middle of an answer"),
    "stalls": (drips(b"", 0.1, HEAD + event("Once upon")), "sent nothing more for 5 s"),
    "says nothing": (drips(b"", 0.1, b""), "sent nothing for 0.3 s"),
    "hangs up": (sends(), "broke the connection"),
    "speaks no http": (sends(b"SSH-2.0-OpenSSH_9.9\r\n\r\n"), "broke the connection"),
    "sends a page": (sends(b"HTTP/1.1 200 OK\r\ncontent-length: 15\r\n\r\n<html>Hi</html>"), "the answer is not JSON"),
    "refuses": (sends(b'HTTP/1.1 400 Bad\r\ncontent-length: 17\r\n\r\n{"error":"no no"}'), "answered 400: no no"),
    "fails": (sends(b"HTTP/1.1 500 Oh\r\nconnection: close\r\ncontent-length: 0\r\n\r\n"), "answered 500"),
    "reports an error": (sends(HEAD, b'data: {"error":{"message":"out of memory"}}\n\n'), "out of memory"),
    "sends garbage": (sends(HEAD, b"\x00\xff\xfe" * 1000 + b"\n\n"), "the answer is not JSON"),
    "moves": (
        sends(b"HTTP/1.1 302 F\r\nlocation: http://169.254.169.254/\r\ncontent-length: 0\r\n\r\n"),
        "it has moved",
    ),
}

READ_TIMEOUTS = {"stalls": 5.0, "says nothing": 0.3}
"""For how long silence is waited for. An endpoint that says something first must have done so by then."""


@both
@pytest.mark.parametrize("fault", FAULTS)
@pytest.mark.parametrize("path", ["/v1/chat/completions", "/v1/messages"])
def test_an_endpoint_that_fails_is_told_in_the_form_of_the_api(behind: Upstream, fault: str, streamed: bool, path: str):
    behind.plays, words = FAULTS[fault]
    retry = replace(PATIENT, read_timeout=READ_TIMEOUTS.get(fault, PATIENT.read_timeout))
    application = app([serve_model(behind.model(retry), TYPESCRIPT)])
    reply = ask(application, {**BODY, "max_tokens": 9, "stream": streamed}, path=path)
    error = reply.chunks[-1]["error"] if reply.status == 200 else reply.json["error"]
    assert words in error["message"]
    expected = {"refuses": 400, "says nothing": 504}.get(fault, 502)
    assert reply.status == expected or (reply.status == 200 and b"Once upon" in reply.body)
    if expected == 502:
        assert error["type"] == ("api_error" if path == "/v1/messages" else "server_error")
    assert b"[DONE]" not in reply.body
    assert b"message_stop" not in reply.body


@both
def test_an_endpoint_that_asks_to_slow_down(streamed: bool):
    reply = ask(
        app([serve_model(ScriptedModel([breaks(RateLimited("slow down"))]), JSON)]), {**BODY, "stream": streamed}
    )
    assert (reply.status, reply.json["error"]["type"]) == (429, "rate_limit_error")
    assert reply.headers["x-should-retry"] == "false"


@pytest.mark.parametrize("dialect", DIALECTS)
def test_half_of_a_call_is_no_call(dialect: str):
    model = ScriptedModel([breaks(StreamInterrupted("gone"), text='get_weather(city="Par')], chunk=3)
    reply = ask(app([serve_model(model, DIALECTS[dialect])]), {**WITH_TOOLS, "stream": True})
    last = reply.chunks[-1] if reply.status == 200 else reply.json
    assert "gone" in last["error"]["message"]
    assert b"tool_calls" not in reply.body


def test_a_slow_endpoint_is_waited_for(behind: Upstream):
    behind.plays = sends(HEAD, *(event(f"{number} ") for number in range(20)), b"data: [DONE]\n\n")
    reply = ask(app([serve_model(behind.model(), JSON)]), {**BODY, "stream": True})
    text = "".join(chunk["choices"][0]["delta"].get("content", "") for chunk in reply.chunks)
    assert text.split() == [str(number) for number in range(20)]


# The client leaves


class Watched(ScriptedModel):
    """A model that never ends, and knows whether it still has to speak."""

    speaking = 0
    heard = 0

    async def ask(self, request: Any) -> Any:
        self.speaking += 1
        try:
            await asyncio.sleep(0 if self.heard >= 0 else 30)
            while True:
                self.heard += 1
                yield [TextDelta(text="more ")]
                await asyncio.sleep(0.01)
        finally:
            self.speaking -= 1


@both
@pytest.mark.parametrize("tools", [False, True], ids=["verbatim", "tools"])
def test_a_model_is_stopped_when_the_client_has_left(streamed: bool, tools: bool):
    model = Watched([])
    with gateway(serve_model(model, TYPESCRIPT)) as url:
        client = post_raw(url, {**(WITH_TOOLS if tools else BODY), "stream": streamed})
        until(lambda: model.heard > 3)
        assert not streamed or b"200 OK" in client.recv(65536)
        client.close()
        assert until(lambda: model.speaking == 0) < 10


class Held(ScriptedModel):
    """A model that writes two words, each when it may."""

    def __init__(self) -> None:
        super().__init__([])
        self.may_begin, self.may_end = threading.Event(), threading.Event()

    async def ask(self, request: Any) -> Any:
        for word, gate in (("one", self.may_begin), ("two", self.may_end)):
            while not gate.is_set():
                await asyncio.sleep(0.01)
            yield [TextDelta(text=f"{word} ")]
        yield [Answer(parts=(Text(text="one two "),), finish="stop")]


def read_until(client: socket.socket, mark: bytes) -> bytes:
    """What comes, until all of a mark was in it."""
    received = b""
    while mark not in received:
        chunk = client.recv(65536)
        assert chunk, f"{mark!r} did not come, but {received!r}"
        received += chunk
    return received


def check_whole(received: bytes, streamed: bool) -> None:
    assert b"HTTP/1.1 200 OK" in received
    assert b"two" in received
    assert not streamed or b"data: [DONE]" in received


@both
def test_a_client_that_has_closed_only_its_own_side_gets_its_answer(streamed: bool):
    """It may close its side after the request."""
    model = Held()
    model.may_begin.set()
    model.may_end.set()
    with gateway(serve_model(model, TYPESCRIPT)) as url, post_raw(url, {**BODY, "stream": streamed}) as client:
        client.shutdown(socket.SHUT_WR)
        check_whole(everything(client), streamed)


@both
def test_it_is_probed_if_the_answer_takes_a_while(streamed: bool, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(server, "MAX_PROBES", 9)  # for almost a minute: a busy client may take a while to read one
    model = Held()
    with gateway(serve_model(model, TYPESCRIPT)) as url, post_raw(url, {**BODY, "stream": streamed}) as client:
        client.shutdown(socket.SHUT_WR)
        received = read_until(client, b"HTTP/1.1 100 ")
        assert received.startswith(b"HTTP/1.1 100 ")
        model.may_begin.set()
        if streamed:
            received += read_until(client, b"\r\n:\n\n\r\n")
        model.may_end.set()
        check_whole(received + everything(client), streamed)


def test_a_client_that_leaves_in_the_middle_of_its_request_gets_nothing():
    with gateway(serve_model(Held(), TYPESCRIPT)) as url:
        host, port = url.removeprefix("http://").split(":")
        with socket.create_connection((host, int(port)), timeout=60) as client:
            client.sendall(b"POST /v1/messages HTTP/1.1\r\nhost: 127.0.0.1\r\ncontent-length: 10\r\n\r\n{")
            client.shutdown(socket.SHUT_WR)
            assert everything(client) == b""


def test_also_before_the_first_word():
    model = Watched([])
    model.heard = -1
    with gateway(serve_model(model, TYPESCRIPT)) as url:
        for streamed in (False, True):
            client = post_raw(url, {**BODY, "stream": streamed})
            until(lambda: model.speaking == 1)
            client.close()
            assert until(lambda: model.speaking == 0) < 10


@both
@pytest.mark.parametrize("begun", [False, True], ids=["silent", "begun"])
def test_the_connection_to_the_endpoint_is_closed_when_the_client_has_left(
    behind: Upstream, streamed: bool, begun: bool
):
    behind.plays = drips(event("more") if begun else b"")
    with gateway(serve_model(behind.model(RetryPolicy()), TYPESCRIPT)) as url:
        client = post_raw(url, {**BODY, "stream": streamed})
        until(lambda: behind.asked == 1)
        time.sleep(0.1)
        client.close()
        assert until(lambda: behind.left == 1) < 10


def test_a_client_that_takes_nothing_counts_as_gone():
    class Hasty(TimeoutProtocol):
        write_timeout = 0.3

    class Endless(Watched):
        async def ask(self, request: Any) -> Any:
            self.speaking += 1
            try:
                while True:
                    yield [TextDelta(text="x" * 60_000)]
                    await asyncio.sleep(0)
            finally:
                self.speaking -= 1

    model = Endless([])
    with host_app(app([serve_model(model, TYPESCRIPT)]), Hasty) as url, post_raw(url, {**BODY, "stream": True}):
        until(lambda: model.speaking == 1)
        until(lambda: model.speaking == 0)


# Connections and requests as no client makes them


@pytest.mark.slow
def test_five_hundred_idle_connections_are_borne_and_closed():
    class Brisk(TimeoutProtocol):
        head_timeout = 5.0

    application = app([serve_model(ScriptedModel([says("Hello.")]), JSON)])
    with host_app(application, Brisk) as url, contextlib.ExitStack() as open_ones:
        host, port = url.removeprefix("http://").split(":")
        idle = [open_ones.enter_context(socket.create_connection((host, int(port)))) for _ in range(500)]
        for number, client in enumerate(idle):
            if number % 2:
                client.sendall(b"POST /v1/chat/completions HTTP/1.1\r\nhost: localhost\r\nx-slow: ")
        for _ in range(20):
            with post_raw(url, BODY, "connection: close\r\n") as client:
                assert b"Hello." in everything(client)
        for client in idle:
            client.settimeout(60)
            assert client.recv(100) == b""
        with post_raw(url, BODY, "connection: close\r\n") as client:
            assert b"Hello." in everything(client)


def test_a_second_request_may_not_come_in_drops_either():
    class Brisk(TimeoutProtocol):
        pass

    with (
        host_app(app([serve_model(ScriptedModel([says("Hello.")]), JSON)]), Brisk) as url,
        post_raw(url, BODY) as client,
    ):
        read_until(client, b"Hello.")
        Brisk.head_timeout = 0.3  # from now on: a busy machine may take longer to send the first request
        client.sendall(b"GET /health HTT")
        assert client.recv(100) == b""


def answer(data: bytes) -> bytes:
    with gateway(serve_model(ScriptedModel([says("Hello.")]), JSON)) as url:
        return raw(url, data)


def request(headers: bytes, body: bytes = b"") -> bytes:
    return b"POST /v1/chat/completions HTTP/1.1\r\nhost: localhost\r\n" + headers + b"\r\n" + body


def write_chunk(data: bytes) -> bytes:
    return b"%x\r\n%s\r\n0\r\n\r\n" % (len(data), data)


HI = json.dumps(BODY).encode()
SMUGGLED = b"GET /v1/models HTTP/1.1\r\nhost: localhost\r\n\r\n"


@pytest.mark.parametrize(
    "data",
    [
        request(b"content-length: 5\r\ntransfer-encoding: chunked\r\n", write_chunk(HI) + SMUGGLED),
        request(b"transfer-encoding: chunked\r\ncontent-length: 5\r\n", write_chunk(HI) + SMUGGLED),
        request(b"content-length: 3\r\ncontent-length: 4\r\n", HI + SMUGGLED),
        request(b"transfer-encoding: gzip, chunked\r\n", write_chunk(HI)),
        request(b"content-length: -1\r\n", HI),
        request(b"content-length: abc\r\n", HI),
        request(b"host: evil.example\r\ncontent-length: 0\r\n"),
        request(b"x-large: " + b"a" * 200_000 + b"\r\n"),
        request(b"bad header\r\n"),
        b"\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03",
    ],
)
def test_requests_that_are_none_get_one_refusal_and_the_connection_is_closed(data: bytes):
    received = answer(data + b"\r\n")
    assert re.match(rb"HTTP/1\.1 (400|501) ", received)
    assert received.count(b"HTTP/1.1 ") == 1  # nothing that followed was heard as a request
    assert b"scripted" not in received


def test_a_body_that_is_said_to_be_large_is_not_waited_for(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(guard, "DISCARD_TIMEOUT_SECONDS", 0.1)
    received = answer(request(b"content-length: 2147483648\r\n", HI))
    assert received.startswith(b"HTTP/1.1 413 ")


@pytest.mark.parametrize("headers", [b"content-length: 12000000\r\n", b"transfer-encoding: chunked\r\n"])
def test_a_client_that_sends_all_of_a_large_body_gets_the_refusal(headers: bytes, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(guard, "DISCARD_TIMEOUT_SECONDS", 60.0)  # this client is not slow, but its machine may be
    megabyte = b" " * 1_000_000
    piece = b"%x\r\n%s\r\n" % (len(megabyte), megabyte) if b"chunked" in headers else megabyte
    with gateway(serve_model(ScriptedModel([says("Hello.")]), JSON)) as url:
        host, port = url.removeprefix("http://").split(":")
        with socket.create_connection((host, int(port)), timeout=60) as client:
            client.sendall(request(headers))
            for _ in range(12):
                client.sendall(piece)
                time.sleep(0.01)
            client.sendall(b"0\r\n\r\n" if b"chunked" in headers else b"")
            assert b"larger than 10,000,000 bytes" in everything(client)


def test_a_large_body_in_chunks_is_refused_when_it_has_become_large():
    received = answer(request(b"transfer-encoding: chunked\r\n", write_chunk(b" " * 10_100_000)))
    assert received.startswith(b"HTTP/1.1 413 ") or received == b""  # a client that only sends may see the end alone


def test_a_strange_host_over_the_wire():
    data = b"POST /v1/chat/completions HTTP/1.1\r\nhost: a/?x#\r\nconnection: close\r\ncontent-length: 2\r\n\r\n{}"
    assert answer(data).startswith(b"HTTP/1.1 403 ")


# Nothing of another's, and nothing left


def echo(request: Any) -> Any:
    """Says which canary it was told."""
    canary = re.findall(r"canary-\d{5}", request.shown.messages[-1].text)[-1]
    return calls(("get_weather", {"city": canary}), text=f"I heard {canary}.")


async def canaries(application: Any, numbers: range) -> None:
    async def one(number: int) -> None:
        mine = f"canary-{number:05}"
        body = {**WITH_TOOLS, "messages": [{"role": "user", "content": mine}], "stream": bool(number % 2)}
        reply = await send_request(application, body)
        assert reply.status == 200
        assert set(re.findall(r"canary-\d{5}", reply.body.decode())) == {mine}
        assert reply.body.decode().count("get_weather") == 1

    await asyncio.gather(*(one(number) for number in numbers))


def test_nothing_of_another_request_is_in_an_answer():
    application = app([serve_model(ScriptedModel([echo], chunk=3), TYPESCRIPT)])
    asyncio.run(canaries(application, range(500 if RUNS_ALL else 60)))


@pytest.mark.slow
def test_nor_over_sockets_with_an_endpoint_behind():
    with gateway(serve_model(ScriptedModel([echo], chunk=3), TYPESCRIPT)) as behind:
        there = connect("scripted", at=f"{behind}/v1", key="none")
        with gateway(serve_model(there, TYPESCRIPT)) as url:
            wrong: list[str] = []

            def one(number: int) -> None:
                for turn in range(5):
                    mine = f"canary-{number:02}{turn:03}"
                    body = {**WITH_TOOLS, "messages": [{"role": "user", "content": mine}], "stream": bool(turn % 2)}
                    with post_raw(url, body, "connection: close\r\n") as client:
                        heard = set(re.findall(r"canary-\d{5}", everything(client).decode()))
                    if heard != {mine}:
                        wrong.append(f"{mine}: {heard}")

            threads = [threading.Thread(target=one, args=(number,)) for number in range(1, 41)]
            for thread in threads:
                thread.start()
            for thread in threads:
                thread.join()
            assert wrong == []


def open_files() -> int:
    return len(list(Path("/proc/self/fd").iterdir()))


def resident() -> int:
    return int(Path("/proc/self/statm").read_text().split()[1]) * os.sysconf("SC_PAGE_SIZE")


@pytest.mark.slow
@needs_proc
def test_ten_thousand_requests_leave_nothing():
    """In a process of its own: the memory of one that ran other tests grows and shrinks by itself."""
    process = multiprocessing.get_context("spawn").Process(target=serve_ten_thousand_requests)
    process.start()
    process.join()
    assert process.exitcode == 0  # what is wrong is on standard error


def serve_ten_thousand_requests() -> None:
    """All sorts of them: answered, refused, failed, left by their clients; streamed and plain; in both APIs."""
    cut = says("```typescript\nget_weather({city: \n```")
    models = {
        "calls": ScriptedModel([calls(("get_weather", {"city": "Paris"}))], chunk=9),
        "words": ScriptedModel([says("Hello.")]),
        "breaks": ScriptedModel([lambda request: breaks(StreamInterrupted("gone"), text="Once")]),
        "mends": ScriptedModel([cut, cut, calls(("get_weather", {"city": "Paris"}))]),
        "fails": ScriptedModel([]),
        "endless": Watched([]),
    }
    application = app([_named(name, each) for name, each in models.items()])
    names = [*list(models)[:-1], "unknown"]

    async def one(number: int) -> None:
        path = "/v1/messages" if number % 3 == 0 else "/v1/chat/completions"
        name = names[number % len(names)]
        tools = [tool["function"] | {"input_schema": {}} for tool in OPENAI_TOOLS] if number % 3 == 0 else OPENAI_TOOLS
        body = {**BODY, "model": name, "max_tokens": 9, "tools": tools, "stream": bool(number % 2)}
        leaves = None
        if number % 10 == 7:
            body["model"], leaves = "endless", asyncio.Event()
            asyncio.get_running_loop().call_later(0.002, leaves.set)
        reply = await send_request(application, body, path=path, leaves=leaves)
        assert leaves or reply.status in (200, 400, 404, 502)
        for each in models.values():
            each.requests.clear()

    async def many(count: int) -> None:
        for start in range(0, count, 20):
            await asyncio.gather(*(one(number) for number in range(start, start + 20)))
        assert asyncio.all_tasks() == {asyncio.current_task()}

    asyncio.run(many(2_000))
    gc.collect()
    before, files, objects = resident(), open_files(), len(gc.get_objects())
    asyncio.run(many(8_000))
    gc.collect()
    assert open_files() <= files
    assert len(gc.get_objects()) < objects + 2_000
    assert resident() < before + 8_000_000
    assert models["endless"].speaking == 0


def _named(name: str, model: Any) -> Any:
    return ServedModel(name=name, model=model, dialect=TYPESCRIPT)


@pytest.mark.slow
@needs_proc
def test_hundreds_over_sockets_leave_nothing(behind: Upstream):
    """Also the connections to the endpoint, whether it ends well, breaks off or is left."""

    def play(client: socket.socket, upstream: Upstream) -> None:
        sort = (BROKEN_OFF, sends(HEAD, event("Hi"), b"data: [DONE]\n\n"), drips(event("more")))[upstream.asked % 3]
        sort(client, upstream)

    behind.plays = play
    with gateway(serve_model(behind.model(), TYPESCRIPT)) as url:

        def some(count: int) -> None:
            for number in range(count):
                with post_raw(url, {**BODY, "stream": bool(number % 2)}, "connection: close\r\n") as client:
                    client.settimeout(0.05)
                    with contextlib.suppress(TimeoutError):  # there is no end to wait for
                        for _ in range(5):
                            client.recv(65536)

        some(30)
        files = open_files()
        some(270)
        until(lambda: open_files() <= files + 2)


# A model that takes long for its first word


class Late:
    """A model that says its first word when the client has got four pings, or fails then."""

    name, dialect = "late", "native"

    def __init__(self, reply: Reply, ping: bytes, *, fails: bool = False) -> None:
        self.is_asked = asyncio.Event()
        self._reply, self._ping, self._fails = reply, ping, fails
        self.is_speaking = False

    async def ask(self, request: Any) -> Any:
        self.is_speaking = True
        try:
            self.is_asked.set()
            while self._reply.body.count(self._ping) < 4:
                await asyncio.sleep(0.001)
            if self._fails:
                raise StreamInterrupted("It broke.")
            yield [TextDelta(text="at last")]
            yield [Answer(parts=(Text(text="at last"),), finish="stop")]
        finally:
            self.is_speaking = False


LATE_CLIENTS: dict[str, tuple[str, dict[str, Any], bytes]] = {
    "chat": ("/v1/chat/completions", BODY, b": ping\n\n"),
    "messages": ("/v1/messages", {**BODY, "max_tokens": 9}, b'event: ping\ndata: {"type":"ping"}\n\n'),
    "responses": ("/v1/responses", {"model": "m", "input": QUESTION}, b": ping\n\n"),
    "gemini": ("/v1beta/models/m:streamGenerateContent?alt=sse", {"contents": [{"parts": [{"text": "Hi"}]}]}, b"\n"),
    "array": ("/v1beta/models/m:streamGenerateContent", {"contents": [{"parts": [{"text": "Hi"}]}]}, b"\n"),
}
late_clients = pytest.mark.parametrize(("path", "body", "ping"), LATE_CLIENTS.values(), ids=LATE_CLIENTS)


@late_clients
def test_a_stream_begins_and_is_not_silent_before_the_first_word(path: str, body: dict[str, Any], ping: bytes):
    reply = Reply()
    application = app([serve_model(Late(reply, ping), NATIVE)], ping_seconds=0.01)
    asyncio.run(send_request(application, {**body, "stream": True}, path=path, reply=reply))
    assert (reply.status, reply.body.count(ping) >= 4) == (200, True)
    if "v1beta" in path:  # the last letter comes with the end of the answer
        assert "".join(re.findall(r'"text":"([^"]*)"', reply.body.decode())) == "at last"
    else:
        assert b"at last" in reply.body
    if reply.headers["content-type"].startswith("application/json"):
        assert len(reply.json) == 2


@late_clients
def test_an_error_after_that_is_in_the_stream(path: str, body: dict[str, Any], ping: bytes):
    reply = Reply()
    application = app([serve_model(Late(reply, ping, fails=True), NATIVE)], ping_seconds=0.01)
    asyncio.run(send_request(application, {**body, "stream": True}, path=path, reply=reply))
    assert reply.status == 200
    assert b"It broke. (req_" in reply.body


def test_a_model_that_fails_at_once_has_the_status_of_an_error():
    model = ScriptedModel([breaks(StreamInterrupted("It broke."))])
    assert ask(app([serve_model(model, NATIVE)], ping_seconds=60), {**BODY, "stream": True}).status == 502


def test_a_client_that_leaves_while_it_gets_pings_stops_the_model():
    async def leave() -> None:
        reply, leaves = Reply(), asyncio.Event()
        model = Late(reply, b"never")
        application = app([serve_model(model, NATIVE)], ping_seconds=0.01)
        request = send_request(application, {**BODY, "stream": True}, reply=reply, leaves=leaves)
        task = asyncio.create_task(request)
        while reply.body.count(b": ping") < 2:
            await asyncio.sleep(0.001)
        leaves.set()
        await task
        assert not model.is_speaking

    asyncio.run(leave())


# An error in the middle of a stream


def stream_broken(path: str, body: dict[str, Any]) -> Reply:
    application = app([serve_model(ScriptedModel([breaks(StreamInterrupted("It broke."), text="partial")]), NATIVE)])
    return ask(application, {**body, "stream": True}, path=path)


def test_responses_have_an_error_before_the_end():
    *_, error, last = stream_broken("/v1/responses", {"model": "m", "input": "Hi"}).chunks
    assert (error["type"], last["type"]) == ("error", "response.failed")
    assert error["message"] == last["response"]["error"]["message"]
    assert error["sequence_number"] == last["sequence_number"] - 1


def test_gemini_has_the_error_once_more_as_bare_json():
    path, body, _ = LATE_CLIENTS["gemini"]
    reply = stream_broken(path, body)
    *_, event, bare = reply.body.decode().split("\n\n")
    assert event.removeprefix("data: ") == bare
    assert json.loads(bare)["error"]["code"] == 502
    *texts, error = stream_broken(*LATE_CLIENTS["array"][:2]).json  # an array stays one
    assert (len(texts), error["error"]["code"]) == (2, 502)
