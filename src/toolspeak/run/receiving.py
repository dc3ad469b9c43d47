"""Receiving the message of a model: its pieces, or why they stopped, go into the inbox of the driver.

Before another model is asked for a message that broke off, its server may have to be asked for the dialect.
"""

import asyncio
from collections.abc import Callable, Iterable, Sequence
from contextlib import aclosing

from toolspeak.dialects import Dialect
from toolspeak.errors import ContextExceeded, EndpointDown, ModelError, ProviderError, StreamInterrupted, UsageError
from toolspeak.events import TurnRestarted
from toolspeak.log import LOG
from toolspeak.models import Model, Request
from toolspeak.pieces import Answer, Piece
from toolspeak.run.fallback import ModelRotation
from toolspeak.run.inbox import FallbackReady, ModelFailed, PiecesArrived
from toolspeak.spec import ToolSpec

OVERFLOW_HINT = "the conversation is too long for the model; Limits(context=TOKENS) keeps it within that many tokens"


def gains_by_streaming(specs: Iterable[ToolSpec], dialects: Iterable[Dialect], *, parallel: bool) -> bool:
    """Whether streaming a message saves time though nobody watches: calls start, or the stream ends, early."""
    ends_early = not parallel and any(dialect.in_text for dialect in dialects)
    return ends_early or any(spec.effect == "read" for spec in specs)


async def receive_message(
    model: Model, request: Request, number: int, put: Callable[[PiecesArrived | ModelFailed], None]
) -> None:
    """Ask a model, and put the pieces of its message into the inbox as they arrive.

    Args:
        model: The model.
        request: What it is asked.
        number: Which request of the run this is, from 1.
        put: Adds an item to the inbox.
    """
    pieces: Sequence[Piece] = ()
    try:
        async with aclosing(model.ask(request)) as answer:
            async for pieces in answer:
                put(PiecesArrived(request=number, pieces=pieces))
        if not pieces or not isinstance(pieces[-1], Answer):
            raise StreamInterrupted(f"{model.name} ended in the middle of a message")
    except ContextExceeded as error:
        put(ModelFailed(request=number, error=error.with_message(f"{error} ({OVERFLOW_HINT})")))
    except (ModelError, UsageError) as error:
        put(ModelFailed(request=number, error=error))
    except asyncio.CancelledError:
        # If the driver cancelled this task, the turn is closed and drops the item. If something else did, the run
        # would wait for ever without it.
        put(ModelFailed(request=number, error=StreamInterrupted(f"{model.name} was cancelled")))
        raise
    except Exception as error:
        error_class = EndpointDown if isinstance(error, OSError) else ProviderError
        failure = error_class(f"{model.name} failed: {type(error).__name__}: {error}")
        failure.__cause__ = error
        put(ModelFailed(request=number, error=failure))


async def prepare_fallback(
    models: ModelRotation, restarted: TurnRestarted, number: int, put: Callable[[FallbackReady], None]
) -> None:
    """Ask the server of the model that is asked next for its dialect, and put into the inbox that the model is ready.

    If that fails, the model is asked in the dialect that is known so far.

    Args:
        models: The models of the run.
        restarted: The fact that the message is asked for again.
        number: Which request of the run broke off, from 1.
        put: Adds an item to the inbox.
    """
    try:
        await models.choose_dialect()
    except Exception as error:
        LOG.warning("%s could not be asked for its dialect", restarted.model, exc_info=error)
    put(FallbackReady(request=number, restarted=restarted))
