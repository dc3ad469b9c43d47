"""The typed answer while the model writes it: what is known of it, and never a value that changes later.

Each call that gives the answer is an *attempt*. Within an attempt, values are only added. An attempt is dropped if its
call is refused, is quoted, or belongs to an answer that is taken back; the next attempt begins with nothing.

The JSON is read strictly: at the first thing that is not JSON, or that may mean something else once the call is whole
(a key twice, a key that is no parameter), reading stops and what was read stays. A number or a word such as `true` is
complete when the character after it has arrived. Each character is read once.

A value is shown only if nothing can change it later. Each value goes through all that the whole answer goes through
(coercion, validation, its JSON form and back), as the only field of a model made for it. Held back until the answer is
accepted are the values that a function of the user's sees again, with the rest of the answer or as JSON: fields with a
`field_validator`, and all fields of a type with a `model_validator`, a `__post_init__` or the like.
"""

from collections.abc import Callable, Iterable, Mapping
from dataclasses import field, fields
from functools import cache
from typing import Annotated, Any, Literal, NotRequired, Required, cast, get_args, get_origin, get_type_hints

from annotated_types import BaseMetadata
from pydantic import BaseModel, ConfigDict, create_model
from pydantic.fields import FieldInfo

from toolspeak.reading.strict_json import ReadingStopped, Receiving, StrictJsonReader, decode
from toolspeak.run.output import ANSWER, Output, Partial, list_fields
from toolspeak.values.coercion import coerce
from toolspeak.values.events import (
    ArgsDelta,
    CallMalformed,
    CallQuoted,
    CallStarted,
    Event,
    Fact,
    RunStarted,
    SaidInThought,
    ToolFinished,
    TurnRestarted,
    TurnStarted,
)
from toolspeak.values.frozen import frozen
from toolspeak.values.messages import ToolResult

REFERENCE_MARK = '"$'
"""Stands in the JSON of an argument that refers to the result of another call."""


class LeftOut(Exception):
    """A value stands for one that was not given. It is not part of the answer."""


@frozen
class Slot:
    """A place for a value.

    Attributes:
        load: Returns the Python value for the JSON value. Raises `LeftOut` for a value to leave out, and any other
            exception for a value that is not valid.
        growth: How the value grows while it arrives; None if it is shown only when it is complete.
    """

    load: Callable[[Any], Any]
    growth: "Growth | None" = None


@frozen
class Growth:
    """How an object or a list grows.

    Attributes:
        kind: `fields`: an object with these slots. `entries`: an object with any keys. `items`: a list.
        slots: The slots of the fields, by name.
        item: The slot of each entry or item. It has no growth: entries and items are added when they are complete.
    """

    kind: Literal["fields", "entries", "items"]
    slots: Mapping[str, Slot] = field(default_factory=dict[str, Slot])
    item: Slot | None = None

    @property
    def opener(self) -> str:
        """The character that the JSON of such a value begins with."""
        return "[" if self.kind == "items" else "{"

    def get_slot(self, key: str) -> Slot:
        """Return the slot for a key."""
        slot = self.item or self.slots.get(key)
        if slot is None:
            raise ReadingStopped
        return slot


class ArgumentReader(StrictJsonReader):
    """Reads the arguments of one call.

    Attributes:
        values: The complete values so far. Objects and lists in it are changed in place.
    """

    def __init__(self, growth: Growth, *, waits_for_delimiter: bool) -> None:
        """Prepare to read.

        Args:
            growth: How the object of the arguments grows.
            waits_for_delimiter: Whether a text, an object or a list counts as complete only when a comma or a closing
                bracket follows it. Otherwise its own end is enough.
        """
        super().__init__()
        self.values: dict[str, Any] = {}
        self._waits_for_delimiter = waits_for_delimiter
        self._grew = False
        self.start(self._read_object(growth, self.values))

    def feed(self, text: str) -> bool:
        """Read more of the arguments; whether `values` has grown."""
        self._grew = False
        self.send(text)
        return self._grew

    def _read_object(self, growth: Growth, target: dict[str, Any]) -> Receiving:
        yield from self.expect("{")
        seen: set[str] = set()
        if (yield from self.peek_past_space()) == "}":
            self.take_sign()
            return
        while True:
            key = yield from self.read_key()
            if key in seen or key.startswith("$"):  # `$` marks a reference
                raise ReadingStopped
            seen.add(key)
            slot = growth.get_slot(key)
            yield from self._read_slot(slot, ",}", lambda value, key=key: target.__setitem__(key, value))
            if (yield from self.expect(",}")) == "}":
                return

    def _read_list(self, growth: Growth, target: list[Any]) -> Receiving:
        yield from self.expect("[")
        if (yield from self.peek_past_space()) == "]":
            self.take_sign()
            return
        while True:
            yield from self._read_slot(growth.get_slot(""), ",]", target.append)
            if (yield from self.expect(",]")) == "]":
                return

    def _read_slot(self, slot: Slot, delimiters: str, keep: Callable[[Any], None]) -> Receiving:
        """Read one value and keep it, at once if it grows."""
        sign = yield from self.peek_past_space()
        growth = slot.growth
        if growth is None or sign != growth.opener:
            text = yield from self.read_json()
            if self._waits_for_delimiter and (yield from self.peek_past_space()) not in delimiters:
                raise ReadingStopped
            self._load(slot, text, keep)
            return
        self._grew = True
        if growth.kind == "items":
            items: list[Any] = []
            keep(items)
            yield from self._read_list(growth, items)
        else:
            entries: dict[str, Any] = {}
            keep(entries)
            yield from self._read_object(growth, entries)

    def _load(self, slot: Slot, text: str, keep: Callable[[Any], None]) -> None:
        if REFERENCE_MARK in text:
            raise ReadingStopped
        try:
            keep(slot.load(decode(text)))
            self._grew = True
        except LeftOut:
            pass
        except ReadingStopped:
            raise
        except Exception:  # a user's validator may raise anything; the answer will be refused, or coerced as a whole
            raise ReadingStopped from None


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
    # A typed dict of `typing` or of `typing_extensions`; only the first is known to `typing.is_typeddict`.
    is_typed_dict = isinstance(annotation, type) and hasattr(cast("Any", annotation), "__required_keys__")
    if is_typed_dict and not hasattr(annotation, "__pydantic_config__"):
        hints = get_type_hints(annotation, include_extras=True)
        return Growth(kind="fields", slots={name: _slot(name, _unqualified(hint)) for name, hint in hints.items()})
    return None


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


