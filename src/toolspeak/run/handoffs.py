"""Handing a conversation over to another agent: `Agent.as_handoff`.

The call of such a tool records `HandedOver`. When all calls of its turn have their results, the other agent goes on in
the same run: with its own model, dialect, system prompt and tools, and with the limits and the type of the answer that
the run began with. The messages of the outcome keep the system prompt of the agent that began the run.
"""

from collections.abc import Sequence
from typing import Any

from toolspeak.execution.user_functions import call_function
from toolspeak.run.calling_run import CallingRun, Speaker, find_outer_call
from toolspeak.run.inputs import AGENT_ATTRIBUTE, build_choice, check_system_text
from toolspeak.run.runnable import BaseAgent
from toolspeak.run.search_tools import name_search_tools
from toolspeak.tools import Context
from toolspeak.values.errors import ToolError, UsageError
from toolspeak.values.events import Fact, HandedOver, ToolChoice


class Handoff:
    """The function of a tool that hands the conversation over to an agent; see `Agent.as_handoff`."""

    def __init__(self, agent: BaseAgent[Any], name: str) -> None:
        self.agent = agent
        self.name = name
        setattr(self, AGENT_ATTRIBUTE, agent)

    async def __call__(self, context: Context[Any]) -> str:
        """Hand the conversation over to somebody else."""
        outer = find_outer_call(context, self)
        if outer is None:
            raise ToolError(f"{self.name} hands over the conversation of a run; only the model of a run can call it")
        if (pending := outer.run.state.successor) is not None and pending.call_id != context.call_id:
            raise ToolError(f"the conversation is handed over to {pending.agent} already; {self.name} was not asked")
        speaker = await self.agent.build_speaker(context, outer.run, pending)
        outer.run.hand_over(pending or await self._describe(context, outer.run, speaker), speaker)
        return f"The conversation is handed over to {self.name}."

    async def _describe(self, context: Context[Any], calling: CallingRun, speaker: Speaker) -> HandedOver:
        """Build the fact that the agent goes on with the conversation."""
        agent, toolbox, run = self.agent, speaker.toolbox, calling.state.run
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
            dialect=speaker.dialect.name,
            system=system,
            choice=choice,
            parallel=agent.parallel_tool_calls,
            in_text=speaker.dialect.in_text,
            has_approver=speaker.approve is not None,
            tools=toolbox.specs,
            tool_budget=None if agent.code else agent.tool_budget,
            search_tools=name_search_tools(toolbox),
            escalation=agent.escalation,
            provenance=agent.provenance,
        )


async def restore_handoffs(run: CallingRun, facts: Sequence[Fact], context: Context[Any]) -> None:
    """Give a resumed run the agents to which it was handed over."""
    toolbox = run.speaker.toolbox
    for fact in facts:
        if isinstance(fact, HandedOver):
            function = toolbox[fact.agent].function if fact.agent in toolbox else None
            if not isinstance(function, Handoff):
                raise UsageError(
                    f"the run was handed over to {fact.agent!r}, and the agent has no handoff of that name"
                )
            run.successors[fact.call_id] = speaker = await function.agent.build_speaker(context, run, fact)
            toolbox = speaker.toolbox
