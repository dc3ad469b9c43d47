"""The limits of a run (`Limits`), and the tokens that a turn or a run has used (`Usage`)."""

from toolspeak.values.frozen import frozen

CHARS_PER_TOKEN = 4
"""Average characters of a token, for texts that no endpoint has counted."""


def estimate_tokens(chars: int) -> int:
    """Estimate how many tokens a text of that length has."""
    return -(-chars // CHARS_PER_TOKEN)


@frozen
class Usage:
    """The tokens of a turn or of a run.

    Attributes:
        input_tokens: All tokens of the request, including cached ones.
        output_tokens: All tokens of the answer, including its reasoning.
        cached_tokens: The input tokens that the endpoint read from its cache.
        estimated: Whether the numbers are estimates, because the endpoint did not send them.
        cache_write_tokens: The input tokens that the endpoint wrote to its cache.
        reasoning_tokens: The output tokens of reasoning, if the endpoint counts them.
    """

    input_tokens: int = 0
    output_tokens: int = 0
    cached_tokens: int = 0
    estimated: bool = False
    cache_write_tokens: int = 0
    reasoning_tokens: int = 0

    def __add__(self, other: "Usage") -> "Usage":
        return Usage(
            input_tokens=self.input_tokens + other.input_tokens,
            output_tokens=self.output_tokens + other.output_tokens,
            cached_tokens=self.cached_tokens + other.cached_tokens,
            estimated=self.estimated or other.estimated,
            cache_write_tokens=self.cache_write_tokens + other.cache_write_tokens,
            reasoning_tokens=self.reasoning_tokens + other.reasoning_tokens,
        )


@frozen
class Limits:
    """The limits of a run. `None` means no limit.

    Attributes:
        turns: Messages of the model.
        calls: Calls that run.
        tokens: Input and output tokens of all turns, including inner runs. If the endpoint does not count tokens,
            only the output is estimated.
        seconds: Seconds from the start of the run, or from the moment it is resumed, including the time of the agent's
            `system` and `choose_tools` functions.
        repeats: After this many equal calls with the same result, their tool is withheld for one message. One call
            earlier the model is told; one call later it must answer without calls (`Guided`).
        concurrent: Calls that run at the same time; further calls wait.
        cost: US dollars for the tokens of all turns. The price of every model of the agent must be known.
        depth: How deeply agents that are tools may be nested below the run: with 1 its tools can be agents, with 2
            those can have such tools, too.
        context: Tokens of one request and its answer. A longer conversation is compacted (`Compacted`) before the
            model is asked. Models on this machine have such a limit by default.
        result_tokens: The largest result that the model is shown whole, in tokens of four characters. Of a longer one
            it sees the beginning and the end, a quarter as much, and reads the rest with `recall`. None means a
            quarter of the context, from 1,024 to 16,384. A tool's `max_output` overrides it.
    """

    turns: int | None = 10
    calls: int | None = None
    tokens: int | None = None
    seconds: float | None = None
    repeats: int | None = 3
    concurrent: int = 8
    cost: float | None = None
    depth: int | None = 3
    context: int | None = None
    result_tokens: int | None = None
