"""`Endpoint`: the address of a model, its API and key, and what is known of its server.

Every base address ends in `/v1`, also that of Ollama, whose API is beside it: addresses, calibrations and settings that
were written for OpenAI's API of Ollama stay valid.
"""

from collections.abc import Mapping
from dataclasses import field
from typing import Any, Literal, TypeAlias

from toolspeak.values.address import hide_secrets
from toolspeak.values.frozen import frozen
from toolspeak.wire.api import ApiName
from toolspeak.wire.chat_request import NO_QUIRKS, Quirks
from toolspeak.wire.schemas import NO_CHANGES, SchemaRules

AbilityApiName: TypeAlias = Literal["llamacpp", "ollama", "lmstudio", "models"]
"""The APIs in which servers say what their models can do (`abilities.py`): those of kinds of servers, and the list of
models of OpenAI's API, to which vLLM and others add the context."""

MIN_KEY_CHARS = 6
"""A shorter key is not treated as a secret: "none" and "-" are given where no key is needed, and are ordinary words."""


@frozen
class RetryPolicy:
    """Timeouts and retries of requests to an endpoint. All times are in seconds.

    Attributes:
        connect_timeout: Time to establish a connection.
        read_timeout: Time without a byte after which the connection counts as dead. A local model may take long to send
            the first byte, because it reads the whole prompt first.
        total_timeout: Time for one answer, with all attempts; None for no limit.
        attempts: How often a request is sent, as long as no part of an answer has arrived.
        first_wait: Time before the second attempt, on average a quarter less. Each further wait is twice as long.
        max_wait: The longest wait between two attempts. If the endpoint asks for more, the request is not sent again.
    """

    connect_timeout: float = 10.0
    read_timeout: float = 300.0
    total_timeout: float | None = 1800.0
    attempts: int = 4
    first_wait: float = 0.5
    max_wait: float = 60.0


KEY_HEADERS = {"authorization", "x-api-key", "x-goog-api-key"}
"""Headers that hold a key."""


@frozen
class Endpoint:
    """The address of a model, and how to send requests to it.

    Attributes:
        name: Its name in errors.
        base_url: The address, up to and including `/v1`.
        api: The API that it provides.
        key: The API key. It is left out of the `repr`.
        key_variable: The environment variable that was searched for a key, for error messages.
        needs_key: Whether it refuses every request without a key, so that none is sent.
        headers: Headers to send with each request, besides the key.
        quirks: Which parts of the API it supports.
        rules: How schemas must be changed for it.
        reads_control_tokens: Whether its server interprets control tokens in the text of messages, so that they must be
            broken up first.
        retry: Timeouts and retries.
        vendor: The owner of `extra` data: data of other vendors is not sent to it. By default the vendor of the API.
        leaks_calls: Whether a call may be left in the text of an answer, so that the native dialect reads the text.
        ability_apis: The APIs in which the server may list the abilities of a model.
        cuts_silently: Whether the server may silently drop the beginning of a conversation that is too long. Then it is
            asked for its context before the first run, and longer conversations are compacted.
        extra: Fields to send with each request; `Sampling.extra` overrides them.
        origin: Where the address was found, in words for the user.
    """

    name: str
    base_url: str
    api: ApiName = "openai"
    key: str | None = field(default=None, repr=False)
    key_variable: str | None = None
    needs_key: bool = False
    headers: Mapping[str, str] = field(default_factory=dict[str, str], repr=False)
    quirks: Quirks = NO_QUIRKS
    rules: SchemaRules = NO_CHANGES
    reads_control_tokens: bool = False
    retry: RetryPolicy = RetryPolicy()
    vendor: str | None = None
    leaks_calls: bool = True
    ability_apis: tuple[AbilityApiName, ...] = ()
    cuts_silently: bool = False
    extra: Mapping[str, Any] = field(default_factory=dict[str, Any])
    origin: str = field(default="", compare=False)

    def __repr__(self) -> str:
        address = hide_secrets(self.base_url)
        return (
            f"Endpoint(name={self.name!r}, base_url={address!r}, api={self.api!r}, key_variable={self.key_variable!r})"
        )

    @property
    def label(self) -> str:
        """Its name, unless that is only the host, and its address; error messages begin with them."""
        address = hide_secrets(self.base_url)
        return address if f"//{self.name}/" in f"{address}/" else f"{self.name} at {address}"

    @property
    def lacks_key(self) -> bool:
        """Whether it needs a key and was given none."""
        headers = {name.lower() for name in self.headers}
        return self.needs_key and not self.key and not headers & KEY_HEADERS

    @property
    def root_url(self) -> str:
        """The address without the `/v1` at its end, where servers have their own APIs."""
        return self.base_url.removesuffix("/v1")

    def redact(self, text: str) -> str:
        """Remove the key from a text of the endpoint: some servers repeat the key that they refuse."""
        values = [self.key or "", *self.headers.values()]
        words = {word for value in values for word in (value, *value.split()) if len(word) >= MIN_KEY_CHARS}
        for secret in sorted(words, key=len, reverse=True):
            text = text.replace(secret, "…")
            for length in range(len(secret) - 1, MIN_KEY_CHARS - 1, -1):  # where a long text was cut
                text = text.replace(f"{secret[:length]}…", "…")
        return text
