"""Questions with the calls that are expected, suites of questions, and verdicts."""

from collections.abc import Callable, Mapping, Sequence
from typing import Any, TypeAlias

from toolspeak._frozen import frozen
from toolspeak.messages import Message, ToolCall
from toolspeak.spec import ToolSpec


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
    """

    id: str
    category: str
    messages: tuple[Message, ...]
    tools: tuple[ToolSpec, ...]
    expected: tuple[ExpectedCall, ...] = ()
    reply: str = ""


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
