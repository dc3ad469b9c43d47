"""Suggests `--tool-budget` in the log, once after the start, if the tools of a request are large."""

from toolspeak.dialects.slim_tools import count_tool_tokens
from toolspeak.gateway.exchange import ServedModel
from toolspeak.gateway.responses import log
from toolspeak.models.context import find_model_context
from toolspeak.spec import ToolSpec

LARGE_TOOL_TOKENS = 8_000
"""Tokens of tools from which on a budget is suggested, if the context of the model is not known."""


class ToolSizeHint:
    """Measures the tools of requests until a budget was suggested."""

    def __init__(self) -> None:
        self._is_given = False
        self._measured: tuple[int, int | None] = 0, None  # the most tools of a request so far, and the context then

    def check(self, served: ServedModel, tools: tuple[ToolSpec, ...]) -> None:
        """Log a suggestion if tools take more than half of the context, and no budget was set."""
        if self._is_given or served.tool_budget is not None or not tools:
            return
        context = find_model_context(served.model)
        if len(tools) <= self._measured[0] and context == self._measured[1]:
            return
        self._measured = max(len(tools), self._measured[0]), context
        tokens = count_tool_tokens(tools, served.dialect)
        if tokens <= (LARGE_TOOL_TOKENS if context is None else context // 2):
            return
        self._is_given = True
        share = "" if context is None else f" of the {context} that {served.name} has room for"
        budget = max((context or 2 * LARGE_TOOL_TOKENS) // 8, 500)
        log.warning(
            "%d tools take about %d tokens%s; toolspeak serve --tool-budget %d cuts their descriptions to that",
            len(tools),
            tokens,
            share,
            budget,
        )
