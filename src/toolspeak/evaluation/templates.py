"""Chat templates: what a server makes of messages before a model reads them.

Needed where answers are made elsewhere, from prompts written out in full. In `native` a conversation that goes on holds
calls and their results; in the other dialects all is text.
"""

import json
from collections.abc import Callable, Iterator, Mapping
from itertools import groupby
from typing import Any

from toolspeak.dialects import Shown
from toolspeak.errors import UsageError
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
"""The doubled braces are the template's own."""


def as_sent(shown: Shown) -> list[dict[str, Any]]:
    """The messages as a server gets them."""
    return request_body(model="", messages=shown.messages)["messages"]


def qwen(shown: Shown) -> str:
    """As Qwen2.5 and Qwen2.5-Coder are asked, with the tools as their template tells them."""
    messages = as_sent(shown)
    system = messages.pop(0)["content"] if messages and messages[0]["role"] == "system" else DEFAULT_SYSTEM
    if shown.tools:
        tools = "".join(f"\n{json.dumps(tool, ensure_ascii=False)}" for tool in tool_definitions(shown.tools))
        system = f"{system}{TOOLS_BEFORE}{tools}{TOOLS_AFTER}"
    return _laid_out([("system", system), *_as_qwen_has_them(messages)])


def _as_qwen_has_them(messages: list[dict[str, Any]]) -> Iterator[tuple[str, str]]:
    """Calls as the model wrote them; results that follow each other are one message of the user."""
    for role, each in groupby(messages, key=lambda message: message["role"]):
        if role == "tool":
            results = [f"<tool_response>\n{message['content']}\n</tool_response>" for message in each]
            yield "user", "\n".join(results)
            continue
        for message in each:
            calls = [_qwens_call(call["function"]) for call in message.get("tool_calls", ())]
            yield role, "\n".join(filter(None, (message["content"], *calls)))


def _qwens_call(function: Mapping[str, str]) -> str:
    arguments = json.dumps(json.loads(function["arguments"]), ensure_ascii=False)
    return f'<tool_call>\n{{"name": "{function["name"]}", "arguments": {arguments}}}\n</tool_call>'


def chatml(shown: Shown) -> str:
    """As many small models are asked. It has no form for tools, so `native` cannot be asked in it."""
    if shown.tools:
        raise UsageError("the template chatml has no form for tools; leave out the dialect native")
    return _laid_out([(message.role, message.text) for message in shown.messages])


def _laid_out(messages: list[tuple[str, str]]) -> str:
    said = "".join(f"<|im_start|>{role}\n{text}<|im_end|>\n" for role, text in messages)
    return f"{said}<|im_start|>assistant\n"


TEMPLATES: dict[str, Callable[[Shown], str]] = {"qwen2.5": qwen, "chatml": chatml}


def template_named(name: str) -> Callable[[Shown], str]:
    """The template of that name."""
    if name in TEMPLATES:
        return TEMPLATES[name]
    raise UsageError(f"there is no template {name!r}; the templates are: {', '.join(TEMPLATES)}")
