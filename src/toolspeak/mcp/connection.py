"""`Connection`: one life of an MCP server, from its start to its end.

One task, the owner, opens the connection, keeps it open and closes it: the SDK refuses to close a connection in another
task than the one that opened it. Calls run in tasks of their own, in the same event loop.

All servers of a program live in one event loop, in a thread of its own (`LoopThread`): runs use other event loops, that
of the caller or that of a portal, and a server outlives them. The thread starts with the first server and ends with the
last one.
"""

import asyncio
import atexit
import json
import logging
import math
import os
import threading
from collections.abc import Awaitable, Callable, Coroutine, Sequence
from concurrent.futures import Future
from contextlib import AsyncExitStack, suppress
from dataclasses import replace
from typing import TYPE_CHECKING, Any, TypeAlias, TypeVar

from toolspeak.mcp.config import ServerConfig
from toolspeak.mcp.failure import ServerFailure, find_reason
from toolspeak.mcp.server_requests import build_elicitation, build_sampling
from toolspeak.tools.context import ProgressCallback
from toolspeak.values.errors import ServerFailed, ToolError, ToolspeakError
from toolspeak.values.package import __version__, suggest_install

if TYPE_CHECKING:
    from mcp_types import CallToolResult

    from mcp import Client

Definition: TypeAlias = dict[str, Any]
"""The definition of a tool, as the server sent it."""

INSTRUCTIONS = "(instructions)"
"""The name of the first definition, which is no tool: its description is what the server says of itself, if it does.

So it is pinned like a tool. A tool of that name is left out.
"""

SDK_STATUS_ERRORS = ("Server returned an error response", "Not Found")  # what the SDK says instead of a status
NO_POST = (400, 404, 405)  # statuses of a server that may speak the form of HTTP before 2025, which is then tried

MAX_INSTRUCTIONS_CHARS = 20_000  # that are kept; a model is shown fewer
MAX_LIST_PAGES = 100
MAX_TOOLS = 2_000  # of one server; more are refused, since nobody could look at them
MAX_DEFINITIONS_CHARS = 4_000_000  # of all tools of one server; more are refused
MAX_DEFINITIONS_VALUES = 500_000  # JSON values, likewise
MAX_REPORT_CHARS = 1_000  # of the text of a report of progress
MAX_REPORTS, REPORTS_PER_SECOND = 1_000, 10  # of a call, at once and then on; more are dropped
END_TIMEOUT_SECONDS = 5.0  # for a connection to end; the transports take less
CLOSE_TIMEOUT_SECONDS = 10.0  # that `close` waits for a server to end

T = TypeVar("T")


class LoopThread:
    """An event loop in a daemon thread.

    Attributes:
        users: How many connections live in it.
        pid: The process that the thread belongs to; a fork of it has no such thread.
    """

    def __init__(self) -> None:
        self.users = 0
        self.pid = os.getpid()
        self._loop = asyncio.new_event_loop()
        self._thread = threading.Thread(target=self._serve, name="toolspeak MCP", daemon=True)
        self._thread.start()

    def _serve(self) -> None:
        asyncio.set_event_loop(self._loop)
        try:
            self._loop.run_forever()
            self._loop.run_until_complete(self._shut_down())
        finally:
            self._loop.close()

    async def _shut_down(self) -> None:
        left = asyncio.all_tasks() - {asyncio.current_task()}
        for task in left:
            task.cancel()
        if left:
            await asyncio.wait(left, timeout=1.0)
        await self._loop.shutdown_asyncgens()

    def submit(self, work: Coroutine[Any, Any, T]) -> Future[T]:
        """Start a coroutine in the loop. Cancelling the future cancels the coroutine."""
        return asyncio.run_coroutine_threadsafe(work, self._loop)

    def call_soon(self, function: Callable[[], None]) -> None:
        """Call a function in the loop. Raises `RuntimeError` if the loop is closed."""
        self._loop.call_soon_threadsafe(function)

    def is_current_thread(self) -> bool:
        """Whether the caller is in this thread."""
        return threading.current_thread() is self._thread

    def stop(self) -> None:
        """Let the thread end, without waiting for it."""
        with suppress(RuntimeError):
            self._loop.call_soon_threadsafe(self._loop.stop)

    def join(self) -> None:
        """Wait until the thread has ended."""
        if not self.is_current_thread() and self.pid == os.getpid():
            self._thread.join(CLOSE_TIMEOUT_SECONDS)


