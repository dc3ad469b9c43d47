"""One side, in its environment: `python -I http_client.py SIDE URL` measures what lines on its stdin ask for.

A line is a task as `over_http.py` has it, in JSON; the answer is seconds of CPU a run, all threads together. The side
stays the same process from one task to the next, as a program that uses it would. What it comes to is checked: a run
that makes fewer calls, or gives another answer, is not worth timing.
"""

import asyncio
import json
import runpy
import sys
from pathlib import Path
from time import process_time

SIDES = Path(__file__).resolve().parent / "http_sides"

made = 0


def look(x: int) -> str:
    """Look something up.

    Args:
        x: which of them
    """
    global made
    made += 1
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
        print(loop.run_until_complete(timed(agents[key], task)), flush=True)


async def timed(run, task):
    async def checked():
        before = made
        answer = await run(task["stream"])
        if not answer.endswith("42.") or (task["at_once"] == 1 and made - before != task["calls"]):
            raise SystemExit(f"{task}: {made - before} calls, then {answer[-50:]!r}")

    await checked()  # a connection that was closed meanwhile is opened again, an agent that is new warms up
    start = process_time()
    for _ in range(task["runs"]):
        await asyncio.gather(*(checked() for _ in range(task["at_once"])))
    return (process_time() - start) / task["runs"] / task["at_once"]


if __name__ == "__main__":
    main(*sys.argv[1:])
