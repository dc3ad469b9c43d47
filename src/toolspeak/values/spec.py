"""`ToolSpec`, the description of a tool without its function, and what can be done with the schema of its parameters.

Schemas come from anywhere: from pydantic, from clients of the gateway, from servers of other projects. A `ToolSpec`
brings its schemas into one form when it is made (`object_schema`), so that nobody else has to look for the others: a
keyword whose value makes no sense is left out, and a list of types has each type once.

A schema is also measured here, once: one that holds or nests too much is refused, with a sentence. So whoever walks it
may do so by recursion, and pays for each level a bounded price. A walker visits each schema once; where references,
alternatives or values multiply the work, it spends steps of a budget (`work_budget.py`).
"""

import re
import unicodedata
from collections.abc import Callable, Mapping
from typing import Any, Literal, TypeAlias, cast

from toolspeak.values.frozen import UsageError, frozen
from toolspeak.values.origin import Origin, Span, split_spans

Effect: TypeAlias = Literal["read", "idempotent", "once"]
"""`read` changes nothing; `idempotent` may be repeated; `once` must not be repeated (the careful default)."""

ResultOwner: TypeAlias = Literal["", "own", "foreign"]
"""Whose words the results of a tool are.

- `own`: data of the user or the program, which nobody else writes, such as a list of contacts.
- `foreign`: anybody may have written them: a web page, a mail, a file that was sent.
- "": nobody has said it. Such a result is no request and explains no value, but it is no reason to ask either.
"""


@frozen
class ResultField:
    """What is known of a field of results that are foreign otherwise.

    Attributes:
        path: The field, from the result or from each item of a list: `id`, `files.id`; "" is all of the result.
        fills: The parameters that a value of the field may fill, and only as a whole: `file_id` of all tools, or
            `share_file.file_id` of one. Without any, the field is own data, which explains values wherever they stand.
        by: The fields beside it that name the thing. If there are any, the user must have named it.
    """

    path: str
    fills: tuple[str, ...] = ()
    by: tuple[str, ...] = ()


Schema: TypeAlias = Mapping[str, Any]
"""A JSON schema. Schemas are shared, so they are never changed in place."""


@frozen
class ToolSpec:
    """A tool, without the function behind it.

    Attributes:
        name: The name by which the model calls the tool.
        description: The purpose of the tool, for the model.
        parameters: JSON schema of the arguments, as `object_schema` returns it: `type` is `"object"`, and it has
            `properties`.
        returns: JSON schema of the result, if it is known.
        effect: What a call changes; decides what may start early, be retried or be repeated.
        approve: Whether calls need approval.
        sequential: Whether a call must run alone.
        timeout: Seconds before a call times out.
        max_output: Characters of the result that a model is shown.
        raw: The parameter that takes one raw text, such as a patch or a program. In the text dialects, a model may
            write that text as it is, in a fenced block labelled with the name of the tool.
        origin: Where the description and the schemas came from.
        spans: The stretches of the description that have another origin.
        result: Who wrote the results.
        fields: The fields of foreign results that are declared as something else.
        decisive: The decisive parameters, if they are declared: their values must come from the user, the program or
            its own data. None means all but the free ones for a tool with an effect, and none for one that only reads.
        free: The parameters that take any text, such as the text of a mail.
        reconcile: Whether the program can find out if an interrupted call took effect.

    Raises:
        ValueError: `raw` names no string parameter, or not the only required one.
        UsageError: A schema has too many values or levels.
    """

    name: str
    description: str
    parameters: Schema
    returns: Schema | None = None
    effect: Effect = "once"
    approve: bool = False
    sequential: bool = False
    timeout: float | None = None
    max_output: int | None = None
    raw: str | None = None
    origin: Origin = Origin.PROGRAM
    spans: tuple[Span, ...] = ()
    result: ResultOwner = ""
    fields: tuple[ResultField, ...] = ()
    decisive: tuple[str, ...] | None = None
    free: tuple[str, ...] = ()
    reconcile: bool = False

    def __post_init__(self) -> None:
        for schema in (self.parameters, self.returns):
            if schema is not None and (problem := find_size_problem(schema)) is not None:
                raise UsageError(f"{self.name[:MAX_QUOTED_CHARS]}: its schema {problem}")
        object.__setattr__(self, "parameters", object_schema(self.parameters))
        if self.returns is not None:
            object.__setattr__(self, "returns", normalize_schema(self.returns))
        if self.raw is not None:
            _check_raw(self.name, self.raw, self.parameters)


