"""Connections of the official client to a served file, in both eras of the protocol."""

import asyncio
import os
import sys
from collections.abc import Awaitable, Callable
from contextlib import AbstractAsyncContextManager
from pathlib import Path
from typing import Any, TypeVar

import pytest
from mcp.client import Client
from mcp.client.stdio import StdioServerParameters, stdio_client

from toolspeak import discover
from toolspeak.mcp.served_tools import ToolServer

OFFICE = Path(__file__).with_name("office.py")
ROOT = Path(__file__).parents[2]
T = TypeVar("T")

eras = pytest.mark.parametrize("era", ["legacy", "2026-07-28"])


def command(*arguments: str) -> list[str]:
    return [sys.executable, "-m", "toolspeak.cli", "mcp", "serve", *arguments]


def environment() -> dict[str, str]:
    return {"PATH": os.environ["PATH"], "PYTHONPATH": str(ROOT / "src"), "HOME": "/nonexistent"}


def over_stdio(era: str, *arguments: str, errors: Any = sys.stderr, **options: Any) -> Client:
    program, *rest = command(*arguments or (str(OFFICE),))
    parameters = StdioServerParameters(command=program, args=rest, env=environment())
    return Client(stdio_client(parameters, errlog=errors), mode=era, **options)


def in_process(era: str, server: ToolServer | None = None, **options: Any) -> Client:
    return Client((server or ToolServer(discover(OFFICE))).protocol, mode=era, **options)


def talk(client: AbstractAsyncContextManager[Client], work: Callable[[Client], Awaitable[T]]) -> T:
    """Return what `work` returns for a connected client."""

    async def run() -> T:
        async with client as connected:
            return await work(connected)

    return asyncio.run(run())


def text_of(result: Any) -> str:
    return "\n".join(block.text for block in result.content if block.type == "text")
