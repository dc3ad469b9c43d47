"""Reads the body of a request as a server: the reverse of `client_request`.

Nothing is kept between requests, so what refers to an earlier answer is refused. `input_reader` reads the conversation.
"""

from typing import Any

from toolspeak.definitions import CUSTOM_PARAMETER
from toolspeak.events import AUTO, ToolChoice
from toolspeak.spec import ToolSpec
from toolspeak.wire.answer_format import AnswerFormat, read_answer_format
from toolspeak.wire.chat_request import ChatRequest, ToolNamespace
from toolspeak.wire.fields import (
    MAX_QUOTED_CHARS,
    FieldError,
    Fields,
    check_tool_limits,
    check_unique_names,
    read_tool,
)
from toolspeak.wire.openai_responses.input_reader import read_messages
from toolspeak.wire.openai_responses.names import (
    ENCRYPTED_REASONING,
    GRAMMAR_KEYWORD,
    describe_grammar,
    join_namespace,
)

_KNOWN_FIELDS = frozenset(
    "model input instructions tools tool_choice parallel_tool_calls stream stream_options max_output_tokens "
    "temperature top_p store include background previous_response_id conversation prompt".split()
)

_STORED = {
    "previous_response_id": "nothing is kept here between requests; send the whole conversation in input",
    "conversation": "nothing is kept here between requests; send the whole conversation in input",
    "prompt": "no prompts are stored here; send the text in instructions and input",
}
"""Fields that refer to something that the server has stored, and what to do instead."""

_MAX_INCLUDES = 32


def read_request(body: Any, path: str = "") -> ChatRequest:
    """Read the body of a request; nothing of it is in the path. Raises `UsageError` that names the wrong field."""
    fields = Fields(body)
    for name, problem in _STORED.items():
        if fields.value(name) is not None:
            raise fields.error(name, problem, "unsupported_parameter")
    if fields.flag("background", False):
        raise fields.error(
            "background", "nothing runs here without a client that waits; leave the field out", "unsupported_value"
        )
    fields.flag("store", False)
    reader = _ToolReader()
    reader.read(fields)
    choice = _read_choice(fields, reader)
    remaining = {tool.name for tool in reader.tools}
    extra = fields.other_fields(_KNOWN_FIELDS) | _read_includes(fields)
    return ChatRequest(
        model=fields.text("model"),
        messages=read_messages(fields),
        tools=tuple(reader.tools),
        namespaces=tuple(each for each in reader.namespaces if remaining.issuperset(each.tools)),
        choice=choice,
        parallel=fields.flag("parallel_tool_calls", True),
        stream=fields.flag("stream", False),
        max_tokens=fields.integer("max_output_tokens", minimum=1),
        temperature=fields.number("temperature", maximum=2),
        top_p=fields.number("top_p", maximum=1),
        include_usage=True,
        answer_format=_read_answer_format(fields),
        extra={**extra, "tools": reader.vendor_tools} if reader.vendor_tools else extra or None,
    )


def _read_includes(fields: Fields) -> dict[str, Any]:
    # Encrypted reasoning is what a client of this API always asks for; reasoning is always sent back whole.
    others = [each for each in fields.texts("include", maximum=_MAX_INCLUDES) if each != ENCRYPTED_REASONING]
    return {"include": others} if others else {}


def _read_answer_format(fields: Fields) -> AnswerFormat | None:
    text = fields.optional_object("text")
    return read_answer_format(text.optional_object("format")) if text is not None else None


# Tools


