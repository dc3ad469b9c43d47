"""Conversations of several turns: led by the loop, run on BFCL's classes, judged by its checker. Needs bfcl-eval."""

import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("bfcl_eval", reason="the package bfcl-eval, which has the conversations, is not installed")
pytest.importorskip("mpmath", reason="the classes of bfcl-eval need mpmath, which is not installed")

sys.path.insert(0, str(Path(__file__).parent.parent.parent / "training"))

import multi_turn


def answer_with(conversations: list[Any], say: Callable[[Any], str]) -> Callable[[list[str]], list[tuple[str, bool]]]:
    """Answer with what a function says for each conversation that goes on."""

    def answer(prompts: list[str]) -> list[tuple[str, bool]]:
        asked = [each for each in conversations if each.prompt in prompts]
        assert [each.prompt for each in asked] == prompts
        return [(say(each), False) for each in asked]

    return answer


def say_right_calls(conversation: Any) -> str:
    """One right call in each message, and words when all were made."""
    said = len(conversation.answers[-1])
    calls = conversation.script.truth[len(conversation.steps) - 1]
    return f"```python\n{calls[said]}\n```" if said < len(calls) else "That is done."


def play(say: Callable[[Any], str], limit: int) -> list[Any]:
    conversations = multi_turn.make_conversations("tuned", ("python", "typescript"), limit)
    ended = list(multi_turn.play_all(conversations, answer_with(conversations, say)))
    assert len(ended) == len(conversations) == 2 * limit
    return ended


def test_the_halves_have_no_conversation_in_common_and_are_a_hundred_each():
    halves = [{script.id for script in multi_turn.load_scripts(half)} for half in ("tuned", "reported")]
    assert [len(half) for half in halves] == [100, 100]
    assert not halves[0] & halves[1]


def test_right_calls_one_by_one_are_right_in_every_turn():
    for each in play(say_right_calls, 10):
        marks = multi_turn.judge(each.script, each.steps)
        assert all(marks), (each.id, marks)
        assert set(each.ends) == {"answered"}


def test_words_alone_are_wrong_in_every_turn_that_asks_for_something():
    for each in play(lambda _: "I cannot do that.", 5):
        marks = multi_turn.judge(each.script, each.steps)
        assert not all(marks)
        assert marks == [not calls for calls in each.script.truth]


def test_a_model_that_never_ends_its_turn_ends_the_conversation_and_is_wrong():
    def say(conversation: Any) -> str:
        name = conversation.script.tools[0].name
        return (
            f"```python\n{name}(number={len(conversation.answers[-1])})\n{name}(x={len(conversation.answers[-1])})\n```"
        )

    for each in play(say, 3):
        assert each.ends[-1] in ("limit", "loop")
        assert all(len(answers) <= multi_turn.MAX_STEPS for answers in each.answers)
        assert not all(multi_turn.judge(each.script, each.steps))


def test_a_conversation_whose_prompt_is_too_long_ends_at_the_limit():
    conversations = multi_turn.make_conversations("tuned", ("python",), 3)
    ended = list(multi_turn.play_all(conversations, lambda prompts: [None] * len(prompts)))
    assert [each.ends for each in ended] == [["limit"]] * 3
