"""A worker whose runs may kill it: `python poison_program.py STORE EFFECTS`."""

import os
import sys
import time
from pathlib import Path

from toolspeak import Agent, Limits, tool
from toolspeak.durable import Runs, Worker
from toolspeak.testing import ScriptedModel, calls, says

EFFECTS = Path(os.environ["EFFECTS"])


def note(line: str) -> None:
    with EFFECTS.open("a") as file:
        file.write(f"{line} {os.getpid()}\n")


@tool(effect="idempotent")
def crash() -> str:
    """End the process."""
    note("crash")
    os._exit(1)


@tool(effect="once")
def crash_once(turn: int) -> str:
    """End the process; the model is told that the outcome is unknown, and calls again."""
    note("crash")
    os._exit(1)


@tool(effect="once")
def crash_late(turn: int) -> str:
    """End the process when the call beside this one has a result."""
    time.sleep(0.5)
    note("crash")
    os._exit(1)


@tool(effect="idempotent")
def work(turn: int) -> str:
    """Work at once."""
    return "done"


@tool(effect="idempotent")
def wait_long() -> str:
    """Wait until the process is ended twice, and work then."""
    end = time.monotonic() + 60
    while EFFECTS.read_text().count("crash") < 2 and time.monotonic() < end:
        time.sleep(0.01)
    return "done"


agents = {
    "poison": Agent(ScriptedModel([calls(("crash", {})), says("Survived.")]), [crash]),
    "stubborn": Agent(
        ScriptedModel([*(calls(("crash_once", {"turn": turn})) for turn in range(9)), says("Survived.")]),
        [crash_once],
        limits=Limits(repeats=None),
    ),
    "paired": Agent(
        ScriptedModel(
            [*(calls(("crash_late", {"turn": turn}), ("work", {"turn": turn})) for turn in range(9)), says("Survived.")]
        ),
        [crash_late, work],
        limits=Limits(repeats=None),
    ),
    "innocent": Agent(ScriptedModel([calls(("wait_long", {})), says("Done.")]), [wait_long]),
}

if __name__ == "__main__":
    with Runs(sys.argv[1]) as runs:
        Worker(runs, agents, lease=0.5).run()
