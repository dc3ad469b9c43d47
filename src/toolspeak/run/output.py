"""Typed answers. The model gives its answer as the arguments of a last call, so that every dialect can carry one.

The fields of a pydantic model or a dataclass become the parameters of that call; any other type becomes its one
parameter, `answer`. `partial_answer.py` follows an answer while it arrives.
"""

import inspect
import json
from collections.abc import Callable, Iterator
from dataclasses import MISSING, fields, is_dataclass
from itertools import islice
from typing import TYPE_CHECKING, Annotated, Any, cast, get_type_hints

from toolspeak.run.inputs import Choice, build_choice
from toolspeak.tools import Tool, Toolbox
from toolspeak.tools.function_tool import Bound
from toolspeak.values.errors import InvalidArguments, UsageError
from toolspeak.values.events import ToolChoice
from toolspeak.values.frozen import frozen
from toolspeak.values.validation import format_key, format_value

if TYPE_CHECKING:
    from pydantic import TypeAdapter, ValidationError

    from toolspeak.tools import Context


@frozen
class Partial:
    """The part of a typed answer that has arrived.

    Attributes:
        value: The known values, all validated. For a model or a dataclass it is a dict of the complete fields; a field
            that was left out has its default when the answer is complete. A list, a dict or a typed dict has its
            complete items. An answer of any other type appears when it is complete.
        attempt: The number of the attempt, from 1. Within an attempt, values are added and never changed. The next
            attempt follows when an answer was refused.
        is_complete: Whether the answer was accepted, so that `value` is complete.
    """

    value: Any
    attempt: int = 1
    is_complete: bool = False


NAME = "final_answer"
ANSWER = "answer"
"""The parameter of an answer that is one value."""

DESCRIPTION = "Give the final answer. Call this once, when everything that is needed for it is known."

MAX_PROBLEMS = 8
"""Lines about a wrong answer that a model is sent."""

MAX_REASON_CHARS = 300
"""Characters of what a validator says that a model is sent."""


class Output:
    """The type of an answer.

    Attributes:
        kind: The type.
        tool: The tool that the model calls to give the answer.
    """

    def __init__(self, kind: Any) -> None:
        from pydantic import TypeAdapter  # imported with the first typed answer

        try:
            self._adapter: TypeAdapter[Any] = TypeAdapter(kind)
            self.tool = _OutputTool(kind, self._adapter)
        except Exception as error:
            reason = str(error).partition("\n")[0]
            cure = "give a pydantic model, a dataclass or another type that pydantic validates"
            raise UsageError(f"output={kind!r} cannot be an answer ({reason}); {cure}") from error
        self.kind = kind

    def load(self, result: Any) -> Any:
        """Build the answer from the JSON that the tool returned."""
        from pydantic import ValidationError

        try:
            return self._adapter.validate_json(json.dumps(result))
        except ValidationError as error:
            raise UsageError(f"output={self.kind!r}: its own JSON form cannot be read back: {error}") from error


class _OutputTool(Tool[..., Any]):
    """A tool whose arguments are an answer. Errors of the user's validators are reported like other bad arguments."""

    def __init__(self, kind: Any, adapter: "TypeAdapter[Any]") -> None:
        parameters = _list_parameters(kind)

        def return_answer(answer: Any) -> Any:
            return answer

        self._build: Callable[..., Any] = return_answer if parameters is None else kind

        def answer(**values: Any) -> Any:
            return adapter.dump_python(self._build(**values), mode="json", by_alias=True)

        parameters = [_parameter(ANSWER, kind)] if parameters is None else parameters
        ordered = sorted(parameters, key=lambda parameter: parameter.default is not inspect.Parameter.empty)
        typed = cast("Any", answer)  # its signature is only known now; required parameters come first
        typed.__signature__ = inspect.Signature(ordered)
        typed.__annotations__ = {parameter.name: parameter.annotation for parameter in parameters}
        super().__init__(answer, name=NAME, description=DESCRIPTION, effect="idempotent")

    def validate(self, arguments: Any) -> dict[str, Any]:
        """Check the JSON arguments of a call, first field by field, then by the validators of the whole type."""
        from pydantic import ValidationError

        values = super().validate(arguments)
        try:
            self._build(**values)
        except ValidationError as error:
            raise InvalidArguments(NAME, tuple(islice(_describe_errors(error), MAX_PROBLEMS))) from None
        except (ValueError, AssertionError) as error:  # what a dataclass raises in __post_init__
            raise InvalidArguments(NAME, (_shorten(str(error)) or type(error).__name__,)) from None
        return values

    def bind(self, arguments: Any, context: "Context[Any] | None" = None) -> Bound:
        """Validate the arguments. A field that was left out is not passed: the type itself makes its default."""
        return Bound((), self.validate(arguments))


