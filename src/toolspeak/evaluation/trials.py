"""A trial: one question in one dialect. What the model is shown, and what its answer says.

The id of a trial is `suite/category/dialect/question`, so that one file can hold the answers to all of them. A trial in
which the model is asked again, for a call was malformed, has `#2` behind it, or `#3` and so on.

APIs take no dots in the name of a tool. In `native` such names are spelled with `_`, and calls are brought back to the
true name; the dialects told in a prompt say every name as it is.
"""

import hashlib
import json
import random
import re
from collections.abc import Iterable, Sequence
from dataclasses import replace
from typing import Any

from toolspeak._frozen import frozen
from toolspeak.codec import encode, encode_argument
from toolspeak.dialects import MessageContent, Shown, dialect, fold
from toolspeak.errors import UsageError
from toolspeak.evaluation.conversation import begun, continued, goes_on, heard
from toolspeak.evaluation.records import Question, RecordedAnswer, Suite, TrialResult, Verdict
from toolspeak.loop import State
from toolspeak.messages import Text, ToolCall
from toolspeak.spec import ToolSpec

UNFIT = re.compile(r"[^A-Za-z0-9_-]")
"""What APIs do not take in the name of a tool."""

LONGEST = 64
"""Letters of a name that APIs take."""


@frozen
class Trial:
    """One question in one dialect.

    Attributes:
        suite: The suite.
        question: The question.
        dialect: The dialect.
        before: The answers that it had already: in each a call was malformed, so it is asked again.
    """

    suite: Suite
    question: Question
    dialect: str
    before: tuple[RecordedAnswer, ...] = ()

    @property
    def id(self) -> str:
        first = f"{self.suite.name}/{self.question.category}/{self.dialect}/{self.question.id}"
        return f"{first}#{len(self.before) + 1}" if self.before else first

    @property
    def tools(self) -> tuple[ToolSpec, ...]:
        """The tools, by the names that the model is told."""
        if dialect(self.dialect).in_text:
            return self.question.tools
        return tuple(
            replace(spec, name=name)
            for name, spec in zip(_spelled(self.question.tools), self.question.tools, strict=True)
        )

    def shown(self) -> Shown:
        """What the model is shown."""
        return dialect(self.dialect).render(self.tools, self._state().history)

    def mark(self) -> str:
        """A mark of what the model is shown: another prompt has another one."""
        shown = self.shown()
        told: list[Any] = [[message.role, message.text] for message in shown.messages]
        told += [[spec.name, spec.description, spec.parameters] for spec in shown.tools]
        told += [encode(message) for message in shown.messages if not all(isinstance(p, Text) for p in message.parts)]
        return hashlib.sha256(json.dumps(told).encode()).hexdigest()[:12]

    def read(self, answered: RecordedAnswer) -> MessageContent:
        """What the answer says, with the true names of the tools."""
        said = fold(heard(self._state(), self.dialect, answered))
        true = dict(zip((spec.name for spec in self.tools), (spec.name for spec in self.question.tools), strict=True))
        calls = tuple(replace(each, call=replace(each.call, name=true[each.call.name])) for each in said.calls)
        return replace(said, calls=calls)

    def judged(self, answered: RecordedAnswer) -> TrialResult:
        """The answer, read; and the calls of all answers so far, judged together."""
        said = self.read(answered)
        before = self._results_before()
        calls = tuple(each.call for each in said.calls)
        verdict = self.suite.judge(self.question, (*(call for result in before for call in result.calls), *calls))
        if answered.finish == "error":  # where nothing is to be called, silence would be right
            verdict = Verdict(right=False, why="the endpoint failed")
        malformed = tuple(each.reason for each in said.malformed)
        return TrialResult(answered=answered, calls=calls, malformed=malformed, verdict=verdict, before=before)

    def again(self, answered: RecordedAnswer) -> "Trial | None":
        """The trial that comes after this answer, if a call in it was malformed and the loop would ask again."""
        if not self.read(answered).malformed:
            return None
        further = replace(self, before=(*self.before, answered))
        return further if goes_on(further._state()) else None

    def _state(self) -> State:
        """Where the loop stands when it asks."""
        state = begun(self.tools, self.dialect, self.question.messages)
        for answered in self.before:
            state = continued(state, self.dialect, answered)
        return state

    def _results_before(self) -> tuple[TrialResult, ...]:
        if not self.before:
            return ()
        *earlier, last = self.before
        return replace(self, before=tuple(earlier)).judged(last).series


def _spelled(specs: Sequence[ToolSpec]) -> list[str]:
    taken: list[str] = []
    for spec in specs:
        name = fresh = UNFIT.sub("_", spec.name)[:LONGEST]
        number = 2
        while fresh in taken:
            fresh = f"{name[: LONGEST - 3]}_{number}"
            number += 1
        taken.append(fresh)
    return taken


def trials(suite: Suite, dialects: Iterable[str], *, limit: int | None = None, seed: int = 0) -> list[Trial]:
    """The trials of a suite: each dialect is asked the same questions, in the order of the suite.

    Questions that share tools should stand together in it: what a model has read of them it need not read again.

    Args:
        suite: The questions.
        dialects: The dialects.
        limit: How many questions of each category; all if None.
        seed: Which ones are drawn.
    """
    drawn = {
        question.id
        for category in suite.categories
        for question in _drawn([each for each in suite.questions if each.category == category], limit, seed)
    }
    questions = [question for question in suite.questions if question.id in drawn]
    return [Trial(suite=suite, question=question, dialect=name) for name in dialects for question in questions]


def _drawn(questions: list[Question], limit: int | None, seed: int) -> list[Question]:
    if limit is None or limit >= len(questions):
        return questions
    return random.Random(seed).sample(questions, limit)  # noqa: S311 (a sample, and no secret)


def parted(trial_id: str) -> tuple[str, str, str, str]:
    """The suite, category, dialect and question that the id of a trial names."""
    parts = trial_id.split("/", 3)
    if len(parts) != 4 or not all(parts):
        raise UsageError(f"{trial_id!r} is not the id of a trial, which is suite/category/dialect/question")
    suite, category, spoken, question = parts
    return suite, category, spoken, question


def as_json(calls: Iterable[ToolCall]) -> list[dict[str, Any]]:
    """Calls as they stand in a results file."""
    return [{"name": call.name, "arguments": encode_argument(call.arguments)} for call in calls]
