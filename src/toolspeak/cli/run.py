"""`toolspeak run`: one prompt, and an exit code that says what came of it.

The answer goes to standard output. What happens on the way goes with it in a terminal, and to standard error elsewhere.
"""

import json
import sys
from collections.abc import Callable
from contextlib import nullcontext
from dataclasses import asdict
from enum import IntEnum
from pathlib import Path
from typing import TextIO

from rich.console import Console

from toolspeak import codec
from toolspeak.cli.agent import AgentOptions, Loading, Plan, planned
from toolspeak.cli.approval import Desk
from toolspeak.cli.clock import Clock
from toolspeak.cli.console import Transcript, console_on
from toolspeak.cli.display import introduction
from toolspeak.cli.input import Keyboard, at_terminal
from toolspeak.cli.live_run import play
from toolspeak.cli.options import Approve
from toolspeak.cli.record import Recording
from toolspeak.cli.stdout import answer_alone
from toolspeak.errors import ModelError, RunPaused, UsageError
from toolspeak.events import ArgsDelta, Event, Fact, TextDelta, ThinkingDelta
from toolspeak.messages import ToolCall
from toolspeak.run import Agent, Outcome, Recorder
from toolspeak.settings import settings


class Exit(IntEnum):
    """What a script can tell a run by."""

    ANSWERED = 0
    STOPPED = 1
    USAGE = 2
    ENDPOINT = 3
    PAUSED = 4
    INTERRUPTED = 130


def run(prompt: str | None, wishes: AgentOptions, *, as_json: bool, record: Path | None) -> int:
    """Ask once, draw what happens, and give the exit code."""
    asked = prompt_from(prompt)
    plan = planned(wishes, settings())
    with answer_alone() as answer, Recording(record) if record else nullcontext() as recording:
        one = _Json(plan, answer) if as_json else _Drawn(plan, answer)
        try:
            outcome = one.play(asked, recording.note if recording else None)
        except RunPaused as paused:
            names = ", ".join(dict.fromkeys(call.name for call in paused.calls))
            return _told(f"paused: {names} needs a yes; say it in a terminal, or with --approve always", Exit.PAUSED)
        except ModelError as error:
            return _told(str(error), Exit.ENDPOINT)
        finally:
            if recording and recording.failure:
                _told(recording.failure, Exit.STOPPED)
    if outcome.stop_reason == "answered":
        return Exit.ANSWERED
    return Exit.INTERRUPTED if outcome.stop_reason == "cancelled" else Exit.STOPPED


def prompt_from(said: str | None) -> str:
    """The prompt: as it was said, or from standard input."""
    if said is None and sys.stdin.isatty():
        raise UsageError('nothing is asked; write toolspeak run "PROMPT", or - to read the prompt from standard input')
    prompt = sys.stdin.read() if said is None or said == "-" else said
    if not prompt.strip():
        raise UsageError("the prompt is empty")
    return prompt


class _Json:
    """Events for a program, one a line."""

    def __init__(self, plan: Plan, answer: TextIO) -> None:
        self._agent = plan.agent(None)
        self._answer = answer

    def play(self, prompt: str, record: Recorder | None) -> Outcome[None]:
        Loading(self._agent.model).wait()
        return play(self._agent, prompt, self._show, record=record)

    def _show(self, event: Event) -> None:
        self._answer.write(json.dumps(as_json(event)) + "\n")
        self._answer.flush()


def as_json(event: Event) -> dict[str, object]:
    """An event as JSON data: facts as the codec writes them, so that they can be read back."""
    if isinstance(event, TextDelta | ThinkingDelta | ArgsDelta):
        return {"kind": event.kind, **asdict(event)}
    return codec.encode(event)


class _Drawn:
    """Events for a person."""

    def __init__(self, plan: Plan, answer: TextIO) -> None:
        drawn_with_answer = answer.isatty()
        console = console_on(answer if drawn_with_answer else sys.stderr)
        self._clock = Clock()
        self._transcript = Transcript(console, self._clock, None if drawn_with_answer else answer)
        self._desk = self._somebody(plan, console)
        self._agent: Agent = plan.agent(self._desk)

    def _somebody(self, plan: Plan, console: Console) -> Desk | None:
        """Whoever can be asked: there is somebody where both ends are a terminal."""
        if plan.approve is not Approve.ask or not at_terminal(console):
            return None
        keyboard = Keyboard(console)

        def ask(call: ToolCall) -> bool | str:
            self._transcript.pause()
            return keyboard.approve(call)

        return Desk(ask)

    def play(self, prompt: str, record: Recorder | None) -> Outcome[None]:
        self._transcript.line(introduction(self._agent), "dim")
        loading = Loading(self._agent.model)
        if loading.under_way:
            self._transcript.wait_for(f"loading {self._agent.model.name}")
        try:
            loading.wait()
            with self._transcript.with_prints():
                note = _both(self._clock, record)
                return play(self._agent, prompt, self._transcript.show, desk=self._desk, record=note)
        finally:
            self._transcript.pause()


def _both(clock: Clock, record: Recorder | None) -> Callable[[Fact], None]:
    def note(fact: Fact) -> None:
        clock.note(fact)
        if record is not None:
            record(fact)

    return note


def _told(message: str, code: Exit) -> Exit:
    sys.stderr.write(f"toolspeak: {' '.join(message.split())}\n")
    return code
