"""Reads the path and the body of a request as a server: the reverse of `client_request`."""

from typing import Any
from urllib.parse import parse_qs, unquote

from toolspeak.events import AUTO, ToolChoice
from toolspeak.messages import Message, Text
from toolspeak.spec import ToolSpec
from toolspeak.wire.answer_format import AnswerFormat
from toolspeak.wire.chat_request import ChatRequest
from toolspeak.wire.fields import (
    MAX_STOP_TEXTS,
    Fields,
    check_known_names,
    check_tool_limits,
    check_unique_names,
    read_tool,
)
from toolspeak.wire.gemini_content.content_reader import ContentReader
from toolspeak.wire.gemini_content.names import BASE_PATH, GENERATION_FIELDS, SAMPLING_NAMES
from toolspeak.wire.gemini_content.proto_json import convert_schema, normalize_request

_KNOWN_FIELDS = frozenset("model contents systemInstruction tools toolConfig generationConfig".split())

_KNOWN_SETTINGS = frozenset("maxOutputTokens temperature topP seed stopSequences".split())


def read_request(body: Any, path: str = "") -> ChatRequest:
    """Read a request. Raises `UsageError` that names the wrong field.

    Args:
        body: The body.
        path: The path with its query. It holds the name of the model, and how the answer is sent.
    """
    fields = Fields(normalize_request(body, _KNOWN_FIELDS))
    where, _, query = path.partition("?")
    name, _, method = where.rpartition(":")
    is_stream = method.startswith("stream")
    is_array = is_stream and parse_qs(query).get("alt") != ["sse"]
    tools, vendor_tools = _read_tools(fields)
    choice, other_choices = _read_choice(fields, tools)
    config = fields.optional_object("generationConfig") or Fields({}, "generationConfig")
    extra = {
        **fields.other_fields(_KNOWN_FIELDS),
        **_read_other_settings(config),
        **({"toolConfig": other_choices} if other_choices else {}),
        **({"tools": vendor_tools} if vendor_tools else {}),
    }
    return ChatRequest(
        model=_read_name(unquote(name)) if path else _read_name(f"/{fields.text('model')}"),
        messages=(*_read_system(fields), *ContentReader().read(fields)),
        tools=tools,
        choice=choice,
        stream=is_stream,
        stream_form="array" if is_array else "events",
        max_tokens=config.integer("maxOutputTokens", minimum=1),
        temperature=config.number("temperature", maximum=2),
        top_p=config.number("topP", maximum=1),
        seed=config.integer("seed"),
        stop=config.texts("stopSequences", maximum=MAX_STOP_TEXTS),
        include_usage=True,
        answer_format=_read_answer_format(config),
        extra=extra or None,
    )


def _read_name(path: str) -> str:
    """Return the name of the model in a path; one of a folder of its own keeps the name of the folder."""
    _, folder, name = path.partition("/models/")
    return name if folder else path.removeprefix(BASE_PATH).strip("/")


def _read_other_settings(config: Fields) -> dict[str, Any]:
    """Return the settings of the answer that not all APIs have: those that are known by themselves."""
    if config.integer("candidateCount") not in (None, 1):
        raise config.error("candidateCount", "only one answer at a time is supported", "unsupported_value")
    other = config.other_fields(_KNOWN_SETTINGS)
    sampling = {ours: other.pop(theirs) for ours, theirs in SAMPLING_NAMES.items() if theirs in other}
    known = {name: other.pop(name) for name in GENERATION_FIELDS if name in other}
    return {**sampling, **known, **({"generationConfig": other} if other else {})}


def _read_answer_format(config: Fields) -> AnswerFormat | None:
    kind = config.optional_text("responseMimeType")
    if kind == "text/x.enum":
        raise config.error("responseMimeType", "is not supported; use application/json", "unsupported_value")
    if (given := config.optional_object("responseJsonSchema")) is not None:
        return AnswerFormat(schema=given.data, path=given.path)
    if (given := config.optional_object("responseSchema")) is not None:
        return AnswerFormat(schema=convert_schema(given.data), path=given.path)
    return AnswerFormat() if kind == "application/json" else None


def _read_tools(fields: Fields) -> tuple[tuple[ToolSpec, ...], list[dict[str, Any]]]:
    """Return the functions, and the tools that run on servers of the vendor."""
    check_tool_limits(fields)
    tools: list[ToolSpec] = []
    vendor_tools: list[dict[str, Any]] = []
    for group in fields.objects("tools"):
        tools += [_read_function(each) for each in group.objects("functionDeclarations")]
        hosted = group.other_fields({"functionDeclarations"})
        vendor_tools += [{name: value} for name, value in hosted.items()]
    check_unique_names(tools)
    return tuple(tools), vendor_tools


def _read_function(function: Fields) -> ToolSpec:
    schema = function.optional_object("parameters")
    if schema is None:
        return read_tool(function, "parametersJsonSchema")
    return read_tool(Fields({**function.data, "parameters": convert_schema(schema.data)}, function.path), "parameters")


def _read_choice(fields: Fields, tools: tuple[ToolSpec, ...]) -> tuple[ToolChoice, dict[str, Any]]:
    """Return the choice of tools, and what else is configured about tools."""
    config = fields.optional_object("toolConfig")
    if config is None:
        return AUTO, {}
    other = config.other_fields({"functionCallingConfig"})
    chosen = config.optional_object("functionCallingConfig")
    if chosen is None:
        return AUTO, other
    names = chosen.texts("allowedFunctionNames", maximum=len(tools))
    match chosen.optional_text("mode").upper():
        case "NONE":
            return ToolChoice(mode="none"), other
        case "ANY":
            check_known_names(names, tools, chosen.path_of("allowedFunctionNames"))
            return ToolChoice(mode="named", names=names) if names else ToolChoice(mode="required"), other
        case "" | "AUTO" | "VALIDATED" | "MODE_UNSPECIFIED":
            return AUTO, other
        case mode:
            raise chosen.error("mode", f"{mode!r} is none of AUTO, ANY, NONE, VALIDATED")


def _read_system(fields: Fields) -> list[Message]:
    content = fields.optional_object("systemInstruction")
    if content is None:
        return []
    parts = tuple(Text(text=part.text("text")) for part in content.objects("parts"))
    return [Message(role="system", parts=parts)] if parts else []
