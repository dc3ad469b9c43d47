"""Long conversations, over HTTP with an endpoint whose context is small."""

import asyncio
import re
from itertools import pairwise
from typing import Any

import pytest

from tests.cases import RUNS_ALL, sample
from toolspeak.loop.compaction import read_result
from toolspeak.models import HttpModel
from toolspeak.models.request_size import TokenRates
from toolspeak.run import Agent
from toolspeak.testing import ScriptedModel, ScriptedReply, calls, says
from toolspeak.tools import tool
from toolspeak.values.codec import dump_facts, load_facts
from toolspeak.values.errors import ProviderError, ReplayMiss, RunPaused
from toolspeak.values.events import Compacted, Fact, NestedFact, TurnStarted, Usage
from toolspeak.values.limits import Limits
from toolspeak.values.messages import Message, Result

from .asking import at
from .server import APIS, Api, Connection, Post, Server, answers, serving
from .small_context import Sent, SmallContext

CONTEXT = 4096


def look(item: int) -> str:
    "Look up the code of an item."
    return f"the code of item {item} is K{item * 7919}" + (" and it has a long history" * 100 if item % 10 == 0 else "")


def read_last_text(sent: Sent) -> str:
    """The text of the last message, be it of the user or a result."""
    part = sent.messages[-1].parts[-1]
    return read_result(part) if isinstance(part, Result) else sent.messages[-1].text


def answer(sent: Sent) -> ScriptedReply:
    """What a model would do that knows nothing but what it is shown."""
    text = read_last_text(sent)
    if sent.is_summary:
        return says("The user has asked for codes of items.")
    if question := re.search(r"In turn (\d+)", text):
        return calls(("recall", {"handle": f"round_{question[1]}"}))
    if question := re.search(r"Look at item (\d+)\.$", text):
        return calls(("look", {"item": int(question[1])}))
    return says(f"It is {re.findall(r'K[0-9]+', text)[0]}.")


def first_request(sent: Sent) -> str:
    """The text of the first message of the user, which may have a system message before it."""
    return next(message.text for message in sent.messages if message.role == "user")


def check_orphans(endpoint: SmallContext) -> None:
    """Each call that was sent has its result right after it, and each result its call."""
    for sent in endpoint.sent:
        called: list[str] = []
        for message in sent.messages:
            assert [part.call_id for part in message.parts if isinstance(part, Result)] == called
            called = [call.id for call in message.calls]
        assert not called


@pytest.mark.parametrize("api", APIS)
def test_two_hundred_turns(server: Server, api: Api):
    count = 200 if api == "openai" and RUNS_ALL else 40
    context = CONTEXT * 5 // 4 if api == "gemini" else CONTEXT  # its requests are longer for the same messages
    endpoint = SmallContext(answer, context=context)
    server.plays(endpoint)
    agent = Agent(at(server, api), [look], dialect="native", system="Be brief.", limits=Limits(context=context))
    chat = agent.chat()
    for turn in range(1, count + 1):
        assert chat.run(f"Look at item {turn}.").text == f"It is K{turn * 7919}."
    assert chat.run("In turn 3, which code was it?").text == f"It is K{3 * 7919}."

    check_orphans(endpoint)
    assert endpoint.refused == 0
    assert len(chat.messages) == 1 + (count + 1) * 4  # nothing is lost
    changes, tools = endpoint.changes, [sent.tools for sent in endpoint.turns]
    assert len(changes) > 1
    assert all(later - earlier >= 20 for earlier, later in pairwise(changes))  # a turn is two requests
    assert set(tools[: changes[0]]) == {("look",)}
    assert set(tools[changes[0] :]) == {("look", "recall")}


# One run with many rounds


def dig(depth: int, width: int = 1) -> str:
    "Dig deeper, and tell what is there."
    return f"at {depth}: " + "sand and stones, " * 20


def digging(rounds: int, width: int = 1) -> Any:
    """A model that digs so often, in parallel, and then answers."""

    def reply(sent: Sent) -> ScriptedReply:
        if sent.is_summary:
            return says("We dig, as the user wants it.")
        depth = max((int(found) for found in re.findall(r"at (\d+):", str(sent.messages[-1].parts))), default=0)
        if depth >= rounds:
            return says("Nothing but sand.")
        return calls(*(("dig", {"depth": depth + 1, "width": each}) for each in range(width)))

    return reply


DIG = Limits(context=1024, turns=None)


