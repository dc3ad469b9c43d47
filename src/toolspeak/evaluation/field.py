"""The suite `field`: requests as people write them, over several hundred sets of tools, in the folder `suites/field`.

The folder is part of the repository and not of the package. The questions are split by their set of tools, so that no
tool that a model was trained on is used to measure it: `field` has the questions to measure with, `field-train` those
to train on. A set is on the side that the hash of its name says, so a new set never moves another one.
"""

import hashlib
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from toolspeak.errors import UsageError
from toolspeak.evaluation.files import read_rows

FIELD_FOLDER = Path(__file__).parents[3] / "suites" / "field"
"""Where a checkout of the repository has the files of the suite."""

MEASURED_SHARE = 4
"""One set of tools in so many is kept for measuring."""


def is_measured(toolset: str) -> bool:
    """Whether a set of tools is kept for measuring, and not trained on."""
    return int(hashlib.sha256(toolset.encode()).hexdigest(), 16) % MEASURED_SHARE == 0


def read_field_rows(*, measured: bool, folder: Path = FIELD_FOLDER) -> Iterator[tuple[str, Mapping[str, Any]]]:
    """Yield the lines of one side of the split, with their tools, each with its place in words.

    Args:
        measured: Whether the side is that for measuring, or that for training.
        folder: The folder of the files.
    """
    paths = sorted(folder.glob("*.jsonl"))
    if not paths:
        raise UsageError(
            "the suite field is in the repository of toolspeak and not in the package; run this in a checkout, or give "
            "the path of a file of questions"
        )
    for path in paths:
        for where, row in read_rows(path):
            toolset = row.get("toolset", row.get("tools"))
            if not isinstance(toolset, str):
                raise UsageError(f"{where}: a question of the suite field names its toolset")
            if is_measured(toolset) is measured:
                yield where, row
