"""A trial: one question in one dialect. It renders what the model is shown, and reads and judges answers.

The id of a trial is `suite/category/dialect/question`, so that one file can hold the answers to all trials. A
follow-up, in which the model is asked again because a call was malformed, has `#2` behind it, or `#3` and so on.

The conversation of a trial goes on after a malformed call as the loop would lead it: the loop's own `reduce` and
`decide` say what a model is told about a call that could not be read, and whether it is asked once more. Only no tool
is run: each call that could have run has the same result.

APIs accept no dots in the name of a tool. In `native` such names are written with `_`, and the calls are given the true
names again; the dialects that are explained in a prompt keep every name.
"""

import hashlib
import json
import random
import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from typing import Any

from toolspeak.dialects import MessageContent, Shown, dialect, fold
from toolspeak.dialects.text import show_figures
from toolspeak.lab.claims import find_false_claim
from toolspeak.lab.questions import Question, Suite, Verdict
from toolspeak.loop import AskModel, State, decide, initial_state, reduce
from toolspeak.turns import TurnReader
from toolspeak.values.codec import encode, encode_argument
from toolspeak.values.errors import UsageError
from toolspeak.values.events import Delta, Event, FinishReason, RunStarted, ToolFinished, TurnStarted
from toolspeak.values.frozen import frozen
from toolspeak.values.messages import Call, Message, Text, ToolCall, ToolResult
from toolspeak.values.pieces import Answer, ApiCall
from toolspeak.values.spec import ToolSpec


@frozen
class RecordedCall:
    """A call that an API returned as a call: its arguments are the text that the API sent."""

    name: str
    arguments: str


@frozen
class RecordedAnswer:
    """An answer as it was received. What was understood of it is not recorded, so that it can be read again later.

    Attributes:
        id: The id of the trial that it answers.
        text: Its text.
        api_calls: The calls that the API returned beside the text.
        finish: How it ended.
        prompt_tokens: The tokens of the prompt, if known.
        answer_tokens: The tokens of the answer, if known.
        seconds: How long it took, if known.
        prompt_hash: `Trial.prompt_hash` of what the model was shown; empty if it was not recorded.
        model: The name of the model.
    """

    id: str
    text: str
    api_calls: tuple[RecordedCall, ...] = ()
    finish: FinishReason = "stop"
    prompt_tokens: int | None = None
    answer_tokens: int | None = None
    seconds: float | None = None
    prompt_hash: str = ""
    model: str = ""


@frozen
class TrialResult:
    """An answer, what was read in it, and whether it is right.

    Attributes:
        answer: The answer.
        calls: The calls that were read.
        malformed: For each call that could not be read, the reason.
        verdict: Whether the calls of this answer, together with those of the earlier answers, are right.
        earlier: The results of the earlier answers, if this one is to a follow-up.
    """

    answer: RecordedAnswer
    calls: tuple[ToolCall, ...]
    malformed: tuple[str, ...]
    verdict: Verdict
    earlier: tuple["TrialResult", ...] = ()

    @property
    def series(self) -> tuple["TrialResult", ...]:
        """The results of all answers to the question so far."""
        return (*self.earlier, self)

    @property
    def first(self) -> "TrialResult":
        """The result of the first answer alone."""
        return self.series[0]


CALL_OUTPUT = "done"
"""The output of every call, since none is run."""


def begin_conversation(specs: Sequence[ToolSpec], dialect_name: str, messages: Sequence[Message]) -> State:
    """Return the state of the loop before the first answer."""
    started = RunStarted(run_id="", model="", dialect=dialect_name, messages=tuple(messages))
    return reduce(initial_state(specs), started)


def read_answer(state: State, dialect_name: str, answer: RecordedAnswer) -> list[Event]:
    """Return the events of the next answer."""
    taken = {call.id for message in state.history for call in message.calls}
    prefix = f"call_{state.turn.number + 1}"
    reader = TurnReader(dialect(dialect_name), tuple(state.specs.values()), prefix=prefix, taken=taken)
    calls = [
        ApiCall(index=index, id="", name=call.name, arguments=call.arguments)
        for index, call in enumerate(answer.api_calls)
    ]
    text = [Text(text=answer.text)] if answer.text else []
    return reader.feed([Answer(parts=(*text, *calls), finish=answer.finish)])


def take_answer(state: State, dialect_name: str, answer: RecordedAnswer) -> State:
    """Return the state of the loop after the next answer, before its calls are run."""
    events = read_answer(state, dialect_name, answer)
    state = reduce(state, TurnStarted(turn=state.turn.number + 1))
    for event in events:
        if not isinstance(event, Delta):
            state = reduce(state, event)
    return state


def add_answer(state: State, dialect_name: str, answer: RecordedAnswer) -> State:
    """Return the state of the loop after the next answer and its calls."""
    state = take_answer(state, dialect_name, answer)
    for call in state.turn.calls.values():
        if call.result is None:
            state = reduce(state, ToolFinished(result=ToolResult(call_id=call.id, output=CALL_OUTPUT)))
    return state


def will_ask_model(state: State) -> bool:
    """Whether the loop would ask the model in this state."""
    return any(isinstance(action, AskModel) for action in decide(state))


MAX_NAME_CHARS = 64
"""The length of the longest name that APIs accept."""


