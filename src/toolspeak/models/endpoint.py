"""An endpoint: where a model is reached, how it is spoken to, and what it may take."""

from collections.abc import Mapping
from dataclasses import field
from typing import Literal, TypeAlias

from toolspeak._frozen import frozen
from toolspeak.wire.quirks import NO_QUIRKS, Quirks
from toolspeak.wire.schemas import PLAIN, SchemaRules

Api: TypeAlias = Literal["openai", "anthropic"]

SHORTEST_SECRET = 6
"""Letters of a key below which it is none: "none" and "-" stand where no key is needed, and in ordinary words."""


@frozen
class RetryPolicy:
    """How long an endpoint is waited for.

    Attributes:
        connect: Seconds until a connection stands.
        silence: Seconds without a byte after which the connection counts as dead. Before the first byte a local model
            may be reading a long prompt.
        total: Seconds for one answer with all its tries.
        tries: How often a request is sent while nothing of an answer has come.
        first_wait: About the seconds before the second try; each further wait is twice as long.
        longest_wait: The most seconds that an endpoint may ask to be left alone between two tries.
    """

    connect: float = 10.0
    silence: float = 300.0
    total: float | None = 1800.0
    tries: int = 4
    first_wait: float = 0.5
    longest_wait: float = 60.0


@frozen
class Endpoint:
    """Where a model is reached.

    Attributes:
        name: What it is called in errors.
        base_url: The address, up to and with `/v1`.
        api: The API that it speaks.
        key: The key. It is not shown when an endpoint is.
        key_variable: The environment variable in which a key was looked for, to be named in errors.
        headers: Headers beside the key.
        quirks: What it honours of the API.
        rules: What it wants of schemas.
        patience: How long it is waited for.
        vendor: Who it is: data of another vendor is not sent to it.
    """

    name: str
    base_url: str
    api: Api = "openai"
    key: str | None = field(default=None, repr=False)
    key_variable: str | None = None
    headers: Mapping[str, str] = field(default_factory=dict[str, str], repr=False)
    quirks: Quirks = NO_QUIRKS
    rules: SchemaRules = PLAIN
    patience: RetryPolicy = RetryPolicy()
    vendor: str | None = None

    @property
    def where(self) -> str:
        """Its name and address, as errors begin."""
        return f"{self.name} at {self.base_url}"

    def without_key(self, text: str) -> str:
        """A text of the endpoint's without the key in it: some repeat the key that they refuse."""
        values = [self.key or "", *self.headers.values()]
        words = {word for value in values for word in (value, *value.split()) if len(word) >= SHORTEST_SECRET}
        for secret in sorted(words, key=len, reverse=True):
            text = text.replace(secret, "…")
            for length in range(len(secret) - 1, SHORTEST_SECRET - 1, -1):  # where a long text was cut
                text = text.replace(f"{secret[:length]}…", "…")
        return text
