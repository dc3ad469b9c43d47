"""What of a tool's definition is pinned, and how a change is shown.

A server could describe its tools harmlessly at first and change the text later, when nobody looks. So everything that
a model is shown or that decides how a call is run is compared with what the user accepted. A tool that is gone is no
danger; a new one is a change.
"""

import difflib
import json
from bisect import bisect_left
from collections.abc import Iterator, Mapping, Sequence
from itertools import groupby
from typing import Any

from toolspeak.mcp_client.connection import Definition

PINNED_KEYS = ("title", "description", "inputSchema", "outputSchema", "annotations")

MAX_DIFF_LINES = 60
MAX_LINE_CHARS = 300

MAX_COMPARED_LINES = 4_000
"""Lines of a tool whose order is compared; of longer ones, all old lines and then all new ones are shown."""

_CONTEXT_CHARS = 40
"""Characters before the first difference that a cut line begins with."""


def select_pinned(definitions: Sequence[Definition]) -> dict[str, dict[str, Any]]:
    """Return what is pinned of the tools of a server, by their names. Of tools with the same name, the first counts."""
    return {
        str(each["name"]): {key: each[key] for key in PINNED_KEYS if each.get(key) is not None}
        for each in reversed(definitions)
    }


def find_changes(old: Mapping[str, Mapping[str, Any]], new: Mapping[str, Mapping[str, Any]]) -> dict[str, Any]:
    """Return the tools that are new or different, by their names."""
    return {name: tool for name, tool in new.items() if name not in old or _write(old[name]) != _write(tool)}


def format_changes(old: Mapping[str, Mapping[str, Any]], changed: Mapping[str, Mapping[str, Any]]) -> list[str]:
    """Return the difference between tools as they were accepted and as they are, line by line and whole."""
    lines: list[str] = []
    for name, tool in changed.items():
        heading = name if name.isprintable() else json.dumps(name)
        lines.append(f"{heading}:" if name in old else f"{heading} (new):")
        lines += [f"  {line}" for line in _compare(list(_write_lines(old.get(name, {}))), list(_write_lines(tool)))]
    return lines


def shorten_changes(lines: Sequence[str]) -> str:
    """Return the text of a difference, cut to a bounded length.

    Of a long line that has changed, the part is shown that begins shortly before the first difference.
    """
    shown: list[str] = []
    blocks = [list(block) for _, block in groupby(lines[:MAX_DIFF_LINES], key=lambda line: line[:3])]
    for number, block in enumerate(blocks):
        near = [line for other in blocks[max(0, number - 1) : number + 2] if other is not block for line in other]
        shown += [_cut(line, [line[:3] + other[3:] for other in near]) for line in block]
    if len(lines) > MAX_DIFF_LINES:
        shown.append(f"… and {len(lines) - MAX_DIFF_LINES} lines more; toolspeak mcp list shows all")
    return "\n".join(shown)


def _compare(old: list[str], new: list[str]) -> list[str]:
    if len(old) + len(new) > MAX_COMPARED_LINES:
        return [*(f"-{line}" for line in old), *(f"+{line}" for line in new)]
    diff = list(difflib.unified_diff(old, new, n=1, lineterm=""))[2:]
    return [line for line in diff if not line.startswith("@@")]


def _write(tool: Mapping[str, Any]) -> str:
    return json.dumps(tool, sort_keys=True)


def _write_lines(tool: Mapping[str, Any]) -> Iterator[str]:
    # Only line feeds part lines: other line breaks look the same, and could be exchanged unseen.
    for key, value in sorted(tool.items()):
        if isinstance(value, str):
            yield from (f"{key}: {line}" for line in value.split("\n"))
        else:
            yield from f"{key}: {json.dumps(value, indent=1, sort_keys=True, ensure_ascii=False)}".split("\n")


def _cut(line: str, others: Sequence[str]) -> str:
    """Return a line without what it has in common with the most similar other one, cut to a bounded length."""
    if len(line) <= MAX_LINE_CHARS:
        return line
    begin = line.index(":") + 1 if ":" in line[:_CONTEXT_CHARS] else 3
    start = max((_count_common(line, other) for other in others), default=0) - _CONTEXT_CHARS
    head, rest = (line, "") if start <= begin else (line[:begin], line[start:])
    text = head if not rest else f"{head} …{rest}"
    left = len(text) - MAX_LINE_CHARS
    return text if left <= 0 else f"{text[:MAX_LINE_CHARS]}… ({left} characters more)"


def _count_common(one: str, other: str) -> int:
    """Return the length of the common start of two texts."""
    length = min(len(one), len(other))
    return bisect_left(range(length), True, key=lambda end: one[: end + 1] != other[: end + 1])
