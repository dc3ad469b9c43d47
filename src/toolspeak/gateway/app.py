"""The ASGI app: every API of `toolspeak.wire` in front of any model.

    POST /v1/chat/completions           OpenAI's API
    POST /v1/messages                   Anthropic's API
    POST /v1/responses                  OpenAI's responses API
    …    /v1/responses/…                answers of it that are kept (`stored_responses.py`)
    POST /v1/responses/input_tokens     the tokens of a request to that API
    POST /v1/messages/count_tokens      the tokens of a request to Anthropic's API
    GET  /v1/models, /v1/models/{id}    the models that are served
    POST /v1beta/models/{id}:METHOD     Gemini's API: generateContent, streamGenerateContent, countTokens
    GET  /v1beta/models[/{id}]          the models that are served, in the form of Gemini's API

What is under `/v1beta` is under `/v1` too: clients of Gemini's API use either.

    GET  /health, /                     whether the gateway runs; both without the key
    GET  /ready                         whether its models are loaded, 503 if they are not; without the key
    GET  /exchanges, /exchanges/{id}    the last exchanges, if they are watched
    POST /mcp                           tools for MCP clients, if an MCP server is mounted
    GET  /metrics                       figures of the gateway, in the text format of Prometheus
    GET, POST /runs…                    durable runs, if there is a store of them (`run_routes.py`)

The gateway does not run tools. It stores answers of the responses API, and exchanges if somebody watches it. Each
request has an id, which is in its log line, in the header `x-request-id` and in its errors. What was left out of a
request is told in the header `x-toolspeak-notice`. Neither bodies nor keys are logged.
"""

import asyncio
import secrets
import threading
import time
from collections.abc import AsyncGenerator, Callable, Iterable, Mapping
from dataclasses import replace
from functools import partial
from typing import Any, Literal
from urllib.parse import quote

from starlette.applications import Starlette
from starlette.exceptions import HTTPException
from starlette.requests import ClientDisconnect, Request
from starlette.responses import Response
from starlette.routing import Route
from starlette.types import ASGIApp

from toolspeak.dialects.slim_tools import count_tool_tokens
from toolspeak.gateway.context_check import count_request
from toolspeak.gateway.exchange import ServedModel, answer_request, answer_several
from toolspeak.gateway.exchange_report import ExchangeHistory, ExchangeReport, ReportKeeper
from toolspeak.gateway.figures import GatewayFigures
from toolspeak.gateway.guard import AccessRules, RequestRefused, is_gemini_request, read_body
from toolspeak.gateway.passthrough import HEADER as NOTICE_HEADER
from toolspeak.gateway.provenance import (
    DOUBTS_HEADER,
    describe_doubts,
    find_answer_doubts,
    read_labels,
    watch_values,
    write_header,
)
from toolspeak.gateway.response_store import ResponseStore
from toolspeak.gateway.responses import (
    PING_SECONDS,
    TOKENS_HEADER,
    describe_tokens,
    log,
    read_to_end,
    run_while_connected,
    start_stream,
)
from toolspeak.gateway.routing import (
    Handler,
    JsonResponse,
    answer_unknown_route,
    guarded_route,
    mounted_handler,
    report_health,
)
from toolspeak.gateway.stored_responses import StoredInput, StoredResponses, number_own_items
from toolspeak.gateway.tool_list import describe_excess, list_tools
from toolspeak.models.embedded import EmbeddedModel
from toolspeak.models.model import find_model_context
from toolspeak.telemetry import SpanExporter, Tracer
from toolspeak.telemetry.prometheus import CONTENT_TYPE
from toolspeak.telemetry.tracing import read_tracer
from toolspeak.values.errors import ToolspeakError, UsageError
from toolspeak.values.events import Event, TurnEnded, Usage
from toolspeak.values.spec import ToolSpec
from toolspeak.values.validation import nearest
from toolspeak.wire.api import WIRES, AnswerEncoder, ServedApiName
from toolspeak.wire.chat_request import ChatRequest
from toolspeak.wire.fields import FieldError
from toolspeak.wire.json_data import as_object

