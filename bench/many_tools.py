"""What a budget of tokens does with 5, 50 and 500 tools: `python bench/many_tools.py`. It is run by hand.

The questions are those of the suite `field` in which something is called. Each has its own tools and, as distractors,
tools of other sets. The first table says how many tokens the tools take in a prompt, with and without a budget, and how
many of them are shown; the second, how often all tools of the right answer are among the first ones that the pre-pick
ranks, and in the budgeted list. Tokens are estimated from bytes; `--tokenize http://HOST:PORT` lets the server of
llama.cpp count those of some prompts.

    python bench/many_tools.py --prompts FILE.jsonl.gz     # writes prompts for `training/answer.py` (id, prompt, shown)
    python bench/many_tools.py --score ANSWERS.jsonl.gz    # judges the answers to them

A distractor may serve a question as well as the tool that is expected, so that figures for 50 and 500 tools are a lower
bound.
"""

import argparse
import gzip
import json
import random
import urllib.request
from collections.abc import Iterator, Sequence
from dataclasses import replace
from pathlib import Path
from statistics import mean

from toolspeak.dialects import DIALECTS, Shown
from toolspeak.dialects.slim_tools import count_tool_tokens, make_help_tool
from toolspeak.dialects.tool_index import ToolIndex
from toolspeak.dialects.tool_selection import ToolSelection, make_find_tool, select_tools
from toolspeak.evaluation.files import read_answers
from toolspeak.evaluation.questions import Question, Suite
from toolspeak.evaluation.suites import load_suite
from toolspeak.evaluation.templates import render_qwen
from toolspeak.evaluation.trials import Trial
from toolspeak.spec import ToolSpec

SIZES = (5, 50, 500)
RANKS = (1, 3, 5, 10, 20)
CONTEXT_TOKENS = 32_768
"""Tokens that the embedded model has room for; longer prompts are not written."""


def load_questions(limit: int) -> dict[int, Suite]:
    """Return the questions with each number of tools, by that number."""
    suites = [load_suite("field"), load_suite("field-train")]
    pool = {spec.name: spec for suite in suites for question in suite.questions for spec in question.tools}
    field = replace(suites[0], questions=tuple(filter(is_usable, suites[0].questions)))
    chosen = [
        question
        for category in field.categories
        for question in draw([each for each in field.questions if each.category == category], limit)
    ]
    return {
        size: replace(
            field, name=f"field-{size}", questions=tuple(add_distractors(each, pool, size) for each in chosen)
        )
        for size in SIZES
    }


def draw(questions: Sequence[Question], limit: int) -> Sequence[Question]:
    """Return at most so many questions, the same ones each time."""
    return random.Random(0).sample(questions, limit) if len(questions) > limit else questions


def is_usable(question: Question) -> bool:
    """Whether something is called, in answer to one message."""
    return bool(question.expected) and sum(message.role != "system" for message in question.messages) == 1


def add_distractors(question: Question, pool: dict[str, ToolSpec], size: int) -> Question:
    """Return a question with so many tools, or with its own if it has more; the same ones each time."""
    own = {spec.name for spec in question.tools}
    generator = random.Random(f"{question.id}, {size}")
    others = generator.sample([spec for name, spec in pool.items() if name not in own], max(size - len(own), 0))
    tools = [*question.tools, *others]
    generator.shuffle(tools)
    return replace(question, tools=tuple(tools))


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


# Prompts and answers


def make_trials(suites: dict[int, Suite], budget: int, dialects: Sequence[str]) -> Iterator[tuple[Trial, int | None]]:
    """Yield each question with each number of tools in each dialect, without a budget and with one."""
    for suite in suites.values():
        for limit in (None, budget):
            named = suite if limit is None else replace(suite, name=f"{suite.name}-budget")
            for name in dialects:
                for question in named.questions:
                    yield Trial(suite=named, question=question, dialect=name), limit


def write_prompts(path: Path, suites: dict[int, Suite], budget: int, dialects: Sequence[str]) -> None:
    written = left_out = 0
    with gzip.open(path, "wt", encoding="utf-8") as file:
        for trial, limit in make_trials(suites, budget, dialects):
            if limit is None and count_tool_tokens(trial.tools, DIALECTS[trial.dialect]) > CONTEXT_TOKENS:
                left_out += 1
                continue
            row = {"id": trial.id, "prompt": render_qwen(render(trial, limit)), "shown": str(limit or "")}
            file.write(json.dumps(row, ensure_ascii=False) + "\n")
            written += 1
    print(f"{written} prompts in {path}; {left_out} that do not fit the context are left out")


def print_scores(path: Path, suites: dict[int, Suite], budget: int, dialects: Sequence[str]) -> None:
    answers = {answer.id: answer for answer in read_answers(path)}
    rows: dict[tuple[str, str], list[tuple[bool, int, bool]]] = {}
    for trial, _ in make_trials(suites, budget, dialects):
        if answer := answers.get(trial.id):
            right = trial.judge(answer).verdict.right
            rows.setdefault((trial.suite.name, trial.dialect), []).append(
                (right, answer.prompt_tokens or 0, "find_tools" in answer.text)
            )
    print("| tools | dialect | n | right | prompt tokens | searched |\n|---|---|---|---|---|---|")
    for (suite, name), found in rows.items():
        right, tokens, searched = (mean(column) for column in zip(*found, strict=True))
        print(f"| {suite} | {name} | {len(found)} | {100 * right:.1f} | {tokens:,.0f} | {100 * searched:.1f} |")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--budget", type=int, default=1500, help="tokens of tools")
    parser.add_argument("--limit", type=int, default=1000, help="questions of each category")
    parser.add_argument("--sample", type=int, default=20, help="questions whose tokens are counted")
    parser.add_argument("--dialects", default=",".join(DIALECTS), help="for prompts and scores")
    parser.add_argument("--tokenize", metavar="ADDRESS", help="a server of llama.cpp that counts tokens")
    parser.add_argument("--prompts", type=Path, metavar="FILE")
    parser.add_argument("--score", type=Path, metavar="FILE")
    options = parser.parse_args()
    suites, dialects = load_questions(options.limit), options.dialects.split(",")
    if options.prompts:
        write_prompts(options.prompts, suites, options.budget, dialects)
    elif options.score:
        print_scores(options.score, suites, options.budget, dialects)
    else:
        print_tokens(suites, options.budget, options.tokenize, options.sample)
        print()
        print_recall(suites, options.budget)


if __name__ == "__main__":
    main()
