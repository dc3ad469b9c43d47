"""A recorded run that plays its model, its tools, or both."""

from collections.abc import AsyncGenerator, Sequence
from dataclasses import replace as changed
from pathlib import Path
from typing import Any

import pytest

from tests.cases import each_case
from tests.run.playing import Piecewise, collect_notes, play, summarize
from tests.run.test_scenarios import SCENARIOS, TOOLS
from toolspeak import codec
from toolspeak.models import Request
from toolspeak.models.request_size import count_request_bytes
from toolspeak.run import Agent, Outcome
from toolspeak.testing import ScriptedModel, breaks, calls, replay, says
from toolspeak.tools import tool
from toolspeak.values.errors import EndpointDown, ProviderError, ReplayMiss, RunPaused, StreamInterrupted, UsageError
from toolspeak.values.events import Compacted, Fact, RunStarted, Usage
from toolspeak.values.limits import Limits
from toolspeak.values.messages import Media, Text, user
from toolspeak.values.pieces import Answer, ApiCall, Piece

SPOKEN = [(name, dialect) for name, scenario in SCENARIOS.items() for dialect in scenario.spoken]


def run(model: Any, tools: Any, **options: Any) -> Outcome[Any]:
    return play(Agent(model, tools, **options))


def same(facts: tuple[Fact, ...]) -> list[str]:
    """The facts, but for the id of the run and the order in which tools happened to end."""
    plain = (changed(fact, run_id="") if isinstance(fact, RunStarted) else fact for fact in facts)
    return sorted(codec.dump_facts(plain).splitlines())


@each_case("name, dialect", SPOKEN)
def test_a_recorded_run_is_played_again(name: str, dialect: str):
    scenario = SCENARIOS[name]
    options = {"dialect": dialect, **scenario.options}
    recorded = run(ScriptedModel(scenario.script), TOOLS, **options)

    both = replay(codec.dump_facts(recorded.facts))
    outcome = run(both.model, both.tools, **options)
    assert same(outcome.facts) == same(recorded.facts)

    model_only = run(replay(recorded).model, TOOLS, **options)
    assert same(model_only.facts) == same(recorded.facts)

    tools_only = run(ScriptedModel(scenario.script), replay(recorded.facts).tools, **options)
    assert summarize(tools_only) == summarize(recorded)
    assert collect_notes(tools_only) == collect_notes(recorded)


@pytest.mark.parametrize("other", ["native", "json", "typescript", "python"])
@pytest.mark.parametrize("dialect", ["native", "json", "typescript", "python"])
def test_in_another_dialect(dialect: str, other: str):
    scenario = SCENARIOS["research within five iterations"]
    recorded = run(ScriptedModel(scenario.script), TOOLS, dialect=dialect, **scenario.options)
    again = replay(recorded)
    assert summarize(run(again.model, again.tools, dialect=other, **scenario.options)) == summarize(recorded)


def test_from_a_file(tmp_path: Path):
    outcome = Agent(ScriptedModel(["Hello."])).run("Hi.")
    file = tmp_path / "run.jsonl"
    file.write_text(codec.dump_facts(outcome.facts))
    for given in (file, str(file)):
        again = replay(given)
        assert again.prompt == user("Hi.")
        assert Agent(again.model).run(again.prompt).text == "Hello."
    with pytest.raises(UsageError, match="cannot be read"):
        replay(tmp_path / "other.jsonl")
    with pytest.raises(UsageError, match="no RunStarted"):
        replay(outcome.facts[1:])


def test_a_conversation_that_goes_on():
    first = Agent(ScriptedModel(["One."])).run("Count.")
    second = Agent(ScriptedModel(["One.", "Two."])).run("Go on.", messages=first.messages)
    again = replay(second)
    assert [message.role for message in again.messages] == ["user", "assistant"]
    assert Agent(again.model).run(again.prompt, messages=again.messages).text == "Two."


def get_weather(city: str, unit: str = "celsius") -> int:
    """The temperature in a city."""
    return {"Oslo": 3, "Rome": 18}[city]


def weather(city: str = "Oslo") -> Any:
    return calls(("get_weather", {"city": city}))


def test_other_arguments_are_a_miss():
    recorded = replay(Agent(ScriptedModel([weather(), says("3.")]), [get_weather]).run("Go on."))
    with pytest.raises(ReplayMiss) as caught:
        Agent(ScriptedModel([weather("Rome"), says("18.")]), recorded.tools).run("Go on.")
    text = str(caught.value)
    assert "get_weather was not called with these arguments" in text
    assert '\n- "city": "Oslo"\n+ "city": "Rome"\n' in text


