"""What of a tool's definition is pinned, and how a change is shown.

A server could describe its tools harmlessly at first and change the text later, when nobody looks. So everything that
a model is shown or that decides how a call is run is compared with what the user accepted. A tool that is gone is no
danger; a new one is a change.
"""

import difflib
import json
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from toolspeak.mcp_client.connection import Definition

PINNED_KEYS = ("title", "description", "inputSchema", "outputSchema", "annotations")

MAX_DIFF_LINES = 60
MAX_LINE_CHARS = 300


def select_pinned(definitions: Sequence[Definition]) -> dict[str, dict[str, Any]]:
    """Return what is pinned of the tools of a server, by their names."""
    return {
        str(each["name"]): {key: each[key] for key in PINNED_KEYS if each.get(key) is not None} for each in definitions
    }


def find_changes(old: Mapping[str, Mapping[str, Any]], new: Mapping[str, Mapping[str, Any]]) -> dict[str, Any]:
    """Return the tools that are new or different, by their names."""
    return {name: tool for name, tool in new.items() if old.get(name) != tool}


def format_changes(old: Mapping[str, Mapping[str, Any]], changed: Mapping[str, Mapping[str, Any]]) -> str:
    """Return the difference between tools as they were accepted and as they are, line by line."""
    lines: list[str] = []
    for name, tool in changed.items():
        before = list(_write_lines(old[name])) if name in old else []
        diff = difflib.unified_diff(before, list(_write_lines(tool)), n=1, lineterm="")
        lines.append(f"{name}:" if before else f"{name} (new):")
        lines += [f"  {_cut(line)}" for line in list(diff)[2:] if not line.startswith("@@")]
    if len(lines) > MAX_DIFF_LINES:
        lines = [*lines[:MAX_DIFF_LINES], f"… and {len(lines) - MAX_DIFF_LINES} lines more"]
    return "\n".join(lines)


def _write_lines(tool: Mapping[str, Any]) -> Iterator[str]:
    for key, value in sorted(tool.items()):
        if isinstance(value, str):
            yield from (f"{key}: {line}" for line in value.splitlines())
        else:
            yield from f"{key}: {json.dumps(value, indent=1, sort_keys=True, ensure_ascii=False)}".splitlines()


def _cut(line: str) -> str:
    return line if len(line) <= MAX_LINE_CHARS else f"{line[:MAX_LINE_CHARS]}…"
