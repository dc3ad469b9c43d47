"""Messages and their parts, calls and their results.

A message is a role and parts. Vendor data (signatures, redacted thinking, ids) is kept on its part as `extra`, with the
name of the vendor, and is sent back to that vendor only; `Opaque` holds blocks that toolspeak does not read. One `tool`
message per turn holds all results in the order of the calls, and may end with a note to the model.

Every part has an origin: `find_origin` and `list_stretches` tell it, and `origin.py` has the rules.
"""

from collections.abc import Iterable, Sequence
from dataclasses import field, replace
from itertools import takewhile
from typing import Annotated, Any, ClassVar, Literal, TypeAlias, cast

from toolspeak.values.frozen import UsageError, frozen
from toolspeak.values.origin import Origin, Span, Stretch, join_stretches, split_spans

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
    """A text.

    Attributes:
        text: The text.
        extra: Data of the vendor.
        origin: Where it came from; None for what the role of its message implies.
        spans: The stretches of it that have another origin. `compose` makes such a text.
    """

    kind: ClassVar[Literal["text"]] = "text"
    text: str
    extra: Extra | None = None
    origin: Origin | None = None
    spans: tuple[Span, ...] = ()


@frozen
class Thinking:
    kind: ClassVar[Literal["thinking"]] = "thinking"
    text: str
    extra: Extra | None = None


@frozen
class Media:
    """An image, a sound or a document: its bytes or its URL. `image` and `file` create one from a path.

    Attributes:
        mime: The type, such as `image/png`.
        data: The bytes.
        url: The address, if there are no bytes.
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
        output: The return value as JSON, in full; references are resolved from it.
        error: What went wrong, in words for the model.
        ran: Whether the function was called; false for a call with invalid arguments, for example.
        media: Images and other media that the function returned.
        reason: Why the call was not allowed to run; "" if it was.
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
class AllowedValue:
    """A value that somebody has allowed for the rest of a conversation, as an argument of this tool and parameter."""

    tool: str
    parameter: str
    value: Json


@frozen
class Result:
    """A result as the model sees it: of a long one, a part.

    `reason` is that of the `ToolResult`. `origin` is that of all content which names no other; None if the tool does
    not say whose words its results are, so that anybody may have written them.
    `output` is the whole of a result of which the content is a part, for `recall`; it is never sent to a model.
    `allowed` are values that somebody has allowed with the call; they are never sent to a model either.
    """

    kind: ClassVar[Literal["result"]] = "result"
    call_id: str
    content: tuple[Text | Media, ...]
    is_error: bool = False
    extra: Extra | None = None
    reason: Refusal = ""
    origin: Origin | None = None
    output: Json = field(default=None, repr=False)
    allowed: tuple[AllowedValue, ...] = ()


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
    """A message of a conversation.

    Attributes:
        role: Who sent it: `system`, `user`, `assistant` or `tool`.
        parts: Text, reasoning, media, calls and results, in order.
        raw: The text that an assistant's message was parsed from; None if there is none.
    """

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


_IMPLIED: dict[Role, Origin] = {
    "system": Origin.PROGRAM,
    "user": Origin.USER,
    "assistant": Origin.MODEL,
    "tool": Origin.LOOP,  # a note that follows the results
}


def find_origin(part: Part, role: Role) -> Origin:
    """Return the origin of a part of a message; that of a text is the origin of what no span of it covers."""
    match part:
        case Text(origin=origin):
            return origin or _IMPLIED[role]
        case Result(origin=origin):
            return origin or Origin.FOREIGN_RESULT
        case Media():
            return Origin.MODEL if role == "assistant" else Origin.ATTACHMENT
        case _:
            return Origin.MODEL  # reasoning, calls, and blocks of a vendor


def split_text(part: Text, role: Role) -> list[Stretch]:
    """Return the stretches of a text in a message of this role."""
    return split_spans(part.text, part.origin or _IMPLIED[role], part.spans)


def list_stretches(message: Message) -> list[Stretch]:
    """Return all text of a message with its origins, in order: of its texts, its reasoning and its results.

    Examples:
        >>> list_stretches(user("Hello."))
        [Stretch(text='Hello.', origin=<Origin.USER: 'user'>)]
    """
    stretches: list[Stretch] = []
    for part in message.parts:
        if isinstance(part, Text):
            stretches += split_text(part, message.role)
        elif isinstance(part, Thinking):
            stretches.append(Stretch(part.text, Origin.MODEL))
        elif isinstance(part, Result):
            origin = find_origin(part, message.role)
            for each in part.content:
                stretches += split_spans(each.text, each.origin or origin, each.spans) if isinstance(each, Text) else ()
    return stretches


def holds_foreign(message: Message) -> bool:
    """Whether a message holds anything foreign: a result, an attachment, or a text that was copied from one."""
    return any(
        find_origin(part, message.role).is_foreign
        or (isinstance(part, Text) and any(span.origin.is_foreign for span in part.spans))
        for part in message.parts
    )


def ends_with_results(messages: Sequence[Message]) -> bool:
    """Whether the last messages are results of calls, and not errors alone.

    A note of the loop that stands with the results changes nothing, nor does what the user says there, in Anthropic's
    API. A note that follows a message of the model is taken for something said by the user.
    """
    last = takewhile(lambda message: message.role == "tool", reversed(messages))
    return any(isinstance(part, Result) and not part.is_error for each in last for part in each.parts)


def compose(stretches: Iterable[Stretch]) -> Text:
    """Return one text that is put together from stretches and keeps their origins.

    Examples:
        >>> compose([Stretch("Read: ", Origin.PROGRAM), Stretch("hello", Origin.MODEL)]).text
        'Read: hello'
    """
    text, origin, spans = join_stretches(stretches)
    return Text(text=text, origin=origin, spans=spans)


def assume_origin(message: Message, origin: Origin) -> Message:
    """Return a message in which each text that says nothing of its origin has this one."""
    parts = [
        replace(part, origin=origin) if isinstance(part, Text) and part.origin is None else part
        for part in message.parts
    ]
    return replace(message, parts=tuple(parts))


def system(text: str) -> Message:
    """Return a system message with this text."""
    return Message(role="system", parts=(Text(text=_check_text(text, "system")),))


def user(text: str, *attachments: Media) -> Message:
    """Return a user message: a text, and the images and files that belong to it.

    Args:
        text: The user's text.
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
        raise UsageError(f"{role}(…) takes a string, not {type(text).__name__}; {hint}")
    return text
