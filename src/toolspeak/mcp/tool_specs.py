"""The tools of an MCP server as `ToolSpec`s: from the server's own JSON schemas, never through a Python model.

Everything that a server says of its tools is foreign text, and most of it is shown in the system prompt, where control
tokens count. So in descriptions control tokens are broken, hidden characters are shown, and long ones are cut. All that
is said of a tool counts against one budget (`MAX_TOOL_CHARS`), and all tools of a server against another; a description
that was cut says so. A schema is otherwise not touched: a tool with a control token or a hidden character in a name or
a value that it must be called with is left out, since it could not be called with another spelling.

A server could describe its tools harmlessly at first and change the text later, when nobody looks. So everything that a
model is shown or that decides how a call is run is pinned: it is compared with what the user accepted. A tool that is
gone is no danger; a new one is a change.
"""

import difflib
import json
import re
from bisect import bisect_left
from collections.abc import Callable, Iterator, Mapping, Sequence
from hashlib import sha256
from itertools import groupby
from typing import Any, NamedTuple, cast

from toolspeak.mcp.config import ServerConfig
from toolspeak.mcp.connection import Definition
from toolspeak.reading.control_tokens import break_tokens
from toolspeak.tools.signature import TOOL_NAME
from toolspeak.values.errors import UsageError
from toolspeak.values.escaping import reveal
from toolspeak.values.origin import Origin
from toolspeak.values.spec import SCHEMA_KEYWORDS, Effect, ResultOwner, Schema, ToolSpec, map_subschemas

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
        shown.append(f"… (lines left out: {len(lines) - MAX_DIFF_LINES}); toolspeak mcp list shows all")
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
    return text if left <= 0 else f"{text[:MAX_LINE_CHARS]}… (characters left out: {left})"


def _count_common(one: str, other: str) -> int:
    """Return the length of the common start of two texts."""
    length = min(len(one), len(other))
    return bisect_left(range(length), True, key=lambda end: one[: end + 1] != other[: end + 1])


MAX_TOOL_CHARS = 16_000  # of all that a model is shown of a tool: description, names, choices, patterns and the rest
MAX_SERVER_CHARS = 1_000_000  # of all tools of a server together; those that come after are left out
MAX_DESCRIPTION_CHARS = 4_000  # of the description of a tool or a parameter
MAX_SCHEMA_CHARS = 200_000  # of a schema; a tool with a longer one is left out
MAX_NAME_CHARS = 64

RESERVED_NAMES = ("final_answer", "recall", "run_program", "find_tools")
"""Names of tools that toolspeak itself adds to a run; a tool of a server is called by the name of its server, too."""

_DIGEST_CHARS = 8

_ANNOTATIONS = ("description", "title", "$comment")  # keywords whose texts are for readers only
_NAMES = ("required", "$ref", "type")  # keywords with names
_CHOICES = ("enum", "const")  # keywords with values that a call has to have
_VALUES = (*_CHOICES, "default", "examples")  # keywords with values, which every notation writes as literals
_SPACES = re.compile(r"[\x00-\x08\x0b-\x1f\xa0\u1680\u2000-\u200a\u202f\u205f\u3000]")
"""What JSON escapes, or what looks like a space and is as harmless as one in a text that nobody approves."""

_CONTROLS = re.compile(r"[\x00-\x1f]")


class _Cut(NamedTuple):
    """What is left of a schema that is too long: how many characters of each text and keyword, and how many levels."""

    text_chars: int
    keyword_chars: int
    levels: int


_CUTS = (
    _Cut(MAX_DESCRIPTION_CHARS, MAX_SCHEMA_CHARS, 10_000),
    *(_Cut(chars, chars, 10_000) for chars in (MAX_DESCRIPTION_CHARS, 1_000, 300, 100, 0)),
    *(_Cut(0, 0, levels) for levels in (8, 4, 2, 1)),
)
_MIN_CHOICE_CHARS = 500  # of `enum` and `const`: a call that does not fit them is wrong


def build_spec(definition: Definition, name: str, config: ServerConfig) -> ToolSpec:
    """Build the description of a tool.

    Args:
        definition: The tool as the server defines it.
        name: The name for models.
        config: The server.

    Raises:
        UsageError: The tool cannot be used; the message says why.
    """
    about = str(definition.get("description") or definition.get("title") or "")
    returns = definition.get("outputSchema")
    try:
        description, parameters, returns = _fit(
            about,
            _check_schema(definition.get("inputSchema") or {"type": "object"}),
            _check_schema(returns) if isinstance(returns, dict) else None,
        )
    except RecursionError:
        raise UsageError("its schema is nested too deeply") from None
    effect = _find_effect(definition) if config.trust_hints else "once"
    return ToolSpec(
        name=name,
        description=description,
        parameters=parameters,
        returns=returns,
        effect=effect,
        approve=config.asks_before(str(definition["name"]), effect),
        timeout=config.call_timeout,
        origin=Origin.FOREIGN_DESCRIPTION,
        result=config.result or _find_result_owner(definition, trusts_hints=config.trust_hints),
    )


