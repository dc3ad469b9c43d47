"""Removes keys and chosen fields from the facts of a run, before the run is given to somebody else.

The facts are changed before anything is drawn from them, so that no view can show what was removed:

- Keys of this environment, and words in the usual forms of keys (`key_forms.py`), are replaced wherever they stand.
- The value of a field that must not be shown is replaced in arguments and results, at any depth. Fields whose names
  say that they hold a key or a password are always among them, and so are pairs such as `{"name": "X-API-Key", "value":
  …}`. Where such a value stands elsewhere, in an answer for example, it is replaced too, if it has at least
  `MIN_VALUE_CHARS` characters; that of a field which was not named by the user must also be more than a short word.
- The raw text of a message is removed whole if a hidden field may stand in it: where its value ends is known only after
  the text was read, and perhaps it could not be read.
"""

import json
import re
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import fields, is_dataclass, replace
from functools import cache
from typing import Any, TypeVar, cast, get_type_hints

from toolspeak.models.cassettes.redaction import Redactor
from toolspeak.page.document import RunDocument
from toolspeak.page.key_forms import hide_keys, is_password_name, is_secret_name
from toolspeak.values import codec
from toolspeak.values.events import CallMalformed, Fact, Guided, NestedFact
from toolspeak.values.messages import Media, Message, Result, Text, ToolCall, ToolResult

HIDDEN = "<hidden>"
"""What is written in the place of a hidden field."""

MAX_NESTING = 100
"""Levels of JSON that are followed. Deeper JSON in a text is searched as the text that it is."""

MAX_FIELD_CHARS = 200
"""A longer word in a text is not taken for the name of a field."""

WORD = re.compile(rf"\b\w{{1,{MAX_FIELD_CHARS}}}\b")
PART = re.compile(r"\w+|\W")
FIELD_USE = re.compile(r"(?<![\w.-])([\w.-]{2,128})(?![\w.-])[\s\"'\\`*\]]{0,12}[:=<>|]")
"""A name that a value may follow, in any of the forms in which models write calls."""

TITLE_FIELDS = ("name", "key", "header", "variable", "field", "option")
VALUE_FIELDS = frozenset({"value", "values", "val", "content", "text"})
"""Fields that hold the name and the value of something else, as lists of headers and variables have them."""

MAX_PART_STEPS = 20
"""Steps in the tree of hidden values for each part of a text; ordinary texts take about one."""

MIN_WORD_CHARS = 12
"""A shorter word without digits and marks, in a field that is hidden because of its name, may be any word elsewhere."""

MIN_VALUE_CHARS = 4
"""A shorter value of a hidden field is replaced in the field alone: elsewhere it may be any word."""

IDENTIFIERS = frozenset(
    {"id", "call_id", "result_id", "run_id", "name", "tool", "agent", "model", "dialect", "mime", "vendor", "call"}
)
"""Fields of facts that name something and hold no text."""

DATA_FIELDS = frozenset({"output", "data"})
"""Fields of facts that hold JSON data of tools and vendors."""

SCHEMA_FIELDS = frozenset({"parameters", "returns"})
"""Fields of facts that hold schemas: a name in a schema is that of a parameter, and no value stands there."""

Record = TypeVar("Record")


def redact_document(document: RunDocument, secrets: Iterable[str], hidden: Collection[str]) -> RunDocument:
    """Return a run without keys and without the named fields of arguments and results, as a document of its own."""
    redactor = FactRedactor(secrets, hidden)
    redacted = RunDocument()
    redacted.go_on_from(document.origin)
    for timed, fact in zip(document.facts, redactor.redact([each.fact for each in document.facts]), strict=True):
        redacted.add(fact, timed.at)
    redacted.started, redacted.failure = document.started, redactor.redact_text(document.failure)
    return redacted


