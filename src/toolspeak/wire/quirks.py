"""`Quirks`: what an endpoint supports of its API. A feature that is False is left out of requests or replaced."""

from toolspeak._frozen import frozen


@frozen
class Quirks:
    """The differences between servers of the same API. The defaults describe the servers of the API's own vendor.

    Attributes:
        tools: The `tools` field. Without it no tools are sent at all.
        tool_choice: The `tool_choice` field. Without it, the choice `none` is made by sending no tools.
        named_choice: A choice that names one tool; otherwise a call of any tool is required.
        allowed_tools: A choice among several named tools (OpenAI); otherwise a call of any tool is required.
        parallel_tool_calls: A request for at most one call in an answer.
        parallel_always_sent: Parallel calls are off unless a request turns them on, so that it always says (OpenAI).
        custom_tools: Tools that take one raw text; otherwise they are sent as functions (OpenAI's responses).
        response_format: An answer constrained by a JSON schema.
        grammar: An answer constrained by a GBNF grammar, as in llama.cpp (OpenAI).
        stream_options: Token counts at the end of a stream, on request (OpenAI).
        developer_role: System messages have the role `developer` (OpenAI).
        max_completion_tokens: The limit of an answer has this newer name (OpenAI).
        seed: A seed, where the API has one (OpenAI).
        echo_reasoning: Reasoning is sent back with the message that it belongs to.
    """

    tools: bool = True
    tool_choice: bool = True
    named_choice: bool = True
    allowed_tools: bool = True
    parallel_tool_calls: bool = True
    parallel_always_sent: bool = False
    custom_tools: bool = True
    response_format: bool = True
    grammar: bool = False
    stream_options: bool = True
    developer_role: bool = False
    max_completion_tokens: bool = False
    seed: bool = True
    echo_reasoning: bool = True


NO_QUIRKS = Quirks()
"""An endpoint that supports what its API specifies."""
