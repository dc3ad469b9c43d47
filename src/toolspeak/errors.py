"""Everything toolspeak raises. Errors speak to the person: what was wrong, where, and what to do.

    ToolspeakError
    ├── UsageError          you: a function that cannot be a tool, a wrong argument, a file that does not import
    ├── ModelError          the endpoint
    │   ├── RateLimited         it asks to slow down, and went on asking
    │   ├── ProviderError       it refused or failed
    │   └── StreamInterrupted   it stopped in the middle of a message
    ├── ToolError           a call
    │   ├── InvalidArguments    the arguments do not fit the tool; the message is the text a model gets
    │   └── ToolTimeout         the tool did not come back in time
    ├── LimitReached        a limit of the run: turns, calls, tokens, seconds
    └── RunPaused           the run waits for somebody; it can be resumed

No exception logs, and none prints. A model's bad grammar is not an exception but an event (`CallMalformed`).
"""

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from toolspeak.messages import ToolCall


class ToolspeakError(Exception):
    """The root of all errors of this library.

    Attributes:
        outcome: What the run had come to, where one was under way: its messages, its facts, what to resume from.
    """

    outcome: Any = None


class UsageError(ToolspeakError):
    """The library was given something it cannot use; the message says what and how to mend it."""


class ModelError(ToolspeakError):
    """The endpoint failed."""


class RateLimited(ModelError):
    """The endpoint asked to slow down until no tries were left."""


class ProviderError(ModelError):
    """The endpoint refused the request or failed to answer it."""


class StreamInterrupted(ModelError):
    """The endpoint stopped in the middle of a message."""


class ToolError(ToolspeakError):
    """A tool call did not succeed."""


class InvalidArguments(ToolError):
    """The arguments of a call do not fit the tool. `str(error)` is the very text that a model gets.

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


class ToolTimeout(ToolError):
    """A tool did not come back in time."""


class LimitReached(ToolspeakError):
    """A limit of the run was reached."""


class RunPaused(ToolspeakError):
    """The run waits for an approval that nobody is there to give.

    Attributes:
        calls: The calls that wait for a yes or a no.
        facts: The run so far. Saved and read back, in another process too, it goes on with `agent.resume(facts, …)`.
    """

    def __init__(self, message: str, calls: "tuple[ToolCall, ...]" = (), facts: tuple[Any, ...] = ()) -> None:
        super().__init__(message)
        self.calls = calls
        self.facts = facts
