"""A tool that needs deps, in a run that has none: the program is told before anything is sent."""

import logging
from typing import Annotated, Any, TypeVar

import pytest

from toolspeak.run import Agent, Chain
from toolspeak.testing import ScriptedModel, calls, says
from toolspeak.tools import Context, tool
from toolspeak.values.errors import RunPaused, UsageError

Deps = TypeVar("Deps")


class Shop:
    def __init__(self, name: str) -> None:
        self.name = name


def owner(context: Context[Shop]) -> str:
    "The name of the owner."
    return context.deps.name


def annotated(context: Annotated[Context[dict[str, int]], "the stock"]) -> int:
    "Count the stock."
    return len(context.deps)


def run_id(context: Context[None]) -> str:
    "The id of the run."
    return context.run_id


def optional(context: Context[Shop | None]) -> str:
    "The name of the owner, if there is one."
    return context.deps.name if context.deps else "nobody"


def bare(context: Context) -> str:  # type: ignore[type-arg] (as users write it)
    "The name of the owner."
    return context.deps.name


def generic(context: Context[Deps]) -> str:
    "The type of the deps."
    return type(context.deps).__name__


SCRIPT = [calls(("owner", {})), says("It is Ann's.")]
REFUSAL = r"owner takes deps \(Context\[Shop\]\), and the run has none; give deps=… to the agent or to the run"


def test_a_run_without_deps_is_refused_before_anything_is_sent():
    model = ScriptedModel(SCRIPT)
    agent = Agent(model, [run_id, owner])
    for begin in (agent.run, agent.stream, agent.chat().run):
        with pytest.raises(UsageError, match=REFUSAL):
            begin("Whose is it?")
    assert model.requests == []
    assert agent.run("Whose is it?", deps=Shop("Ann")).calls[0].output == "Ann"
    assert Agent(model, [owner], deps=Shop("Ann")).run("Whose is it?").calls[0].output == "Ann"
    with pytest.raises(UsageError, match=r"annotated takes deps \(Context\[dict\[str, int\]\]\)"):
        Agent(model, [annotated]).run("How many?")


@pytest.mark.parametrize(
    ("function", "output"),
    [(run_id, None), (optional, "nobody"), (generic, "NoneType")],
    ids=lambda case: getattr(case, "__name__", case),
)
def test_a_tool_that_can_do_without_deps_is_not_refused(function: Any, output: str | None):
    outcome = Agent(ScriptedModel([calls((function.__name__, {})), says("Well.")]), [function]).run("Go.")
    assert outcome.calls[0].output == (output or outcome.run_id)


def test_tools_that_are_chosen_for_a_run_are_checked_when_they_are_chosen():
    model = ScriptedModel(SCRIPT)
    with pytest.raises(UsageError, match=REFUSAL):
        Agent(model, [owner], choose_tools=lambda context, tools: tools).run("Whose is it?")
    assert model.requests == []
    agent = Agent(ScriptedModel([says("Well.")]), [owner], choose_tools=lambda context, tools: [])
    assert agent.run("Whose is it?").text == "Well."


def test_an_agent_that_is_a_tool_needs_what_its_own_tools_need():
    shop = Agent(ScriptedModel(SCRIPT), [owner]).as_tool("shop", "Knows the shop.")
    office = Agent(ScriptedModel([calls(("shop", {"prompt": "Whose is it?"})), says("Ann's.")]), [shop])
    street = Agent(
        ScriptedModel([calls(("office", {"prompt": "Whose is it?"})), says("Ann's.")]), [office.as_tool("office")]
    )
    for agent in (office, street):
        with pytest.raises(UsageError, match=r"takes deps \(Context\[Shop\]\)"):
            agent.run("Whose shop is it?")
        assert agent.run("Whose shop is it?", deps=Shop("Ann")).calls[0].error is None
    own = Agent(ScriptedModel(SCRIPT), [owner], deps=Shop("Ann")).as_tool("shop", "Knows the shop.")
    assert (
        Agent(ScriptedModel([calls(("shop", {"prompt": "?"})), says("Ann's.")]), [own]).run("?").calls[0].error is None
    )


def test_a_chain_and_a_resumed_run_need_them_too():
    with pytest.raises(UsageError, match=REFUSAL):
        Chain("Whose is it?").with_tools([owner]).llm(ScriptedModel(SCRIPT)).run()
    agent = Agent(ScriptedModel(SCRIPT), [tool(owner, approve=True)])
    with pytest.raises(RunPaused) as paused:
        agent.run("Whose is it?", deps=Shop("Ann"))
    with pytest.raises(UsageError, match=REFUSAL):
        agent.resume(paused.value.facts)


def test_where_it_cannot_be_known_the_log_names_it(caplog: pytest.LogCaptureFixture):
    with caplog.at_level(logging.WARNING, logger="toolspeak"):
        outcome = Agent(ScriptedModel([calls(("bare", {})), says("Well.")]), [bare], on_tool_error="tell").run("Whose?")
    (record,) = (each for each in caplog.records if each.name == "toolspeak")
    where = f"call {outcome.calls[0].call.id} of run {outcome.run_id}, which has no deps"
    assert record.getMessage() == f"tool bare failed ({where})"
