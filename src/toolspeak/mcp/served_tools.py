"""`ToolServer`: lists tools to MCP clients, and runs their calls.

- The name, the description and the schema of the arguments are those of the `ToolSpec`, unchanged: a tool has no name
  and no schema of arguments that MCP would refuse.
- The effect becomes hints. MCP's own defaults are the careful ones, so `once` needs none.
- The output is typed where the return annotation says more than a text does. MCP wants an object, so everything else is
  wrapped in one, under the key `result`.
- An error is a result with `isError`, in the words that a model of an agent would get, so that the client's model can
  mend its call. A result that does not fit the promised schema is an error, too: clients refuse it otherwise.
- A call that needs approval is decided by the user of the client, if the client can ask; else it is refused. The rule
  of `tool(approve=function)` says which calls need it; a call whose rule fails is not run. In the protocol of
  2026-07-28 the question is the answer to the call, which the client repeats with the decision; before, it is a request
  to the client. A decision counts for the question that was asked, once: with its question the client gets a sealed
  state, which only this process can make, and which holds for the same tool, arguments and account
  (`RequestStateBoundary` of the SDK). A decision without such a state, or with one that was used, is answered with the
  question.
- An agent that is served asks the same user about its own calls (`Context.approve`), with the reasons of `provenance`.
  That takes a request to the client in the middle of a call, so before 2026-07-28 only: later, its run can't go on
  where it was, and the answer says what it would have asked.
- Nothing is kept from one HTTP request to the next. How many calls run and wait is limited (`CallGate`).
"""

import asyncio
import base64
import json
import math
import secrets
from collections import deque
from collections.abc import AsyncGenerator, Awaitable, Callable, Iterable, Mapping
from contextlib import asynccontextmanager, suppress
from typing import Any, Literal, TypeAlias, cast, get_args

from mcp.server.context import ServerRequestContext
from mcp.server.lowlevel import Server
from mcp.server.request_state import RequestStateBoundary, RequestStateSecurity
from mcp.server.streamable_http_manager import StreamableHTTPSessionManager
from mcp.shared.exceptions import MCPError
from mcp.types.version import MODERN_PROTOCOL_VERSIONS
from starlette.responses import Response
from starlette.types import Receive, Scope, Send

from mcp import types
from toolspeak.execution import Executor
from toolspeak.execution.user_functions import needs_approval
from toolspeak.loop.words import truncate
from toolspeak.tools import Context, Skipped, Tool, Toolbox, output_text
from toolspeak.tools.context import ApproveCallback
from toolspeak.tools.toolbox import explain_unknown_tool
from toolspeak.values.errors import UsageError
from toolspeak.values.escaping import reveal
from toolspeak.values.events import Doubt
from toolspeak.values.frozen import frozen
from toolspeak.values.log import LOG
from toolspeak.values.messages import Media, ToolCall, ToolResult
from toolspeak.values.package import __version__
from toolspeak.values.spec import Schema, ToolSpec, resolve_reference
from toolspeak.values.validation import find_problems

RESULT_KEY = "result"  # the key under which an output that is no object is wrapped


@frozen
class ServedTool:
    """A tool that is served.

    Attributes:
        tool: The tool.
        listed: The tool as clients are told of it.
        is_wrapped: Whether the typed output is wrapped in an object, under `RESULT_KEY`.
    """

    tool: Tool[..., Any]
    listed: types.Tool
    is_wrapped: bool


def explain_refusal(tool: Tool[..., Any], deps: Any) -> str | None:
    """Return why a tool cannot be served; None if it can."""
    if tool.deps_type is not None and deps is None:
        return "it takes deps in its Context, and the server has none; give deps=… to ToolServer"
    if not _is_utf8(tool.spec.description) or not _is_utf8(tool.spec.parameters):
        return "its description or its schema holds half of a surrogate pair, which is no text"
    return None