def list_decisive(spec: ToolSpec) -> tuple[str, ...]:
    """Return the decisive parameters of a tool: those that say whom, what, how much, or where to.

    Examples:
        >>> schema = {"type": "object", "properties": {"to": {"type": "string"}, "text": {"type": "string"}}}
        >>> list_decisive(ToolSpec(name="send", description="", parameters=schema, free=("text",)))
        ('to',)
        >>> list_decisive(ToolSpec(name="look", description="", parameters=schema, effect="read"))
        ()
    """
    if spec.decisive is not None:
        return spec.decisive
    if spec.effect == "read":
        return ()
    return tuple(name for name in spec.parameters["properties"] if name not in spec.free)


CALL_SIGNS = re.compile(r"[(\[{<\n\\&]")
"""Characters of which each form of a call has one, or an escape of one."""


def list_foreign_texts(spec: ToolSpec) -> list[str]:
    """Return what others have written of a tool, in descriptions and schemas, as far as it may hold a call."""
    if spec.origin.is_foreign:
        left: list[Any] = [spec.description, spec.parameters, spec.returns]
    else:
        stretches = split_spans(spec.description, spec.origin, spec.spans)
        left = [text for text, origin in stretches if origin.is_foreign]
    texts: list[str] = []
    while left:
        each = left.pop()
        if isinstance(each, str):
            plain = each if each.isascii() else unicodedata.normalize("NFKC", each)
            texts += [each] if CALL_SIGNS.search(plain) else []
        elif isinstance(each, Mapping):
            pairs = cast("Mapping[str, Any]", each)
            left += [*pairs.keys(), *pairs.values()]
        elif isinstance(each, list):
            left += cast("list[Any]", each)
    return texts


NOT_RAW_KEYWORDS = frozenset({"enum", "const", "format"})
"""Keywords of a string that is not any text: a choice, a date, a path."""


def _check_raw(tool: str, raw: str, parameters: Schema) -> None:
    """Raise `ValueError` unless a tool can take its arguments as the raw text `raw`."""
    properties = cast("Mapping[str, Schema]", parameters["properties"])
    if raw not in properties:
        known = ", ".join(properties) or "none"
        raise ValueError(f"{tool}: raw={raw!r} names no parameter; the parameters are: {known}")
    schema = resolve_reference(properties[raw], parameters)
    if schema.get("type") != "string" or NOT_RAW_KEYWORDS & schema.keys():
        raise ValueError(f"{tool}: raw={raw!r} names a parameter that is not a str; annotate it with str")
    others = [name for name in parameters.get("required", ()) if name != raw]
    if others:
        cure = "give the others defaults, or do without raw"
        raise ValueError(f"{tool}: raw={raw!r} must be the only required parameter, beside {', '.join(others)}; {cure}")
    if raw not in parameters.get("required", ()):
        raise ValueError(f"{tool}: raw={raw!r} names a parameter with a default; raw is for the required one")


MAX_SCHEMA_VALUES = 50_000
"""The most JSON values in a schema, and in the definitions of all tools of a request."""

MAX_SCHEMA_NESTING = 128
"""The most levels of a schema. An object within an object is two of them."""

MAX_QUOTED_CHARS = 80
"""Characters of a name that an error quotes."""


def find_size_problem(schema: Any) -> str | None:
    """Return what is wrong with the size of a schema and what to do, to follow a noun; None if it can be used."""
    level: list[Any] = [schema]
    count = 0
    for _ in range(MAX_SCHEMA_NESTING):
        below: list[Any] = []
        for part in level:
            values = part if part.__class__ is list else part.values()
            count += len(values)
            if count > MAX_SCHEMA_VALUES:
                return f"holds more than {MAX_SCHEMA_VALUES:,} values; describe less, or split it"
            for each in values:
                if each.__class__ is not str and (each.__class__ is dict or each.__class__ is list):
                    below.append(each)  # noqa: PERF401 (a comprehension takes longer for the few values of most parts)
        if not below:
            return None
        level = below
    return f"is nested more than {MAX_SCHEMA_NESTING} levels deep; make it flatter"


MAX_REFERENCES = 32
"""References that are followed one after the other; definitions may refer to each other in a circle."""

