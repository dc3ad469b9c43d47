"""Public MCP servers, as they are installed from npm and the Python index.

`make test-mcp` installs and runs them. Servers that misbehave are written for the tests: `tests/mcp`.
"""

import asyncio
import json
import os
import signal
import subprocess

import pytest

from mcp import Client, StdioServerParameters
from tests.mcp.conftest import find_children
from toolspeak import Agent, ToolError
from toolspeak.mcp.connection import MAX_TOOLS
from toolspeak.testing import ScriptedModel, calls, says
from toolspeak.values.errors import ServerFailed
from toolspeak.values.messages import Media

SERVERS = ("filesystem", "everything", "git", "clock")
LONG = "trigger-long-running-operation"


@pytest.fixture(autouse=True)
def repository(folder):
    subprocess.run(["git", "init", "-q", str(folder)], check=True)


async def list_definitions(command):
    """Return the tools of a server as the client of the SDK gets them."""
    program, *arguments = command
    async with Client(StdioServerParameters(command=program, args=arguments)) as client:
        listed = (await client.list_tools()).tools
    return {each.name: each.model_dump(by_alias=True, exclude_unset=True, mode="json") for each in listed}


def run_alone(main):
    """Run a coroutine, and check that it leaves no task."""

    async def run():
        result = await main()
        assert asyncio.all_tasks() == {asyncio.current_task()}
        return result

    return asyncio.run(run())


def make_calls(tools, *made):
    """Let an agent make calls one after the other, and return their records."""
    model = ScriptedModel([*(calls(each) for each in made), says("done")])
    outcome = Agent(model, tools).run("go")
    assert outcome.text == "done"
    return outcome.calls


@pytest.mark.parametrize("name", SERVERS)
def test_every_tool_is_listed_with_its_own_schema(connect, request, name):
    command = request.getfixturevalue(name)
    definitions = asyncio.run(list_definitions(command))
    box = connect(command).load()
    assert not box.skipped
    assert 0 < len(box) <= MAX_TOOLS
    for tool, (listed, definition) in zip(box, definitions.items(), strict=True):
        assert tool.spec.name == listed
        assert json.dumps(tool.spec.parameters) == json.dumps(definition["inputSchema"])
        assert json.dumps(tool.spec.returns) == json.dumps(definition.get("outputSchema"))


def test_files(connect, filesystem, folder):
    path = str(folder / "note.txt")
    read, outside, wrong = make_calls(
        [connect(filesystem)],
        ("read_text_file", {"path": path}),
        ("read_text_file", {"path": "/etc/hostname"}),
        ("read_text_file", {"file": path}),
    )
    assert "remember the milk" in json.dumps(read.output)
    assert "outside allowed directories" in outside.error
    assert "path: missing" in wrong.error


def test_a_repository(connect, git, folder):
    status, error = make_calls(
        [connect(git)], ("git_status", {"repo_path": str(folder)}), ("git_status", {"repo_path": "/nonexistent"})
    )
    assert "note.txt" in json.dumps(status.output)
    assert error.error


def test_the_time(connect, clock):
    now, error = make_calls(
        [connect(clock)],
        ("get_current_time", {"timezone": "Asia/Tokyo"}),
        ("get_current_time", {"timezone": "Nowhere/Atlantis"}),
    )
    assert "Asia/Tokyo" in json.dumps(now.output)
    assert "Nowhere/Atlantis" in error.error


def test_an_image_is_media(connect, everything):
    (made,) = make_calls([connect(everything)], ("get-tiny-image", {}))
    (picture,) = made.result.media
    assert isinstance(picture, Media)
    assert (picture.mime, picture.data[:4]) == ("image/png", b"\x89PNG")


def test_progress_is_reported(connect, everything):
    seen = []
    tools = connect(everything, on_progress=lambda *report: seen.append(report))
    (made,) = make_calls([tools], (LONG, {"duration": 0.2, "steps": 4}))
    assert "completed" in json.dumps(made.output)
    assert [(name, done, total) for name, done, total, _ in seen] == [(LONG, step, 4.0) for step in (1, 2, 3, 4)]


def test_a_call_is_cancelled_and_the_server_lives(connect, everything):
    async def main():
        begun = asyncio.Event()
        loop = asyncio.get_running_loop()
        report = lambda *_: loop.call_soon_threadsafe(begun.set)  # noqa: E731 (a callback)
        async with connect(everything, on_progress=report) as tools:
            box = await tools.aload()
            task = asyncio.create_task(box[LONG](duration=120, steps=1200))
            await begun.wait()
            task.cancel()
            with pytest.raises(asyncio.CancelledError):
                await task
            return await box["echo"](message="alive")

    assert "alive" in run_alone(main)


def test_a_call_is_given_up_in_time_and_the_server_lives(connect, everything):
    tools = connect(everything, call_timeout=1)
    late, echo = make_calls([tools], (LONG, {"duration": 120, "steps": 2}), ("echo", {"message": "alive"}))
    assert "did not come back within 1 s" in late.error
    assert "alive" in echo.output


@pytest.mark.parametrize("name", ["everything", "filesystem"])
def test_a_server_that_is_killed_is_started_again(connect, request, name):
    """Killed between calls: a call that fails by the death is an error, and the next one has an answer."""
    command = request.getfixturevalue(name)
    probe = ("echo", {"message": "x"}) if name == "everything" else ("list_allowed_directories", {})

    async def main():
        before = find_children()
        async with connect(command) as tools:
            box = await tools.aload()
            (process,) = find_children() - before
            os.killpg(process, signal.SIGKILL)
            answers = []
            for _ in range(2):
                try:
                    answers.append(await box[probe[0]](**probe[1]))
                except ToolError as error:
                    answers.append(error)
            (again,) = find_children() - before
            assert again != process
            return answers[-1]

    assert not isinstance(run_alone(main), Exception)


def test_a_server_that_is_killed_in_a_call_is_an_answer(connect, everything):
    async def main():
        begun = asyncio.Event()
        loop = asyncio.get_running_loop()
        report = lambda *_: loop.call_soon_threadsafe(begun.set)  # noqa: E731 (a callback)
        before = find_children()
        async with connect(everything, on_progress=report) as tools:
            box = await tools.aload()
            task = asyncio.create_task(box[LONG](duration=120, steps=1200))
            await begun.wait()
            (process,) = find_children() - before
            os.killpg(process, signal.SIGKILL)
            with pytest.raises(ServerFailed, match=r"gave no answer .*; the call may have taken effect"):
                await task
            return await box["echo"](message="back")

    assert "back" in run_alone(main)


def test_all_servers_at_once(connect, request):
    tools = [connect(request.getfixturevalue(name)) for name in SERVERS]
    made = make_calls(
        tools, ("echo", {"message": "one"}), ("get_current_time", {"timezone": "UTC"}), ("list_allowed_directories", {})
    )
    assert [call.error for call in made] == [None, None, None]
