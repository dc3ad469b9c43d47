"""The ASGI app: both APIs in front of any model.

    POST /v1/chat/completions   OpenAI's API
    POST /v1/messages           Anthropic's API
    GET  /v1/models             what is served
    GET  /health                whether it is up

It forwards and does not run tools, and it keeps nothing. Each request has an id, which is in its log line, in the
header `x-request-id` and in its errors; neither bodies nor keys are logged.
"""

import secrets
import time
from collections.abc import AsyncGenerator, Awaitable, Callable, Iterable, Mapping
from contextlib import aclosing
from types import ModuleType
from typing import Any

from starlette.applications import Starlette
from starlette.exceptions import HTTPException
from starlette.requests import ClientDisconnect, Request
from starlette.responses import Response
from starlette.routing import Route

from toolspeak.errors import ModelError, RateLimited, ToolspeakError, UsageError
from toolspeak.events import Event, TurnEnded
from toolspeak.gateway.exchange import Served, answered
from toolspeak.gateway.guard import Refused, Rules, body_of, check
from toolspeak.gateway.responses import Streamed, log, log_failure, unless_gone
from toolspeak.validation import nearest
from toolspeak.wire import anthropic_messages, openai_chat
from toolspeak.wire.chat_request import ChatRequest
from toolspeak.wire.json_data import compact

Handler = Callable[[Request, str], Awaitable[Response]]


class Gateway:
    """What all routes share."""

    def __init__(self, served: Iterable[Served], rules: Rules) -> None:
        self._served: dict[str, Served] = {}
        for each in served:
            if each.name in self._served:
                raise UsageError(f"two models are served as {each.name!r}; give one of them another name")
            self._served[each.name] = each
        if not self._served:
            raise UsageError("there is no model to serve")
        if rules.key is not None and not rules.key.strip():
            raise UsageError("the key is empty, so that everybody would have it")
        self._rules = rules

    def route(self, path: str, method: str, handler: Handler, wire: ModuleType) -> Route:
        """A route that checks who asks, names the request, logs one line, and tells errors in its API's form."""

        async def endpoint(request: Request) -> Response:
            request_id = f"req_{secrets.token_hex(8)}"
            began = time.monotonic()
            try:
                check(request, self._rules)
                response = await handler(request, request_id)
            except ClientDisconnect:
                response = Response(status_code=499)
            except Refused as refused:
                response = _refusal(wire, refused.status, refused.message, request_id, refused.kind)
                if refused.close:
                    response.headers["connection"] = "close"
            except UsageError as error:
                response = _refusal(wire, 400, str(error), request_id)
            except ToolspeakError as error:
                response = _refusal(wire, _status(error), str(error), request_id)
            except Exception as error:
                log_failure(request_id, error)
                response = _refusal(wire, 500, f"the gateway failed; its log has the cause ({request_id})", request_id)
            response.headers["x-request-id"] = response.headers["request-id"] = request_id
            took = (time.monotonic() - began) * 1e3
            log.info("%s %s %s %d %.0f ms", request_id, method, path, response.status_code, took)
            return response

        return Route(path, endpoint, methods=[method])

    async def health(self, request: Request, request_id: str) -> Response:
        """Whether it is up."""
        return Json({"status": "ok"})

    async def models(self, request: Request, request_id: str) -> Response:
        """What is served, as both APIs say it."""
        of_openai = {"object": "model", "created": 0, "owned_by": "toolspeak"}
        of_anthropic = {"type": "model", "created_at": "1970-01-01T00:00:00Z"}
        data = [{"id": name, "display_name": name, **of_openai, **of_anthropic} for name in self._served]
        return Json({"object": "list", "data": data, "has_more": False, "first_id": None, "last_id": None})

    def asking(self, wire: ModuleType) -> Handler:
        """The handler of a request to a model, in one of the APIs."""
        api = _APIS[wire]

        async def handler(request: Request, request_id: str) -> Response:
            asked: ChatRequest = wire.read_request(await body_of(request))
            served = self._find(asked.model)
            encoder = wire.Encoder(
                asked.model,
                id=f"{_PREFIXES[wire]}{request_id}",
                created=int(time.time()),
                include_usage=asked.include_usage,
            )
            events = answered(served, asked, f"call_{secrets.token_hex(4)}", api)
            if asked.stream:
                # What fails at once fails with a status of its own.
                first = await unless_gone(request.receive, anext(events))
                return Streamed(events, first, encoder, request_id)
            ended = await unless_gone(request.receive, _last(events))
            return Json(encoder.response(ended.message, ended.finish, ended.usage))

        return handler

    def _find(self, name: str) -> Served:
        if name in self._served:
            return self._served[name]
        if len(self._served) == 1 and "default" in self._served:
            return self._served["default"]
        similar = nearest(name, tuple(self._served))
        cure = f"did you mean {similar}?" if similar else f"the models are: {', '.join(self._served)}"
        raise Refused(404, f"there is no model {name[:80]!r}; {cure}", "not_found_error")


_PREFIXES: Mapping[ModuleType, str] = {openai_chat: "chatcmpl-", anthropic_messages: "msg_"}
_APIS: Mapping[ModuleType, str] = {openai_chat: "openai", anthropic_messages: "anthropic"}


def app(served: Iterable[Served], rules: Rules = Rules()) -> Starlette:  # noqa: B008 (it does not change)
    """The gateway as an ASGI app, to be served or to be mounted in an app of yours."""
    gateway = Gateway(served, rules)
    routes = [
        gateway.route("/v1/chat/completions", "POST", gateway.asking(openai_chat), openai_chat),
        gateway.route("/v1/messages", "POST", gateway.asking(anthropic_messages), anthropic_messages),
        gateway.route("/v1/models", "GET", gateway.models, openai_chat),
        gateway.route("/health", "GET", gateway.health, openai_chat),
    ]
    return Starlette(routes=routes, exception_handlers={HTTPException: _nowhere})


class Json(Response):
    """JSON in ASCII: half a surrogate pair, which a model may say, has no bytes of its own."""

    media_type = "application/json"

    def render(self, content: Any) -> bytes:
        return compact(content).encode()


async def _nowhere(request: Request, error: Exception) -> Response:
    status = error.status_code if isinstance(error, HTTPException) else 500
    known = "/v1/chat/completions, /v1/messages and /v1/models"
    message = f"{request.method} {request.url.path[:80]!r} is not served here; there are {known}"
    return _refusal(openai_chat, status, message, f"req_{secrets.token_hex(8)}")


def _refusal(wire: ModuleType, status: int, message: str, request_id: str, kind: str = "") -> Response:
    body: dict[str, Any] = wire.error_body(status, message, kind)
    response = Json({**body, "request_id": request_id}, status_code=status)
    if status == 429 or status >= 500:  # it was tried often enough; clients would try all of that again
        response.headers["x-should-retry"] = "false"
    return response


def _status(error: ToolspeakError) -> int:
    return 429 if isinstance(error, RateLimited) else 502 if isinstance(error, ModelError) else 500


async def _last(events: AsyncGenerator[list[Event]]) -> TurnEnded:
    """The end of an answer that goes out in one piece."""
    ended: TurnEnded | None = None
    async with aclosing(events):
        async for batch in events:
            if isinstance(batch[-1], TurnEnded):
                ended = batch[-1]
    if ended is None:
        raise ModelError("the answer has no end")
    return ended
