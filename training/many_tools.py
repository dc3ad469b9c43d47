"""Questions with many tools and a budget for them: the model sees those that fit the request, and can find the others.

The prompts are what a run with `tool_budget` shows at its first turn. Where a tool that is needed is not shown, the
right answer is to search for it.
"""

import random
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any

from toolspeak.dialects import dialect
from toolspeak.dialects.slim_tools import make_help_tool
from toolspeak.dialects.tool_selection import QUERY, make_find_tool
from toolspeak.evaluation.questions import ExpectedCall, Question, Suite
from toolspeak.evaluation.templates import render_qwen
from toolspeak.events import RunStarted
from toolspeak.loop import AskModel, decide, initial_state, reduce
from toolspeak.run.turn_request import render_request
from toolspeak.spec import ToolSpec

SIZES = (30, 60, 150, 500)
BUDGETS = (700, 1_000, 1_500)


def draw_questions(suite: Suite, settings: Mapping[str, Any], rng: random.Random) -> Iterator[tuple[int, Question]]:
    """Yield questions with many tools, each with its epoch: those of the varied epochs, in which tools are added."""
    pool = {spec.name: spec for question in suite.questions for spec in question.tools}
    usable = [question for question in suite.questions if question.expected and len(question.messages) == 1]
    for epoch in range(settings["plain_epochs"], settings["plain_epochs"] + settings["varied_epochs"]):
        for question in rng.sample(usable, settings["many_tools"]):
            own = {spec.name for spec in question.tools}
            others = [spec for name, spec in pool.items() if name not in own]
            tools = [*question.tools, *rng.sample(others, rng.choice(SIZES))]
            yield epoch, replace(question, tools=tuple(rng.sample(tools, len(tools))))


def show_some(question: Question, dialect_name: str, budget: int) -> tuple[str, Question]:
    """Return the prompt of a question whose tools have a budget, and the question with what is then right to call."""
    find_tool = make_find_tool(question.tools)
    search_tools = (make_help_tool(question.tools), find_tool)
    chosen = dialect(dialect_name)
    started = RunStarted(
        run_id="",
        model="",
        dialect=dialect_name,
        messages=question.messages,
        in_text=chosen.in_text,
        tool_budget=budget,
        search_tools=tuple(tool.name for tool in search_tools),
    )
    state = reduce(initial_state((*question.tools, *search_tools)), started)
    [ask] = [action for action in decide(state) if isinstance(action, AskModel)]
    prompt = render_qwen(render_request(state, chosen, ask))
    hidden = [spec for spec in _list_needed(question) if spec.name not in prompt]
    if not hidden:
        return prompt, question
    searches = tuple(
        ExpectedCall(name=find_tool.name, arguments={QUERY: [_describe(spec)]}, optional={}) for spec in hidden
    )
    return prompt, replace(question, tools=(*question.tools, find_tool), expected=searches)


def _list_needed(question: Question) -> Sequence[ToolSpec]:
    names = {each.name for each in question.expected}
    return [spec for spec in question.tools if spec.name in names]


def _describe(spec: ToolSpec) -> str:
    """Return what a tool does in a few words, as one would search for it."""
    return spec.description.partition(".")[0].partition(";")[0][:80].lower()
