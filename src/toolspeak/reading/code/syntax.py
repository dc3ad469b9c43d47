"""The syntax tree of code: the nodes of expressions and of statements.

Both unions are closed: `Expression` and `Statement` list every node, and the type checker holds the interpreter to all
of them. Nothing here is ever executed: `interpreter.py` turns statements into calls.
"""

from collections.abc import Iterable, Iterator
from dataclasses import fields
from typing import Any, TypeAlias, cast

from toolspeak.values.frozen import frozen

# Expressions


@frozen
class Constant:
    """A text, a number, true, false or null."""

    value: str | int | float | bool | None


@frozen
class Name:
    """The name of a variable, a function or a tool."""

    name: str


@frozen
class Member:
    """`base.key` or `base[key]`."""

    base: "Expression"
    key: "Expression"


@frozen
class Invocation:
    """`callee(…)`. A keyword without a name is an object that is unpacked."""

    callee: "Expression"
    args: "tuple[Expression, ...]"
    keywords: "tuple[tuple[str | None, Expression], ...]" = ()


@frozen
class Template:
    """Text and expressions that are joined to one text. `python`: whether true is written `True`."""

    parts: "tuple[Expression, ...]"
    python: bool = True


@frozen
class Formatted:
    """`{value:spec}` of a formatted string."""

    value: "Expression"
    spec: str


@frozen
class Dynamic:
    """An expression whose value only running the code would tell: `a or b`, `x if y else z`, `a < b`.

    Attributes:
        always: The operands that are evaluated in any case.
        maybe: The operands that may be evaluated or not.
    """

    always: "tuple[Expression, ...]"
    maybe: "tuple[Expression, ...]"


@frozen
class Operation:
    """Arithmetic, or text joined with `+`."""

    operator: str
    left: "Expression"
    right: "Expression"


@frozen
class ListLiteral:
    """A list, a tuple, or several targets of an assignment."""

    items: "tuple[Expression, ...]"


@frozen
class ObjectLiteral:
    """An object or a dict: pairs in order. A pair without a key is an object that is unpacked."""

    items: "tuple[tuple[str | None, Expression], ...]"


@frozen
class Spread:
    """`*value` or `...value` in a list or in arguments."""

    value: "Expression"


@frozen
class Closure:
    """A function: its parameters (names and patterns) and its body."""

    parameters: "tuple[Expression, ...]"
    body: "tuple[Statement, ...]"


@frozen
class Comprehension:
    """`item for target in items`."""

    item: "Expression"
    target: "Expression"
    items: "Expression"


@frozen
class Unsupported:
    """An expression that is recognised and not supported."""

    reason: str


Expression: TypeAlias = (
    Constant
    | Name
    | Member
    | Invocation
    | Template
    | Formatted
    | Dynamic
    | Operation
    | ListLiteral
    | ObjectLiteral
    | Spread
    | Closure
    | Comprehension
    | Unsupported
)


# Statements


@frozen
class ExprStatement:
    """An expression on its own."""

    value: Expression


@frozen
class Return:
    """`return value`, or a statement that ends the code: `raise`, `throw`."""

    value: Expression


@frozen
class Jump:
    """`break` or `continue`: how often the loop around it runs is not written out."""


@frozen
class Bind:
    """`target = value`. The target is a name, a member, or a pattern of these."""

    target: Expression
    value: Expression


@frozen
class Define:
    """The definition of a function."""

    name: str
    closure: Closure


@frozen
class Loop:
    """A loop over the items of an expression."""

    target: Expression
    items: Expression
    body: "tuple[Statement, ...]"


@frozen
class UnboundedLoop:
    """A `while`, a `switch`, a loop that counts: how often its body runs is not written out."""

    body: "tuple[Statement, ...]"


@frozen
class If:
    """A body under a condition. `always` is True for main guards and `if True`."""

    always: bool
    body: "tuple[Statement, ...]"


@frozen
class Handlers:
    """The handlers of a `try`. Hardly a model means their calls: they are refused, and change nothing."""

    body: "tuple[Statement, ...]"


@frozen
class Import:
    """`import a, b`."""

    names: tuple[str, ...]


@frozen
class Block:
    """Statements that follow each other: the body of a `try`, a bare block, several bindings in one."""

    body: "tuple[Statement, ...]"


@frozen
class NoOp:
    """A statement without effect on calls: a type, a `pass`. `reason` is set if it could not be read."""

    reason: str = ""


Statement: TypeAlias = (
    ExprStatement | Return | Jump | Bind | Define | Loop | UnboundedLoop | If | Handlers | Import | Block | NoOp
)

Node: TypeAlias = Expression | Statement


def walk(nodes: Iterable[Node]) -> Iterator[Node]:
    """Yield every node and all nodes inside it, in the order in which they are written."""
    waiting: list[Any] = [tuple(nodes)]
    while waiting:
        each = waiting.pop()
        if isinstance(each, tuple):
            waiting += reversed(cast("tuple[Any, ...]", each))
        elif isinstance(each, Node):
            yield each
            waiting += [getattr(each, field.name) for field in reversed(fields(each))]
