"""What a model is shown of a conversation that was compacted, and how much of it to take away.

Two numbers and a text say what is shown (`Compacted`): the first `dropped` messages are replaced by a summary, and in
the messages up to `through` long results are shortened. Everything else is shown as it is. So a compacted conversation
follows from its messages and that fact, and stays the same, byte for byte, until the next compaction. Cut seldom and
much: results first, because the call and a handle remain; a round is dropped whole.

A round begins with a message of the user, or with a message of the model that makes calls and follows results. It ends
before the next one, so it always holds the results of its calls. Rounds and results are numbered from 1, in the order
of the conversation; `round_3` and `result_17` are their handles. A conversation grows only at its end, so that a handle
keeps its meaning. Rounds and cuts are counted without system messages.
"""

from bisect import bisect_left
from collections.abc import Callable, Sequence
from dataclasses import replace
from itertools import pairwise
from typing import NamedTuple

from toolspeak.loop import words
from toolspeak.values.events import Compacted, RunStarted, Usage
from toolspeak.values.messages import (
    Media,
    Message,
    Part,
    Result,
    Role,
    Text,
    compose,
    holds_foreign,
    split_text,
    system,
)
from toolspeak.values.origin import Origin, Stretch


def drop_system(history: Sequence[Message]) -> tuple[Message, ...]:
    """Return a conversation without its system messages."""
    return tuple(message for message in history if message.role != "system")


def replace_system(messages: tuple[Message, ...], text: str | None) -> tuple[Message, ...]:
    """Return a conversation with another system prompt, or without one if `text` is None."""
    others = drop_system(messages)
    return others if text is None else (system(text), *others)


def find_cuts(messages: Sequence[Message]) -> tuple[int, ...]:
    """Return the places at which rounds begin; the first is 0."""
    reach = _find_reach(messages)
    later = (place for place in range(1, len(messages)) if reach[place] >= place and _begins_round(messages, place))
    return (0, *later) if messages else ()


def _begins_round(messages: Sequence[Message], place: int) -> bool:
    message, before = messages[place], messages[place - 1]
    if message.role == "user":
        return before.role != "user"
    return message.role == "assistant" and bool(message.calls) and before.role == "tool"


def _find_reach(messages: Sequence[Message]) -> list[int]:
    """Return, for each place, the place of the earliest message whose calls get a result there or later."""
    callers: dict[str, int] = {}
    reach: list[int] = []
    for place, message in enumerate(messages):
        callers |= {call.id: place for call in message.calls}
        owners = [callers.get(part.call_id, place) for part in message.parts if isinstance(part, Result)]
        reach.append(min(owners, default=place))
    for place in range(len(reach) - 2, -1, -1):
        reach[place] = min(reach[place], reach[place + 1])
    return reach


def list_rounds(messages: Sequence[Message]) -> list[tuple[Message, ...]]:
    """Return the rounds of a conversation, in order."""
    cuts = (*find_cuts(messages), len(messages))
    return [tuple(messages[start:end]) for start, end in pairwise(cuts)]


def list_results(messages: Sequence[Message]) -> list[Result]:
    """Return the results of a conversation, in order."""
    return [part for message in messages for part in message.parts if isinstance(part, Result)]


MAX_SHORTENED_CHARS = 200
"""Characters of a result that are shown once it is shortened."""

MIN_LONG_CHARS = 2 * MAX_SHORTENED_CHARS
"""Characters from which on a result is long. A shorter one is not shortened: that would save nothing."""

WHOLE_ROUNDS = 3
"""How many of the newest rounds keep their long results when older rounds are dropped, where there is room for that."""


def show_history(history: Sequence[Message], compacted: Compacted | None, *, has_recall: bool) -> tuple[Message, ...]:
    """Return what the model is shown of a conversation.

    Args:
        history: The whole conversation.
        compacted: The last compaction; None if there was none.
        has_recall: Whether the model is offered the tool that returns what is not shown.
    """
    if compacted is None:
        return tuple(history)
    messages = drop_system(history)
    prompts = tuple(message for message in history if message.role == "system")
    rest, results = list[Message](), 0
    for place, message in enumerate(messages):
        if place >= compacted.dropped:
            is_old = place < compacted.through
            rest.append(_shorten_results(message, results, has_recall=has_recall) if is_old else message)
        results += sum(isinstance(part, Result) for part in message.parts)
    if not compacted.dropped:
        return (*prompts, *rest)
    prompt = () if compacted.prompt is None else messages[compacted.prompt].parts
    is_influenced = any(map(holds_foreign, messages[: compacted.dropped]))
    origin = Origin.INFLUENCED_MODEL if is_influenced else Origin.MODEL
    note = words.introduce_summary(Stretch(compacted.summary, origin), compacted.rounds)
    if has_recall:
        prompts = _explain_recall(prompts)
    return (*prompts, *_prepend(_join_paragraphs((compose(note),), prompt, "user"), tuple(rest)))


def _explain_recall(prompts: tuple[Message, ...]) -> tuple[Message, ...]:
    """Say how to recall in the last system message: many models take only one, and its beginning stays as it was."""
    note = Text(text=words.HOW_TO_RECALL)
    if not prompts:
        return (Message(role="system", parts=(note,)),)
    *others, last = prompts
    return (*others, replace(last, parts=_join_paragraphs(last.parts, (note,), "system")))


