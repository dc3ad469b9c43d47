"""Functions whose parameters are given by a JSON schema, such as the tools of an MCP server.

The schema is kept as it is: no Python type stands between the schema and the model, so nothing of it is lost. Such a
function is called with the arguments as keywords, under the names that the schema gives them. If it has a positional
parameter, that is the `Context` of the run.
"""

import inspect
from collections.abc import Callable
from dataclasses import dataclass
from itertools import islice
from typing import Any, TypeVar, cast

from toolspeak.tools.arguments import MAX_ERROR_LINES, refuse_odd_keys
from toolspeak.tools.signature import NO_DEFAULT, TOOL_NAME, Signature
from toolspeak.values.coercion import coerce_arguments
from toolspeak.values.errors import InvalidArguments, UsageError
from toolspeak.values.spec import Schema, ToolSpec
from toolspeak.values.validation import describe, find_problems, format_value
from toolspeak.values.work_budget import WorkBudget

F = TypeVar("F", bound=Callable[..., Any])

SPEC_ATTRIBUTE = "__toolspeak_spec__"
"""The attribute of a function that holds its `ToolSpec`."""


NOTE_ATTRIBUTE = "__toolspeak_note__"
"""The attribute of a function that holds the name of its MCP server and what that says of itself, or None."""


def describe_function(function: F, spec: ToolSpec) -> F:
    """Give a function its description as a tool, which is used instead of its signature. Return the function."""
    setattr(function, SPEC_ATTRIBUTE, spec)
    return function


def find_spec(function: Callable[..., Any]) -> ToolSpec | None:
    """Return the description that a function was given, or None if its signature describes it."""
    return getattr(function, SPEC_ATTRIBUTE, None)


def build_signature(function: Callable[..., Any], name: str) -> Signature:
    """Return the signature of a function that has a description: its parameters are in the schema."""
    if not TOOL_NAME.fullmatch(name):
        raise UsageError(f"{name!r} cannot be the name of a tool (ASCII letters, digits, _ . -, at most 64)")
    parameters = inspect.signature(function).parameters.values()
    takes_position = any(parameter.kind is parameter.POSITIONAL_ONLY for parameter in parameters)
    return Signature(
        name=name,
        docstring=None,
        parameters=(),
        context=0 if takes_position else None,
        deps_type=None,
        returns=NO_DEFAULT,
        is_async=inspect.iscoroutinefunction(function),
    )


@dataclass(frozen=True, slots=True)
class SchemaChecker:
    """Validates the arguments of a tool by its JSON schema.

    What `find_problems` does not know, such as a pattern, is left to whoever runs the call.

    Attributes:
        tool: The name of the tool.
        schema: The schema of the parameters.
    """

    tool: str
    schema: Schema

    def validate(self, arguments: Any) -> dict[str, Any]:
        """Return the arguments, coerced where that makes them fit, or raise `InvalidArguments`."""
        budget = WorkBudget(arguments)  # the schema is that of a stranger: one for all that is tried
        try:
            if isinstance(arguments, dict):
                refuse_odd_keys(self.tool, cast("dict[Any, Any]", arguments))
                if not self._find_problems(arguments, budget):
                    return dict(cast("dict[str, Any]", arguments))
            arguments = coerce_arguments(arguments, self.schema, budget)
            if not isinstance(arguments, dict):
                needed = describe(self.schema, self.schema, budget)
                line = f"the arguments must be a JSON {needed}, not {format_value(arguments)}"
                raise InvalidArguments(self.tool, (line,))
            if problems := self._find_problems(cast("dict[str, Any]", arguments), budget):
                if len(problems) > MAX_ERROR_LINES:
                    problems = [*problems[: MAX_ERROR_LINES - 1], "and more"]
                raise InvalidArguments(self.tool, tuple(problems))
            return dict(cast("dict[str, Any]", arguments))
        except RecursionError:
            raise InvalidArguments(self.tool, ("the arguments are nested too deeply",)) from None

    def _find_problems(self, arguments: Any, budget: WorkBudget) -> list[str]:
        found = find_problems(arguments, self.schema, self.schema, budget=budget)
        return list(islice(found, MAX_ERROR_LINES + 1))
