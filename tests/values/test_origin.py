"""A text that is put together from stretches is the joined text, and gives its stretches back."""

from dataclasses import replace
from itertools import groupby

from hypothesis import given
from hypothesis import strategies as st

from toolspeak.values.messages import Message, Text, assume_origin, compose, list_stretches, split_text
from toolspeak.values.origin import Origin, Span, Stretch, find_weakest

stretches = st.lists(st.builds(Stretch, st.text(max_size=4), st.sampled_from(Origin)), max_size=6)


def join_equal(given: list[Stretch]) -> list[Stretch]:
    known = [each for each in given if each.text]
    groups = groupby(known, key=lambda each: each.origin)
    return [Stretch("".join(each.text for each in group), origin) for origin, group in groups]


@given(stretches)
def test_stretches_survive_being_put_together(given: list[Stretch]):
    text = compose(given)
    assert text.text == "".join(each.text for each in given)
    assert split_text(text, "user") == join_equal(given)
    assert compose(split_text(text, "user")) == text


@given(stretches, st.text(min_size=1, max_size=3))
def test_a_text_that_was_changed_without_its_spans_is_trusted_least(given: list[Stretch], added: str):
    text = compose(given)
    if text.spans:
        changed = replace(text, text=added + text.text)
        [only] = split_text(changed, "user")
        assert only == Stretch(changed.text, find_weakest([Origin.USER, *(each.origin for each in given if each.text)]))


def test_an_origin_is_assumed_only_where_none_is_given():
    parts = (Text(text="a"), Text(text="b", origin=Origin.USER))
    assumed = assume_origin(Message(role="user", parts=parts), Origin.MODEL)
    assert list_stretches(assumed) == [Stretch("a", Origin.MODEL), Stretch("b", Origin.USER)]


def test_the_first_of_overlapping_spans_counts():
    spans = (Span(start=0, end=2, origin=Origin.USER), Span(start=1, end=3, origin=Origin.MODEL))
    assert split_text(Text(text="abc", spans=spans), "tool") == [Stretch("ab", Origin.USER), Stretch("c", Origin.MODEL)]


def test_only_the_user_the_program_and_the_loop_ask_and_results_of_others_are_foreign():
    assert {origin for origin in Origin if origin.is_trusted} == {Origin.USER, Origin.PROGRAM, Origin.LOOP}
    assert not any(origin.is_trusted and origin.is_foreign for origin in Origin)
    neither = {origin.value for origin in Origin if not (origin.is_trusted or origin.is_foreign)}
    assert neither == {"own_result", "model"}
