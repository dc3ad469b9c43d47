"""`toolspeak.settings` as a module of the package."""

import subprocess
import sys
from pathlib import Path


def test_settings_are_reached_from_the_package(tmp_path: Path):
    code = "import toolspeak; print(toolspeak.settings.load('.', environ={}).model)"
    done = subprocess.run([sys.executable, "-c", code], cwd=tmp_path, capture_output=True, text=True, timeout=80)
    assert (done.stdout, done.stderr) == ("local\n", "")
