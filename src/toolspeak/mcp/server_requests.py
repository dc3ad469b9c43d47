"""What MCP servers ask of the program: the answer of a model (sampling), and something of the user (elicitation).

A server learns that it may ask only if the program gives a function for it. One question of a server is answered at a
time. What the function raises is not told to the server.
"""

import asyncio
from collections.abc import Awaitable, Callable, Mapping
from typing import TYPE_CHECKING, Any, TypeAlias, cast

from toolspeak.execution.user_functions import call_function
from toolspeak.mcp.results import read_block
from toolspeak.values.frozen import frozen
from toolspeak.values.log import LOG
from toolspeak.values.messages import Media, Message, Text
from toolspeak.values.origin import Origin
from toolspeak.values.spec import Schema
from toolspeak.values.validation import find_problems

if TYPE_CHECKING:
    from mcp.client.session import ElicitationFnT, SamplingFnT
    from mcp_types import SamplingMessage

REFUSED = -1  # the code of the protocol for a question that the user does not want to be answered


@frozen
class SamplingRequest:
    """A request of an MCP server for a model's answer.

    Attributes:
        server: The name of the server.
        messages: The conversation. The server wrote it, so its texts are untrusted.
        system: The system prompt that the server asks for; empty if none.
        max_tokens: The maximum length of the answer.
    """

    server: str
    messages: tuple[Message, ...]
    system: str
    max_tokens: int


@frozen
class ElicitationRequest:
    """A question of an MCP server to the user.

    Attributes:
        server: The name of the server.
        text: The question.
        schema: The JSON schema of the answer, an object; empty if the user should open an address.
        url: The address that the user should open in a browser; empty if the user should fill in a form.
    """

    server: str
    text: str
    schema: Schema
    url: str


SamplingCallback: TypeAlias = Callable[[SamplingRequest], str | Awaitable[str | None] | None]
"""Returns the answer of a model, or None if there is none for this server."""

ElicitationCallback: TypeAlias = Callable[
    [ElicitationRequest], Mapping[str, Any] | Awaitable[Mapping[str, Any] | None] | None
]
"""Returns what the user answered, by the names in the schema, or `{}` for an address; None if the user declines."""


def build_sampling(server: str, callback: SamplingCallback) -> "SamplingFnT":
    """Return the function by which the SDK answers questions to a model."""
    import mcp_types

    turn = asyncio.Lock()

    async def answer(
        context: Any, params: mcp_types.CreateMessageRequestParams
    ) -> mcp_types.CreateMessageResult | mcp_types.ErrorData:
        messages = tuple(_read_message(each) for each in params.messages)
        request = SamplingRequest(
            server=server, messages=messages, system=params.system_prompt or "", max_tokens=params.max_tokens
        )
        async with turn:
            said = await _ask(server, callback, request)
        if said is None:
            return mcp_types.ErrorData(code=REFUSED, message="the client did not answer")
        content = mcp_types.TextContent(type="text", text=str(said))
        return mcp_types.CreateMessageResult(role="assistant", content=content, model="toolspeak")

    return answer


def build_elicitation(server: str, callback: ElicitationCallback) -> "ElicitationFnT":
    """Return the function by which the SDK answers questions to the user."""
    import mcp_types

    turn = asyncio.Lock()

    async def answer(context: Any, params: mcp_types.ElicitRequestParams) -> mcp_types.ElicitResult:
        schema = dict(params.requested_schema) if params.mode == "form" else {}
        url = params.url if params.mode == "url" else ""
        request = ElicitationRequest(server=server, text=params.message, schema=schema, url=url)
        async with turn:
            given = await _ask(server, callback, request)
        if not isinstance(given, Mapping):
            return mcp_types.ElicitResult(action="decline")
        if request.url:
            return mcp_types.ElicitResult(action="accept")
        content = dict(cast("Mapping[str, Any]", given))
        if problem := next(iter(find_problems(content, schema, schema)), None):
            LOG.warning("the answer to a question of the MCP server %s does not fit: %s", server, problem)
            return mcp_types.ElicitResult(action="cancel")
        return mcp_types.ElicitResult(action="accept", content=content)

    return answer


def _read_message(message: "SamplingMessage") -> Message:
    blocks = message.content if isinstance(message.content, list) else [message.content]
    parts = [
        f"({block.type})" if block.type == "tool_use" or block.type == "tool_result" else read_block(block)
        for block in blocks
    ]
    shown = [part if isinstance(part, Media) else Text(text=part, origin=Origin.FOREIGN_RESULT) for part in parts]
    return Message(role="assistant" if message.role == "assistant" else "user", parts=tuple(shown))


async def _ask(server: str, callback: Callable[..., Any], request: SamplingRequest | ElicitationRequest) -> Any:
    try:
        return await call_function(callback, request)
    except Exception:
        LOG.warning("a question of the MCP server %s was not answered", server, exc_info=True)
        return None