@pytest.mark.parametrize("face", ["run", "arun", "stream", "astream"])
def test_a_call_too_many_is_a_miss(face: str):
    recorded = replay(Agent(ScriptedModel([weather(), says("3.")]), [get_weather]).run("Go on."))
    agent = Agent(ScriptedModel([weather(), weather(), says("3.")]), recorded.tools)
    with pytest.raises(ReplayMiss, match=r"was called once with these arguments .* called once more"):
        play(agent, face)


def test_a_tool_that_was_not_called_is_a_miss():
    recorded = replay(Agent(ScriptedModel([says("3.")]), [get_weather]).run("Go on."))
    with pytest.raises(ReplayMiss, match=r"get_weather was not called in the recorded run; .*: none"):
        Agent(ScriptedModel([weather(), says("3.")]), recorded.tools).run("Go on.")


def test_a_call_of_a_paused_run_has_no_result_and_the_error_says_so():
    @tool(approve=True)
    def pay() -> str:
        "Pay."
        return "paid"

    inner = Agent(ScriptedModel([calls(("pay", {})), says("Paid.")]), [pay]).as_tool("inner", "Pays.")
    agent = Agent(ScriptedModel([calls(("inner", {"prompt": "Pay."})), says("Done.")]), [inner])
    with pytest.raises(RunPaused) as paused:
        agent.run("Go on.")
    recorded = replay(paused.value.facts)
    with pytest.raises(ReplayMiss, match="inner was called in the recorded run, but has no result there"):
        Agent(recorded.model, recorded.tools).run(recorded.prompt)


def test_a_turn_too_many_is_a_miss():
    recorded = replay(Agent(ScriptedModel([weather(), says("3.")]), [get_weather]).run("Go on."))
    agent = Agent(recorded.model, [get_weather])
    first = agent.run("Go on.")
    with pytest.raises(ReplayMiss) as caught:
        agent.run("And in Rome?", messages=first.messages)
    assert "the recorded run has 2 answers, and one more was asked for" in str(caught.value)
    assert "And in Rome?" in str(caught.value)


def test_equal_calls_get_their_results_in_order():
    counted = iter(range(10))

    def count() -> int:
        """Count."""
        return next(counted)

    script = [calls(("count", {})), calls(("count", {})), says("Done.")]
    recorded = Agent(ScriptedModel(script), [count]).run("Go on.")
    again = replay(recorded)
    outcome = Agent(again.model, again.tools).run("Go on.")
    assert [each.output for each in outcome.calls] == [0, 1]


def test_failures_and_media_of_tools():
    def fail() -> int:
        """Fail."""
        raise ValueError("no luck")

    def draw() -> Any:
        """Draw."""
        return ["a dot", Media(mime="image/png", data=b"\x89PNG")]

    script = [calls(("fail", {})), calls(("draw", {})), says("Done.")]
    recorded = Agent(ScriptedModel(script, on_tool_error="tell"), [fail, draw]).run("Go on.")
    again = replay(recorded)
    outcome = Agent(again.model, again.tools).run("Go on.")
    assert [each.result for each in outcome.calls] == [each.result for each in recorded.calls]
    assert outcome.calls[0].error == "ValueError: no luck"


def test_a_model_that_failed():
    with pytest.raises(ProviderError) as caught:
        Agent(ScriptedModel([breaks(ProviderError("overloaded"), text="Hm.")])).run("Go on.")
    assert caught.value.outcome is not None
    again = replay(caught.value.outcome)
    with pytest.raises(StreamInterrupted, match="overloaded") as replayed:
        Agent(again.model).run("Go on.")
    assert replayed.value.outcome is not None


def test_the_model_that_answered_after_an_outage():
    models = [ScriptedModel([breaks(EndpointDown("down"), text="Hm.")], name="a"), ScriptedModel(["Here."], name="b")]
    recorded = Agent(models).run("Go on.")
    assert Agent(replay(recorded).model).run("Go on.").text == "Here."


class Shy(Piecewise):
    """A model that says nothing at first."""

    asked = 0

    async def ask(self, request: Request) -> AsyncGenerator[Sequence[Piece]]:
        self.asked += 1
        yield [Answer(parts=(Text(text="Yes."),) if self.asked > 1 else (), finish="stop")]


