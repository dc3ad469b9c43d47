"""The settings that exist, and the values that each one takes. One table serves files and the environment.

An error names the place, the setting, the values it takes and, for an unknown name, the nearest known one. It repeats
a wrong value, except where the value may be a secret key that somebody put into the wrong place.
"""

import re
from collections.abc import Callable, Mapping
from typing import Any, TypeAlias, cast
from urllib.parse import urlsplit

from toolspeak.values.errors import UsageError
from toolspeak.values.frozen import frozen
from toolspeak.values.validation import format_key, format_value, nearest

ValueCheck: TypeAlias = Callable[[Any], Any]
"""Takes a value as it was written and returns the value of the setting; raises `ValueError` or `TypeError`."""


@frozen
class SettingType:
    """The type of a setting's value.

    Attributes:
        takes: The values that are allowed, in words.
        check: Turns a value from a file into the setting's value.
        from_text: Turns the text of an environment variable into a value such as a file would hold.
    """

    takes: str
    check: ValueCheck
    from_text: ValueCheck = str


def _require(fits: object, value: Any) -> Any:
    if not fits:
        raise ValueError
    return value


def _check_text(value: Any) -> str:
    return _require(isinstance(value, str) and bool(value.strip()), value).strip()


def _check_texts(value: Any) -> tuple[str, ...]:
    return tuple(map(_check_text, _require(isinstance(value, list), value)))


def _check_count(value: Any) -> int:
    return _require(isinstance(value, int) and not isinstance(value, bool) and value >= 1, value)


def _check_positive_number(value: Any) -> float:
    is_number = isinstance(value, int | float) and not isinstance(value, bool)
    return float(_require(is_number and 0 < value < float("inf"), value))


def _read_switch(text: str) -> bool:
    switches = {"true": True, "on": True, "yes": True, "1": True, "false": False, "off": False, "no": False, "0": False}
    return _require(text.casefold() in switches, switches.get(text.casefold()))


def _or_none(check: ValueCheck) -> ValueCheck:
    return lambda value: None if value == "none" else check(value)


def _one_of(*options: str) -> SettingType:
    return SettingType(takes=f"one of {', '.join(options)}", check=lambda value: _require(value in options, value))


def _check_base_url(value: Any) -> str:
    parts = urlsplit(_check_text(value))
    # A password or a query may hold a key, and `toolspeak config` would print it.
    is_plain = not (parts.username or parts.query or parts.fragment)
    return _require(parts.scheme in ("http", "https") and parts.hostname and is_plain, value).strip().rstrip("/")


def _check_variable_name(value: Any) -> str:
    name = _check_text(value)
    looks_like_a_key = len(name) > 19 and "_" not in name and any(letter.isdigit() for letter in name)
    return _require(re.fullmatch(r"[A-Za-z_][A-Za-z0-9_]{0,63}", name) and not looks_like_a_key, name)


TEXT = SettingType(takes="a string", check=_check_text)
TARGETS = SettingType(
    takes="a list of targets (separated by commas in the environment)",
    check=_check_texts,
    from_text=lambda text: [each for each in text.split(",") if each.strip()],
)
SWITCH = SettingType(
    takes="true or false", check=lambda value: _require(isinstance(value, bool), value), from_text=_read_switch
)
COUNT = SettingType(takes="a whole number, at least 1", check=_check_count, from_text=int)
COUNT_OR_NONE = SettingType(takes='a whole number, at least 1, or "none"', check=_or_none(_check_count), from_text=int)
NUMBER_OR_NONE = SettingType(
    takes='a number above 0, or "none"', check=_or_none(_check_positive_number), from_text=float
)
BASE_URL = SettingType(
    takes='an address such as "http://127.0.0.1:8000/v1", without user, password or query', check=_check_base_url
)
THINKING = SettingType(
    takes='true, false, "low", "medium" or "high"',
    check=lambda value: _require(isinstance(value, bool) or value in ("low", "medium", "high"), value),
)
ADAPTER = SettingType(takes='"built-in", "none" or the path of a GGUF file', check=_or_none(_check_text))
VARIABLE_NAME = SettingType(
    takes="the name of an environment variable that holds the key, never the key itself", check=_check_variable_name
)

SETTINGS: Mapping[str, SettingType] = {
    "model": TEXT,
    "dialect": TEXT,
    "tools": TARGETS,
    "tool_budget": COUNT_OR_NONE,
    "code": SWITCH,
    "approve": _one_of("never", "ask", "always"),
    "log": SWITCH,
    "limits.turns": COUNT_OR_NONE,
    "limits.calls": COUNT_OR_NONE,
    "limits.tokens": COUNT_OR_NONE,
    "limits.seconds": NUMBER_OR_NONE,
    "limits.repeats": COUNT_OR_NONE,
    "limits.concurrent": COUNT,
    "limits.cost": NUMBER_OR_NONE,
    "limits.context": COUNT_OR_NONE,
    "limits.result_tokens": COUNT_OR_NONE,
    "local.threads": COUNT,
    "local.context": COUNT,
    "local.slots": COUNT,
    "local.keep_minutes": NUMBER_OR_NONE,
    "local.keep_prompts_mb": NUMBER_OR_NONE,
    "local.adapter": ADAPTER,
}
"""Every setting but those of endpoints, whose names the user chooses."""

