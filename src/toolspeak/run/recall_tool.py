"""The function behind `recall`, the tool that returns what a model is no longer shown of its conversation."""

from toolspeak.errors import ToolError
from toolspeak.loop.recall import RECALL, read_earlier
from toolspeak.run.running_calls import CALLING_RUN
from toolspeak.tools import Tool, Toolbox


async def recall(handle: str, start: int = 0) -> str:
    """Return an earlier part of the conversation of the run that makes this call."""
    driver = CALLING_RUN.get()
    if driver is None or driver.state.compacted is None:
        raise ToolError("there is nothing to recall: the whole conversation is shown")
    state = driver.state
    before = state.history[: state.turn.history_start]
    return read_earlier(before, driver.state.compacted.through, handle, start, driver.recalled_chars)


RECALL_TOOL = Tool(recall, name=RECALL.name, description=RECALL.description, effect=RECALL.effect)

OWN_TOOLS = Toolbox([RECALL_TOOL])
"""Tools that a run may offer its model beside those of the agent."""
