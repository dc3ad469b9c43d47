"""What the gateway costs beside a bare byte relay: `python bench/gateway.py` prints a table, and the bars.

Three other processes (`harness/gateway_servers.py`): an endpoint that streams tokens, each in a write of its own, and
before it the gateway and a relay that is Starlette, aiohttp and nothing else, both served by the same uvicorn. This
process sends requests to both and counts what comes back. CPU time is that of the gateway or relay alone, reported by
itself. The two are measured right after each other, in random order, and the median of the ratios or differences
counts.

Answers are prose; prose that ends in calls (a fifth of the tokens); and two hundred calls and nothing else, where most
of the cost is the reading of code. The bars hold for all three. Many streams at once are measured at two paces, since
the time added to the first token depends on how busy the gateway is.
"""

import asyncio
import json
import random
import statistics
import subprocess
import sys
import time
from contextlib import contextmanager
from functools import partial
from pathlib import Path

from harness.environments import versions_here
from harness.figures import Figure, compare, measure_in_turn
from harness.gateway_servers import build_large_request, build_request, build_tokens
from harness.report import parse_options, report

TOKENS = 2_000
STREAMS = 200
MAX_PACED_RATIO = 2.0
MAX_ADDED_SECONDS = 12e-6
MAX_MEMORY_RATIO = 2.0
MAX_ADDED_P99 = {0.1: 0.06, 0.05: None}
"""Seconds that the slowest first tokens may take longer than those of the relay, by the pace of the tokens."""

BURST = 100
MANY_TOOLS = 20
BURST_REQUESTS = {
    "chat": ("/v1/chat/completions", build_request(30, 0.05)),
    f"chat, {MANY_TOOLS} tools": ("/v1/chat/completions", build_large_request(30, 0.05, MANY_TOOLS, "chat")),
    f"responses, {MANY_TOOLS} tools": ("/v1/responses", build_large_request(30, 0.05, MANY_TOOLS, "responses")),
}
"""Requests that many clients send at the same moment. They are queued, so that all but the first wait for others."""

HELD_PACE_SECONDS = 0.5
"""The time between two tokens of a stream that is held open to see what it takes of memory."""

ANSWERS = ("prose", "prose and calls", "calls")
SERVERS = Path(__file__).resolve().parent / "harness" / "gateway_servers.py"


@contextmanager
def start_server(*arguments):
    """Run a server for the length of a `with` block, which is given its port."""
    command = [sys.executable, SERVERS, *map(str, arguments)]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as running:
        try:
            yield int(running.stdout.readline())
        finally:
            running.kill()


async def read_stream(port, data, path="/v1/chat/completions"):
    """Ask for one stream; return the seconds to its first token, and all bytes received."""
    reader, writer = await asyncio.open_connection("127.0.0.1", port, limit=1 << 22)
    head = f"POST {path} HTTP/1.1\r\nhost: 127.0.0.1\r\ncontent-length: {len(data)}\r\n"
    began = time.perf_counter()
    writer.write(f"{head}connection: close\r\n\r\n".encode() + data)
    received, first = [], None
    so_far = b""
    while chunk := await reader.read(1 << 20):
        received.append(chunk)
        if first is None:
            so_far += chunk
            if b"Word" in so_far or b"get_weather" in so_far:
                first = time.perf_counter() - began
    writer.close()
    return first, b"".join(received)


async def read_cpu(port):
    return await read_number(port, "/cpu")


async def read_number(port, path):
    reader, writer = await asyncio.open_connection("127.0.0.1", port)
    writer.write(f"GET {path} HTTP/1.1\r\nhost: 127.0.0.1\r\nconnection: close\r\n\r\n".encode())
    answer = await reader.read()
    writer.close()
    return float(answer.rpartition(b"\r\n\r\n")[2])


def stream_text(received):
    """Return the text of a stream, however it was split into events."""
    events = [line[6:] for line in received.split(b"\n") if line.startswith(b"data: {")]
    deltas = [choice["delta"] for event in events for choice in json.loads(event)["choices"]]
    return "".join(delta.get("content") or "" for delta in deltas)


async def cpu_seconds(port, data, streams=1):
    """Return the CPU seconds of a server for some streams at the same time."""
    before = await read_cpu(port)
    answers = await asyncio.gather(*(read_stream(port, data) for _ in range(streams)))
    assert all(b"[DONE]" in received for _, received in answers)
    return await read_cpu(port) - before


async def measure_both(ports, data, streams=1):
    """Return the CPU seconds of the relay and of the gateway, measured right after each other."""
    order = random.sample(list(ports), 2)
    return {name: await cpu_seconds(ports[name], data, streams) for name in order}


