"""Sends trials to a model: each once, greedily. A follow-up after a malformed call is a trial of its own.

When an endpoint fails, an answer without text is recorded that ended in an error: it counts as wrong, and is asked for
again when the evaluation is continued later. A dialect in which an endpoint fails twice in a row is dropped: many
servers do not support tools.
"""

import asyncio
import time
from collections.abc import AsyncGenerator, Iterable, Iterator, Mapping, Sequence
from contextlib import aclosing
from itertools import count

from toolspeak.lab.files import DEFAULT_MAX_TOKENS
from toolspeak.lab.trials import RecordedAnswer, RecordedCall, Trial, TrialResult
from toolspeak.models import Model, Request, Sampling
from toolspeak.values.errors import ModelError
from toolspeak.values.messages import Text
from toolspeak.values.pieces import Answer, ApiCall


def iterate_series(trial: Trial, answers: Mapping[str, RecordedAnswer], limit: int | None = None) -> Iterator[Trial]:
    """Yield a trial and its follow-ups, as far as there are answers. The last trial may have no answer yet.

    Args:
        trial: The first trial of the question.
        answers: The answers, by the id of their trial.
        limit: The most follow-ups; if None, as many as the answers call for.
    """
    for number in count():
        yield trial
        answer = answers.get(trial.id)
        following = None if answer is None or number == limit else trial.follow_up(answer)
        if following is None:
            return
        trial = following


def find_follow_ups(trials: Iterable[Trial], answers: Mapping[str, RecordedAnswer]) -> list[Trial]:
    """Return the follow-ups that these answers to the trials call for."""
    answered = ((trial, answers[trial.id]) for trial in trials if trial.id in answers)
    return [following for trial, answer in answered if (following := trial.follow_up(answer)) is not None]


def score(
    all_series: Iterable[Sequence[Trial]], answers: Mapping[str, RecordedAnswer]
) -> list[tuple[Trial, TrialResult]]:
    """Return the result of each series of trials, with the last trial that has an answer."""
    last = (next((trial for trial in reversed(series) if trial.id in answers), None) for series in all_series)
    return [(trial, trial.judge(answers[trial.id])) for trial in last if trial is not None]


MAX_CONSECUTIVE_FAILURES = 2
"""How many failures in a row drop a dialect."""


async def run_trial(model: Model, trial: Trial, *, max_tokens: int = DEFAULT_MAX_TOKENS) -> RecordedAnswer:
    """Ask the question of one trial, and return the answer as it was received."""
    greedy = Sampling(temperature=0, max_tokens=max_tokens)
    request = Request(shown=trial.render(), dialect=trial.dialect, stream=False, sampling=greedy)
    start = time.perf_counter()
    answer: Answer | None = None
    async with aclosing(model.ask(request)) as batches:
        async for pieces in batches:
            answer = next((piece for piece in pieces if isinstance(piece, Answer)), answer)
    if answer is None:
        raise ModelError(f"{model.name} ended without an answer")
    calls = [part for part in answer.parts if isinstance(part, ApiCall)]
    return RecordedAnswer(
        id=trial.id,
        text="".join(part.text for part in answer.parts if isinstance(part, Text)),
        api_calls=tuple(RecordedCall(name=call.name, arguments=call.arguments) for call in calls),
        finish=answer.finish,
        prompt_tokens=answer.usage.input_tokens if answer.usage else None,
        answer_tokens=answer.usage.output_tokens if answer.usage else None,
        seconds=round(time.perf_counter() - start, 3),
        prompt_hash=trial.prompt_hash(),
        model=model.name,
    )


class TrialRunner:
    """Sends many trials to a model.

    Attributes:
        dropped: The dialects that were dropped, each with the error of its last failure.
    """

    def __init__(self, model: Model, *, concurrency: int = 1, max_tokens: int = DEFAULT_MAX_TOKENS) -> None:
        """Prepare to send trials.

        Args:
            model: The model.
            concurrency: How many trials run at the same time.
            max_tokens: The length at which an answer is cut.
        """
        self._model = model
        self._max_tokens = max_tokens
        self._concurrency = concurrency
        self._failures: dict[str, int] = {}
        self._answered = False
        self.dropped: dict[str, ModelError] = {}

    async def run(self, trials: Iterable[Trial]) -> AsyncGenerator[tuple[Trial, RecordedAnswer]]:
        """Run the trials; yield each with its answer as soon as that is there."""
        waiting = (trial for trial in trials if trial.dialect not in self.dropped)
        running: dict[asyncio.Task[RecordedAnswer], Trial] = {}
        try:
            while True:
                while len(running) < self._concurrency and (trial := next(waiting, None)) is not None:
                    asked = run_trial(self._model, trial, max_tokens=self._max_tokens)
                    running[asyncio.create_task(asked)] = trial
                if not running:
                    return
                done, _ = await asyncio.wait(running, return_when=asyncio.FIRST_COMPLETED)
                for task in done:
                    trial = running.pop(task)
                    yield trial, self._take_answer(trial, task)
        finally:
            for task in running:
                task.cancel()
            await asyncio.gather(*running, return_exceptions=True)

    def raise_if_unreachable(self) -> None:
        """Raise the last error of the endpoint, if a dialect was dropped and there was no answer in any dialect."""
        if self.dropped and not self._answered:
            raise next(reversed(self.dropped.values()))

    def _take_answer(self, trial: Trial, task: asyncio.Task[RecordedAnswer]) -> RecordedAnswer:
        """Return the answer of a task; if the endpoint failed, count that and return an answer that says so."""
        error = task.exception()
        if error is None:
            self._answered = True
            self._failures[trial.dialect] = 0
            return task.result()
        if not isinstance(error, ModelError):
            raise error
        self._failures[trial.dialect] = failures = self._failures.get(trial.dialect, 0) + 1
        if failures >= MAX_CONSECUTIVE_FAILURES:
            self.dropped[trial.dialect] = error
        return RecordedAnswer(
            id=trial.id, text="", finish="error", prompt_hash=trial.prompt_hash(), model=self._model.name
        )


def find_unanswered(trials: Sequence[Trial], answers: Iterable[RecordedAnswer]) -> list[Trial]:
    """Return the trials that have no answer yet, or only one to another prompt than today's."""
    hashes = {answer.id: answer.prompt_hash for answer in answers if answer.finish != "error"}
    return [trial for trial in trials if hashes.get(trial.id) != trial.prompt_hash()]
