"""Requests: messages, tools and settings as the API wants them.

A message of ours may be several of the API's: each result is a `tool` message of its own, and since those hold only
text, media of results follow in a user message, with the note. Texts of one message are joined into one text: every
server takes that, and not all take a list.
"""

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from toolspeak.events import AUTO, ToolChoice
from toolspeak.messages import Call, Extra, Media, Message, Opaque, Part, Result, Text, Thinking
from toolspeak.spec import Schema, ToolSpec
from toolspeak.wire.json_data import list_in, object_in, spelled_arguments, text_in
from toolspeak.wire.media import base64_of, mentioned, text_of, url_of
from toolspeak.wire.openai_chat.names import REASONING_DETAILS, REASONING_FIELDS, VENDOR
from toolspeak.wire.quirks import NO_QUIRKS, Quirks
from toolspeak.wire.schemas import PLAIN, SchemaRules, fitted

PATH = "/chat/completions"
"""Where requests go, behind the base address (which ends in `/v1`)."""

_SAYS_NOTHING = {"role", "content", "extra_content", REASONING_DETAILS, *REASONING_FIELDS}

_SOUNDS = {"audio/wav": "wav", "audio/x-wav": "wav", "audio/wave": "wav", "audio/mpeg": "mp3", "audio/mp3": "mp3"}


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
    seed: int | None = None,
    stop: Sequence[str] = (),
    extra: Mapping[str, Any] | None = None,
    json_schema: Schema | None = None,
    grammar: str | None = None,
    rules: SchemaRules = PLAIN,
    quirks: Quirks = NO_QUIRKS,
    vendor: str = VENDOR,
) -> dict[str, Any]:
    """The body of a request.

    `vendor` is who the endpoint is: only its own extras go back to it. `extra` is laid over the body, but tools in it,
    which only the endpoint knows, are added to ours.
    """
    body: dict[str, Any] = {"model": model, "messages": _messages(messages, quirks, vendor)}
    body |= _tool_fields(tools, choice, parallel, rules, quirks)
    if stream:
        body["stream"] = True
        if quirks.stream_options:
            body["stream_options"] = {"include_usage": True}
    body |= _held_to(json_schema, grammar, rules, quirks)
    settings = {
        "max_completion_tokens" if quirks.max_completion_tokens else "max_tokens": max_tokens,
        "temperature": temperature,
        "top_p": top_p,
        "seed": seed if quirks.seed else None,
        "stop": list(stop) or None,
    }
    body |= {name: value for name, value in settings.items() if value is not None}
    if extra:
        body |= extra
        if more := list_in(extra.get("tools")):
            body["tools"] = [*_definitions(tools, rules), *more]
    return body


def tool_definitions(
    specs: Iterable[ToolSpec], *, strict: bool = False, rules: SchemaRules = PLAIN
) -> list[dict[str, Any]]:
    """The `tools` parameter of a request. A tool that has no strict variant is given as it is."""
    return _definitions(specs, SchemaRules(strict=True) if strict else rules)


def _definitions(specs: Iterable[ToolSpec], rules: SchemaRules) -> list[dict[str, Any]]:
    return [{"type": "function", "function": _function(spec, rules)} for spec in specs]


def _function(spec: ToolSpec, rules: SchemaRules) -> dict[str, Any]:
    parameters, strict = fitted(spec.parameters, rules)
    function: dict[str, Any] = {"name": spec.name, "description": spec.description}
    return {**function, "strict": True, "parameters": parameters} if strict else {**function, "parameters": parameters}


def _tool_fields(
    tools: Sequence[ToolSpec], choice: ToolChoice, parallel: bool, rules: SchemaRules, quirks: Quirks
) -> dict[str, Any]:
    if not tools or not quirks.tools or (choice.mode == "none" and not quirks.tool_choice):
        return {}  # the API takes neither choice nor parallel without tools
    fields: dict[str, Any] = {"tools": _definitions(tools, rules)}
    if quirks.tool_choice and choice.mode != "auto":
        fields["tool_choice"] = _choice(choice, quirks)
    if quirks.parallel_tool_calls and (not parallel or quirks.parallel_said_always):
        fields["parallel_tool_calls"] = parallel
    return fields


def _choice(choice: ToolChoice, quirks: Quirks) -> Any:
    if choice.mode != "named":
        return choice.mode
    named = [{"type": "function", "function": {"name": name}} for name in choice.names]
    if len(named) == 1 and quirks.named_choice:
        return named[0]
    if len(named) > 1 and quirks.allowed_tools:
        return {"type": "allowed_tools", "allowed_tools": {"mode": "required", "tools": named}}
    return "required"