def _find_result_owner(definition: Definition, *, trusts_hints: bool) -> ResultOwner:
    """Return whose words the results of a tool are, by what its server says of it.

    A server that warns is believed: its tool reads an open world, such as the web. One that says that the world of its
    tool is closed is believed only if its hints are trusted.
    """
    hints = cast("Mapping[str, Any]", definition.get("annotations") or {})
    if hints.get("openWorldHint") is True:
        return "foreign"
    return "own" if trusts_hints and hints.get("openWorldHint") is False else ""


def count_chars(spec: ToolSpec) -> int:
    """Return how many characters a model is shown of a tool, as JSON."""
    return len(spec.description) + _measure(spec.parameters) + _measure(spec.returns)


def _measure(value: object) -> int:
    return len(json.dumps(value, ensure_ascii=False))


def _find_effect(definition: Definition) -> Effect:
    hints = cast("Mapping[str, Any]", definition.get("annotations") or {})
    if hints.get("readOnlyHint") is True:
        return "read"
    return "idempotent" if hints.get("idempotentHint") is True else "once"


def clean_text(text: str, max_chars: int = MAX_DESCRIPTION_CHARS) -> str:
    """Return a text of a server without control tokens and hidden characters, cut to a bounded length."""
    left = len(text) - max_chars
    cut = text if left <= 0 else f"{text[:max_chars]}… ({left:,} more characters)" if max_chars else ""
    return break_tokens(cut if cut.isascii() and cut.isprintable() else reveal(_SPACES.sub(" ", cut)))


def _fit(about: str, parameters: Schema, returns: Schema | None) -> tuple[str, Schema, Schema | None]:
    """Return the description and the schemas of a tool, cleaned, and cut to what a model may be shown of a tool.

    Texts for readers are cut first, then bounds, then the schema of the result, and then the inner parts of the
    parameters. The server checks what is no longer checked here.
    """
    said = _measure(parameters) + _measure(returns)
    fitting: dict[int, tuple[str, Schema, Schema | None]] = {}

    def fits(index: int) -> bool:
        cut = _CUTS[index]
        fitted = _cut_schema(parameters, cut)
        result = None if returns is None or not cut.text_chars else _cut_schema(returns, cut)
        shown = _measure(fitted) + _measure(result)
        description = clean_text(about)
        if index > 0:
            note = f"(The server says more of this tool: {shown:,} of {said:,} characters of its schemas are shown.)"
            description = f"{description}\n\n{note}".lstrip()
        if len(description) + shown <= MAX_TOOL_CHARS:
            fitting[index] = description, fitted, result
        return index in fitting

    # Most schemas fit whole. Each cut leaves less than those before, so few of them are tried for a large one.
    first = 0 if fits(0) else bisect_left(range(len(_CUTS)), True, lo=1, key=fits)
    if first in fitting:
        return fitting[first]
    raise UsageError(
        f"its schema has {said:,} characters, and cannot be cut to the {MAX_TOOL_CHARS:,} that are allowed"
    )


def _check_schema(schema: Any) -> Schema:
    """Check that a schema can be shown: what calls are spelled like cannot be cleaned.

    Raises:
        UsageError: The schema is no object, is too long, or has a control token or a hidden character in a name.
    """
    if not isinstance(schema, dict):
        raise UsageError("its schema is no object")
    given = cast("dict[str, Any]", schema)
    text = json.dumps(given, ensure_ascii=False)
    if len(text) > MAX_SCHEMA_CHARS:
        raise UsageError(f"its schema has {len(text):,} characters, and {MAX_SCHEMA_CHARS:,} are allowed")
    if _has_text(given, _has_token) and _has_text(_drop_annotations(given), _has_token):
        raise UsageError("its schema has a control token of a model in it")
    if not (text.isascii() and text.isprintable()) and _has_text(_keep(given, (*_NAMES, *_CHOICES)), _is_hidden):
        raise UsageError("its schema has a hidden character in a name or a choice")
    if "\\" in text and _has_text(_keep(given, _NAMES), lambda name: _CONTROLS.search(name) is not None):
        raise UsageError("its schema has a control character in a name")  # what follows would look like another tool
    return given


