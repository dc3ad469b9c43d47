"""`toolspeak run`: one prompt, and an exit code for scripts.

The answer goes to standard output. Calls and their results go with it in a terminal, and to standard error elsewhere.
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
from toolspeak.cli.agent_config import AgentConfig, AgentOptions, resolve_config
from toolspeak.cli.approval import ApprovalBridge
from toolspeak.cli.call_timer import CallTimer
from toolspeak.cli.format import describe_agent
from toolspeak.cli.live_run import run_live
from toolspeak.cli.model_loader import ModelLoader
from toolspeak.cli.options import ApproveChoice
from toolspeak.cli.record import RecordFile
from toolspeak.cli.safe_text import print_error
from toolspeak.cli.stdout import reserve_stdout
from toolspeak.cli.transcript import Transcript, create_console
from toolspeak.cli.user_input import TerminalInput, is_interactive
from toolspeak.errors import ModelError, RunPaused
from toolspeak.events import ArgsDelta, Event, Fact, TextDelta, ThinkingDelta
from toolspeak.messages import ToolCall
from toolspeak.run import Agent, Outcome, Recorder
from toolspeak.settings import Settings


class ExitCode(IntEnum):
    """The exit codes of `toolspeak run`."""

    ANSWERED = 0
    STOPPED = 1
    USAGE = 2
    ENDPOINT = 3
    PAUSED = 4
    INTERRUPTED = 130


def run(prompt: str, options: AgentOptions, settings: Settings, *, as_json: bool, record: Path | None) -> int:
    """Run an agent on one prompt, print what happens, and return the exit code."""
    config = resolve_config(options, settings)
    with reserve_stdout() as answer, RecordFile(record) if record else nullcontext() as record_file:
        runner = _JsonRunner(config, answer) if as_json else _TranscriptRunner(config, answer)
        try:
            outcome = runner.run(prompt, record_file.record if record_file else None)
        except RunPaused as paused:
            names = ", ".join(dict.fromkeys(call.name for call in paused.calls))
            print_error(f"paused: {names} needs approval; give it in a terminal, or with --approve always")
            return ExitCode.PAUSED
        except ModelError as error:
            print_error(str(error))
            return ExitCode.ENDPOINT
        finally:
            if record_file and record_file.failure:
                print_error(record_file.failure)
    if outcome.stop_reason == "answered":
        return ExitCode.ANSWERED
    return ExitCode.INTERRUPTED if outcome.stop_reason == "cancelled" else ExitCode.STOPPED


class _JsonRunner:
    """Runs an agent and prints its events as JSON, one a line."""

    def __init__(self, config: AgentConfig, answer: TextIO) -> None:
        self._agent = config.build_agent(None)
        self._answer = answer

    def run(self, prompt: str, record: Recorder | None) -> Outcome[None]:
        ModelLoader(self._agent.model).wait()
        return run_live(self._agent, prompt, self._print_event, record=record)

    def _print_event(self, event: Event) -> None:
        self._answer.write(json.dumps(encode_event(event)) + "\n")
        self._answer.flush()


def encode_event(event: Event) -> dict[str, object]:
    """Encode an event as JSON data: facts as the codec writes them, so that they can be read back."""
    if isinstance(event, TextDelta | ThinkingDelta | ArgsDelta):
        return {"v": codec.FORMAT, "kind": event.kind, **asdict(event)}
    return codec.encode(event)


class _TranscriptRunner:
    """Runs an agent and draws a transcript: with the answer in a terminal, on standard error elsewhere."""

    def __init__(self, config: AgentConfig, answer: TextIO) -> None:
        is_terminal = answer.isatty()
        console = create_console(answer if is_terminal else sys.stderr)
        self._timer = CallTimer()
        self._transcript = Transcript(console, self._timer, None if is_terminal else answer)
        self._approvals = self._create_approvals(config, console)
        self._agent: Agent = config.build_agent(self._approvals)

    def _create_approvals(self, config: AgentConfig, console: Console) -> ApprovalBridge | None:
        if config.approve is not ApproveChoice.ask or not is_interactive(console):
            return None
        terminal = TerminalInput(console)

        def ask_user(call: ToolCall) -> bool | str:
            self._transcript.end_line()
            return terminal.ask_approval(call)

        return ApprovalBridge(ask_user)

    def run(self, prompt: str, record: Recorder | None) -> Outcome[None]:
        self._transcript.write_line(describe_agent(self._agent), "dim")
        loader = ModelLoader(self._agent.model)
        if loader.is_loading:
            self._transcript.show_wait(f"loading {self._agent.model.name}")
        try:
            loader.wait()
            with self._transcript.capture_prints():
                record_both = _record_with_timer(self._timer, record)
                return run_live(
                    self._agent, prompt, self._transcript.show, approvals=self._approvals, record=record_both
                )
        finally:
            self._transcript.end_line()


def _record_with_timer(timer: CallTimer, record: Recorder | None) -> Callable[[Fact], None]:
    def record_both(fact: Fact) -> None:
        timer.record(fact)
        if record is not None:
            record(fact)

    return record_both
