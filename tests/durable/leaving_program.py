"""An agent whose tool ends a process of its own as if all were well; see `test_worker.py`."""

import os
import sys

from toolspeak import Agent, tool
from toolspeak.testing import ScriptedModel, calls, says


@tool(effect="idempotent")
def leave() -> str:
    """End the process, if it drives this run only."""
    if "isolated_run" in (getattr(sys.modules["__main__"], "__file__", None) or ""):
        os._exit(0)
    return "left"


agents = {"leaver": Agent(ScriptedModel([calls(("leave", {})), says("Done.")]), [leave])}
