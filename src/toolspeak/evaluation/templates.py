"""Chat templates: what a server makes of messages before a model reads them.

Needed where answers are made elsewhere, from prompts written out in full. Only text is laid out: the questions of a
suite hold no calls.
"""

import json
from collections.abc import Callable

from toolspeak.dialects import Shown
from toolspeak.errors import UsageError
from toolspeak.wire.openai_chat import tool_definitions

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


def qwen(shown: Shown) -> str:
    """As Qwen2.5 and Qwen2.5-Coder are asked, with the tools as their template tells them."""
    messages = [(message.role, message.text) for message in shown.messages]
    system = messages.pop(0)[1] if messages and messages[0][0] == "system" else DEFAULT_SYSTEM
    if shown.tools:
        tools = "".join(f"\n{json.dumps(tool, ensure_ascii=False)}" for tool in tool_definitions(shown.tools))
        system = f"{system}{TOOLS_BEFORE}{tools}{TOOLS_AFTER}"
    return _laid_out([("system", system), *messages])


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
