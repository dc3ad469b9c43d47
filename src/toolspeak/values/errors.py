"""The errors that toolspeak raises. An error says what was wrong, where, and what to do.

    ToolspeakError
    ├── UsageError              a wrong argument, function or file
    │   ├── ReplayMiss          a recording has no answer to a request of a replayed run
    │   └── ToolsChanged        an MCP server has changed the descriptions of its tools
    ├── ModelError              the endpoint failed
    │   ├── RateLimited         it still asked to slow down after all retries
    │   ├── ProviderError       it refused the request or failed to answer it
    │   │   ├── ContextExceeded     the conversation does not fit into the context
    │   │   └── EndpointDown    it could not be reached or failed
    │   │       └── EndpointTimeout     it sent nothing in time
    │   └── StreamInterrupted   it stopped in the middle of a message
    ├── ToolError               a tool call failed
    │   ├── InvalidArguments    the arguments do not fit the tool
    │   └── ServerFailed        an MCP server did not start, or gave no answer
    ├── OutputMissing           the run ended without its typed output
    ├── LimitReached            agents call agents too deeply
    ├── StoreUnavailable        the store of durable runs cannot be used
    ├── SpansNotSent            an OpenTelemetry collector cannot be reached, or refuses spans
    └── RunPaused               the run waits for an approval; it can be resumed

`frozen.py` has the first two, since value classes raise a `UsageError`. No exception logs or prints
anything. A malformed call of a model is not an exception but an event (`CallMalformed`), and a reached limit is a stop
reason of the run.
"""

from collections.abc import Mapping
from typing import Any, Self

from toolspeak.values.events import Doubt, Fact, StopReason
from toolspeak.values.frozen import ToolspeakError, UsageError
from toolspeak.values.messages import ToolCall
from toolspeak.values.outcome import Outcome


class ReplayMiss(UsageError):
    """A recording has no answer to a request; the message shows the difference to the nearest recorded one."""


class ToolsChanged(UsageError):
    """An MCP server has changed the descriptions of its tools; the message shows the difference.

    Attributes:
        server: The server, if the user had accepted its tools before: a run that calls it then ends.
    """

    def __init__(self, message: str, *, server: str | None = None) -> None:
        super().__init__(message)
        self.server = server


class ModelError(ToolspeakError):
    """The endpoint failed.

    Attributes:
        status: The HTTP status of the response, or the one that matches the error in it; None if there was no response,
            or none that could be parsed.
        retry_after: Seconds that the endpoint asks to wait before the next request; None if it does not ask.
        outcome: If a run had begun and this error ended it: the messages, calls and facts until then.
    """

    outcome: Outcome[Any] | None = None

    def __init__(self, message: str = "", *, status: int | None = None, retry_after: float | None = None) -> None:
        super().__init__(message)
        self.status = status
        self.retry_after = retry_after

    def with_message(self, message: str) -> Self:
        """Return the same error with another message."""
        return type(self)(message, status=self.status, retry_after=self.retry_after)


class RateLimited(ModelError):
    """The endpoint still asked to slow down when no retries were left."""


class ProviderError(ModelError):
    """The endpoint refused the request or failed to answer it."""


class ContextExceeded(ProviderError):
    """The conversation, with the tools and the answer, does not fit into the context of the model."""


class EndpointDown(ProviderError):
    """The endpoint could not be reached, sent nothing in time, or failed with a status of 500 or more.

    Another endpoint may answer the same request: an agent with several models asks the next one.
    """


class EndpointTimeout(EndpointDown):
    """The endpoint sent nothing in time, after a request or while connecting."""


class StreamInterrupted(ModelError):
    """The endpoint stopped in the middle of a message."""


class ToolError(ToolspeakError):
    """A tool call failed. Raise it in a tool to choose the message that the model gets."""


class InvalidArguments(ToolError):
    """The arguments of a call do not fit the tool. `str(error)` is the text that the model gets.

    Attributes:
        tool: The name of the tool.
        problems: One line for each bad field.
    """

    def __init__(self, tool: str, problems: tuple[str, ...]) -> None:
        super().__init__(tool, problems)
        self.tool = tool
        self.problems = problems

    def __str__(self) -> str:
        return "\n".join(
            (f"The arguments of {self.tool} are not valid:", *(f"- {problem}" for problem in self.problems))
        )


class ServerFailed(ToolError):
    """An MCP server did not start, or gave no answer to a call."""


class OutputMissing(ToolspeakError):
    """The run ended without its typed output. With `output_optional=True`, the output is None instead.

    Attributes:
        outcome: The outcome of the run; its `output` is None.
    """

    def __init__(self, outcome: Outcome[None]) -> None:
        super().__init__(outcome)
        self.outcome: Outcome[None] = outcome

    @property
    def stop_reason(self) -> StopReason:
        """Why the run ended."""
        return self.outcome.stop_reason

    def __str__(self) -> str:
        reason = f"{self.stop_reason}: {self.outcome.detail}" if self.outcome.detail else self.stop_reason
        return (
            f"the run ended without its typed output ({reason}); error.outcome has the rest of the run, and "
            "output_optional=True gives None instead of this error"
        )


class LimitReached(ToolspeakError):
    """Agents are nested more deeply than `Limits.depth` allows."""


class StoreUnavailable(ToolspeakError):
    """The database of durable runs cannot be reached, read or written. Nothing uncommitted has taken effect."""


class SpansNotSent(ToolspeakError):
    """An OpenTelemetry collector cannot be reached, or refuses spans."""


class RunPaused(ToolspeakError):
    """The run waits for an approval, and the agent has no `approve` function.

    Attributes:
        calls: The calls that wait for a decision.
        facts: The run so far. Save them, and continue with `agent.resume(facts, …)`, also in another process.
        doubts: The values of these calls that come from untrusted sources, by the id of the call.
    """

    outcome: Outcome[Any] | None = None

    def __init__(
        self,
        message: str,
        calls: tuple[ToolCall, ...] = (),
        facts: tuple[Fact, ...] = (),
        doubts: Mapping[str, tuple[Doubt, ...]] | None = None,
    ) -> None:
        super().__init__(message)
        self.calls = calls
        self.facts = facts
        self.doubts = doubts or {}


for _error in (
    ToolspeakError,
    UsageError,
    ReplayMiss,
    ModelError,
    RateLimited,
    ProviderError,
    EndpointDown,
    StreamInterrupted,
    ToolError,
    InvalidArguments,
    OutputMissing,
    RunPaused,
):
    _error.__module__ = "toolspeak"  # where users import it from, so that a traceback says that
