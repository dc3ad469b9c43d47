"""MCP over stateless HTTP: alone, and beside the gateway, behind its rules."""

import asyncio
import re
import signal
import subprocess
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager, contextmanager
from pathlib import Path
from typing import Any

import httpx2
import pytest
from mcp.client import Client
from mcp.client.streamable_http import streamable_http_client

from mcp import types
from tests.gateway.conversing import scripted
from tests.gateway.hosting import ask, host_app, serve_model
from toolspeak import discover
from toolspeak.dialects import TYPESCRIPT
from toolspeak.gateway import AccessRules, app
from toolspeak.gateway.app import mounted_app
from toolspeak.mcp.served_tools import ToolServer

from .connecting import OFFICE, command, environment, eras, talk, text_of

KEY = "correct-horse-battery-staple"
LIST = {"jsonrpc": "2.0", "id": 1, "method": "tools/list"}
HEADERS = [("accept", "application/json, text/event-stream"), ("content-type", "application/json")]


def build(rules: AccessRules = AccessRules()) -> Any:  # noqa: B008 (it is frozen)
    return mounted_app({"/mcp": ToolServer(discover(OFFICE))}, rules)


@pytest.fixture(scope="module")
def url() -> Iterator[str]:
    """A gateway with an MCP server beside it."""
    rules = AccessRules(key=KEY, origins=frozenset({"https://page.example"}))
    application = app([serve_model(scripted(), TYPESCRIPT)], rules, mounted={"/mcp": ToolServer(discover(OFFICE))})
    with host_app(application) as address:
        yield f"{address}/mcp"


@asynccontextmanager
async def connect(url: str, era: str, **options: Any) -> AsyncIterator[Client]:
    async with (
        httpx2.AsyncClient(headers={"authorization": f"Bearer {KEY}"}, timeout=60) as http_client,
        Client(streamable_http_client(url, http_client=http_client), mode=era, **options) as client,
    ):
        yield client


@eras
def test_a_session_beside_the_gateway(era: str, url: str):
    reports: list[float] = []

    async def note(done: float, total: float | None, text: str | None) -> None:
        reports.append(done)

    async def work(client: Client) -> None:
        assert len((await client.list_tools()).tools) == 16
        assert (await client.call_tool("add", {"first": "1"})).structured_content == {"result": 2}
        assert (await client.call_tool("fail", {"reason": "bad luck"})).is_error
        assert (await client.call_tool("halve")).structured_content == {"half": "?"}
        counted = await client.call_tool("count", {"pages": 3}, progress_callback=note)
        assert counted.structured_content == {"result": 3}
        greetings = await asyncio.gather(*(client.call_tool("greet", {"name": str(each)}) for each in range(20)))
        assert [text_of(each) for each in greetings] == [f"Hello {each}!" for each in range(20)]

    talk(connect(url, era), work)
    assert reports[-1] == 3


@eras
def test_a_call_that_needs_approval_is_a_question_to_the_client(era: str, url: str):
    """Before the protocol of 2026-07-28, a server that keeps nothing has no way to ask."""
    asked: list[str] = []

    async def answer(context: Any, question: Any) -> types.ElicitResult:
        asked.append(question.message)
        return types.ElicitResult(action="accept" if "3" in question.message else "decline", content={})

    async def work(client: Client) -> list[str]:
        return [text_of(await client.call_tool("burn", {"papers": papers})) for papers in (3, 4)]

    nobody = "burn was not run: it needs approval, and there is nobody here to ask."
    answers = talk(connect(url, era, elicitation_callback=answer), work)
    if era == "legacy":
        assert (all(each.startswith(nobody) for each in answers), asked) == (True, [])
    else:
        assert answers == ["burned 3", "burn was not run: the user did not approve it."]
        assert asked == ['Run burn with {"papers": 3}?', 'Run burn with {"papers": 4}?']
    assert all(each.startswith(nobody) for each in talk(connect(url, era), work))


@eras
def test_a_client_that_disconnects_cancels_its_call(era: str, url: str, tmp_path: Path):
    async def work(client: Client) -> None:
        calling = asyncio.create_task(client.call_tool("wait", {"marks": str(tmp_path)}))
        while not (tmp_path / "began").exists():
            await asyncio.sleep(0.01)
        calling.cancel()
        with pytest.raises(asyncio.CancelledError):
            await calling

    async def look() -> None:
        while not (tmp_path / "cancelled").exists():
            await asyncio.sleep(0.01)

    talk(connect(url, era), work)
    asyncio.run(look())


