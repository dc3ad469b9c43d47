"""What may be set, and what each setting takes. One table serves files and the environment.

An error names the place, the setting, what it takes and, for a name nobody knows, the nearest one. It repeats a wrong
value, except where that may be a key somebody put into the wrong place.
"""

import re
from collections.abc import Callable, Mapping
from typing import Any, TypeAlias, cast
from urllib.parse import urlsplit

from toolspeak._frozen import frozen
from toolspeak.errors import UsageError
from toolspeak.validation import format_key, format_value, nearest

Check: TypeAlias = Callable[[Any], Any]
"""Gives the value a setting has, and raises `ValueError` or `TypeError` for what cannot be one."""


@frozen
class Kind:
    """What a setting takes: in words, from a file, and from the text of an environment variable."""

    takes: str
    check: Check
    from_text: Check = str


def _text(value: Any) -> str:
    if not isinstance(value, str) or not value.strip():
        raise ValueError
    return value.strip()


def _texts(value: Any) -> tuple[str, ...]:
    if not isinstance(value, list):
        raise TypeError
    return tuple(_text(each) for each in cast("list[Any]", value))


def _count(value: Any) -> int:
    if not isinstance(value, int) or isinstance(value, bool) or value < 1:
        raise ValueError
    return value


def _seconds(value: Any) -> float:
    if not isinstance(value, int | float) or isinstance(value, bool) or not 0 < value < float("inf"):
        raise ValueError
    return float(value)


def _or_none(check: Check) -> Check:
    return lambda value: None if value == "none" else check(value)


def _one_of(*options: str) -> Kind:
    def check(value: Any) -> str:
        if value not in options:
            raise ValueError
        return value

    return Kind(takes=f"one of {', '.join(options)}", check=check)


def _base_url(value: Any) -> str:
    parts = urlsplit(_text(value))
    # A password or a query is where keys hide, and these would be shown.
    if parts.scheme not in ("http", "https") or not parts.hostname or parts.username or parts.query or parts.fragment:
        raise ValueError
    return _text(value).rstrip("/")


def _variable(value: Any) -> str:
    name = _text(value)
    looks_like_a_key = len(name) > 19 and "_" not in name and any(letter.isdigit() for letter in name)
    if not re.fullmatch(r"[A-Za-z_][A-Za-z0-9_]{0,63}", name) or looks_like_a_key:
        raise ValueError
    return name


TEXT = Kind(takes="a text", check=_text)
TARGETS = Kind(
    takes="a list of targets (between commas, in the environment)",
    check=_texts,
    from_text=lambda text: [each for each in text.split(",") if each.strip()],
)
COUNT = Kind(takes="a whole number, at least 1", check=_count, from_text=int)
MOST = Kind(takes='a whole number, at least 1, or "none"', check=_or_none(_count), from_text=int)
TIME = Kind(takes='a number above 0, or "none"', check=_or_none(_seconds), from_text=float)
ADDRESS = Kind(takes='an address such as "http://127.0.0.1:8000/v1", without user, password or query', check=_base_url)
VARIABLE = Kind(takes="the name of an environment variable that holds the key, never the key itself", check=_variable)

KEYS: Mapping[str, Kind] = {
    "model": TEXT,
    "dialect": TEXT,
    "tools": TARGETS,
    "approve": _one_of("never", "ask", "always"),
    "limits.turns": MOST,
    "limits.calls": MOST,
    "limits.tokens": MOST,
    "limits.seconds": TIME,
    "limits.repeats": MOST,
    "limits.concurrent": COUNT,
    "local.threads": COUNT,
    "local.context": COUNT,
    "local.slots": COUNT,
}
"""All that can be set, but for endpoints, whose names are the user's."""

SECTIONS = ("limits", "local", "endpoints")

ENDPOINT_KEYS: Mapping[str, Kind] = {
    "base_url": ADDRESS,
    "api": _one_of("openai", "anthropic"),
    "key_env": VARIABLE,
    "dialect": TEXT,
    "model": TEXT,
}

_SECRETS = {"key", "apikey", "token", "secret", "password", "bearer"}

_TAKEN = {"local", "http", "https"}


def checked(kind: Kind, name: str, value: Any, where: str) -> Any:
    """The value of a setting, or an error that says what it takes."""
    try:
        return kind.check(value)
    except (ValueError, TypeError):
        got = "" if kind is VARIABLE or kind is ADDRESS else f", not {format_value(value)}"
        raise UsageError(f"{where}: {name} takes {kind.takes}{got}") from None


def from_table(table: Mapping[str, Any], where: str) -> dict[str, Any]:
    """What a table of a file sets, by the full names of the settings; endpoints as mappings of their keys."""
    values: dict[str, Any] = {}
    for name, value in table.items():
        if name == "endpoints":
            values |= _endpoints(_table(value, name, where), where)
        elif name in SECTIONS:
            values |= _section(name, _table(value, name, where), where)
        elif name in KEYS and "." not in name:
            values[name] = checked(KEYS[name], name, value, where)
        else:
            raise _unknown(name, [*(key for key in KEYS if "." not in key), *SECTIONS], where)
    return values


def _section(section: str, table: Mapping[str, Any], where: str) -> dict[str, Any]:
    values: dict[str, Any] = {}
    for inner, value in table.items():
        name = f"{section}.{inner}"
        if name not in KEYS:
            raise _unknown(name, [key for key in KEYS if key.startswith(f"{section}.")], where)
        values[name] = checked(KEYS[name], name, value, where)
    return values


def _endpoints(table: Mapping[str, Any], where: str) -> dict[str, Any]:
    values: dict[str, Any] = {}
    for name, value in table.items():
        full = f"endpoints.{name}"
        if not re.fullmatch(r"[A-Za-z][A-Za-z0-9_.-]{0,39}", name) or name.lower() in _TAKEN:
            raise UsageError(
                f"{where}: an endpoint cannot be named {format_value(name)}: a name begins with a letter, has at most "
                f"40 letters, digits, '.', '-' and '_', and is not one of {', '.join(sorted(_TAKEN))}"
            )
        values[full] = _one_endpoint(full, _table(value, full, where), where)
    return values


def _one_endpoint(full: str, table: Mapping[str, Any], where: str) -> dict[str, Any]:
    for key in table:
        if key not in ENDPOINT_KEYS:
            if key.replace("_", "").replace("-", "").casefold() in _SECRETS:
                raise UsageError(
                    f"{where}: {full}.{format_key(key)}: a key does not belong into a file; put it into an environment "
                    "variable, and say the name of that variable as key_env"
                )
            raise _unknown(f"{full}.{key}", [f"{full}.{each}" for each in ENDPOINT_KEYS], where)
    if "base_url" not in table:
        raise UsageError(f"{where}: {full} has no base_url; it takes {ADDRESS.takes}")
    return {key: checked(ENDPOINT_KEYS[key], f"{full}.{key}", value, where) for key, value in table.items()}


def _table(value: Any, name: str, where: str) -> Mapping[str, Any]:
    if not isinstance(value, dict):
        raise UsageError(f"{where}: {name} is a table, written as [{name}], not {format_value(value)}")
    return cast("dict[str, Any]", value)


def _unknown(name: str, known: list[str], where: str) -> UsageError:
    hint = f"; did you mean {similar}?" if (similar := nearest(name, known)) else "."
    return UsageError(f"{where}: there is no setting {format_key(name)}{hint} There are: {', '.join(known)}")
