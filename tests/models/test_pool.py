"""Connections: one pool for each event loop, shared, and nothing of it left when the loop ends."""

import asyncio
import gc
import json
import ssl
import subprocess
import sys
import textwrap
import threading
import weakref
from collections.abc import Callable, Coroutine
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest

from tests.cases import RUNS_ALL, sample
from tests.run.playing import Clock, left, until
from toolspeak.models import RetryPolicy
from toolspeak.run import Agent
from toolspeak.testing import calls, says
from toolspeak.values.events import TextDelta

from .asking import answer, at, collect_pieces, question, run_within
from .recorded import RECORDED, delta, events
from .server import APIS, Api, Connection, Post, Server, answers, plays, serving, silence, streams

CALM = RetryPolicy(read_timeout=60, total_timeout=80)


def test_many_models_share_one_pool(server: Server):
    server.plays(plays([says("Hello.")]))

    async def one_after_another() -> None:
        for number in range(10):
            await collect_pieces(at(server, APIS[number % 2], key=f"key-{number}"), stream=number % 3 > 0)

    run_within(one_after_another())
    assert (len(server.posts), server.connections) == (10, 1)
    assert [post.headers.get("authorization") for post in server.posts[:3]] == ["Bearer key-0", None, "Bearer key-2"]


def test_an_error_does_not_cost_a_connection(server: Server):
    server.plays(answers(500, {"error": {"message": "x"}}), answers(500, b""), streams(RECORDED["openai"]["text"]))
    answer(at(server))
    assert (len(server.posts), server.connections) == (3, 1)


def test_a_connection_that_died_while_idle_is_replaced(server: Server):
    """A server ends idle connections when it likes; whoever asks next does not notice."""

    async def once(post: Post, connection: Connection) -> None:
        await streams(RECORDED["openai"]["text"])(post, connection)
        connection.close()

    server.plays(once)

    async def three_times() -> None:
        for _ in range(3):
            await collect_pieces(at(server, retry=RetryPolicy(attempts=2, first_wait=0.001)))
            await asyncio.sleep(0.02)

    run_within(three_times())
    assert server.connections == 3


def test_an_event_loop_that_has_ended_is_freed(server: Server):
    server.plays(plays([says("Hello.")]))
    loops: list[weakref.ref[Any]] = []
    idle = server.open  # what the portal keeps

    async def ask() -> None:
        loops.append(weakref.ref(asyncio.get_running_loop()))
        await collect_pieces(at(server))

    for _ in range(5):
        asyncio.run(ask())
    until(lambda: gc.collect() >= 0 and not any(ref() for ref in loops))
    assert len(loops) == 5
    until(lambda: server.open <= idle)


def run_python(code: str, folder: Path, *arguments: str, **environ: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-W", "error", "-c", textwrap.dedent(code), *arguments],
        cwd=folder,
        env={"HOME": str(folder), "PYTHONDONTWRITEBYTECODE": "1", **environ},
        capture_output=True,
        text=True,
        timeout=80,
    )


EVERY_WAY_TO_END = """
    import asyncio, gc, sys
    from toolspeak import Agent
    agent = Agent(sys.argv[1], dialect="native")

    async def sync_within_async():
        return agent.run("Go on.").text

    async def stream_that_is_left():
        async for event in agent.astream("Go on."):
            if event.kind == "text_delta":
                return event.text

    def sync_stream_that_is_left():
        for event in agent.stream("Go on."):
            if event.kind == "text_delta":
                return event.text

    print(asyncio.run(agent.arun("Go on.")).text)
    print(asyncio.run(agent.arun("Go on.")).text)
    print(asyncio.run(stream_that_is_left()))
    print(asyncio.run(sync_within_async()))
    print(agent.run("Go on.").text)
    print(sync_stream_that_is_left())
    gc.collect()
"""


@pytest.mark.parametrize("secure", [pytest.param(False, marks=pytest.mark.slow), True], ids=["http", "https"])
def test_nothing_is_left_open_at_the_end(tmp_path: Path, secure: bool):
    certificate = Path(__file__).with_name("self_signed.pem")
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(certificate)
    with serving(context if secure else None) as server:
        server.plays(plays([says("Hello.")], chunk=None))
        done = run_python(EVERY_WAY_TO_END, tmp_path, f"{server.url}/v1#m", SSL_CERT_FILE=str(certificate))
        assert (done.stdout, done.stderr, done.returncode) == ("Hello.\n" * 6, "", 0)
        until(lambda: server.open == 0)