@frozen
class Trial:
    """One question in one dialect.

    Attributes:
        suite: The suite.
        question: The question.
        dialect: The name of the dialect.
        earlier: The earlier answers, in each of which a call was malformed; this trial is then a follow-up.
        figures: Whether results are followed by what was worked out from them.
    """

    suite: Suite
    question: Question
    dialect: str
    earlier: tuple[RecordedAnswer, ...] = ()
    figures: bool = False

    @property
    def id(self) -> str:
        first = f"{self.suite.name}/{self.question.category}/{self.dialect}/{self.question.id}"
        return f"{first}#{len(self.earlier) + 1}" if self.earlier else first

    @property
    def tools(self) -> tuple[ToolSpec, ...]:
        """The tools, with the names that the model is shown."""
        if dialect(self.dialect).in_text:
            return self.question.tools
        return tuple(
            replace(spec, name=name)
            for name, spec in zip(_make_api_names(self.question.tools), self.question.tools, strict=True)
        )

    def render(self) -> Shown:
        """Render what the model is shown."""
        shown_in = dialect(self.dialect)
        return (show_figures(shown_in) if self.figures else shown_in).render(self.tools, self._state().history)

    def prompt_hash(self) -> str:
        """Return a hash of what the model is shown: it differs for another prompt."""
        shown = self.render()
        content: list[Any] = [[message.role, message.text] for message in shown.messages]
        content += [[spec.name, spec.description, spec.parameters] for spec in shown.tools]
        content += [
            encode(message) for message in shown.messages if not all(isinstance(p, Text) for p in message.parts)
        ]
        return hashlib.sha256(json.dumps(content).encode()).hexdigest()[:12]

    def read(self, answer: RecordedAnswer) -> MessageContent:
        """Read an answer; the calls have the true names of the tools."""
        content = fold(read_answer(self._state(), self.dialect, answer))
        true_names = {shown.name: spec.name for shown, spec in zip(self.tools, self.question.tools, strict=True)}
        calls = tuple(replace(each, call=replace(each.call, name=true_names[each.call.name])) for each in content.calls)
        return replace(content, calls=calls)

    def judge(self, answer: RecordedAnswer) -> TrialResult:
        """Read an answer, and judge the calls of all answers so far together."""
        content = self.read(answer)
        earlier = ()
        if self.earlier:
            earlier = replace(self, earlier=self.earlier[:-1]).judge(self.earlier[-1]).series
        calls = tuple(each.call for each in content.calls)
        verdict = self.suite.judge(self.question, (*(call for result in earlier for call in result.calls), *calls))
        if verdict.right and self.question.claims is not None:
            why = find_false_claim(content.text, self.question.claims)
            verdict = Verdict(right=not why, why=why)
        if answer.finish == "error":  # an empty answer would be right where no tool may be called
            verdict = Verdict(right=False, why="the endpoint failed")
        malformed = tuple(each.reason for each in content.malformed)
        return TrialResult(answer=answer, calls=calls, malformed=malformed, verdict=verdict, earlier=earlier)

    def follow_up(self, answer: RecordedAnswer) -> "Trial | None":
        """Return the follow-up to an answer; None if no call was malformed, or the loop would not ask again."""
        if not self.read(answer).malformed:
            return None
        following = replace(self, earlier=(*self.earlier, answer))
        return following if will_ask_model(following._state()) else None

    def _state(self) -> State:
        """Return the state of the loop when it asks the model."""
        names = {spec.name: shown.name for spec, shown in zip(self.question.tools, self.tools, strict=True)}
        messages = [_rename_calls(message, names) for message in self.question.messages]
        state = begin_conversation(self.tools, self.dialect, messages)
        for answer in self.earlier:
            state = add_answer(state, self.dialect, answer)
        return state


def _rename_calls(message: Message, names: Mapping[str, str]) -> Message:
    """Return a message in which the calls have the names that the model is shown."""
    if not message.calls:
        return message
    parts = (
        replace(part, call=replace(part.call, name=names[part.call.name])) if isinstance(part, Call) else part
        for part in message.parts
    )
    return replace(message, parts=tuple(parts))


def _make_api_names(specs: Sequence[ToolSpec]) -> list[str]:
    """Make names that APIs accept, each different from the others."""
    taken: list[str] = []
    for spec in specs:
        base = name = re.sub(r"[^A-Za-z0-9_-]", "_", spec.name)[:MAX_NAME_CHARS]
        number = 2
        while name in taken:
            name = f"{base[: MAX_NAME_CHARS - 3]}_{number}"
            number += 1
        taken.append(name)
    return taken


def make_trials(
    suite: Suite, dialects: Iterable[str], *, limit: int | None = None, seed: int = 0, figures: bool = False
) -> list[Trial]:
    """Make the trials of a suite: the same questions in each dialect, in the order of the suite.

    Questions that share tools should stand together in the suite: a server then caches the prompt with the tools.

    Args:
        suite: The questions.
        dialects: The names of the dialects.
        limit: How many questions of each category are drawn; all if None.
        seed: The seed of the random draw.
        figures: Whether results are followed by what was worked out from them.
    """
    questions = list(suite.questions)
    if limit is not None:
        drawn: set[str] = set()
        for category in suite.categories:
            known = [each.id for each in suite.questions if each.category == category]
            drawn.update(random.Random(seed).sample(known, min(limit, len(known))))  # noqa: S311 (no secret)
        questions = [question for question in suite.questions if question.id in drawn]
    return [
        Trial(suite=suite, question=question, dialect=name, figures=figures)
        for name in dialects
        for question in questions
    ]


def parse_trial_id(trial_id: str) -> tuple[str, str, str, str]:
    """Return the suite, category, dialect and question that the id of a trial names."""
    parts = trial_id.split("/", 3)
    if len(parts) != 4 or not all(parts):
        raise UsageError(f"{trial_id!r} is not the id of a trial, which is suite/category/dialect/question")
    suite, category, dialect_name, question = parts
    return suite, category, dialect_name, question


def encode_calls(calls: Iterable[ToolCall]) -> list[dict[str, Any]]:
    """Return calls as they are written to a results file."""
    return [{"name": call.name, "arguments": encode_argument(call.arguments)} for call in calls]
