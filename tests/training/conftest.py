"""A model for the tests of training, of the architecture of the embedded one. Needs torch and transformers."""

from typing import Any

import pytest


@pytest.fixture
def model() -> Any:
    """A tiny model with random weights, the same each time."""
    import torch
    from transformers import Qwen2Config, Qwen2ForCausalLM

    torch.manual_seed(0)
    config = Qwen2Config(
        vocab_size=300,
        hidden_size=64,
        intermediate_size=128,
        num_hidden_layers=2,
        num_attention_heads=4,
        num_key_value_heads=2,
    )
    return Qwen2ForCausalLM(config).requires_grad_(False).eval()
