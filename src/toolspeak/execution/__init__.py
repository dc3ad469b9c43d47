"""Running a call: arguments resolved and checked, the function run where it cannot hold up anything else, its outcome
brought back as a value, whatever it was.
"""

from toolspeak.execution.executor import DEPTH, GRACE, Executor, Running
from toolspeak.execution.threads import THREADS, Threads

__all__ = ["DEPTH", "GRACE", "THREADS", "Executor", "Running", "Threads"]