LARGE_TOOL_TOKENS = 8_000
"""Tokens of tools from which on a budget is suggested, if the context of the model is not known."""


def app(
    served: Iterable[ServedModel],
    rules: AccessRules = AccessRules(),  # noqa: B008 (it is frozen)
    *,
    aliases: Mapping[str, str] | None = None,
    strict: bool = False,
    on_exchange: Callable[[str], None] | None = None,
    watch: bool = False,
    tracer: Tracer | SpanExporter | None = None,
    store: ResponseStore | Literal["memory"] | None = "memory",
    ping_seconds: float = PING_SECONDS,
    mounted: Mapping[str, ASGIApp] | None = None,
    routes: Iterable[Route] = (),
) -> Starlette:
    """Return the gateway as an ASGI app, which you can serve or mount in another app.

    Args:
        served: The models.
        rules: Who may send requests.
        aliases: Further names for models, each with the name under which the model is served.
        strict: Whether to refuse a request instead of ignoring a part of it.
        on_exchange: A function that is called after each exchange with its report, a line of JSON.
        watch: Whether to keep the last exchanges in memory, and serve them to clients that have the key.
        tracer: An OpenTelemetry tracer, tracer provider or exporter, which gets the spans of each exchange.
        store: The store for answers of the Responses API, so that requests can refer to them; None to store none.
        ping_seconds: After this time without output of the model, a streamed answer begins and pings are sent.
        mounted: Further apps by their paths, such as an MCP server at `/mcp`. The rules apply to them, too.
        routes: Further routes, which check access themselves, such as those of durable runs (`run_routes.py`).

    Raises:
        UsageError: Exchanges would be served without a key.
    """
    if watch and rules.key is None:
        raise UsageError("exchanges hold whole conversations, so that they are served only behind a key; set one")
    if rules.key is not None and not rules.key.strip():
        raise UsageError("the key is empty, so that everybody would have it")
    models = tuple(served)
    history = ExchangeHistory()
    tracing = tracer if isinstance(tracer, SpanExporter) else read_tracer(tracer)
    is_reported = watch or on_exchange is not None or tracing is not None
    kept = history if watch else None
    keeper = ReportKeeper(models, rules.key, on_exchange, kept, tracing) if is_reported else None
    catalog = ModelCatalog(models, aliases or {})
    stored = StoredResponses(ResponseStore() if store == "memory" else store)
    gateway = Gateway(catalog, stored, strict=strict, keeper=keeper, history=history, ping_seconds=ping_seconds)
    route = partial(guarded_route, rules)
    all_routes = [
        *(
            route(f"{base}{path}", "POST", gateway.chat_handler(api), wire)
            for api, wire in WIRES.items()
            for path in wire.PATHS
            for base in dict.fromkeys((wire.BASE_PATH, "/v1"))
        ),
        *(
            route(f"{base}{path}", method, handler)
            for base in ("/v1beta", "/v1")
            for path, method, handler in (
                ("/models/{model:path}:countTokens", "POST", gateway.count_gemini_tokens),
                ("/models", "GET", gateway.models),
                ("/models/{name:path}", "GET", gateway.model),
            )
        ),
        *(
            route(f"/v1/responses/{path}", method, handler, WIRES["openai-responses"])
            for path, method, handler in (
                ("input_tokens", "POST", gateway.count_response_tokens),
                ("{id}", "GET", gateway.stored.get),
                ("{id}", "DELETE", gateway.stored.delete),
                ("{id}/input_items", "GET", gateway.stored.list_input),
                ("{path:path}", "POST", gateway.stored.refuse),
            )
        ),
        route("/v1/messages/count_tokens", "POST", gateway.count_tokens),
        route("/health", "GET", report_health, needs_key=False),
        route("/", "GET", report_health, needs_key=False),
        route("/ready", "GET", ModelReadiness(models).report, needs_key=False),
    ]
    if watch:
        all_routes += [
            route("/exchanges", "GET", gateway.exchanges),
            route("/exchanges/{id}", "GET", gateway.exchange),
        ]
    all_routes += [route(path, "POST", mounted_handler(each)) for path, each in (mounted or {}).items()]
    all_routes += routes
    all_routes.append(route("/metrics", "GET", gateway.metrics))  # after that of a store, which gives both figures
    application = Starlette(routes=all_routes, exception_handlers={HTTPException: answer_unknown_route})
    application.state.figures = gateway.figures
    return application


