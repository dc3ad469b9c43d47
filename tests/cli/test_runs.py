"""`toolspeak worker` and `toolspeak runs`: a real worker, and commands in processes of their own."""

import asyncio
import json
import os
import re
import shlex
import signal
import subprocess
import sys
from collections.abc import Callable, Generator, Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from tests.cases import each_case
from tests.durable.postgres import temporary_database
from toolspeak import Agent, Tool, tool
from toolspeak.cli.log import format_time
from toolspeak.cli.runs import _TranscriptViewer  # pyright: ignore[reportPrivateUsage] (what it draws is checked)
from toolspeak.durable import Runs, Worker
from toolspeak.testing import ScriptedModel, calls, says
from toolspeak.values.events import ApprovalGiven, ApprovalNeeded, ToolSuspended
from toolspeak.values.messages import ToolCall

from .commands import Done, run_command
from .terminal import terminal

APP = '''
from toolspeak import Agent, tool
from toolspeak.testing import ScriptedModel, calls, says
from toolspeak.tools import Context

print("loading the app")


@tool(effect="once", approve=True)
def pay(amount: int) -> str:
    """Pay."""
    return f"paid {amount}"


@tool
async def rest() -> str:
    """Wait for ever."""
    import asyncio

    await asyncio.Event().wait()
    return ""


@tool
def who(context: Context[str]) -> str:
    """Say who asks."""
    return context.deps


@tool(effect="once")
async def ship(order: int, context: Context) -> str:
    """Ship an order when it is paid."""
    return f"shipped: {await context.wait_for(f'payment-{order}', timeout=3600)}"


def make_deps(run):
    return f"the books of {run.data.get('tenant')}"


agents = {
    "reader": Agent(ScriptedModel([calls(("who", {})), says("I looked.")]), [who]),
    "payer": Agent(ScriptedModel([calls(("pay", {"amount": 7})), says("It is paid.")]), [pay]),
    "echo": Agent(ScriptedModel([says("Hello there.")] * 3)),
    "sleeper": Agent(ScriptedModel([calls(("rest", {})), says("Rested."), says("Rested again.")]), [rest]),
    "shop": Agent(ScriptedModel([calls(("ship", {"order": 42})), says("Shipped.")]), [ship]),
}
single = agents["echo"]
'''


class Shop:
    """A folder with agents and a store, and commands that use it."""

    def __init__(self, folder: Path, store: str = "") -> None:
        self.folder = folder
        self.store = store or f"sqlite:///{folder}/runs.db"
        (folder / "app.py").write_text(APP)
        own = {name: value for name, value in os.environ.items() if not name.startswith(("TOOLSPEAK_", "XDG_"))}
        self.environment = {**own, "HOME": str(folder), "TOOLSPEAK_STORE": self.store}

    def run(self, *arguments: str) -> Done:
        return run_command(*arguments, cwd=self.folder, env=self.environment)

    def start(self, *arguments: str) -> str:
        """Start a run and return its id."""
        done = self.run("runs", "start", *arguments)
        assert done.returncode == 0, done.stderr
        return done.stdout.strip()

    def start_worker(self, *arguments: str) -> "subprocess.Popen[str]":
        command = [sys.executable, "-m", "toolspeak.cli", "worker", *arguments]
        pipe = subprocess.PIPE
        return subprocess.Popen(command, cwd=self.folder, env=self.environment, stdout=pipe, stderr=pipe, text=True)

    def wait_for_pause(self, run_id: str) -> str:
        """Wait until a call of a run waits for an approval, and return its id."""
        with Runs(self.store) as runs:
            for each in runs.handle(run_id).events_sync():
                if isinstance(each.event, ApprovalNeeded):
                    break
            return next(iter(runs.handle(run_id).waiting_sync())).id


