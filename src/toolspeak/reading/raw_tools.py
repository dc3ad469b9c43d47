"""Which tools can be called by a block with their name: those that take one raw text (`raw_calls.py`)."""

import re
from collections.abc import Iterable

from toolspeak.reading.forms import CODE_LABELS, DATA_LABELS
from toolspeak.spec import ToolSpec

LABEL = re.compile(r"[\w.$:/-]*")
"""Characters of a name that can be a label."""


def has_raw_form(spec: ToolSpec) -> bool:
    """Whether a tool can be called by a block with its name.

    A tool with a name such as `python` or `json` cannot: a block with that label holds calls of any tool.
    """
    is_language = spec.name.lower() in CODE_LABELS | DATA_LABELS
    return spec.raw is not None and not is_language and LABEL.fullmatch(spec.name) is not None


def find_raw_parameters(specs: Iterable[ToolSpec]) -> dict[str, str]:
    """Return the parameter for the raw text of each tool that can be called by a block with its name."""
    return {spec.name: spec.raw for spec in specs if spec.raw is not None and has_raw_form(spec)}
