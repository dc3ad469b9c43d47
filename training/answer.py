"""Loads the weights of a GGUF file into torch, in bfloat16, and answers prompts in batches, greedily."""

import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import torch
from examples import LENGTH_MULTIPLE, encode, split_by_tokens
from files import write_rows
from torch.nn import functional
from transformers import AttentionInterface, AutoConfig, AutoModelForCausalLM, AutoTokenizer, DynamicCache
from transformers.integrations.sdpa_attention import sdpa_attention_forward

MAX_CPU_BATCH_TOKENS = 24_000  # on a CPU, which has less memory than the settings count on
STOP_TOKENS = ("<|im_end|>", "<|endoftext|>")
COMPACTION_STEPS = 8  # after so many tokens, the answers that have ended are taken out of a batch, if they are many
COMPACTION_SHARE = 0.2


def attend(
    module: Any, query: torch.Tensor, key: torch.Tensor, value: torch.Tensor, mask: torch.Tensor | None, **options: Any
) -> tuple[torch.Tensor, None]:
    """Compute attention; for one new token, without a copy of keys and values for each head that shares them."""
    count, heads, length, width = query.shape
    shared = key.shape[1]
    if length > 1 or mask is None:
        return sdpa_attention_forward(module, query, key, value, mask, **options)
    queries = query.reshape(count, shared, heads // shared, width)  # the heads that share keys, in place of tokens
    masks = mask.expand(-1, -1, heads // shared, -1)
    found = functional.scaled_dot_product_attention(queries, key, value, attn_mask=masks, scale=options.get("scaling"))
    return found.reshape(count, 1, heads, width), None


AttentionInterface.register("sdpa", attend)
torch.backends.cuda.enable_cudnn_sdp(False)  # it plans anew for each length; in training its gradients may be NaN


def load_model(gguf: Path) -> tuple[Any, Any]:
    """Return the tokenizer and the model, on the GPU if there is one.

    Converting the weights takes a minute or more, so the result is kept beside the GGUF file.
    """
    cache = gguf.with_suffix(".bf16")
    cache.mkdir(exist_ok=True)
    began = time.time()
    if not (cache / "weights.pt").exists():
        model = AutoModelForCausalLM.from_pretrained(gguf.parent, gguf_file=gguf.name, dtype=torch.bfloat16)
        model.config.__dict__.pop("quantization_config", None)  # it describes the file; the weights are plain now
        model.config.save_pretrained(cache)
        torch.save(model.state_dict(), cache / "weights.pt")
    if not (cache / "tokenizer.json").exists():
        AutoTokenizer.from_pretrained(gguf.parent, gguf_file=gguf.name).save_pretrained(cache)
    config = AutoConfig.from_pretrained(cache)
    device = "cuda" if torch.cuda.is_available() else "cpu"
    with torch.device(device):  # the weights are first filled at random, which takes a minute on a CPU
        model = AutoModelForCausalLM.from_config(config, dtype=torch.bfloat16, attn_implementation="sdpa")
    missing = model.load_state_dict(torch.load(cache / "weights.pt"), strict=False).missing_keys
    model.tie_weights()
    if set(missing) - {"lm_head.weight"}:
        raise RuntimeError(f"{gguf} has no weights for {', '.join(missing)}")
    print(f"the model was loaded in {time.time() - began:.0f} s", flush=True)
    return AutoTokenizer.from_pretrained(cache), model.requires_grad_(False).eval()


def answer_all(
    model: Any,
    tokenizer: Any,
    prompts: Sequence[Mapping[str, Any]],
    path: Path,
    *,
    max_tokens: int,
    batch_tokens: int,
    report: Callable[[str], None],
) -> None:
    """Write the answers to prompts, each batch at once: a file that was cut holds whole answers.

    A prompt has `id` and `prompt`, and `shown`, which is written back. An answer is cut after `max_tokens`;
    a batch has at most `batch_tokens`, answers included.
    """
    encoded = [encode(tokenizer, each["prompt"]) for each in prompts]
    began = time.time()
    for batch in answer_batches(model, tokenizer, encoded, max_tokens, batch_tokens):
        rows = [
            {
                "id": prompts[place]["id"],
                "text": tokenizer.decode(answer, skip_special_tokens=True),
                "prompt_tokens": len(encoded[place]),
                "answer_tokens": len(answer),
                "shown": prompts[place].get("shown", ""),
            }
            for place, answer in batch.items()
        ]
        write_rows(path, rows, mode="at")
    report(f"{len(encoded)} answers in {time.time() - began:.0f} s, in {path.name}")


def answer_prompts(
    model: Any, tokenizer: Any, prompts: Sequence[str], *, width: int, max_tokens: int, batch_tokens: int
) -> list[tuple[str, bool] | None]:
    """Return the answers to prompts, and whether they were cut; None where both would have more than `width` tokens."""
    encoded = [encode(tokenizer, each) for each in prompts]
    fitting = [place for place, tokens in enumerate(encoded) if len(tokens) + max_tokens < width]
    stops = tokenizer.convert_tokens_to_ids(list(STOP_TOKENS))
    found: list[tuple[str, bool] | None] = [None] * len(prompts)
    for batch in answer_batches(model, tokenizer, [encoded[place] for place in fitting], max_tokens, batch_tokens):
        for place, answer in batch.items():
            text = tokenizer.decode(answer, skip_special_tokens=True)
            found[fitting[place]] = text, answer[-1] not in stops
    return found


def answer_batches(
    model: Any, tokenizer: Any, prompts: Sequence[list[int]], max_tokens: int, batch_tokens: int
) -> Iterator[dict[int, list[int]]]:
    """Yield the tokens of answers by the places of their prompts, those of similar length together."""
    stops = tokenizer.convert_tokens_to_ids(list(STOP_TOKENS))
    if model.device.type == "cpu":
        batch_tokens = min(batch_tokens, MAX_CPU_BATCH_TOKENS)
    for batch in split_by_tokens(range(len(prompts)), lambda place: len(prompts[place]) + max_tokens, batch_tokens):
        answers = answer_batch(model, [prompts[place] for place in batch], stops, max_tokens)
        yield dict(zip(batch, answers, strict=True))


@torch.inference_mode()
def answer_batch(model: Any, prompts: Sequence[list[int]], stops: Sequence[int], max_tokens: int) -> list[list[int]]:
    """Return the tokens of the answers, the token that ended an answer included."""
    device = model.lm_head.weight.device
    longest = max(map(len, prompts))
    width = -(-longest // LENGTH_MULTIPLE) * LENGTH_MULTIPLE
    tokens = torch.tensor([[stops[0]] * (width - len(each)) + each for each in prompts], device=device)
    lengths = torch.tensor(list(map(len, prompts)), device=device)
    order = torch.arange(width, device=device)
    is_prompt = order[None, :] >= width - lengths[:, None]
    is_earlier = order[None, :] <= order[:, None]
    mask = is_earlier[None] & (is_prompt[:, None, :] | ~is_prompt[:, :, None])  # padding sees padding
    positions = (order[None, :] - (width - lengths[:, None])).clamp(min=0)
    cache = DynamicCache()
    hidden = _read(model, tokens, mask[:, None], positions, cache)
    answers: list[list[int]] = [[] for _ in prompts]
    places = torch.arange(len(prompts), device=device)  # the answer that each row of the batch writes
    ended = torch.zeros(len(prompts), dtype=torch.bool, device=device)
    stop_tokens = torch.tensor(stops, device=device)
    written: list[tuple[torch.Tensor, torch.Tensor, torch.Tensor]] = []
    for number in range(max_tokens):
        following = model.lm_head(hidden).argmax(-1)
        written.append((places, following, ended))
        ended = ended | torch.isin(following, stop_tokens)
        if number + 1 == max_tokens:
            break
        if (number + 1) % COMPACTION_STEPS == 0:
            share = ended.float().mean().item()
            if share == 1.0:
                break
            if share > COMPACTION_SHARE:
                kept = (~ended).nonzero()[:, 0]
                cache.batch_select_indices(kept)
                places, following, ended = places[kept], following[kept], ended[kept]
                is_prompt, lengths = is_prompt[kept], lengths[kept]
        is_prompt = torch.cat([is_prompt, torch.ones_like(is_prompt[:, :1])], dim=1)
        hidden = _read(model, following[:, None], is_prompt[:, None, None, :], (lengths + number)[:, None], cache)
    for rows, values, had_ended in written:
        for row, value, is_over in zip(rows.tolist(), values.tolist(), had_ended.tolist(), strict=True):
            if not is_over:
                answers[row].append(value)
    return answers


def _read(
    model: Any, tokens: torch.Tensor, mask: torch.Tensor, positions: torch.Tensor, cache: DynamicCache
) -> torch.Tensor:
    """Read tokens, and return the state after the last of them."""
    output = model.model(
        input_ids=tokens, attention_mask=mask, position_ids=positions, past_key_values=cache, use_cache=True
    )
    return output.last_hidden_state[:, -1]
