"""Recorded answers of a model, and the results of judging them."""

from toolspeak._frozen import frozen
from toolspeak.evaluation.questions import Verdict
from toolspeak.events import FinishReason
from toolspeak.messages import ToolCall


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
