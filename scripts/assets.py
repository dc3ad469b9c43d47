"""Leaves the comments of the page's scripts and styles out of the wheel: browsers don't need them.

Hatchling runs this when it builds a wheel (`tool.hatch.build.targets.wheel.hooks` in pyproject.toml). The checkout and
the sdist keep every comment, and an editable installation serves the files of the checkout. Only comments with lines of
their own are left out, so no code is parsed or rewritten. A template literal must end on its line, as a line inside it
could look like a comment; a test checks that.
"""

import re
import tempfile
from pathlib import Path
from typing import Any

from hatchling.builders.hooks.plugin.interface import BuildHookInterface

FOLDER = Path("src/toolspeak/page/static")
COMMENT = re.compile(r"^[ \t]*(?:/\*(?:[^*]|\*(?!/))*\*/[ \t]*|//.*)\n", re.MULTILINE)
"""A comment with lines of its own, in JavaScript or CSS."""


class AssetsHook(BuildHookInterface[Any]):
    """What hatchling calls."""

    def initialize(self, version: str, build_data: dict[str, dict[str, str]]) -> None:
        """Put files without comments in the places of those with comments."""
        if version == "editable":
            return
        self.folder = tempfile.TemporaryDirectory()
        for path in sorted((Path(self.root) / FOLDER).iterdir()):
            if path.suffix in (".js", ".css"):
                copy = Path(self.folder.name) / path.name
                copy.write_text(COMMENT.sub("", path.read_text(encoding="utf-8")), encoding="utf-8")
                build_data["force_include"][str(copy)] = f"toolspeak/page/static/{path.name}"

    def finalize(self, version: str, build_data: dict[str, dict[str, str]], artifact_path: str) -> None:
        """Remove the files again."""
        if version != "editable":
            self.folder.cleanup()