def define_tool(tool: Tool[..., Any]) -> ServedTool:
    """Return a tool with its definition for clients."""
    spec = tool.spec
    output = build_output_schema(spec)
    is_wrapped = output is not None and output.get("type") != "object"
    if output is not None and is_wrapped:
        output = _wrap_schema(output)
    listed = types.Tool(
        name=spec.name,
        description=spec.description or None,
        input_schema=dict(spec.parameters),
        output_schema=None if output is None else dict(output),
        annotations=_build_hints(spec),
    )
    return ServedTool(tool=tool, listed=listed, is_wrapped=is_wrapped)


def build_output_schema(spec: ToolSpec) -> Schema | None:
    """Return the schema of the output, not wrapped; None if the output is not typed.

    It is not where nothing is known of it, as of media, which MCP sends beside it, where the text says it all (a `str`,
    None), and where the text may be cut (`max_output`).
    """
    schema = spec.returns
    if schema is None or spec.max_output is not None or not _is_utf8(schema):
        return None
    schema = resolve_reference(schema, schema)
    if not schema.keys() - {"description", "$defs"} or schema.get("type") in ("string", "null"):
        return None
    return schema


def _wrap_schema(schema: Schema) -> dict[str, Any]:
    defs = {"$defs": schema["$defs"]} if "$defs" in schema else {}
    inner = {key: value for key, value in schema.items() if key != "$defs"}
    return {"type": "object", "properties": {RESULT_KEY: inner}, "required": [RESULT_KEY], **defs}


def _build_hints(spec: ToolSpec) -> types.ToolAnnotations:
    is_open = {"own": False, "foreign": True, "": None}[spec.result]
    match spec.effect:
        case "read":
            return types.ToolAnnotations(read_only_hint=True, open_world_hint=is_open)
        case "idempotent":
            return types.ToolAnnotations(read_only_hint=False, idempotent_hint=True, open_world_hint=is_open)
        case "once":
            asks = True if spec.approve else None
            return types.ToolAnnotations(read_only_hint=False, destructive_hint=asks, open_world_hint=is_open)


def _is_utf8(value: Any) -> bool:
    """Whether every text in a JSON value can be sent."""
    if isinstance(value, str):
        return value.isascii() or not any("\ud800" <= char <= "\udfff" for char in value)
    if isinstance(value, Mapping):
        return all(_is_utf8(key) and _is_utf8(item) for key, item in cast("Mapping[Any, Any]", value).items())
    return all(map(_is_utf8, cast("list[Any]", value))) if isinstance(value, list | tuple) else True


MAX_SHOWN_PROBLEMS = 5  # how many problems of an output are listed


def make_call_result(served: ServedTool, result: ToolResult) -> types.CallToolResult:
    """Return the result of a call for the client."""
    media = [_convert_media(each) for each in result.media]
    if result.error is not None:
        return make_error_result(result.error, media)
    text, output = _replace_surrogates(output_text(result.output), result.output)
    spec, schema = served.tool.spec, served.listed.output_schema
    if schema is not None:
        structured = {RESULT_KEY: output} if served.is_wrapped else output
        problems = find_problems(structured, schema, schema)
        shown = [problem for problem, _ in zip(problems, range(MAX_SHOWN_PROBLEMS), strict=False)]
        if shown:
            lines = "\n".join(f"- {problem}" for problem in shown)
            said = f"{spec.name} ran, but its result does not fit its return annotation:\n{lines}\nThe result: {text}"
            return make_error_result(said, media)
        return types.CallToolResult(content=[_make_text(text), *media], structured_content=structured)
    if spec.max_output is not None:
        text = truncate(text, spec.max_output)
    is_only_media = bool(media) and result.output is None
    return types.CallToolResult(content=media if is_only_media else [_make_text(text), *media])


