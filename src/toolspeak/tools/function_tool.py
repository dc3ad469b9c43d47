"""`Tool`: a function, its description for a model, and the validation of its arguments."""

import inspect
import json
from collections.abc import Awaitable, Callable, Mapping, Sequence
from functools import partial, update_wrapper
from typing import (
    TYPE_CHECKING,
    Any,
    Generic,
    Literal,
    NamedTuple,
    ParamSpec,
    TypeAlias,
    TypedDict,
    TypeVar,
    Unpack,
    cast,
    overload,
)

from toolspeak.tools.arguments import Checker, is_recursive
from toolspeak.tools.context import Context
from toolspeak.tools.docstring import read_docstring
from toolspeak.tools.schema import TypeInfo, UnusableType, build_parameter_schema, drop_enum_names, merge_definitions
from toolspeak.tools.schema_function import SchemaChecker, build_signature, find_spec
from toolspeak.tools.signature import NO_DEFAULT, Decisive, Free, Key, Parameter, Signature, read_signature
from toolspeak.tools.types import read_return_schema, read_type
from toolspeak.values.errors import UsageError
from toolspeak.values.origin import Origin
from toolspeak.values.spec import Effect, ResultField, ResultOwner, Schema, ToolSpec

P = ParamSpec("P")
R = TypeVar("R")
F = TypeVar("F", bound=Callable[..., Any])
F_co = TypeVar("F_co", covariant=True)


ApprovalRule: TypeAlias = Callable[..., bool | Awaitable[bool]]
"""A function of a call, or of a call and its `Context`, that returns whether somebody must be asked about the call."""


Reconciler: TypeAlias = Callable[..., Any]
"""A function of a call, or of a call and its `Context`, that returns `Happened(output)`, False or None; see `tool`."""


class ToolOptions(TypedDict, total=False):
    """The options of a tool; see `tool`. One that is left out is something else than one that is None."""

    name: str | None
    description: str | None
    effect: Effect
    approve: "bool | ApprovalRule"
    sequential: bool
    timeout: float | None
    max_output: int | None
    raw: str | None
    result: "Literal['own', 'foreign'] | Key | Mapping[str, Literal['own'] | Key] | None"
    decisive: bool | Sequence[str] | None
    reconcile: Reconciler | None


class Bound(NamedTuple):
    """Validated arguments, ready for the function."""

    args: tuple[Any, ...]
    kwargs: Mapping[str, Any]