class PartialAnswer:
    """Follows the typed answer of a run through its events."""

    def __init__(self, output: Output, facts: Iterable[Fact] = ()) -> None:
        """Prepare to follow an answer of that type, in a run that may have facts already."""
        self._output = output
        self._in_text = False
        self._is_one_value = list_fields(output.kind) is None
        self._growth = find_growth(output.kind)
        self._calls: list[str] = []
        self._is_refused = False
        self._earlier: Any = None  # an accepted answer that counts unless the latest one is accepted, too
        self._has_earlier = False
        self._attempt = 0
        self._reader: ArgumentReader | None = None
        self._has_grown = False
        self._partial: Partial | None = None
        for fact in facts:
            self.feed(fact)

    @property
    def partial(self) -> Partial | None:
        """What is known after the events so far; the same object until more is known."""
        if self._has_grown and self._reader is not None:
            self._has_grown = False
            self._partial = self._snapshot(self._reader.values)
        return self._partial

    def feed(self, event: Event) -> None:
        """Take notice of an event."""
        match event:
            case ArgsDelta(call_id=call_id, text=text):
                if self._reader is not None and call_id == self._calls[-1] and self._reader.feed(text):
                    self._has_grown = True
            case CallStarted(call_id=call_id, name=self._output.tool.name):
                self._drop()
                self._is_refused = False
                self._calls.append(call_id)
                self._attempt += 1
                if self._growth is not None:
                    self._reader = ArgumentReader(self._growth, waits_for_delimiter=not self._in_text)
            case RunStarted(in_text=in_text):
                self._in_text = in_text
            case CallMalformed(call_id=call_id) | CallQuoted(call_id=call_id):
                if self._calls and call_id == self._calls[-1]:
                    self._refuse()
            case SaidInThought() | TurnRestarted() | TurnStarted():  # what was shown without a result is void
                if isinstance(event, TurnStarted) and event.in_text is not None:
                    self._in_text = event.in_text
                if self._partial is None or not self._partial.is_complete:
                    self._drop()
            case ToolFinished(result=result):
                if result.call_id in self._calls:
                    self._finish(result)
            case _:
                pass

    def _drop(self) -> None:
        self._reader = self._partial = None
        self._has_grown = False

    def _refuse(self) -> None:
        """Drop the attempt. An earlier answer of the same message, if there is one, counts now."""
        self._drop()
        self._is_refused = True
        if self._has_earlier:
            self._attempt += 1
            self._partial = Partial(value=self._earlier, attempt=self._attempt, is_complete=True)

    def _finish(self, result: ToolResult) -> None:
        """Take notice of the result of a call that gave an answer: the answer, or why it was refused."""
        is_latest = result.call_id == self._calls[-1]
        if result.error is not None:
            if is_latest:
                self._refuse()
            return
        whole = describe_output(self._output.kind, self._output.load(result.output))
        if not is_latest:
            self._earlier, self._has_earlier = whole, True
            if self._is_refused:
                self._refuse()
            return
        shown = self.partial
        self._reader = None
        if shown is not None and not self._continues(whole, shown.value):
            self._attempt += 1
        self._partial = Partial(value=whole, attempt=self._attempt, is_complete=True)

    def _continues(self, whole: Any, shown: Any) -> bool:
        try:
            growth = self._growth.get_slot(ANSWER).growth if self._growth and self._is_one_value else self._growth
            return is_extension(whole, shown, growth)
        except Exception:  # values of the user's, which may compare in any way
            return False

    def _snapshot(self, values: dict[str, Any]) -> Partial | None:
        known = copy_values(values, self._growth)
        if not self._is_one_value:
            return Partial(value=known, attempt=self._attempt)
        return Partial(value=known[ANSWER], attempt=self._attempt) if ANSWER in known else None
