"""Chat templates: they turn messages into the prompt text that a model reads.

Usually a server applies the template. It is needed here where answers are made elsewhere, from prompts written to a
file. In `native` the conversation of a follow-up has calls and their results; in the other dialects all is text.
"""

import json
from collections.abc import Callable, Iterator, Mapping
from itertools import groupby
from typing import Any

from toolspeak.dialects import Shown
from toolspeak.errors import UsageError
from toolspeak.wire.chat_request import ChatRequest
from toolspeak.wire.openai_chat import request_body, tool_definitions

DEFAULT_SYSTEM = "You are Qwen, created by Alibaba Cloud. You are a helpful assistant."

TOOLS_BEFORE = (
    "\n\n# Tools\n\nYou may call one or more functions to assist with the user query.\n\n"
    "You are provided with function signatures within <tools></tools> XML tags:\n<tools>"
)
TOOLS_AFTER = (
    "\n</tools>\n\nFor each function call, return a json object with function name and arguments within "
    '<tool_call></tool_call> XML tags:\n<tool_call>\n{{"name": <function-name>, "arguments": <args-json-object>}}\n'
    "</tool_call>"
)
"""The doubled braces are those of the original template."""


def request_messages(shown: Shown) -> list[dict[str, Any]]:
    """Return the messages as they are sent to a server."""
    return request_body(ChatRequest(model="", messages=shown.messages))["messages"]


def render_qwen(shown: Shown) -> str:
    """Render the template of Qwen2.5 and Qwen2.5-Coder, with the tools in its own form."""
    messages = request_messages(shown)
    system = messages.pop(0)["content"] if messages and messages[0]["role"] == "system" else DEFAULT_SYSTEM
    if shown.tools:
        tools = "".join(f"\n{json.dumps(tool, ensure_ascii=False)}" for tool in tool_definitions(shown.tools))
        system = f"{system}{TOOLS_BEFORE}{tools}{TOOLS_AFTER}"
    return _join_messages([("system", system), *_qwen_messages(messages)])


def _qwen_messages(messages: list[dict[str, Any]]) -> Iterator[tuple[str, str]]:
    """Yield role and text of each message; calls as the model writes them, consecutive results as one user message."""
    for role, each in groupby(messages, key=lambda message: message["role"]):
        if role == "tool":
            results = [f"<tool_response>\n{message['content']}\n</tool_response>" for message in each]
            yield "user", "\n".join(results)
            continue
        for message in each:
            calls = [_format_qwen_call(call["function"]) for call in message.get("tool_calls", ())]
            yield role, "\n".join(filter(None, (message["content"], *calls)))


def _format_qwen_call(function: Mapping[str, str]) -> str:
    arguments = json.dumps(json.loads(function["arguments"]), ensure_ascii=False)
    return f'<tool_call>\n{{"name": "{function["name"]}", "arguments": {arguments}}}\n</tool_call>'


def render_chatml(shown: Shown) -> str:
    """Render ChatML, the template of many small models. It has no form for tools, so `native` cannot use it."""
    if shown.tools:
        raise UsageError("the template chatml has no form for tools; leave out the dialect native")
    return _join_messages([(message.role, message.text) for message in shown.messages])


def _join_messages(messages: list[tuple[str, str]]) -> str:
    joined = "".join(f"<|im_start|>{role}\n{text}<|im_end|>\n" for role, text in messages)
    return f"{joined}<|im_start|>assistant\n"


TEMPLATES: dict[str, Callable[[Shown], str]] = {"qwen2.5": render_qwen, "chatml": render_chatml}


def find_template(name: str) -> Callable[[Shown], str]:
    """Return the template of a name."""
    if name in TEMPLATES:
        return TEMPLATES[name]
    raise UsageError(f"there is no template {name!r}; the templates are: {', '.join(TEMPLATES)}")
