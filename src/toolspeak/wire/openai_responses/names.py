"""Names and values of the API that its client side and its server side share, and how it names tools.

A *namespace* is a group of tools. Here each of its tools has a name that begins with that of the namespace. Custom
tools, which take one raw text, are in `raw_text.py`; tools that the vendor defines and the client runs, such as
`shell`, in `local_tools.py`.
"""

from toolspeak.wire.framing import SSE

# What `api.Wire` demands of an API; it says what each of them means.
BASE_PATH: str = "/v1"
PATHS: tuple[str, ...] = ("/responses",)
IS_UNDER_V1: bool = True
FRAMING = SSE
VENDOR: str = (
    "openai-responses"  # not that of the chat API: ids and encrypted reasoning of one mean nothing to the other
)
ID_PREFIX: str = "resp_"
SAMPLING_FIELDS: frozenset[str] = frozenset()

ENCRYPTED_REASONING = "reasoning.encrypted_content"
"""The value of `include` that asks for reasoning in a form that can be sent back to an endpoint that keeps nothing."""

CUSTOM_CALL = "custom_tool_call"
FUNCTION_CALL = "function_call"


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
