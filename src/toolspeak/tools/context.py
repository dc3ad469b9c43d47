"""What a run hands to a tool that asks for it."""

from dataclasses import dataclass
from typing import Generic, TypeVar

Deps = TypeVar("Deps")


@dataclass(frozen=True, slots=True, kw_only=True)
class Context(Generic[Deps]):
    """A parameter annotated `Context` or `Context[Deps]` is filled by the run; the model does not see it.

    Attributes:
        deps: What the run was given for its tools: a database, a session, a user.
        run_id: The run.
        call_id: This call.
        turn: The turn of the model in which the call was said, from 1.

    Examples:
        >>> def forget(key: str, context: Context[dict[str, str]]) -> bool:
        ...     "Forget what is stored under a key."
        ...     return context.deps.pop(key, None) is not None
    """

    deps: Deps
    run_id: str = ""
    call_id: str = ""
    turn: int = 0
