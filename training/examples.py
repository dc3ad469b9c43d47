"""Groups of examples as tensors: questions that share a system message are one row, and the message is read once.

    system | question 1, answer 1 | question 2, answer 2 | …

A token sees the system message and what precedes it in its own question. Its position is the one that it would have if
its question followed the system message at once. So a row gives the same losses as its questions alone.

A question may be a whole conversation: after its answer, `following` has what comes next and the next answer, and so
on.
"""

import random
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, TypeVar

import torch

T = TypeVar("T")

IGNORED = -100  # the label of a token that is not part of an answer
SYSTEM_SEGMENT = 0
PADDING_SEGMENT = -1
LENGTH_MULTIPLE = 8  # rows are padded to a multiple of so many tokens: the attention kernels need it for their mask
SORTED_STEPS = 8  # the rows of so many steps are sorted by length before they are divided, so that little is padded


@dataclass(frozen=True)
class Row:
    """The tokens of a group, with what is needed to keep its questions apart; `count` is the number of answers.

    `labels` are the tokens of the answers, and `IGNORED` elsewhere; `segments` has the number of the question that each
    token belongs to, and `SYSTEM_SEGMENT` for the system message; the answers are held if `is_held` (`train.py`).
    """

    tokens: list[int]
    labels: list[int]
    positions: list[int]
    segments: list[int]
    count: int
    is_held: bool = False


def build_row(group: Mapping[str, Any], tokenizer: Any, end_token: int) -> Row:
    """Build the row of a group."""
    tokens = encode(tokenizer, group["system"])
    start = len(tokens)
    labels, segments, positions = [IGNORED] * start, [SYSTEM_SEGMENT] * start, list(range(start))
    count = 0
    for number, example in enumerate(group["examples"], SYSTEM_SEGMENT + 1):
        length = 0
        for part in (example, *example.get("following", ())):
            question, answer = encode(tokenizer, part["rest"]), [*encode(tokenizer, part["target"]), end_token]
            tokens += question + answer
            labels += [IGNORED] * len(question) + answer
            length += len(question) + len(answer)
            count += 1
        segments += [number] * length
        positions += range(start, start + length)
    return Row(tokens, labels, positions, segments, count, group.get("is_held", False))


def build_rows(groups: Sequence[Mapping[str, Any]], tokenizer: Any, end_token: int) -> list[Row]:
    """Build the rows of groups. All texts are encoded at once, which a fast tokenizer does on all cores."""
    parts = [part for group in groups for each in group["examples"] for part in (each, *each.get("following", ()))]
    texts = list({text: None for part in parts for text in (part["rest"], part["target"])})
    texts += list({group["system"]: None for group in groups})
    encoded = tokenizer(texts, add_special_tokens=False)["input_ids"] if texts else []
    known = dict(zip(texts, encoded, strict=True))

    def look_up(text: str, **_: Any) -> dict[str, list[int]]:
        return {"input_ids": known[text]}

    return [build_row(group, look_up, end_token) for group in groups]


def encode(tokenizer: Any, text: str) -> list[int]:
    return tokenizer(text, add_special_tokens=False)["input_ids"]


def split_steps(rows: Sequence[Row], examples_per_step: int, rng: random.Random) -> Iterator[list[Row]]:
    """Yield the rows of each step of an epoch, in random order; rows of one step have similar lengths."""
    shuffled = rng.sample(rows, len(rows))
    chunks: list[list[Row]] = [[]]
    for row in shuffled:
        if sum(each.count for each in chunks[-1]) >= examples_per_step * SORTED_STEPS:
            chunks.append([])
        chunks[-1].append(row)
    for chunk in chunks:
        steps: list[list[Row]] = [[]]
        for row in sorted(chunk, key=lambda row: len(row.tokens)):
            if sum(each.count for each in steps[-1]) >= examples_per_step:
                steps.append([])
            steps[-1].append(row)
        rng.shuffle(steps)
        yield from steps


def split_by_tokens(rows: Iterable[T], count: Callable[[T], int], most: int) -> Iterator[list[T]]:
    """Split rows so that each part has at most so many tokens when it is padded; a row that has more is alone."""
    part: list[T] = []
    for row in sorted(rows, key=count):
        if part and count(row) * (len(part) + 1) > most:
            yield part
            part = []
        part.append(row)
    if part:
        yield part


def build_tensors(rows: Sequence[Row], padding_token: int, device: Any) -> dict[str, torch.Tensor]:
    """Return tokens, labels, positions and the attention mask of the rows of a step, padded on the right."""
    longest = max(len(row.tokens) for row in rows)
    width = -(-longest // LENGTH_MULTIPLE) * LENGTH_MULTIPLE
    tokens = _pad([row.tokens for row in rows], width, padding_token, device)
    labels = _pad([row.labels for row in rows], width, IGNORED, device)
    positions = _pad([row.positions for row in rows], width, 0, device)
    segments = _pad([row.segments for row in rows], width, PADDING_SEGMENT, device)
    order = torch.arange(width, device=device)
    is_earlier = order[None, :] <= order[:, None]
    is_seen = (segments[:, None, :] == segments[:, :, None]) | (segments[:, None, :] == SYSTEM_SEGMENT)
    # Padding sees everything before it: where a token sees none of the first tokens, gradients may become NaN.
    is_seen |= segments[:, :, None] == PADDING_SEGMENT
    mask = (is_earlier[None] & is_seen)[:, None]
    return {"tokens": tokens, "labels": labels, "positions": positions, "mask": mask}


def _pad(values: Sequence[list[int]], width: int, filler: int, device: Any) -> torch.Tensor:
    return torch.tensor([each + [filler] * (width - len(each)) for each in values], device=device)
