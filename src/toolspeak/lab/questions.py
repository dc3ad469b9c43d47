"""Questions with the calls that are expected, suites of questions, and verdicts."""

from collections.abc import Callable, Mapping, Sequence
from typing import Any, TypeAlias, cast

from toolspeak.lab.claims import Claims
from toolspeak.tools import output_text
from toolspeak.values.errors import UsageError
from toolspeak.values.frozen import frozen
from toolspeak.values.messages import Call, Message, Result, Text, ToolCall, assistant, user
from toolspeak.values.spec import ToolSpec


def parse_turns(turns: Sequence[Any], specs: Sequence[ToolSpec], where: str) -> tuple[Message, ...]:
    """Parse turns into the messages of a history that a question continues.

    A turn is an object with one key:

        {"user": "…"}                                      what the user says
        {"calls": [{"name": "f", "arguments": {…}}, …]}    the calls of the assistant
        {"results": [value, {"error": "…"}, …]}            their results, one for each call, in order
        {"reply": "…"}                                     what the assistant says

    Calls are followed by their results. The last turn is the user's or holds results: the assistant acts next.

    Args:
        turns: The turns.
        specs: The tools that may be called.
        where: The place of the question, for error messages.
    """
    messages: list[Message] = []
    pending: list[ToolCall] = []
    for number, turn in enumerate(turns, 1):
        kind, content = _parse_turn(turn, number, where)
        if pending and kind != "results":
            raise UsageError(f"{where}: turn {number} is to give the 'results' of the calls before it")
        if kind == "user":
            messages.append(user(content))
        elif kind == "reply":
            messages.append(assistant(content))
        elif kind == "calls":
            pending = [
                _parse_call(call, f"call_{number}_{place}", specs, where) for place, call in enumerate(content, 1)
            ]
            messages.append(Message(role="assistant", parts=tuple(Call(call=call) for call in pending)))
        else:
            if len(content) != len(pending):
                raise UsageError(f"{where}: each call has one result (calls: {len(pending)}, results: {len(content)})")
            messages.append(Message(role="tool", parts=tuple(map(_build_result, content, pending))))
            pending = []
    if not messages or messages[-1].role not in ("user", "tool"):
        raise UsageError(f"{where}: 'turns' end with what the user says or with results")
    return tuple(messages)


def _parse_turn(turn: Any, number: int, where: str) -> tuple[str, Any]:
    """Return what kind of turn it is, and its content: a text, or a list."""
    if isinstance(turn, dict) and len(items := list(cast("dict[str, Any]", turn).items())) == 1:
        kind, content = items[0]
        types: dict[str, type] = {"user": str, "reply": str, "calls": list, "results": list}
        if type(content) is types.get(kind) and (content or kind != "calls"):
            return kind, cast("list[Any]", content)
    raise UsageError(f"{where}: turn {number} is not one of 'user', 'calls', 'results' and 'reply'")


def _parse_call(value: Any, call_id: str, specs: Sequence[ToolSpec], where: str) -> ToolCall:
    call = cast("dict[str, Any]", value) if isinstance(value, dict) else {}
    name, arguments = call.get("name"), call.get("arguments")
    if not isinstance(name, str) or not isinstance(arguments, dict):
        raise UsageError(f"{where}: a call in 'turns' has a 'name' and 'arguments', an object")
    if not any(spec.name == name for spec in specs):
        raise UsageError(f"{where}: {name!r} is called in 'turns', and is none of the tools")
    return ToolCall(id=call_id, name=name, arguments=cast("dict[str, Any]", arguments))


def _build_result(value: Any, call: ToolCall) -> Result:
    """Build a result as the loop shows it to a model."""
    fields = cast("dict[str, Any]", value) if isinstance(value, dict) else {}
    error = fields.get("error")
    if isinstance(error, str) and len(fields) == 1:
        return Result(call_id=call.id, content=(Text(text=error),), is_error=True)
    return Result(call_id=call.id, content=(Text(text=output_text(value)),))


@frozen
class ExpectedCall:
    """A call that is part of the right answer.

    Attributes:
        name: The name of the tool.
        arguments: The arguments that must be given, each with the values that are right.
        optional: The arguments that may be given, each with the values that are right.
        after: The expected calls, by index, whose results this call needs. A call that needs a result may be missing:
            a model may want to see the result before it goes on.
        returns: The value that the call would return, for later calls that refer to it.
    """

    name: str
    arguments: Mapping[str, Sequence[Any]]
    optional: Mapping[str, Sequence[Any]]
    after: tuple[int, ...] = ()
    returns: Any = None


@frozen
class Question:
    """A question, and the tools that a model may call to answer it.

    Attributes:
        id: The name of the question in its suite.
        category: What the question tests; results are counted by category.
        messages: The conversation. It ends with a message of the user or with the results of calls.
        tools: The tools.
        expected: The calls that are right; empty if no tool may be called.
        reply: What a good assistant says where no tool may be called; empty if the suite does not say it. It is an
            example for training, and answers are not compared with it.
        claims: What an answer in words may and must claim; None if its words are not judged.
    """

    id: str
    category: str
    messages: tuple[Message, ...]
    tools: tuple[ToolSpec, ...]
    expected: tuple[ExpectedCall, ...] = ()
    reply: str = ""
    claims: Claims | None = None


@frozen
class Verdict:
    """Whether an answer is right and, if it is wrong, why."""

    right: bool
    why: str = ""


Judge: TypeAlias = Callable[[Question, Sequence[ToolCall]], Verdict]
"""Decides whether the calls of an answer are right."""


@frozen
class Suite:
    """Questions, and the judge of the answers to them.

    Attributes:
        name: The name of the suite; the ids of answers begin with it.
        questions: The questions, in order.
        judge: Decides whether the calls of an answer are right.
        expected: Describes the right answer to a question, for a report of failures.
    """

    name: str
    questions: tuple[Question, ...]
    judge: Judge
    expected: Callable[[Question], str]

    @property
    def categories(self) -> tuple[str, ...]:
        """The categories of the questions, in the order of their first question."""
        return tuple(dict.fromkeys(question.category for question in self.questions))
