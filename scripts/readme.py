"""Gives the README of the repository whole addresses, for the page of toolspeak at a package index.

An index has neither `docs/guides/install.md` nor `docs/images/demo.svg`. Hatchling runs this when it builds
(`tool.hatch.metadata.hooks` in pyproject.toml), so the README itself keeps paths, which work in a checkout, too. The
addresses are those of the release's tag.
"""

import re
from pathlib import Path

from hatchling.metadata.plugin.interface import MetadataHookInterface

RELATIVE = re.compile(r"(?P<image>!?)\[(?P<words>[^\]]*)\]\((?P<path>(?![a-z]+:|#)[^)\s]+)\)")
"""A link or a picture of Markdown whose address is a path in the repository."""


def complete_links(text: str, repository: str, version: str) -> str:
    """Return a Markdown text with the paths in its links and pictures replaced by addresses in the repository."""

    def complete(found: re.Match[str]) -> str:
        kind = "raw" if found["image"] else "blob"
        return f"{found['image']}[{found['words']}]({repository}/{kind}/v{version}/{found['path']})"

    return RELATIVE.sub(complete, text)


class ReadmeHook(MetadataHookInterface):
    """What hatchling calls."""

    def update(self, metadata: dict[str, object]) -> None:
        """Add the README to the metadata."""
        urls, version = metadata["urls"], metadata["version"]
        assert isinstance(urls, dict)  # noqa: S101 (for type checkers: pyproject.toml has a table there)
        text = (Path(self.root) / "README.md").read_text(encoding="utf-8")
        text = complete_links(text, urls["Source"], str(version))
        metadata["readme"] = {"content-type": "text/markdown", "text": text}
