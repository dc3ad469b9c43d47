"""What the gateway costs beside a bare byte relay: `python bench/gateway.py` prints a table, and the bars.

Three processes: an endpoint that streams tokens, each in a write of its own; and before it the gateway, and a relay
that is Starlette, aiohttp and nothing else, both served by the same uvicorn. This process asks both and counts what
comes. CPU is that of the server under measure alone, which tells it itself. The two are measured right after each
other, in turn, and the median of the ratios or differences counts.

Answers are prose; prose that ends in calls (a fifth of the tokens); and two hundred calls and nothing else, where most
of the cost is the reading of code. The bars hold for all of them. The load is given at two paces, for what is added to
the first token depends on how busy the gateway is.
"""

import asyncio
import json
import random
import statistics
import subprocess
import sys
import time
from contextlib import contextmanager

from environments import versions_here
from figures import Figure, asked, told, versus

TOKENS = 2_000
STREAMS = 200
PACED = 2.0
A_TOKEN = 15e-6
ANSWERS = ("prose", "prose and calls", "calls")

WORD = "word "
TOOL = {
    "type": "function",
    "function": {
        "name": "get_weather",
        "description": "The weather in a city.",
        "parameters": {"type": "object", "properties": {"city": {"type": "string"}}, "required": ["city"]},
    },
}


def body(tokens, pace, spoken="prose"):
    """A request; the endpoint reads from the user's message what to say, and how fast."""
    wish = json.dumps({"tokens": tokens, "pace": pace, "spoken": spoken})
    messages = [{"role": "user", "content": f"<<{wish}>>"}]
    asks = {"model": "m", "messages": messages, "stream": True, "tools": [TOOL]}
    return json.dumps(asks).encode()


