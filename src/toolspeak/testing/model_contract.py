"""`ModelContract`: what a model must do that other code asks."""

import asyncio
from collections.abc import Coroutine, Sequence
from typing import Any, cast

from toolspeak.dialects import Shown, dialect
from toolspeak.errors import ModelError, UsageError
from toolspeak.events import TextDelta
from toolspeak.messages import Text, user
from toolspeak.models import Model, Request
from toolspeak.pieces import Answer, Piece
from toolspeak.run import Agent
from toolspeak.testing.contract import Contract, require


class ModelContract(Contract):
    """What a model must do. Derive from it, and write `make_model`; each test makes a model of its own.

    Attributes:
        prompt: What the model is asked. It must answer with some text.
    """

    prompt: str = "Say hello."

    def make_model(self) -> Model:
        """Return the model."""
        raise NotImplementedError("write make_model, which returns your model")

    def make_failing_model(self) -> Model | None:
        """Return a model whose endpoint fails, to test how it fails; None to leave that out."""
        return None

    def test_it_is_a_model(self) -> None:
        """It has the members of `Model`, and names a dialect that there is."""
        model = cast("object", self.make_model())
        if not isinstance(model, Model):
            raise AssertionError(f"a model has name, dialect and ask; {type(model).__name__} lacks some of them")
        name = cast("object", model.name)
        require(isinstance(name, str) and bool(name), f"the name of a model is a text, not {name!r}")
        try:
            dialect(model.dialect)
        except UsageError as error:
            raise AssertionError(f"the dialect of the model: {error}") from error

    def test_an_answer_ends_with_its_answer(self) -> None:
        """The last piece is the `Answer`, and the only one, whether the answer is streamed or not."""
        for stream in (True, False):
            pieces = self._run(self._collect(self._request(stream=stream)))
            answers = [piece for piece in pieces if isinstance(piece, Answer)]
            require(bool(answers) and pieces[-1] is answers[-1], "the last piece is no Answer")
            require(len(answers) == 1, f"an answer has one Answer, and this one has {len(answers)}")
            require(bool(_text_of(answers[0])), f"the answer to {self.prompt!r} has no text")

    def test_the_pieces_are_the_answer(self) -> None:
        """What was streamed is the beginning of what the `Answer` holds."""
        pieces = self._run(self._collect(self._request()))
        streamed = "".join(piece.text for piece in pieces if isinstance(piece, TextDelta))
        whole = "".join(_text_of(piece) for piece in pieces if isinstance(piece, Answer))
        require(whole.startswith(streamed), f"the pieces say {streamed!r}, and the Answer says {whole!r}")

    def test_closing_early_leaves_nothing_running(self) -> None:
        """A run that is stopped closes the answer; the model then ends what it has begun."""
        left = self._run(self._close_early())
        require(not left, f"after aclose() these tasks still run: {', '.join(sorted(left))}")

    def test_two_answers_at_once(self) -> None:
        """A model serves any number of runs at the same time."""
        for pieces in self._run(self._ask_twice()):
            require(isinstance(pieces[-1], Answer), "of two answers at once, one has no Answer")

    def test_it_works_in_one_event_loop_after_another(self) -> None:
        """A model outlives the event loop in which it was first asked."""
        model = self.make_model()
        for _ in range(2):
            pieces = self._run(self._collect(self._request(), model))
            require(isinstance(pieces[-1], Answer), "in a second event loop there is no Answer")

    def test_an_agent_can_use_it(self) -> None:
        """A run with the model ends well, with the text of its answer."""
        outcome = Agent(self.make_model()).run(self.prompt)
        require(outcome.stop_reason == "answered", f"the run ended with {outcome.stop_reason!r}: {outcome.detail}")
        require(bool(outcome.text), "the outcome has no text")

    def test_a_failure_is_a_model_error(self) -> None:
        """An endpoint that fails raises `ModelError`, which a run reports with its outcome."""
        model = self.make_failing_model()
        if model is None:
            return
        for stream in (True, False):
            try:
                self._run(self._collect(self._request(stream=stream), model))
            except ModelError:
                continue
            except Exception as error:
                raise AssertionError(f"a failure is a ModelError, and this one is {error!r}") from error
            raise AssertionError("the endpoint fails, and nothing was raised")

    def _request(self, *, stream: bool = True) -> Request:
        name = self.make_model().dialect
        shown: Shown = dialect(name).render((), [user(self.prompt)])
        return Request(shown=shown, dialect=name, stream=stream)

    def _run(self, coroutine: Coroutine[Any, Any, Any]) -> Any:
        return asyncio.run(coroutine)

    async def _collect(self, request: Request, model: Model | None = None) -> list[Piece]:
        answer = (model or self.make_model()).ask(request)
        try:
            return [piece async for batch in answer for piece in batch]
        finally:
            await answer.aclose()

    async def _close_early(self) -> list[str]:
        before = asyncio.all_tasks()
        answer = self.make_model().ask(self._request())
        async for _ in answer:
            break
        await answer.aclose()
        await asyncio.sleep(0)
        return [task.get_name() for task in asyncio.all_tasks() - before]

    async def _ask_twice(self) -> Sequence[list[Piece]]:
        model = self.make_model()
        return await asyncio.gather(*(self._collect(self._request(), model) for _ in range(2)))


def _text_of(answer: Answer) -> str:
    return "".join(part.text for part in answer.parts if isinstance(part, Text))