class Tool(Generic[P, R]):
    """A function that a model can call. Called from Python, a tool behaves like its function.

    `Tool(function)` takes the options of `tool`. `Tool(other_tool)` copies each option that is not given; a given
    option always takes precedence, including None.

    Attributes:
        spec: The description of the tool for models and agents.
        function: The function.
        is_async: Whether calling the function returns an awaitable.
        is_quick: Whether the function, if it is not async, returned at once when a run last called it.

    Examples:
        >>> def double(x: int) -> int:
        ...     "Double a number."
        ...     return 2 * x
        >>> t = Tool(double)
        >>> t.spec.parameters["properties"]
        {'x': {'type': 'integer'}}
        >>> t.bind({"x": "21"})
        Bound(args=(), kwargs={'x': 21})
    """

    spec: ToolSpec
    function: Callable[P, R]
    is_async: bool
    is_quick: bool = False
    approval_rule: ApprovalRule | None = None
    reconciler: Reconciler | None = None

    def __init__(self, function: Callable[P, R], **options: Unpack[ToolOptions]) -> None:
        if unknown := options.keys() - ToolOptions.__annotations__.keys():
            raise TypeError(f"Tool() got an unexpected keyword argument {min(unknown)!r}")
        base: ToolSpec | None = None
        if isinstance(function, Tool):
            inner = cast("Tool[P, R]", function)
            function, base, self.approval_rule = inner.function, inner.spec, inner.approval_rule
            self.reconciler = inner.reconciler
        if not callable(function):
            cure = "; give its as_tool(NAME)" if hasattr(function, "as_tool") else ""
            raise UsageError(f"a tool is made from a function, not from {type(function).__name__}{cure}")
        given = find_spec(function)
        inherited: ToolOptions = (
            {}
            if (base := base or given) is None
            else {
                "name": base.name,
                "description": base.description,
                "effect": base.effect,
                "approve": base.approve,
                "sequential": base.sequential,
                "timeout": base.timeout,
                "max_output": base.max_output,
            }
        )
        chosen: ToolOptions = {**inherited, **options}
        name, description, effect = chosen.get("name"), chosen.get("description"), chosen.get("effect", "once")
        timeout, max_output = chosen.get("timeout"), chosen.get("max_output")
        if effect not in ("read", "idempotent", "once"):
            raise UsageError(f"effect is 'read', 'idempotent' or 'once', not {effect!r}")
        if timeout is not None and not timeout > 0:
            raise UsageError(f"timeout is a number of seconds above 0, not {timeout!r}")
        if max_output is not None and not max_output > 0:
            raise UsageError(f"max_output is a number of characters above 0, not {max_output!r}")
        owner, fields = ("", ()) if base is None else (base.result, base.fields)
        if "result" in options:
            owner, fields = _read_owner(options["result"])
        if "approve" in options:
            approve = options["approve"]
            if not isinstance(cast("object", approve), bool) and not callable(approve):
                raise UsageError(f"approve is True, False or a function of a call, not {approve!r}")
            self.approval_rule = None if isinstance(approve, bool) else approve
        if "reconcile" in options:
            self.reconciler = options["reconcile"]
            if self.reconciler is not None and not callable(self.reconciler):
                raise UsageError(f"reconcile is a function of a call, not {self.reconciler!r}")
        if self.reconciler is not None and effect != "once":
            raise UsageError(
                f"reconcile is for effect='once': a call of a tool with effect={effect!r} is simply repeated"
            )
        signature = read_signature(function, name) if given is None else build_signature(function, name or given.name)
        raw = base.raw if base else None
        if "raw" in options:
            # `raw` is the name in the function, and `spec.raw` the name that the model is shown.
            raw = next((each.key for each in signature.parameters if each.name == options["raw"]), options["raw"])
        origin = base.origin if base else Origin.PROGRAM
        if "description" in options:
            # A docstring is a part of the program. A text that is passed may have come from anywhere.
            documented_origin = Origin.PROGRAM if given is None else given.origin
            origin = documented_origin if description is None else Origin.FOREIGN_DESCRIPTION
        decisive, free = base and base.decisive, base.free if base else ()
        if base is None or "decisive" in options or "effect" in options:
            keys = {} if given is None else {key: key for key in given.parameters["properties"]}
            chosen_names = options.get("decisive")
            decisive, free = _weigh_parameters(signature, keys, effect, chosen_names, (decisive, free))
        documented = read_docstring(signature.docstring)
        self.function = function
        self.is_async = signature.is_async
        self._signature = signature
        self._checker: Checker | SchemaChecker
        if given is None:
            self._checker = _build_checker(signature, documented.parameters)
            returns = _build_return_schema(signature.returns, documented.returns)
        else:
            self._checker = SchemaChecker(tool=signature.name, schema=given.parameters)
            returns = given.returns
        try:
            self.spec = ToolSpec(
                name=signature.name,
                description=documented.description if description is None else description,
                parameters=self._checker.schema if given else drop_enum_names(self._checker.schema),
                returns=returns,
                effect=effect,
                approve=chosen.get("approve", False) is not False,
                sequential=chosen.get("sequential", False),
                timeout=timeout,
                max_output=max_output,
                raw=raw,
                origin=origin,
                result=owner,
                fields=fields,
                decisive=decisive,
                free=free,
                reconcile=self.reconciler is not None,
            )
        except ValueError as error:  # `raw` names a parameter that cannot take a raw text
            raise UsageError(str(error)) from None
        if inspect.isroutine(function) and given is None:
            update_wrapper(self, function)

    @property
    def name(self) -> str:
        return self.spec.name

    @property
    def takes_context(self) -> bool:
        """Whether the function has a parameter for the `Context` of the run."""
        return self._signature.context is not None

    @property
    def deps_type(self) -> Any:
        """The type of the deps that the function needs in its `Context`; None if it needs none or has no such type."""
        return self._signature.deps_type

    def __call__(self, *args: P.args, **kwargs: P.kwargs) -> R:
        return self.function(*args, **kwargs)

    def __repr__(self) -> str:
        return f"Tool({self.name}({', '.join(self.spec.parameters['properties'])}))"

    def validate(self, arguments: Any) -> dict[str, Any]:
        """Validate the JSON arguments of a call: return the Python values by key, or raise `InvalidArguments`."""
        return self._checker.validate(arguments)

    def complete(self, arguments: Any) -> dict[str, Any]:
        """Validate the JSON arguments of a call; return the values by key, with the defaults of those left out."""
        values = self.validate(arguments)
        for parameter in () if isinstance(self._checker, SchemaChecker) else self._signature.parameters:
            if parameter.key not in values and parameter.make_default is not None:
                values[parameter.key] = parameter.make_default()
            elif parameter.key not in values and parameter.default is not NO_DEFAULT:
                values[parameter.key] = parameter.default
        return values

    def bind(self, arguments: Any, context: Context[Any] | None = None) -> Bound:
        """Validate the JSON arguments of a call and arrange them for the function."""
        values = self.validate(arguments)
        if isinstance(self._checker, SchemaChecker):
            return Bound((context,) if self.takes_context else (), values)
        args: list[Any] = []
        kwargs: dict[str, Any] = {}
        for parameter in self._signature.parameters:
            if parameter.key in values:
                value = values[parameter.key]
            elif parameter.make_default is not None:
                value = parameter.make_default()
            else:
                continue
            if parameter.is_positional_only:
                args.append(value)
            else:
                kwargs[parameter.name] = value
        place = self._signature.context
        if isinstance(place, int):
            args.insert(place, Context(deps=None) if context is None else context)
        elif place is not None:
            kwargs[place] = Context(deps=None) if context is None else context
        return Bound(tuple(args), kwargs)