SUBSCHEMAS = frozenset({"items", "additionalProperties", "not", "contains", "propertyNames", "unevaluatedProperties"})
"""Keywords that hold a schema (or a boolean)."""

SUBSCHEMA_LISTS = frozenset({"anyOf", "oneOf", "allOf", "prefixItems"})
"""Keywords that hold a list of schemas."""

SUBSCHEMA_MAPS = frozenset({"properties", "$defs", "definitions", "patternProperties", "dependentSchemas"})
"""Keywords that hold schemas by name."""


SCHEMA_KEYWORDS = SUBSCHEMAS | SUBSCHEMA_LISTS | SUBSCHEMA_MAPS

NULLABLE_KEYWORDS = frozenset({"default", "const", "example"})
"""Keywords for which null is a value. For all others null says that the keyword is not used."""

ENUM_NAMES = "x-enum-names"
"""Schema keyword of toolspeak's own: the members of an enum, name to value. Never shown to a model."""

LIST_KEYWORDS = SUBSCHEMA_LISTS | {"enum"}

NAME_LISTS = frozenset({"type", "required"})
"""Keywords that hold a list of names, each of which counts once."""

KEYWORD_KINDS: Mapping[str, Any] = {
    **dict.fromkeys(LIST_KEYWORDS | {"required"}, list),
    **dict.fromkeys(SUBSCHEMA_MAPS | {ENUM_NAMES}, Mapping),
    **dict.fromkeys(SUBSCHEMAS, (Mapping, bool, list)),  # `items` was a list in older drafts
    "type": (str, list),
    "$ref": str,
}
"""The types of the values of keywords that others rely on. A keyword with another value is left out."""

TEXTLESS_KEYWORDS = frozenset(KEYWORD_KINDS.keys() - {"type", "$ref"})
"""Keywords of which no value is a text."""


def object_schema(schema: Schema) -> Schema:
    """Return the schema of a tool's parameters as the schema of an object with properties.

    Clients and servers leave out `type`, write null for a keyword that they do not use, or put the whole schema behind
    a `$ref`. A schema without any of these is returned as it is.
    """
    schema = normalize_schema(schema)
    if "$ref" in schema:
        schema = resolve_reference(schema, schema)
    kind: Any = schema.get("type")
    properties: Any = schema.get("properties")
    if kind == "object" and isinstance(properties, Mapping):
        return schema
    may_be_object = kind is None or (isinstance(kind, list) and "object" in kind)
    form: dict[str, Any] = {
        "type": "object" if may_be_object else kind,
        "properties": properties if isinstance(properties, Mapping) else {},
    }
    return {**form, **schema, **form}


def _is_normal(schema: Schema) -> bool:
    """Whether each keyword has a value that fits and every property a dict, in the schemas inside of it as well."""
    for keyword, value in schema.items():
        if value.__class__ is str:  # most values
            if keyword in TEXTLESS_KEYWORDS:
                return False
        elif value is None:
            if keyword not in NULLABLE_KEYWORDS:
                return False
        elif keyword in SCHEMA_KEYWORDS:
            if keyword in SUBSCHEMA_MAPS:
                if not isinstance(value, dict):
                    return False
                for sub in cast("dict[str, Any]", value).values():
                    if not isinstance(sub, dict) or not _is_normal(cast("Schema", sub)):
                        return False
            elif keyword in SUBSCHEMA_LISTS:
                if not isinstance(value, list) or not all(map(_is_normal_part, cast("list[Any]", value))):
                    return False
            elif not isinstance(value, list) and not _is_normal_part(value):
                return False
        elif keyword in KEYWORD_KINDS:
            if not isinstance(value, KEYWORD_KINDS[keyword]):
                return False
            if isinstance(value, list) and keyword in NAME_LISTS and not _are_names(keyword, cast("list[Any]", value)):
                return False
    return True


def _is_normal_part(value: Any) -> bool:
    """Whether a value is a boolean, which is a schema too, or a schema whose keywords have values that fit."""
    return _is_normal(cast("Schema", value)) if isinstance(value, dict) else isinstance(value, bool)


def _are_names(keyword: str, values: list[Any]) -> bool:
    """Whether a list has only texts, each of them once. A list of types has at least one."""
    for each in values:
        if not isinstance(each, str):
            return False
    return len(set(values)) == len(values) and (bool(values) or keyword != "type")


