"""`toolspeak tools --tool-budget`: what tools cost in tokens in each dialect, and what a budget cuts."""

from rich.console import Group, RenderableType
from rich.text import Text

from toolspeak.cli.safe_text import escape_line
from toolspeak.dialects import DIALECTS
from toolspeak.dialects.slim_tools import count_tool_tokens, make_help_tool
from toolspeak.dialects.tool_selection import ToolSelection, make_find_tool, select_tools
from toolspeak.messages import user
from toolspeak.spec import ToolSpec


def render_costs(specs: tuple[ToolSpec, ...], budget: int, prompt: str) -> RenderableType:
    """Lay out, for each dialect, the tokens of tools without and with a budget, and what is cut and left out.

    Args:
        specs: The tools.
        budget: The most tokens that they may take.
        prompt: The message of the user, by which tools are picked if not all of them fit.
    """
    lines: list[RenderableType] = [
        Text(f"{'dialect':<12}{'tokens':>8}{'budget':>8}{'whole':>8}{'cut':>6}{'left out':>10}")
    ]
    notes: list[RenderableType] = []
    for name, dialect in DIALECTS.items():
        selection = select_tools(
            specs,
            dialect,
            budget,
            [user(prompt)],
            help_tool=make_help_tool(specs),
            find_tool=make_find_tool(specs),
        )
        whole = count_tool_tokens(specs, dialect)
        cut, left_out = len(selection.cut), len(selection.left_out)
        kept = len(selection.listed) - cut
        lines.append(Text(f"{name:<12}{whole:>8}{selection.tokens:>8}{kept:>8}{cut:>6}{left_out:>10}"))
        notes.append(_describe_cuts(name, selection))
    return Group(*lines, Text(""), *notes)


def _describe_cuts(name: str, selection: ToolSelection) -> Text:
    """Return which tools are cut, and which are shown at all if some are left out."""
    if selection.find is not None:
        shown = ", ".join(spec.name for spec in selection.listed)
        return Text(escape_line(f"{name}: shown are {shown}; the model finds the others with {selection.find.name}"))
    if selection.cut:
        cut = ", ".join(spec.name for spec in selection.listed if spec.name in selection.cut)
        return Text(escape_line(f"{name}: the descriptions of {cut} are cut"))
    return Text(f"{name}: everything is shown whole")