def make_error_result(error: str, media: list[types.ContentBlock] | None = None) -> types.CallToolResult:
    """Return the result of a call that failed or was refused."""
    text, _ = _replace_surrogates(error, None)
    return types.CallToolResult(content=[_make_text(text), *(media or ())], is_error=True)


def _make_text(text: str) -> types.TextContent:
    return types.TextContent(type="text", text=text)


def _replace_surrogates(text: str, output: Any) -> tuple[str, Any]:
    """Return a text and the JSON value that it shows, without halves of surrogate pairs, which cannot be sent."""
    try:
        text.encode()
    except UnicodeEncodeError:
        text = text.encode(errors="replace").decode()
        return text, text if isinstance(output, str) or output is None else json.loads(text)
    return text, output


def _convert_media(media: Media) -> types.ContentBlock:
    if media.data is None:
        name = media.name or "media"
        return types.ResourceLink(type="resource_link", uri=media.url or "", name=name, mime_type=media.mime)
    encoded = base64.b64encode(media.data).decode()
    match media.mime.partition("/")[0]:
        case "image":
            return types.ImageContent(type="image", data=encoded, mime_type=media.mime)
        case "audio":
            return types.AudioContent(type="audio", data=encoded, mime_type=media.mime)
        case _:
            uri = f"attachment:///{media.name or 'file'}"
            resource = types.BlobResourceContents(uri=uri, blob=encoded, mime_type=media.mime)
            return types.EmbeddedResource(type="resource", resource=resource)


ApprovalRule: TypeAlias = Literal["ask", "always", "never"]
"""Who approves calls of tools with `approve=True`: the user of the client, everybody, or nobody."""

QUESTION_KEY = "approval"
MAX_SHOWN_CHARS = 2_000  # characters of the arguments in the question
MAX_SHOWN_REASONS = 10
MAX_ANSWER_SECONDS = 3_600.0  # seconds in which a question must be answered
MAX_USED_QUESTIONS = 10_000  # answered questions that are remembered, so that none is answered twice
NO_FIELDS: dict[str, Any] = {"type": "object", "properties": {}}  # a form without fields: the answer is yes or no


def seal_questions(server_name: str) -> RequestStateBoundary:
    """Return the middleware that binds the state of a question to the call that it was asked for."""
    return RequestStateBoundary(RequestStateSecurity.ephemeral(ttl=MAX_ANSWER_SECONDS), default_audience=server_name)


class ClientApproval:
    """Decides whether calls of tools that need approval may run, by asking the users of clients."""

    def __init__(self, rule: ApprovalRule) -> None:
        self._rule: ApprovalRule = rule
        self._used: deque[str] = deque(maxlen=MAX_USED_QUESTIONS)

    async def get(
        self, context: ServerRequestContext[Any, Any], call: types.CallToolRequestParams
    ) -> types.CallToolResult | types.InputRequiredResult | None:
        """Return None if a call is approved, else what the client is answered: a question or a refusal."""
        if self._rule == "always":
            return None
        if self._rule == "never" or not _can_ask(context):
            return make_error_result(
                f"{call.name} was not run: it needs approval, and there is nobody here to ask. The owner of this "
                "server can let it run with --approve always."
            )
        if context.protocol_version in MODERN_PROTOCOL_VERSIONS:
            answer = self._take_answer(call)
            if answer is None:
                message = format_question(call.name, call.arguments)
                question = types.ElicitRequestFormParams(message=message, requested_schema=NO_FIELDS)
                return types.InputRequiredResult(
                    input_requests={QUESTION_KEY: types.ElicitRequest(params=question)},
                    request_state=secrets.token_urlsafe(),
                )
        else:
            message = format_question(call.name, call.arguments)
            answer = await context.session.elicit_form(message, NO_FIELDS, context.request_id)
        if isinstance(answer, types.ElicitResult) and answer.action == "accept":
            return None
        return make_error_result(f"{call.name} was not run: the user did not approve it.")

    def build_approver(self, context: ServerRequestContext[Any, Any]) -> ApproveCallback | None:
        """Return what asks the user of a client while a call runs; None if that is not possible."""
        if self._rule != "ask" or not _can_ask(context) or context.protocol_version in MODERN_PROTOCOL_VERSIONS:
            return None
        loop = asyncio.get_running_loop()

        async def approve(call: ToolCall, about: Context[Any]) -> bool:
            message = format_question(call.name, call.arguments, about.doubts)
            asking = context.session.elicit_form(message, NO_FIELDS, context.request_id)
            # The function that asks may run in a thread, with an event loop of its own.
            answer = await asyncio.wrap_future(asyncio.run_coroutine_threadsafe(asking, loop))
            return answer.action == "accept"

        return approve

    def _take_answer(self, call: types.CallToolRequestParams) -> types.InputResponse | None:
        """Return the answer to the question about this very call, the first time that it comes."""
        answer = (call.input_responses or {}).get(QUESTION_KEY)
        question = call.request_state  # unsealed: it was made here, for this call
        if answer is None or question is None or question in self._used:
            return None
        self._used.append(question)
        return answer