def _normalize(schema: Schema) -> dict[str, Any]:
    used: dict[str, Any] = {}
    for keyword, value in schema.items():
        if value is None and keyword not in NULLABLE_KEYWORDS:
            continue
        if keyword in KEYWORD_KINDS and not isinstance(value, KEYWORD_KINDS[keyword]):
            continue
        if keyword in NAME_LISTS and isinstance(value, list):
            value = list(dict.fromkeys(each for each in cast("list[Any]", value) if isinstance(each, str)))
            if not value and keyword == "type":
                continue
        if keyword in SUBSCHEMA_LISTS:
            value = [cast("Any", sub) for sub in cast("list[Any]", value) if isinstance(sub, Mapping | bool)]
        elif keyword in SUBSCHEMA_MAPS:
            # `true` allows any value, as `{}` does, and what is no schema says nothing.
            named = cast("Mapping[str, Any]", value).items()
            value = {name: cast("Any", sub if isinstance(sub, Mapping) or sub is False else {}) for name, sub in named}
        used[keyword] = value
    return map_subschemas(used, _normalize)


def normalize_schema(schema: Schema) -> Schema:
    """Return a schema with only keywords whose values fit. A schema that has no others is returned as it is."""
    return schema if _is_normal(schema) else _normalize(schema)


def resolve_reference(schema: Schema, root: Schema) -> Schema:
    """Return `schema` with a `$ref` at its top replaced by the definition in `root` that the `$ref` points to.

    A reference with nothing beside it is the definition itself, the same object each time. It may point to what is no
    definition but data, which is not in the form that a `ToolSpec` gives its schemas (`is_definition`).
    """
    for _ in range(MAX_REFERENCES):
        reference = schema.get("$ref")
        if not isinstance(reference, str):
            break
        target = find_definition(reference, root)
        siblings = {key: value for key, value in schema.items() if key != "$ref"}
        schema = siblings if target is None else {**target, **siblings} if siblings else target
    return schema


def is_definition(reference: Any) -> bool:
    """Whether a reference points to a definition of its schema, and not to anything else in it."""
    if not isinstance(reference, str) or not reference.startswith(("#/$defs/", "#/definitions/")):
        return False
    return reference.count("/") == 2


def find_definition(reference: str, root: Schema) -> Schema | None:
    """Return the schema in `root` that a reference points to; None if there is none."""
    target: Any = root
    for step in reference.removeprefix("#").split("/")[1:]:
        if not isinstance(target, Mapping):
            return None
        target = cast("Schema", target).get(step.replace("~1", "/").replace("~0", "~"))
    return cast("Schema", target) if isinstance(target, Mapping) else None


def map_subschemas(schema: Schema, change: Callable[[Schema], Any]) -> dict[str, Any]:
    """Apply `change` to each schema directly inside `schema`, and to nothing that is data.

    A property named `title` or a default that looks like a schema is data and stays as it is.
    """

    def apply(sub: Any) -> Any:
        # `true` and `false` are schemas too. A look at the type of a dict is faster than `isinstance(sub, Mapping)`.
        return change(cast("Schema", sub)) if type(sub) is dict or isinstance(sub, Mapping) else sub

    result: dict[str, Any] = {}
    for key, value in schema.items():
        if key not in SCHEMA_KEYWORDS:
            result[key] = value
        elif key in SUBSCHEMA_MAPS and isinstance(value, Mapping):
            named = cast("Mapping[str, Any]", value)
            result[key] = {name: apply(sub) for name, sub in named.items()}
        elif key in SUBSCHEMA_LISTS and isinstance(value, list):
            result[key] = [apply(sub) for sub in cast("list[Any]", value)]
        elif key in SUBSCHEMAS:
            result[key] = apply(value)
        else:
            result[key] = value
    return result


def strict_schema(schema: Schema) -> dict[str, Any]:
    """Return the strict variant of a schema: every property is required, and optional ones may be null.

    Endpoints that generate under a grammar require it. When the call is validated, a null stands for the default. An
    object with free keys (`dict[str, int]`) has no strict variant and is left unchanged.
    """
    result = map_subschemas(schema, strict_schema)
    properties: dict[str, Any] | None = result.get("properties")
    if properties is None:
        return result
    required = frozenset[str](result.get("required", ()))
    result["properties"] = {
        name: sub if name in required or sub is False else _nullable(sub) for name, sub in properties.items()
    }
    result["required"] = list(properties)
    result["additionalProperties"] = False
    return result


