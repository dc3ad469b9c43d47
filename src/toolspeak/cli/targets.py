"""Discovers the tools in the targets of a command."""

import sys
from collections.abc import Sequence
from pathlib import Path

from toolspeak.cli.stdout import reserve_stdout
from toolspeak.tools import Toolbox, discover


def discover_targets(*targets: str) -> Toolbox:
    """Return the tools of all targets. A target may be a module in the working directory, as with `python -m`."""
    if (folder := str(Path.cwd())) not in sys.path:
        sys.path.insert(0, folder)
    with reserve_stdout():
        boxes: Sequence[Toolbox] = [discover(target) for target in targets]
    if len(boxes) == 1:
        return boxes[0]
    return Toolbox([tool for box in boxes for tool in box], skipped=[each for box in boxes for each in box.skipped])
