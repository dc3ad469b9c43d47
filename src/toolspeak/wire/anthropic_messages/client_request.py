"""Requests: messages, tools and settings as the API wants them.

The API is particular. System messages stand outside the conversation; results of tools are the beginning of a user
message; text without a visible character is refused, and so is white space at the end of an answer that is to be
continued; ids have an alphabet. Blocks go back in the order in which they came, reasoning with its signature or not at
all.
"""

import re
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from toolspeak.events import AUTO, ToolChoice
from toolspeak.messages import Call, Extra, Media, Message, Opaque, Part, Result, Text, Thinking
from toolspeak.spec import Schema, ToolSpec
from toolspeak.wire.anthropic_messages.names import IMAGES, VENDOR
from toolspeak.wire.json_data import list_in, object_in, plain_arguments
from toolspeak.wire.media import base64_of, mentioned, text_of
from toolspeak.wire.quirks import NO_QUIRKS, Quirks
from toolspeak.wire.schemas import PLAIN, SchemaRules, fitted

PATH = "/messages"
"""Where requests go, behind the base address (which ends in `/v1`)."""

MAX_TOKENS = 4096
"""The limit of an answer where none is given: the API wants one."""

_LONGEST_ID = 64

_FOREIGN_TO_IDS = re.compile(r"[^a-zA-Z0-9_-]")

_REASONING = ("thinking", "redacted_thinking")


def request_body(
    *,
    model: str,
    messages: Sequence[Message],
    tools: Sequence[ToolSpec] = (),
    choice: ToolChoice = AUTO,
    parallel: bool = True,
    stream: bool = False,
    max_tokens: int | None = None,
    temperature: float | None = None,
    top_p: float | None = None,
    seed: int | None = None,  # the API has none
    stop: Sequence[str] = (),
    extra: Mapping[str, Any] | None = None,
    json_schema: Schema | None = None,
    grammar: str | None = None,  # the API has none
    rules: SchemaRules = PLAIN,
    quirks: Quirks = NO_QUIRKS,
    vendor: str = VENDOR,
) -> dict[str, Any]:
    """The body of a request.

    `vendor` is who the endpoint is: only its own extras go back to it. `extra` is laid over the body, but tools in it,
    which only the endpoint knows, are added to ours.
    """
    given = extra or {}
    body: dict[str, Any] = {"model": model, "max_tokens": MAX_TOKENS if max_tokens is None else max_tokens}
    if system := _system(messages, vendor):
        body["system"] = system
    body["messages"] = _Conversation(quirks, vendor).lay_out(messages)
    body |= _tool_fields(tools, choice, parallel, rules, quirks, thinks=_thinks(given))
    if stream:
        body["stream"] = True
    if json_schema is not None and quirks.response_format:
        body["output_config"] = {"format": {"type": "json_schema", "schema": fitted(json_schema, rules)[0]}}
    settings = {"temperature": temperature, "top_p": top_p, "stop_sequences": [text for text in stop if text.strip()]}
    body |= {name: value for name, value in settings.items() if value is not None and value != []}
    body |= given
    if more := list_in(given.get("tools")):
        body["tools"] = [*_definitions(tools, rules), *more]
    return body


def tool_definitions(
    specs: Iterable[ToolSpec], *, strict: bool = False, rules: SchemaRules = PLAIN
) -> list[dict[str, Any]]:
    """The `tools` parameter of a request. A tool that has no strict variant is given as it is."""
    return _definitions(specs, SchemaRules(strict=True) if strict else rules)


def _definitions(specs: Iterable[ToolSpec], rules: SchemaRules) -> list[dict[str, Any]]:
    return [_tool(spec, rules) for spec in specs]


def _tool(spec: ToolSpec, rules: SchemaRules) -> dict[str, Any]:
    schema, strict = fitted(spec.parameters, rules)
    tool: dict[str, Any] = {"name": spec.name, "description": spec.description}
    return {**tool, "strict": True, "input_schema": schema} if strict else {**tool, "input_schema": schema}


def _thinks(extra: Mapping[str, Any]) -> bool:
    return object_in(extra.get("thinking")).get("type") in ("enabled", "adaptive")


def _tool_fields(
    tools: Sequence[ToolSpec], choice: ToolChoice, parallel: bool, rules: SchemaRules, quirks: Quirks, *, thinks: bool
) -> dict[str, Any]:
    if not tools or not quirks.tools or (choice.mode == "none" and not quirks.tool_choice):
        return {}
    fields: dict[str, Any] = {"tools": _definitions(tools, rules)}
    if quirks.tool_choice:
        chosen = _choice(choice, quirks, thinks=thinks)
        if not parallel and quirks.parallel_tool_calls and chosen["type"] != "none":
            chosen["disable_parallel_tool_use"] = True
        if chosen != {"type": "auto"}:
            fields["tool_choice"] = chosen
    return fields


def _choice(choice: ToolChoice, quirks: Quirks, *, thinks: bool) -> dict[str, Any]:
    if choice.mode in ("auto", "none"):
        return {"type": choice.mode}
    if thinks:
        return {"type": "auto"}  # the API refuses to force a call of a model that thinks first
    if choice.mode == "named" and len(choice.names) == 1 and quirks.named_choice:
        return {"type": "tool", "name": choice.names[0]}
    return {"type": "any"}