def can_be_strict(schema: Schema) -> bool:
    """Whether a schema has a strict variant: no object with free keys, no tuple, no value of any type."""
    if schema.get("additionalProperties") not in (None, False) or "prefixItems" in schema:
        return False
    if schema.get("type") == "object" and "properties" not in schema:
        return False
    held: list[bool] = []

    def look(sub: Schema) -> Schema:
        held.append(bool(sub) and can_be_strict(sub))
        return sub

    map_subschemas(schema, look)
    return all(held)


def _nullable(schema: dict[str, Any]) -> dict[str, Any]:
    # The default is not shown: under a strict schema the model writes null, which stands for the default.
    schema = {key: value for key, value in schema.items() if key != "default"}
    kind = schema.get("type")
    if kind == "null" or (isinstance(kind, list) and "null" in kind) or not schema.keys() - {"description"}:
        return schema
    if "anyOf" in schema:
        options: list[Any] = schema["anyOf"]
        return schema if {"type": "null"} in options else {**schema, "anyOf": [*options, {"type": "null"}]}
    if isinstance(kind, str) and "enum" not in schema and "const" not in schema:
        return {**schema, "type": [kind, "null"]}
    description = {"description": schema.pop("description")} if "description" in schema else {}
    return {"anyOf": [schema, {"type": "null"}], **description}


SCHEMA_KEYS = ("parameters", "input_schema", "inputSchema")
"""Keys under which a definition may have the schema of its parameters."""

CUSTOM_PARAMETER = "input"
"""The parameter of a custom tool. The calls of OpenAI's API have their text under the same name."""

CUSTOM_SCHEMA = {"type": "object", "properties": {CUSTOM_PARAMETER: {"type": "string"}}, "required": [CUSTOM_PARAMETER]}


def read_definition(data: Any, where: str = "") -> ToolSpec:
    """Read a tool from its definition. A definition without a schema is that of a tool without parameters.

    The forms are those of OpenAI (`{"type": "function", "function": {"name": …, "parameters": {…}}}`), of Anthropic
    (`{"name": …, "input_schema": {…}}`) and of MCP (the same with `inputSchema`), or plain (with `parameters`). A tool
    that takes one raw text names the parameter for it in `raw`, or is a custom tool of OpenAI, which has no schema:
    `{"type": "custom", "name": …}` or `{"type": "custom", "custom": {"name": …}}`.

    Args:
        data: The definition, as JSON data.
        where: Where the definition was found, for the error message.

    Raises:
        UsageError: The definition is no object, has no name, has a schema that is no object, or names in `raw` what
            cannot take a raw text.

    Examples:
        >>> read_definition({"name": "now", "description": "The time.", "input_schema": {"properties": None}}).name
        'now'
    """
    place = f"{where}: " if where else ""
    if not isinstance(data, dict):
        raise UsageError(f"{place}a tool is a JSON object with a name and a schema")
    given = cast("dict[str, Any]", data)
    # Anthropic's own tools may have this type as well; they always have a schema.
    is_custom = given.get("type") == "custom" and _find_schema(given) is None
    function = given.get("custom" if is_custom else "function", given)
    if not isinstance(function, dict) or not isinstance(cast("dict[str, Any]", function).get("name"), str):
        raise UsageError(f"{place}a tool has no name")
    definition = cast("dict[str, Any]", function)
    name: str = definition["name"]
    schema = CUSTOM_SCHEMA if is_custom else _find_schema(definition) or {"type": "object"}
    if not isinstance(schema, dict):
        raise UsageError(f"{place}the parameters of {name} are not a JSON schema")
    raw = CUSTOM_PARAMETER if is_custom else definition.get("raw")
    if raw is not None and not isinstance(raw, str):
        raise UsageError(f"{place}raw of {name} is the name of a parameter, as a text")
    description = definition.get("description")
    try:
        return ToolSpec(
            name=name,
            description="" if description is None else str(description),
            parameters=cast("dict[str, Any]", schema),
            raw=raw,
            origin=Origin.FOREIGN_DESCRIPTION,
        )
    except (ValueError, UsageError) as error:
        raise UsageError(f"{place}{error}") from None


def _find_schema(definition: dict[str, Any]) -> Any:
    return next((definition[key] for key in SCHEMA_KEYS if definition.get(key)), None)
