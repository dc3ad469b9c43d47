"""`toolspeak run`: one prompt, and an exit code for scripts.

The answer goes to standard output. Calls and their results go with it in a terminal, and to standard error elsewhere.
`run_live` draws the events of any agent as they happen, with a user who may be asked for approval or press Ctrl-C.
"""

import json
import logging
import re
import signal
import sys
import threading
import time
from collections.abc import Callable, Generator, Iterable, Mapping, Sequence
from contextlib import contextmanager, nullcontext
from dataclasses import asdict, replace
from enum import IntEnum
from io import StringIO
from pathlib import Path
from types import FrameType
from typing import Any, NamedTuple, TextIO

from rich.console import Console

from toolspeak.cli.agent_config import AgentConfig, ApprovalBridge, UserAnswer, resolve_config
from toolspeak.cli.conversations import ContinuedConversation, ConversationLog, replace_system
from toolspeak.cli.embedded import ModelLoader, report_reading
from toolspeak.cli.format import describe_agent, format_tool_bug, format_totals
from toolspeak.cli.options import ApproveChoice, ConversationOptions
from toolspeak.cli.record import CallTimer, RecordFile
from toolspeak.cli.safe_text import escape_prose, print_error, reserve_stdout
from toolspeak.cli.transcript import Transcript, create_console
from toolspeak.cli.user_input import TerminalInput, is_interactive
from toolspeak.models import check_attachments
from toolspeak.run import Agent, Outcome, Recorder, Stream
from toolspeak.run.approvals import find_doubted
from toolspeak.settings import Settings
from toolspeak.values import codec
from toolspeak.values.errors import ModelError, RunPaused
from toolspeak.values.events import (
    ApprovalNeeded,
    Compacted,
    Doubt,
    Event,
    Fact,
    NestedDelta,
    NestedFact,
    OwnDelta,
    ToolFinished,
    join_ids,
)
from toolspeak.values.log import LOG
from toolspeak.values.messages import Message, ToolCall
from toolspeak.values.outcome import is_tool_bug

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
    """The messages before the prompt, what the model is still shown of them, and a run that waits for an approval.

    `allowed` has the ids of the calls of that run that the user has allowed.
    """

    messages: tuple[Message, ...] = ()
    compacted: Compacted | None = None
    waiting: tuple[Fact, ...] = ()
    allowed: tuple[str, ...] = ()


def run_live(
    agent: Agent,
    prompt: str | Message | None,
    show: Callable[[Event], None],
    *,
    before: ConversationSoFar,
    approvals: ApprovalBridge | None = None,
    record: Recorder | None = None,
    report: Callable[[str], None] = print_error,
) -> Outcome[None]:
    """Run an agent to its end and return the outcome, also if Ctrl-C ends the run early.

    Without a prompt, the run that waits is resumed.
    `show` is called with each event when it is drawn, and `record` with each fact at the time it happens. `report` is
    called with a sentence about each bug in a tool, after the result of its call was shown.

    Raises:
        ModelError: The endpoint failed.
        RunPaused: A call needs approval and there is no user to ask.
        KeyboardInterrupt: Ctrl-C was pressed twice.
    """
    if approvals is not None:
        approvals.clear()
    if prompt is None:
        approved = dict.fromkeys(before.allowed, True)
        started = agent.stream_resume(before.waiting, approvals=approved, record=record)
    else:
        started = agent.stream(prompt, messages=before.messages, compacted=before.compacted, record=record)
    with _collect_bugs() as bugs, started as stream, _cancel_on_interrupt(stream):
        for event in stream:
            show(event)
            path, own = (event.path, event.event) if isinstance(event, NestedFact) else ((), event)
            if isinstance(own, ToolFinished) and (bug := bugs.pop(own.result.call_id, None)):
                report(bug)
            if approvals is not None and isinstance(own, ApprovalNeeded):
                try:  # the run asks about a call of an inner run by an id with the path
                    approvals.ask(replace(own.call, id=join_ids(path, own.call.id)), own.doubts)
                except KeyboardInterrupt:
                    stream.cancel()
    return stream.outcome


