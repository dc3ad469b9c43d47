"""The scripted model: what users test their own tools with."""

import asyncio
import subprocess
import sys
from datetime import date
from typing import Any

import pytest
from pydantic import BaseModel, Field

from tests.run.playing import SPOKEN, Clock, play
from toolspeak.dialects import DIALECTS
from toolspeak.models import Model, Request
from toolspeak.run import Agent
from toolspeak.testing import ScriptedModel, ScriptedReply, breaks, calls, gives, says
from toolspeak.values.errors import ProviderError, UsageError
from toolspeak.values.events import TextDelta, Usage
from toolspeak.values.limits import Limits
from toolspeak.values.messages import Ref, ToolCall, assistant, user
from toolspeak.values.pieces import Answer, CallPiece, Piece


def asked(model: ScriptedModel, *before: str, dialect: str = "native", stream: bool = True) -> list[Piece]:
    """What it says after a conversation with these answers."""
    history = [user("Go."), *map(assistant, before)]
    request = Request(shown=DIALECTS[dialect].render([], history), dialect=dialect, stream=stream)

    async def main() -> list[Piece]:
        return [piece async for batch in model.ask(request) for piece in batch]

    return asyncio.run(main())


def test_it_is_a_model():
    model = ScriptedModel([], dialect="python", name="mine")
    assert isinstance(model, Model)
    assert (model.name, model.dialect) == ("mine", "python")
    assert Agent(model).dialect.name == "python"


def test_which_line_is_next_depends_on_the_conversation_alone():
    model = ScriptedModel([says("one"), says("two")])
    assert [asked(model)[-1].parts[0].text, asked(model, "x")[-1].parts[0].text] == ["one", "two"]
    assert asked(model)[-1].parts[0].text == "one"
    assert len(model.requests) == 3


@pytest.mark.parametrize("dialect", SPOKEN)
@pytest.mark.parametrize("chunk", [None, 1, 3])
def test_pieces_join_to_the_answer(dialect: str, chunk: int | None):
    model = ScriptedModel([calls(("look", {"at": "it"}), text="So:")], chunk=chunk)
    *pieces, last = asked(model, dialect=dialect)
    assert isinstance(last, Answer)
    assert asked(model, dialect=dialect, stream=False) == [last]
    said = "".join(piece.text for piece in pieces if isinstance(piece, TextDelta))
    assert said == "".join(part.text for part in last.parts if part.kind == "text")
    spoken = "".join(piece.arguments for piece in pieces if isinstance(piece, CallPiece))
    assert bool(spoken) == (dialect == "native")
    assert last.finish == ("tool_calls" if dialect == "native" else "stop")
    assert chunk is None or all(len(piece.text) <= chunk for piece in pieces if isinstance(piece, TextDelta))


def test_it_breaks_off_where_it_is_told_to():
    for after, text in ((None, "Hello."), (0, ""), (3, "Hel")):
        model = ScriptedModel([breaks(ProviderError("no"), text="Hello.", after=after)], chunk=2)
        with pytest.raises(ProviderError) as raised:
            play(Agent(model), "stream")
        assert raised.value.outcome.text == text


def test_a_line_may_be_a_function_of_the_request():
    def line(request: Request) -> ScriptedReply:
        return says(f"You said: {request.shown.messages[-1].text}")

    assert play(Agent(ScriptedModel([line]))).text == "You said: Go on."


def test_it_keeps_time():
    model = ScriptedModel([ScriptedReply(text="Hello.", after=0.1, lingers=0.1)])
    for stream in (True, False):
        clock = Clock()
        asked(model, stream=stream)
        assert 0.2 <= clock() < 10


def test_it_says_what_it_took_and_how_it_ended():
    usage = Usage(input_tokens=1, output_tokens=2)
    [*_, last] = asked(ScriptedModel([says("Hi.", thinking="Hm.", finish="length", usage=usage)]))
    assert (last.finish, last.usage) == ("length", usage)
    assert [part.kind for part in last.parts] == ["thinking", "text"]


def test_a_call_may_refer_to_another():
    def look(at: Any) -> Any:
        "Look."
        return {"seen": at}

    made = (
        ToolCall(id="a", name="look", arguments={"at": "x"}),
        ToolCall(id="b", name="look", arguments={"at": Ref(call="a", path=("seen",))}),
    )
    outcome = play(Agent(ScriptedModel([ScriptedReply(calls=made), says("Done.")]), [look], dialect="python"))
    assert [each.output for each in outcome.calls] == [{"seen": "x"}, {"seen": "x"}]


