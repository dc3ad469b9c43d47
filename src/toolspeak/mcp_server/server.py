"""`ToolServer`: lists tools to MCP clients, and runs their calls."""

import asyncio
from collections.abc import Callable, Iterable
from typing import Any, get_args

from mcp import types
from mcp.server.context import ServerRequestContext
from mcp.server.lowlevel import Server
from mcp.server.streamable_http_manager import StreamableHTTPSessionManager
from mcp.shared.exceptions import MCPError
from starlette.responses import Response
from starlette.types import Receive, Scope, Send

from toolspeak._version import __version__
from toolspeak.errors import UsageError
from toolspeak.execution import Executor
from toolspeak.mcp_server.approval import ApprovalRule, ClientApproval, seal_questions
from toolspeak.mcp_server.call_gate import CallGate, TooManyCalls
from toolspeak.mcp_server.call_results import make_call_result
from toolspeak.mcp_server.definitions import ServedTool, define_tool, explain_refusal
from toolspeak.mcp_server.progress import ProgressSender
from toolspeak.messages import ToolCall, ToolResult
from toolspeak.tools import Skipped, Tool, Toolbox
from toolspeak.tools.toolbox import explain_unknown_tool

MAX_MESSAGE_BYTES = 4_000_000
"""The largest message that a client may send."""


class ToolServer:
    """Tools as an MCP server.

    `serve_stdio(server)` serves it over standard input and output. The server is also an ASGI app, for stateless HTTP:
    it may be a route of any Starlette app. It checks neither keys nor origins there; that is for the app.

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
            timeout: Seconds after which a call is given up, if its tool has no timeout of its own.
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
        if spec.approve and (answer := await self._approval.get(context, params)) is not None:
            return answer
        try:
            async with self._gate.admit(alone=spec.sequential):
                result = await self._run(served, context, params.arguments or {})
        except TooManyCalls as error:
            raise MCPError(types.INTERNAL_ERROR, str(error)) from None
        return make_call_result(served, result)

    async def _run(
        self, served: ServedTool, context: ServerRequestContext[Any, Any], arguments: dict[str, Any]
    ) -> ToolResult:
        """Run a call. If the client cancels it, its function is cancelled."""
        progress = ProgressSender(context.session.report_progress)
        # An executor for each call: one keeps what functions raised, and a server has no end.
        executor = Executor(self.toolbox, deps=self._deps, timeout=self._timeout)
        ended: asyncio.Future[ToolResult] = asyncio.get_running_loop().create_future()

        def end(result: ToolResult) -> None:
            if not ended.done():
                ended.set_result(result)

        call = ToolCall(id=str(context.request_id), name=served.tool.name, arguments=arguments)
        running = executor.start(call, {}, 1, end, on_progress=progress.report)
        try:
            result = await ended
            await progress.finish()
        except asyncio.CancelledError:
            running.cancel()
            progress.cancel()
            raise
        return result
