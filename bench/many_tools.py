"""What a budget of tokens does with 5, 50 and 500 tools: `python bench/many_tools.py`. It is run by hand.

The questions are those of the suite `field` in which something is called. Each has its own tools and, as distractors,
tools of other sets. The first table says how many tokens the tools take in a prompt, with and without a budget, and how
many of them are shown; the second, how often all tools of the right answer are among the first ones that the pre-pick
ranks, and in the budgeted list. Tokens are estimated from bytes; `--tokenize http://HOST:PORT` lets the server of
llama.cpp count those of some prompts. How many answers of a model are right, `many_tools_accuracy.py` says.
"""

import argparse
import hashlib
import json
import urllib.request
from collections.abc import Sequence
from dataclasses import replace
from statistics import mean

from toolspeak.dialects import DIALECTS, Shown
from toolspeak.dialects.slim_tools import count_tool_tokens, make_help_tool
from toolspeak.dialects.tool_index import ToolIndex
from toolspeak.dialects.tool_selection import ToolSelection, make_find_tool, select_tools
from toolspeak.lab.files import render_qwen
from toolspeak.lab.questions import Question, Suite
from toolspeak.lab.suites import load_suite
from toolspeak.lab.trials import Trial
from toolspeak.values.spec import ToolSpec

SIZES = (5, 50, 500)
CALLING = ("single", "several", "parallel", "nested", "messy")
"""The categories in which something is called in answer to one message."""

RANKS = (1, 3, 5, 10, 20)
CONTEXT_TOKENS = 32_768
"""Tokens that the embedded model has room for; longer prompts are not written."""


def load_questions(limit: int, categories: Sequence[str] = CALLING) -> dict[int, Suite]:
    """Return the questions of these categories with each number of tools, by that number."""
    suites = [load_suite("field"), load_suite("field-train")]
    pool = {spec.name: spec for suite in suites for question in suite.questions for spec in question.tools}
    chosen = [
        question
        for category in categories
        for question in draw([each for each in suites[0].questions if each.category == category], limit)
    ]
    return {
        size: replace(
            suites[0], name=f"field-{size}", questions=tuple(add_distractors(each, pool, size) for each in chosen)
        )
        for size in SIZES
    }


def draw(questions: Sequence[Question], limit: int) -> Sequence[Question]:
    """Return at most so many questions; the same ones each time, also if a few are added to the suite."""
    chosen = sorted(questions, key=lambda each: hash_text(each.id))[:limit]
    return sorted(chosen, key=questions.index)


def add_distractors(question: Question, pool: dict[str, ToolSpec], size: int) -> Question:
    """Return a question with so many tools, or with its own if it has more; the same ones each time."""
    own = {spec.name for spec in question.tools}
    others = sorted(pool.keys() - own, key=lambda name: hash_text(f"{question.id}, {name}"))
    tools = [*question.tools, *(pool[name] for name in others[: max(size - len(own), 0)])]
    return replace(question, tools=tuple(sorted(tools, key=lambda spec: hash_text(f"{spec.name}, {question.id}"))))


def hash_text(text: str) -> bytes:
    return hashlib.sha256(text.encode()).digest()


def select(trial: Trial, budget: int | None) -> ToolSelection:
    tools = trial.tools
    return select_tools(
        tools,
        DIALECTS[trial.dialect],
        budget,
        trial.question.messages,
        help_tool=make_help_tool(tools),
        find_tool=make_find_tool(tools),
    )


def render(trial: Trial, budget: int | None) -> Shown:
    view = select(trial, budget).view(trial.question.messages)
    return DIALECTS[trial.dialect].render(view.prompt_tools, view.history)


# Tokens and recall


def print_tokens(suites: dict[int, Suite], budget: int, address: str | None, sample: int) -> None:
    print(f"| tools | dialect | tokens | with a budget of {budget} | shown of them | not in the context |")
    print("|---|---|---|---|---|---|")
    for size, suite in suites.items():
        for name, dialect in DIALECTS.items():
            trials = [Trial(suite=suite, question=question, dialect=name) for question in suite.questions[:sample]]
            selections = [select(trial, budget) for trial in trials]
            whole = [count_tool_tokens(trial.tools, dialect) for trial in trials]
            slim = [each.tokens for each in selections]
            if address is not None:
                whole = [count_text(address, render(trial, None)) for trial in trials]
                slim = [count_text(address, render(trial, budget)) for trial in trials]
            shown = mean(len(each.listed) for each in selections)
            too_long = sum(tokens > CONTEXT_TOKENS for tokens in whole)
            tokens = f"{mean(whole):,.0f} | {mean(slim):,.0f}"
            print(f"| {size} | {name} | {tokens} | {shown:.1f} | {too_long} of {len(whole)} |", flush=True)


def count_text(address: str, shown: Shown) -> int:
    """Return the tokens of a prompt by the tokenizer of a server of llama.cpp."""
    body = json.dumps({"content": render_qwen(shown)}).encode()
    request = urllib.request.Request(f"{address}/tokenize", body, {"content-type": "application/json"})
    with urllib.request.urlopen(request, timeout=30) as response:
        return len(json.load(response)["tokens"])


def print_recall(suites: dict[int, Suite], budget: int) -> None:
    print(f"| tools | needed | n | {' | '.join(f'at {rank}' for rank in RANKS)} | in the list of {budget} tokens |")
    print(f"|---|---|---|{'---|' * (len(RANKS) + 1)}")
    for size, suite in suites.items():
        for is_single, label in ((True, "one tool"), (False, "several")):
            questions = [each for each in suite.questions if (len(name_expected(each)) == 1) is is_single]
            found: list[list[bool]] = []
            for question in questions:
                ranked = ToolIndex(question.tools).rank(question.messages[-1].text)
                listed = select(Trial(suite=suite, question=question, dialect="python"), budget).listed
                hits = [name_expected(question) <= set(ranked[:rank]) for rank in RANKS]
                found.append([*hits, name_expected(question) <= {spec.name for spec in listed}])
            shares = [f"{100 * mean(column):.1f}" for column in zip(*found, strict=True)]
            print(f"| {size} | {label} | {len(questions)} | {' | '.join(shares)} |", flush=True)


def name_expected(question: Question) -> set[str]:
    return {each.name for each in question.expected}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--budget", type=int, default=1500, help="tokens of tools")
    parser.add_argument("--limit", type=int, default=1000, help="questions of each category")
    parser.add_argument("--sample", type=int, default=20, help="questions whose tokens are counted")
    parser.add_argument("--tokenize", metavar="ADDRESS", help="a server of llama.cpp that counts tokens")
    options = parser.parse_args()
    suites = load_questions(options.limit)
    print_tokens(suites, options.budget, options.tokenize, options.sample)
    print()
    print_recall(suites, options.budget)


if __name__ == "__main__":
    main()
