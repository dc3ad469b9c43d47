"""`Wire`: what the package of an API must export, `WIRES`: the APIs there are, and `CLIENT_WIRES`: those of endpoints.

An API that is only called, and not served by the gateway, has the first half, `ClientWire`. The type checker holds each
package to its half or to both. A package is imported when its API is first asked for: a program that uses one API does
not load the others. See the package docstring for how to add an API.
"""

from collections.abc import Callable, Iterable, Iterator, Mapping
from importlib import import_module
from typing import TYPE_CHECKING, Any, Literal, Protocol, TypeAlias, TypeVar, cast

from toolspeak.values.messages import Media, Message
from toolspeak.values.pieces import Answer
from toolspeak.values.spec import ToolSpec
from toolspeak.wire.answers import AnswerDecoder, AnswerEncoder
from toolspeak.wire.chat_request import ChatRequest, Quirks
from toolspeak.wire.errors import ErrorReport
from toolspeak.wire.framing import Framing
from toolspeak.wire.schemas import SchemaRules

if TYPE_CHECKING:
    from toolspeak.wire import anthropic_messages, gemini_content, ollama_chat, openai_chat, openai_responses

ServedApiName: TypeAlias = Literal["openai", "anthropic", "openai-responses", "gemini"]
"""The names of the APIs that have both sides, so that the gateway serves them."""

ApiName: TypeAlias = ServedApiName | Literal["ollama"]
"""The names of the APIs, as endpoints and settings use them."""


MessageEncoder: TypeAlias = Callable[[Message, Quirks, str], str]
"""Returns what a message becomes in a request, for an endpoint with these quirks and this vendor, as JSON."""


class ClientWire(Protocol):
    """The exports of an API's package that a client needs.

    Attributes:
        IS_UNDER_V1: Whether the path of a request follows the `/v1` at the end of the base address; otherwise it takes
            its place.
        FRAMING: How a streamed answer is split into events.
        VENDOR: The vendor of `extra` data, unless the endpoint has a vendor name of its own.
        SAMPLING_FIELDS: Fields beyond `ChatRequest` that only control sampling, so that a gateway may forward them to
            this API from any other.
    """

    IS_UNDER_V1: bool
    FRAMING: Framing
    VENDOR: str
    SAMPLING_FIELDS: frozenset[str]

    def request_path(self, request: ChatRequest) -> str:
        """Return the path of a request behind the base address, with its query."""
        ...

    def request_headers(self, key: str | None) -> dict[str, str]:
        """Return the headers that the API requires, with the key if there is one."""
        ...

    def request_body(
        self, request: ChatRequest, *, quirks: Quirks = ..., rules: SchemaRules = ..., vendor: str = ...
    ) -> dict[str, Any]:
        """Return the body of a request.

        Args:
            request: The request.
            quirks: What the endpoint supports of the API.
            rules: How the endpoint needs schemas changed.
            vendor: The vendor of the endpoint. `extra` data of other vendors is not sent.
        """
        ...

    @property
    def encode_message(self) -> MessageEncoder | None:
        """Returns what one message becomes in the field `messages` of a body, as JSON without the brackets of the list.

        None if the API has no such field, or if that depends on the other messages.
        """
        ...

    def explain_unsupported(self, media: Media) -> str | None:
        """Return why the API cannot carry an attachment, as the rest of a sentence about a model; None if it can."""
        ...

    def tool_definitions(
        self, specs: Iterable[ToolSpec], *, strict: bool = False, rules: SchemaRules = ...
    ) -> list[dict[str, Any]]:
        """Return the `tools` field of a request. A tool without a strict variant is sent with its schema unchanged.

        Args:
            specs: The tools.
            strict: Whether schemas are made strict. Then `rules` is not used.
            rules: How the endpoint needs schemas changed.
        """
        ...

    def Decoder(self, vendor: str = ..., tools: Iterable[ToolSpec] = ...) -> AnswerDecoder:  # noqa: N802 (a class)
        """Create the reader of a streamed answer. `tools` are those of its request."""
        ...

    def read_response(self, body: Any, vendor: str = ..., tools: Iterable[ToolSpec] = ...) -> Answer:
        """Read a whole answer. Raises `ModelError` if the body is an error or no answer."""
        ...


class Wire(ClientWire, Protocol):
    """All exports of an API's package: the client side and the server side.

    Attributes:
        BASE_PATH: The path with which the address of a server ends, such as `/v1`.
        PATHS: The paths of requests behind it, as patterns: `{model:path}` stands for any name.
        ID_PREFIX: The beginning of the ids of answers.
    """

    BASE_PATH: str
    PATHS: tuple[str, ...]
    ID_PREFIX: str

    def read_request(self, body: Any, path: str = ...) -> ChatRequest:
        """Read the body of a request, and its path with the query where that says more.

        Raises `UsageError` that names the wrong field.
        """
        ...

    def Encoder(  # noqa: N802 (a class)
        self, model: str, *, id: str, created: int, include_usage: bool = ..., request: ChatRequest | None = ...
    ) -> AnswerEncoder:
        """Create the writer of an answer to a request.

        `created` is the time of the answer in seconds since 1970, where the API has one.
        """
        ...

    def error_body(self, report: ErrorReport) -> dict[str, Any]:
        """Return the body of an answer with an error status."""
        ...


if TYPE_CHECKING:
    _SERVED: tuple[Wire, ...] = (openai_chat, anthropic_messages, openai_responses, gemini_content)
    _ONLY_CALLED: tuple[ClientWire, ...] = (ollama_chat,)

N = TypeVar("N", bound=str)
W_co = TypeVar("W_co", covariant=True)


class WireTable(Mapping[N, W_co]):
    """The packages of APIs by the names of the APIs."""

    def __init__(self, packages: Mapping[N, str]) -> None:
        self._packages = packages
        self._imported: dict[N, W_co] = {}

    def __getitem__(self, name: N) -> W_co:
        if (wire := self._imported.get(name)) is None:
            wire = self._imported[name] = cast("W_co", import_module(f"toolspeak.wire.{self._packages[name]}"))
        return wire

    def __iter__(self) -> Iterator[N]:
        return iter(self._packages)

    def __len__(self) -> int:
        return len(self._packages)


_SERVED_PACKAGES: dict[ServedApiName, str] = {
    "openai": "openai_chat",
    "anthropic": "anthropic_messages",
    "openai-responses": "openai_responses",
    "gemini": "gemini_content",
}

WIRES: Mapping[ServedApiName, Wire] = WireTable(_SERVED_PACKAGES)
"""The APIs with both sides."""

CLIENT_WIRES: Mapping[ApiName, ClientWire] = WireTable({**_SERVED_PACKAGES, "ollama": "ollama_chat"})
"""The APIs that an endpoint may have."""
