"""The loop that people write by hand: httpx, the json module, and no more than it takes."""

import asyncio
import inspect
import json

import httpx

TYPES = {int: "integer", str: "string"}


def agent(url, model, tool):
    limits = httpx.Limits(max_connections=1000, max_keepalive_connections=1000)
    client = httpx.AsyncClient(base_url=url, headers={"authorization": "Bearer key"}, timeout=300, limits=limits)
    tools = [describe(tool)]

    async def run(stream):
        messages = [{"role": "user", "content": "Go."}]
        while True:
            body = {"model": model, "messages": messages, "tools": tools}
            message = await (ask_streamed(client, body) if stream else ask_whole(client, body))
            messages.append(message)
            if not message.get("tool_calls"):
                return message["content"]
            results = [tool(**json.loads(call["function"]["arguments"])) for call in message["tool_calls"]]
            if inspect.iscoroutinefunction(tool):
                results = await asyncio.gather(*results)
            for call, result in zip(message["tool_calls"], results, strict=True):
                messages.append({"role": "tool", "tool_call_id": call["id"], "content": result})

    return run


def describe(tool):
    parameters = {name: {"type": TYPES[kind]} for name, kind in tool.__annotations__.items() if name != "return"}
    schema = {"type": "object", "properties": parameters, "required": list(parameters), "additionalProperties": False}
    description = inspect.getdoc(tool).partition("\n")[0]
    return {"type": "function", "function": {"name": tool.__name__, "description": description, "parameters": schema}}


async def ask_whole(client, body):
    response = await client.post("/chat/completions", json=body)
    return response.json()["choices"][0]["message"]


async def ask_streamed(client, body):
    text, calls = [], {}
    async with client.stream("POST", "/chat/completions", json={**body, "stream": True}) as response:
        async for line in response.aiter_lines():
            if not line.startswith("data: ") or line == "data: [DONE]":
                continue
            for choice in json.loads(line[6:])["choices"]:
                delta = choice["delta"]
                if delta.get("content"):
                    text.append(delta["content"])
                for piece in delta.get("tool_calls") or ():
                    call = calls.setdefault(piece["index"], {"id": "", "name": "", "arguments": []})
                    call["id"] = piece.get("id") or call["id"]
                    call["name"] = piece["function"].get("name") or call["name"]
                    call["arguments"].append(piece["function"]["arguments"])
    message = {"role": "assistant", "content": "".join(text) or None}
    if calls:
        message["tool_calls"] = [
            {
                "id": call["id"],
                "type": "function",
                "function": {"name": call["name"], "arguments": "".join(call["arguments"])},
            }
            for call in calls.values()
        ]
    return message
