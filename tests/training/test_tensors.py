"""Training and answering in batches give what a model gives for one question at a time. Needs torch and transformers."""

import math
import sys
from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("torch", reason="torch is not installed: training needs it, toolspeak does not")
pytest.importorskip("transformers", reason="transformers is not installed: training needs it")
pytest.importorskip("gguf", reason="gguf is not installed: training needs it")

import torch

sys.path.insert(0, str(Path(__file__).parent.parent.parent / "training"))

import answer
import examples
import lora
import train

END, PAD = 298, 299
GROUPS = [
    {
        "system": "a system message",
        "examples": [
            {"id": "a", "rest": "what is it?", "target": "f(x=1)"},
            {"id": "b", "rest": "hello there", "target": "hi"},
        ],
    },
    {
        "system": "another",
        "examples": [
            {"id": "c", "rest": "abc", "target": "def", "following": [{"rest": "and?", "target": "ghi"}]},
            {"id": "d", "rest": "x", "target": "y"},
        ],
    },
]
SETTINGS = {
    "share": [0.0, 1.0],
    "composed": True,
    "whole": ["slips"],
    "replayed": [0.0, 1.0],
    "once": [],
    "dialects": ["python"],
    "epochs": [0],
    "rank": 4,
    "alpha": 8,
    "layers": list(lora.GGUF_NAMES),
    "learning_rate": 1e-2,
    "warmup_steps": 2,
    "examples_per_step": 4,
    "hold": 0.0,
    "taught": ["answers"],
    "seconds": math.inf,
}


class ByteTokenizer:
    """Each byte is a token."""

    def __call__(self, text: str | list[str], *, add_special_tokens: bool) -> dict[str, list[Any]]:
        return {"input_ids": list(text.encode()) if isinstance(text, str) else [list(each.encode()) for each in text]}

    def convert_tokens_to_ids(self, names: str | list[str]) -> int | list[int]:
        return END if isinstance(names, str) else [END, PAD]

    def decode(self, tokens: list[int], *, skip_special_tokens: bool) -> str:
        return " ".join(map(str, tokens))


def test_a_group_has_the_losses_of_its_questions(model: Any):
    rows = [examples.build_row(group, ByteTokenizer(), END) for group in GROUPS]
    together = train.compute_loss(model, examples.build_tensors(rows, END, "cpu")).item()
    apart = 0.0
    for group in GROUPS:
        for each in group["examples"]:
            written = list(group["system"].encode())
            for part in (each, *each.get("following", ())):
                prompt, target = [*written, *part["rest"].encode()], [*part["target"].encode(), END]
                scores = model(torch.tensor([prompt + target])).logits[0, len(prompt) - 1 : -1]
                apart += torch.nn.functional.cross_entropy(scores, torch.tensor(target), reduction="sum").item()
                written = prompt + target
    assert together == pytest.approx(apart, rel=1e-4)


def test_a_batch_has_the_answers_to_its_prompts(model: Any):
    prompts = [list(b"hello what"), list(b"a much longer prompt, with many words"), list(b"x")] * 3
    [first] = answer.answer_batch(model, prompts[:1], [END, PAD], 30)
    stops = [first[5], PAD]  # a token that is likely, so that answers end at different times
    for prompt, found in zip(prompts, answer.answer_batch(model, prompts, stops, 30), strict=True):
        ids = torch.tensor([prompt])
        options = {"max_new_tokens": 30, "do_sample": False, "eos_token_id": stops, "pad_token_id": PAD}
        alone = model.generate(ids, attention_mask=torch.ones_like(ids), **options)[0, len(prompt) :].tolist()
        assert found == alone


def test_prompts_are_answered_in_their_order_and_those_that_are_too_long_are_not(model: Any):
    prompts = ["a longer prompt than the others", "short", "x" * 90, "middling long"]
    answered = answer.answer_prompts(model, ByteTokenizer(), prompts, width=100, max_tokens=20, batch_tokens=60)
    assert answered[2] is None
    for prompt, found in zip(prompts, answered, strict=True):
        if found is not None:
            [alone] = answer.answer_batch(model, [list(prompt.encode())], [END, PAD], 20)
            assert found == (" ".join(map(str, alone)), alone[-1] not in (END, PAD))


def test_an_adapter_learns_and_is_written_and_read_back(model: Any, tmp_path: Path):
    rows = [examples.build_row(group, ByteTokenizer(), END) for group in GROUPS]
    tensors = examples.build_tensors(rows, END, "cpu")
    before = train.compute_loss(model, tensors).item()
    weights = model.model.layers[0].mlp.up_proj.weight.clone()
    adapter = lora.Adapter(model, SETTINGS, seed=1)
    assert train.compute_loss(model, tensors).item() == pytest.approx(before)
    groups = [
        {**group, "epoch": 0, "dialect": "python", "toolset_rank": 0.5, "source": "field-train"}
        for group in GROUPS * 10
    ]
    train.train(model, adapter, ByteTokenizer(), groups, SETTINGS, seed=1, report=lambda _: None)
    after = train.compute_loss(model, tensors).item()
    assert after < 0.95 * before
    with adapter.merged():
        assert train.compute_loss(model, tensors).item() == pytest.approx(after, rel=1e-4)
    path = tmp_path / "adapter.gguf"
    lora.write_gguf(path, adapter.matrices(), alpha=8, architecture="qwen2", name="tiny")
    for matrix in adapter.parameters:
        matrix.data.zero_()
    lora.read_gguf(path, adapter)
    assert train.compute_loss(model, tensors).item() == pytest.approx(after, rel=1e-2)
    adapter.remove()
    assert torch.equal(model.model.layers[0].mlp.up_proj.weight, weights)
    assert train.compute_loss(model, tensors).item() == pytest.approx(before)


