"""Removes keys and chosen fields from the facts of a run, before the run is given to somebody else.

The facts are changed before anything is drawn from them, so that no view can show what was removed:

- Keys of this environment, and words in the usual forms of keys, are replaced wherever they stand.
- The value of a field that must not be shown is replaced in arguments and results, at any depth. Fields whose names
  say that they hold a key or a password are always among them. Where such a value stands elsewhere, in an answer for
  example, it is replaced too, if it has at least `MIN_VALUE_CHARS` characters.
- The raw text of a message is removed whole if a hidden field may stand in it: where its value ends is known only after
  the text was read, and perhaps it could not be read.
"""

import json
import re
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import fields, is_dataclass, replace
from functools import cache
from typing import Any, TypeVar, cast, get_type_hints

from toolspeak.models.cassettes.redaction import PLACEHOLDER, Redactor
from toolspeak.page.document import RunDocument
from toolspeak.values import codec
from toolspeak.values.events import CallMalformed, Fact, NestedFact
from toolspeak.values.messages import Media, Message, Result, Text, ToolCall, ToolResult

HIDDEN = "<hidden>"
"""What is written in the place of a hidden field."""

TOKEN_PREFIXES = (
    *("sk", "pk", "rk", "gsk", "xai", "hf"),
    *("ghp", "gho", "ghs", "github_pat", "glpat", "xoxa", "xoxb", "xoxp"),
)

KEY_FORMS = {
    **{
        f"{prefix}{mark}": re.compile(rf"\b{prefix}{mark}[A-Za-z0-9_-]{{16,}}")
        for prefix in TOKEN_PREFIXES
        for mark in "-_"
    },
    "AKIA": re.compile(r"\bAKIA[0-9A-Z]{16}\b"),
    "AIza": re.compile(r"\bAIza[0-9A-Za-z_-]{30,}"),
    "Bearer ": re.compile(r"(?<=Bearer )[A-Za-z0-9._~+/-]{16,}=*"),
    "eyJ": re.compile(r"\beyJ[A-Za-z0-9_-]{10,}\.[A-Za-z0-9_-]{10,}\.[A-Za-z0-9_-]{10,}"),
    "PRIVATE KEY-": re.compile(
        r"-----BEGIN [A-Z ]{0,40}PRIVATE KEY-----.*?-----END [A-Z ]{0,40}PRIVATE KEY-----", re.DOTALL
    ),
}
"""The forms of keys that are told from other words by their beginning, each with words that stand in every such key: a
text without these words is not searched."""

SECRET_FIELD = re.compile(
    r"(pass(word|wd|phrase)|secret|api_?key|access_?key|private_?key|(access|auth|refresh|session)_?token|authorization)$",
    re.IGNORECASE,
)
"""How the names of fields end that are always hidden."""

MAX_FIELD_CHARS = 200
"""A longer word in a text is not taken for the name of a field."""

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
    for timed, fact in zip(document.facts, redactor.redact([each.fact for each in document.facts]), strict=True):
        redacted.add(fact, timed.at)
    redacted.started, redacted.failure = document.started, redactor.redact_text(document.failure)
    return redacted


class FactRedactor:
    """Removes keys and hidden fields from facts."""

    def __init__(self, secrets: Iterable[str], hidden: Collection[str]) -> None:
        self._keys = Redactor(secrets)
        self._hidden = frozenset(name.casefold() for name in hidden)
        self._values: re.Pattern[str] | None = None

    def redact(self, facts: Sequence[Fact]) -> list[Fact]:
        """Return the facts without what must not be shown."""
        values = {value for fact in facts for value in self._list_hidden_values(fact)}
        self._values = _compile_words(values) if values else None
        return [self._change(fact) for fact in facts]

    def redact_text(self, text: str) -> str:
        """Return a text without keys and without the values of hidden fields."""
        text = self._keys.redact(text)
        for words, form in KEY_FORMS.items():
            if words in text:
                text = form.sub(PLACEHOLDER, text)
        return text if self._values is None else self._values.sub(HIDDEN, text)

    def is_hidden(self, name: str) -> bool:
        """Whether a field of arguments or results must not be shown."""
        return name.casefold() in self._hidden or SECRET_FIELD.search(name) is not None

    # What is hidden

    def _list_hidden_values(self, value: Any) -> Iterator[str]:
        """Yield the values of hidden fields that are replaced wherever they stand."""
        for data in _list_data(value):
            for found in self._find_hidden(data):
                text = found if isinstance(found, str) else json.dumps(found)
                if len(text) >= MIN_VALUE_CHARS and not isinstance(found, bool):
                    yield text

    def _find_hidden(self, data: Any) -> Iterator[Any]:
        """Yield the values in JSON data that stand in hidden fields."""
        if isinstance(data, dict):
            for name, each in cast("dict[str, Any]", data).items():
                yield from _list_leaves(each) if self.is_hidden(name) else self._find_hidden(each)
        elif isinstance(data, list):
            for each in cast("list[Any]", data):
                yield from self._find_hidden(each)

    def _has_hidden(self, text: str) -> bool:
        """Whether a hidden field may stand in a text that a model wrote."""
        return any(self.is_hidden(word) for word in set(re.findall(rf"\b\w{{1,{MAX_FIELD_CHARS}}}\b", text)))

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
            return {
                self.redact_text(name): HIDDEN if hides_fields and self.is_hidden(name) else change(each)
                for name, each in cast("Mapping[str, Any]", data).items()
            }
        if isinstance(data, list | tuple):
            return [change(each) for each in cast("list[Any]", data)]
        return data


def _compile_words(words: Iterable[str]) -> re.Pattern[str]:
    """Return a pattern that finds these words where they stand alone, the longest of those that fit.

    A run may hide thousands of values, so the words are grouped by their first letters. At most places of a text none
    of these letters stands, which is found out fast because nothing comes before them in the pattern.
    """
    groups: dict[str, list[str]] = {}
    for word in sorted(words, key=len, reverse=True):
        groups.setdefault(word[0], []).append(re.escape(word[1:]))
    choices = (rf"{re.escape(first)}(?<!\w.)(?:{'|'.join(rest)})" for first, rest in groups.items())
    return re.compile(rf"(?:{'|'.join(choices)})(?!\w)", re.DOTALL)


def _list_data(value: Any) -> Iterator[Any]:
    """Yield the JSON data in a fact that may have hidden fields: arguments and results."""
    match value:
        case ToolCall(arguments=arguments):
            yield codec.encode_argument(arguments)
        case ToolResult(output=output):
            yield _read_json(output) if isinstance(output, str) else output
        case Result(content=content):
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
        return json.loads(text)
    except (ValueError, RecursionError):
        return None


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