@contextmanager
def open_shop(shop: Shop) -> Generator[Shop]:
    """Let a worker drive the runs of a shop."""
    with shop.start_worker("app.py:agents", "--deps", "app:make_deps", "--slots", "4", "--lease", "20") as process:
        assert process.stdout is not None
        assert process.stderr is not None
        line = process.stdout.readline()
        assert f" drives reader, payer, echo, sleeper, shop from {shop.store}; Ctrl-C" in line, process.stderr.read()
        yield shop
        process.send_signal(signal.SIGTERM)
        assert process.wait(timeout=60) == 0
        errors = process.stderr.read()
        assert errors.count("loading the app") == 1  # standard output is for what the command says
        assert "Traceback" not in errors
    with Runs(shop.store) as runs:
        assert runs.workers_sync() == []


@pytest.fixture(scope="module")
def shop(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Shop]:
    """A shop whose runs are in an SQLite file."""
    with open_shop(Shop(tmp_path_factory.mktemp("shop"))) as shop:
        yield shop


@pytest.fixture(scope="module")
def postgres_shop(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Shop]:
    """A shop whose runs are in a Postgres database, where DBOS hands them out."""
    with temporary_database() as store, open_shop(Shop(tmp_path_factory.mktemp("shop"), store)) as shop:
        yield shop


def test_a_run_is_started_and_followed_to_its_answer(shop: Shop) -> None:
    done = shop.run("runs", "start", "echo", "Hi.", "--follow")
    assert (done.returncode, done.stdout) == (0, "Hello there.\n")
    run_id = done.stderr.split()[1]
    events = [json.loads(line) for line in shop.run("runs", "follow", run_id, "--json").stdout.splitlines()]
    assert events[0]["kind"] == "run_started"
    rest = shop.run("runs", "follow", run_id, "--json", "--after", events[1]["id"])
    assert [json.loads(line) for line in rest.stdout.splitlines()] == events[2:]
    shown = shop.run("runs", "show", run_id)
    assert f"{run_id} · " in shown.stdout
    assert " · echo · answered\nYou: Hi.\nassistant: Hello there.\n" in shown.stdout


def test_a_run_that_no_worker_can_drive_is_started_with_a_warning(shop: Shop, tmp_path: Path) -> None:
    misspelt = shop.run("runs", "start", "ecko", "Hi.")
    assert misspelt.returncode == 0
    assert "no worker has the agent 'ecko', and the run waits for one; they have " in misspelt.stderr
    assert "echo" in misspelt.stderr
    assert shop.run("runs", "cancel", misspelt.stdout.strip()).returncode == 0
    alone = shop.run("runs", "start", "echo", "Hi.", "--store", f"sqlite:///{tmp_path}/other.db")
    assert "no worker is running" in alone.stderr
    assert "no worker" not in shop.run("runs", "start", "echo", "Hi.").stderr


def test_a_key_stands_for_one_run(shop: Shop) -> None:
    run_id = shop.start("echo", "Hi.", "--key", "ticket-7")
    again = shop.run("runs", "start", "echo", "Hi.", "--key", "ticket-7", "--json")
    assert json.loads(again.stdout) == {"id": run_id, "is_new": False}
    other = shop.run("runs", "start", "echo", "Something else.", "--key", "ticket-7")
    assert other.returncode == 2
    assert "'ticket-7' was used for another request" in other.stderr