@pytest.mark.parametrize("api", sample(APIS, 2))
def test_two_hundred_streams_at_once(server: Server, api: Api):
    """Each gets its own answer, all of it, in order."""

    async def act(post: Post, connection: Connection) -> None:
        tokens = " ".join(f"{post.prompt}:{place}" for place in range(40))
        await plays([says(tokens)], chunk=9)(post, connection)

    server.plays(act)
    model = at(server, api, retry=CALM)

    async def one(number: int) -> None:
        pieces = await collect_pieces(model, str(number))
        text = " ".join(f"{number}:{place}" for place in range(40))
        assert "".join(piece.text for piece in pieces if isinstance(piece, TextDelta)) == text
        assert pieces[-1].parts[0].text == text

    async def all_of_them() -> None:
        async with asyncio.TaskGroup() as group:
            for number in range(200):
                group.create_task(one(number))
        assert left() == []

    run_within(all_of_them())
    assert len(server.posts) == 200


def test_many_threads_share_the_portal(server: Server):
    server.plays(plays([calls(("twice", {"x": 4})), says("8.")]))

    def twice(x: int) -> int:
        "Twice."
        return 2 * x

    agent = Agent(at(server, retry=CALM), [twice])
    with ThreadPoolExecutor(16) as threads:
        texts = list(threads.map(lambda _: agent.run("Go on.").text, range(64)))
    assert texts == ["8."] * 64
    assert len(server.posts) == 128
    # Each portal has connections of its own. There is one, unless its event loop did not respond for a moment, as on a
    # busy machine: then a second portal is started.
    portals = [thread for thread in threading.enumerate() if thread.name == "toolspeak portal"]
    assert server.connections <= 16 * len(portals)


MANY_RUNS = """
    import asyncio, gc, os, sys, time
    from contextlib import suppress
    from toolspeak import Agent

    def count_open_files():
        gc.collect()
        return len(os.listdir("/proc/self/fd"))

    agent = Agent(sys.argv[1], dialect="native")
    agent.run("Go on.")
    asyncio.run(agent.arun("Go on."))
    before = count_open_files()  # the portal keeps what it may use again
    for number in range(int(sys.argv[2])):
        with suppress(Exception):
            asyncio.run(agent.arun("Go on.")) if number % 3 else agent.run("Go on.")
    end = time.monotonic() + 60
    while count_open_files() > before and time.monotonic() < end:
        time.sleep(0.05)
    print(count_open_files() <= before)
"""


@pytest.mark.skipif(not Path("/proc/self/fd").exists(), reason="Linux tells which files are open")
def test_no_sockets_are_left_after_many_runs(server: Server, tmp_path: Path):
    """In a process of its own, whose files are those of these runs alone."""
    data = RECORDED["openai"]["text"]
    troubles = [
        streams(data),
        streams(data[:300], ending="close"),
        streams(data[:300], ending="reset"),
        answers(400, b"x"),
    ]

    async def trouble(post: Post, connection: Connection) -> None:
        await troubles[max(len(server.posts) - 3, 0) % 4](post, connection)  # the first two runs are to succeed

    server.plays(trouble)
    count = 300 if RUNS_ALL else 40
    done = run_python(MANY_RUNS, tmp_path, f"{server.url}/v1#m", str(count))
    assert (done.stdout, done.stderr, done.returncode) == ("True\n", "", 0)
    assert len(server.posts) == count + 2


# Cancelling


async def drips(post: Post, connection: Connection) -> None:
    connection.head(kind="text/event-stream")
    while True:
        await connection.write(events(delta(content="x ")))
        await asyncio.sleep(0.01)


async def is_asked(server: Server) -> None:
    while not server.posts:
        await asyncio.sleep(0.01)


async def cancelled_task(agent: Agent, server: Server) -> None:
    task = asyncio.create_task(agent.arun("Go on."))
    await is_asked(server)
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task


async def left_stream(agent: Agent, server: Server) -> None:
    async with agent.astream("Go on.") as stream:
        async for event in stream:
            if isinstance(event, TextDelta):
                break


async def cancelled_stream(agent: Agent, server: Server) -> None:
    stream = agent.astream("Go on.")
    async for event in stream:
        if isinstance(event, TextDelta):
            stream.cancel()
    assert stream.outcome.stop_reason == "cancelled"
    assert stream.outcome.text.startswith("x")


async def closed_generator(agent: Agent, server: Server) -> None:
    answer = agent.model.ask(question())
    await anext(answer)
    await answer.aclose()


async def timed_out(agent: Agent, server: Server) -> None:
    limit = asyncio.timeout(None)

    async def end_time() -> None:
        await is_asked(server)
        limit.reschedule(0)

    ending = asyncio.create_task(end_time())
    with pytest.raises(TimeoutError):
        async with limit:
            await agent.arun("Go on.")
    await ending


