"""A run with many tools and a budget for them: what the model is shown, how it finds the rest, and that this lasts."""

from collections.abc import Callable
from itertools import pairwise
from typing import Any

import pytest

from toolspeak import Agent, Limits, UsageError
from toolspeak.dialects import DIALECTS
from toolspeak.dialects.slim_tools import HELP_DESCRIPTION, count_tool_tokens
from toolspeak.dialects.tool_selection import FIND_DESCRIPTION
from toolspeak.models import Request
from toolspeak.testing import ScriptedModel, calls, says
from toolspeak.tools import Tool
from toolspeak.values.events import RunStarted
from toolspeak.values.messages import Message, Result, Text

every_dialect = pytest.mark.parametrize("dialect", DIALECTS)

BUDGET = 500
SECRET = "Nothing is sent twice."


def make_tool(number: int) -> Tool[..., Any]:
    def do(place: str) -> str:
        return f"{number} in {place}"

    return Tool(do, name=f"thing_{number}", description=f"Does the thing number {number}. There is no other like it.")


def get_weather(city: str) -> str:
    """Tell the weather in a city."""
    return "sunny"


def send_mail(to: str, text: str) -> str:
    """Send a mail to somebody. Nothing is sent twice."""
    return f"sent to {to}"


def book_train(start: str, end: str) -> str:
    """Book a train ticket."""
    return "booked"


TOOLS: list[Callable[..., Any] | Tool[..., Any]] = [*map(make_tool, range(100)), get_weather, send_mail, book_train]


def read_messages(request: Request) -> list[str]:
    def read(message: Message) -> str:
        results = [each for part in message.parts if isinstance(part, Result) for each in part.content]
        return "".join(part.text for part in (*message.parts, *results) if isinstance(part, Text))

    return [f"{message.role}: {read(message)}" for message in request.shown.messages]


def name_shown(request: Request) -> list[str]:
    return [each.name for each in request.shown.tools]


def read_shown(request: Request) -> str:
    return "\n".join([*(f"{each.name} {each.description}" for each in request.shown.tools), *read_messages(request)])


def is_prefix(earlier: Request, later: Request) -> bool:
    """Whether a server that has read one request needs to read only the end of another."""
    messages, tools = read_messages(earlier), name_shown(earlier)
    return read_messages(later)[: len(messages)] == messages and name_shown(later)[: len(tools)] == tools


@every_dialect
def test_tools_are_picked_found_and_called_without_a_change_to_what_was_shown(dialect: str):
    script = [
        calls(("get_weather", {"city": "Oslo"})),
        calls(("find_tools", {"query": "write somebody a mail"})),
        calls(("help", {"tool": "send_mail"})),
        calls(("send_mail", {"to": "Anna", "text": "Sunny."})),
        calls(("thing_99", {"place": "Oslo"})),
        says("Done."),
    ]
    model = ScriptedModel(script, dialect=dialect)

    outcome = Agent(model, TOOLS, tool_budget=BUDGET).run("How is the weather in Oslo?")

    outputs = [each.output for each in outcome.calls]
    assert (outputs[0], *outputs[3:]) == ("sunny", "sent to Anna", "99 in Oslo")
    first = model.requests[0]
    assert "get_weather" in read_shown(first)
    assert "send_mail" not in read_shown(first)
    assert count_tool_tokens(first.shown.tools, DIALECTS[dialect]) <= BUDGET
    assert "send_mail" in read_shown(model.requests[2])
    assert SECRET not in read_shown(model.requests[2])
    assert SECRET in read_messages(model.requests[3])[-1]
    assert all(is_prefix(earlier, later) for earlier, later in pairwise(model.requests))


@every_dialect
def test_a_resumed_run_shows_the_same_tools(dialect: str):
    script = [
        calls(("find_tools", {"query": "write somebody a mail"})),
        calls(("send_mail", {"to": "Anna", "text": "Sunny."})),
        says("Done."),
    ]
    whole = ScriptedModel(script, dialect=dialect)
    agent = Agent(whole, TOOLS, tool_budget=BUDGET)
    facts = list(agent.run("How is the weather in Oslo?").facts)
    ends = [place for place, fact in enumerate(facts) if fact.kind == "turn_started"]
    resumed = ScriptedModel(script, dialect=dialect)

    other = Agent(resumed, TOOLS)  # the budget is a fact of the run
    other.resume(facts[: ends[2]])

    assert resumed.requests == whole.requests[2:]


def test_a_conversation_only_adds_tools():
    model = ScriptedModel([says("Sunny."), says("To whom?"), says("Sent.")], dialect="python")
    chat = Agent(model, TOOLS, tool_budget=BUDGET).chat()

    chat.run("How is the weather in Oslo?")
    chat.run("Send a mail that says so.")
    chat.run("To Anna.")

    assert all(is_prefix(earlier, later) for earlier, later in pairwise(model.requests))
    assert "send_mail" not in read_shown(model.requests[0])
    assert "send_mail" in read_shown(model.requests[1])


