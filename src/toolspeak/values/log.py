"""The log of toolspeak: `logging.getLogger("toolspeak")`. Nothing is printed unless the program configures logging.

- `WARNING`: a tool failed, with its traceback, and `tool` and `call_id` as fields of the record; a model failed, and
  another one is asked; a tool has changed after its call was allowed.
- `INFO`: the dialect that was chosen for a run and why, a request for a message, the end of a run.
- `DEBUG`: a request to an endpoint, with its address, status and time.

No message holds a key, the text of a conversation or the arguments of a call.
"""

import logging

LOG = logging.getLogger("toolspeak")
LOG.addHandler(logging.NullHandler())


def log_end(reason: str, detail: str, place: str) -> None:
    """Log that a run has ended: as a warning if it failed. `place` says which run, and in which turn."""
    log, why = (LOG.warning, f"error: {detail}") if reason == "error" else (LOG.info, reason)
    log("%s: the run has ended (%s)", place, why)
