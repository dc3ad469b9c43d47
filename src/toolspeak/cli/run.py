"""`toolspeak run`: one prompt, and an exit code for scripts.

The answer goes to standard output. Calls and their results go with it in a terminal, and to standard error elsewhere.
`run_live` draws the events of any agent as they happen, with a user who may be asked for approval or press Ctrl-C.
"""

import json
import re
import signal
import sys
import threading
from collections.abc import Callable, Generator
from contextlib import contextmanager, nullcontext
from dataclasses import asdict, replace
from enum import IntEnum
from io import StringIO
from pathlib import Path
from types import FrameType
from typing import Any, NamedTuple, TextIO

from rich.console import Console

from toolspeak.cli.agent_config import AgentConfig, ApprovalBridge, resolve_config
from toolspeak.cli.conversations import ContinuedConversation, ConversationLog
from toolspeak.cli.embedded import ModelLoader
from toolspeak.cli.format import describe_agent
from toolspeak.cli.options import ApproveChoice, ConversationOptions
from toolspeak.cli.record import CallTimer, RecordFile
from toolspeak.cli.safe_text import escape_prose, print_error, reserve_stdout
from toolspeak.cli.transcript import Transcript, create_console
from toolspeak.cli.user_input import TerminalInput, is_interactive
from toolspeak.models import check_attachments
from toolspeak.run import Agent, Outcome, Recorder, Stream
from toolspeak.settings import Settings
from toolspeak.values import codec
from toolspeak.values.errors import ModelError, RunPaused
from toolspeak.values.events import ApprovalNeeded, Compacted, Event, Fact, NestedDelta, NestedFact, OwnDelta, join_ids
from toolspeak.values.messages import Message, ToolCall

_OPENING = re.compile(r"([ \t]*)(`{3,}(?=[^`]*$)|~{3,})")


def extract_code(text: str) -> str | None:
    r"""Return the content of the last code block in a text, with a line break at its end; None if there is no block.

    As in markdown, a block opens with a line of three or more backticks or tildes, after which the name of a language
    may follow. It closes with a line of at least as many of the same character, or with the end of the text. The
    indentation of the opening line is taken off the lines of the block.

    Examples:
        >>> extract_code("First:\n```\na\n```\nthen:\n```python\nprint(1)\n```\nDone.")
        'print(1)\n'
    """
    last: str | None = None
    lines = iter(text.split("\n"))
    for line in lines:
        opening = _OPENING.match(line)
        if opening is None:
            continue
        indent, fence = opening.groups()
        block: list[str] = []
        for inner in lines:
            stripped = inner.strip()
            if len(stripped) >= len(fence) and not stripped.strip(fence[0]):
                break
            indentation = len(inner) - len(inner.lstrip(" \t"))
            block.append(inner[min(len(indent), indentation) :])
        last = "".join(f"{each}\n" for each in block)
    return last


class ConversationSoFar(NamedTuple):
    """The messages before the prompt, and what the model is still shown of them."""

    messages: tuple[Message, ...] = ()
    compacted: Compacted | None = None


def run_live(
    agent: Agent,
    prompt: str | Message,
    show: Callable[[Event], None],
    *,
    before: ConversationSoFar,
    approvals: ApprovalBridge | None = None,
    record: Recorder | None = None,
) -> Outcome[None]:
    """Run an agent to its end and return the outcome, also if Ctrl-C ends the run early.

    `show` is called with each event when it is drawn, and `record` with each fact at the time it happens.

    Raises:
        ModelError: The endpoint failed.
        RunPaused: A call needs approval and there is no user to ask.
        KeyboardInterrupt: Ctrl-C was pressed twice.
    """
    if approvals is not None:
        approvals.clear()
    started = agent.stream(prompt, messages=before.messages, compacted=before.compacted, record=record)
    with started as stream, _cancel_on_interrupt(stream):
        for event in stream:
            show(event)
            path, own = (event.path, event.event) if isinstance(event, NestedFact) else ((), event)
            if approvals is not None and isinstance(own, ApprovalNeeded):
                try:  # the run asks about a call of an inner run by an id with the path
                    approvals.ask(replace(own.call, id=join_ids(path, own.call.id)))
                except KeyboardInterrupt:
                    stream.cancel()
    return stream.outcome


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


