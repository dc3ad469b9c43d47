"""What a run may use (`Limits`), and what a turn or a run has used (`Usage`)."""

from toolspeak.values.frozen import frozen

CHARS_PER_TOKEN = 4
"""Characters of a token, on average, where no endpoint counts tokens."""


def estimate_tokens(chars: int) -> int:
    """Return how many tokens a text of that length has, roughly."""
    return -(-chars // CHARS_PER_TOKEN)


@frozen
class Usage:
    """The tokens of a turn or of a run.

    Attributes:
        input_tokens: All tokens of the request, those from a cache included.
        output_tokens: All tokens of the answer, those of its reasoning included.
        cached_tokens: The input tokens that the endpoint had in its cache.
        estimated: Whether the endpoint did not send the numbers.
        cache_write_tokens: The input tokens that the endpoint has put into its cache.
        reasoning_tokens: The output tokens of reasoning, where the endpoint counts them.
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
    """The limits of a run. `None` is no limit.

    Attributes:
        turns: Messages of the model.
        calls: Calls that are run.
        tokens: Input and output tokens of all turns, those of inner runs included. Where the endpoint counts none,
            only the output is estimated.
        seconds: Seconds from the start of the run, or from the moment it is resumed. The time that the `system` and
            `choose_tools` functions of the agent take is counted.
        repeats: How often a call may have the same result. One time before, the model is told so; at this time, its
            tool is withheld for a message; once more, the model is asked for its answer without calls (`Guided`).
        concurrent: Calls that run at the same time; further calls wait.
        cost: US dollars for the tokens of all turns. The price of every model of the agent must be known.
        depth: How deeply agents that are tools may be nested below the run: 1 lets its tools be agents, 2 lets those
            have such tools too.
        context: Tokens of one request and its answer. A longer conversation is compacted (`Compacted`) before the
            model is asked. A model that runs on this machine has this limit by itself.
        result_tokens: Tokens of a result that the model is shown whole, of four characters each. Of a longer one it is
            shown the beginning and the end, a quarter as much, and reads the rest by `recall`. None stands for a
            quarter of the context, from 1,024 to 16,384. `max_output` of a tool takes its place.
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
