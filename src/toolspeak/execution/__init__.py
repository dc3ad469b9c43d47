"""Running tool calls.

The arguments of a call are resolved and checked, its function runs where it cannot block anything else, and whatever
the function returns or raises comes back as a value.
"""

from toolspeak.execution.executor import CALL_DEPTH, CANCEL_GRACE_SECONDS, Executor, RunningCall
from toolspeak.execution.threads import THREAD_POOL, ThreadPool

__all__ = ["CALL_DEPTH", "CANCEL_GRACE_SECONDS", "THREAD_POOL", "Executor", "RunningCall", "ThreadPool"]
