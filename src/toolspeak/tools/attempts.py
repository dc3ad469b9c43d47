"""How much work pydantic has with the arguments of a call, counted before it begins.

pydantic tries each alternative of a union on everything below it. For a recursive union that is exponential in the
depth of the value: fifteen levels take seconds, in which nothing else runs. The attempts can be counted without making
them, since each part of the value has one count for each schema.
"""

from collections.abc import Iterable, Mapping
from typing import Any, cast

from toolspeak.spec import Schema
from toolspeak.validation import (
    ResolvedSchemas,
    count_nodes,
    get_enum_values,
    get_item_schema,
    get_type,
    is_container,
    is_of_type,
    is_valid,
)

MAX_ATTEMPTS = 100_000
"""Attempts of pydantic that are allowed for a value that is valid under the schema."""

MAX_VAIN_ATTEMPTS = 5_000
"""Attempts that are allowed for another value: each makes an error, and the schema explains best what is wrong."""

ATTEMPTS_PER_NODE = 20
"""Attempts that are allowed in addition for each node of a value."""


class TooManyAttempts(Exception):
    """The arguments of a call are not given to pydantic: it would try too many combinations of alternatives."""


def check_attempts(value: Any, schema: Any, root: Schema) -> None:
    """Raise `TooManyAttempts` if pydantic would need too many attempts to validate `value`."""
    attempts = _AttemptCount(root).count(value, schema)
    if attempts > MAX_VAIN_ATTEMPTS:
        limit = MAX_ATTEMPTS if is_valid(value, schema, root) else MAX_VAIN_ATTEMPTS
        if attempts > limit + ATTEMPTS_PER_NODE * count_nodes(value):
            raise TooManyAttempts


class _AttemptCount(ResolvedSchemas):
    __slots__ = ("_known",)

    def __init__(self, root: Schema) -> None:
        super().__init__(root)
        self._known: dict[tuple[int, int], int] = {}

    def count(self, value: Any, schema: Any) -> int:
        """Count the attempts to validate one part of a value."""
        if not is_container(value) or not isinstance(schema, Mapping):
            return 1
        schema = self.resolve(cast("Schema", schema))
        key = id(value), id(schema)
        if key not in self._known:
            self._known[key] = 1  # for a schema that is an alternative of itself
            attempts = most = 0
            for part, sub in self._get_parts(value, schema):
                counted = self.count(part, sub)
                attempts, most = attempts + counted, max(most, counted)
            # pydantic writes `oneOf` for a union with a discriminator, which chooses one alternative.
            self._known[key] = 1 + (most if "oneOf" in schema else attempts)
        return self._known[key]

    def _get_parts(self, value: Any, schema: Schema) -> Iterable[tuple[Any, Any]]:
        """Return the values that are validated to validate `value`, each with its schema."""
        if get_enum_values(schema) is not None:
            return ()
        if options := self.get_alternatives(schema):
            return [(value, option) for option in options]
        if parts := schema.get("allOf"):
            return [(value, part) for part in parts]
        if not is_of_type(value, get_type(schema)):
            return ()
        if isinstance(value, dict):
            properties: Mapping[str, Any] = schema.get("properties", {})
            rest = schema.get("additionalProperties", True)
            return [(item, properties.get(name, rest)) for name, item in cast("dict[str, Any]", value).items()]
        return [(item, get_item_schema(schema, index)) for index, item in enumerate(cast("list[Any]", value))]


def is_recursive(defs: Mapping[str, Schema]) -> bool:
    """Whether a definition refers to itself, by itself or through others."""
    targets = {f"#/$defs/{name}": _find_references(schema) for name, schema in defs.items()}
    for start in targets:
        met: set[str] = set()
        waiting = list(targets[start])
        while waiting:
            reference = waiting.pop()
            if reference == start:
                return True
            if reference not in met:
                met.add(reference)
                waiting += targets.get(reference, ())
    return False


def _find_references(schema: Schema) -> set[str]:
    found: set[str] = set()
    waiting: list[Any] = [schema]
    while waiting:
        part = waiting.pop()
        if isinstance(part, Mapping):
            values = cast("Mapping[str, Any]", part)
            if isinstance(reference := values.get("$ref"), str):
                found.add(reference)
            waiting += values.values()
        elif isinstance(part, list):
            waiting += cast("list[Any]", part)
    return found
