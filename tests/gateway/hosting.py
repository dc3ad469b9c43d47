"""The gateway on loopback, in a thread; and the gateway without a socket."""

import asyncio
import json
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from types import SimpleNamespace
from typing import Any

from starlette.applications import Starlette
from starlette.types import Message

from toolspeak.gateway import AccessRules, ServedModel, app
from toolspeak.gateway.server import TimeoutProtocol, build_server
from toolspeak.models import EmbeddedModel, Model
from toolspeak.values.errors import EndpointDown

OPEN = AccessRules()


def serve_model(model: Model, dialect: Any, **options: Any) -> ServedModel:
    return ServedModel(name="scripted", model=model, dialect=dialect, **options)


@contextmanager
def host_app(application: Starlette, protocol: type[TimeoutProtocol] = TimeoutProtocol) -> Iterator[str]:
    """The address under which the app is served."""
    running = build_server(application, host="127.0.0.1", port=0, protocol=protocol)
    thread = threading.Thread(target=running.run)
    thread.start()
    try:
        until(lambda: running.started or not thread.is_alive())
        yield f"http://127.0.0.1:{running.servers[0].sockets[0].getsockname()[1]}"
    finally:
        running.should_exit = True
        thread.join()


@contextmanager
def gateway(*models: ServedModel, rules: AccessRules = OPEN) -> Iterator[str]:
    with host_app(app(models, rules)) as url:
        yield url


def until(condition: Any, seconds: float = 60.0) -> float:
    """Wait for something that happens in another thread; how long it took."""
    began = time.monotonic()
    while not condition():
        assert time.monotonic() < began + seconds, "it did not happen"
        time.sleep(0.005)
    return time.monotonic() - began


class SlowModel(EmbeddedModel):
    """An embedded model that is loaded when `has_weights` is set, and fails with `problem` if there is one."""

    def __init__(self, problem: str = "") -> None:
        super().__init__(Path("slow.gguf"))
        self.has_weights = threading.Event()
        self.problem = problem
        self.is_loaded = False

    @property
    def is_ready(self) -> bool:
        return self.is_loaded

    def load(self, on_progress: object = None) -> Any:
        self.has_weights.wait(60)
        if self.problem:
            raise EndpointDown(self.problem)
        self.is_loaded = True
        return SimpleNamespace(was_started=True)


class Reply:
    """What the app answered."""

    def __init__(self) -> None:
        self.status = 0
        self.headers: dict[str, str] = {}
        self.body = b""

    @property
    def json(self) -> Any:
        return json.loads(self.body)

    @property
    def error(self) -> str:
        return self.json["error"]["message"]

    @property
    def chunks(self) -> list[Any]:
        """The data of a stream, but for its last word."""
        lines = [line[6:] for line in self.body.decode().splitlines() if line.startswith("data: ")]
        return [json.loads(line) for line in lines if line != "[DONE]"]


async def send_request(
    application: Starlette,
    body: Any,
    *,
    path: str = "/v1/chat/completions",
    method: str = "POST",
    headers: list[tuple[str, str]] | None = None,
    host: str = "127.0.0.1",
    leaves: asyncio.Event | None = None,
    reply: Reply | None = None,
) -> Reply:
    """Ask the app without a socket. The client leaves when `leaves` is set, or when all of the answer is there."""
    data = body if isinstance(body, bytes) else json.dumps(body).encode()
    given = [("host", host), *(headers or [])]
    scope = {
        "type": "http",
        "method": method,
        "path": path.partition("?")[0],
        "raw_path": path.partition("?")[0].encode(),
        "query_string": path.partition("?")[2].encode(),
        "headers": [(name.encode(), value.encode("latin-1")) for name, value in given],
        "http_version": "1.1",
        "scheme": "http",
        "client": ("127.0.0.1", 1),
        "server": ("127.0.0.1", 80),
        "root_path": "",
    }
    reply, over, sent = reply or Reply(), leaves or asyncio.Event(), False

    async def receive() -> Message:
        nonlocal sent
        if not sent:
            sent = True
            return {"type": "http.request", "body": data, "more_body": False}
        await over.wait()
        return {"type": "http.disconnect"}

    async def send(message: Message) -> None:
        if message["type"] == "http.response.start":
            reply.status = message["status"]
            reply.headers = {name.decode(): value.decode() for name, value in message["headers"]}
        else:
            reply.body += message["body"]
            if not message.get("more_body"):
                over.set()

    await application(scope, receive, send)
    return reply


def ask(application: Starlette, body: Any, **options: Any) -> Reply:
    return asyncio.run(send_request(application, body, **options))
