"""`Context`: data of the run, for a tool that has a parameter for it."""

from collections.abc import Callable, Generator, Mapping
from dataclasses import dataclass, field
from typing import Any, Generic, TypeAlias, TypeVar

Deps = TypeVar("Deps")

ProgressCallback: TypeAlias = Callable[[float, float | None, str], None]
"""Gets what a function reports: how much is done, of how much (None: unknown), and a text.

It is called in the thread of the function.
"""


class ProgressPause:
    """Awaiting it lets other tasks work, once."""

    __slots__ = ()

    def __await__(self) -> Generator[None]:
        yield


_PAUSE = ProgressPause()


@dataclass(frozen=True, slots=True, kw_only=True)
class Context(Generic[Deps]):
    """The run fills a parameter that is annotated `Context` or `Context[Deps]`; the model does not see it.

    Attributes:
        deps: The object that the run was given for its tools: a database, a session, a user.
        run_id: The id of the run.
        call_id: The id of this call.
        turn: The number of the turn in which the model made the call, from 1.
        data: What the run was started with besides its prompt (`data=`): the tenant, the user who asks. In contrast to
            `deps` it is plain data, which is stored with a durable run.
        on_progress: Gets what `report_progress` reports; None if nobody wants to know.

    Examples:
        >>> def forget(key: str, context: Context[dict[str, str]]) -> bool:
        ...     "Forget what is stored under a key."
        ...     return context.deps.pop(key, None) is not None
    """

    deps: Deps
    run_id: str = ""
    call_id: str = ""
    turn: int = 0
    data: Mapping[str, Any] = field(default_factory=dict[str, Any])
    on_progress: ProgressCallback | None = field(default=None, repr=False, compare=False)

    def report_progress(self, done: float, total: float | None = None, text: str = "") -> ProgressPause:
        """Report how far the call is, to whoever follows the run (the event `ToolProgress`), or to an MCP client.

        A plain function calls it and goes on. A coroutine may await it, which lets other tasks work. Either way
        nothing waits for the receiver, and a receiver that is slow gets the latest report only.

        Args:
            done: How much is done. It should grow from report to report.
            total: How much there is to do; None if that is unknown.
            text: What is done now, for a person.

        Examples:
            >>> def convert(pages: int, context: Context[None]) -> str:
            ...     "Convert a number of pages."
            ...     for page in range(pages):
            ...         context.report_progress(page + 1, pages, f"page {page + 1}")
            ...     return "done"
            >>> convert(2, Context(deps=None, on_progress=print))
            1 2 page 1
            2 2 page 2
            'done'
        """
        if self.on_progress is not None:
            self.on_progress(done, total, text)
        return _PAUSE
