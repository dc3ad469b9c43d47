"""The mean of adapters, brought back to their rank.

Trainings that differ only in what they draw make different mistakes, and the mean of their weights makes fewer than
each of them. The mean of two adapters has twice their rank. For each layer, the two matrices of the old rank are taken
whose product is nearest to it. Adapters that began with the same seed lose next to nothing by that.
"""

from collections.abc import Sequence
from pathlib import Path

import torch
from lora import read_matrices, write_matrices


def average(paths: Sequence[Path], out: Path, *, alpha: float, architecture: str, name: str) -> float:
    """Write the mean of adapters; return the share of it that is left, a mean over all layers.

    Args:
        paths: The GGUF files of the adapters. They have the same layers, rank and alpha.
        out: The file that is written.
        alpha: What the adapters were trained with.
        architecture: The architecture of the model.
        name: The name in the file.
    """
    adapters = [read_matrices(path) for path in paths]
    layers = [key.removesuffix("_a") for key in adapters[0] if key.endswith("_a")]
    matrices: dict[str, torch.Tensor] = {}
    shares: list[float] = []
    for layer in layers:
        parts = [(each[f"{layer}_a"].float(), each[f"{layer}_b"].float()) for each in adapters]
        matrices[f"{layer}_a"], matrices[f"{layer}_b"], share = average_layer(parts)
        shares.append(share)
    write_matrices(out, matrices, alpha=alpha, architecture=architecture, name=name)
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
