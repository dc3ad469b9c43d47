"""From the JSON arguments of a call to the Python values that the function takes.

Validate; if that fails, coerce by the schema and validate again; if that fails too, explain what is wrong in words that
a model can act on. No other error than `InvalidArguments` leaves this module, whatever a user's validator raises.

pydantic tries each alternative of a union on everything below it. For a recursive union that is exponential in the
depth of the value: fifteen levels take seconds, in which nothing else runs. So the attempts are counted first, which
needs none of them: each part of the value has one count for each schema.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import islice
from typing import Any, cast

from toolspeak.tools.schema import ValueValidator
from toolspeak.values.coercion import coerce_arguments
from toolspeak.values.errors import InvalidArguments
from toolspeak.values.spec import Schema
from toolspeak.values.validation import (
    TOO_MANY_COMBINATIONS,
    ResolvedSchemas,
    describe,
    find_problems,
    format_key,
    format_value,
    get_enum_values,
    get_item_schema,
    get_type,
    is_container,
    is_of_type,
    is_valid,
    join_names,
    nearest,
)
from toolspeak.values.work_budget import TooManySteps, WorkBudget, count_nodes

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
    try:
        attempts = _AttemptCount(root, WorkBudget(value)).count(value, schema)
    except TooManySteps:
        raise TooManyAttempts from None
    if attempts > MAX_VAIN_ATTEMPTS:
        limit = MAX_ATTEMPTS if is_valid(value, schema, root) else MAX_VAIN_ATTEMPTS
        if attempts > limit + ATTEMPTS_PER_NODE * count_nodes(value):
            raise TooManyAttempts


class _AttemptCount(ResolvedSchemas):
    __slots__ = ("_known",)

    def __init__(self, root: Schema, budget: WorkBudget) -> None:
        super().__init__(root, budget)
        self._known: dict[tuple[int, int], int] = {}

    def count(self, value: Any, schema: Any) -> int:
        """Count the attempts to validate one part of a value."""
        if not is_container(value) or (schema.__class__ is not dict and not isinstance(schema, Mapping)):
            return 1
        schema = self.resolve(cast("Schema", schema))
        key = id(value), id(schema)
        if key not in self._known:
            self._known[key] = 1  # for a schema that is an alternative of itself
            attempts = most = 0
            parts = self._get_parts(value, schema)
            self.budget.spend(len(parts))
            for part, sub in parts:
                counted = self.count(part, sub)
                attempts, most = attempts + counted, max(most, counted)
            # pydantic writes `oneOf` for a union with a discriminator, which chooses one alternative.
            self._known[key] = 1 + (most if "oneOf" in schema else attempts)
        return self._known[key]

    def _get_parts(self, value: Any, schema: Schema) -> Sequence[tuple[Any, Any]]:
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


MAX_ERROR_LINES = 8
"""Lines of an error that a model gets."""

MAX_REASON_CHARS = 300
"""Characters of a validator's own message that a model gets."""


