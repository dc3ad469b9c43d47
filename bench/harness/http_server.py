"""An endpoint that costs next to nothing: `python -I http_server.py` prints its port and answers until it is ended.

It serves OpenAI's chat API, streamed and whole. The name of the model chooses the answer:

    roundsN     N messages with one call of `look` each, then the answer
    parallelN   one message with N calls of `look`, then the answer
    tokensN     an answer of N tokens, all written at once
    pacedN      the same, a token each millisecond
    silentN     no answer at all: the run waits
    lettersN    one call of `keep` with N thousand letters of arguments, four at a time, then the answer

Every answer ends with "42." and is rendered once. A request is not parsed: it is searched for what matters.
"""

import asyncio
import json
import re
from functools import cache

LENGTH = re.compile(rb"content-length: *(\d+)", re.I)
MODEL = re.compile(rb'"model": ?"([a-z]+)(\d+)"')
STREAM = re.compile(rb'"stream": ?true')
ASSISTANT = re.compile(rb'"role": ?"assistant"')

ANSWER = ["The", " answer", " is", " 42."]
PACE_SECONDS = 0.001
HEAD = {"id": "chatcmpl-0a1b2c3d4e5f6a7b8c9d", "created": 1_800_000_000, "system_fingerprint": "fp_0a1b2c3d4e"}
USAGE = {"prompt_tokens": 120, "completion_tokens": 30, "total_tokens": 150}


def build_message(kind, size, turn):
    """Return the tokens and the calls of one message."""
    if kind in ("tokens", "paced"):
        return [" word"] * (size - 1) + [" 42."], []
    if kind == "rounds" and turn < size:
        return [], [("look", {"x": turn})]
    if kind == "parallel" and turn == 0:
        return [], [("look", {"x": x}) for x in range(size)]
    if kind == "letters" and turn == 0:
        return [], [("keep", {"text": "four " * (size * 200)})]
    return ANSWER, []


def call_objects(calls, turn):
    return [
        {
            "index": index,
            "id": f"call_{turn}_{index}_0a1b2c3d",
            "type": "function",
            "function": {"name": name, "arguments": json.dumps(arguments)},
        }
        for index, (name, arguments) in enumerate(calls)
    ]


@cache
def render_whole(kind, size, turn):
    """Render the response that holds a whole answer."""
    tokens, calls = build_message(kind, size, turn)
    message = {"role": "assistant", "content": "".join(tokens) or None, "refusal": None}
    if calls:
        message["tool_calls"] = call_objects(calls, turn)
    choice = {"index": 0, "message": message, "logprobs": None, "finish_reason": finish_reason(calls)}
    body = {**HEAD, "object": "chat.completion", "model": f"{kind}{size}", "choices": [choice], "usage": USAGE}
    data = json.dumps(body).encode()
    return b"HTTP/1.1 200 OK\r\ncontent-type: application/json\r\ncontent-length: %d\r\n\r\n%s" % (len(data), data)


@cache
def render_events(kind, size, turn):
    """Render a streamed answer: the head of the response, then each event."""

    def event(delta, reason=None, **more):
        choice = {"index": 0, "delta": delta, "logprobs": None, "finish_reason": reason}
        body = {**HEAD, "object": "chat.completion.chunk", "model": f"{kind}{size}", "choices": [choice], **more}
        return chunk(json.dumps(body))

    tokens, calls = build_message(kind, size, turn)
    events = [b"HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\ntransfer-encoding: chunked\r\n\r\n"]
    events.append(event({"role": "assistant", "content": "" if tokens else None}))
    events += [event({"content": token}) for token in tokens]
    for call in call_objects(calls, turn):
        arguments = call["function"]["arguments"]
        events.append(event({"tool_calls": [{**call, "function": {**call["function"], "arguments": ""}}]}))
        for start in range(0, len(arguments), 4):
            piece = {"index": call["index"], "function": {"arguments": arguments[start : start + 4]}}
            events.append(event({"tool_calls": [piece]}))
    events.append(event({}, finish_reason(calls)))
    events.append(event({}, usage=USAGE, choices=[]))
    events.append(chunk("[DONE]") + b"0\r\n\r\n")
    return tuple(events)


@cache
def render_stream(kind, size, turn):
    return b"".join(render_events(kind, size, turn))


def chunk(data):
    event = f"data: {data}\n\n".encode()
    return b"%x\r\n%s\r\n" % (len(event), event)


def finish_reason(calls):
    return "tool_calls" if calls else "stop"


class Connection(asyncio.Protocol):
    def __init__(self):
        self.received = bytearray()
        self.expected = 0
        self.sending = None

    def connection_made(self, transport):
        self.transport = transport

    def connection_lost(self, error):
        if self.sending is not None:
            self.sending.cancel()

    def data_received(self, data):
        self.received += data
        if not self.expected and (end := self.received.find(b"\r\n\r\n")) >= 0:
            self.expected = end + 4 + int(LENGTH.search(self.received, 0, end)[1])
        if self.expected and len(self.received) >= self.expected:
            request, self.received, self.expected = bytes(self.received), bytearray(), 0
            self.answer(request)

    def answer(self, request):
        kind, size = MODEL.search(request).groups()
        answer = kind.decode(), int(size), len(ASSISTANT.findall(request))
        if answer[0] == "silent":
            return
        if not STREAM.search(request):
            self.transport.write(render_whole(*answer))
        elif answer[0] == "paced":
            self.sending = asyncio.get_running_loop().create_task(self.send_paced(render_events(*answer)))
        else:
            self.transport.write(render_stream(*answer))

    async def send_paced(self, events):
        """Send an event each millisecond by the clock: one late event does not delay the others."""
        loop = asyncio.get_running_loop()
        start = loop.time()
        for number, event in enumerate(events):
            self.transport.write(event)
            await asyncio.sleep(max(start + number * PACE_SECONDS - loop.time(), 0))


async def serve():
    server = await asyncio.get_running_loop().create_server(Connection, "127.0.0.1", 0, backlog=1024)
    print(server.sockets[0].getsockname()[1], flush=True)
    await server.serve_forever()


if __name__ == "__main__":
    asyncio.run(serve())
