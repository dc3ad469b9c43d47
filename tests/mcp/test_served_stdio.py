"""`toolspeak mcp serve` over standard input and output, run as clients run it."""

import asyncio
import json
import re
import signal
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest
from mcp.client import Client

from mcp import types
from toolspeak import UsageError
from toolspeak.cli.mcp import McpServeOptions, build_tool_server, name_server, serve
from toolspeak.mcp.served_tools import MAX_MESSAGE_BYTES

from .connecting import OFFICE, command, environment, eras, over_stdio, talk, text_of

SECONDS = 60


@eras
def test_a_session(era: str, tmp_path: Path):
    """What functions and their children print goes to standard error, and they cannot read the messages."""

    async def work(client: Client) -> None:
        assert len((await client.list_tools()).tools) == 16
        assert text_of(await client.call_tool("shout", {"text": "NOISE"})) == "''"
        assert (await client.call_tool("add", {"first": 1})).structured_content == {"result": 2}
        assert (await client.call_tool("fail", {"reason": "bad luck"})).is_error
        calling = asyncio.create_task(client.call_tool("wait", {"marks": str(tmp_path)}))
        while not (tmp_path / "began").exists():
            await asyncio.sleep(0.01)
        calling.cancel()
        with pytest.raises(asyncio.CancelledError):
            await calling
        while not (tmp_path / "cancelled").exists():
            await asyncio.sleep(0.01)

    with (tmp_path / "errors").open("w+") as errors:
        talk(over_stdio(era, errors=errors), work)
        errors.seek(0)
        log = errors.read()
    assert log.startswith("toolspeak: ")
    assert log.count("NOISE\n") == 3
    assert "tool fail failed" in log


@eras
def test_a_call_that_needs_approval_is_a_question_to_the_client(era: str):
    asked: list[str] = []

    async def answer(context: Any, question: Any) -> types.ElicitResult:
        asked.append(question.message)
        return types.ElicitResult(action="accept" if "3" in question.message else "decline", content={})

    async def work(client: Client) -> list[str]:
        return [text_of(await client.call_tool("burn", {"papers": papers})) for papers in (3, 4)]

    refused = "burn was not run: the user did not approve it."
    assert talk(over_stdio(era, elicitation_callback=answer), work) == ["burned 3", refused]
    assert asked == ['Run burn with {"papers": 3}?', 'Run burn with {"papers": 4}?']
    without = talk(over_stdio(era), work)
    assert all("it needs approval, and there is nobody here to ask" in each for each in without)


# By hand

HELLO = {
    "jsonrpc": "2.0",
    "id": 0,
    "method": "initialize",
    "params": {"protocolVersion": "2025-06-18", "capabilities": {}, "clientInfo": {"name": "hand", "version": "1"}},
}


class Hand:
    """A server that is written to by hand."""

    def __init__(self, process: "subprocess.Popen[bytes]") -> None:
        self.process = process

    def send(self, message: Any) -> None:
        assert self.process.stdin is not None
        self.process.stdin.write(message if isinstance(message, bytes) else json.dumps(message).encode() + b"\n")
        self.process.stdin.flush()

    def call(self, number: int, tool: str, /, **arguments: Any) -> None:
        params = {"name": tool, "arguments": arguments}
        self.send({"jsonrpc": "2.0", "id": number, "method": "tools/call", "params": params})

    def read(self) -> Any:
        assert self.process.stdout is not None
        return json.loads(self.process.stdout.readline())

    def leave(self) -> int:
        assert self.process.stdin is not None
        self.process.stdin.close()
        return self.process.wait(SECONDS)


@contextmanager
def by_hand(*arguments: str) -> Iterator[Hand]:
    with subprocess.Popen(
        command(*arguments or (str(OFFICE),)),
        env=environment(),
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
    ) as process:
        try:
            hand = Hand(process)
            hand.send(HELLO)
            assert hand.read()["result"]["serverInfo"]["name"] == "office"
            hand.send({"jsonrpc": "2.0", "method": "notifications/initialized"})
            yield hand
        finally:
            process.kill()


def test_bad_lines_are_answered_and_the_server_lives():
    with by_hand() as hand:
        for line in (b"{nonsense\n", b"[]\n", b'{"jsonrpc": "2.0"}\n', b"[" * 100_000 + b"\n", b"\xff\xfe\n"):
            hand.send(line)
            assert (answer := hand.read())["error"]["message"] == "the line is not a JSON-RPC message"
            assert (answer["id"], answer["error"]["code"]) == (None, -32700)
        hand.send(b"\n")
        hand.send(b'{"x": "' + b"y" * (3 * MAX_MESSAGE_BYTES) + b'"}\n')
        assert "longer than 4,000,000 bytes" in hand.read()["error"]["message"]
        hand.call(1, "greet", name="x" * 1_000_000)
        assert len(hand.read()["result"]["content"][0]["text"]) == 1_000_007
        hand.send({"jsonrpc": "2.0", "id": 2, "method": "tools/destroy"})
        assert hand.read()["error"]["code"] == -32601
        hand.call(3, "add", first=1)
        assert hand.read()["result"]["structuredContent"] == {"result": 2}
        assert hand.leave() == 0