def mounted_app(mounted: Mapping[str, ASGIApp], rules: AccessRules, routes: Iterable[Route] = ()) -> Starlette:
    """Return an app that serves no model, but other apps by their paths and further routes, behind the same rules."""
    apps = [guarded_route(rules, path, "POST", mounted_handler(each)) for path, each in mounted.items()]
    health = [guarded_route(rules, path, "GET", report_health, needs_key=False) for path in ("/health", "/ready")]
    return Starlette(routes=[*apps, *routes, *health])


class ModelCatalog:
    """The models that are served.

    If there is only one, every name means it: clients come with the names of their vendors (`gpt-4o`, `claude-…`).
    Among several, a model is found by its name or by an alias.
    """

    def __init__(self, served: Iterable[ServedModel], aliases: Mapping[str, str]) -> None:
        self._served: dict[str, ServedModel] = {}
        for each in served:
            if each.name in self._served:
                raise UsageError(f"two models are served as {each.name!r}; give one of them another name")
            self._served[each.name] = each
        if not self._served:
            raise UsageError("there is no model to serve; pass at least one")
        self._by_name = dict(self._served)
        for alias, name in aliases.items():
            if alias in self._served:
                raise UsageError(f"the alias {alias!r} is the name of a model that is served")
            if name not in self._served:
                raise UsageError(f"the alias {alias!r} stands for {name!r}, which is not served; {self._cure(name)}")
            self._by_name[alias] = self._served[name]

    def find(self, name: str) -> ServedModel:
        """Return the model that a client means. Raises `RequestRefused` if there are several, and none of that name."""
        if name in self._by_name:
            return self._by_name[name]
        if len(self._served) == 1:
            return next(iter(self._served.values()))
        raise self._unknown(name)

    def describe_all(self, *, is_gemini: bool) -> dict[str, Any]:
        """Return the list of models, in the form of Gemini's API or with the fields of all other APIs."""
        names = list(self._by_name)  # those of the models first, then the aliases
        data = [_describe_model(name, is_gemini=is_gemini) for name in names]
        if is_gemini:
            return {"models": data}
        return {"object": "list", "data": data, "has_more": False, "first_id": names[0], "last_id": names[-1]}

    def describe(self, name: str, *, is_gemini: bool) -> dict[str, Any]:
        """Return one model of the list. Raises `RequestRefused` if the name is not in the list."""
        if name not in self._by_name:
            raise self._unknown(name)
        return _describe_model(name, is_gemini=is_gemini)

    def _unknown(self, name: str) -> RequestRefused:
        return RequestRefused("model_unknown", f"there is no model {name[:80]!r}; {self._cure(name)}")

    def _cure(self, name: str) -> str:
        similar = nearest(name, tuple(self._by_name))
        return f"did you mean {similar}?" if similar else f"the models are: {', '.join(self._by_name)}"


def _describe_model(name: str, *, is_gemini: bool) -> dict[str, Any]:
    if is_gemini:
        methods = ["generateContent", "streamGenerateContent", "countTokens"]
        return {"name": f"models/{name}", "displayName": name, "version": "1", "supportedGenerationMethods": methods}
    openai_fields = {"object": "model", "created": 0, "owned_by": "toolspeak"}
    anthropic_fields = {"type": "model", "created_at": "1970-01-01T00:00:00Z"}
    return {"id": name, "display_name": name, **openai_fields, **anthropic_fields}