@contextmanager
def _collect_bugs() -> Generator[dict[str, str]]:
    """Yield a dict that gets a sentence for each call that failed by a bug in its tool, by the id of the call.

    The log knows them as soon as they happen, also those of inner runs.
    """
    bugs: dict[str, str] = {}

    class Collector(logging.Handler):
        def emit(self, record: logging.LogRecord) -> None:
            fields, error = vars(record), record.exc_info[1] if record.exc_info else None
            if "call_id" in fields and is_tool_bug(error):
                bugs[fields["call_id"]] = format_tool_bug(fields["tool"], error)

    collector = Collector()
    LOG.addHandler(collector)
    try:
        yield bugs
    finally:
        LOG.removeHandler(collector)


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


def report_pause(
    calls: Iterable[ToolCall], continue_option: str | None, doubts: Mapping[str, tuple[Doubt, ...]]
) -> int:
    """Say how to go on with a run that waits for an approval, and return the exit code.

    `continue_option` is the option that continues it; None if the run is not in the log. `doubts` are the values that
    nobody explains who may, by the id of the call.
    """
    names = ", ".join(dict.fromkeys(call.name for call in calls))
    for each in dict.fromkeys(each.summary for found in doubts.values() for each in found):
        print_error(f"in doubt: {each}")
    cure = "to allow it and all calls that follow, run this again with --approve always"
    if continue_option is not None:
        cure = (
            f"to decide in a terminal: toolspeak run {continue_option}, or toolspeak chat {continue_option}; "
            f"to allow it: toolspeak run {continue_option} --approve once (always allows this call and all that follow)"
        )
    print_error(f"paused: {names} needs approval, and nobody can be asked here; {cure}")
    return ExitCode.PAUSED


def report_missing_tools(names: Sequence[str]) -> int:
    """Say that a call still waits, since its tool is not loaded, and return the exit code."""
    tools = f"the tool{'s' if len(names) > 1 else ''} {', '.join(names)}"
    print_error(f"paused: what waits needs {tools}; name it with --tools, or refuse the call with --approve never")
    return ExitCode.PAUSED


def run(
    prompt: str | Message | None,
    options: ConversationOptions,
    settings: Settings,
    log_path: Path | None,
    continued: ContinuedConversation | None = None,
) -> int:
    """Run an agent on one prompt, print what happens, and return the exit code. Without a path, no log keeps it.

    If a call of the continued conversation waits for an approval, its run is resumed before the prompt is asked.
    """
    config = resolve_config(continued.apply_to(options) if continued else options, settings)
    before = ConversationSoFar()
    if continued is not None:
        messages = replace_system(continued.messages, options.system)
        before = ConversationSoFar(messages, continued.compacted, continued.waiting, continued.find_allowed(options))
        if config.approve is not ApproveChoice.never and (missing := continued.find_missing_tools(config.toolbox)):
            continued.lock.close()
            return report_missing_tools(missing)
    with (
        reserve_stdout() as answer,
        RecordFile(options.record) if options.record else nullcontext() as record_file,
        ConversationLog(log_path, continued) as log,
    ):
        log.remember(config)
        kind = _JsonRunner if options.as_json else _ExtractingRunner if options.extract else _TranscriptRunner
        runner = kind(config, answer)
        record = _record_with(log.record, record_file and record_file.record)
        continue_option = None if log_path is None else continued.option if continued else "-c"
        outcome: Outcome[None] | None = None
        try:
            if continued is not None and continued.waiting:
                if config.approve is ApproveChoice.ask and not (runner.can_ask or before.allowed):
                    return report_pause(continued.waiting_calls, continue_option, find_doubted(continued.waiting))
                for fact in continued.waiting:
                    if record_file:
                        record_file.record(fact)
                outcome = runner.run(None, before, record)
                before = ConversationSoFar(replace_system(outcome.messages, options.system), outcome.compacted)
            if prompt is not None and (outcome is None or outcome.stop_reason == "answered"):
                outcome = runner.run(prompt, before, record)
        except RunPaused as paused:
            return report_pause(paused.calls, continue_option, paused.doubts)
        except ModelError as error:
            print_error(str(error))
            return ExitCode.ENDPOINT
        finally:
            if record_file and record_file.failure:
                print_error(record_file.failure)
    if outcome is None or outcome.stop_reason == "answered":
        return ExitCode.ANSWERED
    return ExitCode.INTERRUPTED if outcome.stop_reason == "cancelled" else ExitCode.STOPPED


