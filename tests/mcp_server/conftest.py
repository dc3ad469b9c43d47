"""The shapes of functions in `tests/tools`, whose modules import each other by their plain names, are served here."""

import sys
from pathlib import Path

sys.path.append(str(Path(__file__).parents[1] / "tools"))