def _can_ask(context: ServerRequestContext[Any, Any]) -> bool:
    capabilities = context.session.client_capabilities
    asks = None if capabilities is None else capabilities.elicitation
    if asks is None or (asks.form is None and asks.url is not None):
        return False
    return context.protocol_version in MODERN_PROTOCOL_VERSIONS or context.session.can_send_request


def format_question(name: str, given: Mapping[str, Any] | None, doubts: Iterable[Doubt] = ()) -> str:
    """Return the question whether a call may run, without characters that hide or reorder what is shown."""
    arguments = reveal(json.dumps(given or {}, ensure_ascii=False), keeps_lines=False)
    hidden = len(arguments) - MAX_SHOWN_CHARS
    if hidden > 0:
        arguments = f"{arguments[:MAX_SHOWN_CHARS]}… ({hidden:,} more character{'s' * (hidden != 1)} not shown)"
    reasons = [f"- {each.summary}" for each in doubts]
    if len(reasons) > MAX_SHOWN_REASONS:
        reasons[MAX_SHOWN_REASONS:] = [f"- more values in doubt: {len(reasons) - MAX_SHOWN_REASONS:,}"]
    return "\n".join([f"Run {reveal(name, keeps_lines=False)} with {arguments}?", *reasons])


MAX_TEXT_CHARS = 1_000  # characters of the text of a report

SendProgress: TypeAlias = Callable[[float, float | None, str | None], Awaitable[None]]


class ProgressSender:
    """Sends the reports of one call. Of several that come while one is sent, only the last is sent.

    By the rules of MCP the progress must grow; a report that is not above the one before is not sent.
    """

    def __init__(self, send: SendProgress) -> None:
        self._send = send
        self._loop = asyncio.get_running_loop()
        self._latest: tuple[float, float | None, str] | None = None
        self._is_announced = False
        self._sent = -math.inf
        self._task: asyncio.Task[None] | None = None
        self._is_closed = False

    def report(self, done: float, total: float | None, text: str) -> None:
        """Take a report, in any thread."""
        self._latest = (done, total, text)
        if not self._is_announced:
            self._is_announced = True
            with suppress(RuntimeError):  # the event loop is closed: the call was given up long ago
                self._loop.call_soon_threadsafe(self._start)

    def _start(self) -> None:
        if self._task is None and not self._is_closed:
            self._task = self._loop.create_task(self._send_all())

    async def _send_all(self) -> None:
        while True:
            self._is_announced = False  # before the look: a report that comes from now on starts another task
            latest, self._latest = self._latest, None
            if latest is None:
                break
            done, total, text = latest
            if done > self._sent and math.isfinite(done) and (total is None or math.isfinite(total)):
                self._sent = done
                await self._send(done, total, text[:MAX_TEXT_CHARS] or None)
        self._task = None

    async def finish(self) -> None:
        """Send the last report, after the function has returned."""
        if self._is_announced:
            self._start()
        self._is_closed = True
        if self._task is not None:
            await self._task

    def cancel(self) -> None:
        """Send nothing more."""
        self._is_closed = True
        if self._task is not None:
            self._task.cancel()


