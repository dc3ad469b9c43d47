"""Trains an adapter on groups of examples.

What an adapter learns in one place it forgets in another. So where the settings have `hold`, the first answers of
conversations from sources that are not `taught` are held: beside how far they are from the right ones, it counts
`hold` times how far the likely words are from those of the adapter that the training began with (the Kullback-Leibler
divergence).
"""

import math
import random
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any

import torch
from examples import IGNORED, Row, build_rows, build_tensors, split_by_tokens, split_steps
from files import rank
from lora import Adapter
from torch.nn import functional

ANSWER_START = "<|im_start|>assistant"  # once in the prompt of the first answer of a conversation
LAST_RATE_SHARE = 0.05  # the learning rate of the last step, as a share of the highest
MAX_GRADIENT_NORM = 1.0

MAX_BATCH_TOKENS = 20_000
"""How many tokens are computed together, padding included; a row that is longer is computed alone."""

REPORT_STEPS = 50


def train(
    model: Any,
    adapter: Adapter,
    tokenizer: Any,
    groups: Sequence[Mapping[str, Any]],
    settings: Mapping[str, Any],
    *,
    seed: int,
    report: Callable[[str], None],
) -> None:
    """Train an adapter on the groups of all epochs, as `make_pairs.py` writes them; the seed is that of their order."""
    torch.backends.cuda.enable_cudnn_sdp(False)  # its gradients are NaN for some masks
    end_token = tokenizer.convert_tokens_to_ids("<|im_end|>")
    rng = random.Random(seed)
    steps: list[list[Row]] = []
    for epoch in settings["epochs"]:
        chosen = [part for each in groups if is_chosen(each, settings, epoch) for part in divide(each, settings)]
        rows = build_rows(chosen, tokenizer, end_token)
        steps += split_steps(rows, settings["examples_per_step"], rng)
        report(f"epoch {epoch}: {sum(row.count for row in rows)} examples in {len(rows)} rows")
    parameters = adapter.parameters
    report(f"{sum(each.numel() for each in parameters) / 1e6:.1f} million parameters, {len(steps)} steps")
    optimizer = torch.optim.AdamW(parameters, lr=settings["learning_rate"], weight_decay=0.0)
    first = [each.detach().clone() for each in parameters]
    began, losses = time.time(), torch.zeros((), device=parameters[0].device)
    for number, rows in enumerate(steps):
        done = max(number / len(steps), (time.time() - began) / settings["seconds"])
        if done >= 1:
            break
        for each in optimizer.param_groups:
            each["lr"] = settings["learning_rate"] * schedule_rate(number, done, settings["warmup_steps"])
        loss = add_gradients(model, adapter, rows, first, settings, end_token)
        norm = torch.nn.utils.clip_grad_norm_(parameters, MAX_GRADIENT_NORM)
        if torch.isfinite(norm):
            optimizer.step()
            losses += loss
        else:
            report(f"step {number + 1} was left out: its loss is {loss.item()}, its gradient {norm.item()}")
        optimizer.zero_grad()
        if (number + 1) % REPORT_STEPS == 0 or number + 1 == len(steps):
            mean = losses.item() / (number % REPORT_STEPS + 1)
            report(f"step {number + 1} of {len(steps)}: loss {mean:.4f}, {time.time() - began:.0f} s")
            losses.zero_()


def is_chosen(group: Mapping[str, Any], settings: Mapping[str, Any], epoch: int) -> bool:
    """Whether a training uses a group in an epoch."""
    if group["epoch"] != epoch or group["dialect"] not in settings["dialects"]:
        return False
    if group["source"] in settings["once"] and epoch != settings["epochs"][0]:
        return False
    first_id = f"{group['dialect']}/{group['examples'][0]['id']}"
    first, last = settings["replayed"]
    if group["source"] not in settings["whole"] and not first <= rank(first_id) < last:
        return False
    first, last = settings["share"]
    return first <= group["toolset_rank"] < last if group["source"] == "field-train" else settings["composed"]


def divide(group: Mapping[str, Any], settings: Mapping[str, Any]) -> Iterator[Mapping[str, Any]]:
    """Yield a group, or the two parts of it of which one is held and the other is not."""
    if not settings["hold"] or group["source"] in settings["taught"]:
        yield group
        return
    for is_held in (False, True):
        if part := [each for each in group["examples"] if is_first_answer(each) is is_held]:
            yield {**group, "examples": part, "is_held": is_held}


def is_first_answer(example: Mapping[str, Any]) -> bool:
    """Whether an example has the first answer of a conversation, and no other."""
    return example["rest"].count(ANSWER_START) == 1 and not example.get("following")


def schedule_rate(step: int, done: float, warmup_steps: int) -> float:
    """Return the learning rate of a step as a share of the highest: a short rise, then half a cosine."""
    cosine = 0.5 * (1 + math.cos(math.pi * done))
    return min(1.0, (step + 1) / warmup_steps) * (LAST_RATE_SHARE + (1 - LAST_RATE_SHARE) * cosine)


def add_gradients(
    model: Any,
    adapter: Adapter,
    rows: Sequence[Row],
    first: Sequence[torch.Tensor],
    settings: Mapping[str, Any],
    padding_token: int,
) -> torch.Tensor:
    """Compute the gradients of a step, some rows at a time to save memory; return the mean loss of its answers.

    `first` are the matrices of the adapter that the training began with.
    """
    count = sum(label != IGNORED for row in rows for label in row.labels)
    total = torch.zeros((), device=first[0].device)
    for is_held in (False, True):
        chosen = [row for row in rows if row.is_held is is_held]
        for part in split_by_tokens(chosen, lambda row: len(row.tokens), MAX_BATCH_TOKENS):
            tensors = build_tensors(part, padding_token, first[0].device)
            earlier = None
            if is_held:
                with adapter.swapped(first), torch.no_grad():
                    earlier = compute_scores(model, tensors).log_softmax(-1)
            scores = compute_scores(model, tensors)
            loss = sum_loss(scores, tensors)
            if earlier is not None:
                now = scores.log_softmax(-1)
                loss += settings["hold"] * functional.kl_div(now, earlier, reduction="sum", log_target=True)
            (loss / count).backward()
            total += loss.detach() / count
    return total


def compute_loss(model: Any, tensors: Mapping[str, torch.Tensor]) -> torch.Tensor:
    """Return the loss of the tokens of all answers."""
    return sum_loss(compute_scores(model, tensors), tensors)


def sum_loss(scores: torch.Tensor, tensors: Mapping[str, torch.Tensor]) -> torch.Tensor:
    following = tensors["labels"][:, 1:]
    return functional.cross_entropy(scores, following[following != IGNORED], reduction="sum")


def compute_scores(model: Any, tensors: Mapping[str, torch.Tensor]) -> torch.Tensor:
    """Return the scores of all words in place of each token of an answer; others are not computed."""
    hidden = model.model(
        input_ids=tensors["tokens"], attention_mask=tensors["mask"], position_ids=tensors["positions"], use_cache=False
    ).last_hidden_state
    is_answer = tensors["labels"][:, 1:] != IGNORED
    return model.lm_head(hidden[:, :-1][is_answer]).float()
