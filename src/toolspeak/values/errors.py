"""Everything that toolspeak raises. An error tells a person what was wrong, where, and what to do.

    ToolspeakError
    ├── UsageError              a wrong argument, a function that cannot be a tool, a file that does not import
    │   ├── ReplayMiss          a recording holds no answer to what a replayed run asks
    │   └── ToolsChanged        an MCP server describes its tools in another way than when they were first used
    ├── ModelError              the endpoint failed
    │   ├── RateLimited         it asked to slow down until no retries were left
    │   ├── ProviderError       it refused the request or failed to answer it
    │   │   ├── ContextExceeded     the conversation does not fit into the context of the model
    │   │   └── EndpointDown    it could not be reached or failed by itself; another endpoint may answer
    │   │       └── EndpointTimeout     it sent nothing in time
    │   └── StreamInterrupted   it stopped in the middle of a message
    ├── ToolError               a call of a tool failed
    │   ├── InvalidArguments    the arguments do not fit the tool
    │   └── ServerFailed        an MCP server did not start, or gave no answer
    ├── OutputMissing           the run ended without the typed output that was asked for
    ├── LimitReached            agents call agents too deeply
    ├── StoreUnavailable        the database of durable runs cannot be reached, read or written
    ├── SpansNotSent            a collector of OpenTelemetry cannot be reached, or does not take spans
    └── RunPaused               the run waits for an approval; it can be resumed

`frozen.py` has the first two, since value classes raise a `UsageError`. No exception logs or prints
anything. A call that a model wrote wrongly is not an exception but an event (`CallMalformed`), and a limit of a run is
not one but a stop reason.
"""

from collections.abc import Mapping
from typing import Any, Self

from toolspeak.values.events import Doubt, Fact, StopReason
from toolspeak.values.frozen import ToolspeakError, UsageError
from toolspeak.values.messages import ToolCall
from toolspeak.values.outcome import Outcome


class ReplayMiss(UsageError):
    """A recording holds no answer to what is asked; the message shows the difference to the nearest that it has."""


class ToolsChanged(UsageError):
    """An MCP server describes its tools in another way than when they were first used; the message shows the change.

    Attributes:
        server: The server, if the user had accepted its tools: a run that calls it then ends.
    """

    def __init__(self, message: str, *, server: str | None = None) -> None:
        super().__init__(message)
        self.server = server


class ModelError(ToolspeakError):
    """The endpoint failed.

    Attributes:
        status: The HTTP status that the endpoint answered with, or the one that suits the error in its answer; None if
            it gave no answer, or one that could not be read.
        retry_after: Seconds that the endpoint asks to wait before the next request; None if it does not say.
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
    """The endpoint asked to slow down until no retries were left."""


class ProviderError(ModelError):
    """The endpoint refused the request or failed to answer it."""


class ContextExceeded(ProviderError):
    """The conversation, with the tools and the answer, does not fit into the context of the model: shorten it."""


class EndpointDown(ProviderError):
    """The endpoint could not be reached, sent nothing in time, or failed by itself (a status from 500 on).

    The request was not at fault, so another endpoint may answer it: an agent with several models asks the next one.
    """


class EndpointTimeout(EndpointDown):
    """The endpoint took a request, or was asked for a connection, and sent nothing in time."""


class StreamInterrupted(ModelError):
    """The endpoint stopped in the middle of a message."""


class ToolError(ToolspeakError):
    """A call of a tool failed."""


class InvalidArguments(ToolError):
    """The arguments of a call do not fit the tool. `str(error)` is exactly the text that a model is sent.

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
    """The run ended without the typed output that was asked for. `output_optional=True` gives None instead.

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
    """Agents call agents more deeply than is allowed."""


class StoreUnavailable(ToolspeakError):
    """The database of durable runs cannot be reached, read or written. What was not committed has not happened."""


class SpansNotSent(ToolspeakError):
    """A collector of OpenTelemetry cannot be reached, or does not take spans."""


class RunPaused(ToolspeakError):
    """The run waits for an approval, and the agent has no `approve` function to ask.

    Attributes:
        calls: The calls that wait for a yes or a no.
        facts: The run so far. Saved and loaded, in another process too, it goes on with `agent.resume(facts, …)`.
        doubts: The values of these calls that neither the user nor the program nor its own data said, by the id of the
            call.
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
