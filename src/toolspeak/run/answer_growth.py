"""How a typed answer grows while it arrives: which of its values may be shown before the whole answer is there.

A value is shown only if nothing can change it later. Each value goes through all that the whole answer goes through
(coercion, validation, its JSON form and back), as the only field of a model made for it. Held back until the answer is
accepted are the values that a function of the user's sees again, with the rest of the answer or as JSON: fields with a
`field_validator`, and all fields of a type with a `model_validator`, a `__post_init__` or the like.
"""

from collections.abc import Callable, Mapping
from dataclasses import fields
from functools import cache
from typing import Annotated, Any, NotRequired, Required, cast, get_args, get_origin, get_type_hints

from annotated_types import BaseMetadata
from pydantic import BaseModel, ConfigDict, create_model
from pydantic.fields import FieldInfo

from toolspeak.coercion import coerce
from toolspeak.run.argument_reader import Growth, LeftOut, Slot
from toolspeak.run.output import ANSWER, Output, list_fields

MODEL_HOOKS = ("__init__", "__new__", "model_post_init", "__get_pydantic_core_schema__", "__setattr__")
"""Methods of a model that may change any of its fields."""

DATACLASS_HOOKS = ("__post_init__", "__get_pydantic_core_schema__")
"""Methods of a dataclass that may change any of its fields."""


def find_growth(kind: Any) -> Growth | None:
    """Return how the arguments of the call that gives an answer of type `kind` grow; None if they do not."""
    try:
        return _find_growth(kind)
    except TypeError:  # a type that has no hash
        return _find_growth.__wrapped__(kind)


@cache
def _find_growth(kind: Any) -> Growth | None:
    names = list_fields(kind)
    if names is None:
        return Growth(kind="fields", slots={ANSWER: _slot(ANSWER, kind)})
    slots = _model_slots(kind) if issubclass(kind, BaseModel) else _dataclass_slots(kind)
    # A name without a slot would stop the reading; one that is held back is read and left out.
    return None if slots is None else Growth(kind="fields", slots={name: slots.get(name, HELD_BACK) for name in names})


def _hold_back(_: Any) -> Any:
    raise LeftOut


HELD_BACK = Slot(load=_hold_back)


def _model_slots(kind: type[BaseModel]) -> dict[str, Slot] | None:
    if any(_find_function(kind, name) is not _find_function(BaseModel, name) for name in MODEL_HOOKS):
        return None
    held = _find_held_fields(kind)
    if held is None:
        return None
    return {
        name: _slot(name, field.rebuild_annotation(), (field.annotation, field), kind.model_config)
        for name, field in kind.model_fields.items()
        if name not in held and "*" not in held and not field.exclude and field.validation_alias is None
    }


def _find_function(kind: type[Any], name: str) -> Any:
    method = getattr(kind, name, None)
    return getattr(method, "__func__", method)


def _dataclass_slots(kind: type[Any]) -> dict[str, Slot] | None:
    held = _find_held_fields(kind)
    if held is None or not kind.__dataclass_params__.init or any(hasattr(kind, name) for name in DATACLASS_HOOKS):
        return None
    config = cast("ConfigDict | None", getattr(kind, "__pydantic_config__", None))
    hints = get_type_hints(kind, include_extras=True)
    return {
        field.name: _slot(field.name, hints[field.name], config=config)
        for field in fields(cast("Any", kind))
        if field.name not in held and "*" not in held and not isinstance(field.default, FieldInfo)
    }


def _find_held_fields(kind: type[Any]) -> set[str] | None:
    """Return the fields that functions of the user's validate or serialize; None if these see the whole object."""
    found = getattr(kind, "__pydantic_decorators__", None)
    if found is None:  # a dataclass of the standard library, whose decorators pydantic has not collected
        has_decorators = any(hasattr(value, "decorator_info") for each in kind.__mro__ for value in vars(each).values())
        return None if has_decorators else set()
    if found.model_validators or found.model_serializers or found.root_validators:
        return None
    functions = (*found.validators.values(), *found.field_validators.values(), *found.field_serializers.values())
    return {name for function in functions for name in function.info.fields}


