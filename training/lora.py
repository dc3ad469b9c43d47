"""Low-rank adapters (LoRA) for linear layers, the GGUF file that llama.cpp reads them from, and their mean.

Trainings that differ only in what they draw make different mistakes, and the mean of their weights makes fewer than
each of them. The mean of two adapters has twice their rank. For each layer, the two matrices of the old rank are taken
whose product is nearest to it. Adapters that began with the same seed lose next to nothing by that.
"""

import math
import re
from collections.abc import Callable, Generator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import gguf
import torch
from torch import nn
from torch.nn import functional

GGUF_NAMES = {
    "q_proj": "attn_q",
    "k_proj": "attn_k",
    "v_proj": "attn_v",
    "o_proj": "attn_output",
    "gate_proj": "ffn_gate",
    "up_proj": "ffn_up",
    "down_proj": "ffn_down",
}
"""The layers of a block, with their names in a GGUF file."""

LAYER_PATH = re.compile(r"model\.layers\.(\d+)\..*\.(\w+)")


class AdaptedLinear(nn.Module):
    """A linear layer plus an adapter: two narrow matrices whose product is added to the weights.

    The adapter begins as zero, since `b` does. Both matrices are kept in 32 bits and used in those of the input.
    """

    def __init__(self, base: nn.Linear, rank: int, alpha: float, generator: torch.Generator) -> None:
        super().__init__()
        self.base = base
        self.scale = alpha / rank
        a = torch.randn(rank, base.in_features, generator=generator) / math.sqrt(base.in_features)
        self.a = nn.Parameter(a.to(base.weight.device))
        self.b = nn.Parameter(torch.zeros(base.out_features, rank, device=base.weight.device))

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        narrow = functional.linear(x, self.a.to(x.dtype)).flatten(0, -2)
        wide = self.base(x)
        matrix = self.b.to(x.dtype).T * self.scale
        return torch.addmm(wide.flatten(0, -2), narrow, matrix).view(wide.shape)  # one pass over what is wide


class Adapter:
    """The adapters of all layers of a model."""

    def __init__(self, model: nn.Module, settings: Mapping[str, Any], *, seed: int = 0) -> None:
        """Put an adapter on each layer that has one of the names in the settings."""
        generator = torch.Generator().manual_seed(seed)
        self.layers: dict[str, AdaptedLinear] = {}
        self._parents: dict[str, nn.Module] = {}
        for path, module in list(model.named_modules()):
            for name in settings["layers"]:
                linear = getattr(module, name, None)
                if isinstance(linear, nn.Linear):
                    adapted = AdaptedLinear(linear, settings["rank"], settings["alpha"], generator)
                    setattr(module, name, adapted)
                    self.layers[f"{path}.{name}"] = adapted
                    self._parents[f"{path}.{name}"] = module

    @property
    def parameters(self) -> list[nn.Parameter]:
        return [matrix for layer in self.layers.values() for matrix in (layer.a, layer.b)]

    @contextmanager
    def swapped(self, matrices: Sequence[torch.Tensor]) -> Generator[None]:
        """Use these matrices, in the order of `parameters`, in place of its own."""
        with torch.no_grad():
            own = [each.clone() for each in self.parameters]
            torch._foreach_copy_(self.parameters, list(matrices))
        try:
            yield
        finally:
            with torch.no_grad():
                torch._foreach_copy_(self.parameters, own)

    def remove(self) -> None:
        """Give the model its own layers back."""
        for path, layer in self.layers.items():
            setattr(self._parents[path], path.rpartition(".")[2], layer.base)

    @contextmanager
    def merged(self) -> Generator[None]:
        """Add the adapter to the weights, which are faster to use than the two apart; at the end, take it out again."""
        kept: list[torch.Tensor] = []
        with torch.no_grad():
            for layer in self.layers.values():
                weight = layer.base.weight
                kept.append(weight.clone())
                weight.copy_(weight.float() + layer.scale * (layer.b @ layer.a))
        self.remove()
        try:
            yield
        finally:
            for (path, layer), weight in zip(self.layers.items(), kept, strict=True):
                layer.base.weight.copy_(weight)
                setattr(self._parents[path], path.rpartition(".")[2], layer)

    def matrices(self) -> dict[str, nn.Parameter]:
        """Return the matrices by their names in a GGUF file."""
        found: dict[str, nn.Parameter] = {}
        for path, layer in self.layers.items():
            matched = LAYER_PATH.fullmatch(path)
            if matched is None:
                raise ValueError(f"{path} is not the path of a layer in a block")
            number, name = matched.groups()
            for part, matrix in (("a", layer.a), ("b", layer.b)):
                found[f"blk.{number}.{GGUF_NAMES[name]}.weight.lora_{part}"] = matrix
        return found


