"""What other packages can add to toolspeak: a dialect, an endpoint and a toolbox. `pyproject.toml` gives them names.

After `pip install examples/plugin`:

$ toolspeak chat --model echo:any --dialect one-line --tools words
"""

from collections.abc import AsyncGenerator, Sequence

from toolspeak import Message, Toolbox, ToolSpec, system
from toolspeak.dialects import PYTHON, Parser, Shown
from toolspeak.models import Request
from toolspeak.values.events import AUTO, TextDelta, ToolChoice
from toolspeak.values.messages import Text
from toolspeak.values.pieces import Answer, Piece


class OneLine:
    """A dialect that shows each tool on one line, and leaves the history and the reading to the Python dialect."""

    name = "one-line"
    in_text = True

    def render(
        self,
        specs: Sequence[ToolSpec],
        history: Sequence[Message],
        *,
        choice: ToolChoice = AUTO,
        parallel: bool = True,
    ) -> Shown:
        """Show the tools in the system prompt, after the user's own."""
        rest = [message for message in history if message.role != "system"]
        prompts = [message.text for message in history if message.role == "system"]
        if specs:
            tools = "\n".join(
                f"{spec.name}({', '.join(spec.parameters['properties'])})"
                for spec in specs
            )
            prompts.append(
                f"Call these functions in a python block, with keywords:\n{tools}"
            )
        shown = PYTHON.render([], rest).messages
        return Shown(
            messages=(system("\n\n".join(prompts)), *shown) if prompts else shown
        )

    def parser(self, specs: Sequence[ToolSpec], *, prefix: str = "call") -> Parser:
        """Read calls as the Python dialect does."""
        return PYTHON.parser(specs, prefix=prefix)


ONE_LINE = OneLine()


class EchoModel:
    """A model that repeats what the user wrote. A real one would send a request here."""

    dialect = "one-line"

    def __init__(self, name: str) -> None:
        self.name = f"echo:{name}"

    async def ask(self, request: Request) -> AsyncGenerator[Sequence[Piece]]:
        """Answer with the last message of the user, streamed word by word."""
        text = [
            message.text for message in request.shown.messages if message.role == "user"
        ][-1]
        if request.stream:
            for word in text.split(" ")[:-1]:
                yield [TextDelta(text=f"{word} ")]
        yield [Answer(parts=(Text(text=text),), finish="stop")]


def connect(name: str) -> EchoModel:
    """Return the model for the name `echo:NAME`."""
    return EchoModel(name)


def count_words(text: str) -> int:
    """Count the words of a text."""
    return len(text.split())


WORDS = Toolbox([count_words])
