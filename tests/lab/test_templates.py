"""Prompts as a server would make them. What Qwen's own template gives, letter by letter."""

import pytest

from toolspeak.dialects import Shown
from toolspeak.lab.files import find_template, render_chatml, render_qwen
from toolspeak.values.errors import UsageError
from toolspeak.values.messages import Call, Message, Result, Text, ToolCall, assistant, system, user

from .scripted_models import tool

QWEN = "You are Qwen, created by Alibaba Cloud. You are a helpful assistant."


def test_messages():
    shown = Shown(messages=(system("Be brief."), user("Hello."), assistant("Hi."), user("Bye.")))
    said = (
        "<|im_start|>system\nBe brief.<|im_end|>\n<|im_start|>user\nHello.<|im_end|>\n"
        "<|im_start|>assistant\nHi.<|im_end|>\n<|im_start|>user\nBye.<|im_end|>\n<|im_start|>assistant\n"
    )
    assert render_qwen(shown) == render_chatml(shown) == said


def test_qwen_is_told_who_it_is_if_nothing_else_is_said():
    shown = Shown(messages=(user("Hello."),))
    assert (
        render_qwen(shown)
        == f"<|im_start|>system\n{QWEN}<|im_end|>\n<|im_start|>user\nHello.<|im_end|>\n<|im_start|>assistant\n"
    )
    assert render_chatml(shown) == "<|im_start|>user\nHello.<|im_end|>\n<|im_start|>assistant\n"


@pytest.mark.parametrize(("first", "told"), [((), QWEN), ((system("Be brief."),), "Be brief.")])
def test_qwens_own_tools(first: tuple, told: str):
    shown = Shown(messages=(*first, user("Grüße!")), tools=(tool("hail", name={"type": "string"}),))
    assert render_qwen(shown) == (
        f"<|im_start|>system\n{told}\n\n# Tools\n\nYou may call one or more functions to assist with the user query.\n\n"
        "You are provided with function signatures within <tools></tools> XML tags:\n<tools>\n"
        '{"type": "function", "function": {"name": "hail", "description": "Do hail.", "parameters": {"type": "object", '
        '"properties": {"name": {"type": "string"}}, "required": ["name"], "additionalProperties": false}}}\n</tools>\n\n'
        "For each function call, return a json object with function name and arguments within <tool_call></tool_call> "
        'XML tags:\n<tool_call>\n{{"name": <function-name>, "arguments": <args-json-object>}}\n</tool_call><|im_end|>\n'
        "<|im_start|>user\nGrüße!<|im_end|>\n<|im_start|>assistant\n"
    )


def test_qwens_own_calls_and_results():
    calls = [Call(call=ToolCall(id=name, name="hail", arguments={"name": name})) for name in ("Åsa", "Bo")]
    results = [Result(call_id=name, content=(Text(text=f"{name} is hailed"),)) for name in ("Åsa", "Bo")]
    said = (
        user("Grüße!"),
        Message(role="assistant", parts=(Text(text="So:"), *calls)),
        Message(role="tool", parts=(*results, Text(text="Enough."))),
        Message(role="assistant", parts=(calls[1],)),
    )
    assert render_qwen(Shown(messages=said)) == (
        f"<|im_start|>system\n{QWEN}<|im_end|>\n<|im_start|>user\nGrüße!<|im_end|>\n"
        '<|im_start|>assistant\nSo:\n<tool_call>\n{"name": "hail", "arguments": {"name": "Åsa"}}\n</tool_call>\n'
        '<tool_call>\n{"name": "hail", "arguments": {"name": "Bo"}}\n</tool_call><|im_end|>\n'
        "<|im_start|>user\n<tool_response>\nÅsa is hailed\n</tool_response>\n"
        "<tool_response>\nBo is hailed\n</tool_response><|im_end|>\n<|im_start|>user\nEnough.<|im_end|>\n"
        '<|im_start|>assistant\n<tool_call>\n{"name": "hail", "arguments": {"name": "Bo"}}\n</tool_call><|im_end|>\n'
        "<|im_start|>assistant\n"
    )


def test_what_is_not_there_is_told():
    with pytest.raises(UsageError, match="chatml has no form for tools"):
        render_chatml(Shown(messages=(user("Hello."),), tools=(tool("f"),)))
    with pytest.raises(UsageError, match=r"there is no template 'llama'; the templates are: qwen2.5, chatml"):
        find_template("llama")