def _cut_schema(schema: Schema, cut: _Cut, level: int = 0) -> Schema:
    """Return a schema, `level` levels inside the whole, with its texts cleaned and cut."""
    if level == cut.levels:
        return {key: schema[key] for key in ("type", "$ref") if key in schema}
    result: dict[str, Any] = {}
    for key, value in map_subschemas(schema, lambda sub: _cut_schema(sub, cut, level + 1)).items():
        if key in SCHEMA_KEYWORDS or key in _NAMES:
            result[key] = value
        elif key in _ANNOTATIONS and isinstance(value, str):
            text = clean_text(value, cut.text_chars).replace('"""', "'''")  # a notation may put it into a docstring
            if text or not value:
                result[key] = text
        else:
            is_choice = key in _CHOICES
            fits = _measure(value) <= max(cut.keyword_chars, _MIN_CHOICE_CHARS if is_choice else 0)
            is_one_line = key in _VALUES or not isinstance(value, str) or not _CONTROLS.search(value)
            if fits and is_one_line and (is_choice or not _has_text({key: value}, _is_hidden)):
                result[key] = value
    return result


def _drop_annotations(schema: Schema) -> dict[str, Any]:
    kept = map_subschemas(schema, _drop_annotations)
    return {key: value for key, value in kept.items() if key not in _ANNOTATIONS or not isinstance(value, str)}


def _keep(schema: Schema, keywords: Sequence[str]) -> dict[str, Any]:
    """Return a schema with nothing but its inner schemas and some keywords."""
    kept = map_subschemas(schema, lambda sub: _keep(sub, keywords))
    return {key: kept[key] for key in kept if key in SCHEMA_KEYWORDS or key in keywords}


def _has_text(value: Any, test: Callable[[str], bool]) -> bool:
    """Whether JSON data has a text or a key for which `test` is true."""
    if isinstance(value, str):
        return test(value)
    if isinstance(value, dict):
        pairs = cast("dict[str, Any]", value).items()
        return any(test(key) or _has_text(each, test) for key, each in pairs)
    return isinstance(value, list) and any(_has_text(each, test) for each in cast("list[Any]", value))


def _has_token(text: str) -> bool:
    return break_tokens(text) != text


def _is_hidden(text: str) -> bool:
    """Whether a text hides a character even as JSON, which escapes control characters."""
    plain = text if text.isascii() and text.isprintable() else _SPACES.sub(" ", text)
    return reveal(plain) != plain


def spell_name(name: str) -> str:
    """Return a name that a tool may have: the same, or one that is made from it and is the same each time."""
    if TOOL_NAME.fullmatch(name):
        return name
    plain = re.sub(r"[^A-Za-z0-9_.-]+", "_", name)[: MAX_NAME_CHARS - _DIGEST_CHARS - 1]
    return f"{plain}_{sha256(name.encode('utf-8', 'surrogatepass')).hexdigest()[:_DIGEST_CHARS]}"


def spell_names(tools: Sequence[tuple[ServerConfig, int, str]], taken: Sequence[str] = ()) -> list[str]:
    """Return the names of tools for models, each other than all the others, and other than those that are taken.

    A tool keeps its own name, if no other tool has it. Of tools with the same name, each is called by the name of its
    server and its own, whatever their order; servers of the same name are told apart by a hash of their address, and
    those of the same address, as one command line with other environment variables, by the number of the server.
    """
    own = [spell_name(name) for _, _, name in tools]
    with_server = [spell_name(f"{_spell_server(config)}_{name}") for config, _, name in tools]
    with_hash = [
        spell_name(f"{_spell_server(config)}_{config.identity[:_DIGEST_CHARS]}_{name}") for config, _, name in tools
    ]
    with_number = [spell_name(f"{_spell_server(config)}_{number}_{name}") for config, number, name in tools]
    names = own
    for others in (with_server, with_hash, with_number):
        names = _replace_repeated(names, others, taken)
    return names


def _replace_repeated(names: list[str], others: list[str], taken: Sequence[str]) -> list[str]:
    counts: dict[str, int] = {}
    for name in (*names, *taken):
        counts[name] = counts.get(name, 0) + 1
    return [name if counts[name] == 1 else other for name, other in zip(names, others, strict=True)]


def _spell_server(config: ServerConfig) -> str:
    return re.sub(r"[^A-Za-z0-9_-]+", "_", config.name).strip("_") or "server"
