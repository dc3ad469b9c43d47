"""Checks a value against a JSON schema, and describes each problem in words for a model.

A problem is one line that names the field, the value and what is allowed. Only what decides the meaning of a call is
checked (types, enums, required and unknown keys); bounds and patterns are left to the tool's own validator, which knows
more than a schema can express.
"""

import json
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from itertools import islice
from typing import Any, cast

from toolspeak.values.messages import Concat, Ref
from toolspeak.values.spec import Schema, is_definition, normalize_schema, resolve_reference
from toolspeak.values.work_budget import TooManySteps, WorkBudget

MAX_VALUE_CHARS = 60
"""Characters of a value that an error quotes."""

MAX_NAME_CHARS = 200
"""Characters of the longest name for which a similar name is looked for."""

MAX_NAMES = 200
"""Keys of an object that a description names; how many more there are is said where there are more."""

MAX_COMPARED_NAMES = 1_000
"""Names among which one that is similar to another is looked for."""

MAX_OPTIONS = 12
"""Alternatives that a description names; the last stands for the rest where there are more."""

MAX_UNION_DEPTH = 8
"""Levels of unions within unions that a description goes into."""

MAX_UNION_CHARS = 10_000
"""Characters of the description of a union inside of another description."""

PLAIN_TYPES = frozenset({str, int, float, bool, type(None)})
"""The Python types of JSON values that hold no others."""

SCALAR_TYPES = frozenset({"string", "boolean", "integer", "number", "null"})

DECIDING_KEYWORDS = frozenset({"$ref", "const", "enum", "allOf", "anyOf", "oneOf"})
"""Keywords by which a schema allows something else than its `type` says."""

TOO_MANY_COMBINATIONS = "nested too deeply; there are too many combinations of alternatives to check"


def is_valid(value: Any, schema: Any, root: Schema, budget: WorkBudget | None = None) -> bool:
    """Whether `value` is valid under `schema`, whose `$ref`s point into `root`.

    A value that would take more than the allowed steps to check counts as not valid. They are those of `budget`, if the
    value is a part of something larger.
    """
    if is_plain_scalar(schema):  # most arguments: nothing is worth keeping in a memo
        return isinstance(value, Ref) or is_of_type(value, schema["type"])
    try:
        return Validation(value, root, budget).is_valid(value, schema)
    except (TooManySteps, RecursionError):  # definitions may refer to each other in a chain of thousands
        return False


def find_problems(
    value: Any, schema: Any, root: Schema, path: str = "", budget: WorkBudget | None = None
) -> Iterator[str]:
    """Yield each problem of `value` under `schema`, as a line for the model. A `Ref` is valid everywhere."""
    try:
        yield from Validation(value, root, budget).find_problems(value, schema, path)
    except (TooManySteps, RecursionError):
        yield f"{path or 'arguments'}: {TOO_MANY_COMBINATIONS}"


