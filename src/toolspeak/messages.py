"""What is said: messages and their parts, calls and their results.

A message is a role and parts. Vendor data (signatures, redacted thinking, ids) sits on the part as `extra`, tagged with
its vendor, and is echoed back to that vendor only; `Opaque` carries blocks we do not understand. One `tool` message per
turn holds all results in call order, and may end with a note to the model; each wire lays it out as its API wants.
"""

from typing import Annotated, Any, ClassVar, Literal, TypeAlias

from toolspeak._frozen import frozen

Json: TypeAlias = Annotated[Any, "JSON"]
"""A plain JSON value: never read for type tags, whatever it looks like."""

Arguments: TypeAlias = Annotated[dict[str, Any], "arguments"]
"""Arguments of a call: JSON in which any value may be a `Ref` or a `Concat`."""

Role: TypeAlias = Literal["system", "user", "assistant", "tool"]


@frozen
class Ref:
    """The result of an earlier call, or a part of it: `w["days"][0]` is `Ref(call="call_1", path=("days", 0))`."""

    call: str
    path: tuple[str | int, ...] = ()


@frozen
class Concat:
    """Text joined from parts, where a part is text or a `Ref`."""

    parts: tuple[str | Ref, ...]


@frozen
class ToolCall:
    """A call that the model has finished saying."""

    id: str
    name: str
    arguments: Arguments


@frozen
class Extra:
    """Data of one vendor that must go back to that vendor as it came."""

    vendor: str
    data: Json


@frozen
class Text:
    kind: ClassVar[Literal["text"]] = "text"
    text: str
    extra: Extra | None = None


@frozen
class Thinking:
    kind: ClassVar[Literal["thinking"]] = "thinking"
    text: str
    extra: Extra | None = None


@frozen
class Media:
    """An image, a sound or a document: its bytes or its address."""

    kind: ClassVar[Literal["media"]] = "media"
    mime: str
    data: bytes | None = None
    url: str | None = None
    extra: Extra | None = None


@frozen
class ToolResult:
    """What came of a call.

    Attributes:
        call_id: The call.
        output: The full JSON value, which references read.
        error: What went wrong, in words for the model.
        ran: Whether the function was entered; a call with bad arguments, say, never was.
        media: Images and the like that the function gave.
    """

    call_id: str
    output: Json = None
    error: str | None = None
    ran: bool = True
    media: tuple[Media, ...] = ()


@frozen
class Call:
    kind: ClassVar[Literal["call"]] = "call"
    call: ToolCall
    extra: Extra | None = None


@frozen
class Result:
    """A result as the model is shown it (cut to the tool's output limit, if it has one)."""

    kind: ClassVar[Literal["result"]] = "result"
    call_id: str
    content: tuple[Text | Media, ...]
    is_error: bool = False
    extra: Extra | None = None


@frozen
class Opaque:
    """A block of a vendor that we carry and do not read."""

    kind: ClassVar[Literal["opaque"]] = "opaque"
    vendor: str
    data: Json


Part: TypeAlias = Text | Thinking | Call | Result | Media | Opaque


@frozen
class Raw:
    """The text a message was read from. Its own dialect sends it back byte for byte; another renders the parts anew."""

    dialect: str
    text: str


@frozen
class Message:
    kind: ClassVar[Literal["message"]] = "message"
    role: Role
    parts: tuple[Part, ...]
    raw: Raw | None = None

    @property
    def text(self) -> str:
        """All text of the message, joined; thinking, calls and results are not text."""
        return "".join(part.text for part in self.parts if isinstance(part, Text))

    @property
    def calls(self) -> tuple[ToolCall, ...]:
        """The calls of the message, in order."""
        return tuple(part.call for part in self.parts if isinstance(part, Call))


def system(text: str) -> Message:
    """A system message of one text."""
    return Message(role="system", parts=(Text(text=text),))


def user(text: str) -> Message:
    """A user message of one text."""
    return Message(role="user", parts=(Text(text=text),))


def assistant(text: str) -> Message:
    """An assistant message of one text."""
    return Message(role="assistant", parts=(Text(text=text),))