def test_the_first_answer_to_a_call_counts(shop: Shop) -> None:
    run_id = shop.start("payer", "Pay 7.", "--priority", "3")
    call_id = shop.wait_for_pause(run_id)
    early = shop.run("runs", "approve", run_id, "no-such-call")
    assert (early.returncode, early.stdout) == (2, "")
    assert "no call 'no-such-call'" in early.stderr
    assert f"waits for approval: pay(amount=7) ({call_id})" in shop.run("runs", "show", run_id).stdout
    changed = shop.run("runs", "approve", run_id, call_id, "--digest", "0" * 32)
    assert (changed.returncode, "is not the one that was approved" in changed.stderr) == (2, True)
    yes = shop.run("runs", "approve", run_id, "--by", "ann")
    assert (yes.returncode, yes.stdout) == (0, "approved: pay(amount=7)\n")
    second = shop.run("runs", "approve", run_id, call_id, "--no")
    assert (second.returncode, second.stdout) == (1, "")
    assert "the first answer counts" in second.stderr
    followed = shop.run("runs", "follow", run_id)
    assert (followed.returncode, followed.stdout) == (0, "It is paid.\n")
    assert "pay(amount=7) → paid 7" in followed.stderr
    facts = [json.loads(line)["fact"] for line in shop.run("runs", "show", run_id, "--json").stdout.splitlines()]
    assert [each["by"] for each in facts if each["kind"] == "approval_given"] == ["ann"]
    assert "\n  pay was approved by ann\n" in shop.run("runs", "show", run_id).stdout


def test_a_signal_lets_a_call_go_on(shop: Shop) -> None:
    run_id = shop.start("shop", "Ship it.")
    with Runs(shop.store) as runs:
        for each in runs.handle(run_id).events_sync():
            if isinstance(each.event, ToolSuspended):
                break
    shown = shop.run("runs", "show", run_id).stdout
    assert "\n  ship: waits for payment-42, at most 3600 s\n" in shown
    assert re.search(r"\nwaits for payment-42 until \S+ \S+ \(", shown)
    wrong = shop.run("runs", "signal", "payment-42", "paid")
    assert (wrong.returncode, "'paid' is not JSON" in wrong.stderr) == (2, True)
    sent = shop.run("runs", "signal", "payment-42", '{"amount": 7}')
    assert (sent.returncode, sent.stdout) == (0, "payment-42 is sent\n")
    again = shop.run("runs", "signal", "payment-42")
    assert (again.returncode, "the first one counts" in again.stderr) == (1, True)
    followed = shop.run("runs", "follow", run_id)
    assert (followed.returncode, followed.stdout) == (0, "Shipped.\n")
    assert "  ship: payment-42 came\n" in followed.stderr
    assert "shipped: {'amount': 7}" in followed.stderr


def test_data_reaches_deps_and_finds_runs(shop: Shop) -> None:
    followed = shop.start("reader", "Who?", "--data", "tenant=acme", "--data", "user=7", "--follow", "--json")
    run_id = json.loads(followed.splitlines()[0])["run_id"]
    shown = shop.run("runs", "show", run_id).stdout
    assert " · answered · tenant=acme · user=7\n" in shown
    assert "the books of acme" in shown
    listed = shop.run("runs", "list", "--data", "tenant=acme", "--data", "user=7", "--json")
    assert [(each["id"], each["data"]) for each in json.loads(listed.stdout)] == [
        (run_id, {"tenant": "acme", "user": "7"})
    ]
    assert shop.run("runs", "list", "--data", "tenant=other").stdout == ""
    wrong = shop.run("runs", "list", "--data", "acme")
    assert (wrong.returncode, "write --data NAME=VALUE" in wrong.stderr) == (2, True)


def test_a_run_is_refused_a_call_with_a_reason(shop: Shop) -> None:
    run_id = shop.start("payer", "Pay 7.")
    shop.wait_for_pause(run_id)
    assert "add --no" in shop.run("runs", "approve", run_id, "--reason", "Too much.").stderr
    no = shop.run("runs", "approve", run_id, "--no", "--reason", "Too much.", "--by", "ann")
    assert (no.returncode, no.stdout) == (0, "refused: pay(amount=7)\n")
    assert "pay was refused by ann: Too much." in shop.run("runs", "follow", run_id).stderr


