"""Streams that are cut, at every byte: nothing that was said is lost, and nothing that was not said is done."""

import asyncio
from collections.abc import Callable, Iterable
from typing import Any

import pytest

from tests.cases import each_case, sample
from tests.run.playing import check
from toolspeak.models import RetryPolicy
from toolspeak.run import Agent, Outcome
from toolspeak.tools import tool
from toolspeak.values.errors import StreamInterrupted
from toolspeak.values.messages import Text, Thinking

from .asking import answer, at, collect_pieces, run_within
from .recorded import DONE, RECORDED, STREAMS, read_simply
from .server import Act, Api, Connection, Ending, Post, Server, streams

ONCE = RetryPolicy(connect_timeout=30, read_timeout=30, total_timeout=60, attempts=1)
AT_ONCE = 40
"""Runs at the same time."""


def by_prompt(api: Api, act_for: Callable[[int], Act]) -> Act:
    """What is played depends on the number that is asked with; the turn after the calls is always whole."""

    async def act(post: Post, connection: Connection) -> None:
        last = len(post.conversation) == 1
        chosen = act_for(int(post.prompt)) if last else streams(DONE[api])
        await chosen(post, connection)

    return act


class Ran:
    """What was done in one run."""

    def __init__(self) -> None:
        self.notes: list[str] = []
        self.looks: list[str] = []

    def tools(self) -> list[Any]:
        async def note(text: str) -> str:
            "Note something."
            self.notes.append(text)
            return "noted"

        @tool(effect="read")
        async def look(city: str) -> str:
            "Look at a city."
            self.looks.append(city)
            return "mild"

        return [note, look]


async def every(numbers: Iterable[int], work: Callable[[int], Any]) -> None:
    """All of them, some at a time."""
    waiting = iter(numbers)

    async def some() -> None:
        for number in waiting:
            await work(number)

    async with asyncio.TaskGroup() as group:
        for _ in range(AT_ONCE):
            group.create_task(some())


def last_said(outcome: Outcome, sort: type[Text] | type[Thinking]) -> str:
    said = [message for message in outcome.messages if message.role == "assistant"]
    return "".join(part.text for part in said[-1].parts if isinstance(part, sort)) if said else ""


def check_cut(api: Api, data: bytes, error: StreamInterrupted, ran: Ran) -> None:
    expected = read_simply(api, data)
    assert not expected.ended
    assert "home at http://127.0.0.1" in str(error)
    outcome: Outcome = error.outcome
    if len(data) % 8 == 0:  # it takes a while
        check(outcome)
    assert outcome.stop_reason == "error"
    assert str(error) in outcome.detail
    assert last_said(outcome, Text) == expected.text
    assert last_said(outcome, Thinking) == expected.thinking
    assert ran.notes == []
    whole = [city for city in ["Wien"] if '{"city":"Wien"}' in expected.arguments.values()]
    assert ran.looks in ([], whole)  # what only reads may start when its call is whole


@pytest.mark.parametrize(("api", "name"), STREAMS)
@each_case(
    "ending, framed, first, step",
    {
        "closed": ("close", True, 0, 2),
        "closed, odd": ("close", True, 1, 2),
        "ended": ("close", False, 0, 5),
        "reset": ("reset", True, 0, 9),
    },
)
def test_cut_at_every_byte(server: Server, api: Api, name: str, ending: Ending, framed: bool, first: int, step: int):
    data = RECORDED[api][name]
    server.plays(by_prompt(api, lambda cut: streams(data[:cut], ending=ending, framed=framed)))
    model = at(server, api, retry=ONCE)

    async def cut_at(cut: int) -> None:
        ran = Ran()
        agent = Agent(model, ran.tools())
        expected = read_simply(api, data[:cut])
        if not expected.ended:
            with pytest.raises(StreamInterrupted) as caught:
                await agent.arun(str(cut))
            check_cut(api, data[:cut], caught.value, ran)
            return
        outcome = await agent.arun(str(cut))
        assert outcome.stop_reason == "answered"
        assert sorted(made.name for made in outcome.calls) == sorted(["note", "look"][: len(expected.arguments)])
        assert outcome.text == ("Fertig." if expected.arguments else expected.text)

    run_within(every(sample(range(first, len(data) + 1, step), 5), cut_at))


@pytest.mark.parametrize(("api", "name"), STREAMS)
def test_split_at_every_byte(server: Server, api: Api, name: str):
    data = RECORDED[api][name]
    server.plays(streams(data))
    model = at(server, api, retry=ONCE)
    whole = answer(model)
    server.plays(by_prompt(api, lambda at: streams(data[:at], data[at:], pause=0.002)))

    async def split_at(place: int) -> None:
        assert (await collect_pieces(model, str(place)))[-1] == whole

    run_within(every(sample(range(len(data)), 12), split_at))
    assert model.skipped == 0


@pytest.mark.parametrize(("api", "name"), sample(STREAMS, 4))
def test_byte_by_byte(server: Server, api: Api, name: str):
    data = RECORDED[api][name]
    server.plays(streams(data), streams(*(bytes([byte]) for byte in data), pause=0.0001))
    model = at(server, api)
    assert answer(model) == answer(model)


@pytest.mark.parametrize("api", RECORDED)
def test_calls_that_are_interleaved(server: Server, api: Api):
    server.plays(streams(RECORDED[api]["calls"]), streams(DONE[api]))
    ran = Ran()
    outcome = run_within(Agent(at(server, api), ran.tools()).arun("Go on."))
    assert [(made.name, made.arguments) for made in outcome.calls] == [
        ("note", {"text": "Köln"}),
        ("look", {"city": "Wien"}),
    ]
    assert (ran.notes, ran.looks) == (["Köln"], ["Wien"])
