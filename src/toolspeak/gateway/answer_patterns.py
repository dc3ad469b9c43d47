r"""The patterns of an answer's schema: compiled with the request, matched with the answer, and bounded in both.

A pattern is written by a client, and both happen on the event loop. The engine is that of pydantic (Rust's `regex`):
it has no look-around and no references to groups, and never goes back in the text, so that no pattern explodes while it
is matched, however its quantifiers are nested. What remains is its size:

- A counted repetition is compiled as so many copies, and a class of Unicode such as `\w` has hundreds of ranges: 60
  patterns in 3 kB would take 15 seconds. So the size of a pattern is estimated from its text, before it is compiled,
  and all patterns of a schema share `MAX_PATTERN_SIZE`, which is about a tenth of a second.
- A match may visit each place of a pattern for each character. Each 200 of these visits are a step of the budget of the
  answer.

A pattern that is written twice counts once. Patterns in the schemas of tools are shown to the model and never compiled.
"""

import re
from dataclasses import dataclass
from typing import Any

from pydantic_core import SchemaError, SchemaValidator, core_schema

from toolspeak.values.validation import format_value
from toolspeak.values.work_budget import WorkBudget
from toolspeak.wire.fields import FieldError

MAX_PATTERN_SIZE = 200_000
"""The most that all patterns of a schema may be compiled to. A unit is a plain character, about half a microsecond."""

BASE_SIZE = 400
"""The size of a pattern without any characters."""

ANY_CHARACTER_SIZE, DIGIT_SIZE, WORD_SIZE, SPACE_SIZE = 16, 75, 900, 16
"""The sizes of what stands for more than one character: by its ranges in Unicode, in bytes of UTF-8."""

CLASS_SIZES = {
    **dict.fromkeys("wWpP", WORD_SIZE),
    **dict.fromkeys("dD", DIGIT_SIZE),
    **dict.fromkeys("sS", SPACE_SIZE),
}
"""The sizes of classes, by the letter after the backslash."""

FOLDED_FACTOR = 5
"""How much larger characters are if upper and lower case count as the same."""

VISITS_PER_STEP = 200

MAX_GROUPS = 200
"""The most groups and classes within one another."""

_COUNT = re.compile(r"\{\s*+(\d*+)\s*+(,?)\s*+(\d*+)\s*+\}")
_LONG_ESCAPE = re.compile(r"\\(?:[xuU]\{[^{}]*\}|[pP]\{[^{}]*\}|[pP].|b\{[a-z-]+\})", re.DOTALL)
_FLAGS = re.compile(r"\(\?[a-zA-Z-]*([ix])")


@dataclass(slots=True)
class PatternSize:
    """The size of a pattern or of a part of it: compiled, and in places that a match may visit."""

    compiled: int = 0
    places: int = 0

    def add(self, other: "PatternSize") -> None:
        """Add a part."""
        self.compiled += other.compiled
        self.places += other.places

    def multiply(self, count: int) -> None:
        """Count a part several times."""
        self.compiled *= count
        self.places *= count


class AnswerPatterns:
    """The patterns of one schema."""

    def __init__(self) -> None:
        self._added: dict[str, tuple[str, int]] = {}  # the field and the places of each pattern
        self._compiled: dict[str, SchemaValidator] = {}
        self._size = 0

    def add(self, pattern: Any, path: str) -> None:
        """Add a pattern of the field at `path`. Raises `FieldError` if it is too large, or no pattern."""
        if not isinstance(pattern, str):
            raise FieldError(path, f"{format_value(pattern)} is no value of this keyword")
        if pattern in self._added:
            return
        size = measure_pattern(pattern)
        if size is None:
            raise FieldError(path, f"{format_value(pattern)} cannot be checked; write it without comments, and flatter")
        self._size += BASE_SIZE + size.compiled
        if self._size > MAX_PATTERN_SIZE:
            cure = "use fewer and smaller patterns: maxLength for long texts, and [A-Za-z0-9_] instead of \\w"
            raise FieldError(path, f"the patterns of this schema are too large together; {cure}")
        self._added[pattern] = path, size.places

    def compile(self) -> None:
        """Compile all patterns, once it is known that they are not too large. Raises `FieldError` for a wrong one."""
        for pattern, (path, _) in self._added.items():
            try:
                self._compiled[pattern] = SchemaValidator(core_schema.str_schema(pattern=pattern))
            except (SchemaError, TypeError, ValueError):
                problem = f"{format_value(pattern)} cannot be checked; write it without look-around"
                raise FieldError(path, problem) from None

    def matches(self, pattern: str, text: str, budget: WorkBudget) -> bool:
        """Whether a text matches one of the patterns."""
        _, places = self._added[pattern]
        budget.spend(1 + len(text) * places // VISITS_PER_STEP)
        return self._compiled[pattern].isinstance_python(text)


def measure_pattern(pattern: str) -> PatternSize | None:
    """Return the size of a pattern; None for one that is not understood, such as one with comments.

    A mistake makes a pattern larger rather than smaller: what is not known counts as a character.
    """
    flags = {found[1] for found in _FLAGS.finditer(pattern)}
    if "x" in flags:
        return None
    factor = FOLDED_FACTOR if "i" in flags else 1
    groups = [PatternSize()]  # those that are open, with what they have so far
    last: PatternSize | None = None  # the last part, which a quantifier would repeat
    place = 0
    while place < len(pattern):
        char = pattern[place]
        count = _COUNT.match(pattern, place) if char == "{" else None
        if count is not None and last is not None:
            copies = max(int(number or 0) for number in (count[1][:9], count[3][:9])) + bool(count[2])
            last.multiply(max(copies, 1))
            place = count.end()
            continue
        if char in "*+?" and last is not None:
            last.places += 1
            place += 1
            continue
        if last is not None:
            groups[-1].add(last)
            last = None
        if char == "(":
            groups.append(PatternSize(compiled=1))
            place += 1
            if len(groups) > MAX_GROUPS:
                return None
        elif char == ")":
            if len(groups) == 1:
                return None
            last = groups.pop()
            place += 1
        elif char == "[":
            end, size = _measure_class(pattern, place)
            last, place = PatternSize(size * factor, 1), end
        else:
            end, size = _measure_character(pattern, place)
            last, place = PatternSize(size * factor, 1), end
    if last is not None:
        groups[-1].add(last)
    return groups[0] if len(groups) == 1 else None


def _measure_character(pattern: str, place: int) -> tuple[int, int]:
    """Return where a character or an escape ends, and its size."""
    if pattern[place] != "\\":
        return place + 1, ANY_CHARACTER_SIZE if pattern[place] == "." else 1
    escape = _LONG_ESCAPE.match(pattern, place)
    end = min(place + 2, len(pattern)) if escape is None else escape.end()
    return end, CLASS_SIZES.get(pattern[place + 1 : place + 2], 1)


def _measure_class(pattern: str, place: int) -> tuple[int, int]:
    """Return where a class in brackets ends, and its size. Classes may be within one another."""
    size = depth = 0
    while place < len(pattern):
        char = pattern[place]
        if char == "[":
            depth += 1
            place += 1
            if pattern.startswith("^", place):
                size += ANY_CHARACTER_SIZE
                place += 1
            if pattern.startswith("]", place):  # at the beginning it is a character
                place += 1
        elif char == "]":
            depth -= 1
            place += 1
            if depth == 0:
                break
        else:
            end, inner = _measure_character(pattern, place)
            size += inner if inner > ANY_CHARACTER_SIZE or char == "\\" else 1
            place = end
    return place, size
