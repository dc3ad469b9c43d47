"""Models, dialects and approvers that lack something."""

from toolspeak import Agent, Chain, Model, ToolCall
from toolspeak.dialects import Dialect
from toolspeak.models import Request
from toolspeak.testing import ScriptedModel


class Mute:
    name = "mute"
    dialect = "json"

    def ask(self, request: Request) -> str:
        return ""


class Nothing:
    name = "nothing"


def approve(call: ToolCall) -> int:
    return 1


model: Model = Mute()  # error:
Agent(Mute())  # error:
dialect: Dialect = Nothing()  # error:
Agent(ScriptedModel([]), dialect=Nothing())  # error:
Agent(ScriptedModel([]), approve=approve)  # error:
Agent(ScriptedModel([]), tools=[3])  # error:
Chain().llm(Mute())  # error:
Chain().with_max_iterations("3")  # error:
Chain("Go.").run().txt  # error:
