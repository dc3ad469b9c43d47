"""What a model is shown of a compacted conversation: rounds are cut whole, and nothing that was taken away is lost."""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from toolspeak.loop import initial_state, reduce, words
from toolspeak.loop.big_results import Query
from toolspeak.loop.compaction import Sizes, drop_system, find_cuts, list_rounds, plan_compaction, show_history
from toolspeak.loop.recall import RECALL, RECALL_PARTS, read_earlier, write_round
from toolspeak.run.search_tools import OWN_TOOLS
from toolspeak.values.codec import dump_facts, load_facts
from toolspeak.values.events import Compacted, NestedFact, RunStarted, Usage
from toolspeak.values.messages import Call, Extra, Media, Message, Result, Text, ToolCall, assistant, system, user

from .folding import spec


def made(number: int, calls: int) -> Message:
    """A message of the model that makes some calls."""
    parts = [Call(call=ToolCall(id=f"c{number}_{each}", name="look", arguments={"x": each})) for each in range(calls)]
    return Message(role="assistant", parts=tuple(parts))


def results(number: int, *texts: str) -> Message:
    parts = [Result(call_id=f"c{number}_{each}", content=(Text(text=text),)) for each, text in enumerate(texts)]
    return Message(role="tool", parts=tuple(parts))


TURNS = st.lists(
    st.tuples(st.integers(0, 300), st.lists(st.lists(st.integers(0, 3000), min_size=1, max_size=3), max_size=3)),
    min_size=1,
    max_size=8,
)
"""Turns of a user: the length of the prompt, and for each round of parallel calls the lengths of their results."""


def build(turns: list[tuple[int, list[list[int]]]]) -> tuple[Message, ...]:
    messages = [system("Be brief.")]
    number = 0
    for turn, (length, rounds) in enumerate(turns):
        messages.append(user(f"question {turn} " + "?" * length))
        for lengths in rounds:
            number += 1
            messages += [made(number, len(lengths)), results(number, *("r" * each for each in lengths))]
        messages.append(assistant(f"answer {turn}"))
    return (*messages, user("and now?"))


def has_orphans(messages: tuple[Message, ...]) -> bool:
    """Whether a call stands without its result right after it, or a result without its call."""
    called: list[str] = []
    for message in messages:
        if [part.call_id for part in message.parts if isinstance(part, Result)] != called:
            return True
        called = [call.id for call in message.calls]
    return bool(called)


def size(messages: tuple[Message, ...]) -> int:
    return sum(len(read) for message in messages for part in message.parts for read in texts(part))


def texts(part: object) -> list[str]:
    match part:
        case Text(text=text):
            return [text]
        case Result(content=content):
            return [text for each in content for text in texts(each)]
        case _:
            return ["x" * 10]


