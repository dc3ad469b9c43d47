"""How well a model calls when it has 5, 50 and 500 tools: prompts for it, and the scores of its answers.

The questions are a fixed sample of the suite `field`, with their own tools and, as distractors, tools of other sets. A
prompt is what a run would send: with a budget, tools are cut and picked, and `help` and `find_tools` are among them.
The model answers elsewhere (`training/answer.py`), in rounds: an answer that calls `help` or `find_tools` has a
follow-up, which shows what they return. With a budget, an answer that calls other tools has a follow-up, too: it shows
only these tools, as to the embedded model (`Shown.closer`), and the answer to it takes the place of the one before. All
other answers to a question are judged together.

    python bench/many_tools_accuracy.py --prompts first.jsonl.gz
    python bench/many_tools_accuracy.py --follow-ups second.jsonl.gz answers1.jsonl.gz
    python bench/many_tools_accuracy.py --score answers1.jsonl.gz answers2.jsonl.gz

Given the answers of two rounds, `--follow-ups` writes the prompts of the third. A question is wrong if a follow-up has
no answer. 500 tools without a budget are not asked: they take about 27,000 tokens in typescript, 32,000 in python and
58,000 in native; the embedded model has 8,192 by default, and 32,768 at most. With `--first`, no answer is replaced:
that is how a model does which does not look closer.

A distractor may serve a question as well as the tool that is expected (`many_tools_twins.txt`), so that figures for 50
and 500 tools are a lower bound. The second table leaves out the questions that have such a distractor among 500.
"""

import argparse
import gzip
import hashlib
import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from statistics import mean

from many_tools import CALLING, load_questions, name_expected

from toolspeak.dialects import DIALECTS, Shown
from toolspeak.dialects.slim_tools import count_text_tokens, make_help_tool
from toolspeak.dialects.tool_selection import QUERY, explain_tool, find_names, make_find_tool, say_found
from toolspeak.lab.files import read_answers, render_qwen
from toolspeak.lab.questions import Question, Suite, Verdict
from toolspeak.lab.trials import CALL_OUTPUT, RecordedAnswer, read_answer
from toolspeak.loop import AskModel, State, decide, initial_state, reduce
from toolspeak.run.turn_request import render_request
from toolspeak.values.events import Delta, RunStarted, ToolFinished, TurnStarted
from toolspeak.values.messages import ToolCall, ToolResult
from toolspeak.values.spec import ToolSpec

CATEGORIES = (*CALLING, "none", "missing")
PART = "many-tools"
"""The `part` of each prompt."""

TWINS = Path(__file__).with_name("many_tools_twins.txt")

BUDGET = 1250
"""Tokens of tools, four bytes each; with the tokenizer of Qwen2.5 those of a list from 500 are 950 on average."""


