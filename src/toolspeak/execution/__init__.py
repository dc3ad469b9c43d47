"""Running tool calls, so that no function can end or block anything else.

The arguments of a call are resolved and checked, its function runs where it cannot block anything else, and whatever
the function returns or raises comes back as a value. Start with `executor.py`.

- `executor.py`: `Executor` starts the calls of a run; `RunningCall` is one of them, with its timeout.
- `threads.py`: the pool of threads for functions that block. A thread that hangs is counted, and nobody waits for it.
- `coroutines.py`: awaits coroutines. One that ignores its cancellation is closed.
- `outcome.py`: how a call ended, as a value, even for `SystemExit`; how an error looks to a model (`format_error`). How
  a result looks is in `tools/results.py`.
- `user_functions.py`: calls what a user gives beside tools, such as the rule of `tool(approve=function)`.
- `sandbox/`: runs Python that a model wrote.

This room imports `loop`, `tools` and `values`, and pydantic-monty when code is run.
"""

from toolspeak.execution.executor import CALL_DEPTH, CANCEL_GRACE_SECONDS, Executor, RunningCall
from toolspeak.execution.threads import THREAD_POOL, ThreadPool

__all__ = ["CALL_DEPTH", "CANCEL_GRACE_SECONDS", "THREAD_POOL", "Executor", "RunningCall", "ThreadPool"]
