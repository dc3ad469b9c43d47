"""Options that do not exist or have a wrong type."""

import toolspeak
from toolspeak import Agent, Limits
from toolspeak.testing import ScriptedModel

agent = Agent(ScriptedModel([]))
agent.run("Go.", limit=Limits(turns=3))  # error:
agent.run("Go.", limits=3)  # error:
agent.run(3)  # error:
agent.run("Go.", messages=["Hello."])  # error:
agent.chat().run("Go.", tool_choice=3)  # error:
agent.stream("Go.", approvals={})  # error:
agent.resume([], limits=3)  # error:
agent.resume("facts")  # error:
agent.resume([], approvals={"call_1": 3})  # error:
Agent(ScriptedModel([]), tool_choise="auto")  # error:
Agent(3)  # error:
toolspeak.Tol  # error:
toolspeak.tool(raw=3)  # error:


@toolspeak.tool
def double(x: int) -> int:
    """Double a number."""
    return 2 * x


double("3")  # error:
