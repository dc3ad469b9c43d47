"""Checks a value against a JSON schema, and describes each problem in words for a model.

A problem is one line that names the field, the value and what is allowed. Only what decides the meaning of a call is
checked (types, enums, required and unknown keys); bounds and patterns are left to the tool's own validator, which knows
more than a schema can express.
"""

import json
from collections.abc import Iterable, Iterator, Mapping
from typing import Any, cast

from toolspeak.values.messages import Concat, Ref
from toolspeak.values.spec import Schema, resolve_reference

MAX_VALUE_CHARS = 60
"""Characters of a value that an error quotes."""

MAX_NAME_CHARS = 200
"""Characters of the longest name for which a similar name is looked for."""

MAX_OPTIONS = 12
"""Alternatives that a description names; the last stands for the rest where there are more."""

MAX_UNION_DEPTH = 8
"""Levels of unions within unions that a description goes into."""

MAX_UNION_CHARS = 10_000
"""Characters of the description of a union inside of another description."""

SCALAR_TYPES = frozenset({"string", "boolean", "integer", "number", "null"})

DECIDING_KEYWORDS = frozenset({"$ref", "const", "enum", "allOf", "anyOf", "oneOf"})
"""Keywords by which a schema allows something else than its `type` says."""

FREE_STEPS = 200_000
"""Steps that a check or a coercion of any value may take."""

STEPS_PER_NODE = 50
"""Steps allowed beyond `FREE_STEPS` for each node of a large value."""

TOO_MANY_COMBINATIONS = "nested too deeply; there are too many combinations of alternatives to check"


def is_valid(value: Any, schema: Any, root: Schema) -> bool:
    """Whether `value` is valid under `schema`, whose `$ref`s point into `root`.

    A value that would take more than the allowed steps to check counts as not valid.
    """
    if is_plain_scalar(schema):  # most arguments: nothing is worth keeping in a memo
        return isinstance(value, Ref) or is_of_type(value, schema["type"])
    try:
        return Validation(value, root).is_valid(value, schema)
    except TooManySteps:
        return False


def find_problems(value: Any, schema: Any, root: Schema, path: str = "") -> Iterator[str]:
    """Yield each problem of `value` under `schema`, as a line for the model. A `Ref` is valid everywhere."""
    try:
        yield from Validation(value, root).find_problems(value, schema, path)
    except TooManySteps:
        yield f"{path or 'arguments'}: {TOO_MANY_COMBINATIONS}"


class TooManySteps(Exception):
    """A check or a coercion took more steps than the size of its value allows."""


class ResolvedSchemas:
    """The schemas of one root. A schema that is asked for twice is the same object, so its `id` can stand for it."""

    __slots__ = ("_alternatives", "_resolved", "root")

    def __init__(self, root: Schema) -> None:
        self.root = root
        self._resolved: dict[Any, Schema] = {}
        self._alternatives: dict[int, list[Any]] = {}

    def resolve(self, schema: Schema) -> Schema:
        """Return `schema` with a `$ref` at its top replaced, as `resolve_reference` does."""
        if "$ref" not in schema:
            return schema
        reference = schema["$ref"]
        # A bare reference is the same schema wherever it stands.
        key = reference if len(schema) == 1 and isinstance(reference, str) else id(schema)
        found = self._resolved.get(key)
        if found is None:
            found = self._resolved[key] = resolve_reference(schema, self.root)
        return found

    def get_alternatives(self, schema: Schema) -> list[Any]:
        """Return the alternatives of a union, as the function `get_alternatives` does."""
        if not is_combined(schema):
            return []
        found = self._alternatives.get(id(schema))
        if found is None:
            found = self._alternatives[id(schema)] = get_alternatives(schema)
        return found


