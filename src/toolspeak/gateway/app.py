"""The ASGI app: every API of `toolspeak.wire` in front of any model.

    POST /v1/chat/completions   OpenAI's API
    POST /v1/messages           Anthropic's API
    GET  /v1/models             the models that are served
    GET  /health                whether the gateway runs

The gateway does not run tools, and stores nothing. Each request has an id, which is in its log line, in the header
`x-request-id` and in its errors. Neither bodies nor keys are logged.
"""

import secrets
import time
from collections.abc import AsyncGenerator, Awaitable, Callable, Iterable
from contextlib import aclosing
from typing import Any

from starlette.applications import Starlette
from starlette.exceptions import HTTPException
from starlette.requests import ClientDisconnect, Request
from starlette.responses import Response
from starlette.routing import Route

from toolspeak.errors import ModelError, RateLimited, ToolspeakError, UsageError
from toolspeak.events import Event, TurnEnded
from toolspeak.gateway.exchange import ServedModel, answer_request
from toolspeak.gateway.guard import AccessRules, RequestRefused, check_access, read_body
from toolspeak.gateway.responses import StreamedAnswer, log, log_failure, run_while_connected
from toolspeak.validation import nearest
from toolspeak.wire.api import WIRES, ApiName, Wire
from toolspeak.wire.json_data import dump_compact

Handler = Callable[[Request, str], Awaitable[Response]]


class Gateway:
    """The routes, and the models and access rules that they share."""

    def __init__(self, served: Iterable[ServedModel], rules: AccessRules) -> None:
        self._served: dict[str, ServedModel] = {}
        for each in served:
            if each.name in self._served:
                raise UsageError(f"two models are served as {each.name!r}; give one of them another name")
            self._served[each.name] = each
        if not self._served:
            raise UsageError("there is no model to serve")
        if rules.key is not None and not rules.key.strip():
            raise UsageError("the key is empty, so that everybody would have it")
        self._rules = rules

    def route(self, path: str, method: str, handler: Handler, wire: Wire) -> Route:
        """Return a route that checks access, logs each request with an id, and writes errors in the form of its API."""

        async def endpoint(request: Request) -> Response:
            request_id = f"req_{secrets.token_hex(8)}"
            start = time.monotonic()
            try:
                check_access(request, self._rules)
                response = await handler(request, request_id)
            except ClientDisconnect:
                response = Response(status_code=499)
            except RequestRefused as refused:
                response = _error_response(wire, refused.status, refused.message, request_id, refused.kind)
                if refused.close:
                    response.headers["connection"] = "close"
            except UsageError as error:
                response = _error_response(wire, 400, str(error), request_id)
            except ToolspeakError as error:
                response = _error_response(wire, _error_status(error), str(error), request_id)
            except Exception as error:
                log_failure(request_id, error)
                response = _error_response(
                    wire, 500, f"the gateway failed; its log has the cause ({request_id})", request_id
                )
            response.headers["x-request-id"] = response.headers["request-id"] = request_id
            took = (time.monotonic() - start) * 1e3
            log.info("%s %s %s %d %.0f ms", request_id, method, path, response.status_code, took)
            return response

        return Route(path, endpoint, methods=[method])

    async def health(self, request: Request, request_id: str) -> Response:
        """Answer that the gateway runs."""
        return JsonResponse({"status": "ok"})

    async def models(self, request: Request, request_id: str) -> Response:
        """List the models, with the fields of both APIs."""
        openai_fields = {"object": "model", "created": 0, "owned_by": "toolspeak"}
        anthropic_fields = {"type": "model", "created_at": "1970-01-01T00:00:00Z"}
        data = [{"id": name, "display_name": name, **openai_fields, **anthropic_fields} for name in self._served]
        return JsonResponse({"object": "list", "data": data, "has_more": False, "first_id": None, "last_id": None})

    def chat_handler(self, api: ApiName) -> Handler:
        """Return the handler of requests to a model, in one of the APIs."""
        wire = WIRES[api]

        async def handler(request: Request, request_id: str) -> Response:
            chat_request = await read_body(request, wire.read_request)
            served = self._find_model(chat_request.model)
            encoder = wire.Encoder(
                chat_request.model,
                id=f"{wire.ID_PREFIX}{request_id}",
                created=int(time.time()),
                include_usage=chat_request.include_usage,
            )
            events = answer_request(served, chat_request, f"call_{secrets.token_hex(4)}", api)
            if chat_request.stream:
                # Wait for the first events: a model that fails at once still gets an error status.
                first = await run_while_connected(request.receive, anext(events))
                return StreamedAnswer(events, first, encoder, request_id)
            ended = await run_while_connected(request.receive, _read_to_end(events))
            return JsonResponse(encoder.response(ended.message, ended.finish, ended.usage))

        return handler

    def _find_model(self, name: str) -> ServedModel:
        if name in self._served:
            return self._served[name]
        if len(self._served) == 1 and "default" in self._served:
            return self._served["default"]
        similar = nearest(name, tuple(self._served))
        cure = f"did you mean {similar}?" if similar else f"the models are: {', '.join(self._served)}"
        raise RequestRefused(404, f"there is no model {name[:80]!r}; {cure}", "not_found_error")


def app(served: Iterable[ServedModel], rules: AccessRules = AccessRules()) -> Starlette:  # noqa: B008 (it is frozen)
    """Return the gateway as an ASGI app, to be served or to be mounted in another app."""
    gateway = Gateway(served, rules)
    routes = [
        *(gateway.route(f"/v1{wire.PATH}", "POST", gateway.chat_handler(api), wire) for api, wire in WIRES.items()),
        gateway.route("/v1/models", "GET", gateway.models, WIRES["openai"]),
        gateway.route("/health", "GET", gateway.health, WIRES["openai"]),
    ]
    return Starlette(routes=routes, exception_handlers={HTTPException: _not_found})


class JsonResponse(Response):
    """JSON in ASCII: an unpaired surrogate, which a model may write, cannot be encoded in UTF-8."""

    media_type = "application/json"

    def render(self, content: Any) -> bytes:
        return dump_compact(content).encode()


async def _not_found(request: Request, error: Exception) -> Response:
    status = error.status_code if isinstance(error, HTTPException) else 500
    known = ", ".join(f"/v1{wire.PATH}" for wire in WIRES.values()) + " and /v1/models"
    message = f"{request.method} {request.url.path[:80]!r} is not served here; there are {known}"
    return _error_response(WIRES["openai"], status, message, f"req_{secrets.token_hex(8)}")


def _error_response(wire: Wire, status: int, message: str, request_id: str, kind: str = "") -> Response:
    body = wire.error_body(status, message, kind)
    response = JsonResponse({**body, "request_id": request_id}, status_code=status)
    if status == 429 or status >= 500:  # the gateway has retried; clients would multiply that
        response.headers["x-should-retry"] = "false"
    return response


def _error_status(error: ToolspeakError) -> int:
    return 429 if isinstance(error, RateLimited) else 502 if isinstance(error, ModelError) else 500


async def _read_to_end(events: AsyncGenerator[list[Event]]) -> TurnEnded:
    """Return the end of an answer, which holds the whole message."""
    ended: TurnEnded | None = None
    async with aclosing(events):
        async for batch in events:
            if isinstance(batch[-1], TurnEnded):
                ended = batch[-1]
    if ended is None:
        raise ModelError("the answer has no end")
    return ended
