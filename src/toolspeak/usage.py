"""`Usage`: the tokens of a turn or of a run."""

from toolspeak._frozen import frozen

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
