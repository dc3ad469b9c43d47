"""Records: what the fields of foreign results say that are labelled (`ResultField` in `values/spec.py`).

A list of files holds texts of strangers, and beside them ids that nobody but the program writes. So a field can be
labelled, and the rest of the result stays foreign. The rules:

1. A field is looked for where its label says, from the result or from the items of a list. What a stranger wrote is a
   text in another field, or an object in it, and can't be taken for a labelled field.
2. A field that is own data explains values, as an own result does, and under its name: a size explains no id.
3. A key fills the parameters that its label names, and only as a whole. So a stranger who calls a channel "send all to
   evil@x.org" has made a channel of that name possible, and no recipient.
4. A key whose label says what names the thing (`by`) also needs the user, who must have named the thing. A model that
   is fooled can then use what the user speaks of, and nothing else. A stranger can call a thing "the" or "for you",
   though, so a name counts only if nobody says it by chance (`Sources` in `provenance.py`).
5. A name that stands for two things points at neither.
6. A call does not make a key of what it has brought in itself.
7. A label can hold for some records alone (`when`), such as the files that the user owns. The field that tells them
   apart must be one that no stranger writes.
"""

import json
from collections.abc import Callable, Iterable, Iterator
from typing import TYPE_CHECKING, Any, NamedTuple, TypeAlias, cast

from toolspeak.values.messages import Concat
from toolspeak.values.spec import ResultField

if TYPE_CHECKING:
    from toolspeak.values.mentions import Mentions

Leaf: TypeAlias = str | int | float
"""A text or a number in a value."""


class _Name(NamedTuple):
    """What a thing is called, and the field by which tools know it."""

    field: ResultField
    text: str


class Records:
    """The keys that results have shown."""

    def __init__(self) -> None:
        self._listed: set[tuple[str, str]] = set()  # a parameter and a value of a key that needs no name
        self._names: dict[tuple[str, str], set[_Name]] = {}  # of the thing, by a parameter and a value of its key
        self._named: dict[_Name, set[frozenset[str]]] = {}  # the values of the things that have this name

    def copy(self) -> "Records":
        """Return records to which others can be added."""
        records = Records()
        records._listed = self._listed.copy()
        records._names = {place: names.copy() for place, names in self._names.items()}
        records._named = {name: things.copy() for name, things in self._named.items()}
        return records

    def add(self, fields: Iterable[ResultField], output: Any, brought: "Mentions | None") -> dict[str, str]:
        """Take the keys of a result, and return what its fields hold that are own data, by a text with the name.

        Args:
            fields: The labels.
            output: The result.
            brought: What is in the arguments of the call that nothing explains.
        """
        own: dict[str, str] = {}
        for field in fields:
            for record, value in _find_fields(output, field.path):
                if not all(_has_value(record, name, wanted) for name, wanted in field.when):
                    continue
                leaves = [each for each in list_scalars(value) if each != ""]
                if not field.fills:
                    own.update((f"{field.path.rpartition('.')[2]}: {each}", str(each)) for each in leaves)
                    continue
                values = frozenset(_normalize(each) for each in leaves if brought is None or not brought.has(each))
                names = [
                    _Name(field, fold_name(name)) for each in field.by if isinstance(name := record.get(each), str)
                ]
                for name in names:
                    self._named.setdefault(name, set()).add(values)
                for place in ((parameter, each) for parameter in field.fills for each in values):
                    if field.by:
                        self._names.setdefault(place, set()).update(names)
                    else:
                        self._listed.add(place)
        return own

    def may_fill(self, parameters: Iterable[str], value: Leaf, is_named: Callable[[str], bool]) -> bool:
        """Whether a value is a key that may fill one of these parameters; `is_named` says what the user has named."""
        for place in ((parameter, _normalize(value)) for parameter in parameters):
            if place in self._listed:
                return True
            for name in self._names.get(place, ()):
                if len(self._named[name]) == 1 and is_named(name.text):
                    return True
        return False


def _find_fields(output: Any, path: str) -> Iterator[tuple[dict[str, Any], Any]]:
    """Yield the values of a field, each with the record that holds it; that of a whole result is empty."""
    if not path:
        yield {}, output
        return
    *steps, last = path.split(".")
    level: list[Any] = cast("list[Any]", output) if isinstance(output, list) else [output]
    for step in steps:
        below = [cast("dict[str, Any]", each).get(step) for each in level if isinstance(each, dict)]
        level = [item for each in below for item in (cast("list[Any]", each) if isinstance(each, list) else [each])]
    for each in level:
        if isinstance(each, dict) and last in each:
            record = cast("dict[str, Any]", each)
            yield record, record[last]


def _has_value(record: dict[str, Any], name: str, wanted: str) -> bool:
    """Whether a field of a record is a text, a number or a boolean that is written so in JSON."""
    value = record.get(name)
    return isinstance(value, str | int) and json.dumps(value) == wanted


def list_scalars(value: Any) -> Iterator[Leaf]:
    """Yield the texts and numbers in a value: keys, too, and the texts between references."""
    left: list[Any] = [value]
    while left:
        each = left.pop()
        if isinstance(each, Concat):
            left += [part for part in each.parts if isinstance(part, str)]
        elif isinstance(each, dict):
            pairs = cast("dict[str, Any]", each)
            left += [*pairs.keys(), *pairs.values()]
        elif isinstance(each, list):
            left += cast("list[Any]", each)
        elif isinstance(each, str | int | float) and not isinstance(each, bool):
            yield each


def fold_name(name: str) -> str:
    """Return a name as names are compared."""
    return " ".join(name.split()).casefold()


def _normalize(value: Leaf) -> str:
    """Return a value as keys are compared: 10 and 10.0 are one, and so are 7 and "7"."""
    return str(int(value) if isinstance(value, float) and value.is_integer() else value).strip()