def test_a_run_with_many_rounds_of_parallel_calls_keeps_its_prompt(server: Server):
    endpoint = SmallContext(digging(15, width=3), context=2048)
    server.plays(endpoint)
    limits = Limits(context=2048, turns=None)
    outcome = Agent(at(server), [dig], dialect="native", limits=limits).run("Dig for gold.")
    assert (outcome.text, len(outcome.calls)) == ("Nothing but sand.", 45)
    check_orphans(endpoint)
    assert endpoint.refused == 0
    assert all("Dig for gold." in first_request(sent) for sent in endpoint.turns)
    facts = [fact for fact in outcome.facts if isinstance(fact, Compacted)]
    assert facts[-1] == outcome.compacted
    assert facts[-1].summary == "We dig, as the user wants it."
    assert sum(fact.usage.input_tokens for fact in facts) == sum(sent.tokens for sent in endpoint.summaries)
    assert outcome.usage.input_tokens == sum(sent.tokens for sent in endpoint.sent)


@pytest.mark.parametrize("dialect", ["native", "python"])
def test_a_run_is_resumed_at_every_point(server: Server, dialect: str):
    reply = digging(6)
    server.plays(SmallContext(reply, context=1024, dialect=dialect))
    agent = Agent(at(server), [tool(dig, effect="idempotent")], dialect=dialect, limits=DIG)
    facts = agent.run("Dig for gold.").facts
    assert any(isinstance(fact, Compacted) for fact in facts)
    for end in sample(range(1, len(facts)), 12):
        endpoint = SmallContext(reply, context=1024, dialect=dialect)
        server.plays(endpoint)
        outcome = agent.resume(load_facts(dump_facts(facts[:end])))
        assert outcome.text == "Nothing but sand."
        assert endpoint.refused == 0
        check_orphans(endpoint)


def test_a_call_that_needs_an_approval_waits_through_a_compaction(server: Server):
    endpoint = SmallContext(digging(8), context=1024)
    server.plays(endpoint)
    agent = Agent(at(server), [tool(dig, approve=True, effect="idempotent")], dialect="native", limits=DIG)
    with pytest.raises(RunPaused) as caught:
        agent.run("Dig for gold.")
    paused = caught.value
    for _ in range(7):
        with pytest.raises(RunPaused) as caught:
            agent.resume(load_facts(dump_facts(paused.facts)), approvals={call.id: True for call in paused.calls})
        paused = caught.value
    outcome = agent.resume(paused.facts, approvals={call.id: True for call in paused.calls})
    assert outcome.text == "Nothing but sand."
    assert outcome.compacted is not None
    check_orphans(endpoint)


# The summary


def test_a_summary_that_fails_is_a_plain_list(server: Server):
    dig_on = digging(8)

    def reply(sent: Sent) -> ScriptedReply:
        return says("") if sent.is_summary else dig_on(sent)

    endpoint = SmallContext(reply, context=1024)
    server.plays(endpoint)
    outcome = Agent(at(server), [dig], dialect="native", limits=DIG).run("Dig for gold.")
    assert outcome.text == "Nothing but sand."
    first, *_, last = (fact for fact in outcome.facts if isinstance(fact, Compacted))
    assert first.failure == last.failure == "ProviderError: the summary is empty"
    assert "- round_3: call: dig" in first.summary
    assert last.summary.startswith("(what came before is left out here)\n- round_")
    check_orphans(endpoint)


def test_a_refusal_is_no_summary(server: Server):
    dig_on = digging(8)

    def reply(sent: Sent) -> ScriptedReply:
        return ScriptedReply(text="I cannot help with that.", finish="refused") if sent.is_summary else dig_on(sent)

    server.plays(SmallContext(reply, context=1024))
    outcome = Agent(at(server), [dig], dialect="native", limits=DIG).run("Dig for gold.")
    assert outcome.text == "Nothing but sand."
    assert outcome.compacted is not None
    assert "its message ended with 'refused'" in outcome.compacted.failure
    assert "I cannot" not in outcome.compacted.summary


@pytest.mark.parametrize("dialect", ["native", "json"])
def test_a_summary_may_quote_calls(server: Server, dialect: str):
    dig_on = digging(8)
    quoting = 'It wrote <tool_call>{"name": "dig", "arguments": {"depth": 1}}</tool_call> and found sand.'

    def reply(sent: Sent) -> ScriptedReply:
        return says(quoting) if sent.is_summary else dig_on(sent)

    server.plays(SmallContext(reply, context=1024, dialect=dialect))
    outcome = Agent(at(server), [dig], dialect=dialect, limits=DIG).run("Dig for gold.")
    assert outcome.compacted is not None
    assert (outcome.compacted.summary, outcome.compacted.failure) == (quoting, "")


def test_the_reasoning_of_a_summary_is_left_out(server: Server):
    dig_on = digging(8)

    def reply(sent: Sent) -> ScriptedReply:
        return says("<think>What was it?</think>\n\nWe dig.") if sent.is_summary else dig_on(sent)

    server.plays(SmallContext(reply, context=1024))
    outcome = Agent(at(server), [dig], dialect="native", limits=DIG).run("Dig for gold.")
    assert outcome.compacted is not None
    assert outcome.compacted.summary == "We dig."