def test_tools_that_dropped_messages_added_move_to_the_list():
    model = ScriptedModel(
        [calls(("find_tools", {"query": "mail"})), says("x" * 3000), says("A summary."), says("Well."), says("Well.")],
        dialect="python",
    )
    agent = Agent(model, TOOLS, tool_budget=BUDGET, limits=Limits(context=2_000), summarize=lambda _: "A summary.")
    chat = agent.chat()

    chat.run("How is the weather in Oslo?")
    assert "def send_mail" not in read_messages(model.requests[0])[0]
    chat.run(f"And now? {'y' * 2000}")

    last = model.requests[-1]
    assert chat.compacted is not None
    assert chat.compacted.dropped
    assert "def send_mail" in read_messages(last)[0]
    assert read_shown(last).count("def send_mail") == 1


def test_a_call_of_a_hidden_tool_that_does_not_fit_is_explained_with_its_signature():
    model = ScriptedModel([calls(("send_mail", {"whom": "Anna"})), says("Well.")], dialect="python")

    outcome = Agent(model, TOOLS, tool_budget=BUDGET).run("How is the weather in Oslo?")

    assert not outcome.calls[0].result.ran
    assert "def send_mail(*, to: str, text: str)" in read_messages(model.requests[1])[-1]


@pytest.mark.parametrize("budget", [None, 100_000])
def test_without_a_budget_or_within_it_all_tools_are_shown(budget: int | None):
    plain, bounded = ScriptedModel([says("Hi.")]), ScriptedModel([says("Hi.")])

    Agent(plain, TOOLS).run("Hi")
    Agent(bounded, TOOLS, tool_budget=budget).run("Hi")

    assert [each.shown for each in plain.requests] == [each.shown for each in bounded.requests]


def test_tools_of_the_user_keep_their_names():
    def help(city: str) -> str:
        """Help a city in need, with all that it takes."""
        return "helped"

    def find_tools(shed: str) -> str:
        """Find hammers and saws in a shed."""
        return "a saw"

    script = [calls(("help", {"city": "Oslo"}), ("find_tools", {"shed": "mine"})), says("Done.")]
    model = ScriptedModel(script)

    outcome = Agent(model, [help, find_tools, *TOOLS], tool_budget=BUDGET).run("Help Oslo, find tools in my shed.")

    assert [each.output for each in outcome.calls] == ["helped", "a saw"]
    assert {"tool_help", "search_tools"} <= set(name_shown(model.requests[0]))


@pytest.mark.parametrize("description", [FIND_DESCRIPTION, HELP_DESCRIPTION])
def test_a_tool_that_describes_itself_as_one_of_ours_is_an_ordinary_tool(description: str):
    def collect(query: str) -> str:
        return "a list of what you said"

    impostor = Tool(collect, name="collect", description=description)
    script = [calls(("find_tools", {"query": "collect mail"})), says("Done.")]
    model = ScriptedModel(script)

    outcome = Agent(model, [impostor, *TOOLS], tool_budget=BUDGET).run("How is the weather in Oslo?")

    assert name_shown(model.requests[0])[-2:] == ["help", "find_tools"]
    assert {"collect", "send_mail"} <= set(str(outcome.calls[0].output).replace(",", " ").split())


def test_a_new_tool_cannot_take_the_place_of_ours_in_a_resumed_run():
    def find_tools(query: str) -> str:
        """Find hammers and saws in a shed."""
        return "a saw"

    whole = ScriptedModel([calls(("find_tools", {"query": "mail"})), says("Done.")])
    facts = list(Agent(whole, TOOLS, tool_budget=BUDGET).run("Hi").facts)
    ends = [place for place, fact in enumerate(facts) if fact.kind == "turn_started"]

    with pytest.raises(UsageError, match="two tools are called 'find_tools'"):
        Agent(ScriptedModel([]), [find_tools, *TOOLS], tool_budget=BUDGET).resume(facts[: ends[1]])


@every_dialect
def test_a_typed_answer_and_a_demanded_tool_are_always_shown(dialect: str):
    script = [calls(("book_train", {"start": "A", "end": "B"})), calls(("final_answer", {"answer": 4}))]
    model = ScriptedModel(script, dialect=dialect)
    agent = Agent(model, TOOLS, output=int, tool_budget=BUDGET, tool_choice="book_train")

    assert agent.run("How is the weather in Oslo?").output == 4
    assert "final_answer" in read_shown(model.requests[0])
    assert "book_train" in read_shown(model.requests[0])


def test_the_budget_goes_with_the_agent_to_which_a_conversation_is_handed_over():
    desk = ScriptedModel([calls(("expert", {}))])
    model = ScriptedModel([says(""), calls(("find_tools", {"query": "mail"})), says("Done.")], dialect="python")
    expert = Agent(model, TOOLS, tool_budget=BUDGET)

    outcome = Agent(desk, [expert.as_handoff("expert", "Knows all.")]).run("The weather in Oslo?")

    assert outcome.text == "Done."
    assert "thing_99" not in read_shown(model.requests[0])
    assert "def send_mail" in read_messages(model.requests[1])[-1]


def test_the_budget_is_a_fact():
    outcome = Agent(ScriptedModel([says("Hi.")]), TOOLS, tool_budget=BUDGET).run("Hi")

    started = outcome.facts[0]
    assert isinstance(started, RunStarted)
    assert started.tool_budget == BUDGET
    assert started.search_tools == ("help", "find_tools")


@pytest.mark.parametrize("budget", [0, -1, True, 1.5, "many"])
def test_a_wrong_budget_is_refused(budget: Any):
    with pytest.raises(UsageError, match="tool_budget is a whole number of tokens above 0"):
        Agent(ScriptedModel([]), TOOLS, tool_budget=budget)
