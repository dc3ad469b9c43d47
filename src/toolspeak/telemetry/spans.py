"""`TraceSpan`: a part of a run or of an exchange, with its times and what is known of it. Plain data, no OpenTelemetry.

Times are nanoseconds since 1970. Ids are hexadecimal, as OTLP writes them in JSON, and follow from the run alone: who
exports a recorded run twice sends the same spans twice.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from hashlib import blake2b
from typing import Literal, TypeAlias

from toolspeak.values.frozen import frozen

AttributeValue: TypeAlias = str | bool | int | float | Sequence[str]

SpanKind: TypeAlias = Literal["internal", "server", "client"]


@frozen
class SpanEvent:
    """An event of a span."""

    name: str
    at: int
    attributes: Mapping[str, AttributeValue] = field(default_factory=dict[str, AttributeValue])


@dataclass(slots=True, kw_only=True)
class TraceSpan:
    """A span. It changes until it has an end.

    Attributes:
        id: Its id, in 16 hexadecimal digits.
        trace_id: The id of the trace that it belongs to, in 32 hexadecimal digits.
        parent_id: The id of its parent span; None for the first span of a run.
        name: Its name.
        kind: `client` for a request to a model, `server` for a request of a client, `internal` for the rest.
        start: When it started.
        end: When it ended; None if it has not ended.
        attributes: Its attributes.
        events: Its events, in order.
        is_error: Whether it failed.
        description: Why it failed, in words.
    """

    id: str
    trace_id: str
    parent_id: str | None
    name: str
    kind: SpanKind
    start: int
    end: int | None = None
    attributes: dict[str, AttributeValue] = field(default_factory=dict[str, AttributeValue])
    events: list[SpanEvent] = field(default_factory=list[SpanEvent])
    is_error: bool = False
    description: str = ""

    @property
    def seconds(self) -> float | None:
        """Its duration; None if it has not ended."""
        return None if self.end is None else (self.end - self.start) / 1e9

    def fail(self, error_type: str, description: str = "") -> None:
        """Mark it as failed."""
        self.is_error, self.description = True, description
        self.attributes["error.type"] = error_type


def clean_text(text: str) -> str:
    """Return a text that can be encoded in UTF-8. A model may write half a surrogate pair, which cannot."""
    return text if text.isascii() else text.encode("utf-8", "replace").decode()


def clean_attributes(attributes: Mapping[str, AttributeValue | None]) -> dict[str, AttributeValue]:
    """Return attributes without those that have no value, and with texts that can be encoded."""
    return {
        name: clean_text(value) if isinstance(value, str) else value
        for name, value in attributes.items()
        if value is not None and value != ""
    }


def make_trace_id(seed: str) -> str:
    """Return the id of the trace of a run or an exchange."""
    return blake2b(seed.encode("utf-8", "surrogatepass"), digest_size=16, person=b"toolspeak").hexdigest()


def make_span_id(seed: str, number: int) -> str:
    """Return the id of a span: the `number`-th one of a run or an exchange."""
    text = f"{seed}/{number}".encode("utf-8", "surrogatepass")
    return blake2b(text, digest_size=8, person=b"toolspeak").hexdigest()
