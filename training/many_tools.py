"""Questions with many tools and a budget for them: the model sees those that fit the request, and can find the others.

The prompts are what a run with `tool_budget` shows. Three things are taught:

- Of the tools that are shown, one is called and near ones are not. Where a value is missing, the user is asked.
- Where a tool that is needed is not shown, it is searched, in words for what it does; then it is called.
- Where no tool does what is asked, the model says so: for one question in two at once, for the other one after a search
  that found none. How to search for what is not there, no question tells, so that turn is not taught.

A tool of another set that serves the request as well as the right one would make the right answer wrong, so it is left
out (`find_twins`). Where nothing is to be called, so are those that fit the request better than all of its own tools.
"""

import random
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from itertools import chain
from typing import Any
from zlib import crc32

from files import list_epochs

from toolspeak.dialects import dialect
from toolspeak.dialects.slim_tools import make_help_tool
from toolspeak.dialects.tool_index import ToolIndex, is_telling, split_words
from toolspeak.dialects.tool_selection import QUERY, find_names, make_find_tool, say_found
from toolspeak.lab.files import render_qwen
from toolspeak.lab.questions import ExpectedCall, Question, Suite
from toolspeak.loop import AskModel, State, decide, initial_state, reduce
from toolspeak.run.turn_request import render_request, view_run_tools
from toolspeak.values.events import RunStarted
from toolspeak.values.messages import Call, Message, Result, Text, ToolCall
from toolspeak.values.spec import ToolSpec

SIZES = (30, 150, 500, 500, 500)
BUDGETS = (700, 1_000, 1_500)
CALLING = ("single", "several", "parallel", "nested", "messy")
"""The categories in which something is called in answer to one message. They are drawn equally often."""

REFUSED_SHARE = 0.3  # the share of questions in which nothing is to be called

TWIN_LIKENESS = 0.5
"""Two tools are taken for twins if they share so much of the words of their names and first sentences."""

REFUSALS = ("can't", "cannot", "not able", "no tool", "unable", "isn't something")
"""How replies begin that say that no tool does what is asked. Others answer, or ask for what is missing."""


def draw_questions(suite: Suite, settings: Mapping[str, Any], rng: random.Random) -> Iterator[tuple[int, Question]]:
    """Yield questions with many tools, each with its epoch."""
    pool = {spec.name: spec for question in suite.questions for spec in question.tools}
    words = {name: list_words(spec) for name, spec in pool.items()}
    by_category = {name: [each for each in suite.questions if each.category == name] for name in CALLING}
    unserved = [each for each in suite.questions if each.category in {"none", "missing"}]
    refused = [each for each in map(shorten_reply, unserved) if "only" not in each.reply]  # there are other tools
    for epoch in list_epochs(settings):
        count = round(settings["many_tools"] * REFUSED_SHARE)
        in_turn = zip(*(rng.sample(each, len(each)) for each in by_category.values()), strict=False)
        calling = list(chain.from_iterable(in_turn))[: settings["many_tools"] - count]
        for question in (*calling, *rng.sample(refused, count)):
            own = {spec.name for spec in question.tools} | find_twins(question, words)
            others = [spec for name, spec in pool.items() if name not in own]
            added = rng.sample(others, rng.choice(SIZES))
            tools = [*question.tools, *(added if question.expected else leave_out_better(question, added))]
            yield epoch, replace(question, tools=tuple(rng.sample(tools, len(tools))))


def find_twins(question: Question, words: Mapping[str, set[str]]) -> set[str]:
    """Return the names of the tools that have nearly the same words as one that is to be called."""
    needed = [list_words(spec) for spec in list_needed(question)]
    return {
        name
        for name, each in words.items()
        if any(len(each & other) >= TWIN_LIKENESS * len(each | other) for other in needed)
    }