def _prepend(parts: tuple[Part, ...], messages: tuple[Message, ...]) -> tuple[Message, ...]:
    """Put parts before a conversation: into its first message if the user wrote that, since roles must alternate."""
    if not messages or messages[0].role != "user":
        return (Message(role="user", parts=parts), *messages)
    first = messages[0]
    return (replace(first, parts=_join_paragraphs(parts, first.parts, "user")), *messages[1:])


def _join_paragraphs(before: tuple[Part, ...], after: tuple[Part, ...], role: Role) -> tuple[Part, ...]:
    """Return the parts of two messages of a role as those of one, with an empty line between their texts."""
    if not before or not after:
        return before or after
    last, first = before[-1], after[0]
    if not isinstance(last, Text) or not isinstance(first, Text):
        return (*before, *after)
    spans = [replace(span, start=span.start + 2, end=span.end + 2) for span in first.spans]
    first = replace(first, text=f"\n\n{first.text}", spans=tuple(spans))
    if last.extra is not None:
        return (*before, first, *after[1:])
    joined = compose([*split_text(last, role), *split_text(first, role)])
    return (*before[:-1], replace(joined, extra=first.extra), *after[1:])


def _shorten_results(message: Message, number: int, *, has_recall: bool) -> Message:
    """Return a message, before which there are `number` results, with its long results shortened."""
    parts: list[Part] = []
    for part in message.parts:
        if isinstance(part, Result):
            number += 1
            if is_long_result(part):
                text, handle = read_result(part), f"result_{number}" if has_recall else ""
                head = text[:MAX_SHORTENED_CHARS]
                is_part = bool(handle) and part.output is not None
                shown = (
                    words.offer_rest(f"{head}\n…", handle) if is_part else words.shorten_result(head, len(text), handle)
                )
                part = replace(part, content=(Text(text=shown),))
        parts.append(part)
    return replace(message, parts=tuple(parts))


def is_long_result(result: Result) -> bool:
    """Whether a result is shortened when it is old: its text is long, or it holds an image or a file."""
    return len(read_result(result)) >= MIN_LONG_CHARS or any(isinstance(part, Media) for part in result.content)


def read_result(result: Result) -> str:
    """Return a result as text; an image or a file in it is only named."""
    return "\n".join(part.text if isinstance(part, Text) else f"[{part.mime}]" for part in result.content)


class Sizes(NamedTuple):
    """The sizes that decide about a compaction, in tokens.

    Attributes:
        limit: What a request may take.
        target: What a request should take after a compaction.
    """

    limit: int
    target: int


Measure = Callable[[Compacted], int]
"""A function that returns how many tokens a request takes after a compaction."""


def find_prompt(run: RunStarted) -> int | None:
    """Return the place of the message that the run must answer, counted without system messages."""
    messages = drop_system(run.messages)
    return next((place for place in reversed(range(len(messages))) if messages[place].role == "user"), None)


def plan_compaction(
    history: Sequence[Message], old: Compacted | None, prompt: int | None, sizes: Sizes, measure: Measure
) -> Compacted | None:
    """Return the least compaction after which a request has the target size, or at least fits the limit.

    Results are shortened first, from the oldest on. If that is not enough, rounds are dropped as well, again from the
    oldest on. The newest round is never dropped, and its results are shortened only if nothing else makes the request
    fit. The round before it stays even where the request then takes more than the target: a small model that sees no
    call of a tool makes none.

    Args:
        history: The whole conversation.
        old: The last compaction; the new one takes away at least as much.
        prompt: The place of the message that the run must answer, which is always shown.
        sizes: The target and the limit.
        measure: Tells how large a request is. A compaction that drops more than the old one has no summary yet.

    Returns:
        The compaction, without a new summary; None if nothing makes the request fit.
    """
    messages = drop_system(history)
    cuts = find_cuts(messages)
    if not cuts:
        return None
    old = replace(old or Compacted(through=0), failure="", usage=Usage(), cost=0.0)
    newest, whole = cuts[-1], cuts[-WHOLE_ROUNDS:][0]

    def build(through: int, dropped: int) -> Compacted:
        dropped = max(dropped, old.dropped)
        through = max(through, dropped, old.through)
        shortened = sum(map(is_long_result, list_results(messages[dropped:through])))
        plan = replace(old, through=through, dropped=dropped, shortened=shortened)
        if dropped == old.dropped:
            return plan
        shown_prompt = prompt if prompt is not None and prompt < dropped else None
        return replace(plan, summary="", rounds=bisect_left(cuts, dropped), prompt=shown_prompt)

    def find_least(options: Sequence[tuple[int, int]], size: int) -> Compacted | None:
        """Return the first option that has the size.

        Options are sorted by how much they take away, except the first, which may keep the old summary. It is tried
        alone, the others by bisection.
        """
        if options and measure(build(*options[0])) <= size:
            return build(*options[0])
        place = bisect_left(options, True, lo=min(1, len(options)), key=lambda option: measure(build(*option)) <= size)
        return build(*options[place]) if place < len(options) else None

    shorten = [(cut, 0) for cut in cuts if cut > old.through]
    drop = [cut for cut in cuts if cut >= old.dropped]
    attempts = (
        (shorten, sizes.target),
        ([(whole, cut) for cut in drop if cut <= whole], sizes.target),
        ([(newest, cut) for cut in drop if cut < newest], sizes.target),
        ([(newest, cut) for cut in drop[-2:-1]], (sizes.target + sizes.limit) // 2),
        ([(newest, newest)], sizes.limit),
        ([(len(messages), cut) for cut in drop], sizes.target),
        ([(len(messages), newest)], sizes.limit),
    )
    return next(filter(None, (find_least(options, size) for options, size in attempts)), None)
