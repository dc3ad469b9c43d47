"""Messages and their parts, calls and their results.

A message is a role and parts. Vendor data (signatures, redacted thinking, ids) is kept on its part as `extra`, with the
name of the vendor, and is sent back to that vendor only; `Opaque` holds blocks that toolspeak does not read. One `tool`
message per turn holds all results in the order of the calls, and may end with a note to the model.
"""

from typing import Annotated, Any, ClassVar, Literal, TypeAlias, cast

from toolspeak.values.frozen import UsageError, frozen

Json: TypeAlias = Annotated[Any, "JSON"]
"""A plain JSON value. The codec never looks for references or kinds in it."""

Arguments: TypeAlias = Annotated[dict[str, Any], "arguments"]
"""The arguments of a call: JSON in which any value may be a `Ref` or a `Concat`."""

Role: TypeAlias = Literal["system", "user", "assistant", "tool"]


@frozen
class Ref:
    """A reference to the result of an earlier call, or to a part of it.

    In code, `w["days"][0]` is `Ref(call="call_1", path=("days", 0))`.
    """

    call: str
    path: tuple[str | int, ...] = ()


@frozen
class Concat:
    """Text joined from parts, where a part is text or a `Ref`."""

    parts: tuple[str | Ref, ...]


@frozen
class ToolCall:
    """A complete call: a tool, and the arguments for it."""

    id: str
    name: str
    arguments: Arguments


@frozen
class Extra:
    """Data of one vendor that must be sent back to that vendor unchanged."""

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
    """An image, a sound or a document: its bytes or its URL. `image` and `file` make one of a path.

    Attributes:
        mime: The type, such as `image/png`.
        data: The bytes.
        url: The address, where there are no bytes.
        extra: Data of the vendor.
        name: The name of the file, which the model sees.
    """

    kind: ClassVar[Literal["media"]] = "media"
    mime: str
    data: bytes | None = None
    url: str | None = None
    extra: Extra | None = None
    name: str | None = None

    def __post_init__(self) -> None:
        is_text = self.data is not None and self.mime.startswith("text/")  # an empty text is a text
        if not self.data and not self.url and not is_text:
            raise UsageError(f"Media(mime={self.mime!r}) is empty; give bytes with data=… or an address with url=…")
        if self.data is not None and not isinstance(cast("object", self.data), bytes):
            raise UsageError(
                f"Media(data=…) takes bytes, not {type(self.data).__name__}; for a file: Path(…).read_bytes()"
            )


Refusal: TypeAlias = Literal["", "not_allowed", "beyond_limit"]
"""Why a call was not run: it was not allowed to, or it came after the last call that was."""


@frozen
class ToolResult:
    """The result of a call.

    Attributes:
        call_id: The id of the call.
        output: The return value as JSON, in full; references read it.
        error: What went wrong, in words for the model.
        ran: Whether the function was called; false for a call with invalid arguments, for example.
        media: Images and other media that the function returned.
        reason: Why the loop did not let the call run; "" if it did.
    """

    call_id: str
    output: Json = None
    error: str | None = None
    ran: bool = True
    media: tuple[Media, ...] = ()
    reason: Refusal = ""


@frozen
class Call:
    kind: ClassVar[Literal["call"]] = "call"
    call: ToolCall
    extra: Extra | None = None


@frozen
class Result:
    """A result as the model sees it, cut to the output limit of the tool. `reason` is that of the `ToolResult`."""

    kind: ClassVar[Literal["result"]] = "result"
    call_id: str
    content: tuple[Text | Media, ...]
    is_error: bool = False
    extra: Extra | None = None
    reason: Refusal = ""


@frozen
class Opaque:
    """A block of a vendor that toolspeak keeps and does not read."""

    kind: ClassVar[Literal["opaque"]] = "opaque"
    vendor: str
    data: Json


Part: TypeAlias = Text | Thinking | Call | Result | Media | Opaque


@frozen
class Raw:
    """The text from which a message was read. The same dialect sends it again; others render the parts anew."""

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
        return "".join([part.text for part in self.parts if isinstance(part, Text)])

    @property
    def calls(self) -> tuple[ToolCall, ...]:
        """The calls of the message, in order."""
        return tuple([part.call for part in self.parts if isinstance(part, Call)])


def system(text: str) -> Message:
    """Return a system message of one text."""
    return Message(role="system", parts=(Text(text=_check_text(text, "system")),))


def user(text: str, *attachments: Media) -> Message:
    """Return a user message of one text, with the images and files that belong to it.

    Args:
        text: What the user says.
        attachments: Images and files: `image("cat.png")`, `file("report.pdf")`.
    """
    for each in attachments:
        if not isinstance(cast("object", each), Media):
            raise UsageError(f"user(…) takes attachments from image(…) and file(…), not {type(each).__name__}")
    return Message(role="user", parts=(Text(text=_check_text(text, "user")), *attachments))


def assistant(text: str) -> Message:
    """Return an assistant message of one text."""
    return Message(role="assistant", parts=(Text(text=_check_text(text, "assistant")),))


def _check_text(text: object, role: str) -> str:
    if not isinstance(text, str):
        hint = "attachments follow it" if role == "user" else f"for other parts: Message(role={role!r}, parts=(…))"
        raise UsageError(f"{role}(…) takes a text, not {type(text).__name__}; {hint}")
    return text
