"""From the JSON arguments of a call to the Python values that the function takes.

Validate; where that fails, coerce by the schema and validate again; where that fails too, say what is wrong in words a
model can act on. Nothing but `InvalidArguments` leaves this module, whatever the arguments or a validator does.
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from itertools import chain, islice
from typing import Any, cast

from pydantic import ValidationError
from pydantic_core import SchemaValidator, to_json

from toolspeak.coercion import coerce_arguments
from toolspeak.errors import InvalidArguments
from toolspeak.spec import Schema
from toolspeak.validation import describe, nearest, problems, shown, spelled

LINES = 8
"""Lines of an error that a model is sent."""

WORDS = 300
"""Characters of what a validator says that a model is sent."""


@dataclass(frozen=True, slots=True)
class Checker:
    """Validates the arguments of one tool.

    Attributes:
        tool: The name of the tool.
        validators: pydantic's validator for each key.
        required: The keys that must be there.
        schema: The parameter schema, with the names of enum members that a model is not shown.
    """

    tool: str
    validators: Mapping[str, SchemaValidator]
    required: tuple[str, ...]
    schema: Schema

    def validate(self, arguments: Any) -> dict[str, Any]:
        """The Python values by key, or `InvalidArguments`."""
        try:
            if isinstance(arguments, dict):
                self._refuse_odd_keys(cast("dict[Any, Any]", arguments))
                values, faults = self._values(cast("dict[str, Any]", arguments))
                if not faults:
                    return values
            return self._coerced(arguments)
        except RecursionError:
            raise InvalidArguments(self.tool, ("the arguments are nested too deeply",)) from None

    def _refuse_odd_keys(self, arguments: dict[Any, Any]) -> None:
        """Python's dicts may have keys that JSON has not."""
        if odd := [key for key in arguments if not isinstance(key, str)]:
            raise InvalidArguments(self.tool, tuple(f"{shown(key)}: a key must be a text" for key in odd[:LINES]))

    def _coerced(self, arguments: Any) -> dict[str, Any]:
        arguments = coerce_arguments(arguments, self.schema)
        if not isinstance(arguments, dict):
            needed = describe(self.schema, self.schema)
            raise InvalidArguments(self.tool, (f"the arguments must be a JSON {needed}, not {shown(arguments)}",))
        given = cast("dict[str, Any]", arguments)
        values, faults = self._values(given)
        if not faults:
            return values
        # Taken one by one: of a million bad items only the first few are worth putting into words.
        lines = list(
            islice((line for key, fault in faults.items() for line in self._lines(key, given, fault)), LINES + 1)
        )
        if len(lines) > LINES:
            lines = [*lines[: LINES - 1], "and more"]
        raise InvalidArguments(self.tool, tuple(lines)) from None

    def _values(self, arguments: dict[str, Any]) -> tuple[dict[str, Any], dict[str, Exception | None]]:
        """The values, and for each key that is bad what its validator raised (None: missing or unknown)."""
        values: dict[str, Any] = {}
        faults: dict[str, Exception | None] = {key: None for key in self.required if key not in arguments}
        for key, value in arguments.items():
            validator = self.validators.get(key)
            if validator is None:
                faults[key] = None
                continue
            try:
                values[key] = _validated(validator, value)
            except RecursionError:
                raise
            except Exception as fault:  # a user's validator may raise anything
                faults[key] = fault
        return values, faults

    def _lines(self, key: str, arguments: Mapping[str, Any], fault: Exception | None) -> Iterator[str]:
        properties: Mapping[str, Any] = self.schema["properties"]
        if key not in properties:
            similar = nearest(key, properties.keys() - arguments.keys())
            known = f"did you mean {similar}?" if similar else f"the keys are: {', '.join(properties) or 'none'}"
            yield f"{spelled(key)}: no such key; {known}"
        elif key not in arguments:
            yield f"{key}: missing; needs {describe(properties[key], self.schema)}"
        else:
            # The schema says best what is allowed; what it cannot say (a bound, a validator), pydantic says.
            found = problems(arguments[key], properties[key], self.schema, key)
            first = next(found, None)
            yield from _told(key, fault) if first is None else chain((first,), found)


def _validated(validator: SchemaValidator, value: Any) -> Any:
    try:
        return validator.validate_python(value)
    except ValidationError as error:
        # A strict model takes a date only from JSON text, never from a Python string; JSON is what this was.
        try:
            return validator.validate_json(to_json(value))
        except Exception:
            raise error from None


def _told(key: str, fault: Exception | None) -> Iterator[str]:
    if not isinstance(fault, ValidationError):
        yield f"{key}: {type(fault).__name__}: {_one_line(fault)}"
        return
    for error in fault.errors(include_url=False, include_context=False):
        place = "".join(f"[{step}]" if isinstance(step, int) else f".{spelled(step)}" for step in error["loc"])
        yield f"{key}{place}: got {shown(error['input'])}; {_one_line(error['msg'])}"


def _one_line(words: object) -> str:
    try:
        text = " ".join(str(words).split())
    except Exception:  # an error that cannot even be shown
        return "it does not say why"
    return text if len(text) <= WORDS else f"{text[: WORDS - 1]}…"