def text(tokens, spoken):
    """The tokens of an answer."""
    calls = {"prose": 0, "prose and calls": tokens // 5, "calls": tokens}[spoken]
    words = [WORD] * (tokens - calls)
    if not calls:
        return words
    lines = "".join(f'get_weather({{city: "Town {number}"}})\n' for number in range(calls // 10))
    whole = f"\n```typescript\n{lines}```"
    size = len(whole) / calls
    return words + [whole[int(place * size) : int((place + 1) * size)] for place in range(calls)]


# The processes


async def endpoint():
    """Streams tokens as an endpoint of OpenAI's API does."""
    head = b"HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\nconnection: close\r\n\r\n"
    start = '{"id":"c","object":"chat.completion.chunk","created":1,"model":"m","choices":[{"index":0,"delta":'

    def event(delta, reason="null"):
        return f'data: {start}{json.dumps(delta)},"logprobs":null,"finish_reason":{reason}}}]}}\n\n'.encode()

    async def serve(reader, writer):
        try:
            size = int((await reader.readuntil(b"\r\n\r\n")).lower().split(b"content-length:")[1].split(b"\r")[0])
            asked = (await reader.readexactly(size)).decode()
            wish = json.loads(json.loads(asked)["messages"][-1]["content"].split("<<")[1].split(">>")[0])
            events = [event({"content": token}) for token in text(wish["tokens"], wish["spoken"])]
            writer.write(head)
            loop, pace = asyncio.get_running_loop(), wish["pace"]
            due = loop.time() + (random.random() * pace if pace > 0.01 else 0)  # streams are not in step
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


def measured(application):
    """Serve an app that also tells the CPU that it has taken."""
    import socket

    from starlette.responses import PlainTextResponse
    from starlette.routing import Route

    from toolspeak.gateway.server import server

    async def cpu(request):
        return PlainTextResponse(str(time.process_time()))

    application.routes.append(Route("/cpu", cpu))
    with socket.create_server(("127.0.0.1", 0), backlog=1000) as listening:
        print(listening.getsockname()[1], flush=True)
        server(application, host="127.0.0.1", port=0).run(sockets=[listening])


def relay(port):
    """Bytes in, bytes out."""
    import aiohttp
    from starlette.applications import Starlette
    from starlette.responses import StreamingResponse
    from starlette.routing import Route

    sessions = []

    async def relayed(request):
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

    measured(Starlette(routes=[Route("/v1/chat/completions", relayed, methods=["POST"])]))


def gateway(port):
    from toolspeak.dialects import TYPESCRIPT
    from toolspeak.gateway import Served, app
    from toolspeak.models import connect

    there = connect("m", at=f"http://127.0.0.1:{port}/v1", key="none")
    measured(app([Served(name="m", model=there, dialect=TYPESCRIPT)]))


# The measurements


@contextmanager
def process(*arguments):
    """A process of this file, and the port on which it listens."""
    command = [sys.executable, __file__, *map(str, arguments)]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as running:
        try:
            yield int(running.stdout.readline())
        finally:
            running.kill()


async def streamed(port, data):
    """Ask for one stream: seconds to its first token, and all that came."""
    reader, writer = await asyncio.open_connection("127.0.0.1", port, limit=1 << 22)
    head = f"POST /v1/chat/completions HTTP/1.1\r\nhost: 127.0.0.1\r\ncontent-length: {len(data)}\r\n"
    began = time.perf_counter()
    writer.write(f"{head}connection: close\r\n\r\n".encode() + data)
    received, first = [], None
    so_far = b""
    while chunk := await reader.read(1 << 20):
        received.append(chunk)
        if first is None:
            so_far += chunk
            if b"word" in so_far or b"get_weather" in so_far:
                first = time.perf_counter() - began
    writer.close()
    return first, b"".join(received)


async def cpu_of(port):
    reader, writer = await asyncio.open_connection("127.0.0.1", port)
    writer.write(b"GET /cpu HTTP/1.1\r\nhost: 127.0.0.1\r\nconnection: close\r\n\r\n")
    answer = await reader.read()
    writer.close()
    return float(answer.rpartition(b"\r\n\r\n")[2])


def words(received):
    """The text of a stream, however it was cut into events."""
    events = [line[6:] for line in received.split(b"\n") if line.startswith(b"data: {")]
    deltas = [choice["delta"] for event in events for choice in json.loads(event)["choices"]]
    return "".join(delta.get("content") or "" for delta in deltas)


async def spent(port, data, streams=1):
    """CPU seconds for some streams at a time."""
    before = await cpu_of(port)
    answers = await asyncio.gather(*(streamed(port, data) for _ in range(streams)))
    assert all(b"[DONE]" in received for _, received in answers)
    return await cpu_of(port) - before


async def compared(ports, data, streams=1):
    """CPU seconds of the relay and of the gateway, right after each other."""
    order = random.sample(list(ports), 2)
    return {name: await spent(ports[name], data, streams) for name in order}


async def loaded(port, pace):
    """Many streams at once: how many were not whole, and seconds to their first tokens."""
    data = body(30, pace)
    answers = await asyncio.gather(*(_after(random.random(), streamed(port, data)) for _ in range(STREAMS)))
    whole = sum(words(unchunked(received)) == WORD * 30 for _, received in answers)
    firsts = sorted(first for first, _ in answers)
    return STREAMS - whole, firsts[len(firsts) // 2], firsts[int(len(firsts) * 0.99) - 1]


async def _after(pause, work):
    await asyncio.sleep(pause)
    return await work


def unchunked(received):
    """A body as it was before it was sent in chunks."""
    rest = received.partition(b"\r\n\r\n")[2]
    parts = []
    while rest:
        size, _, rest = rest.partition(b"\r\n")
        parts.append(rest[: int(size, 16)])
        rest = rest[int(size, 16) + 2 :]
    return b"".join(parts)


async def measure(ports, rounds):
    """All rows."""
    figures = []
    await compared(ports, body(200, 0))  # the first of each does what is done once
    for spoken in ANSWERS:
        print(f"paced, {spoken} …", file=sys.stderr)
        taken = [await compared(ports, body(TOKENS, 0.001, spoken)) for _ in range(rounds)]
        pairs = [(pair["gateway"] / TOKENS, pair["relay"] / TOKENS) for pair in taken]
        figures.append(versus(f"a token, one each millisecond, {spoken}", pairs, "relay", PACED))
    for spoken in ANSWERS:
        print(f"back to back, {spoken} …", file=sys.stderr)
        taken = [await compared(ports, body(TOKENS, 0, spoken), streams=5) for _ in range(rounds)]
        added = statistics.median(pair["gateway"] - pair["relay"] for pair in taken) / TOKENS / 5
        title = f"a token, back to back, more than the relay, {spoken}"
        figures.append(Figure(title=title, ours=added, bar=A_TOKEN, times=rounds))
    for pace in (0.1, 0.05):
        figures += await measure_load(ports, pace, max(rounds // 2, 1))
    return figures


async def measure_load(ports, pace, rounds):
    """The rows of many streams at once."""
    load = f"{STREAMS} streams, a token each {pace * 1e3:g} ms"
    print(f"{load} …", file=sys.stderr)
    sides = [{name: await loaded(ports[name], pace) for name in random.sample(list(ports), 2)} for _ in range(rounds)]
    lost = max(each["gateway"][0] for each in sides)
    figures = [Figure(title=f"{load}: not whole", ours=lost, unit=f"of {STREAMS}", bar=0, times=rounds)]
    for place, name in ((1, "median"), (2, "p99")):
        ours, bare = (statistics.median(each[side][place] for each in sides) for side in ("gateway", "relay"))
        # A word at the beginning of a line may begin a call, so the gateway waits for the token that follows it.
        title = f"{load}: first token, {name}"
        figures.append(Figure(title=title, ours=ours, beside="relay", theirs=bare, times=rounds))
    return figures


def main() -> int:
    options = asked("Measure the gateway beside a bare relay.", full=7, short=3)
    with process("endpoint") as behind, process("relay", behind) as bare, process("gateway", behind) as ours:
        figures = asyncio.run(measure({"relay": bare, "gateway": ours}, options.reps))
    return told(figures, versions_here("toolspeak", "starlette", "uvicorn", "aiohttp"), options.json)


if __name__ == "__main__":
    match sys.argv[1:]:
        case ["endpoint"]:
            asyncio.run(endpoint())
        case ["relay", port]:
            relay(port)
        case ["gateway", port]:
            gateway(port)
        case _:
            sys.exit(main())