class ExitCode(IntEnum):
    """The exit codes of `toolspeak run`."""

    ANSWERED = 0
    STOPPED = 1
    USAGE = 2
    ENDPOINT = 3
    PAUSED = 4
    INTERRUPTED = 130


def run(
    prompt: str | Message,
    options: ConversationOptions,
    settings: Settings,
    log_path: Path | None,
    continued: ContinuedConversation | None = None,
) -> int:
    """Run an agent on one prompt, print what happens, and return the exit code. Without a path, no log keeps it."""
    config = resolve_config(continued.apply_to(options) if continued else options, settings)
    before = ConversationSoFar()
    if continued is not None:
        before = ConversationSoFar(continued.messages_with(options.system), continued.compacted)
    with (
        reserve_stdout() as answer,
        RecordFile(options.record) if options.record else nullcontext() as record_file,
        ConversationLog(log_path, continued) as log,
    ):
        log.remember(config)
        kind = _JsonRunner if options.as_json else _ExtractingRunner if options.extract else _TranscriptRunner
        runner = kind(config, answer)
        try:
            outcome = runner.run(prompt, before, _record_with(log.record, record_file and record_file.record))
        except RunPaused as paused:
            names = ", ".join(dict.fromkeys(call.name for call in paused.calls))
            cure = "to allow it, run this again with --approve always"
            if log_path is not None:
                cure += "; to decide in a terminal, go on with toolspeak chat -c"
            print_error(f"paused: {names} needs approval, and nobody can be asked here; {cure}")
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

    def run(self, prompt: str | Message, before: ConversationSoFar, record: Recorder) -> Outcome[None]:
        _check_prompt(prompt, self._agent)
        ModelLoader(self._agent.model).wait()
        return run_live(self._agent, prompt, self._print_event, before=before, record=record)

    def _print_event(self, event: Event) -> None:
        self._answer.write(json.dumps(encode_event(event)) + "\n")
        self._answer.flush()


def encode_event(event: Event) -> dict[str, object]:
    """Encode an event as JSON data: facts as the codec writes them, so that they can be read back."""
    if isinstance(event, OwnDelta):
        return {"v": codec.FORMAT, "kind": event.kind, **asdict(event)}
    if isinstance(event, NestedDelta):
        inner = {"kind": event.event.kind, **asdict(event.event)}
        return {"v": codec.FORMAT, "kind": event.kind, "path": list(event.path), "event": inner}
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

    def run(self, prompt: str | Message, before: ConversationSoFar, record: Recorder) -> Outcome[None]:
        _check_prompt(prompt, self._agent)
        continues = f" · continues {len(before.messages)} messages" if before.messages else ""
        self._transcript.write_line(describe_agent(self._agent) + continues, "dim")
        loader = ModelLoader(self._agent.model)
        if loader.is_loading:
            self._transcript.show_wait(f"loading {self._agent.model.name}")
        try:
            loader.wait()
            if report := loader.take_report():
                self._transcript.write_line(report, "dim")
            with self._transcript.capture_prints():
                return run_live(
                    self._agent,
                    prompt,
                    self._transcript.show,
                    before=before,
                    approvals=self._approvals,
                    record=_record_with(self._timer.record, record),
                )
        finally:
            self._transcript.end_line()


class _ExtractingRunner:
    """Runs an agent and writes the last code block of its answer; everything else goes to standard error."""

    def __init__(self, config: AgentConfig, answer: TextIO) -> None:
        self._answer = answer
        self._runner = _TranscriptRunner(config, StringIO())

    def run(self, prompt: str | Message, before: ConversationSoFar, record: Recorder) -> Outcome[None]:
        outcome = self._runner.run(prompt, before, record)
        if outcome.stop_reason == "answered":
            block = extract_code(outcome.text)
            if block is None:
                print_error("the answer has no code block, so all of it is printed")
                block = outcome.text.strip() + "\n"
            self._answer.write(escape_prose(block) if self._answer.isatty() else block)
        return outcome


def _check_prompt(prompt: str | Message, agent: Agent) -> None:
    """Check the attachments of a prompt before the model is loaded."""
    if isinstance(prompt, Message):
        check_attachments(agent.model, [prompt])


def _record_with(first: Callable[[Fact], object], second: Recorder | None) -> Callable[[Fact], None]:
    def record_both(fact: Fact) -> None:
        first(fact)
        if second is not None:
            second(fact)

    return record_both