def test_a_recording_that_has_no_summary_ends_the_run(server: Server):
    def summarize(messages: tuple[Message, ...]) -> str:
        raise ReplayMiss("the request was not recorded")

    server.plays(SmallContext(digging(8), context=1024))
    with pytest.raises(ReplayMiss, match="the request was not recorded"):
        Agent(at(server), [dig], dialect="native", limits=DIG, summarize=summarize).run("Dig for gold.")


def test_a_run_that_was_cancelled_while_its_summary_was_written_goes_on(server: Server):
    def reply(sent: Sent) -> ScriptedReply:
        if sent.is_summary:
            return says("There is nothing but sand.")
        if "final_answer" in read_last_text(sent):
            return calls(("final_answer", {"answer": "sand"}))
        return says("There is sand, " + "and more sand, " * 200)

    async def cancel_in_summary() -> list[Fact]:
        is_asked, facts = asyncio.Event(), list[Fact]()

        async def summarize(messages: tuple[Message, ...]) -> str:
            is_asked.set()
            await asyncio.Event().wait()
            return ""

        agent = Agent(at(server), [dig], dialect="native", output=str, limits=DIG, summarize=summarize)
        run = asyncio.create_task(agent.arun("Dig for gold.", record=facts.append))
        await is_asked.wait()
        run.cancel()
        await asyncio.wait([run])
        return facts

    server.plays(SmallContext(reply, context=1024))
    facts = asyncio.run(cancel_in_summary())
    outcome = Agent(at(server), [dig], dialect="native", output=str, limits=DIG).resume(facts)
    assert (outcome.stop_reason, outcome.output) == ("answered", "sand")


def test_a_function_may_write_the_summary(server: Server):
    seen: list[int] = []

    def summarize(messages: tuple[Message, ...]) -> str:
        seen.append(len(messages))
        return "A function wrote this."

    endpoint = SmallContext(digging(8), context=1024)
    server.plays(endpoint)
    outcome = Agent(at(server), [dig], dialect="native", limits=DIG, summarize=summarize).run("Dig for gold.")
    assert not endpoint.summaries
    assert seen
    assert outcome.compacted is not None
    assert outcome.compacted.summary == "A function wrote this."
    assert any("A function wrote this." in first_request(sent) for sent in endpoint.turns)


def test_a_function_that_ends_the_program_ends_the_run(server: Server):
    def summarize(messages: tuple[Message, ...]) -> str:
        raise SystemExit(3)

    server.plays(SmallContext(digging(8), context=1024))
    with pytest.raises(SystemExit):
        Agent(at(server), [dig], dialect="native", limits=DIG, summarize=summarize).run("Dig for gold.")


# What does not fit


def test_a_message_that_is_larger_than_the_context_is_told_in_words(server: Server):
    endpoint = SmallContext(answer, context=1024)
    server.plays(endpoint)
    outcome = Agent(at(server), [look], dialect="native", limits=Limits(context=1024)).run("word " * 2000)
    assert outcome.stop_reason == "limit"
    assert "the context has 1,024 tokens, of which a request may take 896" in outcome.detail
    assert not endpoint.sent
    assert endpoint.refused == 0


def test_a_result_that_is_larger_than_the_context_is_read_in_pieces(server: Server):
    def page() -> str:
        "Read the page."
        return "lorem ipsum " * 1000 + "the end: 42"

    def reply(sent: Sent) -> ScriptedReply:
        text = read_last_text(sent)
        if sent.messages[-1].role == "user":
            return calls(("page", {}))
        if "the end: 42" in text:
            return says("42")
        start = re.search(r"start=(\d+)", text)
        return calls(("recall", {"handle": "result_1", "start": int(start[1]) if start else 11_500}))

    endpoint = SmallContext(reply, context=2048)
    server.plays(endpoint)
    outcome = Agent(at(server), [page], dialect="native", limits=Limits(context=2048)).run("How does it end?")
    assert outcome.text == "42"
    assert endpoint.refused == 0
    check_orphans(endpoint)


def test_an_endpoint_that_refuses_a_long_conversation_says_what_to_give(server: Server):
    server.plays(SmallContext(answer, context=1024))
    with pytest.raises(ProviderError, match=r"maximum context length is 1024 .*Limits\(context=TOKENS\)"):
        Agent(at(server), [look], dialect="native").run("word " * 2000)


