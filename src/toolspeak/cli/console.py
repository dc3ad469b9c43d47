"""The console that commands print styled text on: that of rich, made safe."""

from collections.abc import Iterable
from typing import TextIO

from rich.console import Console, ConsoleOptions, RenderableType
from rich.segment import Segment

from toolspeak.cli.safe_text import escape_prose


class SafeConsole(Console):
    """A console that escapes whatever unsafe text reaches it. Markup in texts is not interpreted.

    Code that formats text escapes it before, so that its width is right; this is the net below.
    """

    def __init__(
        self,
        *,
        file: TextIO | None = None,
        stderr: bool = False,
        force_terminal: bool | None = None,
        soft_wrap: bool = False,
    ) -> None:
        super().__init__(
            file=file,
            stderr=stderr,
            force_terminal=force_terminal,
            soft_wrap=soft_wrap,
            highlight=False,
            markup=False,
            emoji=False,
        )

    def render(self, renderable: RenderableType, options: ConsoleOptions | None = None) -> Iterable[Segment]:
        """Render an object as safe segments."""
        for segment in super().render(renderable, options):
            if segment.control or (segment.text.isascii() and segment.text.isprintable()):
                yield segment
            else:
                yield Segment(escape_prose(segment.text), segment.style)
