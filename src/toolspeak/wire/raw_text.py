"""Custom tools of OpenAI's APIs: they take one raw text instead of JSON.

Here a custom tool is one whose `raw` parameter is its only one. Everywhere but in these APIs its arguments are JSON,
`{"input": "…"}`; both ways can be gone while the text arrives.
"""

import json
import re
from collections.abc import Mapping
from typing import Any, cast

from toolspeak.values.origin import Origin
from toolspeak.values.spec import CUSTOM_PARAMETER, ToolSpec
from toolspeak.wire.fields import Fields

GRAMMAR_KEYWORD = "x-grammar"
"""The keyword of a raw text's schema with the grammar of that text: an object with `syntax` and `definition`."""


def is_custom(spec: ToolSpec) -> bool:
    """Whether a tool is a custom tool of the API: it takes one raw text and nothing else."""
    return spec.raw is not None and spec.parameters["properties"].keys() == {spec.raw}


def raw_schema(spec: ToolSpec) -> dict[str, Any]:
    """Return the schema of the raw text of a custom tool."""
    return cast("Mapping[str, dict[str, Any]]", spec.parameters["properties"])[spec.raw or CUSTOM_PARAMETER]


def describe_grammar(grammar: Mapping[str, Any]) -> str:
    """Return what a model is told of the grammar of a raw text, as the end of the description of its tool."""
    return f"\n\nThe text must match this {grammar['syntax']} grammar:\n\n{grammar['definition']}"


def read_custom_tool(tool: Fields, *, nested: str = "") -> ToolSpec:
    """Read the definition of a custom tool. `nested` is the field of its format that holds a grammar, if one does."""
    name = tool.text("name")
    if not name:
        raise tool.error("name", "is empty")
    schema: dict[str, Any] = {"type": "string"}
    description = tool.optional_text("description")
    form = tool.optional_object("format")
    if form is not None and form.text("type") == "grammar":
        holder = form.object(nested) if nested else form
        grammar = {"syntax": holder.text("syntax"), "definition": holder.text("definition")}
        schema[GRAMMAR_KEYWORD] = grammar
        description += describe_grammar(grammar)
    return ToolSpec(
        name=name,
        description=description,
        parameters={"type": "object", "properties": {CUSTOM_PARAMETER: schema}, "required": [CUSTOM_PARAMETER]},
        raw=CUSTOM_PARAMETER,
        origin=Origin.FOREIGN_DESCRIPTION,
    )


# The raw text of a call

_HEAD = re.compile(r'\s*\{\s*"(?:[^"\\]|\\.)*"\s*:\s*"')
"""Everything before the text: an object whose first value is a string."""

MAX_HEAD_CHARS = 1_000
"""Characters in which the text must have begun. If it has not, it is known when the call is ready."""

_WHOLE_CHARACTERS = re.compile(
    r"""(?:
        [^"\\]++
        | \\[^u]
        | \\u(?![dD][89abAB])[0-9a-fA-F]{4}
        | \\u[dD][89abAB]..(?:\\u[dD][c-fC-F]..|(?=[^\\]|\\[^u]|\\u(?![dD][c-fC-F])....))
    )*""",
    re.VERBOSE | re.DOTALL,
)
"""Characters and escapes within a string. The first half of a surrogate pair is whole together with the second."""


def open_arguments(parameter: str) -> str:
    """Return the beginning of arguments whose only value is a text."""
    return f'{{{json.dumps(parameter, ensure_ascii=False)}:"'


def escape_text(text: str) -> str:
    """Return a piece of the text as it is written in JSON."""
    return json.dumps(text, ensure_ascii=False)[1:-1]


CLOSE_ARGUMENTS = '"}'


class RawInputReader:
    """Reads the text out of arguments whose JSON arrives in pieces."""

    def __init__(self) -> None:
        self._unread = ""
        self._in_text = False
        self._ended = False

    def feed(self, piece: str) -> str:
        """Read a piece of the JSON, and return the text that it adds."""
        if self._ended:
            return ""
        self._unread += piece
        if not self._in_text:
            head = _HEAD.match(self._unread)
            if head is None:
                self._ended = len(self._unread) > MAX_HEAD_CHARS
                return ""
            self._in_text, self._unread = True, self._unread[head.end() :]
        whole = _WHOLE_CHARACTERS.match(self._unread)
        end = whole.end() if whole else 0
        try:
            added: str = json.loads(f'"{self._unread[:end]}"', strict=False)
        except ValueError:  # an escape that JSON does not have: the text is known when the call is ready
            self._ended = True
            return ""
        self._unread = self._unread[end:]
        self._ended = self._unread.startswith('"')
        return added
