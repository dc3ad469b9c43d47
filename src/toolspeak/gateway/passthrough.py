"""`Passthrough`: which fields of a request, besides the conversation, and which vendor data are forwarded.

If the model is asked in the native dialect and in the API of the client, everything is forwarded: unknown fields, and
the data that a vendor puts on reasoning and calls and needs back. Otherwise:

- Fields that control sampling are forwarded.
- Fields about accounts and caches are ignored: an answer is right without them.
- A field that asks for an answer in a format is forwarded only to vendors who are known to keep it; for all others the
  gateway does (`held_format.py`). Fields that ask for another form of answer are refused.
- All other fields, tools that only the servers of a vendor run, and parts of messages that only a vendor can read (a
  file by its id, for one) are left out, and the client is told which (`Notices`), in a header and in the log.

A conversation is arranged (`arrange`) so that every chat template takes it, and so that its beginning stays the same: a
server keeps what it has read of a prompt, and reads a new prompt from the first token that differs. So the text for
turn n must be a prefix of the text for turn n + 1, and what changes between conversations must not stand first.

- A conversation has one system message, its first message. Strict templates refuse a second one, and moving later ones
  to the top would change the beginning in each turn. A later one is laid, marked, into the message beside it: at the
  end of the message of the user or of the results before it, else at the beginning of the message of the user after it.
- Lines at the top of the system prompt that hold a date, a time or an id are laid, marked, into the first message of
  the user: the system prompt and the tools behind it are then the same in each conversation.
- A line with the header of a bill is dropped: it is addressed to servers of the vendor.
- Messages of one role that follow each other are joined (`join_neighbours`): strict templates refuse those as well.

Each API has its own field for how hard a model should think. It is written as the field of the endpoint's API
(`read_effort`, `write_effort`). A model that refuses it is asked without, and from then on is not given it.
"""

import re
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any, Literal, TypeAlias, TypeVar, get_args

from toolspeak.dialects import Dialect
from toolspeak.models import HttpModel, Model
from toolspeak.values.frozen import frozen
from toolspeak.values.messages import Media, Message, Opaque, Part, Result, Text, assume_origin
from toolspeak.values.origin import Origin
from toolspeak.values.spec import ToolSpec
from toolspeak.wire.api import CLIENT_WIRES, WIRES, ApiName, ServedApiName
from toolspeak.wire.chat_request import ChatRequest
from toolspeak.wire.fields import FieldError
from toolspeak.wire.gemini_content.client import SIGNING_MODELS
from toolspeak.wire.json_data import as_list, as_object
from toolspeak.wire.vendor_tools import RAW_TOOLS, name_vendor_tool, read_client_tool

HEADER = "x-toolspeak-notice"

EFFORT_REMARK = "effort ignored: this model cannot be told how hard to think"

MAX_NAMES = 20
"""The most names in a header: a request may have any number of fields."""

MAX_NAME_CHARS = 60

_NOT_IN_HEADERS = re.compile(r"[^!-~]")


@frozen
class Notices:
    """What was left out of a request."""

    fields: tuple[str, ...] = ()
    tools: tuple[str, ...] = ()  # those that only servers of a vendor run
    parts: tuple[str, ...] = ()  # the kinds of those parts of messages that only a vendor can read
    remarks: tuple[str, ...] = ()  # what else the client should know, in ASCII

    def __str__(self) -> str:
        """Return the text of the header, in ASCII; empty if nothing was left out."""
        parts = (
            f"fields ignored: {_join(self.fields)}" if self.fields else "",
            f"hosted tools left out: {_join(self.tools)}" if self.tools else "",
            f"parts of messages left out: {_join(self.parts)}" if self.parts else "",
            *self.remarks,
        )
        return "; ".join(filter(None, parts))

    def refuse(self) -> None:
        """Raise `FieldError` for the first thing that was left out."""
        for name in self.fields[:1]:
            problem = "is not a field of this API, or not one that this model supports"
            raise FieldError(name[:MAX_NAME_CHARS], problem, "unknown_parameter")
        for name in self.tools[:1]:
            problem = f"{name[:MAX_NAME_CHARS]!r} runs on servers of its vendor, and this model cannot call it"
            raise FieldError("tools", problem, "unsupported_value")
        for name in self.parts[:1]:
            problem = f"only servers of the vendor can read {name[:MAX_NAME_CHARS]!r}; send the content itself"
            raise FieldError("messages", problem, "unsupported_value")


UNREAD_REASONING = frozenset({"redacted_thinking", "reasoning"})
"""Kinds of parts that hold reasoning which only its vendor can read. No answer needs it, so nobody is told."""


