"""The look of all pictures: of agents and runs (`toolspeak graph`), of evaluations, of benchmarks.

A picture follows the reader's choice of light or dark. It loads nothing. Colours also stand in attributes, or are plain
in the style: programs that draw an SVG without all of CSS show the light picture.
"""

COLORS = ("#7f8c9b", "#c98a2b", "#2f6db5", "#3a8f5c", "#8d5aa5", "#b5483a")
"""Grey, amber, blue, green, purple, red: readable on light and on dark ground."""

GREY, AMBER, BLUE, GREEN, PURPLE, RED = COLORS

INK, GROUND = "#24292f", "#ffffff"
DARK_INK, DARK_GROUND = "#e6edf3", "#0d1117"

FONT = "system-ui, sans-serif"
CODE_FONT = "ui-monospace, Menlo, Consolas, monospace"

STYLE = f"""<style>
svg {{ color: {INK}; fill: currentColor; }}
.ground {{ fill: {GROUND}; }}
@media (prefers-color-scheme: dark) {{ svg {{ color: {DARK_INK}; }} .ground {{ fill: {DARK_GROUND}; }} }}
</style>"""
"""Lines and texts that have no colour of their own are drawn in `currentColor`."""


def draw_ground(width: float, height: float) -> str:
    """Return the ground of a picture."""
    return f'<rect class="ground" width="{width:g}" height="{height:g}" fill="{GROUND}"/>'
