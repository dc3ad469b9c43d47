"""Handing a conversation over to another agent: `Agent.as_handoff`.

The call of such a tool records `HandedOver`. When all calls of its turn have their results, the other agent goes on in
the same run: with its own model, dialect, system prompt and tools, and with the limits and the type of the answer that
the run began with. The messages of the outcome keep the system prompt of the agent that began the run.
"""

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from toolspeak.run.approvals import call_function
from toolspeak.run.inputs import AGENT_ATTRIBUTE, build_choice, check_system_text
from toolspeak.run.running_calls import CALLING_RUN
from toolspeak.run.search_tools import name_search_tools
from toolspeak.run.sub_agents import is_call_of
from toolspeak.tools import Context, Tool, Toolbox
from toolspeak.values.errors import ToolError, UsageError
from toolspeak.values.events import Fact, HandedOver, ToolChoice

if TYPE_CHECKING:
    from toolspeak.run.agent import Agent
    from toolspeak.run.driver import Driver


class Handoff:
    """The function of a tool that hands the conversation over to an agent."""

    def __init__(self, agent: "Agent[Any]", name: str) -> None:
        self.agent = agent
        self.name = name
        setattr(self, AGENT_ATTRIBUTE, agent)

    async def __call__(self, context: Context[Any]) -> str:
        """Hand the conversation over to somebody else."""
        driver = CALLING_RUN.get()
        if driver is None or not is_call_of(driver, context.call_id, self):
            raise ToolError(f"{self.name} hands over the conversation of a run; only the model of a run can call it")
        if (pending := driver.state.successor) is not None and pending.call_id != context.call_id:
            raise ToolError(f"the conversation is handed over to {pending.agent} already; {self.name} was not asked")
        successor = await self.agent.build_successor(context, driver, pending)
        driver.hand_over(pending or await self._describe(context, driver, successor), successor)
        return f"The conversation is handed over to {self.name}."

    async def _describe(self, context: Context[Any], driver: "Driver", successor: "Driver") -> HandedOver:
        """Build the fact that the agent goes on with the conversation."""
        agent, toolbox, run = self.agent, successor.toolbox, driver.state.run
        system = agent.system
        if system is not None and not isinstance(system, str):
            system = check_system_text(await call_function(system, context))
        choice = build_choice(agent.tool_choice, toolbox)
        if run is not None and run.output and len(toolbox) == 1:
            choice = ToolChoice(mode="named", names=(run.output,))
        return HandedOver(
            call_id=context.call_id,
            agent=self.name,
            model=agent.model.name,
            dialect=successor.dialect.name,
            system=system,
            choice=choice,
            parallel=agent.parallel_tool_calls,
            in_text=successor.dialect.in_text,
            has_approver=successor.approve is not None,
            tools=toolbox.specs,
            tool_budget=None if agent.code else agent.tool_budget,
            search_tools=name_search_tools(toolbox),
        )


def build_handoff_tool(agent: "Agent[Any]", name: str, description: str, *, approve: bool) -> Tool[..., Any]:
    """Build the tool that hands a conversation over to an agent; see `Agent.as_handoff`."""
    return Tool(Handoff(agent, name), name=name, description=description, effect="idempotent", approve=approve)


async def restore_handoffs(driver: "Driver", toolbox: Toolbox, facts: Sequence[Fact], context: Context[Any]) -> None:
    """Give the driver of a resumed run the agents to which the run was handed over."""
    for fact in facts:
        if not isinstance(fact, HandedOver):
            continue
        function = toolbox[fact.agent].function if fact.agent in toolbox else None
        if not isinstance(function, Handoff):
            raise UsageError(f"the run was handed over to {fact.agent!r}, and the agent has no handoff of that name")
        successor = await function.agent.build_successor(context, driver, fact)
        driver.successors[fact.call_id] = successor
        toolbox = successor.toolbox
