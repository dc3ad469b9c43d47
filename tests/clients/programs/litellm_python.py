"""litellm, to the chat API, to the messages API and to the responses API of the gateway."""

import os
from typing import Any

os.environ["LITELLM_LOCAL_MODEL_COST_MAP"] = "True"  # it loads its prices from the network otherwise

import litellm
from weather import FUNCTIONS, SCHEMA, TOOLS, Report, Told, api, play, run_tool, streamed, url

ADDRESSES = {
    "chat": {"model": "openai/small", "api_base": f"{url}/v1"},
    # By a name that it knows: for others it makes up the stream from a whole answer, and writes all arguments twice.
    "responses": {"model": "openai/responses/gpt-4.1", "api_base": f"{url}/v1"},
    "messages": {"model": "anthropic/claude-sonnet-4-5", "api_base": url},
}
ABOUT = {"get_weather": ("city", "The current weather in a city."), "calculator": ("expression", "A calculator.")}


def declare(name: str) -> dict[str, Any]:
    argument, description = ABOUT[name]
    schema = {"type": "object", "properties": {argument: {"type": "string"}}, "required": [argument]}
    return {"type": "function", "function": {"name": name, "description": description, "parameters": schema}}


def run(told: Told, question: str, **options: Any) -> None:
    messages: list[Any] = [{"role": "user", "content": question}]
    while True:
        request: dict[str, Any] = {
            "messages": messages,
            "api_key": "none",
            "num_retries": 0,
            **ADDRESSES[api],
            **options,
        }
        response: Any = litellm.completion(**request, stream=streamed)
        if streamed:
            chunks = list(response)
            told.pieces += sum(bool(chunk.choices[0].delta.content) for chunk in chunks)
            response = litellm.stream_chunk_builder(chunks, messages=messages)
        message = response.choices[0].message
        told.add(message.content)
        if not message.tool_calls:
            return
        messages.append(message.model_dump(exclude_none=True))
        for call in message.tool_calls:
            result = run_tool(call.function.name, call.function.arguments)
            messages.append({"role": "tool", "tool_call_id": call.id, "content": result})


def run_with_schema(told: Told, **options: Any) -> None:
    run(told, SCHEMA, response_format=Report, **options)
    told.object = Report.model_validate_json(told.text[-1])


tools = [declare(name) for name in FUNCTIONS]
play(
    {
        "tools": lambda told: run(told, TOOLS, tools=tools),
        "schema": run_with_schema,
        "both": lambda told: run_with_schema(told, tools=tools),
    }
)