def _slot(name: str, annotation: Any, definition: Any = None, config: ConfigDict | None = None) -> Slot:
    """Return the slot for a value of a type; `definition` defines the field of a model that has the value."""
    load = _Loader(name, annotation if definition is None else definition, config)
    return Slot(load=load, growth=_container_growth(annotation, config))


def _container_growth(annotation: Any, config: ConfigDict | None) -> Growth | None:
    """Return how a list, a dict or a typed dict grows; None for any other type, which may become any object."""
    while get_origin(annotation) is Annotated:
        annotation, *metadata = get_args(annotation)
        # `Field(min_length=1)` and the like check a list and do not change it.
        if not all(isinstance(each, str | BaseMetadata) or _only_describes(each) for each in metadata):
            return None
    origin, args = get_origin(annotation), get_args(annotation)
    if origin is list and len(args) == 1:
        return Growth(kind="items", item=Slot(load=_Loader(ANSWER, args[0], config)))
    if origin is dict and len(args) == 2 and args[0] is str:
        return Growth(kind="entries", item=Slot(load=_Loader(ANSWER, args[1], config)))
    if _is_typed_dict(annotation) and not hasattr(annotation, "__pydantic_config__"):
        hints = get_type_hints(annotation, include_extras=True)
        return Growth(kind="fields", slots={name: _slot(name, _unqualified(hint)) for name, hint in hints.items()})
    return None


def _is_typed_dict(annotation: Any) -> bool:
    # Of `typing` or of `typing_extensions`; only the first is known to `typing.is_typeddict`.
    return isinstance(annotation, type) and hasattr(cast("Any", annotation), "__required_keys__")


def _only_describes(metadata: Any) -> bool:
    return isinstance(metadata, FieldInfo) and all(isinstance(each, BaseMetadata) for each in metadata.metadata)


def _unqualified(hint: Any) -> Any:
    while get_origin(hint) in (Required, NotRequired):
        hint = get_args(hint)[0]
    return hint


class _Loader:
    """Makes the Python value of a JSON value, by all steps that an answer goes through."""

    def __init__(self, name: str, definition: Any, config: ConfigDict | None) -> None:
        self._name = name
        self._definition = definition
        self._config = config
        self._build: Callable[[Any], Any] | None = None

    def __call__(self, value: Any) -> Any:
        if self._build is None:
            self._build = self._make()
        return self._build(value)

    def _make(self) -> Callable[[Any], Any]:
        name = self._name
        kind = create_model("Value", __config__=self._config or None, **cast("Any", {name: self._definition}))
        output = Output(kind)
        schema = output.tool.spec.parameters

        def build(value: Any) -> Any:
            arguments = cast("Mapping[str, Any]", coerce({name: value}, schema, schema))
            if name not in arguments:
                raise LeftOut
            return getattr(output.load(output.tool(**output.tool.validate(arguments))), name)

        return build


def describe_output(kind: Any, output: Any) -> Any:
    """Return a whole answer in the form of its prefixes: a dict of the fields of a model or a dataclass."""
    names = list_fields(kind)
    return output if names is None else {name: getattr(output, name) for name in names}


def is_extension(whole: Any, part: Any, growth: Growth | None) -> bool:
    """Whether `part` is a prefix of `whole`: nothing in it has another value there."""
    if growth is None or type(whole) is not type(part):
        return bool(whole == part)
    if growth.kind == "items":
        return len(whole) >= len(part) and bool(whole[: len(part)] == part)
    return all(
        key in whole and is_extension(whole[key], each, growth.get_slot(key).growth) for key, each in part.items()
    )


def copy_values(value: Any, growth: Growth | None) -> Any:
    """Return a copy of the containers that still grow."""
    if growth is None or not isinstance(value, list | dict):
        return value
    if isinstance(value, list):
        return list(cast("list[Any]", value))
    pairs = cast("dict[str, Any]", value).items()
    return {key: copy_values(each, growth.get_slot(key).growth) for key, each in pairs}
