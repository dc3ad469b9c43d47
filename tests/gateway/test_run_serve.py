"""`toolspeak serve --store`: durable runs over HTTP, from a real process that drives them and is stopped."""

import signal
from pathlib import Path

import pytest

from toolspeak.durable import Runs
from toolspeak.values.events import ToolStarted

from .test_run_routes import Client
from .test_serve import expect_refusal, serving

APP = '''
import asyncio

from toolspeak import Agent, tool
from toolspeak.testing import ScriptedModel, calls, says


@tool(effect="idempotent")
async def rest() -> str:
    """Wait until the file exists that ends it."""
    from pathlib import Path

    while not Path("rested").exists():
        await asyncio.sleep(0.01)
    return "rested"


agents = {
    "echo": Agent(ScriptedModel([says("Hello there.")])),
    "sleeper": Agent(ScriptedModel([calls(("rest", {})), says("Rested.")]), [rest]),
}
'''


@pytest.mark.slow
def test_runs_are_served_and_driven_and_parked_when_the_server_is_stopped(tmp_path: Path) -> None:
    (tmp_path / "app.py").write_text(APP)
    store = f"sqlite:///{tmp_path}/runs.db"
    arguments = ("--store", store, "--agents", "app.py:agents", "--key-env", "SECRET")
    with serving(tmp_path, *arguments, SECRET="a long secret") as (url, _, process):
        assert process.stdout is not None
        assert process.stdout.readline() == f"{url}/runs serves durable runs, driven here with app.py:agents\n"
        client = Client(url)
        run_id = client.start("echo")
        assert client.events(run_id)[-1].data["reason"] == "answered"
        assert Client(url, "wrong").ask("GET", "/runs").status == 401
        slow = client.start("sleeper")
        with Runs(store) as runs:
            next(each for each in runs.handle(slow).events_sync() if isinstance(each.event, ToolStarted))
            process.send_signal(signal.SIGTERM)
            (tmp_path / "rested").touch()
            assert process.wait(timeout=60) == 0
            row = runs.handle(slow).row_sync()
            assert (row.takeovers, row.deaths, row.owner) == (0, 0, "")
            assert runs.workers_sync() == []
        assert process.stderr is not None
        assert "Traceback" not in process.stderr.read()


def test_agents_without_a_store_and_wrong_ones_are_refused(tmp_path: Path) -> None:
    assert "--agents drives the runs of a store" in expect_refusal(tmp_path, "--agents", "app.py:agents")
    assert "--deps makes what the tools of agents get" in expect_refusal(tmp_path, "--deps", "app.py:make_deps")
    assert "use sqlite:///FILE" in expect_refusal(tmp_path, "--store", "runs.db")
    store = f"sqlite:///{tmp_path}/runs.db"
    assert "there is no file app.py" in expect_refusal(
        tmp_path, "--store", store, "--agents", "app.py:agents", "--port", "0"
    )