def find_unread_parts(messages: Sequence[Message]) -> tuple[str, ...]:
    """Return the kinds of all parts of a conversation that only the vendor of the client's API can read."""
    found: dict[str, None] = {}
    for message in messages:
        for part in message.parts:
            for each in (part, *(part.content if isinstance(part, Result) else ())):
                if isinstance(each, Opaque):
                    found[_name_part(as_object(each.data))] = None
                elif isinstance(each, Media) and each.extra is not None and "context" in as_object(each.extra.data):
                    found["document.context"] = None
    return tuple(name for name in found if name not in UNREAD_REASONING)


def _name_part(data: Mapping[str, Any]) -> str:
    """Return the kind of a part as the client named it, and by what it refers to its content: `input_file.file_id`."""
    kind = data.get("type")
    name = kind if isinstance(kind, str) else next(iter(data), "part")
    source = as_object(data.get("source")).get("type")
    if isinstance(source, str):
        return f"{name}.{source}"
    return f"{name}.file_id" if "file_id" in data else name


def _join(names: tuple[str, ...]) -> str:
    shown = [_NOT_IN_HEADERS.sub("?", name[:MAX_NAME_CHARS]) for name in names[:MAX_NAMES]]
    return ", ".join(shown) + (f" and {len(names) - MAX_NAMES} more" if len(names) > MAX_NAMES else "")


MAX_VOLATILE_CHARS = 160
"""Characters of a line that may be moved: a longer one says more than a date or an id."""

MAX_VOLATILE_LINES = 8
"""Lines at the top of a system prompt that may be moved."""

_BILLING_LINE = re.compile(r"x-[a-z-]*billing-header\s*:[^\n]*\n*", re.IGNORECASE)

_FIRST_LINE = re.compile(r"(?:[^\S\n]*+\n)*+([^\n]*+)\n?")
"""The first line that is not blank, behind the blank ones before it."""

_MONTH = r"(?:jan|feb|mar|apr|may|jun|jul|aug|sep|oct|nov|dec)[a-z]*"
_CHANGING_VALUE = re.compile(
    r"\b\d{4}-\d{2}-\d{2}\b"  # a date
    rf"|\b{_MONTH}\.? \d{{1,2}}(?:st|nd|rd|th)?,? \d{{4}}\b|\b\d{{1,2}}\.? {_MONTH}\.?,? \d{{4}}\b"
    r"|\b\d{1,2}/\d{1,2}/\d{4}\b|\b\d{1,2}:\d{2}(?::\d{2})?\b"  # a date, a time
    r"|\b[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}\b"  # a UUID
    r"|\b(?=[a-z_-]*\d)[0-9a-z_-]{16,}\b",  # another id: long, with a digit
    re.IGNORECASE,
)
_LABEL = re.compile(r"[^.:=]{1,40}(?::|=|\bis\b)")
"""The beginning of a line that gives one value: `Current date: …`, `Today is …`."""


def arrange(messages: Sequence[Message], *, keep_system: bool = False) -> tuple[Message, ...]:
    """Return a conversation with one system message, and with nothing volatile at its beginning.

    With `keep_system`, the system messages at the beginning stay as they are, with the data of their vendor.
    """
    count = next((place for place, each in enumerate(messages) if each.role != "system"), len(messages))
    if keep_system:
        return (*messages[:count], *_lay_in(messages[count:], []))
    system, moved = _split_system("\n\n".join(filter(None, map(_read_text, messages[:count]))))
    arranged = _lay_in(messages[count:], [moved] if moved else [])
    return (Message(role="system", parts=(Text(text=system),)), *arranged) if system else arranged


def _split_system(text: str) -> tuple[str, str]:
    """Return the system prompt that stays, and the lines from its top that change between conversations."""
    start = 0  # places instead of shorter texts: there may be a million lines
    while billing := _BILLING_LINE.match(text, start):
        start = billing.end()
    text = text[start:]
    moved: list[str] = []
    place = 0
    while len(moved) < MAX_VOLATILE_LINES and (line := _FIRST_LINE.match(text, place)) is not None:
        if not is_volatile(line[1]):
            place = line.start(1)
            break
        moved.append(line[1].strip())
        place = line.end()
    rest = text[place:]
    return (rest, "\n".join(moved)) if moved and rest.strip() else (text, "")


def is_volatile(line: str) -> bool:
    """Whether a line only gives a value that changes between conversations: a date, a time or an id."""
    label = _LABEL.match(line.strip())
    if label is None or len(line) > MAX_VOLATILE_CHARS:
        return False
    return _CHANGING_VALUE.search(line.strip(), label.end()) is not None