_lock = threading.RLock()  # a server may be collected, and so released, while this very thread holds the lock
_current: LoopThread | None = None


def acquire_loop() -> LoopThread:
    """Return the thread that all servers share, with one user more."""
    global _current
    with _lock:
        if _current is None or _current.pid != os.getpid():
            _current = LoopThread()
        _current.users += 1
        return _current


def release_loop(thread: LoopThread) -> bool:
    """Take one user away, and stop the thread if there is none left. Return whether the thread was stopped."""
    global _current
    with _lock:
        thread.users -= 1
        if thread.users:
            return False
        if _current is thread:
            _current = None
        thread.stop()
        return True


class SessionUnknown(ServerFailed):
    """An HTTP server that was started anew refused a call, since it does not know the session: the call did not run."""


_live: set["Connection"] = set()
_live_lock = threading.RLock()


class Connection:
    """A server that was started. It ends once, by itself or by `close`.

    Attributes:
        config: How the server is reached.
        started: The definitions of the tools, or the error with which the start failed.
        offers: What the server has beside tools, once it has started: "resources", "prompts".
        failure: Why the connection ended.
        pid: The process that started the server.
    """

    def __init__(self, config: ServerConfig) -> None:
        self.config = config
        self.started: Future[Sequence[Definition]] = Future()
        self.offers: frozenset[str] = frozenset()
        self.failure = ServerFailure()
        self.pid = os.getpid()
        self._client: Client | None = None
        self._is_broken = False
        self._task: asyncio.Task[None] | None = None
        self._stopping = asyncio.Event()
        self._ended = threading.Event()
        with _live_lock:
            if not _live:
                atexit.unregister(close_all)
                atexit.register(close_all)
            _live.add(self)
        self._thread = acquire_loop()
        self._owner = self._thread.submit(self._own())
        self._owner.add_done_callback(self._finish)

    @property
    def is_alive(self) -> bool:
        """Whether calls can be sent, as far as is known. A fork has no connection of its parent's."""
        is_over = self._is_broken or self.failure.is_over or self._owner.done()
        return not is_over and self.pid == os.getpid()

    async def _own(self) -> None:
        self._task = asyncio.current_task()
        error: BaseException | None = None
        try:
            config = self.config.expand()
            error = await self._live(_build_client(config, self.failure))  # imports the SDK, in no time of the server's
            may_be_older = config.transport == "http" and self.failure.post_status in NO_POST
            if may_be_older and not self.started.done() and not self._stopping.is_set():
                first, self.failure = self.failure, ServerFailure()
                await self._live(_build_client(replace(config, transport="sse"), self.failure))
                if not self.started.done():
                    self.failure = first
        except BaseException as raised:
            error = raised
        if not self.started.done():
            self.started.set_exception(self._explain_failed_start(error))

    async def _live(self, built: "Client") -> BaseException | None:
        """Open a connection, and close it at the end. Return the error that ended it, if there was one."""
        error: BaseException | None = None
        now = asyncio.get_running_loop().time
        # A server may refuse to end. Whoever waits for it has an answer all the same.
        ending = asyncio.timeout(self.config.start_timeout + END_TIMEOUT_SECONDS)
        try:
            async with ending, AsyncExitStack() as stack:
                try:
                    async with asyncio.timeout(self.config.start_timeout):
                        client = await stack.enter_async_context(built)
                        definitions = await _list_tools(client, self.config.name)
                        if self.config.instructions:
                            text = (client.instructions or "")[:MAX_INSTRUCTIONS_CHARS]
                            definitions.insert(0, {"name": INSTRUCTIONS, **({"description": text} if text else {})})
                    ending.reschedule(None)
                    self._client = client
                    capabilities = client.server_capabilities
                    self.offers = frozenset(each for each in ("resources", "prompts") if getattr(capabilities, each))
                    self.started.set_result(definitions)
                    await self._stopping.wait()
                except BaseException as raised:
                    error = raised
                    raise
                finally:
                    ending.reschedule(now() + END_TIMEOUT_SECONDS)
        except BaseException as raised:  # whatever ended the connection is the answer to whoever waits for it
            if error is None or (isinstance(error, asyncio.CancelledError) and not ending.expired()):
                error = raised  # why the SDK cancelled the start
        self._client = None
        return error

    def _explain_failed_start(self, error: BaseException | None) -> BaseException:
        self._is_broken = True
        if isinstance(error, ToolspeakError):
            return error
        if isinstance(error, TimeoutError):
            self.failure.reason = f"it was not ready within {self.config.start_timeout:g} s"
        if error is not None and not self.failure.reason:
            reason, status = find_reason(error), self.failure.post_status
            self.failure.reason = f"it answered with HTTP {status}" if reason in SDK_STATUS_ERRORS else reason
        return ServerFailed(f"the MCP server {self.config.name} did not start: {self.failure.describe(error)}")

    def _finish(self, owner: Future[None]) -> None:
        with _live_lock:
            _live.discard(self)
        release_loop(self._thread)
        self._ended.set()

    def call(
        self, tool: str, arguments: dict[str, Any], report: ProgressCallback | None = None
    ) -> "Future[CallToolResult]":
        """Send a call. Cancelling the future cancels the call, and tells the server so.

        `report` gets what the server reports of the call, in the thread of the connection.
        """
        return self._thread.submit(self._call(tool, arguments, report))

    async def _call(self, tool: str, arguments: dict[str, Any], report: ProgressCallback | None) -> "CallToolResult":
        listener = self.config.on_progress
        furthest = -math.inf
        now = asyncio.get_running_loop().time
        began, reports = now(), 0

        async def on_progress(progress: float, total: float | None, message: str | None) -> None:
            nonlocal furthest, reports
            reports += 1
            if reports > MAX_REPORTS + REPORTS_PER_SECOND * (now() - began):  # who reads them may be slower
                reports -= 1
                return
            message = message[:MAX_REPORT_CHARS] if message else message
            if listener is not None:
                listener(tool, progress, total, message)
            if report is not None and progress > furthest:  # the SDK does not keep the order of reports
                furthest = progress
                report(progress, total, message or "")

        _check_arguments(arguments)
        callback = on_progress if listener is not None or report is not None else None
        return await self._ask(lambda client: client.call_tool(tool, arguments, progress_callback=callback))

    def ask(self, request: "Callable[[Client], Awaitable[T]]") -> Future[T]:
        """Send another request than a call. Cancelling the future cancels it."""
        return self._thread.submit(self._ask(request))

    async def _ask(self, request: "Callable[[Client], Awaitable[T]]") -> T:
        from mcp.shared.exceptions import MCPError
        from mcp_types import CONNECTION_CLOSED
        from pydantic import ValidationError

        from toolspeak.mcp.transports import SESSION_UNKNOWN, UNREADABLE

        if self._client is None:
            raise ServerFailed(self._explain_end())
        try:
            return await request(self._client)
        except MCPError as error:
            if error.code in (CONNECTION_CLOSED, SESSION_UNKNOWN):
                self._is_broken = True
                kind = SessionUnknown if error.code == SESSION_UNKNOWN else ServerFailed
                raise kind(self._explain_end(error)) from error
            if error.code == UNREADABLE:
                raise ServerFailed(self._explain_answer(error)) from error
            raise ServerFailed(f"the MCP server {self.config.name} refused the call: {find_reason(error)}") from error
        except ValidationError as error:
            raise ServerFailed(self._explain_answer(error)) from error
        except RuntimeError as error:  # what it returned does not fit the schema that it declared
            raise ServerFailed(f"{find_reason(error)}; the call may have taken effect") from error

    def _explain_answer(self, error: BaseException) -> str:
        place = f"the MCP server {self.config.name} answered with something that is no result"
        return f"{place} ({find_reason(error)}); the call may have taken effect"

    def _explain_end(self, error: BaseException | None = None) -> str:
        reason = self.failure.reason or "it has ended"
        detail = f": {find_reason(error)}" if error is not None and self.config.transport != "stdio" else ""
        return f"the MCP server {self.config.name} gave no answer ({reason}{detail}); the call may have taken effect"

    def close(self, *, wait: bool = True) -> None:
        """End the server, and wait until it has ended."""
        if self.pid != os.getpid():  # in a fork: the server belongs to the parent
            return
        self._is_broken = True
        with suppress(RuntimeError):  # the loop has stopped already
            self._thread.call_soon(self._stop)
        if wait and not self._thread.is_current_thread():
            self._ended.wait(CLOSE_TIMEOUT_SECONDS)
            if not self._thread.users:
                self._thread.join()

    def _stop(self) -> None:
        self._stopping.set()
        if self._task is not None and not self.started.done():
            self._task.cancel()