@dataclass(frozen=True, slots=True)
class Checker:
    """Validates the arguments of one tool.

    Attributes:
        tool: The name of the tool.
        validators: The validator for each key.
        required: The keys that must be there.
        schema: The parameter schema, with the names of enum members, which a model is not shown.
        is_recursive: Whether the schema has a definition that refers to itself.
    """

    tool: str
    validators: Mapping[str, ValueValidator]
    required: tuple[str, ...]
    schema: Schema
    is_recursive: bool

    def validate(self, arguments: Any) -> dict[str, Any]:
        """Return the Python values by key, or raise `InvalidArguments`."""
        try:
            if isinstance(arguments, dict):
                values, faults = self._validate_each(cast("dict[str, Any]", arguments))
                if not faults:
                    return values
                refuse_odd_keys(self.tool, cast("dict[Any, Any]", arguments))
            return self._validate_coerced(arguments)
        except RecursionError:
            raise InvalidArguments(self.tool, ("the arguments are nested too deeply",)) from None

    def _validate_coerced(self, arguments: Any) -> dict[str, Any]:
        arguments = coerce_arguments(arguments, self.schema)
        if not isinstance(arguments, dict):
            needed = describe(self.schema, self.schema)
            line = f"the arguments must be a JSON {needed}, not {format_value(arguments)}"
            raise InvalidArguments(self.tool, (line,))
        given = cast("dict[str, Any]", arguments)
        values, faults = self._validate_each(given)
        if not faults:
            return values
        # Made one by one: of a million bad items only the first few are worth explaining.
        every_line = (line for key, fault in faults.items() for line in self._explain(key, given, fault))
        lines = list(islice(every_line, MAX_ERROR_LINES + 1))
        if len(lines) > MAX_ERROR_LINES:
            lines = [*lines[: MAX_ERROR_LINES - 1], "and more"]
        raise InvalidArguments(self.tool, tuple(lines)) from None

    def _validate_each(self, arguments: dict[str, Any]) -> tuple[dict[str, Any], dict[str, Exception | None]]:
        """Return the values, and for each bad key the error of its validator (None: the key is missing or unknown)."""
        values: dict[str, Any] = {}
        faults: dict[str, Exception | None] = {key: None for key in self.required if key not in arguments}
        for key, value in arguments.items():
            validator = self.validators.get(key)
            if validator is None:
                faults[key] = None
                continue
            try:
                if self.is_recursive:
                    check_attempts(value, self.schema["properties"][key], self.schema)
                values[key] = _run_validator(validator, value)
            except RecursionError:
                raise
            except Exception as fault:  # a user's validator may raise anything
                faults[key] = fault
        return values, faults

    def _explain(self, key: str, arguments: Mapping[str, Any], fault: Exception | None) -> Iterator[str]:
        properties: Mapping[str, Any] = self.schema["properties"]
        if key not in properties:
            similar = nearest(key, properties.keys() - arguments.keys())
            known = f"did you mean {similar}?" if similar else f"the keys are: {join_names(properties) or 'none'}"
            yield f"{format_key(key)}: no such key; {known}"
        elif key not in arguments:
            yield f"{key}: missing; needs {describe(properties[key], self.schema)}"
        else:
            # The schema describes best what is allowed; pydantic explains what a schema cannot express (a validator).
            explained: list[str] = []
            for line in find_problems(arguments[key], properties[key], self.schema, key):
                explained.append(line.partition(":")[0])
                yield line
            yield from _explain_fault(key, arguments[key], fault, explained)


def refuse_odd_keys(tool: str, arguments: dict[Any, Any]) -> None:
    """Refuse keys that are not strings: a Python dict may have them, JSON has not."""
    if odd := [key for key in arguments if not isinstance(key, str)]:
        lines = tuple(f"{format_value(key)}: a key must be a text" for key in odd[:MAX_ERROR_LINES])
        raise InvalidArguments(tool, lines)


def _run_validator(validator: ValueValidator, value: Any) -> Any:
    try:
        return validator.validate_python(value)
    except ValueError as error:
        from pydantic_core import ValidationError, to_json

        if not isinstance(error, ValidationError):
            raise
        # A strict model takes a date only from JSON text, never from a Python string; JSON is what this was.
        try:
            return validator.validate_json(to_json(value))
        except Exception:
            raise error from None


def _explain_fault(key: str, value: Any, fault: Exception | None, explained: Sequence[str]) -> Iterator[str]:
    """Write a line for each error of a validator, except in places that are already explained."""
    from pydantic_core import ValidationError

    if not isinstance(fault, ValidationError):
        if not explained:
            is_long = isinstance(fault, TooManyAttempts)
            yield f"{key}: {TOO_MANY_COMBINATIONS if is_long else f'{type(fault).__name__}: {_join_lines(fault)}'}"
        return
    for error in fault.errors(include_url=False, include_context=False):
        steps = (f"[{step}]" if isinstance(step, int) else f".{format_key(step)}" for step in error["loc"])
        place = key + "".join(steps)
        is_explained = any(f"{place}.".startswith((f"{each}.", f"{each}[")) for each in explained)
        if not explained or not (is_explained or _leaves_value(value, error["loc"])):
            yield f"{place}: got {format_value(error['input'])}; {_join_lines(error['msg'])}"


def _leaves_value(value: Any, steps: Sequence[int | str]) -> bool:
    """Whether a place of pydantic's is not in the value: inside a union, steps name the alternatives that it tried."""
    try:
        for step in steps:
            value = value[step]
    except (KeyError, IndexError, TypeError):
        return True
    return False


def _join_lines(words: object) -> str:
    try:
        text = " ".join(str(words).split())
    except Exception:  # an error that cannot even be shown
        return "it does not say why"
    return text if len(text) <= MAX_REASON_CHARS else f"{text[: MAX_REASON_CHARS - 1]}…"