def _read_text(message: Message) -> str:
    return "\n\n".join(part.text for part in message.parts if isinstance(part, Text) and part.text)


def _lay_in(messages: Sequence[Message], waiting: list[str]) -> tuple[Message, ...]:
    """Return messages without those of the system: each is laid into the one before it, or into the one after it.

    `waiting` are texts of the system for the first message.
    """
    laid: list[Message] = []
    following: list[str] = []  # texts for the last message that is laid
    for message in messages:
        if message.role == "system":
            text = _read_text(message)
            if text:
                (following if laid and laid[-1].role in ("user", "tool") else waiting).append(text)
            continue
        if following:
            laid[-1] = _add_notes(laid[-1], following)
            following = []
        if waiting and message.role == "user":
            notes = "".join(f"{_mark(text)}\n\n" for text in waiting)
            message = replace(message, parts=(Text(text=notes), *message.parts))
        elif waiting and message.role == "tool":  # nothing may stand between a call and its result
            message = _add_notes(message, waiting)
        elif waiting:
            laid.append(_make_notes(waiting))
        waiting = []
        laid.append(message)
    if following:
        laid[-1] = _add_notes(laid[-1], following)
    return (*laid, _make_notes(waiting)) if waiting else tuple(laid)


def _mark(text: str) -> str:
    return f"<system-message>\n{text}\n</system-message>"


def _add_notes(message: Message, texts: list[str]) -> Message:
    """Return a message with texts of the system at its end."""
    notes = "".join(f"\n\n{_mark(text)}" for text in texts)
    return replace(message, parts=(*message.parts, Text(text=notes)))


def _make_notes(texts: list[str]) -> Message:
    return Message(role="user", parts=(Text(text="\n\n".join(map(_mark, texts))),))


def join_neighbours(messages: Sequence[Message], *, in_text: bool) -> tuple[Message, ...]:
    """Return messages with those of one role that follow each other joined.

    If calls are written `in_text`, results are shown as a message of the user, so that the user's next words join them.
    """
    joined: list[Message] = []
    for message in messages:
        last = joined[-1] if joined else None
        if last is not None and _can_join(last, message, in_text=in_text):
            joined[-1] = replace(last, parts=(*last.parts, *_separate(last, message)))
        else:
            joined.append(message)
    return tuple(joined)


def _can_join(before: Message, after: Message, *, in_text: bool) -> bool:
    match before.role, after.role:
        case "user", "user":
            return True
        case "assistant", "assistant":
            return not before.calls  # results belong right behind their calls
        case "tool", "user":
            return in_text
        case _:
            return False


def _separate(before: Message, after: Message) -> tuple[Part, ...]:
    """Return the parts of a message as they follow those of another, in a paragraph of their own."""
    parts = after.parts
    if before.role == "tool":  # they stay the words of the user; each text is a line
        return (Text(text="", origin=Origin.USER), *assume_origin(after, Origin.USER).parts) if parts else ()
    if before.parts and parts and isinstance(before.parts[-1], Text) and isinstance(parts[0], Text):
        return (Text(text="\n\n"), *parts)
    return parts


# How hard a model should think

Effort: TypeAlias = Literal["none", "minimal", "low", "medium", "high", "xhigh"]

EFFORTS: Mapping[str, Effort] = {
    **{level: level for level in get_args(Effort)},
    "max": "xhigh",
}
"""The levels of effort, by the words that APIs have for them."""

BUDGETS: Mapping[Effort, int] = {"none": 0, "minimal": 512, "low": 2_048, "medium": 8_192, "high": 24_576}
"""The most tokens of reasoning for a level, where an API has no levels. A larger number is the highest level."""


def read_effort(fields: Mapping[str, Any]) -> Effort | None:
    """Return how hard a client wants the model to think, from the fields of any API; None if it does not say."""
    reasoning, thinking = as_object(fields.get("reasoning")), as_object(fields.get("thinking"))
    config, gemini = as_object(fields.get("output_config")), as_object(fields.get("thinkingConfig"))
    words = (fields.get("reasoning_effort"), reasoning.get("effort"), config.get("effort"), gemini.get("thinkingLevel"))
    for word in words:
        if isinstance(word, str) and word.lower() in EFFORTS:
            return EFFORTS[word.lower()]
    if thinking.get("type") == "disabled" or reasoning.get("enabled") is False:
        return "none"
    for budget in (thinking.get("budget_tokens"), gemini.get("thinkingBudget")):
        if isinstance(budget, int) and budget >= 0:
            fitting: list[Effort] = [level for level, most in BUDGETS.items() if budget <= most]
            return fitting[0] if fitting else "high"
    return None