def _system(messages: Sequence[Message], vendor: str) -> str | list[dict[str, Any]]:
    texts = [
        part
        for message in messages
        if message.role == "system"
        for part in message.parts
        if isinstance(part, Text) and part.text.strip()
    ]
    if any(_own(text.extra, vendor) for text in texts):
        return [{"type": "text", "text": text.text, **_own(text.extra, vendor)} for text in texts]
    return "\n\n".join(text.text for text in texts)


def _own(extra: Extra | None, vendor: str) -> dict[str, Any]:
    return object_in(extra.data) if extra is not None and extra.vendor == vendor else {}


class _Conversation:
    """Lays out the messages of one request: what is said of a call and of its result must agree."""

    def __init__(self, quirks: Quirks, vendor: str) -> None:
        self._vendor = vendor
        self._echo = quirks.echo_reasoning
        self._ids: dict[str, str] = {}
        self._taken: set[str] = set()

    def lay_out(self, messages: Sequence[Message]) -> list[dict[str, Any]]:
        laid_out: list[dict[str, Any]] = []
        for message in messages:
            if message.role == "system":
                continue
            role = "assistant" if message.role == "assistant" else "user"
            blocks = self._assistant(message) if role == "assistant" else self._user(message)
            if not blocks:
                continue
            if laid_out and role == "user" and laid_out[-1]["role"] == "user":
                together = [*laid_out[-1]["content"], *blocks]
                laid_out[-1]["content"] = sorted(together, key=lambda block: block["type"] != "tool_result")
            else:
                laid_out.append({"role": role, "content": blocks})
        if laid_out and laid_out[-1]["role"] == "assistant":
            _trim_end(laid_out[-1]["content"])
        for message in laid_out:
            message["content"] = _shortened(message["content"])
        return laid_out

    def _assistant(self, message: Message) -> list[dict[str, Any]]:
        blocks: list[dict[str, Any]] = []
        for part in message.parts:
            match part:
                case Text(text=text, extra=extra) if text.strip():
                    blocks.append({"type": "text", "text": text, **_own(extra, self._vendor)})
                case Thinking(text=text, extra=extra):
                    own = _own(extra, self._vendor)
                    if self._echo and own.get("signature"):
                        blocks.append({"type": "thinking", "thinking": text, **own})
                case Call(call=call, extra=extra):
                    said = {"type": "tool_use", "id": self._id(call.id), "name": call.name}
                    blocks.append({**said, "input": plain_arguments(call.arguments), **_own(extra, self._vendor)})
                case Opaque(data=data) if part.vendor == self._vendor:
                    blocks.append(object_in(data))
                case _:
                    pass  # what another vendor made is of no use here
        return [] if all(block.get("type") in _REASONING for block in blocks) else blocks

    def _user(self, message: Message) -> list[dict[str, Any]]:
        results = [self._result(part) for part in message.parts if isinstance(part, Result)]
        return [*results, *self._shown(message.parts)]

    def _result(self, result: Result) -> dict[str, Any]:
        block: dict[str, Any] = {"type": "tool_result", "tool_use_id": self._id(result.call_id)}
        if content := self._shown(result.content):
            block["content"] = _shortened(content)
        if result.is_error:
            block["is_error"] = True
        return {**block, **_own(result.extra, self._vendor)}

    def _shown(self, parts: Iterable[Part]) -> list[dict[str, Any]]:
        blocks: list[dict[str, Any]] = []
        for part in parts:
            if isinstance(part, Media):
                blocks.append({**_media(part), **_own(part.extra, self._vendor)})
            elif isinstance(part, Text) and part.text.strip():
                blocks.append({"type": "text", "text": part.text, **_own(part.extra, self._vendor)})
            elif isinstance(part, Opaque) and part.vendor == self._vendor:
                blocks.append(object_in(part.data))
        return blocks

    def _id(self, said: str) -> str:
        """An id that the API takes: the same for the same id, and another for another."""
        if said not in self._ids:
            fit = fresh = _FOREIGN_TO_IDS.sub("_", said)[:_LONGEST_ID] or "call"
            number = 2
            while fresh in self._taken:
                end = f"_{number}"
                fresh = fit[: _LONGEST_ID - len(end)] + end
                number += 1
            self._taken.add(fresh)
            self._ids[said] = fresh
        return self._ids[said]


def _media(media: Media) -> dict[str, Any]:
    is_image = media.mime.startswith("image/")
    if media.data is None and media.url is not None and (is_image or media.mime == "application/pdf"):
        return {"type": "image" if is_image else "document", "source": {"type": "url", "url": media.url}}
    if media.data is not None and (media.mime in IMAGES or media.mime == "application/pdf"):
        source = {"type": "base64", "media_type": media.mime, "data": base64_of(media)}
        return {"type": "image" if is_image else "document", "source": source}
    if text := (text_of(media) or "").strip():
        return {"type": "document", "source": {"type": "text", "media_type": "text/plain", "data": text}}
    return {"type": "text", "text": mentioned(media)}


def _shortened(blocks: list[dict[str, Any]]) -> str | list[dict[str, Any]]:
    return blocks[0]["text"] if len(blocks) == 1 and blocks[0].keys() == {"type", "text"} else blocks


def _trim_end(blocks: list[dict[str, Any]]) -> None:
    if blocks[-1].get("type") == "text":
        blocks[-1] = {**blocks[-1], "text": blocks[-1]["text"].rstrip()}
