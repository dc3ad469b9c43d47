"""Keeps the requests of a run within the context of its model.

A request fits if it leaves room for the answer: `Sampling.max_tokens`, or an eighth of the context. If one does not
fit, the conversation is compacted until a request takes half of what it may take, so that this happens seldom.
`loop/compaction.py` decides what is taken away, `run/summary.py` writes the summary.
"""

from dataclasses import replace
from typing import NamedTuple

from toolspeak.errors import ProviderError, ReplayMiss
from toolspeak.events import Compacted, Usage
from toolspeak.log import LOG
from toolspeak.loop import AskModel, State, reduce
from toolspeak.loop.compaction import Sizes, find_prompt, plan_compaction
from toolspeak.models import find_model_cost
from toolspeak.models.context import find_model_context
from toolspeak.models.request_size import TokenRates, count_request_bytes, cut_bytes
from toolspeak.run.fallback import AnsweringModel
from toolspeak.run.summary import (
    DroppedPart,
    Summarizer,
    find_dropped_part,
    list_rounds_briefly,
    summarize_by_function,
    summarize_by_model,
)
from toolspeak.run.turn_request import render_request

MAX_ANSWER_TOKENS = 4_096
"""Tokens that are kept free for an answer that has no limit of its own; of a small context, an eighth."""

MAX_SUMMARY_TOKENS = 2_048
"""Tokens of a summary; of a small context, an eighth."""

MAX_RECALLED_CHARS = 8_000
"""Characters that one call of `recall` returns; of a small context, about a quarter."""


class Overflow(NamedTuple):
    """The reason why a request does not fit whatever is taken away from the conversation, in words."""

    reason: str


class Compactor:
    """Compacts the conversation of one run.

    Attributes:
        is_busy: Whether a summary is being written, for which the next request waits.
    """

    def __init__(self, rates: TokenRates, summarize: Summarizer | None = None) -> None:
        self.is_busy = False
        self._rates = rates
        self._summarize = summarize
        self._request_bytes = 0

    def note_usage(self, answering: AnsweringModel, usage: Usage) -> None:
        """Note how many tokens the endpoint counted in the last request."""
        self._rates.note(answering.model.name, self._request_bytes, usage)

    def plan(self, state: State, answering: AnsweringModel, action: AskModel) -> Compacted | Overflow | None:
        """Return how the conversation must be compacted before the model is asked; None if the request fits.

        A compaction that drops more than the last one has no summary yet.
        """
        context = find_context(state, answering)
        if context is None or state.run is None:
            self._request_bytes = 0
            return None
        limit = context - _find_answer_room(context, answering.sampling.max_tokens)
        placeholder = "x" * self._count_summary_bytes(context, answering)

        def measure(shown_state: State) -> int:
            shown = render_request(shown_state, answering.dialect, action)
            self._request_bytes = count_request_bytes(shown)
            return int(self._request_bytes / self._rates.bytes_per_token(answering.model.name)) + 1

        def measure_compacted(planned: Compacted) -> int:
            return measure(reduce(state, replace(planned, summary=placeholder) if needs_summary(planned) else planned))

        size = measure(state)
        if size <= limit:
            return None
        sizes = Sizes(limit=limit, target=int(limit / 2 * self._rates.density_share(answering.model.name)))
        planned = plan_compaction(state.history, state.compacted, find_prompt(state.run), sizes, measure_compacted)
        if planned is not None:
            LOG.info("about %d tokens would be sent, and %d may be: compacting the conversation", size, limit)
            return planned
        least = measure(_drop_messages(state))
        return Overflow(
            f"the context has {context:,} tokens, of which a request may take {limit:,}, and this one takes about "
            f"{size:,}: tools and system prompt about {least:,}, the newest messages the rest; give a larger "
            "Limits(context=…) if the model has one, or a shorter message"
        )

    async def write_summary(self, state: State, planned: Compacted, answering: AnsweringModel) -> Compacted:
        """Return a planned compaction with its summary. If that cannot be written, it is a plain list of rounds."""
        context = find_context(state, answering) or 0
        part = find_dropped_part(state, planned, self._count_summary_bytes(context, answering))
        try:
            return await self._summarize_part(planned, part, answering, context)
        except ReplayMiss:  # a recording that does not fit the run must not be hidden
            raise
        except Exception as error:
            LOG.warning("the summary of the conversation failed (%s: %s)", type(error).__name__, error)
            return replace(planned, summary=list_rounds_briefly(part), failure=f"{type(error).__name__}: {error}")

    async def _summarize_part(
        self, planned: Compacted, part: DroppedPart, answering: AnsweringModel, context: int
    ) -> Compacted:
        if self._summarize is not None:
            text = await summarize_by_function(self._summarize, part)
            return replace(planned, summary=_check_summary(text, part))
        rate = self._rates.bytes_per_token(answering.model.name)
        text, usage = await summarize_by_model(answering, part, context, rate)
        cost = find_model_cost(answering.model, usage)
        return replace(planned, summary=_check_summary(text, part), usage=usage, cost=cost)

    def _count_summary_bytes(self, context: int, answering: AnsweringModel) -> int:
        tokens = min(context // 8, MAX_SUMMARY_TOKENS)
        return int(tokens * self._rates.bytes_per_token(answering.model.name))


def needs_summary(planned: Compacted) -> bool:
    """Whether the summary of a planned compaction is still to be written."""
    return planned.dropped > 0 and not planned.summary


def _check_summary(text: str, part: DroppedPart) -> str:
    summary = cut_bytes(text.strip(), part.max_bytes)
    if not summary:
        raise ProviderError("the summary is empty")
    return summary


def find_context(state: State, answering: AnsweringModel) -> int | None:
    """Return the tokens of a request and its answer: the limit of the run, or what the model has if that is less."""
    limit = state.run.limits.context if state.run is not None else None
    own = find_model_context(answering.model, answering.sampling)
    if limit is None or own is None:
        return own if limit is None else limit
    return min(limit, own)


def count_recalled_chars(context: int | None) -> int:
    """Return the most characters that one call of `recall` returns."""
    return MAX_RECALLED_CHARS if context is None else max(min(context * 3 // 4, MAX_RECALLED_CHARS), 1)


def _find_answer_room(context: int, max_tokens: int | None) -> int:
    """Return the tokens that are kept free for the answer: at most half of the context."""
    return min(context // 8, MAX_ANSWER_TOKENS) if max_tokens is None else min(max_tokens, context // 2)


def _drop_messages(state: State) -> State:
    """Return the state with nothing but the system prompt in its conversation."""
    dropped = state.copy()
    dropped.history = tuple(message for message in state.history if message.role == "system")
    dropped.compacted = None
    return dropped
