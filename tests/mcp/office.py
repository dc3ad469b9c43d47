"""Functions that the tests serve, by `toolspeak mcp serve` or in this process."""

import asyncio
import os
import subprocess
import sys
import threading
import time
from pathlib import Path

from pydantic import BaseModel

from toolspeak import Context, Media, ToolError, tool


class Room(BaseModel):
    name: str
    seats: int = 4


@tool(effect="read")
def add(first: int, second: int = 1) -> int:
    """Add two numbers.

    Args:
        first: The first number.
        second: The second number.
    """
    return first + second


@tool(effect="idempotent")
def book(room: Room, days: list[int]) -> dict[str, int]:
    """Book a room for some days."""
    return {f"{room.name} {day}": room.seats for day in days}


def describe(name: str) -> Room:
    """Describe a room."""
    return Room(name=name)


def greet(name: str) -> str:
    """Greet somebody."""
    return f"Hello {name}!"


@tool(approve=True)
def burn(papers: int) -> str:
    """Burn papers."""
    return f"burned {papers}"


def shout(text: str) -> str:
    """Print a text everywhere, and read what there is."""
    print(text, flush=True)
    os.write(1, f"{text}\n".encode())
    subprocess.run([sys.executable, "-c", f"print({text!r})"], check=True)
    return repr(sys.stdin.read())


def fail(reason: str) -> str:
    """Fail for a reason."""
    if reason == "known":
        raise ToolError("the drawer is locked")
    raise ValueError(reason)


def lie() -> int:
    """Return something else than is promised."""
    return "seven"  # pyright: ignore[reportReturnType] (that is the point)


LET_GO = threading.Event()


@tool(timeout=0.05)
def hang() -> str:
    """Do not return for a long time."""
    LET_GO.wait(60)
    return "late"


def sleep() -> str:
    """Sleep in a thread, which nobody can end."""
    threading.Event().wait(300)
    return "awake"


async def count(pages: int, context: Context[None]) -> int:
    """Count pages, and report each."""
    for page in range(pages):
        await context.report_progress(page + 1, pages, f"page {page + 1}")
        await asyncio.sleep(0.01)
    return pages


async def wait(marks: str, context: Context[None]) -> str:
    """Wait until cancelled, and leave a mark in a folder then."""
    Path(marks, "began").touch()
    context.report_progress(1)
    try:
        await asyncio.sleep(60)
    except asyncio.CancelledError:
        Path(marks, "cancelled").touch()
        raise
    return "waited"


def draw() -> Media:
    """Draw a picture."""
    return Media(mime="image/png", data=b"\x89PNG\r\n\x1a\n")


@tool(max_output=10)
def write(letters: int) -> str:
    """Write some letters."""
    return "x" * letters


def halve() -> dict[str, str]:
    """Return half of a surrogate pair."""
    return {"half": "\ud83d"}


@tool(sequential=True)
def stamp(marks: str) -> bool:
    """Say whether this call runs alone."""
    path = Path(marks, "stamping")
    was_alone = not path.exists()
    path.touch()
    time.sleep(0.01)
    path.unlink(missing_ok=True)
    return was_alone
