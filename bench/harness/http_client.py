"""One client in its environment: `python -I http_client.py SIDE URL` performs the tasks on its standard input.

A line is a `Task` of `over_http.py` as JSON; the reply is the CPU seconds of one run, all threads together, or, if the
model is silent, the bytes of memory that each of the runs that wait for it takes. The process
stays the same from one task to the next, as in a program that uses the client. The outcome is checked: a run that makes
fewer calls, or ends with another answer, must not be timed.
"""

import asyncio
import json
import resource
import runpy
import sys
from pathlib import Path
from time import process_time

SIDES = Path(__file__).resolve().parent / "http_sides"

SETTLE_SECONDS = 2
"""How long memory must not have grown before it is read."""

calls_made = 0


def look(x: int) -> str:
    """Look something up.

    Args:
        x: which of them
    """
    global calls_made
    calls_made += 1
    return "found"


async def look_async(x: int) -> str:
    """Look something up.

    Args:
        x: which of them
    """
    return look(x)


def keep(text: str) -> str:
    """Keep a text.

    Args:
        text: what to keep
    """
    return look(0)


look_async.__name__ = "look"
TOOLS = {"sync": look, "async": look_async, "keep": keep}


def main(side, url):
    make_agent = runpy.run_path(str(SIDES / f"{side}.py"))["agent"]
    loop = asyncio.new_event_loop()
    asyncio.set_event_loop(loop)
    agents = {}
    for line in sys.stdin:
        task = json.loads(line)
        key = task["model"], task["tool"]
        if key not in agents:
            agents[key] = make_agent(url, task["model"], TOOLS[task["tool"]])
        measure = measure_memory if task["model"].startswith("silent") else time_task
        print(loop.run_until_complete(measure(agents[key], task)), flush=True)


async def time_task(run, task):
    async def run_checked():
        before = calls_made
        answer = await run(task["stream"])
        if not answer.endswith("42.") or (task["at_once"] == 1 and calls_made - before != task["calls"]):
            raise SystemExit(f"{task}: {calls_made - before} calls, then {answer[-50:]!r}")

    await run_checked()  # opens a connection that was closed meanwhile, and warms up a new agent
    start = process_time()
    for _ in range(task["runs"]):
        await asyncio.gather(*(run_checked() for _ in range(task["at_once"])))
    return (process_time() - start) / task["runs"] / task["at_once"]


async def measure_memory(run, task):
    """Return the bytes that one of many runs takes while it waits. Their pace says when all of them have been sent."""
    first = asyncio.ensure_future(run(task["stream"]))  # imports and makes all that the runs share
    await asyncio.sleep(SETTLE_SECONDS)
    before = resident_bytes()
    waiting = [asyncio.ensure_future(run(task["stream"])) for _ in range(task["at_once"])]
    last = 0
    while (now := resident_bytes()) > last:
        last = now
        await asyncio.sleep(SETTLE_SECONDS)
    for each in (first, *waiting):
        if each.done():
            raise SystemExit(f"{task}: a run has ended: {each}")
    return (last - before) / task["at_once"]


def resident_bytes():
    pages = int(Path("/proc/self/statm").read_text().split()[1])
    return pages * resource.getpagesize()


if __name__ == "__main__":
    main(*sys.argv[1:])
