"""`Context`: data of the run, for a tool that has a parameter for it."""

from dataclasses import dataclass
from typing import Generic, TypeVar

Deps = TypeVar("Deps")


@dataclass(frozen=True, slots=True, kw_only=True)
class Context(Generic[Deps]):
    """The run fills a parameter that is annotated `Context` or `Context[Deps]`; the model does not see it.

    Attributes:
        deps: The object that the run was given for its tools: a database, a session, a user.
        run_id: The id of the run.
        call_id: The id of this call.
        turn: The number of the turn in which the model made the call, from 1.

    Examples:
        >>> def forget(key: str, context: Context[dict[str, str]]) -> bool:
        ...     "Forget what is stored under a key."
        ...     return context.deps.pop(key, None) is not None
    """

    deps: Deps
    run_id: str = ""
    call_id: str = ""
    turn: int = 0
