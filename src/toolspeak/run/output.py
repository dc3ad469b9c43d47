"""Typed answers: the answer as the arguments of a last call, so that every dialect can give one.

The fields of a model or a dataclass become the parameters of the call; any other type is its one parameter, `answer`.
"""

import inspect
import json
from collections.abc import Callable
from dataclasses import MISSING, fields, is_dataclass
from typing import Annotated, Any, cast, get_type_hints

from pydantic import BaseModel, Field, TypeAdapter

from toolspeak.errors import UsageError
from toolspeak.tools import Tool, Toolbox

NAME = "final_answer"
DESCRIPTION = "Give the final answer. Call this once, when everything that is needed for it is known."


class Output:
    """The type of an answer: a tool to give it by, and the way back from JSON."""

    def __init__(self, kind: Any) -> None:
        try:
            self._adapter: TypeAdapter[Any] = TypeAdapter(kind)
            function = _function(kind, self._adapter)
            self.tool: Tool[..., Any] = Tool(function, name=NAME, description=DESCRIPTION, effect="idempotent")
        except Exception as error:
            raise UsageError(
                f"output={kind!r} cannot be an answer ({error}); give a pydantic model, a dataclass or another type "
                "that pydantic validates"
            ) from error

    def toolbox(self, tools: Toolbox) -> Toolbox:
        """The tools of the run, and this one."""
        return Toolbox([*tools, self.tool])

    def value(self, given: Any) -> Any:
        """The answer as its type, from what the tool returned."""
        return self._adapter.validate_json(json.dumps(given))


def _function(kind: Any, adapter: TypeAdapter[Any]) -> Callable[..., Any]:
    def plain(value: Any) -> Any:
        return adapter.dump_python(value, mode="json", by_alias=True)

    parameters = _parameters(kind)
    if parameters is None:

        def answer_whole(answer: Any) -> Any:
            return plain(answer)

        return _typed(answer_whole, [_parameter("answer", kind)])

    def answer_fields(**values: Any) -> Any:
        return plain(kind(**values))

    return _typed(answer_fields, parameters)


def _parameters(kind: Any) -> list[inspect.Parameter] | None:
    if isinstance(kind, type) and issubclass(kind, BaseModel):
        made: list[inspect.Parameter] = []
        for name, field in kind.model_fields.items():
            if field.alias is not None:  # it must be given under another name than it has: as one value, then
                return None
            annotation = Annotated[(field.annotation, *field.metadata, Field(description=field.description))]  # pyright: ignore[reportInvalidTypeForm] (made at run time)
            default = inspect.Parameter.empty if field.is_required() else field.get_default(call_default_factory=True)
            made.append(_parameter(name, annotation, default))
        return made
    if isinstance(kind, type) and is_dataclass(kind):
        hints = get_type_hints(kind, include_extras=True)
        return [_parameter(each.name, hints[each.name], _default(each)) for each in fields(kind) if each.init]
    return None


def _default(field: Any) -> Any:
    if field.default is not MISSING:
        return field.default
    return inspect.Parameter.empty if field.default_factory is MISSING else field.default_factory()


def _parameter(name: str, annotation: Any, default: Any = inspect.Parameter.empty) -> inspect.Parameter:
    return inspect.Parameter(name, inspect.Parameter.KEYWORD_ONLY, default=default, annotation=annotation)


def _typed(function: Callable[..., Any], parameters: list[inspect.Parameter]) -> Callable[..., Any]:
    """The function with a signature that is only known now."""
    required = [each for each in parameters if each.default is inspect.Parameter.empty]
    rest = [each for each in parameters if each.default is not inspect.Parameter.empty]
    made = cast("Any", function)
    made.__signature__ = inspect.Signature([*required, *rest])
    made.__annotations__ = {each.name: each.annotation for each in parameters}
    return function
