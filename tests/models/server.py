"""A real HTTP server on loopback that speaks both APIs, well or badly, as the test says.

What it does with a request is an `Act`. Acts are written on a bare connection, so that they can break it at any byte.
"""

import asyncio
import json
import socket
import ssl
import struct
import threading
from collections.abc import Awaitable, Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from typing import Any, Literal, TypeAlias
from urllib.parse import urlsplit

from toolspeak.dialects import Shown
from toolspeak.models import Request
from toolspeak.testing import ScriptedModel, ScriptedReply
from toolspeak.values.events import ArgsDelta, CallStarted, Event, TurnEnded, Usage
from toolspeak.values.frozen import frozen
from toolspeak.values.messages import Call, Message, ToolCall
from toolspeak.values.pieces import Answer, ApiCall, CallPiece
from toolspeak.wire.api import WIRES, ServedApiName

Api: TypeAlias = ServedApiName
APIS: tuple[Api, ...] = tuple(WIRES)
PATHS: dict[str, Api] = {f"/v1{path}": api for api, wire in WIRES.items() for path in wire.PATHS}
ABILITY_PATHS = ("/props", "/tokenize", "/api/show", "/api/ps", "/api/v0/models/", "/v1/models")


@frozen
class Post:
    """A request as it arrived."""

    path: str
    headers: dict[str, str]
    body: dict[str, Any]

    @property
    def api(self) -> Api:
        path = urlsplit(self.path).path  # a proxy is asked for the whole address
        return "gemini" if "/models/" in path else PATHS[path]

    @property
    def asks_abilities(self) -> bool:
        """Whether it asks what a model can do, which any server may be asked before its first answer."""
        return self.path.startswith(ABILITY_PATHS) and "enerateContent" not in self.path

    @property
    def conversation(self) -> list[dict[str, Any]]:
        """The messages in the body, in the form of the API."""
        return self.body[{"openai-responses": "input", "gemini": "contents"}.get(self.api, "messages")]

    @property
    def prompt(self) -> str:
        """The text of the first message."""
        content = self.conversation[0]["parts" if self.api == "gemini" else "content"]
        return content if isinstance(content, str) else content[0]["text"]

    @property
    def streams(self) -> bool:
        return self.body.get("stream", ":stream" in self.path)


class Connection:
    """One client. What is written goes out at once."""

    def __init__(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self._reader, self._writer = reader, writer
        self._chunked = False
        self.keeps = True
        sock: socket.socket = writer.get_extra_info("socket")
        sock.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)

    async def post(self) -> Post | None:
        try:
            start = await self._reader.readexactly(1)
            if start == b"\x16":  # TLS, which is not spoken here
                await self.write(b"HTTP/1.1 400 Bad Request\r\n\r\n")
                return None
            head = start + await self._reader.readuntil(b"\r\n\r\n")
        except asyncio.IncompleteReadError:
            return None
        first, *lines = head.decode().split("\r\n")[:-2]
        headers = {name.lower(): value.strip() for name, _, value in (line.partition(":") for line in lines)}
        body = await self._reader.readexactly(int(headers.get("content-length", 0)))
        return Post(path=first.split(" ")[1], headers=headers, body=json.loads(body) if body else {})

    def head(
        self,
        status: int = 200,
        *,
        kind: str = "application/json",
        length: int | None = None,
        framed: bool = True,
        **more: str,
    ) -> None:
        """The head of an answer. Its body is as long as said, or chunked, or ends with the connection."""
        self._chunked = framed and length is None
        self.keeps = framed
        frame = (
            "transfer-encoding: chunked"
            if self._chunked
            else f"content-length: {length}"
            if framed
            else "connection: close"
        )
        lines = [f"HTTP/1.1 {status} Said", frame, *([f"content-type: {kind}"] if kind else [])]
        lines += [f"{name.replace('_', '-')}: {value}" for name, value in more.items()]
        self._writer.write("\r\n".join([*lines, "\r\n"]).encode())

    async def write(self, data: bytes) -> None:
        if data:
            self._writer.write(b"%x\r\n%b\r\n" % (len(data), data) if self._chunked else data)
            await self._writer.drain()

    async def end(self) -> None:
        if self._chunked:
            self._writer.write(b"0\r\n\r\n")
            await self._writer.drain()

    def close(self) -> None:
        self.keeps = False

    def reset(self) -> None:
        self.keeps = False
        sock: socket.socket = self._writer.get_extra_info("socket")
        sock.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
        self._writer.transport.abort()

    async def gone(self) -> None:
        """Wait until the client has hung up."""
        with suppress(ConnectionError):
            while await self._reader.read(1024):
                pass
        self.keeps = False

    async def over(self) -> None:
        self._writer.close()
        with suppress(ConnectionError, ssl.SSLError, TimeoutError):
            await self._writer.wait_closed()


Act: TypeAlias = Callable[[Post, Connection], Awaitable[None]]


