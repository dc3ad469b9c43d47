"""The servers of `gateway.py`: `python gateway_servers.py endpoint|relay PORT|gateway PORT` prints its port and serves.

The endpoint streams tokens, each in a write of its own. The relay is Starlette, aiohttp and nothing else. The relay and
the gateway stand before the endpoint, whose port they are given, and also report the CPU and the memory that they use.
"""

import asyncio
import json
import random
import resource
import sys
import time
from pathlib import Path

WORD = "word "
FIRST_WORD = "Word "
"""Prose begins with a capital. A word in small letters may be a variable: then the gateway waits for the next token."""

TOOL = {
    "type": "function",
    "function": {
        "name": "get_weather",
        "description": "The weather in a city.",
        "parameters": {"type": "object", "properties": {"city": {"type": "string"}}, "required": ["city"]},
    },
}


def build_request(tokens, pace, answer="prose"):
    """Build a request; the user's message tells the endpoint what to answer, and how fast.

    Args:
        tokens: how many tokens
        pace: seconds between two tokens
        answer: "prose", "prose and calls" or "calls"
    """
    order = json.dumps({"tokens": tokens, "pace": pace, "answer": answer})
    messages = [{"role": "user", "content": f"<<{order}>>"}]
    request = {"model": "m", "messages": messages, "stream": True, "tools": [TOOL]}
    return json.dumps(request).encode()


def build_tool(number):
    """Build a tool of the size that those of coding agents have."""
    fields = {
        "path": {"type": "string", "description": "The path of the file, relative to the folder of the project."},
        "limit": {"type": "integer", "description": "At most so many lines.", "default": 100},
        "mode": {"type": "string", "enum": ["read", "write", "append"], "description": "How to open it."},
        "tags": {"type": "array", "items": {"type": "string"}, "description": "Tags to filter by."},
        "options": {"type": "object", "properties": {"recursive": {"type": "boolean"}, "depth": {"type": "integer"}}},
    }
    about = f"Do step {number} of the work with a file, and return what it gave. Use it when the user asks for it."
    parameters = {"type": "object", "properties": fields, "required": ["path"], "additionalProperties": False}
    return {"name": f"step_{number}", "description": about, "parameters": parameters}


def build_large_request(tokens, pace, tools, api):
    """Build a request with many tools, by OpenAI's "chat" or "responses" API."""
    order = json.dumps({"tokens": tokens, "pace": pace, "answer": "prose"})
    messages = [{"role": "user", "content": f"<<{order}>>"}]
    definitions = [build_tool(number) for number in range(tools)]
    if api == "responses":
        listed = [{"type": "function", **each, "strict": False} for each in definitions]
        request = {"model": "m", "input": messages, "stream": True, "tools": listed}
    else:
        listed = [{"type": "function", "function": each} for each in definitions]
        request = {"model": "m", "messages": messages, "stream": True, "tools": listed}
    return json.dumps(request).encode()


def build_tokens(tokens, answer):
    """Return the tokens of an answer."""
    calls = {"prose": 0, "prose and calls": tokens // 5, "calls": tokens}[answer]
    words = [FIRST_WORD, *[WORD] * (tokens - calls - 1)] if calls < tokens else []
    if not calls:
        return words
    lines = "".join(f'get_weather({{city: "Town {number}"}})\n' for number in range(calls // 10))
    whole = f"\n```typescript\n{lines}```"
    size = len(whole) / calls
    return words + [whole[int(place * size) : int((place + 1) * size)] for place in range(calls)]


async def run_endpoint():
    """Serve streams of tokens as an endpoint of OpenAI's API does."""
    head = b"HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\nconnection: close\r\n\r\n"
    start = '{"id":"c","object":"chat.completion.chunk","created":1,"model":"m","choices":[{"index":0,"delta":'

    def event(delta, reason="null"):
        return f'data: {start}{json.dumps(delta)},"logprobs":null,"finish_reason":{reason}}}]}}\n\n'.encode()

    async def serve(reader, writer):
        try:
            asked = (await reader.readuntil(b"\r\n\r\n")).lower()
            if not asked.startswith(b"post /v1/chat/completions "):  # a gateway asks what its endpoint can do
                writer.write(b"HTTP/1.1 404 Not Found\r\ncontent-length: 0\r\nconnection: close\r\n\r\n")
                return
            size = int(asked.split(b"content-length:")[1].split(b"\r")[0])
            request = json.loads(await reader.readexactly(size))
            order = json.loads(request["messages"][-1]["content"].split("<<")[1].split(">>")[0])
            events = [event({"content": token}) for token in build_tokens(order["tokens"], order["answer"])]
            writer.write(head)
            loop, pace = asyncio.get_running_loop(), order["pace"]
            due = loop.time()
            if pace > 0.01:  # so that streams do not send at the same moments
                due += random.random() * pace
            for each in events:
                if pace:
                    due += pace
                    if (wait := due - loop.time()) > 0:
                        await asyncio.sleep(wait)
                writer.write(each)
                await writer.drain()
            writer.write(event({}, '"stop"') + b"data: [DONE]\n\n")
            await writer.drain()
        except (ConnectionError, asyncio.IncompleteReadError):
            pass
        finally:
            writer.close()

    server = await asyncio.start_server(serve, "127.0.0.1", 0, backlog=1000)
    print(server.sockets[0].getsockname()[1], flush=True)
    await server.serve_forever()


def serve_measured(application):
    """Serve an app, at `/cpu` the CPU seconds that its process has used, and at `/memory` the bytes that it holds."""
    from starlette.responses import PlainTextResponse
    from starlette.routing import Route

    from toolspeak.cli.http_server import listen
    from toolspeak.gateway.server import build_server, run_server

    async def cpu(request):
        return PlainTextResponse(str(time.process_time()))

    async def memory(request):
        pages = int(Path("/proc/self/statm").read_text().split()[1])
        return PlainTextResponse(str(pages * resource.getpagesize()))

    application.routes.extend([Route("/cpu", cpu), Route("/memory", memory)])
    with listen("127.0.0.1", 0) as listening:
        print(listening.getsockname()[1], flush=True)
        run_server(build_server(application, host="127.0.0.1", port=0), listening)


def run_relay(port):
    """Serve a relay that passes bytes on and reads nothing."""
    import aiohttp
    from starlette.applications import Starlette
    from starlette.responses import StreamingResponse
    from starlette.routing import Route

    sessions = []

    async def forward(request):
        if not sessions:
            sessions.append(aiohttp.ClientSession(connector=aiohttp.TCPConnector(limit=1000)))
        data = await request.body()
        url = f"http://127.0.0.1:{port}/v1/chat/completions"
        response = await sessions[0].post(url, data=data, headers={"content-type": "application/json"})

        async def chunks():
            async with response:
                async for chunk in response.content.iter_any():
                    yield chunk

        return StreamingResponse(chunks(), media_type="text/event-stream")

    serve_measured(Starlette(routes=[Route("/v1/chat/completions", forward, methods=["POST"])]))


def run_gateway(port):
    from toolspeak.dialects import TYPESCRIPT
    from toolspeak.gateway import ServedModel, app
    from toolspeak.models import connect

    endpoint = connect("m", at=f"http://127.0.0.1:{port}/v1", key="none")
    serve_measured(app([ServedModel(name="m", model=endpoint, dialect=TYPESCRIPT)]))


if __name__ == "__main__":
    match sys.argv[1:]:
        case ["endpoint"]:
            asyncio.run(run_endpoint())
        case ["relay", port]:
            run_relay(port)
        case ["gateway", port]:
            run_gateway(port)
