"""Spans of durable runs: a worker traces each time that it drives a run, and the stored facts give the same spans."""

import asyncio
from collections.abc import Callable, Coroutine
from pathlib import Path
from typing import Any

from toolspeak import Agent, tool
from toolspeak.durable import RunHandle, Runs, Worker
from toolspeak.telemetry import build_spans
from toolspeak.testing import ScriptedModel, calls, says

from .traced import Collected, show_live, show_spans

Condition = Callable[[], Coroutine[Any, Any, bool]]


@tool(approve=True)
def launch(rocket: str) -> str:
    "Launch a rocket."
    return f"{rocket} flies"


def build_agent(collected: Collected) -> Agent[Any]:
    script = [calls(("launch", {"rocket": "A"})), says("It flies.")]
    return Agent(ScriptedModel(script, name="openai:gpt"), [launch], tracer=collected.provider)


async def wait_for_approval(run: RunHandle) -> str:
    async with asyncio.timeout(30):
        async for event in run.events():
            if event.event.kind == "approval_needed":
                return (await run.waiting())[0].call.id
    raise AssertionError("nobody was asked")


def test_each_worker_traces_its_part_of_a_run(tmp_path: Path):
    first, second = Collected(), Collected()
    store = f"sqlite:///{tmp_path / 'runs.db'}"

    async def drive() -> list[Any]:
        async with Runs(store) as runs:
            async with Worker(runs, {"pilot": build_agent(first)}):
                run = await runs.start("pilot", "Go.")
                call_id = await wait_for_approval(run)
            await run.approve(call_id)
            async with Worker(runs, {"pilot": build_agent(second)}):
                outcome = await run.outcome(timeout=30)
            return list(outcome.facts)

    facts = asyncio.run(drive())
    assert [span.name for span in first.spans] == ["invoke_agent", "chat gpt"]
    assert [span.name for span in second.spans] == ["invoke_agent", "execute_tool launch", "chat gpt"]
    whole = build_spans((fact, number) for number, fact in enumerate(facts))
    assert show_live([*first.spans, *second.spans]) == show_spans(whole)
    ids = {str((span.attributes or {}).get("gen_ai.conversation.id")) for span in (first.spans[0], second.spans[0])}
    assert len(ids) == 1
