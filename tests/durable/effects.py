"""Agents whose tools note what they do in a file outside of every store, and what that file must show.

A line of the file is one effect: `begin` or `end`, the process, the run, the turn and the tool. It is appended with one
write, so processes that are killed leave whole lines.
"""

import asyncio
import os
import random
import time
from collections import Counter
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

from toolspeak.run import Agent
from toolspeak.testing import ScriptedModel, calls, says
from toolspeak.tools import Context, Happened, Tool, tool
from toolspeak.values.events import CallReady, Fact, RunEnded, ToolFinished, ToolStarted, ToolSuspended, WaitOver
from toolspeak.values.limits import Limits
from toolspeak.values.messages import ToolCall
from toolspeak.values.spec import Effect

TURNS = 4
CLOCK_TURNS = 100
EFFECTS: dict[str, Effect] = {"look": "read", "put": "idempotent", "pay": "once", "book": "once"}
"""The tools that the model calls in each turn, with their effects. Whether `book` has taken effect can be found out."""


class Doing(NamedTuple):
    """What one call of a tool is to do. A call that is begun again does the same thing."""

    run_id: str
    turn: int
    tool: str


class EffectsFile:
    """The file to which tools of all processes append."""

    def __init__(self, path: Path) -> None:
        self.path = path
        path.touch()

    def note(self, what: str, doing: Doing) -> None:
        """Append a line, as a whole."""
        handle = os.open(self.path, os.O_WRONLY | os.O_APPEND)
        os.write(handle, f"{what} {os.getpid()} {doing.run_id} {doing.turn} {doing.tool}\n".encode())
        os.close(handle)

    def count(self, what: str = "begin") -> Counter[Doing]:
        """Count how often each thing was begun or ended."""
        lines = [line.split() for line in self.path.read_text().splitlines()]
        return Counter(Doing(run, int(turn), name) for kind, _, run, turn, name in lines if kind == what)

    def list_processes(self) -> set[int]:
        """Return the processes that have begun something."""
        return {int(line.split()[1]) for line in self.path.read_text().splitlines()}


def build_tool(name: str, effects: EffectsFile, seconds: float, *, approve: bool = False) -> Tool[..., Any]:
    """Make a tool that notes when it begins and ends, and takes up to twice so many seconds in between."""

    def find_out(call: ToolCall, context: Context[None]) -> Happened | bool:
        doing = Doing(context.run_id, int(call.arguments["turn"]), name)
        return Happened(f"{name} {doing.turn}") if effects.count("end")[doing] else False

    reconcile = find_out if name == "book" else None

    @tool(name=name, effect=EFFECTS.get(name, "once"), approve=approve, reconcile=reconcile)
    async def act(turn: int, context: Context[None]) -> str:
        """Do something that others can see."""
        doing = Doing(context.run_id, turn, name)
        effects.note("begin", doing)
        await asyncio.sleep(seconds * 2 * random.random())
        effects.note("end", doing)
        return f"{name} {turn}"

    return act


def build_agents(effects: EffectsFile, seconds: float) -> dict[str, Agent]:
    """Make the agents that the workers of these tests drive.

    `busy` calls three tools in each of four turns; `asks` needs an approval before it may `wire`; `short` answers after
    one call that does nothing; `clock` reads the time in each of many turns; `patient` waits for a time and for a
    signal in each of four turns, before it does something that must not be done twice.
    """

    @tool(effect="once")
    async def hold(turn: int, context: Context[None]) -> str:
        """Wait, and do something that others can see."""
        doing = Doing(context.run_id, turn, "hold")
        await context.sleep(seconds * 2 * random.random())
        value = await context.wait_for(f"{context.run_id} {turn}")
        effects.note("begin", doing)
        await asyncio.sleep(seconds * 2 * random.random())
        effects.note("end", doing)
        return f"hold {value}"

    @tool(effect="read")
    def quick(turn: int) -> int:
        """Do nothing."""
        return turn

    @tool(effect="read")
    def read_time(turn: int) -> float:
        """Return the time."""
        return time.time()

    tools = [build_tool(name, effects, seconds) for name in EFFECTS]
    script = [calls(*((name, {"turn": turn}) for name in EFFECTS)) for turn in range(TURNS)]
    holds = [calls(("hold", {"turn": turn})) for turn in range(TURNS)]
    wire = build_tool("wire", effects, seconds, approve=True)
    return {
        "busy": Agent(ScriptedModel([*script, says("All done.")], pace=seconds / 4), tools=tools),
        "asks": Agent(ScriptedModel([calls(("wire", {"turn": 0})), says("Sent.")]), tools=[wire]),
        "patient": Agent(ScriptedModel([*holds, says("All done.")]), tools=[hold]),
        "short": Agent(ScriptedModel([calls(("quick", {"turn": 0})), says("Done.")]), tools=[quick]),
        "clock": Agent(
            ScriptedModel([*(calls(("read_time", {"turn": turn})) for turn in range(CLOCK_TURNS)), says("Done.")]),
            tools=[read_time],
            limits=Limits(turns=CLOCK_TURNS + 1),
        ),
    }