class Conversation:
    """A question in one dialect, with or without a budget for its tools, and what was answered so far.

    Attributes:
        is_asked_again: Whether the last answer has a follow-up.
        is_stale: Whether an answer that has one was to another prompt than today's.
    """

    def __init__(
        self, suite: Suite, question: Question, dialect: str, budget: int | None, *, looks_closer: bool = True
    ) -> None:
        self.group = suite.name if budget is None else f"{suite.name}-budget"
        self.question = question
        self.dialect = dialect
        self.is_asked_again = self.is_stale = False
        self.answers: list[RecordedAnswer] = []
        self._judge = suite.judge
        self._looks_closer = looks_closer
        self._search_tools = (make_help_tool(question.tools), make_find_tool(question.tools)) if budget else ()
        self._calls: list[ToolCall] = []
        self._state = self._begin(budget)
        self._shown = self._render()

    @property
    def id(self) -> str:
        """The id of the next prompt, which names the round if it is not the first."""
        first = f"{self.group}/{self.question.category}/{self.dialect}/{self.question.id}"
        return f"{first}#{len(self.answers) + 1}" if self.answers else first

    @property
    def prompt(self) -> str:
        """What the model is shown next."""
        return render_qwen(self._shown)

    def add(self, answer: RecordedAnswer) -> None:
        """Add the answer to the last prompt, and the results of its calls, unless the model looks closer at these."""
        self.answers.append(answer)
        is_asked_this = answer.prompt_hash == hash_prompt(self.prompt)
        closer = self._shown.closer(answer.text) if self._looks_closer and self._shown.closer else None
        if closer is None:
            self._read(answer)
        else:
            self._shown, self.is_asked_again = closer, True
        self.is_stale |= self.is_asked_again and not is_asked_this

    def _read(self, answer: RecordedAnswer) -> None:
        state = reduce(self._state, TurnStarted(turn=self._state.turn.number + 1))
        for event in read_answer(self._state, self.dialect, answer):
            if not isinstance(event, Delta):
                state = reduce(state, event)
        names = [tool.name for tool in self._search_tools]
        calls = [each.call for each in state.turn.calls.values() if each.call is not None]
        self.is_asked_again = any(call.name in names for call in calls)
        for each in tuple(state.turn.calls.values()):
            if each.result is None and each.call is not None:
                state = reduce(state, ToolFinished(result=self._find_result(each.call)))
        self._calls += [call for call in calls if call.name not in names]
        self._state = state
        if self.is_asked_again:
            self._shown = self._render()

    def _render(self) -> Shown:
        [ask] = [action for action in decide(self._state) if isinstance(action, AskModel)]
        return render_request(self._state, DIALECTS[self.dialect], ask)

    def judge(self) -> Verdict:
        """Judge the calls of all answers together."""
        if self.is_asked_again:
            return Verdict(right=False, why="the last answer has a follow-up, which was not answered")
        return self._judge(self.question, self._calls)

    def count_tool_tokens(self) -> int:
        """Return the tokens of the first prompt without those of the question, which are estimated."""
        rest = render_qwen(Shown(messages=self.question.messages))
        return (self.answers[0].prompt_tokens or 0) - count_text_tokens(rest)

    def _begin(self, budget: int | None) -> State:
        specs: Sequence[ToolSpec] = (*self.question.tools, *self._search_tools)
        started = RunStarted(
            run_id="",
            model="",
            dialect=self.dialect,
            messages=self.question.messages,
            in_text=DIALECTS[self.dialect].in_text,
            tool_budget=budget,
            search_tools=tuple(tool.name for tool in self._search_tools),
        )
        return reduce(initial_state(specs), started)

    def _find_result(self, call: ToolCall) -> ToolResult:
        if not self._search_tools or call.name not in {tool.name for tool in self._search_tools}:
            return ToolResult(call_id=call.id, output=CALL_OUTPUT)
        help_tool, find_tool = self._search_tools
        searched = self._state.searched_specs
        given = next(iter(call.arguments.values()), None)
        if call.name == find_tool.name and isinstance(given, str):
            return ToolResult(call_id=call.id, output=say_found(find_names(searched, given)))
        tools = {spec.name: spec for spec in searched}
        if call.name == help_tool.name:
            text = explain_tool(given, tools, DIALECTS[self.dialect])
            return (
                ToolResult(call_id=call.id, output=text) if given in tools else ToolResult(call_id=call.id, error=text)
            )
        return ToolResult(call_id=call.id, error=f"{QUERY} is a text", ran=False)


def begin_all(limit: int, budget: int, dialects: Sequence[str], *, looks_closer: bool) -> Iterator[Conversation]:
    """Yield each question with each number of tools in each dialect, without a budget and with one."""
    for size, suite in load_questions(limit, CATEGORIES).items():
        budgets = {5: (None,), 50: (None, budget), 500: (budget,)}[size]
        for each in budgets:
            for dialect in dialects:
                for question in suite.questions:
                    yield Conversation(suite, question, dialect, each, looks_closer=looks_closer)


def read_all(paths: Iterable[Path]) -> dict[str, RecordedAnswer]:
    """Return the answers of files by their ids."""
    return {answer.id: answer for path in paths for answer in read_answers(path)}


def replay(conversations: Iterable[Conversation], answers: Mapping[str, RecordedAnswer]) -> Iterator[Conversation]:
    """Yield the conversations that have answers, each with all of them."""
    for conversation in conversations:
        while (answer := answers.get(conversation.id)) and (conversation.is_asked_again or not conversation.answers):
            conversation.add(answer)
        if conversation.answers:
            yield conversation


def hash_prompt(prompt: str) -> str:
    return hashlib.sha256(prompt.encode()).hexdigest()[:12]


