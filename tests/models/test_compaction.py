"""Long conversations, over HTTP with an endpoint whose context is small."""

import itertools
import re

import pytest

from tests.run.playing import sendable
from toolspeak.events import Limits
from toolspeak.messages import Result
from toolspeak.run import Agent
from toolspeak.testing import ScriptedReply, calls, says

from .asking import at
from .server import APIS, Api, Server
from .small_context import Sent, SmallContext

CONTEXT = 4096


def look(item: int) -> str:
    "Look up the code of an item."
    return f"the code of item {item} is K{item * 7919}" + (" and it has a long history" * 100 if item % 10 == 0 else "")


def told(sent: Sent) -> str:
    """The text of the last message, be it of the user or a result."""
    part = sent.messages[-1].parts[-1]
    return part.content[0].text if isinstance(part, Result) else sent.messages[-1].text


def answer(sent: Sent) -> ScriptedReply:
    """What a model would do that knows nothing but what it is shown."""
    text = told(sent)
    if sent.is_summary:
        return says("The user has asked for codes of items.")
    if question := re.search(r"In turn (\d+)", text):
        return calls(("recall", {"handle": f"round_{question[1]}"}))
    if question := re.search(r"Look at item (\d+)\.$", text):
        return calls(("look", {"item": int(question[1])}))
    return says(f"It is {re.search(r'K[0-9]+', text)[0]}.")


def orphans(endpoint: SmallContext) -> None:
    for sent in endpoint.sent:
        sendable(sent.messages)


@pytest.mark.timeout(120)
@pytest.mark.parametrize("api", APIS)
def test_two_hundred_turns(server: Server, api: Api):
    endpoint = SmallContext(answer, context=CONTEXT)
    server.plays(endpoint)
    agent = Agent(at(server, api), [look], dialect="native", system="Be brief.", limits=Limits(context=CONTEXT))
    chat = agent.chat()
    for turn in range(1, 201):
        assert chat.run(f"Look at item {turn}.").text == f"It is K{turn * 7919}."
    assert chat.run("In turn 3, which code was it?").text == f"It is K{3 * 7919}."

    orphans(endpoint)
    assert endpoint.refused == 0
    assert max(sent.tokens for sent in endpoint.sent) <= CONTEXT
    assert len(chat.messages) == 1 + 201 * 4  # nothing is lost
    print(
        endpoint.changes,
        [endpoint.turns[place].tokens for place in endpoint.changes],
        len(endpoint.summaries),
        max(sent.tokens for sent in endpoint.sent),
    )
    assert all(later - earlier >= 20 for earlier, later in itertools.pairwise(endpoint.changes))
