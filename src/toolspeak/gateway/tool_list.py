"""`ToolList`: the tools of a request as the model is shown them: whole, or cut to a budget, with help about the rest.

The gateway keeps nothing, so all of this follows from the request alone:

- The list is cut by `toolspeak.dialects.slim_tools`, and depends on the tools of the request only. It stays the same
  from turn to turn, whatever is called: it stands at the beginning of a prompt, and servers read a prompt anew from the
  first character that differs.
- A model reads the whole description of a tool by a call of the tool `help`, which is shown with the others. If a
  message has no other call, the gateway answers it in a turn of its own, which the client does not see. Beside other
  calls it is dropped. A tool of the client that is called `help` keeps the name.
- A tool that was called stays whole: its description follows the results of its first call, in every later request. So
  the conversation grows by this at its end. These descriptions together take no more tokens than the list may; what
  would not fit is left to `help`.
"""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from functools import lru_cache

from toolspeak._frozen import frozen
from toolspeak.dialects import Dialect
from toolspeak.dialects.slim_tools import TOOL, count_text_tokens, describe_tool, make_help_tool, slim_tools
from toolspeak.events import ToolChoice
from toolspeak.messages import Message, Part, Result, Text, ToolCall
from toolspeak.spec import ToolSpec
from toolspeak.validation import nearest

MAX_HELP_TURNS = 3
"""How often a model gets help before it must answer a request or call a tool of the client."""

MAX_KEPT_LISTS = 16
"""Lists of tools whose cut form is kept, since an agent sends the same list in each turn."""

MAX_QUOTED_CHARS = 80
"""Characters of a name that are quoted in an error."""


@frozen
class ToolList:
    """The tools of one request, as the model is shown them.

    Attributes:
        shown: The tools, and the help tool as the last one if something was cut.
        dialect: The dialect in which they are shown.
        max_tokens: The most tokens that they may take; None for any number.
        tokens: The tokens that they take, estimated; 0 if nobody asked.
        help: The help tool; None if nothing was cut.
        given: The tools of the client, whole, by name.
        cut: The names of the tools that lost a part of their descriptions.
    """

    shown: tuple[ToolSpec, ...]
    dialect: Dialect
    max_tokens: int | None = None
    tokens: int = 0
    help: ToolSpec | None = None
    given: Mapping[str, ToolSpec]
    cut: frozenset[str] = frozenset()

    @property
    def excess(self) -> str:
        """What the client is told if the tools are larger than their budget; empty if they are not."""
        if self.max_tokens is None or self.tokens <= self.max_tokens:
            return ""
        return f"tools take {self.tokens} tokens without any descriptions, more than the budget of {self.max_tokens}"

    @property
    def help_name(self) -> str:
        """The name of the help tool; empty if there is none."""
        return self.help.name if self.help is not None else ""

    def add_help(self, tools: tuple[ToolSpec, ...], choice: ToolChoice) -> tuple[ToolSpec, ...]:
        """Return the tools that may be called, with the help tool unless the client names those to call."""
        return (*tools, self.help) if self.help is not None and tools and choice.mode != "named" else tools

    def add_descriptions(self, history: tuple[Message, ...]) -> tuple[Message, ...]:
        """Return a conversation with the whole description of each tool that was cut, after its first results."""
        if self.max_tokens is None or not self.cut:
            return history
        tokens_left = self.max_tokens
        seen: set[str] = set()
        called: list[str] = []
        extended: list[Message] = []
        for message in history:
            called += [call.name for call in message.calls]
            if message.role == "tool":
                names = [name for name in dict.fromkeys(called) if name in self.cut and name not in seen]
                called = []
                seen.update(names)
                notes: list[Part] = []
                for name in names:
                    note = f"\n\n{_mark(self._describe(name))}"
                    if (tokens := count_text_tokens(note)) <= tokens_left:
                        tokens_left -= tokens
                        notes.append(Text(text=note))
                message = replace(message, parts=(*message.parts, *notes)) if notes else message
            extended.append(message)
        return tuple(extended)

    def answer_help(self, message: Message, calls: Sequence[ToolCall]) -> tuple[Message, Message]:
        """Return a message that asks for help and the answers to it, for the conversation with the model."""
        ids = {call.id for call in calls}
        results: list[Part] = []
        for call in message.calls:
            text = self._explain(call.arguments.get(TOOL)) if call.id in ids else None
            content = (Text(text=text or "not run: help was asked for in the same message"),)
            results.append(Result(call_id=call.id, content=content, is_error=text is None))
        return message, Message(role="tool", parts=tuple(results))

    def _explain(self, name: object) -> str:
        if isinstance(name, str) and name in self.given:
            return self._describe(name)
        similar = nearest(name, tuple(self.given)) if isinstance(name, str) else None
        cure = f"did you mean {similar}?" if similar else f"the tools are: {', '.join(self.given)}"
        return f"there is no tool {str(name)[:MAX_QUOTED_CHARS]!r}; {cure}"

    def _describe(self, name: str) -> str:
        return describe_tool(self.given[name], self.dialect)


def list_tools(tools: tuple[ToolSpec, ...], dialect: Dialect, max_tokens: int | None = None) -> ToolList:
    """Return the tools of a request as a model is shown them.

    Args:
        tools: The tools of the client.
        dialect: The dialect in which the model is shown them.
        max_tokens: The most tokens that they may take; None for any number.
    """
    if max_tokens is None or not tools:
        return ToolList(shown=tools, dialect=dialect, given={tool.name: tool for tool in tools})
    return _cut_list(_ListKey(tools, dialect), max_tokens)


class _ListKey:
    """Tools and a dialect as a key: schemas have no hash of their own."""

    def __init__(self, tools: tuple[ToolSpec, ...], dialect: Dialect) -> None:
        self.tools = tools
        self.dialect = dialect

    def __hash__(self) -> int:
        return hash(tuple((tool.name, tool.description) for tool in self.tools))

    def __eq__(self, other: object) -> bool:
        return isinstance(other, _ListKey) and self.dialect is other.dialect and self.tools == other.tools


@lru_cache(maxsize=MAX_KEPT_LISTS)
def _cut_list(key: _ListKey, max_tokens: int) -> ToolList:
    tools, dialect = key.tools, key.dialect
    help_tool = make_help_tool(tools)
    slim = slim_tools(tools, dialect, max_tokens, beside=[help_tool])
    return ToolList(
        shown=(*slim.tools, help_tool) if slim.cut else slim.tools,
        dialect=dialect,
        max_tokens=max_tokens,
        tokens=slim.tokens,
        help=help_tool if slim.cut else None,
        given={tool.name: tool for tool in tools},
        cut=slim.cut,
    )


def _mark(description: str) -> str:
    return f"<tool-description>\n{description}\n</tool-description>"
