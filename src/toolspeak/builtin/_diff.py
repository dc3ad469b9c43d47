"""Shows how a text changed, as `difflib.unified_diff` does, with bounded work.

`difflib` compares each line of a text with all equal lines of the other one, and again for each part that differs: that
can take a time quadratic in the lines, or worse. Here each comparison is counted before it is made. A diff within
`MAX_STEPS` is the one that `difflib` makes. Beyond, the equal lines at the beginning and at the end are left out of the
comparison; if the rest still needs too many steps, the diff says how many lines were replaced.
"""

from collections.abc import Iterator, Sequence
from difflib import Match, SequenceMatcher
from itertools import accumulate
from typing import TypeAlias, cast

MAX_STEPS = 2_000_000
"""How many comparisons of lines one attempt makes."""
CONTEXT_LINES = 3
"""How many equal lines are shown before and after a change."""


_Group: TypeAlias = "list[tuple[str, int, int, int, int]]"
"""Operations as `difflib` returns them: the kind, then the start and the end in the old lines and in the new ones."""


class _TooManyStepsError(Exception):
    """The comparison would take more than `MAX_STEPS`."""


class BoundedMatcher(SequenceMatcher[str]):
    """A matcher of lines that counts its steps, and raises an error before it takes too many.

    Attributes:
        steps: An upper bound of the steps that were taken.
    """

    def __init__(self, old: Sequence[str], new: Sequence[str]) -> None:
        super().__init__(None, old, new)
        places = cast("dict[str, list[int]]", vars(self)["b2j"])  # documented, but unknown to the types of difflib
        # For the lines before each place of the old text: how many equal lines of the new text they are compared with.
        self._pairs = list(accumulate((len(places.get(line, ())) for line in old), initial=0))
        self._lengths = len(old), len(new)
        self.steps = 0

    def find_longest_match(self, alo: int = 0, ahi: int | None = None, blo: int = 0, bhi: int | None = None) -> Match:
        ahi = self._lengths[0] if ahi is None else ahi
        bhi = self._lengths[1] if bhi is None else bhi
        steps = self._pairs[ahi] - self._pairs[alo] + (ahi - alo) + (bhi - blo)
        if self.steps + steps > MAX_STEPS:
            raise _TooManyStepsError
        self.steps += steps
        return super().find_longest_match(alo, ahi, blo, bhi)


def diff_lines(old: Sequence[str], new: Sequence[str], old_name: str, new_name: str) -> Iterator[str]:
    """Yield the lines of a unified diff; none if the lines are equal."""
    started = False
    for hunk in _hunks(old, new):
        if not started:
            yield f"--- {old_name}"
            yield f"+++ {new_name}"
            started = True
        yield from hunk


def _hunks(old: Sequence[str], new: Sequence[str]) -> Iterator[Iterator[str]]:
    """Yield the hunks of two texts, each as its lines."""
    head, tail = 0, 0
    groups = _compare(old, new)
    if groups is None:
        head, tail = (max(0, count - CONTEXT_LINES) for count in _count_equal_ends(old, new))
        old, new = old[head : len(old) - tail], new[head : len(new) - tail]
        groups = _compare(old, new) if head or tail else None
    if groups is None:
        yield _format_summary(len(old), len(new), head)
        return
    for group in groups:
        yield _format_hunk(group, old, new, head)


def _compare(old: Sequence[str], new: Sequence[str]) -> list[_Group] | None:
    """Return the groups of operations that turn the old lines into the new ones; None if that takes too many steps."""
    try:
        return list(BoundedMatcher(old, new).get_grouped_opcodes(CONTEXT_LINES))
    except _TooManyStepsError:
        return None


def _count_equal_ends(old: Sequence[str], new: Sequence[str]) -> tuple[int, int]:
    """Count the lines that are equal at the beginning, and of the rest those that are equal at the end."""
    shortest = min(len(old), len(new))
    head = next((place for place in range(shortest) if old[place] != new[place]), shortest)
    tail = next((place for place in range(shortest - head) if old[-1 - place] != new[-1 - place]), shortest - head)
    return head, tail


def _format_summary(old_count: int, new_count: int, offset: int) -> Iterator[str]:
    """Format a change of which only the number of lines is known; `offset` is the number of lines before it."""
    yield f"@@ -{_format_range(offset, offset + old_count)} +{_format_range(offset, offset + new_count)} @@"
    yield f"… ({old_count} lines replaced by {new_count} lines; too many to compare)"


def _format_hunk(group: _Group, old: Sequence[str], new: Sequence[str], offset: int) -> Iterator[str]:
    """Format a group of operations; `offset` is the number of lines before the first of `old` and `new`."""
    (_, old_start, _, new_start, _), (_, _, old_end, _, new_end) = group[0], group[-1]
    old_range = _format_range(offset + old_start, offset + old_end)
    yield f"@@ -{old_range} +{_format_range(offset + new_start, offset + new_end)} @@"
    for operation, old_first, old_last, new_first, new_last in group:
        if operation == "equal":
            yield from (f" {line}" for line in old[old_first:old_last])
        else:
            yield from (f"-{line}" for line in old[old_first:old_last])
            yield from (f"+{line}" for line in new[new_first:new_last])


def _format_range(start: int, end: int) -> str:
    count = end - start
    if count == 1:
        return str(start + 1)
    return f"{start + 1 if count else start},{count}"