class Verdict(NamedTuple):
    """What the facts and the effects of some runs show.

    Attributes:
        violations: What must not have happened, in words.
        begun_again: How many calls of `read` and `idempotent` tools were begun more than once.
        unknown: How many calls of `once` tools were cut off, so that the model was told that nobody knows.
    """

    violations: list[str]
    begun_again: int
    unknown: int


def judge(runs: Mapping[str, Sequence[tuple[int, Fact]]], effects: EffectsFile, calls_per_run: int) -> Verdict:
    """Compare the facts of runs, with their numbers, with what the tools did outside."""
    begun, ended = effects.count("begin"), effects.count("end")
    found: list[str] = []
    again = unknown = 0
    for run_id, rows in runs.items():
        facts = [fact for _, fact in rows]
        if [number for number, _ in rows] != list(range(len(rows))):
            found.append(f"{run_id}: the numbers of its facts have gaps")
        if not facts or not isinstance(facts[-1], RunEnded) or facts[-1].reason != "answered":
            found.append(f"{run_id}: it did not end with an answer, but with {facts[-1:]}")
        history = read_calls(run_id, facts)
        found += [f"{each}: it was started after it had finished" for each in history.repeated]
        if len(history.asked) != calls_per_run:
            found.append(f"{run_id}: the model made {len(history.asked)} calls of {calls_per_run}")
        for each in history.asked:
            if begun[each] > history.started[each]:
                found.append(f"{each}: it began {begun[each]} times, and {history.started[each]} starts are recorded")
            if begun[each] > 1 and is_once(each):
                found.append(f"{each}: it began {begun[each]} times, and may do so once")
            if each.tool == "book" and (ended[each] != 1 or each not in history.finished):
                found.append(
                    f"{each}: it took effect {ended[each]} times, and the model got {each in history.finished}"
                )
            again += begun[each] > 1
            unknown += is_once(each) and each not in history.finished
    return Verdict(found, again, unknown)


def judge_waits(runs: Mapping[str, Sequence[tuple[int, Fact]]], effects: EffectsFile) -> Verdict:
    """Compare the facts of runs of `patient`, with their numbers, with what was done after the waits."""
    begun = effects.count("begin")
    found: list[str] = []
    unknown = 0
    for run_id, rows in runs.items():
        facts = [fact for _, fact in rows]
        if [number for number, _ in rows] != list(range(len(rows))):
            found.append(f"{run_id}: the numbers of its facts have gaps")
        if not facts or not isinstance(facts[-1], RunEnded) or facts[-1].reason != "answered":
            found.append(f"{run_id}: it did not end with an answer, but with {facts[-1:]}")
        turns: dict[str, int] = {}
        waits: Counter[tuple[int, str, int]] = Counter()
        outputs: dict[int, Any] = {}
        for fact in facts:
            if isinstance(fact, CallReady):
                turns[fact.call.id] = int(fact.call.arguments["turn"])
            elif isinstance(fact, ToolSuspended | WaitOver):
                waits[turns[fact.call_id], fact.kind, fact.number] += 1
            elif isinstance(fact, ToolFinished):
                outputs[turns[fact.result.call_id]] = fact.result.output
        found += [f"{run_id}: {wait} happened {count} times" for wait, count in waits.items() if count > 1]
        for turn in range(TURNS):
            count = begun[Doing(run_id, turn, "hold")]
            if count > 1:
                found.append(f"{run_id}: turn {turn} went on {count} times after its waits")
            if turn in outputs and outputs[turn] != f"hold {turn}":
                found.append(f"{run_id}: turn {turn} ended with {outputs[turn]}")
            unknown += turn not in outputs
    return Verdict(found, 0, unknown)


def is_once(doing: Doing) -> bool:
    """Whether the tool must not be begun twice."""
    return EFFECTS.get(doing.tool, "once") == "once" and doing.tool != "book"


class CallHistory:
    """What the facts of a run say about its calls."""

    def __init__(self) -> None:
        self.asked: set[Doing] = set()
        self.started: Counter[Doing] = Counter()
        self.finished: set[Doing] = set()
        self.repeated: list[Doing] = []


def read_calls(run_id: str, facts: Sequence[Fact]) -> CallHistory:
    """Read which calls the model made, and how often each was started and finished.

    If a message is asked for again and has the same call, the result that is known is reported as a start and a finish,
    one right after the other. That is no start: if the call did run, the effects outside show one more than the facts.
    """
    history, by_id = CallHistory(), dict[str, Doing]()
    for fact, following in zip(facts, [*facts[1:], None], strict=True):
        if isinstance(fact, CallReady):
            doing = Doing(run_id, int(fact.call.arguments["turn"]), fact.call.name)
            by_id[fact.call.id] = doing
            history.asked.add(doing)
        elif isinstance(fact, ToolStarted):
            doing = by_id[fact.call_id]
            if doing in history.finished and _is_finish_of(following, fact.call_id):
                continue
            history.started[doing] += 1
            if doing in history.finished:
                history.repeated.append(doing)
        elif isinstance(fact, ToolFinished) and fact.result.error is None:
            history.finished.add(by_id[fact.result.call_id])
    return history


def _is_finish_of(fact: Fact | None, call_id: str) -> bool:
    return isinstance(fact, ToolFinished) and fact.result.call_id == call_id