def test_runs_are_listed_cancelled_and_pruned(shop: Shop) -> None:
    run_id = shop.start("sleeper", "Sleep.")
    rows = shop.run("runs", "list", "--agent", "sleeper").stdout.splitlines()
    assert [(row.split("\t")[0], row.split("\t")[2], row.split("\t")[4]) for row in rows] == [
        (run_id, "sleeper", "Sleep.")
    ]
    assert shop.run("runs", "cancel", run_id).stdout == f"{run_id} is cancelled\n"
    followed = shop.run("runs", "follow", run_id)
    assert (followed.returncode, "stopped" in followed.stderr) == (130, True)
    again = shop.run("runs", "cancel", run_id)
    assert (again.returncode, "has ended already" in again.stderr) == (1, True)
    [listed] = json.loads(shop.run("runs", "list", "--agent", "sleeper", "--status", "done", "--json").stdout)
    assert (listed["id"], listed["stop_reason"], listed["prompt"]) == (run_id, "cancelled", "Sleep.")
    assert shop.run("runs", "retry", run_id).stdout == f"{run_id} is queued again\n"
    assert shop.run("runs", "follow", run_id).returncode == 0
    assert "was answered; start another run" in shop.run("runs", "retry", run_id).stderr
    assert "say what comes next" in shop.run("runs", "fork", run_id).stderr
    forked = shop.run("runs", "fork", run_id, "And now?").stdout.strip()
    assert forked != run_id
    assert shop.run("runs", "follow", forked).returncode == 0
    assert shop.run("runs", "prune", "--days", "1").stdout == "0 runs deleted\n"


@pytest.mark.slow
@pytest.mark.parametrize(
    "check",
    [
        test_a_run_is_started_and_followed_to_its_answer,
        test_the_first_answer_to_a_call_counts,
        test_data_reaches_deps_and_finds_runs,
        test_runs_are_listed_cancelled_and_pruned,
    ],
)
def test_the_commands_do_the_same_in_postgres(check: Callable[[Shop], None], postgres_shop: Shop) -> None:
    check(postgres_shop)


def test_a_schedule_is_made_listed_and_dropped(shop: Shop) -> None:
    times = ("--cron", "30 9 * * mon-fri", "--timezone", "Asia/Tokyo")
    made = shop.run("runs", "schedule", "daily", "echo", "Report.", *times)
    assert made.stdout.startswith("daily starts echo next at "), made.stderr
    listed = shop.run("runs", "schedules").stdout
    assert listed.startswith("daily  echo  30 9 * * mon-fri Asia/Tokyo  next at ")
    assert shop.run("runs", "schedules", "--drop", "daily").stdout == "daily starts no more runs\n"
    gone = shop.run("runs", "schedules", "--drop", "daily")
    assert gone.returncode == 1
    assert "there is no schedule 'daily'; there are: none" in gone.stderr


def test_runs_are_found_by_their_end_and_counted(shop: Shop) -> None:
    started = shop.start("echo", "Hi.", "--lane", "acme", "--concurrency", "1", "--delay", "0s")
    assert shop.run("runs", "follow", started).returncode == 0
    assert started in shop.run("runs", "list", "--stop", "answered", "--since", "1d").stdout
    head, *rows = shop.run("runs", "stats").stdout.splitlines()
    assert head.split()[:4] == ["agent", "runs", "open", "ended"]
    assert any(row.startswith("echo ") and "answered" in row for row in rows)


def test_a_run_is_found_by_the_beginning_of_its_id(tmp_path: Path) -> None:
    shop = Shop(tmp_path)
    with Runs(shop.store) as runs:
        ids = [runs.start_sync("echo", "Hi.").id for _ in range(17)]  # two of them begin with the same digit
    shared = next(each[0] for place, each in enumerate(ids) if each[0] in {other[0] for other in ids[:place]})
    several = shop.run("runs", "cancel", shared)
    assert several.returncode == 2
    assert f"runs have ids that begin with {shared}: " in several.stderr
    assert shop.run("runs", "cancel", ids[3][:12]).stdout == f"{ids[3]} is cancelled\n"
    assert shop.run("runs", "show", "").returncode == 2