def _held_to(schema: Schema | None, grammar: str | None, rules: SchemaRules, quirks: Quirks) -> dict[str, Any]:
    # One or the other: llama.cpp, which takes both, refuses them together.
    if schema is not None and quirks.response_format:
        form, strict = fitted(schema, rules)
        held = {"name": "answer", "schema": form, **({"strict": True} if strict else {})}
        return {"response_format": {"type": "json_schema", "json_schema": held}}
    return {"grammar": grammar} if grammar is not None and quirks.grammar else {}


# Messages


def _messages(messages: Sequence[Message], quirks: Quirks, vendor: str) -> list[dict[str, Any]]:
    laid_out: list[dict[str, Any]] = []
    for message in messages:
        match message.role:
            case "system":
                role = "developer" if quirks.developer_role else "system"
                laid_out.append({"role": role, "content": message.text})
            case "user":
                laid_out.append({"role": "user", "content": _content(message.parts, vendor)})
            case "assistant":
                laid_out += _assistant(message, quirks, vendor)
            case "tool":
                laid_out += _results(message, vendor)
    return laid_out


def _content(parts: Iterable[Part], vendor: str) -> str | list[dict[str, Any]]:
    said = [part for part in parts if isinstance(part, Text | Media)]
    if not any(isinstance(part, Media) for part in said):
        return "".join(part.text for part in said if isinstance(part, Text))
    return [
        _media(part, vendor) if isinstance(part, Media) else _text(part.text)
        for part in said
        if isinstance(part, Media) or part.text
    ]


def _text(text: str) -> dict[str, Any]:
    return {"type": "text", "text": text}


def _media(media: Media, vendor: str) -> dict[str, Any]:
    own = _own(media.extra, vendor)
    if media.mime.startswith("image/"):
        return {"type": "image_url", "image_url": {"url": url_of(media), **own}}
    if media.data is None:
        return _text(mentioned(media))
    if sound := _SOUNDS.get(media.mime):
        return {"type": "input_audio", "input_audio": {"data": base64_of(media), "format": sound}}
    if (text := text_of(media)) is not None:
        return _text(text)
    name = f"file.{media.mime.rpartition('/')[2]}"
    return {"type": "file", "file": {"filename": name, "file_data": url_of(media), **own}}


def _assistant(message: Message, quirks: Quirks, vendor: str) -> list[dict[str, Any]]:
    said: dict[str, Any] = {"role": "assistant", "content": None}
    for part in message.parts:
        match part:
            case Text(text=text, extra=extra):
                own = _own(extra, vendor)
                field = "refusal" if own.get("refusal") is True else "content"
                said[field] = (said.get(field) or "") + text
                if "extra_content" in own:
                    said["extra_content"] = own["extra_content"]
            case Thinking() if quirks.echo_reasoning:
                _add_reasoning(said, part, vendor)
            case Call(call=call, extra=extra):
                function = {"name": call.name, "arguments": spelled_arguments(call.arguments)}
                laid_out = {"id": call.id, "type": "function", "function": function, **_own(extra, vendor)}
                said.setdefault("tool_calls", []).append(laid_out)
            case Opaque(data=data) if part.vendor == vendor:
                said |= object_in(data)
            case _:
                pass  # what another vendor made is of no use here
    # The API refuses a message that says nothing, and reasoning alone is nothing said.
    return [said] if said["content"] or said.keys() - _SAYS_NOTHING else []


def _add_reasoning(said: dict[str, Any], part: Thinking, vendor: str) -> None:
    own = _own(part.extra, vendor)
    if (field := text_in(own.get("field"))) in REASONING_FIELDS and part.text:
        said[field] = said.get(field, "") + part.text
    if details := list_in(own.get(REASONING_DETAILS)):
        said[REASONING_DETAILS] = [*said.get(REASONING_DETAILS, ()), *details]


def _results(message: Message, vendor: str) -> list[dict[str, Any]]:
    laid_out: list[dict[str, Any]] = []
    shown: list[Part] = []
    for part in message.parts:
        if isinstance(part, Result):
            media = [each for each in part.content if isinstance(each, Media)]
            texts = [each.text for each in part.content if isinstance(each, Text)]
            if media:
                texts.append("[what cannot be shown here follows below]")
                shown += [Text(text=f"From the result of {part.call_id}:"), *media]
            laid_out.append({"role": "tool", "tool_call_id": part.call_id, "content": "\n".join(texts)})
    shown += [part for part in message.parts if not isinstance(part, Result)]
    if content := _content(shown, vendor):
        laid_out.append({"role": "user", "content": content})
    return laid_out


def _own(extra: Extra | None, vendor: str) -> dict[str, Any]:
    return object_in(extra.data) if extra is not None and extra.vendor == vendor else {}
