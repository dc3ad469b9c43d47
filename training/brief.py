"""A short training of an adapter on a CPU: teaches one thing, with a little of everything else, in 40 minutes.

    python training brief MODEL.gguf FOLDER

takes groups of one epoch from `FOLDER/pairs.jsonl.gz`, so many tokens of each source as the settings say, and goes on
from an adapter in `FOLDER`. The result is `FOLDER/brief.gguf`. A processor with AMX, which multiplies matrices in 16
bits, trains on 140 tokens a second with two threads; so the least possible is computed:

- Rows of one length hold several groups, so that little is padded. The layers are compiled for that length alone.
- The lowest layers stay as they are: no gradients are computed below `first_layer`.
"""

import random
import re
import time
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

import torch
from answer import load_model
from examples import IGNORED, SYSTEM_SEGMENT, Row, build_row
from files import read_rows
from lora import Adapter, read_gguf, write_gguf
from train import MAX_GRADIENT_NORM, compute_loss, schedule_rate

FIGURES = "Worked out:"  # as in toolspeak.dialects.figures, which need not be installed here
TAUGHT = "answers"  # the source that is taught; the others keep what is known
MAX_REPLAYED_TOKENS = 1_000  # of a group of another source
OPEN_PACKS = 40  # the last ones, in which a place for a group is looked for

Pack = list[Row]
"""The groups that one row of tokens holds."""


def draw_packs(folder: Path, settings: Mapping[str, Any], tokenizer: Any, end_token: int) -> list[Pack]:
    """Draw groups of each source up to its number of tokens, and divide them among rows."""
    rng = random.Random(settings["seed"])
    groups = [each for each in read_rows(folder / "pairs.jsonl.gz") if each["epoch"] == settings["epoch"]]
    usable = [each for each in groups if each["source"] == TAUGHT or not shows_figures(each)]
    rows: list[Row] = []
    for sources in ([TAUGHT], [each for each in settings["tokens"] if each != TAUGHT]):
        offered = [each for each in usable if each["source"] in sources]
        drawn = [each for each in offered if rng.random() < settings["dialects"][each["dialect"]]]
        longest = settings["row_tokens"] if sources == [TAUGHT] else MAX_REPLAYED_TOKENS
        for source in sources:
            of_source = [each for each in drawn if each["source"] == source]
            rng.shuffle(of_source)
            built = (build_row(each, tokenizer, end_token) for each in of_source)
            rows += take_tokens((each for each in built if len(each.tokens) <= longest), settings["tokens"][source])
    rng.shuffle(rows)
    packs: list[Pack] = []
    for row in rows:
        fitting = (
            each for each in packs[-OPEN_PACKS:] if count_tokens(each) + len(row.tokens) <= settings["row_tokens"]
        )
        if (pack := next(fitting, None)) is None:
            packs.append([row])
        else:
            pack.append(row)
    rng.shuffle(packs)
    return packs


def shows_figures(group: Mapping[str, Any]) -> bool:
    """Whether a group shows what was worked out from results: that is for what is taught alone."""
    return any(FIGURES in part["rest"] for each in group["examples"] for part in (each, *each.get("following", ())))


def take_tokens(rows: Iterable[Row], most: float) -> list[Row]:
    """Take rows until they have so many tokens."""
    taken: list[Row] = []
    for row in rows:
        if count_tokens(taken) >= most:
            break
        taken.append(row)
    return taken


def count_tokens(rows: Sequence[Row]) -> int:
    return sum(len(row.tokens) for row in rows)


def build_tensors(pack: Pack, width: int, padding_token: int) -> dict[str, torch.Tensor]:
    """Return tokens, labels, positions and the attention mask: a token sees its own question and its system message."""
    padding = width - count_tokens(pack)
    tokens = [token for row in pack for token in row.tokens] + [padding_token] * padding
    labels = [label for row in pack for label in row.labels] + [IGNORED] * padding
    positions = [position for row in pack for position in row.positions] + [0] * padding
    segments = torch.tensor([segment for row in pack for segment in row.segments] + [SYSTEM_SEGMENT] * padding)
    groups = torch.tensor([number for number, row in enumerate(pack) for _ in row.tokens] + [-1] * padding)
    order = torch.arange(width)
    is_seen = (segments[None] == segments[:, None]) | (segments[None] == SYSTEM_SEGMENT)
    mask = (order[None] <= order[:, None]) & (groups[None] == groups[:, None]) & is_seen
    return {
        "tokens": torch.tensor(tokens)[None],
        "labels": torch.tensor(labels)[None],
        "positions": torch.tensor(positions)[None],
        "mask": mask[None, None],
    }


def freeze_below(adapter: Adapter, first_layer: int) -> list[torch.nn.Parameter]:
    """Keep the adapter of the lowest layers as it is; return what is trained."""
    for path, layer in adapter.layers.items():
        if int(re.findall(r"\d+", path)[0]) < first_layer:
            layer.a.requires_grad_(False)
            layer.b.requires_grad_(False)
    return [each for each in adapter.parameters if each.requires_grad]


def train_briefly(gguf: Path, folder: Path, all_settings: Mapping[str, Any]) -> None:
    """Train, and write the adapter."""
    settings, defaults = all_settings["brief"], all_settings["defaults"]
    tokenizer, model = load_model(gguf)
    end_token = tokenizer.convert_tokens_to_ids("<|im_end|>")
    packs = draw_packs(folder, settings, tokenizer, end_token)
    adapter = Adapter(
        model, defaults["layers"], rank=defaults["rank"], alpha=defaults["alpha"], seed=all_settings["seed"]
    )
    read_gguf(folder / f"{settings['begin']}.gguf", adapter)
    parameters = freeze_below(adapter, settings["first_layer"])
    torch._dynamo.config.cache_size_limit = 2 * len(model.model.layers)  # else most layers are not compiled
    for layer in model.model.layers:
        layer.forward = torch.compile(layer.forward, dynamic=False)
    optimizer = torch.optim.AdamW(parameters, lr=settings["learning_rate"], weight_decay=0.0)
    size, began = settings["rows_per_step"], time.time()
    steps = [packs[start : start + size] for start in range(0, len(packs), size)]
    for number, step in enumerate(steps):
        for each in optimizer.param_groups:
            each["lr"] = settings["learning_rate"] * schedule_rate(number, number / len(steps), settings["warmup_steps"])
        count, total = sum(label != IGNORED for pack in step for row in pack for label in row.labels), 0.0
        for pack in step:
            loss = compute_loss(model, build_tensors(pack, settings["row_tokens"], tokenizer.pad_token_id or end_token))
            (loss / count).backward()
            total += loss.item() / count
        norm = torch.nn.utils.clip_grad_norm_(parameters, MAX_GRADIENT_NORM)
        if torch.isfinite(norm):
            optimizer.step()
        optimizer.zero_grad()
        seconds = time.time() - began
        print(f"step {number + 1} of {len(steps)}: loss {total:.4f}, gradient {norm:.2f}, {seconds:.0f} s", flush=True)
    names = {"architecture": model.config.model_type, "name": "toolspeak brief"}
    write_gguf(folder / "brief.gguf", adapter.matrices(), alpha=defaults["alpha"], **names)
