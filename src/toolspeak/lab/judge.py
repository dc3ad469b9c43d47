"""Judges whether the calls of an answer are those that a question expects.

The calls may come in any order, except that a call comes after those whose results it needs. Each must match one
expected call, with every required argument and no argument that is neither required nor optional. An expected call that
needs a result (`after`) may be missing: a model may want to see the result first. If the call is there, its references
are resolved with what the earlier expected call `returns`, and compared like any other value.

Values are compared by meaning: numbers as numbers, texts without regard to case, spaces and a final full stop, lists in
order, objects key by key. In place of a value a suite may give a pattern: the words that a text must contain
(`{"$contains": ["noon"]}`), a list in any order (`{"$set": [1, 2]}`), or any value (`{"$any": true}`).
"""

from collections.abc import Mapping, Sequence
from typing import Any, cast

from toolspeak.lab.questions import ExpectedCall, Question, Verdict
from toolspeak.loop import BrokenReference, resolve_references
from toolspeak.values.coercion import coerce_arguments
from toolspeak.values.messages import ToolCall, ToolResult


def judge_calls(question: Question, calls: Sequence[ToolCall]) -> Verdict:
    """Judge whether calls are right."""
    if not question.expected:
        names = ", ".join(call.name for call in calls)
        return Verdict(right=not calls, why=f"nothing was to be called, and {names} was" if calls else "")
    if not calls:
        return Verdict(right=False, why="nothing was called")
    schemas = {spec.name: spec.parameters for spec in question.tools}
    coerced = [
        ToolCall(id=call.id, name=call.name, arguments=coerce_arguments(call.arguments, schemas[call.name]))
        for call in calls
    ]
    matcher = _CallMatcher(question.expected)
    if matcher.match(coerced, {}, frozenset()):
        return Verdict(right=True)
    return Verdict(right=False, why=matcher.why)


class _CallMatcher:
    """Matches each call with an expected one.

    Attributes:
        why: Why the attempt failed that matched the most calls.
    """

    def __init__(self, expected: Sequence[ExpectedCall]) -> None:
        self._expected = expected
        self._most_matched = -1
        self.why = ""

    def match(self, calls: Sequence[ToolCall], results: Mapping[str, ToolResult], taken: frozenset[int]) -> bool:
        """Match calls with the expected calls that are not taken.

        Args:
            calls: The calls that have no match yet.
            results: What the matched calls return, by their ids.
            taken: The indices of the expected calls that have a match.
        """
        if not calls:
            missing = [each for place, each in enumerate(self._expected) if place not in taken and not each.after]
            if missing:
                self._record_failure(len(taken), f"{', '.join(each.name for each in missing)} was not called")
            return not missing
        call, *rest = calls
        free = [place for place in range(len(self._expected)) if place not in taken]
        named = [place for place in free if self._expected[place].name == call.name]
        if not named:
            self._record_failure(len(taken), f"{call.name} was not to be called" + (" again" if len(taken) else ""))
        for place in named:
            expected = self._expected[place]
            if why := _describe_difference(call, expected, results):
                self._record_failure(len(taken), f"{call.name}: {why}")
                continue
            result = ToolResult(call_id=call.id, output=expected.returns)
            if self.match(rest, {**results, call.id: result}, taken | {place}):
                return True
        return False

    def _record_failure(self, matched: int, why: str) -> None:
        if matched > self._most_matched:
            self._most_matched, self.why = matched, why


def _describe_difference(call: ToolCall, expected: ExpectedCall, results: Mapping[str, ToolResult]) -> str:
    """Describe how a call differs from an expected one; empty if it does not."""
    try:
        given = cast("dict[str, Any]", resolve_references(call.arguments, results))
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
    """Whether a value means the same as the right value, or matches its pattern."""
    match right:
        case {"$any": True}:
            return True
        case {"$contains": words}:
            return isinstance(value, str) and all(
                _normalize(word) in _normalize(value) for word in cast("list[str]", words)
            )
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
            return isinstance(value, str) and _normalize(value) == _normalize(right)
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


def _normalize(text: str) -> str:
    return " ".join(text.casefold().split()).rstrip(".")