class ResolvedSchemas:
    """The schemas of one root. A schema that is asked for twice is the same object, so its `id` can stand for it.

    Attributes:
        root: The schema into which references point.
        budget: The steps that all who use these schemas may take.
    """

    __slots__ = ("_alternatives", "_listed", "_resolved", "budget", "root")

    def __init__(self, root: Schema, budget: WorkBudget) -> None:
        self.root = root
        self.budget = budget
        self._resolved: dict[Any, Schema] = {}
        self._alternatives: dict[int, list[Any]] = {}
        self._listed: dict[int, tuple[frozenset[Any], list[Any]] | None] = {}

    def resolve(self, schema: Schema) -> Schema:
        """Return `schema` with a `$ref` at its top replaced, as `resolve_reference` does."""
        if "$ref" not in schema:
            return schema
        reference = schema["$ref"]
        # A bare reference is the same schema wherever it stands.
        key = reference if len(schema) == 1 and isinstance(reference, str) else id(schema)
        found = self._resolved.get(key)
        if found is None:
            found = resolve_reference(schema, self.root)
            if not is_definition(reference):
                found = normalize_schema(found)
            self.budget.spend(len(found))
            self._resolved[key] = found
        return found

    def get_alternatives(self, schema: Schema) -> list[Any]:
        """Return the alternatives of a union, as the function `get_alternatives` does."""
        if not is_combined(schema):
            return []
        found = self._alternatives.get(id(schema))
        if found is None:
            found = self._alternatives[id(schema)] = get_alternatives(schema)
            self.budget.spend(len(found))
        return found

    def is_listed(self, value: Any, allowed: list[Any]) -> bool:
        """Whether a value is one of those that a schema lists. A long list that is asked for again is indexed."""
        kind = value.__class__
        if len(allowed) <= MAX_OPTIONS or self._is_new(allowed):
            for option in allowed:  # noqa: SIM110 (a generator takes longer)
                if value == option and kind is type(option):
                    return True
            return False
        found = self._listed[id(allowed)]
        if found is None:
            self.budget.spend(len(allowed))
            plain = frozenset[Any]((type(each), each) for each in allowed if type(each) in PLAIN_TYPES)
            found = self._listed[id(allowed)] = plain, [each for each in allowed if type(each) not in PLAIN_TYPES]
        if kind in PLAIN_TYPES:
            return (kind, value) in found[0]
        self.budget.spend(len(found[1]))
        return any(_is_same(value, option) for option in found[1])

    def _is_new(self, allowed: list[Any]) -> bool:
        """Whether a list is asked for the first time. Most are asked for once: to index them would take longer."""
        if id(allowed) in self._listed:
            return False
        self.budget.spend(len(allowed))
        self._listed[id(allowed)] = None
        return True


class Validation(ResolvedSchemas):
    """The check of one value. Each part of the value is checked once against each schema, and each check is a step.

    A recursive union would otherwise be checked in exponential time: each level tries each alternative on all below it.
    """

    __slots__ = ("_explained", "_known")

    def __init__(self, value: Any, root: Schema, budget: WorkBudget | None = None) -> None:
        super().__init__(root, WorkBudget(value) if budget is None else budget)
        # The part of the value is kept beside the answer, so that no other object gets its `id`.
        self._known: dict[tuple[int, int], tuple[Any, bool]] = {}
        self._explained: dict[tuple[int, int, str], bool] = {}  # whether all problems were yielded

    @property
    def steps(self) -> int:
        """The steps taken, those of a coercion included."""
        return self.budget.steps

    def is_valid(self, value: Any, schema: Any, in_union: bool = False) -> bool:
        """Whether a part of the value is valid under `schema`.

        `in_union`: other alternatives may check the same part again, so that the answer is worth keeping.
        """
        budget = self.budget
        budget.steps += 1
        if budget.steps > budget.limit:
            budget.extend()
        if schema is True or isinstance(value, Ref):
            return True
        if schema.__class__ is not dict and not isinstance(schema, Mapping):  # `Mapping` alone takes longer
            return False
        schema = self.resolve(cast("Schema", schema))
        if "const" in schema:
            return _is_same(value, schema["const"])
        if "enum" in schema:
            return self.is_listed(value, schema["enum"])
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
        self.budget.steps += len(value) + len(schema.get("required", ()))
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
        self.budget.spend()
        if schema is True or isinstance(value, Ref):
            return
        if schema.__class__ is not dict and not isinstance(schema, Mapping):
            yield f"{path}: not allowed"
            return
        schema = self.resolve(cast("Schema", schema))
        if (allowed := get_enum_values(schema)) is not None:
            if not (_is_same(value, allowed[0]) if "const" in schema else self.is_listed(value, allowed)):
                yield self._describe_mismatch(path, value, schema)
            return
        if is_container(value) and self.is_valid(value, schema, in_union=True):
            return
        if is_combined(schema):
            key = id(value), id(schema), path
            if key in self._explained:
                if not self._explained[key]:  # a schema that is a part or an alternative of itself
                    yield self._describe_mismatch(path, value, schema)
                return
            self._explained[key] = False
            for part in schema.get("allOf", ()):
                yield from self.find_problems(value, part, path)
        kind = get_type(schema)
        if options := self.get_alternatives(schema):
            yield from self._find_union_problems(value, schema, options, path)
        elif kind is not None and not is_of_type(value, kind):
            yield self._describe_mismatch(path, value, schema)
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
                yield f"{dot}{format_key(name)}: missing; needs {self._describe(properties.get(name, {}))}"
        for name, item in value.items():
            if name in properties:
                yield from self.find_problems(item, properties[name], f"{dot}{format_key(name)}")
            elif rest is not False:
                yield from self.find_problems(item, rest, f"{dot}{format_key(name)}")
            elif similar := nearest(name, properties.keys() - value.keys()):
                yield f"{dot}{format_key(name)}: no such key; did you mean {similar}?"
            else:
                known = join_names(properties) or "none, it takes no arguments"
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
            yield self._describe_mismatch(path, value, schema)

    def _describe_mismatch(self, path: str, value: Any, schema: Schema) -> str:
        return f"{path or 'arguments'}: got {format_value(value)}; needs {self._describe(schema)}"

    def _describe(self, schema: Any) -> str:
        return describe(schema, self.root, self.budget)