Weights: TypeAlias = tuple[tuple[str, ...] | None, tuple[str, ...]]
"""The decisive parameters of a tool, None if nothing is said of them, and those that are marked as free."""


def _weigh_parameters(
    signature: Signature,
    names: Mapping[str, str],
    effect: Effect,
    chosen: bool | Sequence[str] | None,
    known: Weights,
) -> Weights:
    """Return the decisive and the free parameters; `names` are those of a schema, and `known` what was said before."""
    keys = {**names, **{each.name: each.key for each in signature.parameters}}
    free = tuple(each.key for each in signature.parameters if each.weight is Free) or known[1]
    if isinstance(chosen, bool):
        return tuple(key for key in keys.values() if chosen and key not in free), free
    if chosen is not None:
        if isinstance(chosen, str) or not all(isinstance(each, str) for each in cast("Sequence[object]", chosen)):
            raise UsageError(f"{signature.name}: decisive is True, False or a list of parameters, not {chosen!r}")
        if unknown := [name for name in chosen if name not in keys]:
            known_names = ", ".join(keys) or "none"
            raise UsageError(f"{signature.name}: decisive names {unknown[0]!r}; the parameters are: {known_names}")
        return tuple(keys[name] for name in chosen), free
    if any(each.weight is Decisive for each in signature.parameters):
        needed = {Decisive} if effect == "read" else {Decisive, None}
        return tuple(each.key for each in signature.parameters if each.weight in needed), free
    return known[0], free


def _read_owner(given: object) -> tuple[ResultOwner, tuple[ResultField, ...]]:
    """Return whose words the results of a tool are, and which of their fields are more than foreign."""
    if given is None or given in ("own", "foreign"):
        return given or "", ()
    labels = {"": given} if isinstance(given, Key) else given
    fields: list[ResultField] = []
    for path, label in cast("Mapping[object, object]", labels).items() if isinstance(labels, Mapping) else ():
        if not isinstance(path, str) or not (label == "own" or isinstance(label, Key)):
            raise UsageError(f"result[{path!r}] is 'own' or a Key, not {label!r}; other fields are foreign")
        key = label if isinstance(label, Key) else None
        fields.append(ResultField(path=path, fills=key.parameters if key else (), by=key.by if key else ()))
    if not fields:
        raise UsageError(f"result is 'own', 'foreign' or None, not {given!r}; by field, {{'id': Key('file_id')}}")
    return "foreign", tuple(fields)


def _build_checker(signature: Signature, documented: Mapping[str, str]) -> Checker:
    properties: dict[str, Schema] = {}
    required: list[str] = []
    defs: dict[str, Schema] = {}
    validators: dict[str, Any] = {}
    for parameter in signature.parameters:
        try:
            info = read_type(parameter.annotation)
        except UnusableType as error:
            cure = "use a type that pydantic can validate, or Context for what the run should fill"
            raise UsageError(f"{signature.name}: the parameter {parameter.name!r}: {error}; {cure}") from None
        shown = dict(merge_definitions(defs, info))
        if text := parameter.description or documented.get(parameter.name) or documented.get(parameter.key):
            shown["description"] = text
        shown.pop("default", None)
        if parameter.default is NO_DEFAULT:
            required.append(parameter.key)
        else:
            shown.update(_describe_default(parameter, info))
        properties[parameter.key] = shown
        validators[parameter.key] = info.validator
    return Checker(
        tool=signature.name,
        validators=validators,
        required=tuple(required),
        schema=build_parameter_schema(properties, required, defs),
        is_recursive=is_recursive(defs),
    )