@pytest.mark.parametrize("leave", [cancelled_task, left_stream, cancelled_stream, closed_generator, timed_out])
def test_whoever_leaves_hangs_up(server: Server, leave: Callable[[Agent, Server], Coroutine[Any, Any, None]]):
    server.plays(drips)

    async def leaving() -> None:
        await leave(Agent(at(server, retry=CALM)), server)
        clock = Clock()
        while not server.hung_up:
            await asyncio.sleep(0.01)
            assert clock() < 60
        assert left() == []

    run_within(leaving())


def test_a_sync_stream_that_is_left_hangs_up(server: Server):
    server.plays(drips)
    with Agent(at(server, retry=CALM)).stream("Go on.") as stream:
        for event in stream:
            if isinstance(event, TextDelta):
                break
    until(lambda: server.hung_up == 1)


def test_one_call_is_enough(server: Server):
    """In a text, the stream is closed when the one call that is allowed is complete."""

    def look(city: str) -> str:
        "Look."
        return "mild"

    async def talks_on(post: Post, connection: Connection) -> None:
        if len(post.body["messages"]) > 2:
            await plays([says("?"), says("Mild.")])(post, connection)
            return
        connection.head(kind="text/event-stream")
        await connection.write(events(delta(content='```json\n{"name": "look", "arguments": {"city": "Wien"}}\n```\n')))
        while True:
            await connection.write(events(delta(content="And so on. ")))
            await asyncio.sleep(0.01)

    server.plays(talks_on)
    agent = Agent(at(server, retry=CALM), [look], dialect="json", parallel_tool_calls=False)
    assert run_within(agent.arun("Go on.")).text == "Mild."
    until(lambda: server.hung_up == 1)


SLOW = {
    "a stream": streams(
        *(events(delta(content=f"{number} ")) for number in range(5)), events(delta("stop")), pause=0.001
    ),
    "a whole answer": plays([says("Hello.")]),
    "tries": answers(503, b"", retry_after="0.001"),
    "silence": silence,
}


@pytest.mark.parametrize("what", SLOW)
def test_cancelled_at_every_step(server: Server, what: str):
    """Wherever a question is given up, nothing is left, and the next one is answered."""
    server.plays(SLOW[what])
    model, idle = at(server, retry=CALM), server.open

    async def give_up_after(steps: int) -> bool:
        task = asyncio.create_task(collect_pieces(model, stream=what != "a whole answer"))
        for _ in range(steps):
            await asyncio.sleep(0 if steps < 40 else 0.0005)
        ended = task.done()
        task.cancel()
        await asyncio.wait([task])
        assert left() == []
        return ended

    async def all_steps() -> None:
        for steps in sample(range(70), 20):
            await give_up_after(steps)
        server.plays(streams(RECORDED["openai"]["text"]))
        assert (await collect_pieces(model))[-1].finish == "stop"

    run_within(all_steps())
    until(lambda: server.open <= idle)


# Loading


def test_what_is_loaded_and_when(server: Server, tmp_path: Path):
    server.plays(plays([says("Hello.")]))
    code = f"""
        import sys, json
        loaded = lambda: "aiohttp" in sys.modules
        import toolspeak
        steps = [loaded()]
        from toolspeak import Agent
        Agent("openai:x"), Agent("anthropic:x"), Agent("http://127.0.0.1/v1#x")
        import toolspeak.models
        toolspeak.models.connect("x", at="http://127.0.0.1/v1", key="k")
        steps.append(loaded())
        Agent({server.url + "/v1#m"!r}, dialect="native").run("Go on.")
        steps.append(loaded())
        steps.append(sorted({{"openai", "anthropic", "httpx", "httpx2", "requests"}} & set(sys.modules)))
        print(json.dumps(steps))
    """
    done = run_python(code, tmp_path)
    assert done.stderr == ""
    assert json.loads(done.stdout) == [False, False, False, []]


@pytest.mark.slow
def test_proxies_of_the_environment_are_used(server: Server, tmp_path: Path):
    """For others, not for this machine."""
    server.plays(plays([says("Hello.")]))
    code = f"""
        from toolspeak import Agent
        print(Agent({server.url + "/v1#m"!r}, dialect="native").run("Go on.").text)
        print(Agent("http://models.example/v1#m", dialect="native").run("Go on.").text)
    """
    port = server.url.rpartition(":")[2]
    done = run_python(code, tmp_path, http_proxy=f"127.0.0.1:{port}", HTTPS_PROXY="http://127.0.0.1:9")
    assert (done.stdout, done.stderr) == ("Hello.\nHello.\n", "")
    assert [post.path for post in server.posts] == ["/v1/chat/completions", "http://models.example/v1/chat/completions"]