def write_prompts(path: Path, conversations: Iterable[Conversation]) -> None:
    counts: dict[str, tuple[int, int]] = {}
    with gzip.open(path, "wt", encoding="utf-8") as file:
        for each in conversations:
            prompt = each.prompt
            row = {"id": each.id, "prompt": prompt, "shown": hash_prompt(prompt), "part": PART}
            file.write(json.dumps(row, ensure_ascii=False) + "\n")
            count, tokens = counts.get(each.group, (0, 0))
            counts[each.group] = count + 1, tokens + count_text_tokens(prompt)
    for group, (count, tokens) in counts.items():
        print(f"{group}: {count} prompts of about {tokens / count:,.0f} tokens each")
    total = sum(tokens for _, tokens in counts.values())
    print(f"{path}: {sum(count for count, _ in counts.values())} prompts, about {total:,} tokens")


def list_ambiguous(questions: Iterable[Question], path: Path = TWINS) -> set[str]:
    """Return the ids of the questions that have a tool that serves as well as the expected ones."""
    groups: list[set[str]] = []
    serving: dict[str, set[str]] = {}
    for line in path.read_text(encoding="utf-8").splitlines():
        question_id, colon, names = line.partition(": ")
        if colon:
            serving[question_id] = set(names.split())
        elif not line.startswith("#"):
            groups.append(set(line.split()))
    found: set[str] = set()
    for question in questions:
        own = name_expected(question)
        twins = serving.get(question.id, set[str]()).union(*(group - own for group in groups if group & own))
        if twins & {spec.name for spec in question.tools}:
            found.add(question.id)
    return found


def print_scores(conversations: Iterable[Conversation]) -> None:
    groups: dict[tuple[str, str], list[Conversation]] = {}
    for each in conversations:
        groups.setdefault((each.group, each.dialect), []).append(each)
    ambiguous = list_ambiguous(each.question for found in groups.values() for each in found)
    print_table(groups)
    print("\nWithout questions that another tool serves as well:\n")
    print_table({key: [each for each in found if each.question.id not in ambiguous] for key, found in groups.items()})
    if stale := sum(each.is_stale for found in groups.values() for each in found):
        print(f"\nquestions with follow-ups to other prompts than today's: {stale}")


def print_table(groups: Mapping[tuple[str, str], Sequence[Conversation]]) -> None:
    print(f"| tools | dialect | n | {' | '.join(CATEGORIES)} | mean | tokens of tools | asked again | unfinished |")
    print(f"|---|---|---|{'---|' * (len(CATEGORIES) + 4)}")
    for (group, dialect), found in groups.items():
        shares = [score(each for each in found if each.question.category == category) for category in CATEGORIES]
        tokens = mean(each.count_tool_tokens() for each in found)
        asked_again = 100 * mean(len(each.answers) > 1 or each.is_asked_again for each in found)
        unfinished = 100 * mean(each.is_asked_again for each in found)
        cells = " | ".join(f"{share:.1f}" for share in shares)
        print(
            f"| {group} | {dialect} | {len(found)} | {cells} | {mean(shares):.1f} | {tokens:,.0f} | "
            f"{asked_again:.1f} | {unfinished:.1f} |"
        )


def score(conversations: Iterable[Conversation]) -> float:
    """Return the share of right answers, in percent."""
    verdicts = [each.judge().right for each in conversations]
    return 100 * mean(verdicts) if verdicts else 0.0


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--budget", type=int, default=BUDGET, help="tokens of tools, estimated")
    parser.add_argument("--limit", type=int, default=45, help="questions of each category")
    parser.add_argument("--dialects", default="python,typescript")
    action = parser.add_mutually_exclusive_group(required=True)
    action.add_argument("--prompts", type=Path, metavar="FILE", help="write the prompts of the first round")
    action.add_argument("--follow-ups", type=Path, metavar="FILE", help="write the prompts of the next round")
    action.add_argument("--score", action="store_true", help="judge the answers")
    parser.add_argument("--first", action="store_true", help="with --score: as if no model looked closer")
    parser.add_argument("answers", type=Path, nargs="*", help="the answers of all rounds so far")
    options = parser.parse_args()
    dialects = options.dialects.split(",")
    conversations = begin_all(options.limit, options.budget, dialects, looks_closer=not options.first)
    if options.prompts:
        write_prompts(options.prompts, conversations)
        return
    answered = replay(conversations, read_all(options.answers))
    if options.follow_ups:
        asked_again = [each for each in answered if each.is_asked_again]
        if stale := [each for each in asked_again if each.is_stale]:
            raise SystemExit(f"{stale[0].id}: the answer is to another prompt")
        write_prompts(options.follow_ups, asked_again)
    else:
        print_scores(answered)


if __name__ == "__main__":
    main()
