"""Conversations that are answered together get the answers that each would get alone. Needs torch and transformers."""

import sys
from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("torch", reason="torch is not installed: training needs it, toolspeak does not")
pytest.importorskip("transformers", reason="transformers is not installed: training needs it")


sys.path.insert(0, str(Path(__file__).parent.parent.parent / "training"))

import answer
import held_rows

MAX_TOKENS = 20
SYSTEMS = ["you have tools<|im_end|>\n", "you have none, and this is said at length<|im_end|>\n"]


class LetterTokenizer:
    """Each letter is a token, and a token that seldom comes ends an answer."""

    def __init__(self, stop: int) -> None:
        self.stop = stop

    def __call__(self, text: str, *, add_special_tokens: bool) -> dict[str, list[int]]:
        return {"input_ids": list(map(ord, text))}

    def convert_tokens_to_ids(self, _: list[str]) -> list[int]:
        return [self.stop, 299]

    def decode(self, tokens: list[int], *, skip_special_tokens: bool) -> str:
        return "".join(chr(token) for token in tokens if token not in (self.stop, 299))


def answer_alone(model: Any, tokenizer: LetterTokenizer, prompt: str) -> tuple[str, bool]:
    stops = tokenizer.convert_tokens_to_ids([])
    [found] = answer.answer_batch(model, [list(map(ord, prompt))], stops, MAX_TOKENS)
    return tokenizer.decode(found, skip_special_tokens=True), found[-1] not in stops


def test_conversations_of_different_lengths_get_the_answers_that_each_gets_alone(model: Any):
    [first] = answer.answer_batch(model, [list(map(ord, SYSTEMS[0] + "what?"))], [298, 299], MAX_TOKENS)
    tokenizer = LetterTokenizer(first[5])  # a token that is likely, so that answers end at different times
    rows = held_rows.HeldRows(model, tokenizer, 6, width=400, max_tokens=MAX_TOKENS)
    prompts = {place: SYSTEMS[place % 2] + "what?" * (place + 1) for place in range(6)}
    turns = dict.fromkeys(prompts, 0)
    asked, cuts = dict(prompts), set[bool]()
    while prompts:
        assert rows.read(asked) == []
        asked = {}
        for place, (text, is_cut) in rows.write().items():
            assert (text, is_cut) == answer_alone(model, tokenizer, prompts[place])
            cuts.add(is_cut)
            turns[place] += 1
            if turns[place] > 2 + place:
                del prompts[place]
                continue
            # In every second turn the answer is shown in another form than it was written in.
            shown = text[::-1] if turns[place] % 2 else text
            prompts[place] = asked[place] = f"{prompts[place]}{shown}<end> and {place} then?"
    assert turns == {place: place + 3 for place in range(6)}
    assert cuts == {True, False}


def test_a_prompt_that_does_not_fit_is_returned(model: Any):
    rows = held_rows.HeldRows(model, LetterTokenizer(298), 2, width=100, max_tokens=MAX_TOKENS)
    assert rows.read({0: SYSTEMS[0] + "x" * 100, 1: SYSTEMS[0] + "x"}) == [0]
    assert set(rows.write()) == {1}
