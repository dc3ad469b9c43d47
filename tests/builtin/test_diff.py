"""Diffs are those of `difflib`, as long as the work is bounded."""

import random
from difflib import unified_diff

import pytest
from hypothesis import given
from hypothesis import strategies as st

from toolspeak.builtin import files as module
from toolspeak.builtin.files import MAX_STEPS, BoundedMatcher, _diff_lines

LINES = st.lists(st.sampled_from(["a", "b", "c", "", " d", "-e"]), max_size=30)


def shown(old: list[str], new: list[str]) -> list[str]:
    return list(_diff_lines(old, new, "a/x", "b/x"))


@given(LINES, LINES)
def test_it_is_the_diff_of_difflib(old: list[str], new: list[str]):
    assert shown(old, new) == list(unified_diff(old, new, "a/x", "b/x", lineterm=""))


@pytest.mark.parametrize("seed", range(20))
def test_a_long_file_with_some_changes_has_the_diff_of_difflib(seed: int):
    chance = random.Random(seed)
    old = [str(chance.randrange(400)) for _ in range(chance.randrange(250, 3000))]
    new = list(old)
    for _ in range(chance.randrange(5)):
        place = chance.randrange(len(new))
        new[place : place + chance.randrange(4)] = [str(chance.randrange(400)) for _ in range(chance.randrange(5))]
    assert shown(old, new) == list(unified_diff(old, new, "a/x", "b/x", lineterm=""))


@given(LINES, LINES, LINES, LINES)
def test_what_is_left_out_at_both_ends_changes_no_place(
    head: list[str], old: list[str], new: list[str], tail: list[str]
):
    """With a budget that is too small for the whole texts, the diff still turns the old text into the new one."""
    before = [f"h{n}" for n in range(200)] + head + old + tail
    after = [f"h{n}" for n in range(200)] + head + new + tail
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(module, "MAX_STEPS", 400)
        lines = shown(before, after)
    if lines and not lines[-1].startswith("… ("):
        assert apply(before, lines) == after


def apply(old: list[str], diff: list[str]) -> list[str]:
    new: list[str] = []
    place = 0
    for line in diff[2:]:
        if line.startswith("@@ "):
            first, _, count = line.split()[1][1:].partition(",")
            start = int(first) - (count != "0")
            new += old[place:start]
            place = start
            continue
        if line[0] in " -":
            assert old[place] == line[1:]
            place += 1
        if line[0] in " +":
            new.append(line[1:])
    return new + old[place:]


HOSTILE = {
    "rotated": ([str(n % 300) for n in range(20_000)], [str(n * 7 % 300) for n in range(20_000)]),
    "rotated-twice-as-long": ([str(n % 300) for n in range(40_000)], [str(n * 7 % 300) for n in range(40_000)]),
    "reversed": ([str(n) for n in range(30_000)], [str(n) for n in reversed(range(30_000))]),
    "all-lines-replaced": (["x"] * 300_000, ["y"] * 300_000),
    "every-second-line-replaced": (["a"] * 10_000, ["a", "b"] * 5_000),
}


@pytest.mark.parametrize("name", HOSTILE)
def test_the_steps_are_bounded(name: str, monkeypatch: pytest.MonkeyPatch):
    matchers: list[BoundedMatcher] = []

    class CountedMatcher(BoundedMatcher):
        def __init__(self, old: list[str], new: list[str]) -> None:
            super().__init__(old, new)
            matchers.append(self)

    monkeypatch.setattr(module, "BoundedMatcher", CountedMatcher)
    shown(*HOSTILE[name])
    assert len(matchers) <= 2
    assert max(matcher.steps for matcher in matchers) <= MAX_STEPS


@pytest.mark.parametrize("name", ["rotated", "rotated-twice-as-long"])
def test_lines_that_are_too_many_to_compare_are_counted(name: str):
    old, new = HOSTILE[name]
    replaced = f"… ({len(old)} lines replaced by {len(new)} lines; too many to compare)"
    assert shown(old, new) == ["--- a/x", "+++ b/x", f"@@ -1,{len(old)} +1,{len(new)} @@", replaced]


def test_a_small_change_of_a_large_file_is_shown_in_full():
    old = [str(n % 300) for n in range(400_000)]
    new = [*old[:200_000], "new", *old[200_001:]]
    assert shown(old, new) == [
        "--- a/x",
        "+++ b/x",
        "@@ -199998,7 +199998,7 @@",
        *(f" {n % 300}" for n in range(199_997, 200_000)),
        f"-{200_000 % 300}",
        "+new",
        *(f" {n % 300}" for n in range(200_001, 200_004)),
    ]