SECTIONS = ("limits", "local", "endpoints")

ENDPOINT_SETTINGS: Mapping[str, SettingType] = {
    "base_url": BASE_URL,
    "api": _one_of("openai", "anthropic", "openai-responses", "ollama", "gemini"),
    "key_env": VARIABLE_NAME,
    "dialect": TEXT,
    "model": TEXT,
    "num_ctx": COUNT,
    "think": THINKING,
}

_NAMES_OF_SECRETS = {"key", "apikey", "token", "secret", "password", "bearer"}

_RESERVED_ENDPOINT_NAMES = {"local", "http", "https"}


def check_value(setting: SettingType, name: str, value: Any, where: str) -> Any:
    """Return the value of a setting, such as `limits.turns`, as it was written in a file or variable.

    Raises `UsageError` if the setting does not take this value.
    """
    try:
        return setting.check(value)
    except (ValueError, TypeError):
        found = "" if setting is VARIABLE_NAME or setting is BASE_URL else f", not {format_value(value)}"
        raise UsageError(f"{where}: {name} takes {setting.takes}{found}") from None


def read_table(table: Mapping[str, Any], where: str) -> dict[str, Any]:
    """Return the settings in a TOML table by their full names. The value of an endpoint is a mapping of its settings.

    Raises:
        UsageError: The table has an unknown setting, or a value that a setting does not take.
    """
    values: dict[str, Any] = {}
    for name, value in table.items():
        if name == "endpoints":
            values |= _read_endpoints(_require_table(value, name, where), where)
        elif name in SECTIONS:
            values |= _read_section(name, _require_table(value, name, where), where)
        elif name in SETTINGS and "." not in name:
            values[name] = check_value(SETTINGS[name], name, value, where)
        else:
            raise _unknown_setting(name, [*(known for known in SETTINGS if "." not in known), *SECTIONS], where)
    return values


def _read_section(section: str, table: Mapping[str, Any], where: str) -> dict[str, Any]:
    values: dict[str, Any] = {}
    for key, value in table.items():
        name = f"{section}.{key}"
        if name not in SETTINGS:
            raise _unknown_setting(name, [known for known in SETTINGS if known.startswith(f"{section}.")], where)
        values[name] = check_value(SETTINGS[name], name, value, where)
    return values


def _read_endpoints(table: Mapping[str, Any], where: str) -> dict[str, Any]:
    values: dict[str, Any] = {}
    for name, value in table.items():
        full_name = f"endpoints.{name}"
        if not re.fullmatch(r"[A-Za-z][A-Za-z0-9_.-]{0,39}", name) or name.lower() in _RESERVED_ENDPOINT_NAMES:
            raise UsageError(
                f"{where}: an endpoint cannot be named {format_value(name)}: a name begins with a letter, has at most "
                f"40 letters, digits, '.', '-' and '_', and is not one of {', '.join(sorted(_RESERVED_ENDPOINT_NAMES))}"
            )
        values[full_name] = _read_endpoint(full_name, _require_table(value, full_name, where), where)
    return values


def _read_endpoint(full_name: str, table: Mapping[str, Any], where: str) -> dict[str, Any]:
    for key in table:
        if key not in ENDPOINT_SETTINGS:
            if key.replace("_", "").replace("-", "").casefold() in _NAMES_OF_SECRETS:
                raise UsageError(
                    f"{where}: {full_name}.{format_key(key)}: a key does not belong in a file; put it into an "
                    "environment variable, and set key_env to the name of that variable"
                )
            raise _unknown_setting(f"{full_name}.{key}", [f"{full_name}.{each}" for each in ENDPOINT_SETTINGS], where)
    if "base_url" not in table:
        raise UsageError(f"{where}: {full_name} has no base_url; it takes {BASE_URL.takes}")
    if table.get("api") != "ollama" and (foreign := sorted({"num_ctx", "think"} & table.keys())):
        raise UsageError(f'{where}: {full_name}.{foreign[0]} is an option of Ollama\'s API; set api = "ollama" as well')
    return {
        key: check_value(ENDPOINT_SETTINGS[key], f"{full_name}.{key}", value, where) for key, value in table.items()
    }


def _require_table(value: Any, name: str, where: str) -> Mapping[str, Any]:
    if not isinstance(value, dict):
        raise UsageError(f"{where}: {name} is a table, written as [{name}], not {format_value(value)}")
    return cast("dict[str, Any]", value)


def _unknown_setting(name: str, known: list[str], where: str) -> UsageError:
    hint = f"; did you mean {similar}?" if (similar := nearest(name, known)) else "."
    return UsageError(f"{where}: there is no setting {format_key(name)}{hint} There are: {', '.join(known)}")