class Server:
    """What it was asked, and what it does.

    Attributes:
        url: Its address, without a path.
        posts: The requests for answers, in order.
        abilities: What it does when it is asked what a model can do, by path; elsewhere it answers 404.
        ability_posts: The requests for that, in order.
        connections: How many were made.
        open: How many are open.
        hung_up: How many clients were seen to hang up in the middle of an answer.
    """

    def __init__(self) -> None:
        self.url = ""
        self.posts: list[Post] = []
        self.abilities: dict[str, Act] = {}
        self.ability_posts: list[Post] = []
        self.connections = self.open = self.hung_up = 0
        self._acts: list[Act] = []

    def plays(self, *acts: Act) -> None:
        """One act a request; the last is played again and again."""
        self._acts = list(acts)
        self.posts.clear()
        self.ability_posts.clear()
        self.abilities.clear()
        self.connections = self.hung_up = 0

    async def serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self.connections += 1
        self.open += 1
        connection = Connection(reader, writer)
        try:
            while connection.keeps and (post := await connection.post()) is not None:
                if post.asks_abilities:
                    self.ability_posts.append(post)
                    await self.abilities.get(urlsplit(post.path).path, answers(404))(post, connection)
                    continue
                self.posts.append(post)
                await (self._acts.pop(0) if len(self._acts) > 1 else self._acts[0])(post, connection)
        except ConnectionError:
            self.hung_up += 1
        except asyncio.CancelledError:
            pass  # the server is closed
        finally:
            self.open -= 1
            await connection.over()


@contextmanager
def serving(tls: ssl.SSLContext | None = None) -> Iterator[Server]:
    """A server in a thread of its own."""
    server = Server()
    loop = asyncio.new_event_loop()
    ready = threading.Event()
    stop = asyncio.Event()

    async def main() -> None:
        async with await asyncio.start_server(server.serve, "127.0.0.1", 0, ssl=tls, backlog=1024) as http:
            server.url = f"{'https' if tls else 'http'}://127.0.0.1:{http.sockets[0].getsockname()[1]}"
            ready.set()
            await stop.wait()
            http.close()
            others = asyncio.all_tasks() - {asyncio.current_task()}
            for task in others:
                task.cancel()
            await asyncio.gather(*others, return_exceptions=True)

    thread = threading.Thread(target=lambda: (loop.run_until_complete(main()), loop.close()), name="server")
    thread.start()
    ready.wait()
    try:
        yield server
    finally:
        loop.call_soon_threadsafe(stop.set)
        thread.join()


# Acts


def answers(
    status: int = 200, body: bytes | dict[str, Any] = b"", *, kind: str = "application/json", **headers: str
) -> Act:
    """A whole answer."""
    data = body if isinstance(body, bytes) else json.dumps(body).encode()

    async def act(post: Post, connection: Connection) -> None:
        connection.head(status, kind=kind, length=len(data), **headers)
        await connection.write(data)

    return act


Ending: TypeAlias = Literal["end", "close", "reset", "silence", "hold"]


def streams(
    *writes: bytes, ending: Ending = "end", framed: bool = True, kind: str = "text/event-stream", pause: float = 0
) -> Act:
    """A streamed answer, in these writes.

    Its end is the end of the body, the end of the connection (`close`, `reset`), silence for as long as the client
    stays, or a connection that is held open though the body has ended.
    """

    async def act(post: Post, connection: Connection) -> None:
        connection.head(kind=kind, framed=framed)
        for data in writes:
            await connection.write(data)
            await asyncio.sleep(pause)
        match ending:
            case "end":
                await connection.end()
            case "close":
                connection.close()
            case "reset":
                await asyncio.sleep(0.02)  # what was written has arrived
                connection.reset()
            case _:
                await connection.gone()

    return act


async def silence(post: Post, connection: Connection) -> None:
    """Take the request and say nothing."""
    await connection.gone()


async def hangs_up(post: Post, connection: Connection) -> None:
    connection.close()


async def resets(post: Post, connection: Connection) -> None:
    connection.reset()


def plays(script: Sequence[ScriptedReply], dialect: str = "native", chunk: int | None = 3) -> Act:
    """The lines of a script, in the API that is asked and the dialect that is expected."""
    model = ScriptedModel(script, chunk=chunk)

    async def act(post: Post, connection: Connection) -> None:
        wire = WIRES[post.api]
        asked = wire.read_request(post.body, post.path)
        encoder = wire.Encoder(asked.model, id="answer_1", created=1, include_usage=asked.include_usage, request=asked)
        request = Request(shown=Shown(messages=asked.messages), dialect=dialect, stream=asked.stream)
        if asked.stream:
            connection.head(kind="text/event-stream")
            await connection.write(encoder.start())
        telling = Telling()
        async for pieces in model.ask(request):
            for event in [event for piece in pieces for event in telling.events(piece)]:
                if asked.stream:
                    await connection.write(encoder.feed([event]))
                elif isinstance(event, TurnEnded):
                    body = json.dumps(encoder.response(event.message, event.finish, event.usage)).encode()
                    connection.head(length=len(body))
                    await connection.write(body)
        await connection.end()

    return act


class Telling:
    """Pieces of a scripted answer as the events that a server tells."""

    def __init__(self) -> None:
        self._ids: dict[int, str] = {}

    def events(self, piece: Any) -> list[Event]:
        match piece:
            case CallPiece(index=index, id=call_id, name=name) if call_id:
                self._ids[index] = call_id
                return [CallStarted(call_id=call_id, name=name)]
            case CallPiece(index=index, arguments=arguments):
                return [ArgsDelta(call_id=self._ids[index], text=arguments)]
            case Answer(parts=parts, finish=finish, usage=usage):
                message = Message(role="assistant", parts=tuple(_said(part) for part in parts))
                return [
                    TurnEnded(message=message, finish=finish, usage=usage or Usage(input_tokens=9, output_tokens=3))
                ]
            case _:
                return [piece]


def _said(part: Any) -> Any:
    if isinstance(part, ApiCall):
        return Call(call=ToolCall(id=part.id, name=part.name, arguments=json.loads(part.arguments)))
    return part
