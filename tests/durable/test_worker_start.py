"""Workers whose dispatcher cannot be started or stopped, and how a process for one run gets its address."""

import asyncio
import contextlib
from collections.abc import AsyncGenerator, Collection, Sequence
from contextlib import asynccontextmanager
from pathlib import Path

import pytest

from toolspeak import Agent
from toolspeak.durable import Runs, Worker
from toolspeak.durable.dispatch import ClaimDispatcher, Driving, Entry
from toolspeak.durable.quarantine import Quarantine
from toolspeak.durable.rows import RunRow
from toolspeak.testing import ScriptedModel, says
from toolspeak.values.errors import UsageError

from .loops import in_loop


class BrokenDispatcher(ClaimDispatcher):
    """A dispatcher that fails when it is launched, or when it is left."""

    def __init__(self, runs: Runs, when: str) -> None:
        super().__init__(runs.watcher, can_isolate=False)
        self._when = when

    @asynccontextmanager
    async def launch(self, worker: Driving) -> AsyncGenerator[None]:
        if self._when == "launched":
            raise RuntimeError("broken")
        yield
        raise RuntimeError("broken")


@pytest.mark.parametrize("when", ["launched", "left"])
@in_loop
async def test_a_worker_whose_dispatcher_fails_does_not_go_on_beating(tmp_path: Path, when: str) -> None:
    async with Runs(f"sqlite:///{tmp_path}/runs.db") as runs:
        agents = {"echo": Agent(ScriptedModel([says("Hello.")]))}
        worker = Worker(runs, agents, lease=0.3, dispatcher=BrokenDispatcher(runs, when))
        with pytest.raises(RuntimeError, match="broken"):
            async with worker:
                assert [row.worker for row in await runs.workers()] == [worker.name]
        assert await runs.workers() == []
        with pytest.raises(Exception, match="was closed"):
            await worker.read(lambda session: session.read_clock())


class NotingDispatcher:
    """A dispatcher that hands out nothing, and notes what is entered."""

    def __init__(self) -> None:
        self.entered: set[str] = set()
        self.changed = asyncio.Event()

    @asynccontextmanager
    async def launch(self, worker: Driving) -> AsyncGenerator[None]:
        yield

    async def enqueue(self, runs: Sequence[RunRow]) -> None:
        self.entered |= {run.run_id for run in runs}
        self.changed.set()

    async def forget(self, entries: Collection[Entry]) -> None:
        pass

    async def held_by_none_of(self, alive: Collection[str]) -> Sequence[Entry]:
        return ()


@in_loop
async def test_every_run_is_entered_even_if_other_workers_enter_nothing(tmp_path: Path) -> None:
    async with Runs(f"sqlite:///{tmp_path}/runs.db") as runs:
        for name in ("a", "b", "z"):  # they live, and do nothing
            await runs.write(lambda session, name=name: session.beat(name, 600_000))
        dispatcher = NotingDispatcher()
        agents = {"echo": Agent(ScriptedModel([says("Hello.")]))}
        async with Worker(runs, agents, dispatcher=dispatcher), asyncio.timeout(60):
            started = {(await runs.start("echo", "Hi.")).id for _ in range(20)}
            while dispatcher.entered != started:
                await dispatcher.changed.wait()
                dispatcher.changed.clear()
        assert await runs.read(lambda session: session.list_undispatched(100)) == []


@in_loop
async def test_the_address_of_a_store_is_no_argument_of_a_process(tmp_path: Path) -> None:
    """Arguments of processes are no secret, and the address may have a password."""
    agents, noted = tmp_path / "noting.py", tmp_path / "noted"
    agents.write_text(
        "import sys\nfrom pathlib import Path\nfrom toolspeak import Agent\n"
        "from toolspeak.testing import ScriptedModel, says\n"
        f"Path({str(noted)!r}).write_text(' '.join(sys.orig_argv))\n"
        "agents = {'helper': Agent(ScriptedModel([says('Hello.')]))}\n"
    )
    url = f"sqlite:///{tmp_path}/secret.db"
    async with Runs(url) as runs:
        started = await runs.start("helper", "Hi.")
        run = await runs.write(lambda session: session.claim(started.id, 1, "w1"))
        assert run is not None
        assert await Quarantine(url, f"{agents}:agents", "w1").drive(run) == 0
        assert (await started.outcome(timeout=60)).text == "Hello."
    assert "isolated_run" in noted.read_text()
    assert "secret.db" not in noted.read_text()