class ModelReadiness:
    """Whether the embedded models are loaded. Models behind endpoints are not asked: that is for their own servers.

    Asking begins to load what is not loaded, in a thread. So a model whose process has died is loaded again, though
    whoever balances requests sends none to a gateway that is not ready.
    """

    def __init__(self, served: Iterable[ServedModel]) -> None:
        self._models = [each.model for each in served if isinstance(each.model, EmbeddedModel)]
        self._thread: threading.Thread | None = None
        self._has_failed = False

    async def report(self, request: Request, request_id: str) -> Response:
        """Answer that requests are answered, or why they are not yet. No model is named: no key was asked for."""
        if all(model.is_ready for model in self._models):
            return JsonResponse({"status": "ok"})
        if self._thread is None or not self._thread.is_alive():
            self._thread = threading.Thread(target=self._load, name="toolspeak-ready", daemon=True)
            self._thread.start()
        message = "a model is being loaded; ask again in a few seconds"
        if self._has_failed:
            message = "a model could not be loaded, and is tried again; the log of the gateway has the cause"
        return JsonResponse({"status": "loading", "message": message}, status_code=503)

    def _load(self) -> None:
        try:
            for model in self._models:
                model.load()
            self._has_failed = False
        except ToolspeakError as error:
            self._has_failed = True
            log.warning("a model could not be loaded: %s", error)


