"""One run, drawn as it happens, with somebody at the keyboard who may be asked and may want it to stop."""

import signal
import threading
from collections.abc import Callable, Generator, Sequence
from contextlib import contextmanager
from types import FrameType
from typing import Any

from toolspeak.cli.approval import Desk
from toolspeak.events import ApprovalNeeded, Event
from toolspeak.messages import Message
from toolspeak.run import Agent, Outcome, Recorder, Stream


def play(
    agent: Agent,
    prompt: str,
    show: Callable[[Event], None],
    *,
    messages: Sequence[Message] = (),
    desk: Desk | None = None,
    record: Recorder | None = None,
) -> Outcome[None]:
    """Play a run to its end and give its outcome. Ctrl-C ends it early, and there is an outcome all the same.

    Raises:
        ModelError: The endpoint failed.
        RunPaused: A call needs a yes and there is nobody to ask.
        KeyboardInterrupt: Ctrl-C came twice.
    """
    if desk is not None:
        desk.clear()
    with agent.stream(prompt, messages=messages, record=record) as stream, _interruptible(stream):
        for event in stream:
            show(event)
            if desk is not None and isinstance(event, ApprovalNeeded):
                try:
                    desk.answer(event.call)
                except KeyboardInterrupt:
                    stream.cancel()
    return stream.outcome


@contextmanager
def _interruptible(stream: Stream[Any]) -> Generator[None]:
    """Ctrl-C ends the run; a second one does not wait for it."""
    if threading.current_thread() is not threading.main_thread():  # where no signal arrives
        yield
        return
    before = signal.getsignal(signal.SIGINT)

    def interrupted(number: int, frame: FrameType | None) -> None:
        signal.signal(signal.SIGINT, signal.default_int_handler)
        stream.cancel()

    signal.signal(signal.SIGINT, interrupted)
    try:
        yield
    finally:
        signal.signal(signal.SIGINT, before)