# Access


def reply(body: Any = LIST, *, rules: AccessRules = AccessRules(), **options: Any) -> Any:  # noqa: B008 (it is frozen)
    headers = [*HEADERS, *options.pop("headers", [])]
    return ask(build(rules), body, path="/mcp", headers=headers, **options)


def test_the_rules_of_the_gateway_hold():
    keyed = AccessRules(key=KEY, origins=frozenset({"https://page.example"}))
    assert reply().status == 200
    assert reply(host="evil.example").status == 403
    assert reply(headers=[("origin", "https://evil.example")]).status == 403
    assert reply(rules=keyed).status == 401
    assert reply(rules=keyed, headers=[("x-api-key", "wrong")]).status == 401
    answer = reply(rules=keyed, headers=[("authorization", f"Bearer {KEY}"), ("origin", "https://page.example")])
    assert (answer.status, answer.headers["access-control-allow-origin"]) == (200, "https://page.example")
    assert answer.headers["x-request-id"].startswith("req_")


def test_hostile_bodies_are_refused():
    assert reply(b"x" * 10_000_001).status == 413
    assert reply(b'"' + b"x" * 5_000_000 + b'"').status == 413
    assert reply(b"[" * 100).status == 400
    assert reply(b"{nonsense").status == 400
    assert reply([LIST]).status == 400
    assert reply(method="GET").status == 405
    assert reply(method="DELETE").status == 405
    modern = [("mcp-protocol-version", "2026-07-28")]
    assert reply(b"{nonsense", headers=modern).status == 400
    assert reply(headers=modern).status == 400  # without the fields that this version asks for
    assert reply(headers=[("mcp-protocol-version", "1999-01-01")]).status == 400


# The commands


@contextmanager
def serving(*arguments: str, **variables: str) -> Iterator[tuple[str, "subprocess.Popen[str]"]]:
    """The line that was printed, and the process."""
    with subprocess.Popen(
        list(arguments),
        env={**environment(), **variables},
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    ) as process:
        try:
            assert process.stdout is not None
            yield process.stdout.readline(), process
        finally:
            process.kill()


@pytest.mark.slow
def test_the_command_serves_until_ctrl_c():
    arguments = command(f"{OFFICE}:greet", "--http", "127.0.0.1:0", "--key-env", "KEY", "--name", "porter")
    with serving(*arguments, KEY=KEY) as (line, process):
        found = re.fullmatch(r"(http://127.0.0.1:\d+/mcp) serves greet to MCP clients; Ctrl-C stops it\n", line)
        assert found, process.stderr and process.stderr.read()

        async def work(client: Client) -> tuple[str, str]:
            return client.server_info.name, text_of(await client.call_tool("greet", {"name": "Ada"}))

        assert talk(connect(found[1], "auto"), work) == ("porter", "Hello Ada!")
        process.send_signal(signal.SIGINT)
        assert process.wait(60) == 0
        log = process.stderr.read() if process.stderr else ""
    assert re.search(r"req_\w+ POST /mcp 200 \d+ ms\n", log)
    assert "Traceback" not in log


def test_serve_mounts_tools_beside_the_models(tmp_path: Path):
    with host_app(app([serve_model(scripted(), TYPESCRIPT)])) as upstream:
        gateway = [command()[0], "-m", "toolspeak.cli", "serve", "--port", "0", "--dialect", "json"]
        model = ["--model", f"{upstream}/v1#scripted", "--mcp", f"{OFFICE}:greet"]
        with serving(*gateway, *model, HOME=str(tmp_path), PYTHONUNBUFFERED="1") as (first, process):
            assert process.stdout is not None
            line = process.stdout.readline()
            found = re.fullmatch(r"(http://127.0.0.1:\d+)/mcp serves greet to MCP clients\n", line)
            assert found, (first, line, process.stderr and process.stderr.read())
            said = talk(connect(f"{found[1]}/mcp", "auto"), lambda each: each.call_tool("greet", {"name": "Ada"}))
            assert text_of(said) == "Hello Ada!"