class FactRedactor:
    """Removes keys and hidden fields from facts."""

    def __init__(self, secrets: Iterable[str], hidden: Collection[str]) -> None:
        self._keys = Redactor(secrets)
        self._hidden = frozenset(name.casefold() for name in hidden)
        self._values = WordReplacer(())

    def redact(self, facts: Sequence[Fact]) -> list[Fact]:
        """Return the facts without what must not be shown."""
        self._values = WordReplacer({value for fact in facts for value in self._list_hidden_values(fact)})
        return [self._change(fact) for fact in facts]

    def redact_text(self, text: str) -> str:
        """Return a text without keys and without the values of hidden fields."""
        return self._values.replace(hide_keys(self._keys.redact(text)))

    def is_hidden(self, name: str) -> bool:
        """Whether a field of arguments or results must not be shown."""
        return name.casefold() in self._hidden or is_secret_name(name)

    # What is hidden

    def _list_hidden_values(self, value: Any) -> Iterator[str]:
        """Yield the values of hidden fields that are replaced wherever they stand."""
        for data in _list_data(value):
            for name, found in self._find_hidden(data):
                text = found if isinstance(found, str) else json.dumps(found)
                is_plain = text.isalpha() and len(text) < MIN_WORD_CHARS and not is_password_name(name)
                if len(text) < MIN_VALUE_CHARS or isinstance(found, bool):
                    continue
                if name.casefold() in self._hidden or not is_plain:
                    yield text

    def _find_hidden(self, data: Any) -> Iterator[tuple[str, Any]]:
        """Yield the values in JSON data that stand in hidden fields, each with the name of its field."""
        if isinstance(data, dict):
            named = cast("dict[str, Any]", data)
            for name, each in named.items():
                if (title := self._find_title(named, name)) is not None:
                    yield from ((title, leaf) for leaf in _list_leaves(each))
                else:
                    yield from self._find_hidden(each)
        elif isinstance(data, list):
            for each in cast("list[Any]", data):
                yield from self._find_hidden(each)

    def _find_title(self, data: Mapping[str, Any], name: str) -> str | None:
        """Return the name that makes a field of an object hidden, its own or that in another field; else None."""
        if self.is_hidden(name):
            return name
        titles = (data.get(each) for each in TITLE_FIELDS) if name in VALUE_FIELDS else ()
        return next((each for each in titles if isinstance(each, str) and self.is_hidden(each)), None)

    def _has_hidden(self, text: str) -> bool:
        """Whether a hidden field may stand in a text that a model wrote."""
        if self._hidden and not self._hidden.isdisjoint(word.casefold() for word in WORD.findall(text)):
            return True
        return any(is_secret_name(found[1]) for found in FIELD_USE.finditer(text))

    # Facts without it

    def _change(self, value: Record) -> Record:
        """Return a fact, a message or a part without what must not be shown."""
        changes: dict[str, Any] = {}
        for each in fields(value):  # pyright: ignore[reportArgumentType]  # a dataclass, which no type can say
            before = getattr(value, each.name)
            after = self._change_field(value, each.name, before)
            if after is not before:
                changes[each.name] = after
        return replace(value, **changes) if changes else value  # pyright: ignore[reportArgumentType, reportUnknownVariableType, reportCallIssue]  # as above

    def _change_field(self, owner: object, name: str, value: Any) -> Any:
        match owner, name, value:
            case (Message(), "raw", _) if value is not None and self._has_hidden(value.text):
                return None
            case (CallMalformed(), "raw", _) if self._has_hidden(value):
                return HIDDEN
            case (Guided(), "note", Text()) if self._has_hidden(value.text):  # it repeats the beginnings of results
                return Text(text=HIDDEN)
            case (ToolCall(), "arguments", _):
                return codec.decode_argument(self._change_json(codec.encode_argument(value)))
            case (Result(), "content", _):
                return tuple(self._change_content(part) for part in value)
            case (Media(mime=mime), "data", bytes()) if mime.startswith("text/"):
                return self.redact_text(value.decode("utf-8", "replace")).encode()
            case _ if name in DATA_FIELDS and not isinstance(value, bytes):
                return self._change_json(value)
            case _ if name in SCHEMA_FIELDS:
                return self._change_json(value, hides_fields=False)
            case (_, _, str()):
                is_text = name not in IDENTIFIERS and _holds_text(type(owner), name)
                return self.redact_text(value) if is_text else value
            case (_, _, tuple()):
                items = cast("tuple[Any, ...]", value)
                changed = tuple(self._change(each) if _is_record(each) else each for each in items)
                return items if all(new is old for new, old in zip(changed, items, strict=True)) else changed
            case _:
                return self._change(value) if _is_record(value) else value

    def _change_content(self, part: Text | Media) -> Text | Media:
        """Return a part of a result as the model was shown it: a text that is mostly JSON."""
        if isinstance(part, Text) and (data := _read_json(part.text)) is not None:
            return replace(part, text=json.dumps(self._change_json(data), ensure_ascii=False))
        return self._change(part)

    def _change_json(self, data: Any, *, hides_fields: bool = True) -> Any:
        def change(value: Any) -> Any:
            return self._change_json(value, hides_fields=hides_fields)

        if isinstance(data, str):
            inner = _read_json(data)
            return self.redact_text(data) if inner is None else json.dumps(change(inner), ensure_ascii=False)
        if isinstance(data, Mapping):
            named = cast("Mapping[str, Any]", data)
            return {
                self.redact_text(name): HIDDEN if hides_fields and self._find_title(named, name) else change(each)
                for name, each in named.items()
            }
        if isinstance(data, list | tuple):
            return [change(each) for each in cast("list[Any]", data)]
        return data