@in_loop
async def test_the_working_directory_of_a_process_for_one_run_shadows_nothing(tmp_path: Path) -> None:
    """A file there with the name of a module of the standard library does not run; one that the agents import does."""
    folder = tmp_path / "folder"
    folder.mkdir()
    for module in ("sqlite3", "aiohttp", "h2"):
        (folder / f"{module}.py").write_text(f"open({str(tmp_path / module)!r}, 'w').close()\n")
    (folder / "words_beside.py").write_text("HELLO = 'Hello.'\n")
    (folder / "app.py").write_text(
        "from words_beside import HELLO\nfrom toolspeak import Agent\n"
        "from toolspeak.testing import ScriptedModel, says\n"
        "agents = {'helper': Agent(ScriptedModel([says(HELLO)]))}\n"
    )
    url = f"sqlite:///{tmp_path}/runs.db"
    async with Runs(url) as runs:
        started = await runs.start("helper", "Hi.")
        run = await runs.write(lambda session: session.claim(started.id, 1, "w1"))
        assert run is not None
        with contextlib.chdir(folder):
            assert await Quarantine(url, f"{folder}/app.py:agents", "w1").drive(run) == 0
        assert (await started.outcome(timeout=60)).text == "Hello."
    assert not [name for name in ("sqlite3", "aiohttp", "h2") if (tmp_path / name).exists()]


DEPS_APP = """
from toolspeak import Agent, tool
from toolspeak.testing import ScriptedModel, calls, says
from toolspeak.tools import Context

loads = 0


@tool
def who(context: Context[str]) -> str:
    "Say who asks."
    return context.deps


def make_deps(run):
    return f"{run.data['tenant']}, from {__name__}"


agents = {"asker": Agent(ScriptedModel([calls(("who", {})), says("Done.")]), [who])}
"""


@pytest.mark.parametrize("where", ["in the worker", "in a process of its own"])
@in_loop
async def test_deps_are_made_by_a_function_that_is_named(tmp_path: Path, where: str) -> None:
    (tmp_path / "app.py").write_text(DEPS_APP)
    url, agents, deps = f"sqlite:///{tmp_path}/runs.db", f"{tmp_path}/app.py:agents", f"{tmp_path}/app.py:make_deps"
    async with Runs(url) as runs:
        started = await runs.start("asker", "Who?", data={"tenant": "acme"})
        if where == "in the worker":
            async with Worker(runs, agents, deps=deps):
                outcome = await started.outcome(timeout=60)
        else:
            run = await runs.write(lambda session: session.claim(started.id, 1, "w1"))
            assert run is not None
            assert await Quarantine(url, agents, "w1", deps).drive(run) == 0
            outcome = await started.outcome(timeout=60)
    assert outcome.calls[0].output == "acme, from __toolspeak_quarantine__"


def test_deps_that_are_not_there_are_explained(tmp_path: Path) -> None:
    (tmp_path / "app.py").write_text(DEPS_APP)
    (tmp_path / "other.py").write_text("def make_deps(run): return 'other'")
    runs, agents = Runs(f"sqlite:///{tmp_path}/runs.db"), f"{tmp_path}/app.py:agents"
    Worker(runs, agents, deps=f"{tmp_path}/other.py:make_deps")
    for deps, problem in {
        "make_deps": "does not say where the function that makes deps is",
        f"{tmp_path}/app.py:make": r"app\.py has no function 'make' that makes deps; write def make\(run\)",
        f"{tmp_path}/app.py:loads": "has no function 'loads'",
    }.items():
        with pytest.raises(UsageError, match=problem):
            Worker(runs, agents, deps=deps)
    with pytest.raises(UsageError, match="so agents= must, too"):
        Worker(runs, {"echo": Agent(ScriptedModel([]))}, deps="app.py:make_deps")
    runs.close()
