"""Tables of cases: many cases in one test, and how many of them `make test` runs.

A test for each case of a long table costs more than the case: pytest collects it in every process, and sets it up and
tears it down. So a table is one test whose cases are subtests, each reported by its name if it fails.
"""

import inspect
import os
from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import wraps
from typing import Any, TypeVar

import pytest

C = TypeVar("C")

RUNS_ALL = os.environ.get("TOOLSPEAK_TESTS") in ("all", "rest")
"""Whether this is `make test-all`, or `make test-rest`."""


def sample(cases: Iterable[C], count: int) -> list[C]:
    """Return all cases in `make test-all`, and otherwise `count` of them, spread evenly, the first and last included."""
    known = list(cases)
    if RUNS_ALL or len(known) <= count:
        return known
    return [known[round(place * (len(known) - 1) / (count - 1))] for place in range(count)]


def each_case(
    names: str, cases: Iterable[Any] | Mapping[str, Any], *, ids: Callable[[Any], str] | Sequence[str] | None = None
) -> Callable[[Callable[..., None]], Callable[..., None]]:
    """Run a test for each case as a subtest: as `pytest.mark.parametrize`, but one test, with fixtures that it shares.

    Args:
        names: The parameters of the test that a case gives, separated by commas.
        cases: The cases: values, or tuples of values for several names; in a mapping, by their ids.
        ids: The names of the cases, or what makes one of a case.
    """
    parameters = [name.strip() for name in names.split(",")]
    if isinstance(cases, Mapping):
        labels, rows = [str(each) for each in cases], list(cases.values())
    else:
        rows = list(cases)
        labels = list(ids) if isinstance(ids, Sequence) else [str((ids or repr)(row))[:120] for row in rows]

    def decorate(test: Callable[..., None]) -> Callable[..., None]:
        signature = inspect.signature(test)
        fixtures = [each for name, each in signature.parameters.items() if name not in parameters]
        takes_subtests = any(each.name == "subtests" for each in fixtures)

        @wraps(test)
        def run_cases(subtests: pytest.Subtests, **shared: Any) -> None:
            if takes_subtests:
                shared["subtests"] = subtests
            assert rows, "the table is empty"
            for label, row in zip(labels, rows, strict=True):
                values = (row,) if len(parameters) == 1 else row
                with subtests.test(label):
                    test(**shared, **dict(zip(parameters, values, strict=True)))

        own = [] if takes_subtests else [inspect.Parameter("subtests", inspect.Parameter.POSITIONAL_OR_KEYWORD)]
        del run_cases.__wrapped__
        run_cases.__signature__ = signature.replace(parameters=[*own, *fixtures])  # type: ignore[attr-defined]  # pytest reads it
        return run_cases

    return decorate