def read_gguf(path: Path, adapter: Adapter) -> None:
    """Fill an adapter from the file that `write_gguf` wrote."""
    found = read_matrices(path)
    with torch.no_grad():
        for key, matrix in adapter.matrices().items():
            matrix.copy_(found[key])


@contextmanager
def use_adapters(
    model: nn.Module, paths: Sequence[Path], settings: Mapping[str, Any]
) -> Generator[Callable[[int], None]]:
    """Let the model answer with the adapter of a file; yield a function that changes to another of the files.

    A number for which there is no file stands for the last one; without files nothing changes.
    """
    own: list[nn.Parameter] = []
    merged: list[list[torch.Tensor]] = []
    for path in paths:
        adapter = Adapter(model, settings)
        read_gguf(path, adapter)
        with adapter.merged():
            own = [layer.base.weight for layer in adapter.layers.values()]
            merged.append([weight.clone() for weight in own])
        adapter.remove()
    kept = [weight.data for weight in own]

    def use(number: int) -> None:
        for weight, tensor in zip(own, merged[min(number, len(merged) - 1)] if merged else [], strict=True):
            weight.data = tensor

    use(0)
    try:
        yield use
    finally:
        for weight, tensor in zip(own, kept, strict=True):
            weight.data = tensor


def write_gguf(path: Path, matrices: Mapping[str, torch.Tensor], *, alpha: float, architecture: str, name: str) -> None:
    """Write the matrices of an adapter, by their names, as llama.cpp reads them, in 16 bits."""
    writer = gguf.GGUFWriter(path, architecture)
    writer.add_type(gguf.GGUFType.ADAPTER)
    writer.add_string(gguf.Keys.Adapter.TYPE, "lora")
    writer.add_float32(gguf.Keys.Adapter.LORA_ALPHA, float(alpha))
    writer.add_name(name)
    for key, matrix in matrices.items():
        writer.add_tensor(key, matrix.detach().to(torch.float16).cpu().numpy())
    writer.write_header_to_file()
    writer.write_kv_data_to_file()
    writer.write_tensors_to_file()
    writer.close()


def read_matrices(path: Path) -> dict[str, torch.Tensor]:
    """Return the matrices of an adapter by their names."""
    return {tensor.name: torch.tensor(tensor.data) for tensor in gguf.GGUFReader(path).tensors}


def average(paths: Sequence[Path], out: Path, *, alpha: float, architecture: str, name: str) -> float:
    """Write the mean of adapters of the same layers, rank and alpha; return the mean share of it that is left."""
    adapters = [read_matrices(path) for path in paths]
    matrices: dict[str, torch.Tensor] = {}
    shares: list[float] = []
    for layer in (key.removesuffix("_a") for key in adapters[0] if key.endswith("_a")):
        parts = [(each[f"{layer}_a"].float(), each[f"{layer}_b"].float()) for each in adapters]
        matrices[f"{layer}_a"], matrices[f"{layer}_b"], share = average_layer(parts)
        shares.append(share)
    write_gguf(out, matrices, alpha=alpha, architecture=architecture, name=name)
    return sum(shares) / len(shares)


def average_layer(parts: Sequence[tuple[torch.Tensor, torch.Tensor]]) -> tuple[torch.Tensor, torch.Tensor, float]:
    """Return the matrices `a` and `b` whose product is nearest to the mean of products, and the share that is left."""
    rank = len(parts[0][0])
    left, left_rest = torch.linalg.qr(torch.cat([b for _, b in parts], dim=1) / len(parts))
    right, right_rest = torch.linalg.qr(torch.cat([a for a, _ in parts], dim=0).T)
    columns, sizes, rows = torch.linalg.svd(left_rest @ right_rest.T)
    roots = sizes[:rank].sqrt()
    share = (sizes[:rank].square().sum() / sizes.square().sum()).item()
    return (roots[:, None] * rows[:rank]) @ right.T, left @ (columns[:, :rank] * roots), share
