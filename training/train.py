"""Trains an adapter on groups of examples."""

import math
import random
import time
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import torch
from examples import IGNORED, Row, build_row, build_tensors, split_by_tokens, split_steps
from files import rank
from lora import Adapter
from torch.nn import functional

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
        rows = [build_row(group, tokenizer, end_token) for group in groups if is_chosen(group, settings, epoch)]
        steps += split_steps(rows, settings["examples_per_step"], rng)
        report(f"epoch {epoch}: {sum(row.count for row in rows)} examples in {len(rows)} rows")
    parameters = adapter.parameters
    report(f"{sum(each.numel() for each in parameters) / 1e6:.1f} million parameters, {len(steps)} steps")
    optimizer = torch.optim.AdamW(parameters, lr=settings["learning_rate"], weight_decay=0.0)
    device = parameters[0].device
    began, losses = time.time(), torch.zeros((), device=device)
    for number, rows in enumerate(steps):
        for each in optimizer.param_groups:
            each["lr"] = settings["learning_rate"] * schedule_rate(number, len(steps), settings["warmup_steps"])
        loss = add_gradients(model, rows, end_token, device)
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


def schedule_rate(step: int, steps: int, warmup_steps: int) -> float:
    """Return the learning rate of a step as a share of the highest: a short rise, then half a cosine."""
    cosine = 0.5 * (1 + math.cos(math.pi * step / steps))
    return min(1.0, (step + 1) / warmup_steps) * (LAST_RATE_SHARE + (1 - LAST_RATE_SHARE) * cosine)


def add_gradients(model: Any, rows: Sequence[Row], padding_token: int, device: Any) -> torch.Tensor:
    """Compute the gradients of a step, some rows at a time to save memory; return the mean loss of its answers."""
    count = sum(label != IGNORED for row in rows for label in row.labels)
    total = torch.zeros((), device=device)
    for part in split_by_tokens(rows, lambda row: len(row.tokens), MAX_BATCH_TOKENS):
        loss = compute_loss(model, build_tensors(part, padding_token, device)) / count
        loss.backward()
        total += loss.detach()
    return total


def compute_loss(model: Any, tensors: Mapping[str, torch.Tensor]) -> torch.Tensor:
    """Return the loss of the tokens of all answers. Only for these the scores of all words are computed."""
    hidden = model.model(
        input_ids=tensors["tokens"], attention_mask=tensors["mask"], position_ids=tensors["positions"], use_cache=False
    ).last_hidden_state
    following = tensors["labels"][:, 1:]
    is_answer = following != IGNORED
    scores = model.lm_head(hidden[:, :-1][is_answer]).float()
    return functional.cross_entropy(scores, following[is_answer], reduction="sum")
