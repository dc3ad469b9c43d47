"""`toolspeak run`: one prompt, and an exit code for scripts.

The answer goes to standard output. Calls and their results go with it in a terminal, and to standard error elsewhere.
"""

import json
import re
import signal
import sys
import threading
from collections.abc import Callable, Generator, Sequence
from contextlib import contextmanager, nullcontext
from dataclasses import asdict
from enum import IntEnum
from io import StringIO
from pathlib import Path
from types import FrameType
from typing import Any, NamedTuple, Protocol, TextIO

from rich.console import Console

from toolspeak.cli.agent_config import AgentConfig, ApprovalBridge, CommandOptions, resolve_config
from toolspeak.cli.format import describe_agent, reserve_stdout
from toolspeak.cli.log import ContinuedConversation, ConversationLog
from toolspeak.cli.options import ApproveChoice
from toolspeak.cli.pull import ModelLoader
from toolspeak.cli.record import CallTimer, RecordFile
from toolspeak.cli.safe_text import escape_prose, print_error
from toolspeak.cli.transcript import Transcript, create_console
from toolspeak.cli.user_input import TerminalInput, is_interactive
from toolspeak.models import check_attachments
from toolspeak.run import Agent, Outcome, Recorder, Stream
from toolspeak.settings import Settings
from toolspeak.values import codec
from toolspeak.values.errors import ModelError, RunPaused
from toolspeak.values.events import ApprovalNeeded, Compacted, Event, Fact, NestedDelta, NestedFact, OwnDelta, join_ids
from toolspeak.values.frozen import frozen
from toolspeak.values.messages import Message, ToolCall

# Finds the fenced code blocks of an answer, by the rules of markdown.
#
# A block opens with a line of three or more backticks or tildes, after which the name of a language may follow. It
# closes with a line of at least as many of the same character, or with the end of the text. The indentation of the
# opening line is taken off the lines of the block.


_OPENING = re.compile(r"([ \t]*)(`{3,}(?=[^`]*$)|~{3,})")


def extract_code(text: str) -> str | None:
    r"""Return the content of the last code block in a text, with a line break at its end; None if there is no block.

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
            if _is_closing(inner, fence):
                break
            block.append(_unindent(inner, len(indent)))
        last = "".join(f"{each}\n" for each in block)
    return last


def _is_closing(line: str, fence: str) -> bool:
    stripped = line.strip()
    return len(stripped) >= len(fence) and not stripped.strip(fence[0])


def _unindent(line: str, width: int) -> str:
    """Take at most so many spaces and tabs off the beginning of a line."""
    indentation = len(line) - len(line.lstrip(" \t"))
    return line[min(width, indentation) :]


# Runs an agent and draws its events as they happen, with a user who may be asked for approval or press Ctrl-C.


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


class ExitCode(IntEnum):
    """The exit codes of `toolspeak run`."""

    ANSWERED = 0
    STOPPED = 1
    USAGE = 2
    ENDPOINT = 3
    PAUSED = 4
    INTERRUPTED = 130


@frozen
class RunOutput:
    """What `toolspeak run` writes, and where.

    Attributes:
        as_json: Whether the events are printed as JSON.
        extract: Whether only the last code block of the answer is printed.
        record: The file in which the run is recorded.
        log: The log that keeps the run; None to keep it in none.
    """

    as_json: bool = False
    extract: bool = False
    record: Path | None = None
    log: Path | None = None


class ConversationSoFar(NamedTuple):
    """The messages before the prompt, and what the model is still shown of them."""

    messages: tuple[Message, ...] = ()
    compacted: Compacted | None = None


def run(
    prompt: str | Message,
    options: CommandOptions,
    settings: Settings,
    output: RunOutput,
    continued: ContinuedConversation | None = None,
) -> int:
    """Run an agent on one prompt, print what happens, and return the exit code."""
    config = resolve_config(continued.apply_to(options) if continued else options, settings)
    before = ConversationSoFar()
    if continued is not None:
        before = ConversationSoFar(continued.messages_with(options.system), continued.compacted)
    with (
        reserve_stdout() as answer,
        RecordFile(output.record) if output.record else nullcontext() as record_file,
        ConversationLog(output.log, continued) as log,
    ):
        log.remember(config)
        runner = _create_runner(config, answer, output)
        try:
            outcome = runner.run(prompt, before, _record_with(log.record, record_file and record_file.record))
        except RunPaused as paused:
            names = ", ".join(dict.fromkeys(call.name for call in paused.calls))
            print_error(f"paused: {names} needs approval, and nobody can be asked here; {_explain_paused(output.log)}")
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


def _create_runner(config: AgentConfig, answer: TextIO, output: RunOutput) -> "_Runner":
    if output.as_json:
        return _JsonRunner(config, answer)
    return _ExtractingRunner(config, answer) if output.extract else _TranscriptRunner(config, answer)


def _explain_paused(log: Path | None) -> str:
    """Say how to go on after a run that waits for an approval."""
    again = "to allow it, run this again with --approve always"
    return again if log is None else f"{again}; to decide in a terminal, go on with toolspeak chat -c"


class _Runner(Protocol):
    """Runs an agent on a prompt and shows what happens."""

    def run(self, prompt: str | Message, before: ConversationSoFar, record: Recorder) -> Outcome[None]: ...


class _JsonRunner:
    """Runs an agent and prints its events as JSON, one a line."""

    def __init__(self, config: AgentConfig, answer: TextIO) -> None:
        self._agent = config.build_agent(None)
        self._answer = answer

    def run(self, prompt: str | Message, before: ConversationSoFar, record: Recorder) -> Outcome[None]:
        _check_prompt(prompt, self._agent)
        ModelLoader(self._agent.model).wait()
        return run_live(
            self._agent, prompt, self._print_event, messages=before.messages, compacted=before.compacted, record=record
        )

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
            if loader.report:
                self._transcript.write_line(loader.report, "dim")
            with self._transcript.capture_prints():
                return run_live(
                    self._agent,
                    prompt,
                    self._transcript.show,
                    messages=before.messages,
                    compacted=before.compacted,
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
