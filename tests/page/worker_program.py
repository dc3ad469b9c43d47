"""A worker of durable runs, in a process of its own, with a model that streams its text at some pace.

It says `ready` when it could begin, and begins when it reads a line.
"""

import asyncio
import sys

from toolspeak import Agent, tool
from toolspeak.durable import Runs, Worker
from toolspeak.testing import ScriptedModel
from toolspeak.testing.scripted import calls, says

STORY = "Once upon a time a letter had to be written, and nobody knew how it should begin. " * 3


@tool(approve=True)
def send_letter(to: str, text: str) -> str:
    """Send a letter."""
    return f"sent to {to}"


def build_agent(pace: float) -> Agent:
    """Make an agent that tells a story, and then wants to send a letter."""
    script = [calls(("send_letter", {"to": "Ada", "text": "Dear Ada"}), text=STORY), says("The letter is on its way.")]
    return Agent(ScriptedModel(script, dialect="python", chunk=6, pace=pace, name="story-teller"), tools=[send_letter])


async def serve(store: str, pace: float) -> None:
    """Drive runs until the process is killed or told to end."""
    async with Runs(store) as runs:
        await Worker(runs, {"writer": build_agent(pace)}, lease=1.0).arun()


if __name__ == "__main__":
    print("ready", flush=True)
    sys.stdin.readline()
    asyncio.run(serve(sys.argv[1], float(sys.argv[2])))
