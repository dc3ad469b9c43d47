"""`Chat`: a conversation with an agent.

A saved conversation is JSON Lines (`values/codec.py`): the compaction, if there is one, the start of the last run
without its messages and tools, and then the messages. So what `codec.dump_messages` wrote is a saved conversation, too.
"""

from collections.abc import Generator, Sequence
from contextlib import contextmanager
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any, Unpack, cast

from toolspeak.loop.compaction import drop_system
from toolspeak.run.approvals import Deps
from toolspeak.run.inputs import check_compaction
from toolspeak.run.run import AgentRun
from toolspeak.run.runnable import BaseAgent, D, Facts, Prompt, ResumeOptions, Runnable, RunOptions, RunSetup, T, T_co
from toolspeak.settings.files import write_atomically
from toolspeak.values import codec
from toolspeak.values.errors import UsageError
from toolspeak.values.events import Compacted, Fact, RunStarted
from toolspeak.values.messages import Message, Thinking
from toolspeak.values.outcome import Outcome


class Chat(Runnable[T_co, Deps]):
    """A conversation: each run continues from the messages of the previous one.

    Its methods take the same arguments as those of the agent; `messages` come after those of the conversation. The runs
    of a conversation execute one after the other: starting one while another is in progress raises `UsageError`.

    If the endpoint failed, or the run was stopped before the model wrote anything, the run is not added and the
    conversation stays as it was, so you can send the prompt again. A run that is paused for an approval is neither
    added nor dropped: `resume` continues it, and then its messages are added.

    `save` and `load` keep a conversation in a database or a file between runs, with all that the next run needs.

    Attributes:
        agent: The agent that answers.
        messages: The conversation so far.
        compacted: How the conversation was compacted for the model; None if it is shown whole.
        dropped: The messages of the last run, starting with its prompt, if that run was not added; else none.
    """

    def __init__(
        self, agent: BaseAgent[T_co, Deps], messages: Sequence[Message] = (), compacted: Compacted | None = None
    ) -> None:
        self.agent = agent
        self.messages = tuple(messages)
        self.compacted = compacted
        self.dropped: tuple[Message, ...] = ()
        self._earlier: RunStarted | None = None
        self._is_busy = False

    def __repr__(self) -> str:
        return f"Chat({self.agent}, messages: {len(self.messages)})"

    def save(self, path: Path | None = None) -> str:
        """Return the conversation as a string, for a database; with a path, also write it to that file.

        The file is replaced atomically: a reader finds the old conversation or the new one. A run that is in progress
        or paused is not saved.

        Examples:
            >>> from toolspeak import Agent
            >>> from toolspeak.testing import ScriptedModel, says
            >>> agent = Agent(ScriptedModel([says("Hello, Ada."), says("You are Ada.")]))
            >>> chat = agent.chat()
            >>> chat.run("I am Ada.").text
            'Hello, Ada.'
            >>> saved = chat.save()
            >>> Chat.load(agent, saved).run("Who am I?").text
            'You are Ada.'
        """
        facts: list[Fact] = [] if self.compacted is None else [self.compacted]
        if self._earlier is not None:
            facts.append(replace(self._earlier, messages=(), tools=(), compacted=None))
        text = codec.dump_items([*facts, *self.messages])
        if path is not None:
            if not isinstance(cast("object", path), Path):
                raise UsageError(f"the path of a saved conversation is a Path, not {path!r}; write Path({path!r})")
            write_atomically(path, text)
        return text

    @staticmethod
    def load(agent: BaseAgent[T, D], saved: str | bytes | Path | None) -> "Chat[T, D]":
        """Load a saved conversation.

        Args:
            agent: The agent that continues; it need not be the one that started.
            saved: What `save` returned, or the `Path` of a file; None starts a new conversation.

        Raises:
            UsageError: The file cannot be read, or is not a conversation. The error names the line.
        """
        if isinstance(saved, Path):
            try:
                saved = saved.read_bytes()
            except OSError as error:
                raise UsageError(f"cannot read the conversation {saved}: {error.strerror}") from None
        try:
            text = saved.decode() if isinstance(saved, bytes) else saved or ""
        except UnicodeDecodeError as error:
            raise UsageError(f"this is no saved conversation: it is not UTF-8 ({error})") from None
        if text.strip() and not text.lstrip().startswith("{"):
            raise UsageError(f"{text[:80]!r} is no saved conversation; to read a file, give Path(…)")
        messages: list[Message] = []
        compacted: Compacted | None = None
        earlier: RunStarted | None = None
        for number, item in codec.load_items(text):
            match item:
                case Message():
                    messages.append(item)
                case Compacted():
                    compacted = item
                case RunStarted(messages=()):
                    earlier = item
                case _:
                    raise UsageError(
                        f"line {number}: this is a fact of a run ({item.kind}), and no part of a saved conversation; "
                        "a run goes on with agent.chat().resume(codec.load_facts(…))"
                    )
        chat = Chat(agent, messages, check_compaction(compacted, messages))
        chat._earlier = earlier
        return chat

    def prepare(self, prompt: Prompt, options: RunOptions, **setup: Unpack[RunSetup]) -> AgentRun[Any]:
        """Build a run that continues the conversation, without starting it."""
        messages = (*self.messages, *options.get("messages", ()))
        options = {"compacted": self.compacted, **options, "messages": messages}
        setup = {**setup, "on_end": self._remember, "earlier": self._earlier}
        return self._keep_for(self.agent.prepare(prompt, options, **setup))

    def prepare_resume(self, facts: Facts, options: ResumeOptions, **setup: Unpack[RunSetup]) -> AgentRun[Any]:
        """Build, without starting it, a run of the conversation that resumes from its facts.

        Raises:
            UsageError: The run continued other messages than those that the conversation has now.
        """
        started = next((fact for fact in facts if isinstance(fact, RunStarted)), None)
        before, after = drop_system(self.messages), drop_system(() if started is None else started.messages)
        # System prompts may change between runs.
        if started is not None and (len(after) <= len(before) or after[: len(before)] != before):
            raise UsageError(
                "the run is not the next one of this conversation, which has other messages now; resume it with "
                "agent.chat(messages).resume(…), with the messages that the conversation had before the run"
            )
        return self._keep_for(self.agent.prepare_resume(facts, options, **{**setup, "on_end": self._remember}))

    def _keep_for(self, run: AgentRun[Any]) -> AgentRun[Any]:
        run.hold = partial(self._hold, self.messages)
        return run

    @contextmanager
    def _hold(self, messages: tuple[Message, ...]) -> Generator[None]:
        """Keep the conversation for one run, which was built for these messages, until that run has ended or paused."""
        if self._is_busy:
            raise UsageError(
                "another run of this conversation is in progress; wait for its end or close its stream, or start a "
                "second conversation from the same messages: agent.chat(chat.messages)"
            )
        if self.messages is not messages:
            raise UsageError(
                "the conversation has gone on since this run was started, so that its prompt would answer to other "
                "messages; start the run when the one before it has ended"
            )
        self._is_busy = True
        try:
            yield
        finally:
            self._is_busy = False

    def _remember(self, outcome: Outcome[Any]) -> None:
        self.messages, self.dropped = extend_conversation(self.messages, outcome)
        if not self.dropped:
            self.compacted = outcome.compacted
            self._earlier = next((fact for fact in outcome.facts if isinstance(fact, RunStarted)), None)


def extend_conversation(
    messages: tuple[Message, ...], outcome: Outcome[Any]
) -> tuple[tuple[Message, ...], tuple[Message, ...]]:
    """Return the conversation after a run that went on from these messages, and what was dropped of the run."""
    has_system = any(message.role == "system" for message in messages)
    start = len(messages) + (not has_system and outcome.messages[0].role == "system")
    added = outcome.messages[start:]
    has_text = any(
        message.role == "assistant" and any(not isinstance(part, Thinking) for part in message.parts)
        for message in added
    )
    if outcome.stop_reason != "error" and has_text:
        return outcome.messages, ()
    return messages, added
