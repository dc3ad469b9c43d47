"""Runs an agent and draws its events as they happen, with a user who may be asked for approval or press Ctrl-C."""

import signal
import threading
from collections.abc import Callable, Generator, Sequence
from contextlib import contextmanager
from types import FrameType
from typing import Any

from toolspeak.cli.approval import ApprovalBridge
from toolspeak.events import ApprovalNeeded, Compacted, Event, NestedFact, join_ids
from toolspeak.messages import Message, ToolCall
from toolspeak.run import Agent, Outcome, Recorder, Stream


def run_live(
    agent: Agent,
    prompt: str | Message,
    show: Callable[[Event], None],
    *,
    messages: Sequence[Message] = (),
    compacted: Compacted | None = None,
    approvals: ApprovalBridge | None = None,
    record: Recorder | None = None,
) -> Outcome[None]:
    """Run an agent to its end and return the outcome, also if Ctrl-C ends the run early.

    Args:
        agent: The agent to run.
        prompt: The user's prompt.
        show: Called with each event.
        messages: The conversation before the prompt.
        compacted: What the model is still shown of it; None if it is shown the whole.
        approvals: Asks the user about calls that need approval.
        record: Called with each fact at the time it happens.

    Raises:
        ModelError: The endpoint failed.
        RunPaused: A call needs approval and there is no user to ask.
        KeyboardInterrupt: Ctrl-C was pressed twice.
    """
    if approvals is not None:
        approvals.clear()
    started = agent.stream(prompt, messages=messages, compacted=compacted, record=record)
    with started as stream, _cancel_on_interrupt(stream):
        for event in stream:
            show(event)
            call = _find_waiting_call(event)
            if approvals is not None and call is not None:
                try:
                    approvals.ask(call)
                except KeyboardInterrupt:
                    stream.cancel()
    return stream.outcome


def _find_waiting_call(event: Event) -> ToolCall | None:
    """Return the call that somebody must approve, with the id by which the run asks about it; None for other events."""
    path, own = (event.path, event.event) if isinstance(event, NestedFact) else ((), event)
    if not isinstance(own, ApprovalNeeded):
        return None
    return ToolCall(id=join_ids(path, own.call.id), name=own.call.name, arguments=own.call.arguments)


@contextmanager
def _cancel_on_interrupt(stream: Stream[Any]) -> Generator[None]:
    """Let Ctrl-C cancel the run, and a second Ctrl-C raise `KeyboardInterrupt` without waiting for the run."""
    if threading.current_thread() is not threading.main_thread():  # signals arrive in the main thread only
        yield
        return
    previous = signal.getsignal(signal.SIGINT)

    def cancel(number: int, frame: FrameType | None) -> None:
        signal.signal(signal.SIGINT, signal.default_int_handler)
        stream.cancel()

    signal.signal(signal.SIGINT, cancel)
    try:
        yield
    finally:
        signal.signal(signal.SIGINT, previous)
