"""Checks of the built site: a page loads nothing from elsewhere."""

import re
from pathlib import Path
from typing import Any

from mkdocs.exceptions import PluginError

LOADED = re.compile(
    r"""<(?:script|img|iframe|source|video|audio|embed|object)\b[^>]*\b(?:src|data|srcset)\s*=\s*["']?\s*(?:https?:)?//[^\s"'>]+"""
    r"""|<link\b(?![^>]*rel=["']?(?:canonical|prev|next)\b)[^>]*\bhref\s*=\s*["']?\s*(?:https?:)?//[^\s"'>]+"""
    r"""|class=["']mermaid["']"""  # the theme would get the library from elsewhere
    r"""|@import\s[^;]*//[^;]+|url\(\s*["']?(?:https?:)?//[^)]+\)""",
    re.IGNORECASE,
)
"""What makes a browser fetch something from another host. Links that a reader may follow are no such thing."""


def on_post_build(config: Any) -> None:
    """Refuse a site with a page or a style sheet that loads something from outside."""
    site = Path(config["site_dir"])
    for path in sorted(site.rglob("*")):
        if path.suffix in (".html", ".css") and (found := LOADED.search(path.read_text(encoding="utf-8"))):
            raise PluginError(f"{path.relative_to(site)} loads something from outside: {found[0]}")