def read_memory(process: "subprocess.Popen[bytes]") -> int:
    """Return the largest memory that a process has held, in bytes."""
    lines = Path(f"/proc/{process.pid}/status").read_text().splitlines()
    return next(int(line.split()[1]) * 1024 for line in lines if line.startswith("VmHWM"))


@pytest.mark.slow
@pytest.mark.skipif(sys.platform != "linux", reason="it reads /proc")
def test_a_flood_of_calls_is_answered_in_bounded_memory():
    """The client writes all the while and reads nothing until the server has stopped reading."""
    calls = 3_000
    with by_hand() as hand:
        before = read_memory(hand.process)

        async def flood() -> None:
            def write() -> None:
                for number in range(calls):
                    hand.call(number, "greet", name="x" * 10_000)

            writing = asyncio.create_task(asyncio.to_thread(write))
            await asyncio.wait({writing}, timeout=1)
            assert not writing.done()  # the pipe is full, and so is the server
            answers = [await asyncio.to_thread(hand.read) for _ in range(calls)]
            await writing
            assert {answer["id"] for answer in answers} == set(range(calls))

        asyncio.run(flood())
        assert read_memory(hand.process) - before < 60_000_000
        assert hand.leave() == 0


@pytest.mark.slow
def test_calls_that_never_end_do_not_keep_others_from_being_refused_or_cancelled(tmp_path: Path):
    with by_hand() as hand:
        for number in range(256):
            hand.call(number, "wait", marks=str(tmp_path))
        hand.call(256, "greet", name="Ada")
        refusal = hand.read()
        assert refusal["id"] == 256
        assert "too many calls at once: 64 run and 192 wait" in refusal["error"]["message"]
        for number in range(256):
            hand.send({"jsonrpc": "2.0", "method": "notifications/cancelled", "params": {"requestId": number}})
        hand.call(257, "greet", name="Ada")
        assert hand.read()["result"]["content"][0]["text"] == "Hello Ada!"


@pytest.mark.slow
def test_a_client_that_disappears_ends_the_server(tmp_path: Path):
    with by_hand() as hand:
        hand.call(1, "wait", marks=str(tmp_path))
        hand.call(2, "sleep")
        hand.call(3, "greet", name="Ada")
        hand.read()
        assert hand.leave() == 0
    assert (tmp_path / "cancelled").exists()


@pytest.mark.slow
def test_a_client_that_no_longer_reads_ends_the_server():
    with by_hand() as hand:
        assert hand.process.stdout is not None
        hand.process.stdout.close()
        hand.call(1, "greet", name="Ada")
        assert hand.process.wait(SECONDS) == 0


@pytest.mark.slow
def test_ctrl_c_ends_the_server():
    with by_hand() as hand:
        hand.process.send_signal(signal.SIGINT)
        assert hand.process.wait(SECONDS) == 0


# What is said at start


def test_what_is_not_served_is_said_at_start(tmp_path: Path, capsys: pytest.CaptureFixture[str]):
    path = tmp_path / "odd.py"
    path.write_text(
        "from toolspeak import Context\n"
        "def size(x: int) -> int:\n    'The size.'\n    return x\n"
        "def größe(x: int) -> int:\n    'The size.'\n    return x\n"
        "def query(sql: str, context: Context[dict[str, int]]) -> int:\n    'Ask.'\n    return 1\n",
        encoding="utf-8",
    )
    server = build_tool_server((str(path),))
    assert (server.protocol.name, server.toolbox.names) == ("odd", ("size",))
    out, said = capsys.readouterr()
    assert (out, said.splitlines()) == (
        "",
        [
            f"toolspeak: 1 skipped (toolspeak tools {path} --skipped says why)",
            "toolspeak: query is not served: it takes deps in its Context, and the server has none; give deps=… to "
            "ToolServer",
        ],
    )


@pytest.mark.parametrize(
    ("target", "name"),
    [("tools/weather.py:now", "weather"), ("package.module", "module"), ("tools/", "tools"), ("größe", "gr-e")],
)
def test_a_server_is_named_after_its_target(target: str, name: str):
    assert name_server(target) == name


@pytest.mark.parametrize(
    ("options", "said"),
    [
        ({"targets": ("nowhere.py",)}, "there is no file nowhere.py"),
        ({"key_env": "KEY"}, "--key-env and --allow-origin are for HTTP"),
        ({"http": "8000"}, "--http 8000: write HOST:PORT, such as 127.0.0.1:8000"),
        ({"http": "0.0.0.0:0"}, "can be reached by others, so a key is needed"),
        ({"http": "127.0.0.1:0", "origins": ("*",)}, "--allow-origin *: write one origin"),
    ],
)
def test_a_wrong_command_line_is_explained(options: dict[str, Any], said: str):
    with pytest.raises(UsageError, match=re.escape(said)):
        serve(McpServeOptions(**{"targets": (str(OFFICE),), **options}))
