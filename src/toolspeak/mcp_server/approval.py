"""Calls of tools that need approval.

The server has nobody to ask. A client that can put a question to its user (MCP calls that elicitation) is asked to;
with any other client the call is refused, in words that say what to do. In the protocol of 2026-07-28 the question is
the answer to the call, which the client then repeats with the user's decision; before, it is a request to the client.
"""

import json
from typing import Any, Literal, TypeAlias

from mcp import types
from mcp.server.context import ServerRequestContext
from mcp.types.version import MODERN_PROTOCOL_VERSIONS

from toolspeak.mcp_server.call_results import make_error_result

ApprovalRule: TypeAlias = Literal["ask", "always", "never"]
"""Who approves calls of tools with `approve=True`: the user of the client, everybody, or nobody."""

QUESTION_KEY = "approval"
MAX_SHOWN_CHARS = 2_000
"""Characters of the arguments in the question."""

NO_FIELDS: dict[str, Any] = {"type": "object", "properties": {}}
"""A form without fields: the answer is yes or no."""


async def get_approval(
    context: ServerRequestContext[Any, Any], call: types.CallToolRequestParams, rule: ApprovalRule
) -> types.CallToolResult | types.InputRequiredResult | None:
    """Return None if a call is approved, else what the client is answered: a question or a refusal."""
    if rule == "always":
        return None
    if rule == "never" or not _can_ask(context):
        return make_error_result(
            f"{call.name} was not run: it needs approval, and there is nobody here to ask. The owner of this server "
            "can let it run with --approve always."
        )
    if context.protocol_version in MODERN_PROTOCOL_VERSIONS:
        answer = (call.input_responses or {}).get(QUESTION_KEY)
        if answer is None:
            question = types.ElicitRequestFormParams(message=_ask(call), requested_schema=NO_FIELDS)
            return types.InputRequiredResult(input_requests={QUESTION_KEY: types.ElicitRequest(params=question)})
    else:
        answer = await context.session.elicit_form(_ask(call), NO_FIELDS, context.request_id)
    if isinstance(answer, types.ElicitResult) and answer.action == "accept":
        return None
    return make_error_result(f"{call.name} was not run: the user did not approve it.")


def _can_ask(context: ServerRequestContext[Any, Any]) -> bool:
    capabilities = context.session.client_capabilities
    asks = None if capabilities is None else capabilities.elicitation
    if asks is None or (asks.form is None and asks.url is not None):
        return False
    return context.protocol_version in MODERN_PROTOCOL_VERSIONS or context.session.can_send_request


def _ask(call: types.CallToolRequestParams) -> str:
    arguments = json.dumps(call.arguments or {}, ensure_ascii=False)
    if len(arguments) > MAX_SHOWN_CHARS:
        arguments = f"{arguments[:MAX_SHOWN_CHARS]}…"
    return f"Run {call.name} with {arguments}?"
