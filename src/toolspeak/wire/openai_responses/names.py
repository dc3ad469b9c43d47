"""Names and values of the API that its client side and its server side share, and how it names and types tools.

A *custom* tool of this API takes one raw text instead of JSON. That is a tool whose `raw` parameter is its only one.
A *namespace* is a group of tools. Here each of its tools has a name that begins with that of the namespace.
"""

from collections.abc import Mapping
from typing import Any, cast

from toolspeak.definitions import CUSTOM_PARAMETER
from toolspeak.spec import ToolSpec

BASE_PATH: str = "/v1"
"""The path with which the base address of requests ends."""

IS_UNDER_V1: bool = True
"""Whether requests go to a path behind the `/v1` of the base address."""

VENDOR: str = "openai-responses"
"""The vendor of `extra` data, unless the endpoint has a vendor name of its own. The chat API has another: ids and
encrypted reasoning of one of the two APIs mean nothing to the other."""

ID_PREFIX: str = "resp_"
"""The beginning of the ids of answers."""

SAMPLING_FIELDS: frozenset[str] = frozenset()
"""Fields beyond `ChatRequest` that only control sampling. The API has none."""

ENCRYPTED_REASONING = "reasoning.encrypted_content"
"""The value of `include` that asks for reasoning in a form that can be sent back to an endpoint that keeps nothing."""

GRAMMAR_KEYWORD = "x-grammar"
"""The keyword of a raw text's schema with the grammar of that text: an object with `syntax` and `definition`."""

CUSTOM_CALL = "custom_tool_call"
FUNCTION_CALL = "function_call"


def is_custom(spec: ToolSpec) -> bool:
    """Whether a tool is a custom tool of the API: it takes one raw text and nothing else."""
    return spec.raw is not None and spec.parameters["properties"].keys() == {spec.raw}


def raw_schema(spec: ToolSpec) -> dict[str, Any]:
    """Return the schema of the raw text of a custom tool."""
    return cast("Mapping[str, dict[str, Any]]", spec.parameters["properties"])[spec.raw or CUSTOM_PARAMETER]


def describe_grammar(grammar: Mapping[str, Any]) -> str:
    """Return what a model is told of the grammar of a raw text, as the end of the description of its tool."""
    return f"\n\nThe text must match this {grammar['syntax']} grammar:\n\n{grammar['definition']}"


def join_namespace(namespace: str, name: str) -> str:
    """Return the name of a tool in a namespace, as models are shown it. Without a namespace it is the name itself.

    Examples:
        >>> join_namespace("mail", "send"), join_namespace("mcp__mail__", "send"), join_namespace("", "send")
        ('mail__send', 'mcp__mail__send', 'send')
    """
    return f"{namespace}{'' if namespace.endswith('__') else '__'}{name}" if namespace else name


def split_namespace(namespace: str, joined: str) -> str:
    """Return the name of a tool within its namespace: the reverse of `join_namespace`."""
    return joined.removeprefix(join_namespace(namespace, "")) if namespace else joined