class WordReplacer:
    """Replaces words where they stand alone, the longest of those that fit.

    A run may hide thousands of values, so the words are a tree of their parts (`PART`): the work at each place of a
    text is that of one word. Words and texts can be made so that every place begins a long word and none ends it:
    beyond `MAX_PART_STEPS` for each part of a text, its rest is hidden as a whole.
    """

    def __init__(self, words: Iterable[str]) -> None:
        self._tree: dict[str, Any] = {}
        for word in words:
            node = self._tree
            for part in PART.findall(word):
                node = node.setdefault(part, {})
            node[""] = True  # no part is empty: a word ends here

    def replace(self, text: str) -> str:
        """Return a text with `HIDDEN` in the place of each word."""
        if not self._tree:
            return text
        parts = PART.findall(text)
        replaced: list[str] = []
        place = 0
        steps = MAX_PART_STEPS * len(parts)
        while place < len(parts) and steps > 0:
            end, taken = self._find_end(parts, place)
            steps -= taken
            replaced.append(parts[place] if end is None else HIDDEN)
            place = place + 1 if end is None else end
        return "".join(replaced) if place >= len(parts) else f"{''.join(replaced)}{HIDDEN}"

    def _find_end(self, parts: Sequence[str], start: int) -> tuple[int | None, int]:
        """Return the place behind the longest word that begins at a place, None if none does, and the steps it took."""
        node: Any = self._tree.get(parts[start])
        place, end = start, None
        while node is not None:
            place += 1
            if "" in node:
                end = place
            node = node.get(parts[place]) if place < len(parts) else None
        return end, place - start + 1


def _list_data(value: Any) -> Iterator[Any]:
    """Yield the JSON data in a fact that may have hidden fields: arguments and results."""
    match value:
        case ToolCall(arguments=arguments):
            yield codec.encode_argument(arguments)
        case ToolResult(output=output):
            yield _read_json(output) if isinstance(output, str) else output
        case Result(content=content, output=output):
            yield _read_json(output) if isinstance(output, str) else output
            yield from (_read_json(part.text) for part in content if isinstance(part, Text))
        case NestedFact(event=event):
            yield from _list_data(event)
        case tuple():
            for each in cast("tuple[Any, ...]", value):
                yield from _list_data(each)
        case _ if _is_record(value):
            for each in fields(value):
                yield from _list_data(getattr(value, each.name))
        case _:
            pass


def _read_json(text: str) -> Any:
    """Return an object or a list that a text holds as JSON; None if it holds something else."""
    if not text.lstrip().startswith(("{", "[")):
        return None
    try:
        data = json.loads(text)
    except (ValueError, RecursionError):
        return None
    return None if _is_deep(data) else data


def _is_deep(data: Any) -> bool:
    """Whether JSON is nested more deeply than it is followed."""
    level: list[Any] = [data]
    for _ in range(MAX_NESTING):
        if not level:
            return False
        level = [each for value in level for each in _list_inner(value)]
    return bool(level)


def _list_inner(value: Any) -> Iterable[Any]:
    if isinstance(value, dict):
        return cast("dict[str, Any]", value).values()
    return cast("list[Any]", value) if isinstance(value, list) else ()


def _list_leaves(value: Any) -> Iterator[Any]:
    if isinstance(value, dict):
        for each in cast("dict[str, Any]", value).values():
            yield from _list_leaves(each)
    elif isinstance(value, list):
        for each in cast("list[Any]", value):
            yield from _list_leaves(each)
    elif value is not None:
        yield value


def _is_record(value: Any) -> bool:
    return is_dataclass(value) and not isinstance(value, type)


@cache
def _holds_text(kind: type[Any], name: str) -> bool:
    """Whether a field of a class may hold any text, and not one of a few fixed words."""
    return get_type_hints(kind).get(name) in (str, str | None)
