"""The options `-o NAME=VALUE`: how the tokens of an answer are chosen."""

import json
from collections.abc import Callable, Iterable, Mapping
from typing import Any

from toolspeak.errors import UsageError
from toolspeak.models import Sampling
from toolspeak.validation import nearest

EXTRA = "extra."
"""What the name of a field begins with that only the endpoint knows."""


def _check_fraction(text: str) -> float:
    value = float(text)
    if not 0 <= value <= 1:
        raise ValueError
    return value


def _check_temperature(text: str) -> float:
    value = float(text)
    if not 0 <= value < float("inf"):
        raise ValueError
    return value


def _check_count(text: str) -> int:
    value = int(text)
    if value < 1:
        raise ValueError
    return value


_OPTIONS: Mapping[str, tuple[str, Callable[[str], Any]]] = {
    "temperature": ("a number from 0", _check_temperature),
    "max_tokens": ("a whole number, at least 1", _check_count),
    "top_p": ("a number from 0 to 1", _check_fraction),
    "seed": ("a whole number", int),
    "stop": ("a text", str),
}


def parse_sampling(pairs: Iterable[str], base: Sampling | None = None) -> Sampling:
    """Return the sampling that `NAME=VALUE` texts describe. The last of several values counts; `stop` takes them all.

    Args:
        pairs: The texts.
        base: The sampling that holds where the texts say nothing.

    Raises:
        UsageError: An option is unknown, or does not take its value. The error lists the options.
    """
    base = base or Sampling()
    values: dict[str, Any] = {}
    stop: list[str] = []
    extra: dict[str, Any] = dict(base.extra or {})
    for pair in pairs:
        name, equals, text = pair.partition("=")
        if not equals:
            raise UsageError(f"-o takes NAME=VALUE, such as temperature=0, not {pair!r}")
        if name.startswith(EXTRA) and len(name) > len(EXTRA):
            extra[name.removeprefix(EXTRA)] = _parse_json(text)
        elif name == "stop":
            stop.append(text)
        else:
            values[name] = _parse_value(name, text)
    return Sampling(
        max_tokens=values.get("max_tokens", base.max_tokens),
        temperature=values.get("temperature", base.temperature),
        top_p=values.get("top_p", base.top_p),
        seed=values.get("seed", base.seed),
        stop=tuple(stop) or base.stop,
        extra=extra or None,
    )


def _parse_value(name: str, text: str) -> Any:
    if name not in _OPTIONS:
        hint = f"did you mean {similar}? " if (similar := nearest(name, list(_OPTIONS))) else ""
        raise UsageError(
            f"-o {name}: there is no such option; {hint}there are {', '.join(_OPTIONS)}, and {EXTRA}NAME for a field "
            "that only your endpoint knows"
        )
    takes, check = _OPTIONS[name]
    try:
        return check(text)
    except ValueError:
        raise UsageError(f"-o {name} takes {takes}, not {text!r}") from None


def _parse_json(text: str) -> Any:
    """Return the JSON value of a text; a text that is not JSON is itself the value."""
    try:
        return json.loads(text)
    except (ValueError, RecursionError):
        return text