@pytest.mark.parametrize(
    ("columns", "shown"),
    [
        (100, ["ID  TIME  agent   status  first words", "ID  TIME  echoes  queued  Say how the weather is in Oslo, and whe…"]),
        (60, ["ID  TIME  agent   status", "  first words", "ID  TIME  echoes  queued",
              "  Say how the weather is in Oslo, and whether it will be", "  colder."]),
    ],
)  # fmt: skip
def test_the_list_of_runs_has_headings_and_wraps_between_words(tmp_path: Path, columns: int, shown: list[str]) -> None:
    shop = Shop(tmp_path)
    with Runs(shop.store) as runs:
        run = runs.start_sync("echoes", "Say how the weather is in Oslo, and whether it will be colder.").row_sync()
    with terminal(tmp_path, "runs", "list", "--store", shop.store, columns=columns) as screen:
        assert screen.wait_for_exit() == 0
        text = screen.text.replace(run.run_id, "ID").replace(format_time(run.created / 1000), "TIME")
        headings = f"{'id':24}  {'time':16}"
        assert [line.rstrip() for line in text.replace(headings, "ID  TIME").splitlines()] == shown


def test_a_wrong_command_is_explained(shop: Shop, tmp_path: Path) -> None:
    def explain(*arguments: str) -> str:
        done = shop.run(*arguments)
        assert (done.returncode, done.stdout) == (2, "")
        return done.stderr

    assert "there is no run nowhere in the store" in explain("runs", "show", "nowhere")
    assert "give the whole id, as the list of runs has it" in explain("runs", "follow", "5d8a")
    assert "it may have been pruned" in explain("runs", "cancel", "5d8a" * 6)
    with Runs(f"sqlite:///{tmp_path}/empty.db") as empty:
        assert not empty.list_sync()
    assert "there are no runs in" in explain("runs", "follow", "--store", f"sqlite:///{tmp_path}/empty.db")
    for command in (["list"], ["show"], ["approve", "5d8a"], ["prune", "--days", "1"]):
        assert "there is no store" in explain("runs", *command, "--store", f"sqlite:///{tmp_path}/there/misspelt.db")
    assert not (tmp_path / "there").exists()
    assert "use sqlite:///FILE or postgresql://" in explain("runs", "list", "--store", "runs.db")
    assert "no lane 'gpt'" in explain("runs", "start", "echo", "Hi.", "--lane", "gpt")
    assert "--since soon is not a time; write 90s" in explain("runs", "list", "--since", "soon")
    assert "--stop tired: a run ends for one of answered" in explain("runs", "list", "--stop", "tired")
    assert "either cron= or every=" in explain("runs", "schedule", "s", "echo", "Hi.")
    assert "there is no file nowhere.py" in explain("worker", "nowhere.py:agents")
    assert "there is no module nowhere; a file is written nowhere.py" in explain("worker", "nowhere:agents")
    assert "app.py has no agents under the name 'nobody'" in explain("worker", "app.py:nobody")
    assert "write FILE.py:NAME or MODULE:NAME" in explain("worker", "app")


@pytest.mark.slow
def test_one_agent_is_known_by_its_variable_and_ctrl_c_stops_a_worker(tmp_path: Path) -> None:
    shop = Shop(tmp_path)
    run_id = shop.start("single", "Hi.")
    with shop.start_worker("app:single") as process:
        assert process.stdout is not None
        assert " drives single from " in process.stdout.readline()
        assert shop.run("runs", "follow", run_id).stdout == "Hello there.\n"
        process.send_signal(signal.SIGINT)
        assert process.wait(timeout=60) == 0
    assert shop.run("runs", "prune", "--days", "0").stdout == "1 run deleted\n"


@tool
async def nap() -> str:
    """Rest for a while."""
    await asyncio.sleep(0.5)
    return "rested"


