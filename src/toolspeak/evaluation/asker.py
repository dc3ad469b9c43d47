"""Asking a model: each trial once, for the likeliest answer. Asking again after a mistake is a trial of its own.

An endpoint that fails is noted as an answer of no text that ended in an error: it counts as wrong, and is asked again
when the results are taken up again. A dialect in which an endpoint fails again and again is given up: many a server
takes no tools.
"""

import asyncio
import time
from collections.abc import AsyncGenerator, Iterable, Iterator, Sequence
from contextlib import aclosing

from toolspeak.errors import ModelError
from toolspeak.evaluation.files import MOST_TOKENS
from toolspeak.evaluation.records import RecordedAnswer, RecordedCall
from toolspeak.evaluation.trials import Trial
from toolspeak.messages import Text
from toolspeak.models import Model, Request, Sampling
from toolspeak.pieces import Answer, ApiCall

FAILURES = 2
"""How many failures in a row end a dialect."""


async def ask(model: Model, trial: Trial, *, max_tokens: int = MOST_TOKENS) -> RecordedAnswer:
    """Ask one question; the answer as it came."""
    greedy = Sampling(temperature=0, max_tokens=max_tokens)
    request = Request(shown=trial.shown(), dialect=trial.dialect, stream=False, sampling=greedy)
    began = time.perf_counter()
    answer: Answer | None = None
    async with aclosing(model.ask(request)) as answering:
        async for pieces in answering:
            answer = next((piece for piece in pieces if isinstance(piece, Answer)), answer)
    if answer is None:
        raise ModelError(f"{model.name} ended without an answer")
    spoken = [part for part in answer.parts if isinstance(part, ApiCall)]
    return RecordedAnswer(
        id=trial.id,
        text="".join(part.text for part in answer.parts if isinstance(part, Text)),
        spoken=tuple(RecordedCall(name=call.name, arguments=call.arguments) for call in spoken),
        finish=answer.finish,
        prompt_tokens=answer.usage.input_tokens if answer.usage else None,
        answer_tokens=answer.usage.output_tokens if answer.usage else None,
        seconds=round(time.perf_counter() - began, 3),
        shown=trial.mark(),
        model=model.name,
    )


class Asker:
    """Asks a model many questions.

    Attributes:
        lost: The dialects that were given up, each with the error that did it.
    """

    def __init__(self, model: Model, *, concurrency: int = 1, max_tokens: int = MOST_TOKENS) -> None:
        """Prepare to ask a model, so many questions at a time, for answers of so many tokens at most."""
        self._model = model
        self._max_tokens = max_tokens
        self._concurrency = concurrency
        self._failures: dict[str, int] = {}
        self._answered = False
        self.lost: dict[str, ModelError] = {}

    async def ask_all(self, trials: Iterable[Trial]) -> AsyncGenerator[tuple[Trial, RecordedAnswer]]:
        """Ask them all; each answer as it comes."""
        waiting = self._not_lost(trials)
        running: dict[asyncio.Task[RecordedAnswer], Trial] = {}
        try:
            while True:
                while len(running) < self._concurrency and (trial := next(waiting, None)) is not None:
                    running[asyncio.create_task(self._asked(trial))] = trial
                if not running:
                    return
                done, _ = await asyncio.wait(running, return_when=asyncio.FIRST_COMPLETED)
                for task in done:
                    trial = running.pop(task)
                    yield trial, self._noted(trial, task)
        finally:
            for task in running:
                task.cancel()
            await asyncio.gather(*running, return_exceptions=True)

    def check(self) -> None:
        """Raise what the endpoint failed with, if it has answered nothing in any dialect."""
        if self.lost and not self._answered:
            raise next(reversed(self.lost.values()))

    async def _asked(self, trial: Trial) -> RecordedAnswer:
        return await ask(self._model, trial, max_tokens=self._max_tokens)

    def _not_lost(self, trials: Iterable[Trial]) -> Iterator[Trial]:
        return (trial for trial in trials if trial.dialect not in self.lost)

    def _noted(self, trial: Trial, task: asyncio.Task[RecordedAnswer]) -> RecordedAnswer:
        error = task.exception()
        if error is None:
            self._answered = True
            self._failures[trial.dialect] = 0
            return task.result()
        if not isinstance(error, ModelError):
            raise error
        self._failures[trial.dialect] = failures = self._failures.get(trial.dialect, 0) + 1
        if failures >= FAILURES:
            self.lost[trial.dialect] = error
        return RecordedAnswer(id=trial.id, text="", finish="error", shown=trial.mark(), model=self._model.name)


def unanswered(trials: Sequence[Trial], kept: Iterable[RecordedAnswer]) -> list[Trial]:
    """The trials that have no answer yet, or only one to another prompt than today's."""
    marks = {each.id: each.shown for each in kept if each.finish != "error"}
    return [trial for trial in trials if marks.get(trial.id) != trial.mark()]
