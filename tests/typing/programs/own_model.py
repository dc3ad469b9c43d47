"""A model of one's own needs a name, a dialect and `ask`."""

from collections.abc import AsyncGenerator, Sequence

from toolspeak import Agent, Model
from toolspeak.models import Request
from toolspeak.values.events import TextDelta
from toolspeak.values.messages import Text
from toolspeak.values.pieces import Answer, Piece


class Echo:
    """Repeats the prompt."""

    name = "echo"
    dialect = "json"

    async def ask(self, request: Request) -> AsyncGenerator[Sequence[Piece]]:
        text = request.shown.messages[-1].text
        yield [TextDelta(text=text)]
        yield [Answer(parts=(Text(text=text),), finish="stop")]


model: Model = Echo()
assert Agent(model).run("Hello.").text == "Hello."
assert Agent(Echo(), dialect="native").run("Hello.").text == "Hello."