class Validation(ResolvedSchemas):
    """The check of one value. Each part of the value is checked once against each schema, and each check is a step.

    A recursive union would otherwise be checked in exponential time: each level tries each alternative on all below it.

    Attributes:
        steps: The steps taken, those of a coercion included.
    """

    __slots__ = ("_explained", "_known", "_limit", "_value", "steps")

    def __init__(self, value: Any, root: Schema) -> None:
        super().__init__(root)
        self.steps = 0
        self._value = value
        self._limit = FREE_STEPS
        # The part of the value is kept beside the answer, so that no other object gets its `id`.
        self._known: dict[tuple[int, int], tuple[Any, bool]] = {}
        self._explained: dict[tuple[int, int, str], bool] = {}  # whether all problems were yielded

    def extend_limit(self) -> None:
        """Raise `TooManySteps`, unless the value is so large that more steps are allowed."""
        self._limit = FREE_STEPS + STEPS_PER_NODE * count_nodes(self._value)
        if self.steps > self._limit:
            raise TooManySteps

    def is_valid(self, value: Any, schema: Any, in_union: bool = False) -> bool:
        """Whether a part of the value is valid under `schema`.

        `in_union`: other alternatives may check the same part again, so that the answer is worth keeping.
        """
        if schema is True or isinstance(value, Ref):
            return True
        if not isinstance(schema, Mapping):
            return False
        self.steps += 1
        if self.steps > self._limit:
            self.extend_limit()
        schema = self.resolve(cast("Schema", schema))
        if (allowed := get_enum_values(schema)) is not None:
            return _is_listed(value, allowed)
        if not is_container(value) and not is_combined(schema):
            kind = get_type(schema)
            return kind is None or is_of_type(value, kind)
        if not in_union:
            return self._is_valid(value, schema, in_union)
        key = id(value), id(schema)
        known = self._known.get(key)
        if known is None:
            self._known[key] = value, False  # for a schema that is an alternative of itself
            known = self._known[key] = value, self._is_valid(value, schema, in_union)
        return known[1]

    def _is_valid(self, value: Any, schema: Schema, in_union: bool) -> bool:
        for part in schema.get("allOf", ()):
            if not self.is_valid(value, part, True):
                return False
        if options := self.get_alternatives(schema):
            for option in options:  # noqa: SIM110 (a generator is one more frame for each level of nesting)
                if self.is_valid(value, option, True):
                    return True
            return False
        kind = get_type(schema)
        if kind is not None and not is_of_type(value, kind):
            return False
        if isinstance(value, dict):
            return self._is_valid_object(cast("dict[str, Any]", value), schema, in_union)
        if isinstance(value, list):
            for index, item in enumerate(cast("list[Any]", value)):
                if not self.is_valid(item, get_item_schema(schema, index), in_union):
                    return False
        return True

    def _is_valid_object(self, value: dict[str, Any], schema: Schema, in_union: bool) -> bool:
        # The keys and the constants tell most alternatives apart: they are looked at before anything nested.
        if not has_possible_keys(value, schema):
            return False
        properties: Mapping[str, Any] = schema.get("properties", {})
        rest = schema.get("additionalProperties", True)
        nested: list[tuple[Any, Any]] = []
        for name, item in value.items():
            sub = properties.get(name, rest)
            if is_container(item):
                nested.append((item, sub))
            elif not self.is_valid(item, sub, in_union):
                return False
        for item, sub in nested:  # noqa: SIM110 (as above)
            if not self.is_valid(item, sub, in_union):
                return False
        return True

    def find_problems(self, value: Any, schema: Any, path: str) -> Iterator[str]:
        """Yield each problem of a part of the value, as a line for the model."""
        if schema is True or isinstance(value, Ref):
            return
        if not isinstance(schema, Mapping):
            yield f"{path}: not allowed"
            return
        schema = self.resolve(cast("Schema", schema))
        if (allowed := get_enum_values(schema)) is not None:
            if not _is_listed(value, allowed):
                yield _describe_mismatch(path, value, schema, self.root)
            return
        if is_container(value) and self.is_valid(value, schema, in_union=True):
            return
        if is_combined(schema):
            key = id(value), id(schema), path
            if key in self._explained:
                if not self._explained[key]:  # a schema that is a part or an alternative of itself
                    yield _describe_mismatch(path, value, schema, self.root)
                return
            self._explained[key] = False
            for part in schema.get("allOf", ()):
                yield from self.find_problems(value, part, path)
        kind = get_type(schema)
        if options := self.get_alternatives(schema):
            yield from self._find_union_problems(value, schema, options, path)
        elif kind is not None and not is_of_type(value, kind):
            yield _describe_mismatch(path, value, schema, self.root)
        elif isinstance(value, dict):
            yield from self._find_object_problems(cast("dict[str, Any]", value), schema, path)
        elif isinstance(value, list):
            for index, item in enumerate(cast("list[Any]", value)):
                yield from self.find_problems(item, get_item_schema(schema, index), f"{path}[{index}]")
        if is_combined(schema):
            self._explained[id(cast("Any", value)), id(schema), path] = True

    def _find_object_problems(self, value: dict[str, Any], schema: Schema, path: str) -> Iterator[str]:
        properties: Mapping[str, Any] = schema.get("properties", {})
        rest = schema.get("additionalProperties", True)
        dot = f"{path}." if path else ""
        for name in schema.get("required", ()):
            if name not in value:
                yield f"{dot}{name}: missing; needs {describe(properties.get(name, {}), self.root)}"
        for name, item in value.items():
            if name in properties:
                yield from self.find_problems(item, properties[name], f"{dot}{name}")
            elif rest is not False:
                yield from self.find_problems(item, rest, f"{dot}{format_key(name)}")
            elif similar := nearest(name, properties.keys() - value.keys()):
                yield f"{dot}{format_key(name)}: no such key; did you mean {similar}?"
            else:
                known = ", ".join(properties) or "none, it takes no arguments"
                yield f"{dot}{format_key(name)}: no such key; the keys are: {known}"

    def _find_union_problems(self, value: Any, schema: Schema, options: list[Any], path: str) -> Iterator[str]:
        if any(self.is_valid(value, option, True) for option in options):
            return
        # When only one alternative has the type of the value, its problems are the ones worth naming.
        schemas = [cast("Schema", each) for each in options if is_container(value) and isinstance(each, Mapping)]
        types = [(option, get_type(self.resolve(option))) for option in schemas]
        same_type = [option for option, kind in types if is_of_type(value, kind)]
        if len(same_type) == 1:
            yield from self.find_problems(value, same_type[0], path)
        else:
            yield _describe_mismatch(path, value, schema, self.root)