class _ToolReader:
    """Reads the tools, those of namespaces as well.

    Attributes:
        tools: The tools that the client runs.
        namespaces: The groups that some of them belong to.
        vendor_tools: All other tools, unchanged.
    """

    def __init__(self) -> None:
        self.tools: list[ToolSpec] = []
        self.namespaces: list[ToolNamespace] = []
        self.vendor_tools: list[dict[str, Any]] = []

    def read(self, fields: Fields) -> None:
        check_tool_limits(fields)
        for tool in fields.objects("tools"):
            if tool.text("type") == "namespace":
                self._read_namespace(tool)
            elif (spec := _read_tool(tool)) is not None:
                self.tools.append(spec)
            else:
                self.vendor_tools.append(tool.data)
        check_unique_names(self.tools)

    def _read_namespace(self, fields: Fields) -> None:
        name = fields.text("name")
        if not name:
            raise fields.error("name", "is empty")
        members = [spec for tool in fields.objects("tools") if (spec := _read_tool(tool, name)) is not None]
        if members:
            names = tuple(spec.name for spec in members)
            description = fields.optional_text("description")
            self.namespaces.append(ToolNamespace(name=name, description=description, tools=names))
            self.tools += members

    def resolve(self, name: str, namespace: str, path: str) -> str:
        """Return the name of a tool that the client names with or without its namespace."""
        wanted = join_namespace(namespace, name)
        if any(tool.name == wanted for tool in self.tools):
            return wanted
        members = [
            joined
            for each in self.namespaces
            for joined in each.tools
            if not namespace and joined == join_namespace(each.name, name)
        ]
        if len(members) != 1:
            raise FieldError(path, f"there is no tool {wanted[:MAX_QUOTED_CHARS]!r} in tools")
        return members[0]


def _read_tool(tool: Fields, namespace: str = "") -> ToolSpec | None:
    """Read a function or a custom tool; None for any other tool."""
    match tool.text("type"):
        case "function":
            spec = read_tool(tool, "parameters")
            name = join_namespace(namespace, spec.name)
            return ToolSpec(name=name, description=spec.description, parameters=spec.parameters)
        case "custom":
            return _read_custom_tool(tool, namespace)
        case _:
            return None


def _read_custom_tool(tool: Fields, namespace: str) -> ToolSpec:
    name = tool.text("name")
    if not name:
        raise tool.error("name", "is empty")
    schema: dict[str, Any] = {"type": "string"}
    description = tool.optional_text("description")
    form = tool.optional_object("format")
    if form is not None and form.text("type") == "grammar":
        grammar = {"syntax": form.text("syntax"), "definition": form.text("definition")}
        schema[GRAMMAR_KEYWORD] = grammar
        description += describe_grammar(grammar)
    return ToolSpec(
        name=join_namespace(namespace, name),
        description=description,
        parameters={"type": "object", "properties": {CUSTOM_PARAMETER: schema}, "required": [CUSTOM_PARAMETER]},
        raw=CUSTOM_PARAMETER,
    )


# The choice among them


def _read_choice(fields: Fields, reader: _ToolReader) -> ToolChoice:
    """Return the choice. Tools that it does not allow are taken out of `reader`."""
    value = fields.value("tool_choice")
    if value is None:
        return AUTO
    if value in ("auto", "none", "required"):
        if value == "required" and not reader.tools:
            raise fields.error("tool_choice", "a call is required, but there are no tools")
        return ToolChoice(mode=value)
    if isinstance(value, str):
        raise fields.error("tool_choice", f"{value!r} is none of auto, none, required")
    chosen = fields.object("tool_choice")
    match chosen.text("type"):
        case "function" | "custom":
            return ToolChoice(mode="named", names=(_read_tool_name(chosen, reader),))
        case "allowed_tools":
            return _read_allowed_tools(chosen, reader)
        case other:
            raise chosen.error("type", f"{other!r} is a tool of the vendor, which is not run here")


def _read_allowed_tools(allowed: Fields, reader: _ToolReader) -> ToolChoice:
    # The API requires a call of at least one of these tools. A `ToolChoice` that names several requires all of them.
    # So the other tools are left out, and a call of any remaining tool is required.
    mode = allowed.text("mode")
    if mode not in ("auto", "required"):
        raise allowed.error("mode", f"{mode!r} is none of auto, required")
    given = [tool for tool in allowed.objects("tools", required=True) if tool.text("type") in ("function", "custom")]
    names = {_read_tool_name(tool, reader) for tool in given}
    reader.tools = [tool for tool in reader.tools if tool.name in names]
    if mode == "required" and not reader.tools:
        raise allowed.error("tools", "a call is required, but none of these tools is run by the client")
    return ToolChoice(mode="required") if mode == "required" else AUTO


def _read_tool_name(fields: Fields, reader: _ToolReader) -> str:
    return reader.resolve(fields.text("name"), fields.optional_text("namespace"), fields.path_of("name"))