@pytest.mark.parametrize(
    ("made", "words"),
    [
        (lambda: Agent(ScriptedModel([]), approve=True), "approve is a function"),
        (lambda: Agent(ScriptedModel([]), limits=3), "limits are Limits"),
        (lambda: Agent(ScriptedModel([]), limits=Limits(turns=-1)), "a number from 0"),
        (lambda: Agent(ScriptedModel([])).run("?"), "the script has 0 lines"),
        (lambda: Agent(ScriptedModel([])).run(messages=[{"role": "user", "content": "?"}]), "messages are those of"),
        (lambda: Agent(ScriptedModel([])).run("?", messages="before"), "messages is a list of messages"),
        (lambda: Agent(ScriptedModel([])).run(5), "a prompt must be a string or a message"),
    ],
)
def test_wrong_usage_is_told_in_words(made, words):
    with pytest.raises(UsageError, match=words):
        made()


def test_a_line_may_be_a_text():
    assert Agent(ScriptedModel(["Hello."])).run("?").text == "Hello."


def test_a_stream_that_is_left_ends_in_silence():
    program = (
        "from toolspeak import Agent\n"
        "from toolspeak.testing import ScriptedModel\n"
        "stream = Agent(ScriptedModel(['x' * 50], chunk=1, pace=0.05)).stream('?')\n"
        "for event in stream:\n"
        "    break\n"
    )
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, timeout=80, check=False)
    assert (done.returncode, done.stdout, done.stderr) == (0, "", "")


# Typed answers


class Sum(BaseModel):
    total: int = Field(alias="sum")


class Pair(BaseModel):
    first: int
    when: date


@pytest.mark.parametrize(
    ("kind", "line", "expected"),
    [
        (int, 42, 42),
        (bool, True, True),
        (float, 2.5, 2.5),
        (str, gives("yes"), "yes"),
        (list[int], [1, 2], [1, 2]),
        (dict[str, int], {"a": 1}, {"a": 1}),
        (Pair, Pair(first=1, when=date(2026, 5, 1)), Pair(first=1, when=date(2026, 5, 1))),
        (Sum, Sum(sum=3), Sum(sum=3)),
        (date, gives(date(2026, 5, 1)), date(2026, 5, 1)),
    ],
)
@pytest.mark.parametrize("dialect", ["native", "json", "python"])
def test_a_line_may_be_the_typed_answer(kind, line, expected, dialect):
    assert Agent(ScriptedModel([line]), dialect=dialect).run("?", output=kind).output == expected


def test_the_same_seed_cuts_at_the_same_places():
    def cut(seed):
        stream = Agent(ScriptedModel(["It is eighteen degrees in Paris."], chunk=6, seed=seed)).stream("?")
        return [event.text for event in stream if event.kind == "text_delta"]

    assert cut(1) == cut(1) != cut(2)
    assert "".join(cut(1)) == "It is eighteen degrees in Paris."
    assert max(map(len, cut(1))) <= 6


def test_a_run_with_a_seed_is_the_same_each_time_with_its_id():
    def look() -> int:
        return 18

    def play(seed):
        model = ScriptedModel([calls(("look", {}), text="I look."), "It is eighteen degrees."], chunk=6, seed=seed)
        agent = Agent(model, [look])
        return [agent.run("How warm is it?") for _ in range(2)]

    first, again, other = play(1), play(1), play(2)
    assert [outcome.facts for outcome in first] == [outcome.facts for outcome in again]
    assert len({outcome.run_id for outcome in (*first, *again, *other)}) == 4
    assert play(None)[0].run_id != play(None)[0].run_id


@pytest.mark.parametrize("given", [("now",), ("now", {}), (("now",),), (("now", "x"),), (("now", {}, "x"),), ("ab",)])
def test_calls_that_are_no_pairs_are_explained(given: Any):
    with pytest.raises(UsageError, match="a call is a pair of a name and a dict of arguments, so write calls"):
        calls(*given)


@pytest.mark.parametrize("dialect", SPOKEN)
def test_a_script_without_the_typed_answer_is_explained(dialect: str):
    with pytest.raises(UsageError, match=r"the script has 1 line, .*; a run with output=… ends with its typed answer"):
        Agent(ScriptedModel(["yes"]), dialect=dialect).run("Is it?", output=bool)


def test_a_script_that_is_one_text_is_explained():
    with pytest.raises(UsageError, match=r"a script is a list of lines, so write ScriptedModel\(\['Hello'\]\)"):
        ScriptedModel("Hello")
