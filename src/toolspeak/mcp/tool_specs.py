"""The tools of an MCP server as `ToolSpec`s: from the server's own JSON schemas, never through a Python model.

Everything that a server says of its tools is foreign text, and most of it is shown in the system prompt, where control
tokens count. So in descriptions control tokens are broken, and long ones are cut. A schema is otherwise not touched: a
tool with a control token in a name or a value that it must be called with is left out, since it could not be called
with another spelling.

A server could describe its tools harmlessly at first and change the text later, when nobody looks. So everything that a
model is shown or that decides how a call is run is pinned: it is compared with what the user accepted. A tool that is
gone is no danger; a new one is a change.
"""

import difflib
import json
import re
from bisect import bisect_left
from collections.abc import Iterator, Mapping, Sequence
from hashlib import sha256
from itertools import groupby
from typing import Any, cast

from toolspeak.mcp.config import ServerConfig
from toolspeak.mcp.connection import Definition
from toolspeak.reading.control_tokens import break_tokens
from toolspeak.tools.signature import TOOL_NAME
from toolspeak.values.errors import UsageError
from toolspeak.values.escaping import reveal
from toolspeak.values.spec import Effect, Schema, ToolSpec, map_subschemas

PINNED_KEYS = ("title", "description", "inputSchema", "outputSchema", "annotations")

MAX_DIFF_LINES, MAX_LINE_CHARS = 60, 300
MAX_COMPARED_LINES = 4_000  # of a tool; of a longer one, all old lines and then all new ones are shown
_CONTEXT_CHARS = 40  # before the first difference, with which a cut line begins


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
        lines.append(f"{name}:" if name in old else f"{name} (new):")
        lines += [f"  {line}" for line in _compare(list(_write_lines(old.get(name, {}))), list(_write_lines(tool)))]
    return [reveal(line, keeps_lines=False) for line in lines]


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


MAX_DESCRIPTION_CHARS = 4_000  # characters of the description of a tool or a parameter that a model is shown
MAX_SCHEMA_CHARS = 200_000  # characters of a schema; a tool with a longer one is left out
MAX_NAME_CHARS = 64

RESERVED_NAMES = ("final_answer", "recall", "run_program", "find_tools")
"""Names of tools that toolspeak itself adds to a run; a tool of a server is called by the name of its server, too."""

_DIGEST_CHARS = 8

_ANNOTATIONS = ("description", "title", "$comment")  # keywords whose texts are for readers only


def build_spec(definition: Definition, name: str, config: ServerConfig) -> ToolSpec:
    """Build the description of a tool.

    Args:
        definition: The tool as the server defines it.
        name: The name for models.
        config: The server.

    Raises:
        UsageError: The tool cannot be used; the message says why.
    """
    description = definition.get("description") or definition.get("title") or ""
    returns = definition.get("outputSchema")
    return ToolSpec(
        name=name,
        description=clean_text(str(description)),
        parameters=clean_schema(definition.get("inputSchema") or {"type": "object"}),
        returns=clean_schema(returns) if isinstance(returns, dict) else None,
        effect=_find_effect(definition) if config.trust_hints else "once",
        approve=config.approve,
        timeout=config.call_timeout,
    )


def _find_effect(definition: Definition) -> Effect:
    hints = cast("Mapping[str, Any]", definition.get("annotations") or {})
    if hints.get("readOnlyHint") is True:
        return "read"
    return "idempotent" if hints.get("idempotentHint") is True else "once"


def clean_text(text: str) -> str:
    """Return a text of a server without control tokens, cut to a bounded length."""
    return break_tokens(text if len(text) <= MAX_DESCRIPTION_CHARS else f"{text[:MAX_DESCRIPTION_CHARS]}…")


def clean_schema(schema: Any) -> Schema:
    """Return a schema of a server with its descriptions cleaned. A schema that needs no cleaning is returned as it is.

    Raises:
        UsageError: The schema is no object, is too long, or has a control token where it has a meaning.
    """
    if not isinstance(schema, dict):
        raise UsageError("its schema is no object")
    given = cast("dict[str, Any]", schema)
    try:
        text = json.dumps(given, ensure_ascii=False)
        if len(text) > MAX_SCHEMA_CHARS:
            raise UsageError(f"its schema has {len(text):,} characters, and {MAX_SCHEMA_CHARS:,} are allowed")
        if len(text) <= MAX_DESCRIPTION_CHARS and not _has_token(given):
            return given
        cleaned = _clean_annotations(given)
        if _has_token(_drop_annotations(given)):
            raise UsageError("its schema has a control token of a model in it")
    except RecursionError:
        raise UsageError("its schema is nested too deeply") from None
    return given if cleaned == given else cleaned


def _clean_annotations(schema: Schema) -> dict[str, Any]:
    cleaned = map_subschemas(schema, _clean_annotations)
    for key in _ANNOTATIONS:
        if isinstance(cleaned.get(key), str):
            cleaned[key] = clean_text(cleaned[key])
    return cleaned


def _drop_annotations(schema: Schema) -> dict[str, Any]:
    kept = map_subschemas(schema, _drop_annotations)
    return {key: value for key, value in kept.items() if key not in _ANNOTATIONS or not isinstance(value, str)}


def _has_token(value: Any) -> bool:
    """Whether JSON data has a control token in one of its texts or keys."""
    if isinstance(value, str):
        return break_tokens(value) != value
    if isinstance(value, dict):
        return any(_has_token(key) or _has_token(each) for key, each in cast("dict[str, Any]", value).items())
    return isinstance(value, list) and any(map(_has_token, cast("list[Any]", value)))


def spell_name(name: str) -> str:
    """Return a name that a tool may have: the same, or one that is made from it and is the same each time."""
    if TOOL_NAME.fullmatch(name):
        return name
    plain = re.sub(r"[^A-Za-z0-9_.-]+", "_", name)[: MAX_NAME_CHARS - _DIGEST_CHARS - 1]
    return f"{plain}_{sha256(name.encode('utf-8', 'surrogatepass')).hexdigest()[:_DIGEST_CHARS]}"


def spell_names(tools: Sequence[tuple[ServerConfig, str]], taken: Sequence[str] = ()) -> list[str]:
    """Return the names of tools for models, each other than all the others, and other than those that are taken.

    A tool keeps its own name, if no other tool has it. Of tools with the same name, each is called by the name of its
    server and its own, whatever their order; a server that is there twice is told apart by a hash of its address.
    """
    own = [spell_name(name) for _, name in tools]
    with_server = [spell_name(f"{_spell_server(config)}_{name}") for config, name in tools]
    with_hash = [
        spell_name(f"{_spell_server(config)}_{config.identity[:_DIGEST_CHARS]}_{name}") for config, name in tools
    ]
    names = _replace_repeated(own, with_server, taken)
    return _replace_repeated(names, with_hash, taken)


def _replace_repeated(names: list[str], others: list[str], taken: Sequence[str]) -> list[str]:
    counts: dict[str, int] = {}
    for name in (*names, *taken):
        counts[name] = counts.get(name, 0) + 1
    return [name if counts[name] == 1 else other for name, other in zip(names, others, strict=True)]


def _spell_server(config: ServerConfig) -> str:
    return re.sub(r"[^A-Za-z0-9_-]+", "_", config.name).strip("_") or "server"
