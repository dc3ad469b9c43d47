"""The nouns of measuring: what is asked, what is expected, what was answered, and how right that was."""

from collections.abc import Callable, Mapping, Sequence
from typing import Any, TypeAlias

from toolspeak._frozen import frozen
from toolspeak.events import FinishReason
from toolspeak.messages import Message, ToolCall
from toolspeak.spec import ToolSpec


@frozen
class ExpectedCall:
    """A call that is right.

    Attributes:
        name: The tool.
        arguments: What must be given: for each argument the values that are right.
        optional: What may be given or left out: for each argument the values that are right.
        after: The expected calls, by their place, whose results it needs. Such a call may be missing: a model may want
            to see a result before it goes on.
        returns: What it would return, for later calls that refer to it.
    """

    name: str
    arguments: Mapping[str, Sequence[Any]]
    optional: Mapping[str, Sequence[Any]]
    after: tuple[int, ...] = ()
    returns: Any = None


@frozen
class Question:
    """A question, with the tools on offer.

    Attributes:
        id: What it is called in its suite.
        category: What it asks of a model; results are told by category.
        messages: The conversation: text of the system, the user and the assistant.
        tools: The tools on offer.
        expected: The calls that are right; none if nothing may be called.
    """

    id: str
    category: str
    messages: tuple[Message, ...]
    tools: tuple[ToolSpec, ...]
    expected: tuple[ExpectedCall, ...] = ()


@frozen
class Verdict:
    """Whether an answer is right, and if not, why."""

    right: bool
    why: str = ""


Judge: TypeAlias = Callable[[Question, Sequence[ToolCall]], Verdict]
"""Says whether the calls of an answer are right."""


@frozen
class Suite:
    """Questions, and who judges the answers to them.

    Attributes:
        name: What it is called; ids of answers begin with it.
        questions: The questions, in their order.
        judge: Says whether the calls of an answer are right.
        expected: What would have been right, in words for whoever reads failures.
    """

    name: str
    questions: tuple[Question, ...]
    judge: Judge
    expected: Callable[[Question], str]

    @property
    def categories(self) -> tuple[str, ...]:
        """The categories, in the order in which they come."""
        return tuple(dict.fromkeys(question.category for question in self.questions))


@frozen
class RecordedCall:
    """A call that an API marked as one: its arguments are still text."""

    name: str
    arguments: str


@frozen
class RecordedAnswer:
    """An answer as it was given, and nothing that was understood of it: it can be read anew at any time.

    Attributes:
        id: The trial that it answers.
        text: Its text.
        spoken: The calls that the API marked.
        finish: How it ended.
        prompt_tokens: The tokens of the prompt, as far as known.
        answer_tokens: The tokens of the answer, as far as known.
        seconds: How long it took, as far as known.
        shown: A mark of what the model was shown; empty if nobody noted it.
        model: Who answered.
    """

    id: str
    text: str
    spoken: tuple[RecordedCall, ...] = ()
    finish: FinishReason = "stop"
    prompt_tokens: int | None = None
    answer_tokens: int | None = None
    seconds: float | None = None
    shown: str = ""
    model: str = ""


@frozen
class TrialResult:
    """An answer, what was read in it, and whether it is right.

    Attributes:
        answered: The answer.
        calls: The calls that were read.
        malformed: Why calls could not be read, where there were such.
        verdict: Whether it is right: its calls together with those of the answers before it.
        before: The results of the answers before it, if the question was asked again.
    """

    answered: RecordedAnswer
    calls: tuple[ToolCall, ...]
    malformed: tuple[str, ...]
    verdict: Verdict
    before: tuple["TrialResult", ...] = ()

    @property
    def series(self) -> tuple["TrialResult", ...]:
        """The results of all answers to the question so far."""
        return (*self.before, self)

    @property
    def first(self) -> "TrialResult":
        """The result of the first answer alone."""
        return self.series[0]