@settings(max_examples=60)
@given(TURNS.map(build), st.integers(200, 20_000))
def test_a_plan_cuts_between_rounds_and_fits(history: tuple[Message, ...], limit: int):
    def measure(planned: Compacted) -> int:
        return size(show_history(history, planned, has_recall=True))

    prompt = len(drop_system(history)) - 1
    planned = plan_compaction(history, None, prompt, Sizes(limit=limit, target=limit // 2), measure)
    if planned is None:
        assert measure(Compacted(through=10_000, dropped=find_cuts(drop_system(history))[-1])) > limit
        return
    shown = show_history(history, planned, has_recall=True)
    assert measure(planned) <= limit
    assert planned.dropped == 0 or planned.dropped in find_cuts(drop_system(history))
    assert shown[-1] == history[-1] or shown[-1].text.endswith(history[-1].text)
    assert [each.role for each in shown].count("system") == [each.role for each in history].count("system")
    assert not has_orphans(shown)


@settings(max_examples=60)
@given(TURNS.map(build), st.data())
def test_what_is_shown_grows_only_at_its_end(history: tuple[Message, ...], data: st.DataObject):
    cuts = find_cuts(drop_system(history))
    dropped = data.draw(st.sampled_from(cuts))
    compacted = Compacted(through=dropped + data.draw(st.integers(0, 40)), dropped=dropped, summary="So far.")
    before = show_history(history, compacted, has_recall=True)
    later = show_history((*history, made(99, 1), results(99, "r" * 900)), compacted, has_recall=True)
    assert later[: len(before)] == before


@settings(max_examples=40)
@given(TURNS.map(build))
def test_every_round_and_result_can_be_recalled(history: tuple[Message, ...]):
    messages = drop_system(history)
    rounds = list_rounds(messages)
    assert [message for each in rounds for message in each] == list(messages)
    number = 0
    for place, each in enumerate(rounds, 1):
        recalled = read_whole(history, f"round_{place}")
        assert all(message.text in recalled for message in each)
        for part in (part for message in each for part in message.parts if isinstance(part, Result)):
            number += 1
            assert read_whole(history, f"result_{number}") == texts(part)[0]
            assert texts(part)[0] in recalled


def read_whole(history: tuple[Message, ...], handle: str) -> str:
    """All pieces of something that is recalled, joined."""
    whole, start = "", 0
    while True:
        piece, _, rest = read_earlier(history, 0, handle, Query(start=start), 500).partition("\n… (characters ")
        whole += piece
        if not rest:
            return whole
        start = int(rest.rpartition("start=")[2].rstrip(")"))


def test_a_long_result_keeps_its_head_and_gets_a_handle():
    history = (user("go"), made(1, 2), results(1, "short", "long " * 200), assistant("done"), user("and now?"))
    shown = show_history(history, Compacted(through=4), has_recall=True)
    first, second = (each for each in shown[2].parts if isinstance(each, Result))
    assert texts(first) == ["short"]
    assert texts(second)[0].startswith("long long")
    assert 'shortened: 200 of 1,000 characters are shown; recall("result_2") returns all of it' in texts(second)[0]
    assert "recall" not in texts(show_history(history, Compacted(through=4), has_recall=False)[2].parts[1])[0]


def test_an_old_image_is_only_named():
    image = Result(call_id="c1_0", content=(Media(mime="image/png", data=b"x"),))
    history = (user("go"), made(1, 1), Message(role="tool", parts=(image,)), assistant("done"), user("and now?"))
    shown = show_history(history, Compacted(through=4), has_recall=True)
    assert "[image/png]" in texts(shown[2].parts[0])[0]


def test_the_prompt_of_the_run_is_always_shown():
    history = (user("Find it."), *(each for n in range(9) for each in (made(n, 1), results(n, "r" * 300))))
    compacted = Compacted(through=17, dropped=17, rounds=8, summary="Looked in 8 places.", prompt=0)
    shown = show_history(history, compacted, has_recall=True)
    assert [each.role for each in shown] == ["system", "user", "assistant", "tool"]
    assert "round_1 to round_8 are no longer shown" in shown[1].text
    assert shown[1].text.endswith("Find it.")


def test_the_system_message_says_how_to_recall():
    history = (system("Be kind."), user("Go."), assistant("Yes."), user("And now?"))
    compacted = Compacted(through=2, dropped=2, rounds=1, summary="He goes.")
    shown = show_history(history, compacted, has_recall=True)
    assert [each.role for each in shown] == ["system", "user"]
    assert shown[0].text == f"Be kind.\n\n{words.HOW_TO_RECALL}"
    assert "recall(" not in shown[1].text
    assert show_history(history, compacted, has_recall=False)[0] == history[0]
    only_shortened = Compacted(through=2)
    assert show_history(history, only_shortened, has_recall=True)[0] == history[0]


def test_the_last_complete_round_stays_in_view():
    """It is an example of a call, which small models need."""
    history = (user("1"), made(1, 1), results(1, "r" * 300), assistant("done"), user("2"))
    history = (*history, made(2, 1), results(2, "r" * 300), assistant("done"), user("3"))

    def measure(planned: Compacted) -> int:
        return size(show_history(history, planned, has_recall=False))

    one_round = measure(Compacted(through=8, dropped=4, rounds=1))
    tight = Sizes(limit=one_round + 20, target=one_round - 20)
    planned = plan_compaction(history, None, 8, tight, measure)
    assert planned is not None
    assert planned.dropped == 4
    too_tight = Sizes(limit=one_round - 1, target=one_round - 40)
    planned = plan_compaction(history, None, 8, too_tight, measure)
    assert planned is not None
    assert planned.dropped == 8


def test_the_prompt_and_a_later_message_of_the_user_are_one_message():
    history = (user("Find it."), made(1, 1), results(1, "r"), assistant("It is 42."), user("Give it."), made(2, 1))
    shown = show_history(
        history, Compacted(through=4, dropped=4, rounds=1, summary="Found.", prompt=0), has_recall=False
    )
    assert [each.role for each in shown] == ["user", "assistant"]
    assert shown[0].text.endswith("\n\nFind it.\n\nGive it.")
    assert len(shown[0].parts) == 1


def test_texts_and_images_keep_their_order():
    image = Media(mime="image/png", data=b"x")
    parts = (Text(text="Before:"), image, Text(text="After:"), image)
    history = (user("go"), assistant("yes"), Message(role="user", parts=parts))
    shown = show_history(history, Compacted(through=2, dropped=2, rounds=1, summary="He goes."), has_recall=False)
    first, *others = shown[0].parts
    assert isinstance(first, Text)
    assert first.text.endswith("\n\nBefore:")
    assert tuple(others) == parts[1:]
    asked = Message(role="user", parts=(image, Text(text="What is it?", extra=Extra(vendor="v", data={}))))
    compacted = Compacted(through=2, dropped=2, rounds=1, summary="He asks.", prompt=0)
    joined = show_history((asked, assistant("?"), user("Go on.")), compacted, has_recall=False)[0]
    assert joined.parts[1:] == (*asked.parts, Text(text="\n\nGo on."))


def test_words_are_found_in_what_is_not_shown():
    history = (user("My dog is called Rex."), assistant("Nice."), user("And my cat?"), assistant("No idea."))
    assert read_earlier(history, 2, "REX", Query(), 900).startswith("round_1: …user: My dog is called Rex.")
    assert "cat" not in read_earlier(history, 2, "is", Query(), 900)
    miss = read_earlier(history, 2, "parrot", Query(), 900)
    assert miss == "Nothing is called 'parrot', and no earlier round contains it. There are: round_1 to round_2."
    assert "nothing at 5,000" in read_earlier(history, 2, "round_1", Query(start=5000), 900)


def test_words_are_found_over_line_breaks_and_beside_letters_that_fold_into_two():
    history = (user("ß" * 400 + " The word\nis  apple. " + "ß" * 400), assistant("ok"))
    found = read_earlier(history, 2, " WORD is\napple ", Query(), 900)
    assert found == f"round_1: …{'ß' * 75} The word is apple. {'ß' * 78}…"
    assert "ßß The word" in read_earlier(history, 2, "ssss the", Query(), 900)


@pytest.mark.parametrize("handle", ["round_1", "Round_1", ' "ROUND_1" ', "'round_01'"])
def test_a_handle_is_read_as_models_write_it(handle: str):
    assert read_earlier((user("Hello."), assistant("Hi.")), 2, handle, Query(), 900) == "user: Hello.\nassistant: Hi."


@pytest.mark.parametrize("handle", ["round_0", "round_2", "round_" + "9" * 5000, "round_", "result_1", "round_²"])
def test_a_handle_of_nothing_is_told(handle: str):
    assert "Nothing is called" in read_earlier((user("Hello."), assistant("Hi.")), 2, handle, Query(), 9000)


def test_calls_of_a_tool_of_the_user_named_recall_are_written():
    recalled = ToolCall(id="1", name="recall", arguments={"product": "car"})
    answered = Result(call_id="1", content=(Text(text="Recalled."),))
    messages = (Message(role="assistant", parts=(Call(call=recalled),)), Message(role="tool", parts=(answered,)))
    assert write_round(messages, has_recall=True) == ""
    assert write_round(messages, has_recall=False) == 'call: recall {"product": "car"}\nresult: Recalled.'


def test_the_tool_that_is_offered_takes_what_its_function_takes():
    offered, own = RECALL_PARTS.parameters["properties"], OWN_TOOLS["recall"].spec.parameters["properties"]
    assert {name: each["type"] for name, each in offered.items()} == {name: each["type"] for name, each in own.items()}
    assert RECALL.parameters["required"] == OWN_TOOLS["recall"].spec.parameters["required"]
    assert (RECALL.name, RECALL.effect) == (OWN_TOOLS["recall"].spec.name, OWN_TOOLS["recall"].spec.effect)


STARTED = RunStarted(run_id="r", model="m", dialect="native", messages=(user("go"), assistant("yes"), user("on")))


def test_a_fact_shows_less_and_offers_the_tool():
    fact = Compacted(through=2, dropped=2, summary="He goes.", usage=Usage(input_tokens=5), cost=0.5)
    state = reduce(reduce(initial_state([spec("look")]), STARTED), fact)
    assert list(state.specs) == ["look", "recall"]
    assert state.history == STARTED.messages
    assert [each.role for each in state.shown_history] == ["system", "user"]
    assert (state.usage, state.cost) == (Usage(input_tokens=5), 0.5)
    assert load_facts(dump_facts([fact])) == (fact,)
    nested = reduce(reduce(initial_state([]), STARTED), NestedFact(path=("c",), event=fact))
    assert (nested.usage, nested.compacted) == (Usage(input_tokens=5), None)


def test_a_tool_of_the_user_keeps_its_name():
    own = spec("recall")
    state = reduce(reduce(initial_state([own]), STARTED), Compacted(through=2, dropped=2, summary="He goes."))
    assert state.specs == {"recall": own}
    assert "recall(" not in state.shown_history[0].text
