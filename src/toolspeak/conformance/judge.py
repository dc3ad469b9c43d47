"""Whether the calls that a reader gave for a record are those that were meant.

Readers were written for other contracts than the one of the records. So that each is judged by what its calls would do:

1. Arguments are coerced by the schema before they are compared: `"3"` is as good as `3` where an integer is asked for.
2. A call of a tool that is not on offer, or with arguments that do not fit the schema even then, does not count: any
   program would refuse to run it.
3. Order counts. Calls that were meant and are missing are missed; any other difference is wrong.

A reference to the result of another call is `{"$call": 0}`, the place of that call. Records with references are a kind
of their own, since few readers have anything like them.
"""

from typing import Any, Literal, TypeAlias, cast

from toolspeak._frozen import frozen
from toolspeak.coercion import coerce_arguments
from toolspeak.conformance.records import SpokenRecord
from toolspeak.messages import Concat, Ref
from toolspeak.spec import ToolSpec
from toolspeak.validation import is_valid

Judgement: TypeAlias = Literal["right", "wrong", "missed", "error"]
"""What a reader made of a record.

`right`: the calls that were meant. `wrong`: something would run that was not meant. `missed`: fewer calls than were
meant, all of them right. `error`: the reader raised, did not answer in time, or returned something that is no list of
calls, so nothing would run.
"""

JUDGEMENTS: tuple[Judgement, ...] = ("right", "wrong", "missed", "error")


@frozen
class RecordResult:
    """What a reader made of a record.

    Attributes:
        record: The record.
        judgement: Whether it is right.
        got: The calls that the reader gave, as it gave them.
        error: What went wrong, if the reader gave no calls.
    """

    record: SpokenRecord
    judgement: Judgement
    got: Any = None
    error: str = ""


def judge(record: SpokenRecord, got: Any) -> RecordResult:
    """Judge what a reader returned for a record."""
    if (problem := _find_problem(got)) is not None:
        return RecordResult(record=record, judgement="error", got=got, error=problem)
    try:
        return RecordResult(record=record, judgement=_judge_calls(record, cast("list[dict[str, Any]]", got)), got=got)
    except RecursionError:
        return RecordResult(record=record, judgement="error", error="it returned a value that is nested too deeply")


def _judge_calls(record: SpokenRecord, got: list[dict[str, Any]]) -> Judgement:
    specs = {spec.name: spec for spec in record.specs}
    meant = [_canonical_call(call["name"], _decode(call["arguments"])) for call in record.expected]
    calls: list[Any] = []
    for call in got:
        spec = specs.get(call["name"])
        arguments = _decode(call["arguments"])
        if spec is not None:
            arguments = coerce_arguments(arguments, spec.parameters)
        canonical = _canonical_call(call["name"], arguments)
        if canonical in meant or (spec is not None and _can_run(arguments, spec)):
            calls.append(canonical)
    return _compare(calls, meant)


def _find_problem(got: Any) -> str | None:
    if not isinstance(got, list):
        return f"it returned {type(got).__name__}, not a list of calls"
    for call in cast("list[Any]", got):
        if not isinstance(call, dict) or not isinstance(cast("dict[str, Any]", call).get("name"), str):
            return "it returned a list with something that is no call: a call has a name and arguments"
        if "arguments" not in call:
            return "it returned a call without arguments"
    return None


def _compare(calls: list[Any], meant: list[Any]) -> Judgement:
    if calls == meant:
        return "right"
    rest = iter(meant)
    return "missed" if all(call in rest for call in calls) else "wrong"


def _can_run(arguments: Any, spec: ToolSpec) -> bool:
    return isinstance(arguments, dict) and is_valid(arguments, spec.parameters, spec.parameters)


def _decode(value: Any) -> Any:
    """Return a value with its references as `Ref` and `Concat`, which coercion leaves alone."""
    if isinstance(value, list):
        return [_decode(item) for item in cast("list[Any]", value)]
    if not isinstance(value, dict):
        return value
    items = cast("dict[str, Any]", value)
    if items.keys() in ({"$call"}, {"$call", "path"}):
        return Ref(call=str(items["$call"]), path=tuple(items.get("path", ())))
    if items.keys() == {"$concat"} and isinstance(items["$concat"], list):
        return Concat(parts=tuple(_decode(part) for part in cast("list[Any]", items["$concat"])))
    return {key: _decode(item) for key, item in items.items()}


def _canonical_call(name: str, arguments: Any) -> Any:
    return name, _canonical(arguments)


def _canonical(value: Any) -> Any:
    """Return a value in a form whose equality is that of JSON: `1` equals `1.0`, and `true` is no number."""
    match value:
        case bool():
            return "bool", value
        case dict():
            return {key: _canonical(item) for key, item in cast("dict[str, Any]", value).items()}
        case list():
            return [_canonical(item) for item in cast("list[Any]", value)]
        case _:
            return value