MAX_RUNNING_CALLS = 64  # at once; further ones wait
MAX_WAITING_CALLS = 192  # further ones are refused


class TooManyCalls(Exception):
    """A call is refused, because too many others wait."""


class CallGate:
    """Admits calls in the order in which they come. A sequential call runs alone.

    Nothing is awaited when a call leaves: a call that is cancelled could not wait for anything.
    """

    def __init__(self, max_running: int = MAX_RUNNING_CALLS, max_waiting: int = MAX_WAITING_CALLS) -> None:
        self._max_running = max_running
        self._max_waiting = max_waiting
        self._running = 0
        self._is_exclusive = False
        self._queue: deque[tuple[bool, asyncio.Future[None]]] = deque()

    @asynccontextmanager
    async def admit(self, *, alone: bool) -> AsyncGenerator[None]:
        """Wait until a call may run; the call runs inside.

        Args:
            alone: Whether the call must run alone.

        Raises:
            TooManyCalls: Too many calls wait already.
        """
        if len(self._queue) >= self._max_waiting:
            counts = f"{self._running} run and {len(self._queue)} wait"
            raise TooManyCalls(f"too many calls at once: {counts}; call again when some are done")
        admitted: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        self._queue.append((alone, admitted))
        self._admit_next()
        try:
            await admitted
        except asyncio.CancelledError:
            if admitted.cancelled():
                self._admit_next()  # it may have been the one that the others waited for
            else:
                self._leave()
            raise
        try:
            yield
        finally:
            self._leave()

    def _leave(self) -> None:
        self._running -= 1
        self._is_exclusive = False
        self._admit_next()

    def _admit_next(self) -> None:
        while self._queue and not self._is_exclusive and self._running < self._max_running:
            alone, admitted = self._queue[0]
            if admitted.cancelled():
                self._queue.popleft()
                continue
            if alone and self._running:
                return
            self._queue.popleft()
            self._running += 1
            self._is_exclusive = alone
            admitted.set_result(None)


MAX_MESSAGE_BYTES = 4_000_000  # the largest message that a client may send