def get_enum_values(schema: Schema) -> list[Any] | None:
    """Return the values that a schema lists (`enum` or `const`); None if it lists no values."""
    if "const" in schema:
        return [schema["const"]]
    return schema.get("enum")


def get_alternatives(schema: Schema) -> list[Any]:
    """Return the alternatives of a union (`anyOf`, `oneOf` or a list of types); empty for any other schema."""
    if options := schema.get("anyOf") or schema.get("oneOf"):
        return list(options)
    kind = schema.get("type")
    if isinstance(kind, list):
        return [{**schema, "type": each} for each in cast("list[str]", kind)]
    return []


def get_type(schema: Schema) -> Any:
    """Return the `type` of a schema; `"object"` for a schema that has properties and leaves its type out."""
    return "object" if "type" not in schema and "properties" in schema else schema.get("type")


def get_item_schema(schema: Schema, index: int) -> Any:
    """Return the schema of the item at `index` of an array."""
    prefix: list[Any] = schema.get("prefixItems", [])
    return prefix[index] if index < len(prefix) else schema.get("items", True)


def is_of_type(value: Any, kind: Any) -> bool:
    """Whether `value` is of the JSON schema type `kind`."""
    match kind:
        case "string":
            return isinstance(value, str | Concat)
        case "boolean":
            return isinstance(value, bool)
        case "integer":
            return isinstance(value, int) and not isinstance(value, bool)
        case "number":
            return isinstance(value, int | float) and not isinstance(value, bool)
        case "array":
            return isinstance(value, list)
        case "object":
            return isinstance(value, dict)
        case "null":
            return value is None
        case _:
            return True


def nearest(name: str, options: Iterable[str], *, likeness: float = 0.5) -> str | None:
    """Return the option that is most like `name`, or None. Case, underscores and hyphens do not count.

    `likeness` is how much alike the two must be, from 0 to 1.
    """
    if len(name) > MAX_NAME_CHARS:
        return None
    plain = {_fold_name(option): option for option in options}
    from difflib import get_close_matches  # imported with the first name that is not known

    found = get_close_matches(_fold_name(name), plain, n=1, cutoff=likeness)
    return plain[found[0]] if found else None


def _fold_name(name: str) -> str:
    return name.replace("_", "").replace("-", "").casefold()


def is_plain_scalar(schema: Any) -> bool:
    """Whether a schema allows the values of one scalar type and refers to no other schema."""
    if type(schema) is not dict:
        return False
    kind = cast("Schema", schema).get("type")
    return type(kind) is str and kind in SCALAR_TYPES and DECIDING_KEYWORDS.isdisjoint(cast("Schema", schema))