def build_first_choice(choice: Choice, toolbox: Toolbox, answer: Output | None) -> ToolChoice:
    """Return the choice for the first message. Without other tools, that message can only be the typed answer."""
    checked = build_choice(choice, toolbox)
    if answer is not None and not len(toolbox):
        return ToolChoice(mode="named", names=(answer.tool.name,))
    return checked


def add_answer(toolbox: Toolbox, answer: Output | None) -> Toolbox:
    """Return the tools of a run, with the one that gives the typed answer."""
    return toolbox if answer is None else Toolbox([*toolbox, answer.tool])


def _describe_errors(error: "ValidationError") -> Iterator[str]:
    for problem in error.errors(include_url=False, include_context=False):
        steps = (f"[{step}]" if isinstance(step, int) else f".{format_key(step)}" for step in problem["loc"])
        place = "".join(steps).removeprefix(".")
        reason = f"got {format_value(problem['input'])}; {_shorten(problem['msg'])}"
        yield f"{place}: {reason}" if place else reason


def _shorten(reason: str) -> str:
    line = " ".join(reason.split())
    return line if len(line) <= MAX_REASON_CHARS else f"{line[: MAX_REASON_CHARS - 1]}…"


def list_fields(kind: Any) -> tuple[str, ...] | None:
    """Return the names of the fields of a model or a dataclass; None if the answer must be one value."""
    parameters = _list_parameters(kind)
    return None if parameters is None else tuple(parameter.name for parameter in parameters)


def _list_parameters(kind: Any) -> list[inspect.Parameter] | None:
    """List the fields of a model or a dataclass as parameters; None if the answer must be one value."""
    from pydantic import BaseModel, Field

    if isinstance(kind, type) and issubclass(kind, BaseModel):
        parameters: list[inspect.Parameter] = []
        for name, field in kind.model_fields.items():
            if field.alias is not None:  # a parameter cannot have a name that the model's constructor does not take
                return None
            annotation = Annotated[(field.annotation, *field.metadata, Field(description=field.description))]  # pyright: ignore[reportInvalidTypeForm] (made at run time)
            default = inspect.Parameter.empty if field.is_required() else _delay_default(field)
            parameters.append(_parameter(name, annotation, default))
        return parameters
    if isinstance(kind, type) and is_dataclass(kind):
        hints = get_type_hints(kind, include_extras=True)
        return [
            _parameter(
                field.name,
                hints[field.name],
                inspect.Parameter.empty
                if field.default is MISSING and field.default_factory is MISSING
                else _delay_default(field),
            )
            for field in fields(kind)
            if field.init
        ]
    return None


def _delay_default(field: Any) -> Any:
    """Return the default of a field. A factory is not called: what it makes is for one answer, not for a prompt."""
    from pydantic import Field

    factory = field.default_factory
    if factory is None or factory is MISSING:
        return field.default
    return Field(default_factory=factory if factory in (list, set, tuple, frozenset, dict) else object)


def _parameter(name: str, annotation: Any, default: Any = inspect.Parameter.empty) -> inspect.Parameter:
    return inspect.Parameter(name, inspect.Parameter.KEYWORD_ONLY, default=default, annotation=annotation)