class ToolServer:
    """Tools as an MCP server.

    `serve_stdio(server)` serves it over standard input and output. The server is also an ASGI app, for stateless HTTP:
    it can be a route of any Starlette app. There it checks neither keys nor origins; the app must.

    Attributes:
        toolbox: The tools that are served.
        left_out: The tools that cannot be served, and why.
        protocol: The server of the official SDK.

    Examples:
        >>> def double(x: int) -> int:
        ...     "Double a number."
        ...     return 2 * x
        >>> ToolServer([double]).toolbox.names
        ('double',)
    """

    def __init__(
        self,
        tools: Iterable[Callable[..., Any] | Tool[..., Any]],
        *,
        name: str = "toolspeak",
        deps: Any = None,
        timeout: float | None = None,
        approve: ApprovalRule = "ask",
    ) -> None:
        """Prepare a server.

        Args:
            tools: Functions, tools, or a toolbox.
            name: The name of the server, for clients.
            deps: What tools get in their `Context`.
            timeout: Seconds before a call times out, if its tool has no timeout of its own.
            approve: Who approves calls of tools that need approval: the user of a client that can be asked (`"ask"`;
                other clients are refused), `"always"` or `"never"`.

        Raises:
            UsageError: None of the tools can be served.
        """
        if approve not in get_args(ApprovalRule):
            raise UsageError(f"approve is 'ask', 'always' or 'never', not {approve!r}")
        if timeout is not None and not timeout > 0:
            raise UsageError(f"timeout is a number of seconds above 0, not {timeout!r}")
        refusals = {tool: explain_refusal(tool, deps) for tool in Toolbox(tools)}
        self.left_out = tuple(
            Skipped(name=tool.name, reason=reason) for tool, reason in refusals.items() if reason is not None
        )
        self.toolbox = Toolbox(tool for tool, reason in refusals.items() if reason is None)
        if not len(self.toolbox):
            reasons = "; ".join(f"{each.name}: {each.reason}" for each in self.left_out)
            raise UsageError(f"there is no tool to serve{f' ({reasons})' if reasons else ''}")
        self._served = {tool.name: define_tool(tool) for tool in self.toolbox}
        self._listed = types.ListToolsResult(tools=[each.listed for each in self._served.values()])
        self._deps = deps
        self._timeout = timeout
        self._approval = ClientApproval(approve)
        self._gate = CallGate()
        self.protocol: Server[Any] = Server(
            name,
            version=__version__,
            on_list_tools=self._list_tools,
            on_call_tool=self._call_tool,
            get_tool_input_schema=self._get_input_schema,
        )
        self.protocol.middleware.append(seal_questions(name))

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer one HTTP request. Nothing is kept from one request to the next, nor does anything run on after it."""
        if scope["type"] != "http" or scope["method"] != "POST":
            await Response(status_code=405, headers={"allow": "POST"})(scope, receive, send)
            return
        manager = StreamableHTTPSessionManager(self.protocol, stateless=True, max_request_body_size=MAX_MESSAGE_BYTES)
        async with manager.run():
            await manager.handle_request(scope, receive, send)

    def _get_input_schema(self, name: str) -> dict[str, Any] | None:
        served = self._served.get(name)
        return None if served is None else served.listed.input_schema

    async def _list_tools(
        self, context: ServerRequestContext[Any, Any], params: types.PaginatedRequestParams | None
    ) -> types.ListToolsResult:
        return self._listed

    async def _call_tool(
        self, context: ServerRequestContext[Any, Any], params: types.CallToolRequestParams
    ) -> types.CallToolResult | types.InputRequiredResult:
        served = self._served.get(params.name)
        if served is None:
            raise MCPError(types.INVALID_PARAMS, explain_unknown_tool(params.name, self.toolbox.names))
        spec = served.tool.spec
        call = ToolCall(id=str(context.request_id), name=params.name, arguments=params.arguments or {})
        if spec.approve:
            try:
                must_ask = await needs_approval(served.tool, call, Context(deps=self._deps, call_id=call.id, turn=1))
            except Exception as error:  # of the user's function
                LOG.warning("%s: its approve= function failed", call.name, exc_info=error)
                return make_error_result(f"{call.name} was not run: its approve= function failed: {error}")
            if must_ask and (answer := await self._approval.get(context, params)) is not None:
                return answer
        try:
            async with self._gate.admit(alone=spec.sequential):
                result = await self._run(call, context)
        except TooManyCalls as error:
            raise MCPError(types.INTERNAL_ERROR, str(error)) from None
        return make_call_result(served, result)

    async def _run(self, call: ToolCall, context: ServerRequestContext[Any, Any]) -> ToolResult:
        """Run a call. If the client cancels it, its function is cancelled."""
        progress = ProgressSender(context.session.report_progress)
        # An executor for each call: one keeps what functions raised, and a server has no end.
        approve = self._approval.build_approver(context)
        executor = Executor(self.toolbox, deps=self._deps, timeout=self._timeout, approve=approve)
        ended: asyncio.Future[ToolResult] = asyncio.get_running_loop().create_future()

        def end(result: ToolResult) -> None:
            if not ended.done():
                ended.set_result(result)

        running = executor.start(call, {}, 1, end, on_progress=progress.report)
        try:
            result = await ended
            await progress.finish()
        except asyncio.CancelledError:
            running.cancel()
            progress.cancel()
            raise
        return result
