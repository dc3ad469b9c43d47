"""What code says before it means anything: the nodes of expressions and statements.

Plain values (text, numbers, lists, dicts of such) stand for themselves; nodes are what has to be looked up, joined or
called. Nothing here is ever executed: `meaning.py` turns statements into calls.
"""

from typing import Any, TypeAlias

from toolspeak._frozen import frozen

Expression: TypeAlias = Any
"""A node, or a plain value that may hold nodes."""


@frozen
class Name:
    name: str


@frozen
class Member:
    """`base.key` or `base[key]`."""

    base: Expression
    key: Expression


@frozen
class Invocation:
    """`callee(…)`. A keyword of `None` is a spread of an object."""

    callee: Expression
    args: tuple[Expression, ...]
    keywords: tuple[tuple[str | None, Expression], ...] = ()


@frozen
class Joined:
    """A template: text and expressions, to be joined. `python`: whether true is written `True`."""

    parts: tuple[Expression, ...]
    python: bool = True


@frozen
class Formatted:
    """`{value:spec}` of a formatted string."""

    value: Expression
    spec: str


@frozen
class Doubtful:
    """A value that depends on something that only running would tell: `a or b`, `x if y else z`.

    Attributes:
        sure: What is evaluated in any case.
        unsure: What may be or not.
    """

    sure: tuple[Expression, ...]
    unsure: tuple[Expression, ...]


@frozen
class Operation:
    operator: str
    left: Expression
    right: Expression


@frozen
class Mapped:
    """An object literal of code: keys in order; a key of `None` is a spread."""

    items: tuple[tuple[str | None, Expression], ...]


@frozen
class Spread:
    """`*items` or `...items` in a list or in arguments."""

    value: Expression


@frozen
class Closure:
    """A function: its parameters (patterns) and its body."""

    parameters: tuple[Expression, ...]
    body: "tuple[Statement, ...]"


@frozen
class Comprehension:
    """`item for target in items`."""

    item: Expression
    target: Expression
    items: Expression


@frozen
class Unreadable:
    """An expression that is understood as one and not supported."""

    why: str


# Statements


@frozen
class ExprStatement:
    """An expression on its own."""

    value: Expression


@frozen
class Return:
    """`return value`."""

    value: Expression


@frozen
class Jump:
    """`break` or `continue`: how often a loop runs is not written out."""


@frozen
class Bind:
    """`target = value`; a target is a name or a pattern of such."""

    target: Expression
    value: Expression


@frozen
class Define:
    name: str
    closure: Closure


@frozen
class Loop:
    """A loop over items; `items` is None where there is no telling how often it runs."""

    target: Expression
    items: Expression
    body: "tuple[Statement, ...]"


@frozen
class If:
    """A condition. `always` is True for main guards and `if True`."""

    always: bool
    body: "tuple[Statement, ...]"


@frozen
class Import:
    names: tuple[str, ...]


@frozen
class Block:
    """Statements that simply follow each other: the body of a `try`, a bare block."""

    body: "tuple[Statement, ...]"


@frozen
class Nothing:
    """A statement that says nothing to us: a type, a `pass`, an unsupported line (then `why`)."""

    why: str = ""


Statement: TypeAlias = ExprStatement | Return | Jump | Bind | Define | Loop | If | Import | Block | Nothing