class _JsonRunner:
    """Runs an agent and prints its events as JSON, one a line."""

    can_ask = False

    def __init__(self, config: AgentConfig, answer: TextIO) -> None:
        self._agent = config.build_agent(None)
        self._answer = answer

    def run(self, prompt: str | Message | None, before: ConversationSoFar, record: Recorder) -> Outcome[None]:
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
        self._is_terminal = answer.isatty()
        console = create_console(answer if self._is_terminal else sys.stderr)
        self._timer = CallTimer()
        self._transcript = Transcript(console, self._timer, None if self._is_terminal else answer)
        self._approvals = self._create_approvals(config, console)
        self.can_ask = self._approvals is not None
        self._agent: Agent = config.build_agent(self._approvals)

    def _create_approvals(self, config: AgentConfig, console: Console) -> ApprovalBridge | None:
        if config.approve is not ApproveChoice.ask or not is_interactive(console):
            return None
        terminal = TerminalInput(console)

        def ask_user(call: ToolCall, doubts: tuple[Doubt, ...]) -> UserAnswer:
            self._transcript.end_line()
            return terminal.ask_approval(call, doubts)

        return ApprovalBridge(ask_user)

    def run(self, prompt: str | Message | None, before: ConversationSoFar, record: Recorder) -> Outcome[None]:
        _check_prompt(prompt, self._agent)
        count = len(before.messages)
        continues = f" · continues {count} message{'s' * (count != 1)}" if count else ""
        continues = " · goes on with what waits for an approval" if prompt is None else continues
        self._transcript.write_line(describe_agent(self._agent) + continues, "dim")
        loader = ModelLoader(self._agent.model)
        if loader.is_loading:
            self._transcript.show_wait(f"loading {self._agent.model.name}")
        try:
            loader.wait()
            if report := loader.take_report():
                self._transcript.write_line(report, "dim")
            report_reading(self._agent.model, self._transcript.show_reading)
            started = time.monotonic()
            with self._transcript.capture_prints():
                outcome = run_live(
                    self._agent,
                    prompt,
                    self._transcript.show,
                    before=before,
                    approvals=self._approvals,
                    record=_record_with(self._timer.record, record),
                    report=self._transcript.write_error,
                )
            if self._is_terminal and outcome.stop_reason != "cancelled":
                self._transcript.write_line(format_totals(outcome, time.monotonic() - started), "dim")
            return outcome
        finally:
            self._transcript.end_line()


class _ExtractingRunner:
    """Runs an agent and writes the last code block of its answer; everything else goes to standard error."""

    def __init__(self, config: AgentConfig, answer: TextIO) -> None:
        self._answer = answer
        self._runner = _TranscriptRunner(config, StringIO())
        self.can_ask = self._runner.can_ask

    def run(self, prompt: str | Message | None, before: ConversationSoFar, record: Recorder) -> Outcome[None]:
        outcome = self._runner.run(prompt, before, record)
        if outcome.stop_reason == "answered":
            block = extract_code(outcome.text)
            if block is None:
                print_error("the answer has no code block, so all of it is printed")
                block = outcome.text.strip() + "\n"
            self._answer.write(escape_prose(block) if self._answer.isatty() else block)
        elif text := outcome.text.strip():  # a program must not take half of an answer for the code
            print_error(f"the answer is not complete, so no code is printed; it begins:\n{text}", keeps_lines=True)
        return outcome


def _check_prompt(prompt: str | Message | None, agent: Agent) -> None:
    """Check the attachments of a prompt before the model is loaded."""
    if isinstance(prompt, Message):
        check_attachments(agent.model, [prompt])


def _record_with(first: Callable[[Fact], object], second: Recorder | None) -> Callable[[Fact], None]:
    def record_both(fact: Fact) -> None:
        first(fact)
        if second is not None:
            second(fact)

    return record_both
