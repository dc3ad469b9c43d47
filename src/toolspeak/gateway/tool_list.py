"""The tools of a request as the model is shown them: all of them, or what fits a budget, with help.

The gateway keeps nothing, so all of this follows from the request alone (`toolspeak.dialects.tool_selection`):

- The list at the beginning of the prompt depends on the tools and on the first message of the user. It stays the same
  from turn to turn, whatever is called: servers read a prompt anew from the first character that differs.
- A model reads the whole description of a tool by a call of the tool `help`, and finds tools that are not listed by a
  call of `find_tools`. Both are shown with the others, if they are needed. If a message has no other call, the gateway
  answers it in a turn of its own, which the client does not see, a few times at most. Beside other calls it is dropped,
  because the client's answer to those comes first. A tool of the client that has such a name keeps it.
- A tool that was called stays known: its description follows the results of its first call, in every later request.
"""

from collections.abc import Sequence

from toolspeak.dialects import Dialect
from toolspeak.dialects.slim_tools import make_help_tool
from toolspeak.dialects.tool_selection import ToolSelection, make_find_tool, select_tools
from toolspeak.values.events import AUTO, ToolChoice
from toolspeak.values.messages import Message, Part, Refusal, Result, Text, ToolCall
from toolspeak.values.spec import ToolSpec

MAX_HELP_TURNS = 3
"""How often a model gets help before it must answer a request or call a tool of the client."""


def list_tools(
    tools: tuple[ToolSpec, ...],
    dialect: Dialect,
    max_tokens: int | None = None,
    messages: Sequence[Message] = (),
    choice: ToolChoice = AUTO,
) -> ToolSelection:
    """Return the tools of a request as a model is shown them.

    Args:
        tools: The tools of the client.
        dialect: The dialect in which the model is shown them.
        max_tokens: The most tokens that they may take; None for any number.
        messages: The conversation.
        choice: Which tools must be called; those that it names are listed.
    """
    if max_tokens is None or not tools:
        return select_tools(tools, dialect, None, messages)
    return select_tools(
        tools,
        dialect,
        max_tokens,
        messages,
        help_tool=make_help_tool(tools),
        find_tool=make_find_tool(tools),
        kept=choice.names,
    )


def describe_excess(listed: ToolSelection) -> str:
    """Return what the client is told if the tools are larger than their budget; empty if they are not."""
    if listed.max_tokens is None or listed.tokens <= listed.max_tokens:
        return ""
    return f"tools take {listed.tokens} tokens without any descriptions, more than the budget of {listed.max_tokens}"


def answer_help(listed: ToolSelection, message: Message, calls: Sequence[ToolCall]) -> tuple[Message, Message]:
    """Return a message that asks for help by these calls and the answers to it, for the conversation with the model."""
    ids = {call.id for call in calls}
    results: list[Part] = []
    for call in message.calls:
        text = listed.answer(call) if call.id in ids else None
        content = (Text(text=text or "not run: help was asked for in the same message"),)
        reason: Refusal = "not_allowed" if text is None else ""
        results.append(Result(call_id=call.id, content=content, is_error=text is None, reason=reason))
    return message, Message(role="tool", parts=tuple(results))
