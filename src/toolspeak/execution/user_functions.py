"""How the functions are called that a user gives beside tools: for approvals, system prompts, summaries."""

import asyncio
import inspect
from collections.abc import Callable
from contextlib import suppress
from typing import Any

from toolspeak.execution.outcome import CallOutcome, Raised
from toolspeak.execution.threads import THREAD_POOL
from toolspeak.loop.words import EFFECT_UNKNOWN
from toolspeak.tools import Context, Happened, Tool
from toolspeak.values.errors import InvalidArguments, ToolError, UsageError
from toolspeak.values.log import LOG
from toolspeak.values.messages import ToolCall


async def call_function(function: Callable[..., Any], *arguments: Any) -> Any:
    """Call a function of the user's and return its value. A plain function may block, so it runs in a thread."""
    if inspect.iscoroutinefunction(function):
        return await function(*arguments)
    loop = asyncio.get_running_loop()
    answer: asyncio.Future[CallOutcome] = loop.create_future()

    def finish(outcome: CallOutcome) -> None:
        def settle() -> None:
            if not answer.done():
                answer.set_result(outcome)

        with suppress(RuntimeError):  # the event loop is closed
            loop.call_soon_threadsafe(settle)

    job = THREAD_POOL.start(lambda: function(*arguments), finish)
    try:
        outcome = await answer
    finally:
        job.abandon()
    if isinstance(outcome, Raised):
        raise outcome.error
    return await outcome.value if inspect.isawaitable(outcome.value) else outcome.value


async def ask_function(function: Callable[..., Any], call: ToolCall, context: Context[Any]) -> Any:
    """Call a function that decides about a call, with the `Context` if it has a parameter for it."""
    arguments = (call, context) if _takes_context(function) else (call,)
    return await call_function(function, *arguments)


def _takes_context(function: Callable[..., Any]) -> bool:
    """Whether a function has a second parameter that must be given, or one named `context`."""
    try:
        parameters = list(inspect.signature(function).parameters.values())
    except (TypeError, ValueError):  # a built-in function without a signature
        return False
    by_place = [each for each in parameters if each.kind in (each.POSITIONAL_ONLY, each.POSITIONAL_OR_KEYWORD)]
    return len(by_place) > 1 and (by_place[1].default is by_place[1].empty or by_place[1].name == "context")


RECONCILE_SECONDS = 60.0
"""How long is waited for a function of `reconcile=`."""


class EffectUnknown(ToolError):
    """Nobody knows whether a call that was cut off has taken effect."""


async def reconcile_call(
    tool: Tool[..., Any], call: ToolCall, context: Context[Any], function: Callable[[], Any]
) -> Any:
    """Return what a call that was cut off has returned; make it now if it has not taken effect.

    Raises:
        EffectUnknown: Whether it has is unknown, or the function that is asked failed.
    """
    try:
        completed = ToolCall(id=call.id, name=call.name, arguments=tool.complete(call.arguments))
        async with asyncio.timeout(RECONCILE_SECONDS):
            answer = None if tool.reconciler is None else await ask_function(tool.reconciler, completed, context)
    except Exception as error:
        LOG.warning("the function of reconcile= of %s failed", call.name, exc_info=error)
        answer = None
    if isinstance(answer, Happened):
        return answer.output
    if answer is False:
        return await (function() if tool.is_async else call_function(function))
    if answer is not None:
        LOG.warning("the function of reconcile= of %s returned %r, not Happened(…), False or None", call.name, answer)
    raise EffectUnknown(EFFECT_UNKNOWN)


async def needs_approval(tool: Tool[..., Any], call: ToolCall, context: Context[Any]) -> bool:
    """Ask the rule of a tool whether somebody must allow a call. A call with wrong arguments fails without that."""
    if tool.approval_rule is None:
        return True
    try:
        completed = ToolCall(id=call.id, name=call.name, arguments=tool.complete(call.arguments))
    except InvalidArguments:
        return False
    answer = await ask_function(tool.approval_rule, completed, context)
    if not isinstance(answer, bool):
        raise UsageError(
            f"{call.name}: the function of approve= returned {answer!r}; return True to ask somebody, or False"
        )
    return answer