def close_all() -> None:
    """End all servers of this program; called at its end."""
    with _live_lock:
        connections = list(_live)
    for connection in connections:
        connection.close(wait=False)
    for connection in connections:
        connection.close()


def _build_client(config: ServerConfig, failure: ServerFailure) -> "Client":
    try:
        from mcp_types import Implementation

        from mcp import Client
    except ImportError as error:
        raise ServerFailed(f"MCP servers need the package mcp: {suggest_install('mcp')} ({error})") from None
    if config.transport == "stdio":
        from toolspeak.mcp.transports import open_stdio as open_transport
    else:
        from toolspeak.mcp.transports import open_http as open_transport
    # What the SDK logs is in the errors here, too. Python would print it where a program has not configured logging.
    logging.getLogger("mcp.client").addHandler(logging.NullHandler())
    transport: Any = open_transport(config, failure)
    return Client(
        transport,
        client_info=Implementation(name="toolspeak", version=__version__),
        cache=None,
        sampling_callback=None if config.on_sampling is None else build_sampling(config.name, config.on_sampling),
        elicitation_callback=(
            None if config.on_elicitation is None else build_elicitation(config.name, config.on_elicitation)
        ),
    )


def _check_arguments(arguments: dict[str, Any]) -> None:
    """Refuse what cannot be sent: the transports would end at it."""
    from pydantic_core import to_json

    try:
        to_json([[[[arguments]]]])  # no deeper than in a message
    except ValueError as error:
        is_deep = "depth" in str(error)
        reason = "they are nested too deeply" if is_deep else "a text in them has half of a surrogate pair"
        raise ToolError(f"the arguments cannot be sent as JSON: {reason}; nothing was sent") from None


async def _list_tools(client: "Client", server: str) -> list[Definition]:
    definitions: list[Definition] = []
    chars = values = 0
    cursor: str | None = None
    for _ in range(MAX_LIST_PAGES):
        page = await client.list_tools(cursor=cursor)
        added = [tool.model_dump(by_alias=True, exclude_unset=True, mode="json") for tool in page.tools]
        definitions += added
        text = json.dumps(added, ensure_ascii=False)
        chars += len(text)
        values += sum(map(text.count, ",[{"))
        if chars > MAX_DEFINITIONS_CHARS:
            raise ServerFailed(
                f"the MCP server {server} describes its tools in more than {MAX_DEFINITIONS_CHARS:,} characters"
            )
        if values > MAX_DEFINITIONS_VALUES:
            raise ServerFailed(
                f"the MCP server {server} describes its tools in more than {MAX_DEFINITIONS_VALUES:,} values"
            )
        cursor = page.next_cursor
        if cursor is None or len(definitions) > MAX_TOOLS:
            break
    if cursor is not None or len(definitions) > MAX_TOOLS:
        raise ServerFailed(f"the MCP server {server} lists more than {MAX_TOOLS} tools")
    return definitions
