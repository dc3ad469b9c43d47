"""What the built site has beyond its pages.

A list of all public names, folded overloads, words for the search, and a check of what a page loads.
"""

import importlib
import inspect
import re
from html import escape, unescape
from pathlib import Path
from types import ModuleType
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


CODE = re.compile(
    r'<div class="highlight"><pre>.*?<code>(.*?)</code></pre></div>', re.DOTALL
)
"""A block of code. Its first group is the text, with the tags of the highlighter."""

MAX_COLUMNS = 88
"""How many characters of code fit the column at 1440 pixels. Pages keep to it, docstrings may not."""

OVERLOADS = '<div class="doc-overloads">'
"""What the signatures of one function stand in, if it has several."""


REFERENCE_BOOST = 0.2
"""How much a page of the reference counts in the search beside a guide: a reader who types "retry" wants the guide."""


def on_page_markdown(markdown: str, page: Any, config: Any, files: Any) -> str:
    """Rank the reference behind the guides in the search, and write the list of all names."""
    if page.file.src_uri.startswith("reference/"):
        page.meta.setdefault("search", {"boost": REFERENCE_BOOST})
    if page.file.src_uri != "reference/index.md":
        return markdown
    return markdown.replace("<!-- names -->", list_names(Path(config["docs_dir"])))


def list_names(docs: Path) -> str:
    """Return a table of the names that the reference pages show, in the order of the alphabet."""
    rows: list[tuple[str, str]] = []
    for path in sorted((docs / "reference").glob("*.md")):
        text = path.read_text(encoding="utf-8")
        page = f"[{text.splitlines()[0].removeprefix('# ')}]({path.name})"
        for shown in re.findall(r"^::: (\S+)", text, re.M):
            module, _, name = shown.rpartition(".")
            found = getattr(importlib.import_module(module), name)
            names = [f"{shown}.{each}" for each in list_members(found)] or [shown]
            rows += [
                (each, f"| [`{short}`][{each}] | `{shorten_path(each)}` | {page} |")
                for each in names
                for short in [each.rpartition(".")[2]]
            ]
    rows.sort(key=lambda row: row[0].rpartition(".")[2].lower())
    return "\n".join(
        ["| name | path | page |", "|---|---|---|", *(row for _, row in rows)]
    )


def shorten_path(path: str) -> str:
    """Return the path from which a name is best imported: `toolspeak.NAME`, if the package exports it."""
    module, _, name = path.rpartition(".")
    value = getattr(importlib.import_module(module), name)
    exported = getattr(importlib.import_module("toolspeak"), name, None)
    return f"toolspeak.{name}" if exported is value else path


def list_members(value: object) -> list[str]:
    """Return the public classes and functions that a module defines; none for anything but a module."""
    if not isinstance(value, ModuleType):
        return []
    members = vars(value).items()
    own = [
        name
        for name, each in members
        if inspect.isclass(each) or inspect.isroutine(each)
        if each.__module__ == value.__name__ and not name.startswith("_")
    ]
    return list(getattr(value, "__all__", own))


def on_page_content(html: str, page: Any, config: Any, files: Any) -> str:
    """Fold overloads, and add the words by which the search is to find a page."""
    words = config["extra"].get("synonyms", {}).get(page.file.src_uri)
    if words:  # below the title, so that the search leads to the top of the page
        html = html.replace("</h1>", f"</h1><p hidden>Also: {escape(words)}.</p>", 1)
    return fold_overloads(CODE.sub(mark_wide, html))


def mark_wide(block: re.Match[str]) -> str:
    """Return a block of code, marked to be wrapped if a line of it does not fit the column."""
    lines = unescape(re.sub(r"<[^>]*>", "", block[1])).splitlines()
    if max(map(len, lines), default=0) <= MAX_COLUMNS:
        return block[0]
    return block[0].replace('"highlight"', '"highlight wrapped"', 1)


def fold_overloads(html: str) -> str:
    """Return a page in which overloads are shown when they are asked for."""
    start = html.find(OVERLOADS)
    while start >= 0:
        depth = 0
        for tag in re.finditer(r"<(/?)div\b", html[start:]):
            depth += -1 if tag[1] else 1
            if not depth:
                break
        else:
            raise PluginError("the overloads of a function have no end")
        end = start + tag.start()
        inside = html[start + len(OVERLOADS) : end]
        folded = f'<details class="doc-overloads"><summary>Overloads</summary>{inside}</details>'
        html = html[:start] + folded + html[end + len("</div>") :]
        start = html.find(OVERLOADS, start)
    return html


def on_post_build(config: Any) -> None:
    """Refuse a site with a page or a style sheet that loads something from outside."""
    site = Path(config["site_dir"])
    for path in sorted(site.rglob("*")):
        if path.suffix in (".html", ".css") and (
            found := LOADED.search(path.read_text(encoding="utf-8"))
        ):
            raise PluginError(
                f"{path.relative_to(site)} loads something from outside: {found[0]}"
            )
