"""Calls of tools that need approval.

The server has nobody to ask. A client that can put a question to its user (MCP calls that elicitation) is asked to;
with any other client the call is refused, in words that say what to do. In the protocol of 2026-07-28 the question is
the answer to the call, which the client then repeats with the user's decision; before, it is a request to the client.

A decision counts for the question that was asked, once. With its question the client gets a sealed state, which only
this process can make, and which holds for the same tool, arguments and account (`RequestStateBoundary` of the SDK). A
decision without such a state, or with one that was used, is answered with the question.
"""

import json
import secrets
from collections import deque
from typing import Any, Literal, TypeAlias

from mcp import types
from mcp.server.context import ServerRequestContext
from mcp.server.request_state import RequestStateBoundary, RequestStateSecurity
from mcp.types.version import MODERN_PROTOCOL_VERSIONS

from toolspeak.escaping import escape_controls
from toolspeak.mcp_server.call_results import make_error_result

ApprovalRule: TypeAlias = Literal["ask", "always", "never"]
"""Who approves calls of tools with `approve=True`: the user of the client, everybody, or nobody."""

QUESTION_KEY = "approval"
MAX_SHOWN_CHARS = 2_000
"""Characters of the arguments in the question."""

MAX_ANSWER_SECONDS = 3_600.0
"""Seconds in which a question must be answered."""

MAX_USED_QUESTIONS = 10_000
"""Answered questions that are remembered, so that none is answered twice."""

NO_FIELDS: dict[str, Any] = {"type": "object", "properties": {}}
"""A form without fields: the answer is yes or no."""


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
                question = types.ElicitRequestFormParams(message=format_question(call), requested_schema=NO_FIELDS)
                return types.InputRequiredResult(
                    input_requests={QUESTION_KEY: types.ElicitRequest(params=question)},
                    request_state=secrets.token_urlsafe(),
                )
        else:
            answer = await context.session.elicit_form(format_question(call), NO_FIELDS, context.request_id)
        if isinstance(answer, types.ElicitResult) and answer.action == "accept":
            return None
        return make_error_result(f"{call.name} was not run: the user did not approve it.")

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


def format_question(call: types.CallToolRequestParams) -> str:
    """Return the question whether a call may run, without characters that hide or reorder what is shown."""
    arguments = escape_controls(json.dumps(call.arguments or {}, ensure_ascii=False))
    hidden = len(arguments) - MAX_SHOWN_CHARS
    if hidden > 0:
        arguments = f"{arguments[:MAX_SHOWN_CHARS]}… ({hidden:,} more characters are not shown)"
    return f"Run {escape_controls(call.name)} with {arguments}?"
