"""From the JSON arguments of a call to the Python values that the function takes.

Validate; if that fails, coerce by the schema and validate again; if that fails too, explain what is wrong in words that
a model can act on. No other error than `InvalidArguments` leaves this module, whatever a user's validator raises.
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from itertools import chain, islice
from typing import Any, cast

from toolspeak.coercion import coerce_arguments
from toolspeak.errors import InvalidArguments
from toolspeak.spec import Schema
from toolspeak.tools.attempts import TooManyAttempts, check_attempts
from toolspeak.tools.schema import ValueValidator
from toolspeak.validation import (
    TOO_MANY_COMBINATIONS,
    describe,
    find_problems,
    format_key,
    format_value,
    nearest,
)

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
            known = f"did you mean {similar}?" if similar else f"the keys are: {', '.join(properties) or 'none'}"
            yield f"{format_key(key)}: no such key; {known}"
        elif key not in arguments:
            yield f"{key}: missing; needs {describe(properties[key], self.schema)}"
        else:
            # The schema describes best what is allowed; pydantic explains what a schema cannot express (a validator).
            found = find_problems(arguments[key], properties[key], self.schema, key)
            first = next(found, None)
            yield from _explain_fault(key, fault) if first is None else chain((first,), found)


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


def _explain_fault(key: str, fault: Exception | None) -> Iterator[str]:
    if isinstance(fault, TooManyAttempts):
        yield f"{key}: {TOO_MANY_COMBINATIONS}"
        return
    from pydantic_core import ValidationError

    if not isinstance(fault, ValidationError):
        yield f"{key}: {type(fault).__name__}: {_join_lines(fault)}"
        return
    for error in fault.errors(include_url=False, include_context=False):
        place = "".join(f"[{step}]" if isinstance(step, int) else f".{format_key(step)}" for step in error["loc"])
        yield f"{key}{place}: got {format_value(error['input'])}; {_join_lines(error['msg'])}"


def _join_lines(words: object) -> str:
    try:
        text = " ".join(str(words).split())
    except Exception:  # an error that cannot even be shown
        return "it does not say why"
    return text if len(text) <= MAX_REASON_CHARS else f"{text[: MAX_REASON_CHARS - 1]}…"
