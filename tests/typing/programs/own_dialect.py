"""A dialect of one's own: here `json` with a prompt of its own before the tools."""

from collections.abc import Sequence
from dataclasses import replace

from toolspeak import Agent, Message, ToolChoice, ToolSpec
from toolspeak.dialects import JSON, Dialect, Parser, Shown
from toolspeak.testing import ScriptedModel, calls, says
from toolspeak.values.messages import system


class Polite:
    """Asks politely."""

    name = "json"
    in_text = True

    def render(
        self,
        specs: Sequence[ToolSpec],
        history: Sequence[Message],
        *,
        choice: ToolChoice = ToolChoice(),  # noqa: B008 (it does not change)
        parallel: bool = True,
    ) -> Shown:
        shown = JSON.render(specs, history, choice=choice, parallel=parallel)
        return replace(shown, messages=(system("Please be polite."), *shown.messages))

    def parser(
        self, specs: Sequence[ToolSpec], *, strict: bool = False, thinking: bool = False, prefix: str = "call"
    ) -> Parser:
        return JSON.parser(specs, strict=strict, thinking=thinking, prefix=prefix)


def double(x: int) -> int:
    """Double a number."""
    return 2 * x


dialect: Dialect = Polite()
model = ScriptedModel([calls(("double", {"x": 21})), says("It is 42, if you please.")])
outcome = Agent(model, tools=[double], dialect=Polite()).run("What is twice 21?")
assert outcome.calls[0].output == 42
assert model.requests[0].shown.messages[0].text == "Please be polite."