class ToolSizeHint:
    """Suggests `--tool-budget` in the log, once after the start, if the tools of a request are large."""

    def __init__(self) -> None:
        self._is_given = False
        self._measured: tuple[int, int | None] = 0, None  # the most tools of a request so far, and the context then

    def check(self, served: ServedModel, tools: tuple[ToolSpec, ...]) -> None:
        """Log a suggestion if tools take more than half of the context, and no budget was set."""
        if self._is_given or served.tool_budget is not None or not tools:
            return
        context = find_model_context(served.model)
        if len(tools) <= self._measured[0] and context == self._measured[1]:
            return
        self._measured = max(len(tools), self._measured[0]), context
        tokens = count_tool_tokens(tools, served.dialect)
        if tokens <= (LARGE_TOOL_TOKENS if context is None else context // 2):
            return
        self._is_given = True
        share = "" if context is None else f" of the {context} that {served.name} has room for"
        budget = max((context or 2 * LARGE_TOOL_TOKENS) // 8, 500)
        words = "%d tools take about %d tokens%s; toolspeak serve --tool-budget %d cuts their descriptions to that"
        log.warning(words, len(tools), tokens, share, budget)


class Gateway:
    """What the routes do with the models, and what they share."""

    def __init__(
        self,
        catalog: ModelCatalog,
        stored: StoredResponses,
        *,
        strict: bool,
        keeper: ReportKeeper | None,
        history: ExchangeHistory,
        ping_seconds: float = PING_SECONDS,
    ) -> None:
        self.stored = stored
        self._ping_seconds = ping_seconds
        self._catalog = catalog
        self._strict = strict
        self._size_hint = ToolSizeHint()
        self._keeper = keeper
        self._history = history
        self.figures = GatewayFigures()

    async def models(self, request: Request, request_id: str) -> Response:
        """List the models, in the form of Gemini's API for its clients."""
        return JsonResponse(self._catalog.describe_all(is_gemini=is_gemini_request(request)))

    async def model(self, request: Request, request_id: str) -> Response:
        """Return one model of the list."""
        name = request.path_params["name"]
        return JsonResponse(self._catalog.describe(name, is_gemini=is_gemini_request(request)))

    async def count_tokens(self, request: Request, request_id: str) -> Response:
        """Return the tokens of a request to Anthropic's API, which need not limit its answer here."""
        wire = WIRES["anthropic"]
        given = await read_body(request, lambda body: wire.read_request({"max_tokens": 1, **as_object(body)}))
        return await self._count(request, given, "anthropic", "input_tokens")

    async def count_gemini_tokens(self, request: Request, request_id: str) -> Response:
        """Return the tokens of a request to Gemini's API, which may be wrapped in another object."""
        wire, path = WIRES["gemini"], _path_with_query(request)

        def read(body: Any) -> ChatRequest:
            wrapped = as_object(as_object(body).get("generateContentRequest"))
            return wire.read_request(wrapped or body, path)

        return await self._count(request, await read_body(request, read), "gemini", "totalTokens")

    async def count_response_tokens(self, request: Request, request_id: str) -> Response:
        """Return the tokens of a request to the responses API, with all that it refers to."""
        given, _ = await self._read_stateful(request, _return_body)
        return await self._count(request, given, "openai-responses", "input_tokens", object="response.input_tokens")

    async def _read_stateful(
        self, request: Request, note: Callable[[Any], Any]
    ) -> tuple[ChatRequest, StoredInput | None]:
        """Read a request of the responses API, which may refer to answers that are kept.

        `note` is called with the body. What is stored of the request with its answer is returned; None if nothing is.
        """
        wire = WIRES["openai-responses"]
        body: dict[str, Any] = await read_body(request, note)
        stored = self.stored.read_input(request, body)
        if self.stored.has_references(body):
            request.state.is_large = True  # what it is expanded to may be

            def read_expanded() -> ChatRequest:
                expanded, earlier = self.stored.expand(body, stored)
                try:
                    return wire.read_request(expanded)
                except FieldError as error:
                    raise number_own_items(error, earlier) from None

            given = replace(await asyncio.to_thread(read_expanded), previous_id=stored.previous)
        elif request.state.is_large:
            given = await asyncio.to_thread(wire.read_request, body)
        else:
            given = wire.read_request(body)
        if not self.stored.is_on:
            return replace(given, store=False), None
        return given, stored if given.store else None

    async def _count(
        self, request: Request, given: ChatRequest, api: ServedApiName, field: str, **others: Any
    ) -> Response:
        served = self._catalog.find(given.model)
        reduced, _ = served.make_passthrough(api).reduce(given)
        count = await run_while_connected(
            request.receive, count_request(served.model, served.dialect, reduced, served.tool_budget)
        )
        response = JsonResponse({field: count.tokens, **others})
        response.headers[TOKENS_HEADER] = "estimated" if count.is_estimate else "counted"
        return response

    async def metrics(self, request: Request, request_id: str) -> Response:
        """Return the figures of the gateway."""
        return Response(self.figures.render(), headers={"content-type": CONTENT_TYPE})

    async def exchanges(self, request: Request, request_id: str) -> Response:
        """List the last exchanges, the latest first."""
        return JsonResponse({"exchanges": self._history.list_summaries()})

    async def exchange(self, request: Request, request_id: str) -> Response:
        """Return the report of one exchange."""
        exchange_id = request.path_params["id"]
        found = self._history.find(exchange_id)
        if found is None:
            raise RequestRefused("route_unknown", f"there is no exchange {exchange_id[:80]!r}, or it is no longer kept")
        return Response(found, media_type="application/json")

    def chat_handler(self, api: ServedApiName) -> Handler:
        """Return the handler of requests to a model, in one of the APIs."""
        wire = WIRES[api]

        async def handler(request: Request, request_id: str) -> Response:
            if self._keeper is None:
                return await answer(request, request_id, None)
            report = ExchangeReport(request_id, api, request.url.path, request.headers.get("traceparent", ""))
            try:
                return await answer(request, request_id, report)
            except Exception as error:
                if not isinstance(error, ClientDisconnect):
                    report.fail(error)
                self._keeper.finish(report)
                raise

        async def answer(request: Request, request_id: str, report: ExchangeReport | None) -> Response:
            began = time.monotonic()
            stored: StoredInput | None = None
            note = report.note_body if report is not None else _return_body
            if api == "openai-responses":
                given, stored = await self._read_stateful(request, note)
            else:
                path = _path_with_query(request)
                given = await read_body(request, lambda body: wire.read_request(note(body), path))
            served = self._catalog.find(given.model)
            request.state.model = served.name
            is_large: bool = request.state.is_large
            reduce = served.make_passthrough(api).reduce
            chat_request, notices = await asyncio.to_thread(reduce, given) if is_large else reduce(given)
            if self._strict:
                notices.refuse()
            if is_large:
                await asyncio.to_thread(self._size_hint.check, served, chat_request.tools)
            else:
                self._size_hint.check(served, chat_request.tools)
            if served.tool_budget is not None:
                # In a thread: a long list takes a tenth of a second when it is seen for the first time.
                arguments = chat_request.tools, served.dialect, served.tool_budget
                listed = await asyncio.to_thread(list_tools, *arguments, chat_request.messages, chat_request.choice)
                excess = describe_excess(listed)
                notices = replace(notices, remarks=(*notices.remarks, excess)) if excess else notices
            make_encoder = partial(
                wire.Encoder,
                chat_request.model,
                id=f"{wire.ID_PREFIX}{request_id}",
                created=int(time.time()),
                include_usage=chat_request.include_usage,
                request=given,
            )
            prefix = f"call_{secrets.token_hex(4)}"

            def ask(asked: ChatRequest, prefix: str) -> AsyncGenerator[list[Event]]:
                return answer_request(served, asked, prefix, api, report, self.figures, is_large=is_large)

            several = chat_request.count > 1
            events = answer_several(ask, chat_request, prefix) if several else ask(chat_request, prefix)
            described: list[dict[str, Any]] = []
            if (labels := read_labels(request.headers)) is not None:

                def find(ended: TurnEnded) -> None:
                    calls = ended.message.calls
                    found = find_answer_doubts(labels, chat_request.messages, chat_request.tools, calls)
                    described.extend(describe_doubts(found))
                    self.figures.count_doubts(served.name, len(found))

                events = watch_values(events, find)
            if report is not None and self._keeper is not None:
                report.doubts = described
                report.notices = str(notices)
                report.note_model(served, stream=chat_request.stream)
                respond = partial(_build_body, make_encoder)
                events = report.follow(events, respond, partial(self._keeper.finish, report))
            keep = partial(self.stored.keep, stored) if stored is not None else None
            if chat_request.stream:
                response = await start_stream(
                    request.receive,
                    events,
                    make_encoder(),
                    request_id,
                    self.figures,
                    ping_seconds=self._ping_seconds,
                    on_first=lambda: self.figures.count_first_token(served.name, time.monotonic() - began),
                    keep=keep,
                )
            else:
                ends = await run_while_connected(request.receive, read_to_end(events))
                usage = sum((end.usage for end in ends), Usage())
                body = _build_body(make_encoder, *ends)
                if keep is not None:
                    await keep(body)
                response = JsonResponse(body)
                if counts := describe_tokens(usage):
                    response.headers[TOKENS_HEADER] = counts
                    log.info("%s tokens: %s", request_id, counts)
                if described:
                    response.headers[DOUBTS_HEADER] = write_header(described)
            if told := str(notices):
                response.headers[NOTICE_HEADER] = told
                log.info("%s %s", request_id, told)
            return response

        return handler


def _return_body(body: Any) -> Any:
    return body


def _path_with_query(request: Request) -> str:
    """Return the path of a request as it was sent, with its query."""
    raw: bytes = request.scope.get("raw_path") or quote(request.scope["path"]).encode()
    query: bytes = request.scope["query_string"]
    return f"{raw.decode('latin-1')}?{query.decode('latin-1')}"


def _build_body(make_encoder: Callable[[], AnswerEncoder], *ends: TurnEnded) -> dict[str, Any]:
    """Return the body of a whole answer, or of several. Tokens are those of all."""
    usage = sum((end.usage for end in ends), Usage())
    bodies = [make_encoder().response(end.message, end.finish, usage, end.stop_text) for end in ends]
    return make_encoder().join(bodies)