def test_an_empty_message_is_asked_about_again():
    recorded = Agent(Shy()).run("Go on.")
    assert recorded.text == "Yes."
    outcome = Agent(replay(recorded).model).run("Go on.")
    assert same(outcome.facts) == same(recorded.facts)


def test_a_typed_answer():
    recorded = Agent(ScriptedModel([weather(), 3]), [get_weather]).run("Go on.", output=int)
    again = replay(recorded)
    assert [tool.name for tool in again.tools] == ["get_weather"]
    assert Agent(again.model, again.tools).run(again.prompt, output=int).output == 3


class Reader(Piecewise):
    """A model that reads page after page, and writes summaries when it is asked for them."""

    pages = 0

    async def ask(self, request: Request) -> AsyncGenerator[Sequence[Piece]]:
        if request.shown.messages[-1].text.startswith("Summarize the conversation"):
            yield [Answer(parts=(Text(text=f"Pages to {self.pages} were read."),), finish="stop")]
        elif self.pages == 14:
            yield [Answer(parts=(Text(text="All is read."),), finish="stop")]
        else:
            self.pages += 1
            called = ApiCall(index=0, id=f"page_{self.pages}", name="read_page", arguments=f'{{"page": {self.pages}}}')
            yield [Answer(parts=(called,), finish="tool_calls")]


def read_page(page: int) -> str:
    """Read a page."""
    return f"Page {page}. " + "All work and no play. " * 40


def test_a_conversation_that_became_too_long():
    limits = Limits(turns=40, context=1_500)
    recorded = Agent(Reader(), [read_page], limits=limits).run("Read it.")
    summaries = {fact.summary for fact in recorded.facts if isinstance(fact, Compacted)}
    assert len([each for each in summaries if "were read" in each]) > 1
    again = replay(recorded)
    outcome = Agent(again.model, again.tools, limits=limits).run("Read it.")
    assert same(outcome.facts) == same(recorded.facts)


class Talker(Piecewise):
    """A model that gives long answers, and whose endpoint counts so many bytes as a token; None if it counts none."""

    def __init__(self, bytes_per_token: int | None) -> None:
        super().__init__()
        self._bytes_per_token = bytes_per_token
        self._asked = 0

    async def ask(self, request: Request) -> AsyncGenerator[Sequence[Piece]]:
        self._asked += 1
        is_summary = request.shown.messages[-1].text.startswith("Summarize the conversation")
        text = f"Summary {self._asked}." if is_summary else f"Answer {self._asked}. " + "And so on. " * 30
        tokens = count_request_bytes(request.shown) // self._bytes_per_token if self._bytes_per_token else 0
        yield [Answer(parts=(Text(text=text),), finish="stop", usage=Usage(input_tokens=tokens))]


@pytest.mark.parametrize("dialect", ["native", "json"])
@pytest.mark.parametrize("bytes_per_token", [None, 2, 6])
def test_a_compacted_conversation_that_goes_on(bytes_per_token: int | None, dialect: str):
    limits = Limits(context=1_500)
    chat = Agent(Talker(bytes_per_token), dialect=dialect, limits=limits).chat()
    continued = 0
    for number in range(24):
        recorded = chat.run(f"Question {number}? " + "Please. " * 30)
        again = replay(recorded)
        continued += again.compacted is not None
        agent = Agent(again.model, dialect=dialect, limits=limits)
        outcome = agent.run(again.prompt, messages=again.messages, compacted=again.compacted)
        assert outcome.text == recorded.text
        if bytes_per_token is None:  # a new agent estimates tokens as the recorded one did
            assert same(outcome.facts) == same(recorded.facts)
        replayed = replay(recorded)
        assert Agent(replayed.model, limits=limits).run(again.prompt, messages=again.messages).text == recorded.text
    assert continued > 5


def test_a_summary_that_failed():
    class Silent(Reader):
        async def ask(self, request: Request) -> AsyncGenerator[Sequence[Piece]]:
            if request.shown.messages[-1].text.startswith("Summarize the conversation"):
                yield [Answer(parts=(), finish="stop")]
                return
            async for pieces in super().ask(request):
                yield pieces

    limits = Limits(turns=40, context=1_500)
    recorded = Agent(Silent(), [read_page], limits=limits).run("Read it.")
    assert recorded.compacted is not None
    assert recorded.compacted.failure
    again = replay(recorded)
    outcome = Agent(again.model, again.tools, limits=limits).run("Read it.")
    assert same(outcome.facts) == same(recorded.facts)