def _describe_default(parameter: Parameter, info: TypeInfo) -> dict[str, Any]:
    default = parameter.default
    if default is None or type(default) in (str, bool):
        return {"default": default}
    try:
        value = info.dump(default)
        json.dumps(value, allow_nan=False)  # NaN is not JSON, wherever in the default
        return {"default": value}
    except Exception:  # a default without a JSON form is not shown; a call without the key still gets it
        return {}


def _build_return_schema(annotation: Any, text: str) -> Schema | None:
    schema = None if annotation is NO_DEFAULT else read_return_schema(annotation)
    if schema is None:
        return {"description": text} if text else None
    return {**schema, "description": text} if text else schema


if TYPE_CHECKING:

    class FunctionTool(Tool[..., Any], Generic[F_co]):
        """The tool that `tool` makes of a function, for type checkers: it is called as the function is.

        A list of several is a list of tools for mypy, too. It takes a list of `Tool[P, R]`, each with other parameters,
        for a list of objects.
        """

        __call__: F_co  # pyright: ignore[reportIncompatibleMethodOverride, reportIncompatibleUnannotatedOverride] (as typed)


@overload
def tool(**options: Unpack[ToolOptions]) -> "Callable[[F], FunctionTool[F]]": ...
@overload
def tool(function: F, /, **options: Unpack[ToolOptions]) -> "FunctionTool[F]": ...
def tool(function: Callable[..., Any] | None = None, /, **options: Unpack[ToolOptions]) -> Any:
    """Create a tool with options that the signature can't express. A plain function is a tool without it.

    Args:
        function: The function; left out when used as `@tool(...)`.
        name: The name for the model, instead of the function's own.
        description: The description for the model, instead of the docstring's.
        effect: `"read"` changes nothing, `"idempotent"` may be repeated, `"once"` (the default) must not be repeated.
        approve: Whether calls need approval: always, or if a function of the call (and of its `Context`, if it has a
            second parameter) returns True. `call.arguments` has the values that `function` would get.
        sequential: Run a call alone, not in parallel with other calls.
        timeout: Seconds before a call times out.
        max_output: Characters of the result that the model is shown.
        raw: The `str` parameter, the only required one, that takes a raw text such as a patch or a program. In the
            text dialects the model may write the text as it is, in a fenced block labelled with the tool's name.
        result: Who wrote the results. `"own"`: your own data, which no stranger writes, such as a list of your rooms; a
            call in such a result does not count as quoted. `"foreign"`: anybody may have written them, such as a page
            or a mail; after that, decisive values must come from a trusted source (`Agent(provenance=…)`). A mapping
            declares it by field, `{"owner": "own", "id": Key("file_id", by="name")}`; all other fields are foreign. A
            `Key` alone is for results that consist of such values.
        decisive: The parameters that decide whom, what, how much or where to; True for all, False for none. By default
            these are all parameters of a tool with an effect, except those marked `Annotated[…, Free]`, and none of a
            tool that only reads. With this, or with `Annotated[…, Decisive]`, results of tools without `result` count
            as foreign for this tool.
        reconcile: With `effect="once"`: a function of the call (and of its `Context`, if it has a second parameter)
            that finds out after a crash whether the call took effect. It returns `Happened(output)`; False if it did
            not, so the call is made now; or None if that is unknown, and the model is told so.

    Examples:
        >>> @tool(effect="read", timeout=5)
        ... def population(city: str) -> int:
        ...     "How many people live in a city."
        ...     return {"Oslo": 709_000}[city]
        >>> population.name, population.spec.effect
        ('population', 'read')
    """
    return partial(Tool, **options) if function is None else Tool(function, **options)


def as_tool(function: "Callable[..., Any] | Tool[..., Any]") -> Tool[..., Any]:
    """Return a tool unchanged, and a function as a tool."""
    return cast("Tool[..., Any]", function) if isinstance(function, Tool) else Tool(function)