def test_two_adapters_take_turns_and_leave_the_model_as_it_was(model: Any, tmp_path: Path):
    tensors = examples.build_tensors([examples.build_row(group, ByteTokenizer(), END) for group in GROUPS], END, "cpu")
    before, losses, paths = train.compute_loss(model, tensors).item(), [], []
    for seed in (1, 2):
        adapter = lora.Adapter(model, SETTINGS, seed=seed)
        for matrix in adapter.parameters:
            torch.nn.init.normal_(matrix, std=0.2, generator=torch.Generator().manual_seed(seed))
        losses.append(train.compute_loss(model, tensors).item())
        paths.append(tmp_path / f"{seed}.gguf")
        lora.write_gguf(paths[-1], adapter.matrices(), alpha=8, architecture="qwen2", name="tiny")
        adapter.remove()
    with lora.use_adapters(model, paths, SETTINGS) as use:
        for number in (0, 1, 0, 1):
            use(number)
            assert train.compute_loss(model, tensors).item() == pytest.approx(losses[number], rel=1e-2)
    assert train.compute_loss(model, tensors).item() == before
    assert len({round(loss, 3) for loss in (before, *losses)}) == 3
    with lora.use_adapters(model, [], SETTINGS) as use:
        use(1)
        assert train.compute_loss(model, tensors).item() == before


def test_answers_that_are_held_stay_while_others_are_taught(model: Any):
    first, later = "<|im_start|>assistant", "<|im_start|>assistant f <|im_start|>assistant"
    held = {
        "source": "habits",
        "system": "a",
        "examples": [{"id": "h", "rest": f"hello {first}", "target": "hi there"}],
    }
    mixed = {
        **GROUPS[0],
        "source": "habits",
        "examples": [*held["examples"], {"id": "m", "rest": later, "target": "b"}],
    }
    taught = {
        "source": "answers",
        "system": "b",
        "examples": [{"id": "t", "rest": f"hello {first}", "target": "so, no"}],
    }
    settings = {**SETTINGS, "hold": 50.0}
    assert [part.get("is_held") for group in (held, mixed, taught) for part in train.divide(group, settings)] == [
        True,
        False,
        True,
        None,
    ]
    groups = [{**each, "epoch": 0, "dialect": "python", "toolset_rank": 0.5} for each in (held, taught)]
    rows = [examples.build_row(each, ByteTokenizer(), END) for each in groups]
    tensors = [examples.build_tensors([row], END, "cpu") for row in rows]

    def score() -> list[torch.Tensor]:
        with torch.no_grad():
            return [train.compute_scores(model, each).log_softmax(-1) for each in tensors]

    before = score()
    changes: list[list[float]] = []
    for hold in (0.0, 50.0):
        adapter = lora.Adapter(model, SETTINGS, seed=1)
        some = {**SETTINGS, "hold": hold}
        train.train(model, adapter, ByteTokenizer(), groups * 15, some, seed=1, report=lambda _: None)
        after = score()
        changes.append(
            [
                torch.nn.functional.kl_div(new, old, reduction="sum", log_target=True).item()
                for old, new in zip(before, after, strict=True)
            ]
        )
        adapter.remove()
    (free_change, _), (held_change, taught_change) = changes
    assert held_change < 0.3 * free_change
    assert taught_change > held_change


def test_the_mean_of_adapters_is_nearest_to_the_mean_of_their_weights(tmp_path: Path):
    torch.manual_seed(3)
    layer, rank = "blk.0.attn_q.weight.lora", 4
    shared = torch.randn(rank, 24), torch.randn(16, rank)
    products: list[torch.Tensor] = []
    paths = [tmp_path / "first.gguf", tmp_path / "second.gguf"]
    for path in paths:
        a, b = (matrix + 0.1 * torch.randn(matrix.shape) for matrix in shared)
        products.append(b @ a)
        lora.write_gguf(path, {f"{layer}_a": a, f"{layer}_b": b}, alpha=8, architecture="qwen2", name="tiny")
    mean = sum(products) / 2
    share = lora.average(paths, tmp_path / "mean.gguf", alpha=8, architecture="qwen2", name="mean")
    found = lora.read_matrices(tmp_path / "mean.gguf")
    assert found[f"{layer}_a"].shape == (rank, 24)
    distance = (found[f"{layer}_b"].float() @ found[f"{layer}_a"].float() - mean).norm() / mean.norm()
    assert 0.98 < share < 1
    assert distance.item() == pytest.approx((1 - share) ** 0.5, abs=5e-3)