def test_a_model_may_know_its_context(server: Server):
    class Local(HttpModel):
        context_tokens = 1024

    endpoint = SmallContext(digging(8), context=1024)
    server.plays(endpoint)
    model = at(server)
    outcome = Agent(Local(model.endpoint, "m"), [dig], dialect="native").run("Dig.", limits=Limits(turns=None))
    assert outcome.compacted is not None
    assert endpoint.refused == 0


# Other agents and models


def test_an_agent_that_is_a_tool_compacts_its_own_conversation(server: Server):
    endpoint = SmallContext(digging(8), context=1024)
    server.plays(endpoint)
    digger = Agent(at(server), [dig], dialect="native", limits=DIG)
    script = [calls(("digger", {"prompt": "Dig for gold."})), says("There is none.")]
    outcome = Agent(ScriptedModel(script), [digger.as_tool("digger")]).run("Is there gold?")
    nested = [fact.event for fact in outcome.facts if isinstance(fact, NestedFact)]
    assert outcome.text == "There is none."
    assert outcome.compacted is None
    assert any(isinstance(fact, Compacted) for fact in nested)
    check_orphans(endpoint)
    assert outcome.usage.input_tokens >= sum(sent.tokens for sent in endpoint.sent)


def test_another_agent_goes_on_with_a_compacted_conversation(server: Server):
    endpoint = SmallContext(digging(8), context=1024)
    server.plays(endpoint)
    digger = Agent(at(server), [dig], dialect="native", system="You dig.")
    desk = Agent(ScriptedModel([calls(("digger", {}))]), [digger.as_handoff("digger")], limits=DIG)
    outcome = desk.run("Dig for gold.")
    assert (outcome.text, outcome.agent) == ("Nothing but sand.", "digger")
    assert outcome.compacted is not None
    assert endpoint.turns[-1].tools == ("dig", "recall")
    assert endpoint.turns[-1].messages[0].text == "You dig."
    check_orphans(endpoint)


class InPython(HttpModel):
    """A model that calls best in the Python dialect."""

    @property
    def dialect(self) -> str:
        return "python"


def test_a_fallback_model_of_another_dialect_goes_on(server: Server):
    first = SmallContext(digging(9), context=1024)
    second = SmallContext(digging(9), context=1024, dialect="python")

    async def fails_after_six(post: Post, connection: Connection) -> None:
        act = first if len(first.turns) < 6 else answers(500)
        await act(post, connection)

    server.plays(fails_after_six)
    with serving() as other:
        other.plays(second)
        model = InPython(at(other).endpoint, "n")
        outcome = Agent([at(server), model], [dig], limits=DIG).run("Dig for gold.")
    assert outcome.text == "Nothing but sand."
    dialects = [fact.dialect for fact in outcome.facts if isinstance(fact, TurnStarted)]
    assert list(dict.fromkeys(dialects)) == ["native", "python"]
    assert first.refused == second.refused == 0
    assert len(first.turns) == 6
    assert "recall(" in second.turns[-1].messages[0].text
    check_orphans(first)


def test_the_densest_long_request_says_how_dense_the_rest_may_be():
    rates = TokenRates()
    rates.note("m", 150, Usage(input_tokens=100))  # short: what the template adds is most of it
    rates.note("m", 1_200, Usage(input_tokens=400))
    assert rates.density_share("m") == 1.0
    rates.note("m", 8_000, Usage(input_tokens=2_000))
    assert rates.density_share("m") == 0.75
    assert rates.density_share("unknown") == 1.0


@pytest.mark.parametrize("tokens", [1, 12])
def test_an_endpoint_that_counts_too_few_tokens_does_not_switch_compaction_off(tokens: int):
    rates = TokenRates()
    rates.note("m", 9_000, Usage(input_tokens=2_500))
    rates.note("m", 30_000, Usage(input_tokens=tokens))
    assert rates.bytes_per_token("m") == 3.6
    rates.note("m", 5_000, Usage(input_tokens=20_000))  # images
    assert rates.bytes_per_token("m") == 1.0


def test_the_tool_of_the_user_keeps_its_name(server: Server):
    def recall(what: str) -> str:
        "Call a product back."
        return what

    dig_on = digging(8)

    def reply(sent: Sent) -> ScriptedReply:
        is_first = not sent.is_summary and read_last_text(sent) == "Dig for gold."
        return calls(("recall", {"what": "the gold"})) if is_first else dig_on(sent)

    endpoint = SmallContext(reply, context=1024)
    server.plays(endpoint)
    outcome = Agent(at(server), [dig, recall], dialect="native", limits=DIG).run("Dig for gold.")
    assert outcome.compacted is not None
    assert 'call: recall {"what": "the gold"}\nresult: the gold' in endpoint.summaries[0].messages[-1].text
    assert {sent.tools for sent in endpoint.turns} == {("dig", "recall")}
    assert not any('recall("' in sent.messages[0].text for sent in endpoint.turns)