def test_a_run_that_is_followed_late_shows_how_long_its_calls_took(tmp_path: Path) -> None:
    shop = Shop(tmp_path)
    agents = {"napper": Agent(ScriptedModel([calls(("nap", {})), says("Good morning.")]), [nap])}
    with Runs(shop.store) as runs, Worker(runs, agents):
        run_id = (run := runs.start_sync("napper", "Rest.")).id
        run.outcome_sync(timeout=60)
    followed = shop.run("runs", "follow", run_id)
    assert (followed.returncode, followed.stdout) == (0, "Good morning.\n")
    seconds = re.search(r"→ rested  (\S+) s", followed.stderr)
    assert seconds is not None
    assert float(seconds[1]) >= 0.5


def test_a_run_that_failed_says_why(tmp_path: Path) -> None:
    shop = Shop(tmp_path)
    with Runs(shop.store) as runs, Worker(runs, {"echo": Agent(ScriptedModel([says("Hi.")]))}):
        run = runs.start_sync("echo", "Hi.", tool_choice=["nothing"])
        detail = run.outcome_sync(timeout=60).detail
    assert "nothing" in detail
    line = f"\nstopped (error): {detail}\n"
    assert line in shop.run("runs", "show", run.id).stdout
    followed = shop.run("runs", "follow", run.id)
    assert (followed.returncode, line in followed.stderr) == (1, True), followed


@pytest.mark.slow
def test_somebody_who_is_asked_again_is_told_why(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    @tool(name="pay", approve=True)
    def pay(amount: int) -> str:
        """Pay."""
        return f"paid {amount}"

    @tool(name="pay", approve=True)
    def pay_abroad(amount: int, iban: str = "NO93") -> str:
        """Pay."""
        return f"paid {amount} to {iban}"

    def build(paying: Tool[..., str]) -> dict[str, Agent]:
        return {"payer": Agent(ScriptedModel([calls(("pay", {"amount": 7})), says("Done.")]), [paying])}

    shop = Shop(tmp_path)
    with Runs(shop.store) as runs:
        run = runs.start_sync("payer", "Pay.")
        with Worker(runs, build(pay)):
            call_id = shop.wait_for_pause(run.id)
        run.approve_sync(call_id)
        with Worker(runs, build(pay_abroad)):
            events = (each.event for each in run.events_sync())
            next(event for event in events if isinstance(event, ApprovalGiven))
            next(event for event in events if isinstance(event, ApprovalNeeded))
        assert f"run {run.id}: somebody is asked again, since pay has changed" in caplog.text
        shown = shop.run("runs", "show", run.id).stdout
        assert f"waits for approval again, since the tool has changed: pay(amount=7) ({call_id})" in shown
        run.cancel_sync()
        with Worker(runs, build(pay_abroad)):
            run.outcome_sync(timeout=60)
    command = f"toolspeak runs approve {run.id} {call_id}"
    followed = shop.run("runs", "follow", run.id).stderr
    assert f"  waits for approval: {command}\n" in followed
    assert f"  waits for approval again, since the tool has changed: {command}\n" in followed


@each_case("call_id", ["call_1", "x; touch mark", "$(touch mark)", "`touch mark`", "--yes", "a\nb", "'", "*"])
def test_the_command_that_approves_a_call_can_be_pasted(capsys: pytest.CaptureFixture[str], call_id: str):
    viewer = _TranscriptViewer("run1", {})
    viewer.show("1", ApprovalNeeded(call=ToolCall(id=call_id, name="pay", arguments={})))
    viewer.close()
    line = next(each for each in capsys.readouterr().err.splitlines() if "waits for approval: " in each)
    words = shlex.split(line.partition("waits for approval: ")[2])
    end = ["--"] if call_id.startswith("-") else []
    assert words == ["toolspeak", "runs", "approve", "run1", *end, call_id.replace("\n", "\\n")]
