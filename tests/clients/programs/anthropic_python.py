"""Anthropic's SDK for Python, with its tool runner."""

from typing import Any

import anthropic
from anthropic import beta_tool
from weather import SCHEMA, TOOLS, Report, Told, calculator, get_weather, play, streamed, url

client = anthropic.Anthropic(base_url=url, api_key="none", max_retries=0)


def read_text(message: Any) -> str:
    return "".join(block.text for block in message.content if block.type == "text")


def run(told: Told, question: str, **options: Any) -> None:
    runner = client.beta.messages.tool_runner(
        model="small",
        max_tokens=500,
        messages=[{"role": "user", "content": question}],
        tools=[beta_tool(get_weather), beta_tool(calculator)],
        stream=streamed,
        **options,
    )
    for turn in runner:
        message: Any = turn
        if streamed:
            told.pieces += sum(event.type == "text" for event in message)
            message = message.get_final_message()
        told.add(read_text(message))
        told.object = message.parsed_output if options else None


def parse(told: Told) -> None:
    request: dict[str, Any] = {"model": "small", "max_tokens": 500, "output_format": Report}
    messages: Any = [{"role": "user", "content": SCHEMA}]
    if streamed:
        with client.beta.messages.stream(messages=messages, **request) as stream:
            told.pieces += sum(event.type == "text" for event in stream)
            told.object = stream.get_final_message().parsed_output
    else:
        told.object = client.beta.messages.parse(messages=messages, **request).parsed_output


play(
    {
        "tools": lambda told: run(told, TOOLS),
        "schema": parse,
        "both": lambda told: run(told, SCHEMA, output_format=Report),
    }
)
