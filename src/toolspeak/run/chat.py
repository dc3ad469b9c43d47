"""`Chat`: a conversation with an agent."""

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from toolspeak.messages import Message
from toolspeak.outcome import Outcome
from toolspeak.run.run import AgentRun
from toolspeak.run.runnable import Prompt, Runnable, RunOptions

if TYPE_CHECKING:
    from toolspeak.run.agent import Agent


class Chat(Runnable):
    """A conversation: each run goes on from the messages of the one before.

    Its methods take what those of the agent take; `messages` come after those of the conversation.

    Attributes:
        agent: The agent that answers.
        messages: The conversation so far.
    """

    def __init__(self, agent: "Agent", messages: Sequence[Message] = ()) -> None:
        self.agent = agent
        self.messages = tuple(messages)

    def prepare(
        self,
        prompt: Prompt,
        options: RunOptions,
        *,
        output: Any = None,
        output_optional: bool = False,
        watched: bool = True,
    ) -> AgentRun[Any]:
        """Build a run that goes on with the conversation and has not begun."""
        messages = (*self.messages, *options.get("messages", ()))
        return self.agent.prepare(
            prompt,
            {**options, "messages": messages},
            output=output,
            output_optional=output_optional,
            watched=watched,
            on_end=self._remember,
        )

    def _remember(self, outcome: Outcome[Any]) -> None:
        self.messages = outcome.messages