def is_combined(schema: Schema) -> bool:
    """Whether a schema applies other schemas to the same value: a union or an `allOf`."""
    return "anyOf" in schema or "oneOf" in schema or "allOf" in schema or isinstance(schema.get("type"), list)


def has_possible_keys(value: dict[str, Any], schema: Schema) -> bool:
    """Whether an object has all keys that `schema` requires, and no key that `schema` does not know."""
    for name in schema.get("required", ()):
        if name not in value:
            return False
    if schema.get("additionalProperties", True) is not False:
        return True
    return value.keys() <= schema.get("properties", {}).keys()


def count_nodes(value: Any) -> int:
    """Count the values in a JSON value; a part that occurs twice counts once."""
    met: set[int] = set()
    waiting = [value]
    count = 0
    while waiting:
        part = waiting.pop()
        count += 1
        if is_container(part) and id(part) not in met:
            met.add(id(part))
            waiting += cast("list[Any]", part.values() if isinstance(part, dict) else part)
    return count


def _is_listed(value: Any, allowed: list[Any]) -> bool:
    return any(value == option and type(value) is type(option) for option in allowed)


def is_container(value: Any) -> bool:
    return isinstance(value, dict | list)


def _describe_mismatch(path: str, value: Any, schema: Schema, root: Schema) -> str:
    return f"{path or 'arguments'}: got {format_value(value)}; needs {describe(schema, root)}"


def format_value(value: Any) -> str:
    """Format a value for an error: as JSON on one line, cut to `MAX_VALUE_CHARS`."""
    if isinstance(value, str):
        value = value[:MAX_VALUE_CHARS]  # cut before it is written out: it may be megabytes
    try:
        text = json.dumps(value, ensure_ascii=False, default=lambda each: type(each).__name__)
        if not text.isprintable():  # line breaks that JSON leaves as they are, halves of surrogate pairs
            text = json.dumps(value, default=lambda each: type(each).__name__)
    except (ValueError, TypeError, RecursionError):
        text = type(value).__name__
    return text if len(text) <= MAX_VALUE_CHARS else f"{text[: MAX_VALUE_CHARS - 1]}…"


def format_key(key: str) -> str:
    """Format a key for an error: unchanged, unless it is too long or cannot stand on one line."""
    return key if len(key) <= MAX_VALUE_CHARS and key.isprintable() else format_value(key)


def describe(schema: Any, root: Schema) -> str:
    """Describe in a few words what a schema allows."""
    return _Description(root).describe(schema, 0)


class _Description(ResolvedSchemas):
    """The description of one schema. Each part is described once at each depth, so that unions of unions end."""

    __slots__ = ("_known",)

    def __init__(self, root: Schema) -> None:
        super().__init__(root)
        self._known: dict[tuple[int, int], str] = {}

    def describe(self, schema: Any, depth: int) -> str:
        if not isinstance(schema, Mapping):
            return "any value"
        schema = self.resolve(cast("Schema", schema))
        if (allowed := get_enum_values(schema)) is not None:
            return _join_options([format_value(option) for option in allowed])
        if options := self.get_alternatives(schema):
            return self._describe_union(schema, options, depth)
        kind = get_type(schema)
        if kind == "array" and "items" in schema and depth < 3:
            return f"array of {self.describe(schema['items'], depth + 1)}"
        if kind == "object" and schema.get("properties") and depth < 3:
            return f"object with keys {', '.join(schema['properties'])}"
        if kind is None:
            return "any value"
        return f"{kind} ({schema['format']})" if "format" in schema else str(kind)

    def _describe_union(self, schema: Schema, options: list[Any], depth: int) -> str:
        key = id(schema), depth
        if key not in self._known:
            words = "any value"
            if depth <= MAX_UNION_DEPTH:
                words = _join_options(list(dict.fromkeys(self.describe(option, depth + 1) for option in options)))
            too_long = depth > 0 and len(words) > MAX_UNION_CHARS
            self._known[key] = f"one of {len(options)} alternatives" if too_long else words
        return self._known[key]


def _join_options(words: list[str]) -> str:
    if len(words) > MAX_OPTIONS:
        words = [*words[: MAX_OPTIONS - 1], f"one of {len(words) - MAX_OPTIONS + 1} more"]
    return " or ".join((", ".join(words[:-1]), words[-1])) if len(words) > 1 else "".join(words)
