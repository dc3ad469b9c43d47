"""`WorkBudget`: how much work may be done with one schema, one request or one value, by all who work with it together.

Schemas and values are written by strangers: servers, clients, models. A walker that counts for itself lets ten walkers
do ten times the work, and one that starts a count at each level does it for each level. So a budget is made once, where
a schema or a value enters, and passed on to whoever walks: notations, grammars, checks, coercion, references, patterns.
None of them makes its own.

A budget grows with the size of what it is made for, so that work is linear in it. What is measured is counted steps,
never time: the same input ends in the same way on every machine.
"""

from typing import Any, Self, cast

FREE_STEPS = 200_000
"""Steps that the work on anything may take, however small."""

STEPS_PER_NODE = 50
"""Steps allowed in addition for each JSON value in what the work is done on."""


class TooManySteps(Exception):
    """The work on a schema or a value took more steps than its size allows."""


class WorkBudget:
    """Counts the steps of all the work on some JSON values, and ends it where there are too many.

    Attributes:
        steps: The steps taken so far.
        limit: The steps that are allowed. The values are measured only when the free steps are spent.
    """

    __slots__ = ("_sized", "limit", "steps")

    def __init__(self, *sized: Any) -> None:
        """Make the budget for work on `sized`, the JSON values by whose size it grows."""
        self.steps = 0
        self.limit = FREE_STEPS
        self._sized = [*sized]

    def spend(self, steps: int = 1) -> None:
        """Count steps. Raises `TooManySteps` if they are more than the size of the values allows."""
        self.steps += steps
        if self.steps > self.limit:
            self.extend()

    def include(self, value: Any) -> Self:
        """Return the budget, which grows by the size of another value. That is measured when steps are short."""
        self._sized.append(value)
        return self

    def allow(self, nodes: int) -> None:
        """Raise the limit for values that have arrived since."""
        self.limit += STEPS_PER_NODE * nodes

    def extend(self) -> None:
        """Measure the values, and raise `TooManySteps` unless they are so large that more steps are allowed."""
        sized, self._sized = self._sized, []
        self.limit += STEPS_PER_NODE * sum(map(count_nodes, sized))
        if self.steps > self.limit:
            raise TooManySteps


def count_nodes(value: Any) -> int:
    """Count the values in a JSON value; a part that occurs twice counts once."""
    met: set[int] = set()
    waiting = [value]
    count = 0
    while waiting:
        part = waiting.pop()
        count += 1
        if isinstance(part, dict | list) and id(cast("Any", part)) not in met:
            met.add(id(cast("Any", part)))
            waiting += cast("list[Any]", part.values() if isinstance(part, dict) else part)
    return count