def leave_out_better(question: Question, added: Sequence[ToolSpec]) -> list[ToolSpec]:
    """Leave out the tools that fit a request better than its own do: they may serve what these do not."""
    own = {spec.name for spec in question.tools}
    ranked = ToolIndex([*question.tools, *added]).rank(question.messages[-1].text)
    first_own = next((place for place, name in enumerate(ranked) if name in own), len(ranked))
    better = set(ranked[:first_own])
    return [spec for spec in added if spec.name not in better]


def shorten_reply(question: Question) -> Question:
    """Leave out what a refusal offers in exchange, since that depends on the tools at hand."""
    if not is_refusal(question):
        return question
    refusal = re.split(r";|\. I can\b", question.reply)[0]
    return replace(question, reply=f"{refusal.rstrip('.')}.")


def is_refusal(question: Question) -> bool:
    return question.category == "none" and any(words in question.reply.lower() for words in REFUSALS)


def show_turns(question: Question, dialect_name: str, budget: int) -> Iterator[tuple[str, Question]]:
    """Yield the prompts of a question whose tools have a budget, each with the question as it is right to answer it.

    There are two if a tool is to be searched: the second shows what was found.
    """
    find_tool = make_find_tool(question.tools)
    search_tools = (make_help_tool(question.tools), find_tool)
    needed, chosen = list_needed(question), dialect(dialect_name)

    def begin(messages: Sequence[Message]) -> State:
        started = RunStarted(
            run_id="",
            model="",
            dialect=dialect_name,
            messages=tuple(messages),
            in_text=chosen.in_text,
            tool_budget=budget,
            search_tools=tuple(tool.name for tool in search_tools),
        )
        return reduce(initial_state((*question.tools, *search_tools)), started)

    def render(state: State) -> str:
        [ask] = [action for action in decide(state) if isinstance(action, AskModel)]
        return render_qwen(render_request(state, chosen, ask))

    state = begin(question.messages)
    view, _ = view_run_tools(state, chosen, state.run, budget)
    listed = {spec.name for spec in view.listed}
    queries = list(dict.fromkeys(describe(spec) for spec in needed if spec.name not in listed))
    if find_tool.name in listed and is_refusal(question) and crc32(question.id.encode()) % 2:
        queries = [list_request_words(question)]
    elif queries:
        searches = tuple(ExpectedCall(name=find_tool.name, arguments={QUERY: [each]}, optional={}) for each in queries)
        yield render(state), replace(question, tools=(*question.tools, find_tool), expected=searches)
    found = {query: find_names(question.tools, query) for query in queries}
    if {spec.name for spec in needed} <= listed.union(*found.values()):
        yield render(begin([*question.messages, *search(find_tool, found)])), question


def search(find_tool: ToolSpec, found: Mapping[str, Sequence[str]]) -> list[Message]:
    """Return the calls that search, if there are any, and what they return: the names by the words that find them."""
    calls = [
        ToolCall(id=f"call_1_{place}", name=find_tool.name, arguments={QUERY: query})
        for place, query in enumerate(found, 1)
    ]
    results = [
        Result(call_id=call.id, content=(Text(text=say_found(names)),))
        for call, names in zip(calls, found.values(), strict=True)
    ]
    asked = Message(role="assistant", parts=tuple(Call(call=call) for call in calls))
    return [asked, Message(role="tool", parts=tuple(results))] if calls else []


def list_needed(question: Question) -> list[ToolSpec]:
    names = {each.name for each in question.expected}
    return [spec for spec in question.tools if spec.name in names]


def list_words(spec: ToolSpec) -> set[str]:
    """Return the words of a tool's name and of the first sentence of its description."""
    return set(filter(is_telling, split_words(f"{spec.name} {describe(spec)}")))


def list_request_words(question: Question) -> str:
    """Return the first words of a request that tell what it is about."""
    words = question.messages[-1].text.lower().split()
    return " ".join(word.strip(".,!?") for word in words if is_telling(word.strip(".,!?")))[:80]


def describe(spec: ToolSpec) -> str:
    """Return what a tool does in a few words, as one would search for it."""
    return spec.description.partition(".")[0].partition(";")[0][:80].lower()
