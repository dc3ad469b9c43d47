"""Loads the weights of a GGUF file into torch, in bfloat16."""

import time
from pathlib import Path
from typing import Any

import torch
from transformers import AutoConfig, AutoModelForCausalLM, AutoTokenizer


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
