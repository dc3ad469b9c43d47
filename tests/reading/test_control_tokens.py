"""Control tokens are broken in foreign text, and come back exactly."""

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from toolspeak.reading.control_tokens import (
    BREAKER,
    CONTROL_TOKENS,
    TokenRestorer,
    break_tokens,
    may_hold_tokens,
    restore_tokens,
)

ROLE_TOKENS = [
    *("<|im_start|>", "<|im_end|>", "<|eot_id|>", "<|start_header_id|>", "<start_of_turn>", "<end_of_turn>"),
    *("[INST]", "[/INST]", "<s>", "</s>", "<|endoftext|>", "<｜User｜>", "<｜Assistant｜>", "<|channel|>"),
    *("<tool_call>", "</tool_response>", "<think>", "[TOOL_CALLS]", "<|fim_prefix|>", "<|reserved_special_token_7|>"),
]
PARTS = [
    *sorted(CONTROL_TOKENS),
    *ROLE_TOKENS,
    *"<>[]|｜/◁▷",
    BREAKER,
    f"<{BREAKER}|im_start|>",
    "im_start",
    "<tool",
    "é\n",
]
texts = st.lists(st.sampled_from(PARTS) | st.text(max_size=3), max_size=12).map("".join)


@pytest.mark.parametrize("token", ROLE_TOKENS)
def test_a_token_is_broken_wherever_it_stands(token: str):
    for text in (token, f"a{token}b", token * 3, f"<{token}>", f"[{token}", token[:3] + token):
        assert token not in break_tokens(text)
        assert restore_tokens(break_tokens(text)) == text


@given(texts)
def test_no_known_token_is_left_and_the_text_comes_back(text: str):
    broken = break_tokens(text)
    assert not any(token in broken for token in CONTROL_TOKENS)
    assert restore_tokens(broken) == text


@given(texts, st.booleans())
def test_json_without_a_possible_token_holds_none(text: str, is_key: bool):
    data = {"messages": [{text: []} if is_key else {"content": text}]}
    for ascii_only in (True, False):
        assert may_hold_tokens(json.dumps(data, ensure_ascii=ascii_only)) or break_tokens(text) == text


def test_the_brackets_of_json_are_no_tokens():
    assert not may_hold_tokens(json.dumps({"messages": [{"content": "Hello"}], "required": ["x"], "empty": [[]]}))


@given(texts, st.lists(st.integers(1, 7), min_size=1), st.booleans())
def test_chunks_make_no_difference(text: str, sizes: list[int], broken: bool):
    text = break_tokens(text) if broken else text
    restorer, restored, rest = TokenRestorer(), "", text
    while rest:
        size = sizes[len(rest) % len(sizes)]
        restored += restorer.feed(rest[:size])
        rest = rest[size:]
    assert restored + restorer.close() == restore_tokens(text)


def test_tokens_cannot_overlap():
    """The round trip rests on it."""
    assert not [token for token in CONTROL_TOKENS if any(first in token[1:] for first in "<[◁")]


def test_little_is_held_back():
    restorer = TokenRestorer()
    assert restorer.feed("<" + BREAKER * 1000) == "<" + BREAKER * 999
    assert restorer.feed("no token") == f"{BREAKER}no token"


@pytest.mark.parametrize("text", ["a < b > c", "x[mask]", "<b>bold</b>", "<T>", "list[int]", "a <|b| c", "plain"])
def test_ordinary_text_is_left_alone(text: str):
    assert break_tokens(text) == text
