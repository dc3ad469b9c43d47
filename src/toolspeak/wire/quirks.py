"""What an endpoint honours of its own API. Data for a profile: what is False is not sent, or sent in another way."""

from toolspeak._frozen import frozen


@frozen
class Quirks:
    """The differences between servers that speak the same API. The defaults are those of the API's own maker.

    Attributes:
        tools: The `tools` parameter. Without it no tools are handed over at all.
        tool_choice: The `tool_choice` parameter. Without it `none` is said by handing over no tools.
        named_choice: A choice that names one tool; otherwise a call is required, of whichever tool.
        allowed_tools: A choice among several named tools (OpenAI); otherwise a call is required, of whichever tool.
        parallel_tool_calls: That one call at a time can be asked for.
        parallel_said_always: That several calls may come must be asked for, too (OpenAI).
        response_format: An answer held to a JSON schema.
        grammar: An answer held to a GBNF grammar, as llama.cpp has it (OpenAI).
        stream_options: Usage at the end of a stream, where it must be asked for (OpenAI).
        developer_role: System messages are sent with the role `developer` (OpenAI).
        max_completion_tokens: The limit of an answer goes by its newer name (OpenAI).
        seed: A seed, where the API has one (OpenAI).
        echo_reasoning: Reasoning goes back with the message it belongs to.
    """

    tools: bool = True
    tool_choice: bool = True
    named_choice: bool = True
    allowed_tools: bool = True
    parallel_tool_calls: bool = True
    parallel_said_always: bool = False
    response_format: bool = True
    grammar: bool = False
    stream_options: bool = True
    developer_role: bool = False
    max_completion_tokens: bool = False
    seed: bool = True
    echo_reasoning: bool = True


NO_QUIRKS = Quirks()
"""An endpoint that honours what its API says."""