def get_enum_values(schema: Schema) -> list[Any] | None:
    """Return the values that a schema lists (`enum` or `const`); None if it lists no values."""
    if "const" in schema:
        return [schema["const"]]
    return schema.get("enum")


def get_alternatives(schema: Schema) -> list[Any]:
    """Return the alternatives of a union (`anyOf`, `oneOf` or a list of types); empty for any other schema."""
    if options := schema.get("anyOf") or schema.get("oneOf"):
        return cast("list[Any]", options)
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
    plain = {_fold_name(option): option for option in islice(options, MAX_COMPARED_NAMES)}
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


def _is_same(value: Any, constant: Any) -> bool:
    return value == constant and type(value) is type(constant)


def is_container(value: Any) -> bool:
    return isinstance(value, dict | list)


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


def describe(schema: Any, root: Schema, budget: WorkBudget | None = None) -> str:
    """Describe in a few words what a schema allows; in fewer, if more would take too much work."""
    try:
        return _Description(root, WorkBudget(root) if budget is None else budget).describe(schema, 0)
    except (TooManySteps, RecursionError):
        return "another value"


class _Description(ResolvedSchemas):
    """The description of one schema. Each part is described once at each depth, so that unions of unions end."""

    __slots__ = ("_known",)

    def __init__(self, root: Schema, budget: WorkBudget) -> None:
        super().__init__(root, budget)
        self._known: dict[tuple[int, int], str] = {}

    def describe(self, schema: Any, depth: int) -> str:
        if not isinstance(schema, Mapping):
            return "any value"
        schema = self.resolve(cast("Schema", schema))
        key = id(schema), depth
        known = self._known.get(key)
        if known is None:
            self.budget.spend()
            known = self._known[key] = self._describe(schema, depth)
        return known

    def _describe(self, schema: Schema, depth: int) -> str:
        if (allowed := get_enum_values(schema)) is not None:
            return _join_options(allowed, format_value)
        if options := self.get_alternatives(schema):
            return self._describe_union(options, depth)
        kind = get_type(schema)
        if kind == "array" and "items" in schema and depth < 3:
            return f"array of {self.describe(schema['items'], depth + 1)}"
        if kind == "object" and schema.get("properties") and depth < 3:
            return f"object with keys {join_names(schema['properties'])}"
        if kind is None:
            return "any value"
        return f"{kind} ({schema['format']})" if "format" in schema else str(kind)

    def _describe_union(self, options: list[Any], depth: int) -> str:
        words = "any value"
        if depth <= MAX_UNION_DEPTH:
            words = _join_options(list(dict.fromkeys(self.describe(option, depth + 1) for option in options)), str)
        too_long = depth > 0 and len(words) > MAX_UNION_CHARS
        return f"one of {len(options)} alternatives" if too_long else words


def join_names(names: Collection[str]) -> str:
    """Return names for an error, separated by commas; the first ones, if there are very many."""
    words = ", ".join(map(format_key, islice(names, MAX_NAMES)))
    return words if len(names) <= MAX_NAMES else f"{words} and {len(names) - MAX_NAMES} more"


def _join_options(options: list[Any], write: Callable[[Any], str]) -> str:
    words = [write(option) for option in options[:MAX_OPTIONS]]
    if len(options) > MAX_OPTIONS:
        words[-1] = f"one of {len(options) - MAX_OPTIONS + 1} more"
    return " or ".join((", ".join(words[:-1]), words[-1])) if len(words) > 1 else "".join(words)
