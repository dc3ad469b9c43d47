"""Whether the calls of an answer are those that a question expects.

The calls may come in any order, but for those that need the result of another. Each must be one of the expected ones,
with every argument that is required and none that is not foreseen. An expected call that needs a result (`after`) may
be missing: a model may want to see the result first. If it is there, what it refers to is looked up in what the earlier
call `returns`, and compared like any other value.

Values are compared by what they mean: numbers as numbers, texts without regard to case, spaces and a final full stop,
lists in order, objects key by key. In place of a value a suite may say what a text must contain
(`{"$contains": ["noon"]}`), that the order of a list is free (`{"$set": [1, 2]}`), or that anything is right
(`{"$any": true}`).
"""

from collections.abc import Mapping, Sequence
from typing import Any, cast

from toolspeak.coercion import coerce_arguments
from toolspeak.evaluation.records import ExpectedCall, Question, Verdict
from toolspeak.loop import BrokenReference, resolved
from toolspeak.messages import ToolCall, ToolResult

PATTERNS = ("$contains", "$set", "$any")


def judged(question: Question, calls: Sequence[ToolCall]) -> Verdict:
    """Whether calls are right."""
    if not question.expected:
        said = ", ".join(call.name for call in calls)
        return Verdict(right=not calls, why=f"nothing was to be called, and {said} was" if calls else "")
    if not calls:
        return Verdict(right=False, why="nothing was called")
    schemas = {spec.name: spec.parameters for spec in question.tools}
    coerced = [
        ToolCall(id=call.id, name=call.name, arguments=coerce_arguments(call.arguments, schemas[call.name]))
        for call in calls
    ]
    matching = _Matching(question.expected)
    if matching.found(coerced, {}, frozenset()):
        return Verdict(right=True)
    return Verdict(right=False, why=matching.why)


class _Matching:
    """Finds for each call the expected one that it is, and remembers what stood in the way of the furthest attempt."""

    def __init__(self, expected: Sequence[ExpectedCall]) -> None:
        self._expected = expected
        self._reached = -1
        self.why = ""

    def found(self, calls: Sequence[ToolCall], results: Mapping[str, ToolResult], taken: frozenset[int]) -> bool:
        if not calls:
            missing = [each for place, each in enumerate(self._expected) if place not in taken and not each.after]
            if missing:
                self._note(len(taken), f"{', '.join(each.name for each in missing)} was not called")
            return not missing
        call, *rest = calls
        free = [place for place in range(len(self._expected)) if place not in taken]
        named = [place for place in free if self._expected[place].name == call.name]
        if not named:
            self._note(len(taken), f"{call.name} was not to be called" + (" again" if len(taken) else ""))
        for place in named:
            expected = self._expected[place]
            if why := _difference(call, expected, results):
                self._note(len(taken), f"{call.name}: {why}")
                continue
            result = ToolResult(call_id=call.id, output=expected.returns)
            if self.found(rest, {**results, call.id: result}, taken | {place}):
                return True
        return False

    def _note(self, reached: int, why: str) -> None:
        if reached > self._reached:
            self._reached, self.why = reached, why


def _difference(call: ToolCall, expected: ExpectedCall, results: Mapping[str, ToolResult]) -> str:
    """How a call differs from an expected one; nothing if it does not."""
    try:
        given = cast("dict[str, Any]", resolved(call.arguments, results))
    except BrokenReference as broken:
        return str(broken)
    for key in expected.arguments:
        if key not in given:
            return f"{key} is missing"
    for key, value in given.items():
        right = expected.arguments.get(key, expected.optional.get(key))
        if right is None:
            return f"{key} was not to be given"
        if not any(matches(value, each) for each in right):
            return f"{key} is {value!r}, and right would be {' or '.join(map(repr, right))}"
    return ""


def matches(value: Any, right: Any) -> bool:
    """Whether a value is what is right, by what it means."""
    match right:
        case {"$any": True}:
            return True
        case {"$contains": words}:
            return isinstance(value, str) and all(_loose(word) in _loose(value) for word in cast("list[str]", words))
        case {"$set": items}:
            return isinstance(value, list) and _same_items(cast("list[Any]", value), cast("list[Any]", items))
        case dict():
            keys = cast("dict[str, Any]", right)
            given = cast("dict[str, Any]", value) if isinstance(value, dict) else None
            return given is not None and given.keys() == keys.keys() and all(matches(given[k], keys[k]) for k in keys)
        case list():
            items = cast("list[Any]", right)
            given = cast("list[Any]", value) if isinstance(value, list) else None
            return given is not None and len(given) == len(items) and all(map(matches, given, items))
        case str():
            return isinstance(value, str) and _loose(value) == _loose(right)
        case bool() | None:
            return value is right
        case _:
            return isinstance(value, int | float) and not isinstance(value, bool) and value == right


def _same_items(values: list[Any], items: list[Any]) -> bool:
    if len(values) != len(items):
        return False
    if not values:
        return True
    first, *rest = values
    return any(
        matches(first, item) and _same_items(rest, items[:place] + items[place + 1 :])
        for place, item in enumerate(items)
    )


def _loose(text: str) -> str:
    return " ".join(text.casefold().split()).rstrip(".")