def write_effort(effort: Effort, api: ApiName, model: str) -> dict[str, Any]:
    """Return the fields by which a model behind an API is told how hard to think."""
    match api:
        case "openai":
            return {"reasoning_effort": effort}
        case "ollama":
            return {"reasoning_effort": {"minimal": "low", "xhigh": "high"}.get(effort, effort)}
        case "openai-responses":
            return {"reasoning": {"effort": effort}}
        case "anthropic":
            if effort == "none":
                return {"thinking": {"type": "disabled"}}
            return {"output_config": {"effort": {"minimal": "low", "xhigh": "max"}.get(effort, effort)}}
        case "gemini":
            if re.search(SIGNING_MODELS, model) and effort != "none":
                return {"thinkingConfig": {"thinkingLevel": "high" if effort == "xhigh" else effort}}
            return {"thinkingConfig": {"thinkingBudget": BUDGETS.get(effort, BUDGETS["high"])}}


IGNORABLE_FIELDS = frozenset(
    "user metadata store service_tier safety_identifier prompt_cache_key prompt_cache_options prompt_cache_retention "
    "reasoning_effort verbosity moderation thinking cache_control inference_geo user_profile_id workspace_id "
    "diagnostics speed betas context_management output_config reasoning include truncation max_tool_calls "
    "client_metadata text thinkingConfig safetySettings mediaResolution labels enableEnhancedCivicAnswers".split()
)
"""Fields about the client's account, its caches, and the effort: an answer is right without them."""

NEUTRAL_VALUES: Mapping[str, Any] = {
    "background": False,
    "logprobs": False,
    "top_logprobs": 0,
    "modalities": ["text"],
    "response_format": {"type": "text"},
    "responseMimeType": "text/plain",
    "responseModalities": ["TEXT"],
    "responseLogprobs": False,
    "candidateCount": 1,
}
"""Values of fields that are the default, and so have no effect."""

FORMAT_FIELDS: Mapping[str, str] = {
    "response_format": "",
    "output_format": "",
    "output_config": "format",
    "text": "format",
    "responseMimeType": "",
    "responseSchema": "",
    "responseJsonSchema": "",
}
"""Fields that ask for an answer in a format, and the inner field that does so; empty if the whole field does."""

FORM_FIELDS = frozenset(FORMAT_FIELDS) | frozenset(
    "logprobs top_logprobs modalities audio background conversation prompt candidateCount responseModalities "
    "responseLogprobs speechConfig imageConfig cachedContent".split()
)
"""Fields without which an answer would be wrong, or not what the client waits for."""

AnyPart = TypeVar("AnyPart", bound=Part)