async def load_server(port, pace):
    """Read many streams at once; how many were incomplete, and the median and p99 seconds to the first token."""
    data = build_request(30, pace)
    answers = await asyncio.gather(*(delay(random.random(), read_stream(port, data)) for _ in range(STREAMS)))
    prose = "".join(build_tokens(30, "prose"))
    whole = sum(stream_text(join_chunks(received)) == prose for _, received in answers)
    firsts = sorted(first for first, _ in answers)
    return STREAMS - whole, firsts[len(firsts) // 2], firsts[int(len(firsts) * 0.99) - 1]


async def delay(pause, work):
    await asyncio.sleep(pause)
    return await work


def join_chunks(received):
    """Return the body of a response that was sent in chunks."""
    rest = received.partition(b"\r\n\r\n")[2]
    parts = []
    while rest:
        size, _, rest = rest.partition(b"\r\n")
        parts.append(rest[: int(size, 16)])
        rest = rest[int(size, 16) + 2 :]
    return b"".join(parts)


async def measure(ports, rounds):
    """Measure all rows."""
    figures = []
    await measure_both(ports, build_request(200, 0))  # the first request of each does what is done only once
    for answer in ANSWERS:
        print(f"paced, {answer} …", file=sys.stderr)
        taken = [await measure_both(ports, build_request(TOKENS, 0.001, answer)) for _ in range(rounds)]
        pairs = [(pair["gateway"] / TOKENS, pair["relay"] / TOKENS) for pair in taken]
        figures.append(compare(f"a token, one each millisecond, {answer}", pairs, "relay", MAX_PACED_RATIO))
    for answer in ANSWERS:
        print(f"back to back, {answer} …", file=sys.stderr)
        taken = [await measure_both(ports, build_request(TOKENS, 0, answer), streams=5) for _ in range(rounds)]
        added = statistics.median(pair["gateway"] - pair["relay"] for pair in taken) / TOKENS / 5
        title = f"a token, back to back, more than the relay, {answer}"
        figures.append(Figure(title=title, ours=added, bar=MAX_ADDED_SECONDS, times=rounds))
    for pace in (0.1, 0.05):
        figures += await measure_load(ports, pace, rounds)
    return figures


async def measure_load(ports, pace, rounds):
    """Measure the rows of many streams at once."""
    load = f"{STREAMS} streams, a token each {pace * 1e3:g} ms"
    print(f"{load} …", file=sys.stderr)
    sides = [
        {name: await load_server(ports[name], pace) for name in random.sample(list(ports), 2)} for _ in range(rounds)
    ]
    lost = max(each["gateway"][0] for each in sides)
    figures = [Figure(title=f"{load}: not whole", ours=lost, unit=f"of {STREAMS}", bar=0, times=rounds)]
    for place, name in ((1, "median"), (2, "p99")):
        ours, bare = (statistics.median(each[side][place] for each in sides) for side in ("gateway", "relay"))
        title = f"{load}: first token, {name}"
        figures.append(Figure(title=title, ours=ours, beside="relay", theirs=bare, times=rounds))
    added = statistics.median(each["gateway"][2] - each["relay"][2] for each in sides)
    figures.append(Figure(title=f"{load}: p99, more than the relay", ours=added, bar=MAX_ADDED_P99[pace], times=rounds))
    return figures


async def measure_burst(endpoint, ours, rounds):
    """Measure the first token of many streams that are asked for at the same moment, beside those of the endpoint."""
    figures = []
    for name, (path, data) in BURST_REQUESTS.items():
        print(f"{BURST} at once, {name} …", file=sys.stderr)
        chat = build_large_request(30, 0.05, MANY_TOOLS, "chat") if path == "/v1/responses" else data
        sides = {"gateway": (ours, data, path), "endpoint": (endpoint, chat, "/v1/chat/completions")}
        taken = []
        for _ in range(rounds):
            medians = {}
            for side in random.sample(list(sides), 2):
                answers = await asyncio.gather(*(read_stream(*sides[side]) for _ in range(BURST)))
                medians[side] = statistics.median(first for first, _ in answers)
            taken.append(medians)
        gateway, direct = (statistics.median(each[side] for each in taken) for side in ("gateway", "endpoint"))
        title = f"{BURST} streams at once, {name}: first token, median"
        figures.append(Figure(title=title, ours=gateway, beside="endpoint", theirs=direct, times=rounds))
    return figures


def measure_memory(endpoint, rounds):
    """Measure the row of memory. Each value comes from a fresh server."""

    def measure_server(kind):
        with start_server(kind, endpoint) as port:
            return asyncio.run(hold_streams(port))

    print("memory …", file=sys.stderr)
    taken = measure_in_turn({kind: partial(measure_server, kind) for kind in ("gateway", "relay")}, rounds)
    pairs = [(each["gateway"], each["relay"]) for each in taken]
    return compare(f"memory of a stream, {STREAMS} at once", pairs, "relay", MAX_MEMORY_RATIO, unit="KiB")


async def hold_streams(port):
    """Return the KiB that a server takes for each of many streams that have begun and wait for their next token."""
    await read_stream(port, build_request(30, 0))  # the first request does what is done only once
    data = build_request(100, HELD_PACE_SECONDS)
    held = [await begin_stream(port, data)]
    before = await read_number(port, "/memory")
    held += await asyncio.gather(*(begin_stream(port, data) for _ in range(STREAMS)))
    after = await read_number(port, "/memory")
    for writer in held:
        writer.close()
    return (after - before) / STREAMS / 1024


async def begin_stream(port, data):
    """Ask for a stream and read its first token; return what closes it."""
    reader, writer = await asyncio.open_connection("127.0.0.1", port)
    head = f"POST /v1/chat/completions HTTP/1.1\r\nhost: 127.0.0.1\r\ncontent-length: {len(data)}\r\n\r\n"
    writer.write(head.encode() + data)
    await reader.readuntil(b"ord ")  # the token is "word ", however it begins
    return writer


def main() -> int:
    options = parse_options("Measure the gateway beside a bare relay.", full=11, short=7)
    with (
        start_server("endpoint") as port,
        start_server("relay", port) as bare,
        start_server("gateway", port) as ours,
    ):
        figures = asyncio.run(measure({"relay": bare, "gateway": ours}, options.reps))
        figures += asyncio.run(measure_burst(port, ours, options.reps))
        figures.append(measure_memory(port, options.reps))
    return report(figures, versions_here("toolspeak", "starlette", "uvicorn", "aiohttp"), options.json)


if __name__ == "__main__":
    sys.exit(main())
