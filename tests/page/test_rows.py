"""What the rows of a run say: of programs, of agents that are tools, and of what went wrong."""

from collections.abc import Iterable
from typing import Any

from toolspeak import Agent, tool
from toolspeak.page.rows import RowFold, count_run
from toolspeak.testing import ScriptedModel, calls, says
from toolspeak.values.events import Fact, RunEnded
from toolspeak.values.messages import Media

from .recorded import get_weather

PROGRAM = """cities = ['Paris', 'Oslo']
for city in cities:
    print(get_weather(city)['city'])
try:
    get_weather('Atlantis')
except Exception as error:
    print(error)
"""


def fold(facts: Iterable[Fact]) -> list[dict[str, Any]]:
    """Return the rows of a run, whose facts are a second apart."""
    rows = RowFold()
    for number, fact in enumerate(facts):
        rows.add(fact, float(number))
    return [row.encode() for row in rows.rows]


def test_a_program_is_one_call_with_its_calls_beneath() -> None:
    model = ScriptedModel([calls(("run_program", {"code": PROGRAM})), says("Done.")], on_tool_error="tell")
    facts = Agent(model, tools=[get_weather], code=True).run("Compare.").facts
    rows = fold(facts)
    assert [row["kind"] for row in rows] == ["message", "turn", "call", "call", "call", "call", "turn", "end"]
    program, *inner = [row for row in rows if row["kind"] == "call"]
    assert (program["name"], program["is_program"]) == ("run_program", True)
    assert program["arguments"] == "cities = ['Paris', 'Oslo'] … 7 lines"
    assert {row["parent"] for row in inner} == {program["i"]}
    assert [row.get("faults") for row in inner] == [None, None, ("error",)]
    assert count_run(facts) == {"turns": 2, "calls": 1, "errors": 1, "repairs": 0, "refusals": 0, "repeats": 0}


def test_a_model_whose_name_is_program_keeps_its_turns() -> None:
    helper = Agent(ScriptedModel([says("Blue.")], name="program"))
    model = ScriptedModel([calls(("ask", {"prompt": "What colour?"})), says("It is blue.")])
    rows = fold(Agent(model, tools=[helper.as_tool("ask", "Ask somebody.")]).run("Go.").facts)
    assert [row["turn"] for row in rows if row["kind"] == "turn"] == [1, 1, 2]


def test_an_inner_run_says_that_it_is_one_and_how_long_it_took_itself() -> None:
    helper = Agent(ScriptedModel([says("Blue.")], name="helper"))
    model = ScriptedModel([calls(("ask", {"prompt": "What colour?"})), says("It is blue.")])
    facts = Agent(model, tools=[helper.as_tool("ask", "Ask somebody.")]).run("Go.").facts
    rows = fold(facts)
    task = next(row for row in rows if row["kind"] == "message" and row.get("inner"))
    inner_end, end = [row for row in rows if row["kind"] == "end"]
    assert task["text"] == "What colour?"
    assert inner_end["seconds"] == inner_end["at"] - task["at"] < inner_end["at"]
    assert end["seconds"] == end["at"]
    assert count_run(facts)["turns"] == 2


def test_errors_repairs_and_refusals_are_counted() -> None:
    @tool(approve=True)
    def launch(rocket: str) -> str:
        """Launch a rocket."""
        return rocket

    script = [
        says('<tool_call>\n{"name": "get_weather", "arguments": {"city": "Atlantis",}}\n</tool_call>'),
        says('<tool_call>\n{"name": "get_weather", "arguments": {{{\n</tool_call>'),
        calls(("launch", {"rocket": "Ariane"})),
        says("Nothing worked."),
    ]
    model = ScriptedModel(script, dialect="json", on_tool_error="tell")
    facts = Agent(model, tools=[get_weather, launch], approve=lambda call: "not today").run("Go.").facts
    rows = [row for row in fold(facts) if row["kind"] == "call"]
    assert [row["stage"] for row in rows] == ["failed", "malformed", "refused"]
    assert [row["faults"] for row in rows] == [("error", "repair"), ("error",), ("refusal",)]
    assert count_run(facts) == {"turns": 4, "calls": 3, "errors": 2, "repairs": 1, "refusals": 1, "repeats": 0}


def test_a_result_that_is_an_image_is_named() -> None:
    def draw() -> Media:
        """Draw."""
        return Media(mime="image/png", data=b"\x89PNG", name="chart.png")

    rows = fold(Agent(ScriptedModel([calls(("draw", {})), says("Drawn.")]), tools=[draw]).run("Draw.").facts)
    assert next(row for row in rows if row["kind"] == "call")["result"] == "chart.png"


def test_why_a_run_failed_is_kept_whole() -> None:
    rows = RowFold()
    reason = "401 Unauthorized: " + "the key is wrong; " * 40
    rows.add(RunEnded(reason="error", detail=reason), None)
    assert rows.summary["detail"] == reason
    assert len(rows.rows[0].fields["text"]) < 200