class Passthrough:
    """Forwards fields and vendor data between a client of `api` and a model.

    Attributes:
        knows_format: Whether the model's API has the field of the client for an answer in a format, with or without
            tools. That is known of vendors who serve only their own models.
        can_constrain: Whether the API takes any schema to hold an answer to.
    """

    def __init__(self, model: Model, dialect: Dialect, api: ServedApiName, *, refuses_effort: bool = False) -> None:
        """Prepare to forward. `refuses_effort` says whether the model has refused to be told how hard to think."""
        self._model_name = model.model if isinstance(model, HttpModel) else ""
        self._effort_api: ApiName | None = (
            model.endpoint.api if isinstance(model, HttpModel) and not refuses_effort else None
        )
        self._in_text = dialect.in_text
        endpoint = model.endpoint if isinstance(model, HttpModel) else None
        self._same_api = endpoint is not None and endpoint.api == api and not dialect.in_text
        is_vendor = endpoint is not None and endpoint.quirks.response_format and not endpoint.leaks_calls
        self.knows_format = is_vendor and self._same_api
        self.can_constrain = endpoint is None or endpoint.api in ("openai", "ollama")
        self._sampling_fields = CLIENT_WIRES[endpoint.api if endpoint else "openai"].SAMPLING_FIELDS
        self._client_vendor = WIRES[api].VENDOR
        self._model_vendor = (endpoint.vendor if endpoint else None) or self._client_vendor
        self._changes_vendor = self._same_api and self._client_vendor != self._model_vendor

    def reduce(self, request: ChatRequest) -> tuple[ChatRequest, Notices]:
        """Return a request without what this model cannot be given, and what was left out.

        A tool that a vendor defines and the client runs becomes a tool like any other. The conversation is arranged.
        """
        keep_system = self._same_api and self._client_vendor == "anthropic"
        messages = arrange(request.messages, keep_system=keep_system)
        if not keep_system:
            messages = join_neighbours(messages, in_text=self._in_text)
        if messages != request.messages:
            request = replace(request, messages=messages)
        if self._same_api:
            own = {tool.name for tool in RAW_TOOLS.values()} - {tool.name for tool in request.tools}
            if own.intersection(request.choice.names):
                problem = "a call of this tool cannot be demanded from this model; use auto or required"
                raise FieldError("tool_choice", problem, "unsupported_value")
            return request, Notices()
        unread = find_unread_parts(request.messages)
        if not request.extra:
            return request, Notices(parts=unread)
        effort = read_effort(request.extra)
        known = self._sampling_fields | IGNORABLE_FIELDS | FORM_FIELDS
        given = dict(request.extra)
        vendor_tools = [as_object(each) for each in as_list(given.pop("tools", None))]
        added, hosted = _split_vendor_tools(vendor_tools, {tool.name for tool in request.tools})
        notices = Notices(
            fields=tuple(name for name in given if name not in known),
            tools=tuple(map(name_vendor_tool, hosted)),
            parts=unread,
            remarks=(EFFORT_REMARK,) if effort not in (None, "none") and self._effort_api is None else (),
        )
        if missing := [name for name in request.choice.names if name in notices.tools]:
            problem = f"{missing[0]!r} runs on servers of its vendor, and this model cannot call it"
            raise FieldError("tool_choice", problem, "unsupported_value")
        kept = {name: value for name, value in given.items() if name in known}
        return replace(request, tools=(*request.tools, *added), extra=kept or None), notices

    def forwarded_fields(self, request: ChatRequest) -> dict[str, Any]:
        """Return the fields to forward to the model. Raises `FieldError` for a field that cannot be ignored."""
        given = dict(request.extra or {})
        if request.answer_format is not None and not self.knows_format:
            given = _remove_format(given)
        if self._same_api:
            return given
        forwarded: dict[str, Any] = {}
        for name, value in given.items():
            if name in self._sampling_fields:
                forwarded[name] = value
            elif name not in IGNORABLE_FIELDS and NEUTRAL_VALUES.get(name, ...) != value:
                raise FieldError(name, "this model does not support it", "unsupported_parameter")
        return forwarded

    def map_effort(self, request: ChatRequest) -> dict[str, Any]:
        """Return the fields that tell the model how hard to think; empty if nobody says it, or it cannot be told."""
        if self._same_api or self._effort_api is None:
            return {}
        effort = read_effort(request.extra or {})
        return write_effort(effort, self._effort_api, self._model_name) if effort is not None else {}

    def to_model(self, messages: tuple[Message, ...]) -> tuple[Message, ...]:
        """Return messages of the client with their vendor data for the model."""
        if not self._changes_vendor:
            return messages
        return tuple(_change_vendor(message, self._client_vendor, self._model_vendor) for message in messages)

    def to_client(self, message: Message) -> Message:
        """Return a message of the model with its vendor data for the client."""
        return _change_vendor(message, self._model_vendor, self._client_vendor) if self._changes_vendor else message


def _split_vendor_tools(
    definitions: Sequence[Mapping[str, Any]], taken: set[str]
) -> tuple[list[ToolSpec], list[Mapping[str, Any]]]:
    """Return the tools of a vendor that the client runs, and the definitions of those that are left out.

    `taken` are the names of other tools: a model cannot tell two tools of the same name apart.
    """
    added: dict[str, ToolSpec] = {}
    left_out: list[Mapping[str, Any]] = []
    for definition in definitions:
        tool = read_client_tool(definition)
        if tool is None or tool.name in taken or tool.name in added:
            left_out.append(definition)
        else:
            added[tool.name] = tool
    return list(added.values()), left_out


def _remove_format(fields: Mapping[str, Any]) -> dict[str, Any]:
    remaining: dict[str, Any] = {}
    for name, value in fields.items():
        inner = FORMAT_FIELDS.get(name)
        if inner is None:
            remaining[name] = value
        elif inner and (rest := {key: each for key, each in value.items() if key != inner}):
            remaining[name] = rest
    return remaining


def _change_vendor(message: Message, before: str, after: str) -> Message:
    def part(each: AnyPart) -> AnyPart:
        if isinstance(each, Opaque):
            return replace(each, vendor=after) if each.vendor == before else each
        if isinstance(each, Result):
            each = replace(each, content=tuple(part(inner) for inner in each.content))
        if each.extra is None or each.extra.vendor != before:
            return each
        return replace(each, extra=replace(each.extra, vendor=after))

    return replace(message, parts=tuple(part(each) for each in message.parts))
