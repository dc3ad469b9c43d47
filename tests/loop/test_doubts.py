"""Whose words the values of a call are: from facts alone, and the same for every way to the same conversation."""

from hypothesis import given
from hypothesis import strategies as st

from toolspeak.loop import AskApproval, RefuseCalls, RunTools, State, decide, fold, initial_state
from toolspeak.loop.doubts import list_links
from toolspeak.loop.provenance import Sources, shorten_value
from toolspeak.values.events import (
    ApprovalGiven,
    ApprovalNeeded,
    CallReady,
    Fact,
    Provenance,
    RunStarted,
    ToolFinished,
    ToolStarted,
    TurnEnded,
    TurnStarted,
)
from toolspeak.values.messages import Call, Message, Result, ToolCall, ToolResult, user
from toolspeak.values.spec import ToolSpec

PARAMETERS = {"type": "object", "properties": {"x": {"type": "string"}}}
SPECS = [
    ToolSpec(name="own", description="", parameters=PARAMETERS, effect="read", result="own"),
    ToolSpec(name="foreign", description="", parameters=PARAMETERS, effect="read", result="foreign"),
    ToolSpec(name="unsaid", description="", parameters=PARAMETERS, effect="read"),
    ToolSpec(name="send", description="", parameters=PARAMETERS),
    ToolSpec(name="strict", description="", parameters=PARAMETERS, decisive=("x",)),
]
NAMES = ["ann", "bob", "cid", "dan", "eve"]


def say(turn: int, call: ToolCall) -> list[Fact]:
    message = Message(role="assistant", parts=(Call(call=call),))
    return [TurnStarted(turn=turn), CallReady(call=call), TurnEnded(message=message, finish="tool_calls")]


def answer(turn: int, tool: str, words: list[str]) -> list[Fact]:
    call = ToolCall(id=f"c{turn}", name=tool, arguments={})
    result = ToolResult(call_id=call.id, output=" ".join(words))
    return [*say(turn, call), ToolStarted(call_id=call.id), ToolFinished(result=result)]


def start(said: list[str], provenance: Provenance = "ask") -> RunStarted:
    messages = (user(" ".join(["Write to", *said])),)
    return RunStarted(run_id="r", model="m", dialect="native", messages=messages, provenance=provenance)


def fold_all(facts: list[Fact]) -> State:
    state = initial_state(SPECS)
    for fact in facts:
        fold(state, fact)
    return state


people = st.lists(st.sampled_from(NAMES), max_size=3, unique=True)
results = st.lists(st.tuples(st.sampled_from(["own", "foreign", "unsaid"]), people), max_size=4)


@given(said=people, shown=results, value=st.sampled_from(NAMES), tool=st.sampled_from(["send", "strict"]))
def test_a_call_runs_unasked_only_if_its_values_are_explained_or_nothing_foreign_was_shown(
    said: list[str], shown: list[tuple[str, list[str]]], value: str, tool: str
):
    facts: list[Fact] = [start(said)]
    for turn, (name, words) in enumerate(shown, 1):
        facts += answer(turn, name, words)
    call = ToolCall(id="last", name=tool, arguments={"x": value})
    facts += say(len(shown) + 1, call)
    kinds = {name for name, _ in shown}
    is_exposed = "foreign" in kinds or (tool == "strict" and "unsaid" in kinds)
    explained = value in said or any(value in words for name, words in shown if name == "own")
    (action,) = decide(fold_all(facts))
    if explained or not is_exposed:
        assert action == RunTools(calls=(call,))
        return
    assert isinstance(action, AskApproval)
    (doubt,) = action.doubts["last"]
    places = [f"c{turn}" for turn, (name, words) in enumerate(shown, 1) if name != "own" and value in words]
    assert (doubt.parameter, doubt.value) == ("x", value)
    assert doubt.result_id in (places or [""])
    refused = decide(fold_all([start(said, "refuse"), *facts[1:]]))
    assert isinstance(refused[0], RefuseCalls)
    assert decide(fold_all([start(said, "off"), *facts[1:]])) == (RunTools(calls=(call,)),)
    # An answer counts for this call, and with `remember` for the next one of the same tool.
    facts += [ApprovalNeeded(call=call, doubts=(doubt,)), ApprovalGiven(call_id="last", approved=True, remember=True)]
    assert decide(fold_all(facts)) == (RunTools(calls=(call,)),)
    facts += [ToolStarted(call_id="last"), ToolFinished(result=ToolResult(call_id="last", output="done"))]
    again = ToolCall(id="again", name=tool, arguments={"x": value})
    facts += say(len(shown) + 2, again)
    assert decide(fold_all(facts)) == (RunTools(calls=(again,)),)


def test_a_memo_of_another_conversation_is_not_used():
    sources = Sources()
    sources.follow((user("Write to Ann."),), [], None, exposed=False)
    assert sources.explains("ann")
    sources.follow((user("Write to Bob."),), [], None, exposed=False)
    assert (sources.explains("ann"), sources.explains("bob")) == (False, True)


def test_what_was_allowed_is_saved_with_the_result():
    state = fold_all([start(["ann"]), *answer(1, "foreign", ["eve"])])
    call = ToolCall(id="c", name="send", arguments={"x": "eve"})
    for fact in say(2, call):
        fold(state, fact)
    (action,) = decide(state)
    assert isinstance(action, AskApproval)
    more: list[Fact] = [
        ApprovalNeeded(call=call, doubts=action.doubts["c"]),
        ApprovalGiven(call_id="c", approved=True, remember=True),
        ToolStarted(call_id="c"),
        ToolFinished(result=ToolResult(call_id="c", output="done")),
    ]
    for fact in more:
        fold(state, fact)
    part = state.history[-1].parts[0]
    assert isinstance(part, Result)
    assert [(each.tool, each.parameter, each.value) for each in part.allowed] == [("send", "x", "eve")]


def test_long_values_are_kept_short_and_told_apart():
    one, other = "a" * 5_000, "a" * 4_999 + "b"
    assert len(shorten_value(one)) < 1_100
    assert shorten_value(one) != shorten_value(other)
    assert shorten_value("short") == "short"


def test_links_are_found_in_plain_text():
    assert list_links("Look at https://evil.example/x?y=1, or www.evil.example. Not at e.g. this.") == [
        "https://evil.example/x?y=1",
        "www.evil.example",
    ]
