"""OpenAI's SDK for Python: the chat API and the responses API, with its parsers of tools and answers."""

from typing import Any

import openai
from pydantic import BaseModel
from weather import FUNCTIONS, SCHEMA, TOOLS, Report, Told, api, play, run_tool, streamed, url

client = openai.OpenAI(base_url=f"{url}/v1", api_key="none", max_retries=0)


class get_weather(BaseModel):
    """The current weather in a city."""

    city: str


class calculator(BaseModel):
    """The value of an arithmetic expression."""

    expression: str


MODELS = (get_weather, calculator)


def run_chat(told: Told, question: str, **options: Any) -> None:
    messages: list[Any] = [{"role": "user", "content": question}]
    while True:
        request: dict[str, Any] = {"model": "small", "messages": messages, **options}
        if streamed:
            with client.chat.completions.stream(**request) as stream:
                told.pieces += sum(event.type == "content.delta" for event in stream)
                message = stream.get_final_completion().choices[0].message
        else:
            message = client.chat.completions.parse(**request).choices[0].message
        told.add(message.content)
        told.object = message.parsed
        if not message.tool_calls:
            return
        messages.append(message.to_dict() if streamed else message)
        for call in message.tool_calls:
            assert type(call.function.parsed_arguments).__name__ in FUNCTIONS
            result = run_tool(call.function.name, call.function.arguments)
            messages.append({"role": "tool", "tool_call_id": call.id, "content": result})


def run_responses(told: Told, question: str, **options: Any) -> None:
    items: list[Any] = [{"role": "user", "content": question}]
    while True:
        request: dict[str, Any] = {"model": "small", "input": items, "store": False, **options}
        if streamed:
            with client.responses.stream(**request) as stream:
                told.pieces += sum(event.type == "response.output_text.delta" for event in stream)
                response = stream.get_final_response()
        else:
            response = client.responses.parse(**request)
        told.add(response.output_text)
        told.object = response.output_parsed
        calls = [item for item in response.output if item.type == "function_call"]
        if not calls:
            return
        items += [item.to_dict() for item in response.output]
        for item in items:
            item.pop("parsed_arguments", None)
        for call in calls:
            result = run_tool(call.name, call.arguments)
            items.append({"type": "function_call_output", "call_id": call.call_id, "output": result})


chat_tools = {"tools": [openai.pydantic_function_tool(model) for model in MODELS]}
response_tools = {"tools": [{"type": "function", **tool["function"]} for tool in chat_tools["tools"]]}

scenarios = {
    "chat": {
        "tools": lambda told: run_chat(told, TOOLS, **chat_tools),
        "schema": lambda told: run_chat(told, SCHEMA, response_format=Report),
        "both": lambda told: run_chat(told, SCHEMA, response_format=Report, **chat_tools),
    },
    "responses": {
        "tools": lambda told: run_responses(told, TOOLS, **response_tools),
        "schema": lambda told: run_responses(told, SCHEMA, text_format=Report),
        "both": lambda told: run_responses(told, SCHEMA, text_format=Report, **response_tools),
    },
}
play(scenarios[api])
