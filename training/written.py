"""Answers as the dialects write them in the history of a conversation."""

from collections.abc import Sequence

from toolspeak.dialects import dialect
from toolspeak.lab.files import render_qwen
from toolspeak.values.messages import Message
from toolspeak.values.spec import ToolSpec

ANSWER_END = "<|im_end|>\n<|im_start|>assistant\n"
"""What the template writes after an answer in the history."""


def write_answer(tools: Sequence[ToolSpec], before: Sequence[Message], answer: Message, dialect_name: str) -> str:
    """Return an answer as the dialect writes it, without the token that ends it."""
    render = dialect(dialect_name).render
    prompt = render_qwen(render(tools, before))
    prompt_after = render_qwen(render(tools, (*before, answer)))
    return prompt_after.removeprefix(prompt).removesuffix(ANSWER_END)
