"""Writes what a model is trained on and measured with: `python training pairs FOLDER`.

`FOLDER/pairs.jsonl.gz` has questions with the right answers as the dialects write them in the history of a
conversation; `README.md` says where they come from. A line is a group of questions that share a set of tools, shown in
one order, in one dialect: `{"epoch", "dialect", "source", "toolset_rank", "system", "examples": [{"id", "rest",
"target"}]}`. A prompt is `system` followed by `rest`. `toolset_rank`, between 0 and 1, is fixed for a set of tools: a
share of the data is what lies below a number.

`own_prompts.jsonl.gz` has prompts without tools, which the model answers before it is trained on these answers of its
own (`own_answers.py`), `prompts.jsonl.gz` those to measure with, as `toolspeak eval --prompts-out` writes them, with
`bfcl` where the package `bfcl-eval` is installed, and `built-in.gguf` and `built-in-results.gguf` are the adapters of
the package.

With `--questions FILE --measure FILE` the pairs are those of one file of questions and the prompts those of another,
and nothing else: this is how a model learns the tools of one program.
"""

import random
import re
import shutil
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from functools import partial
from importlib.util import find_spec
from itertools import chain
from pathlib import Path
from typing import Any, cast

from composing import answers, omissions, selections, spoken, topics
from composing.tables import write_lines
from files import list_epochs, rank, read_settings, write_rows
from many_tools import BUDGETS, draw_questions, show_turns
from own_answers import PLAIN_PREFIX
from slips import make_slips, vary_dialect, write_answer
from worlds.groups import make_world_groups

from toolspeak.dialects import Shown
from toolspeak.dialects.figures import FIGURES_LABEL
from toolspeak.lab.files import make_prompt, render_qwen
from toolspeak.lab.questions import ExpectedCall, Question, Suite
from toolspeak.lab.suites import load_suite
from toolspeak.lab.trials import Trial, make_trials
from toolspeak.models.adapters import QWEN_CODER_CALLS
from toolspeak.run.output import NAME as OUTPUT_NAME
from toolspeak.values.errors import UsageError
from toolspeak.values.messages import Call, Message, ToolCall, assistant, user
from toolspeak.values.spec import ToolSpec

HERE = Path(__file__).parent
COMPOSERS: dict[str, Callable[[int], Iterable[dict[str, Any]]]] = {
    "answers": answers.compose,
    "composed": topics.compose,
    "omissions": omissions.compose,
    "selections": selections.compose,
    "sums": partial(spoken.compose, spoken.SUMS),
    "times": partial(spoken.compose, spoken.TIMES),
}
"""What composes the lines of suites of a seed, by the names of their files."""

BUILT_IN = dict(zip(("built-in.gguf", "built-in-results.gguf"), QWEN_CODER_CALLS.paths, strict=True))
"""The copies of the adapters of the package, and their files: the second answers what follows results."""

SYSTEM_END = "<|im_end|>\n"
PLAIN_PER_SET = 3  # how many questions of `plain.txt` are asked with a set of tools

FEWER_TOOLS_GROUP = 2
"""How many questions share a prompt from which tools are left out: the tools of each of them must stay."""

MAX_TOOLS = 16  # the number of tools up to which those of another set are added
HASTY_REPLY = re.compile(r"[:,] .*\d.*\bagainst\b.*\d")
"""A reply that says who is more before it gives the numbers: a small model then guesses (`composing/answers.py`)."""

STEPS = re.compile(r"[\d\s.,;'+=/-]+")
"""A part of a reply that works something out."""

BFCL_SAMPLE = 100  # the questions of each category of BFCL in the sample; the others are in a file of their own


def make_target(question: Question, dialect_name: str) -> str:
    """Return the right answer as the dialect writes it, without the token that ends it."""
    if question.expected:
        calls = [
            ToolCall(id=f"call_{place}", name=each.name, arguments=choose_arguments(each, question))
            for place, each in enumerate(question.expected, 1)
        ]
        answer = Message(role="assistant", parts=tuple(Call(call=call) for call in calls))
    else:
        answer = assistant(question.reply)
    return write_answer(question.tools, question.messages, answer, dialect_name)


def drop_steps(reply: str, figures: str) -> str:
    """Leave out the steps of a sum whose outcome was worked out, such as `8900 + 16145 = 25045.`"""
    known = re.findall(r"-?\d+(?:\.\d+)?", figures)
    sentences = reply.split(". ")
    is_step = [STEPS.fullmatch(each) and each.split(" = ")[-1].replace(",", ".") in known for each in sentences]
    return ". ".join(each for each, is_left in zip(sentences, is_step, strict=True) if not is_left)


def choose_arguments(expected: ExpectedCall, question: Question) -> dict[str, Any]:
    """Choose the arguments of a call, in the order of the tool's parameters.

    An optional one is given where the request says its value: of calls that leave defaults out even when they are said,
    a model learns to leave out what is said.
    """
    [spec] = [spec for spec in question.tools if spec.name == expected.name]
    request = next(message.text for message in reversed(question.messages) if message.role == "user")
    chosen: dict[str, Any] = {}
    for key in spec.parameters.get("properties", {}):
        if key in expected.arguments:
            chosen[key] = choose_value(expected.arguments[key], f"{question.id}, {expected.name}, {key}")
        elif key in expected.optional and is_said(expected.optional[key][0], request):
            chosen[key] = expected.optional[key][0]
    return chosen | {key: values[0] for key, values in expected.arguments.items() if key not in chosen}


def choose_value(values: Sequence[Any], place: str) -> Any:
    """Choose the first value that is written out, without its article if that is right too.

    Raises:
        UsageError: There is none, only rules such as `{"$any": true}`.
    """
    first = next((each for each in values if not is_rule(each)), None)
    if first is None and None not in values:
        raise UsageError(f"{place}: nothing can be taught by {values[0]}; write a value that is right before it")
    if isinstance(first, str):
        bare = re.sub(r"^(the|an?) ", "", first, flags=re.IGNORECASE)
        return next((each for each in values if isinstance(each, str) and each.lower() == bare.lower()), first)
    return first


def is_rule(value: Any) -> bool:
    """Whether a value is one of the rules by which answers are judged, such as `{"$contains": ["noon"]}`."""
    return isinstance(value, dict) and any(str(key).startswith("$") for key in cast("dict[str, Any]", value))


def is_said(value: Any, request: str) -> bool:
    """Whether a request says a value: a text or a number, in its own words."""
    if isinstance(value, bool) or not isinstance(value, str | int | float):
        return False
    words = re.escape(str(value).replace("_", " "))
    return re.search(rf"(?<![\w.,-]){words}(?![\w,-])", request.replace("_", " "), re.IGNORECASE) is not None


def make_groups(
    suite: Suite,
    settings: Mapping[str, Any],
    rng: random.Random,
    turns: int | None = None,
    offering: Suite | None = None,
) -> Iterator[dict[str, Any]]:
    """Yield the groups of all epochs: first the plain ones, then those with tools of the suite `offering`, too.

    In an epoch a set is shown in one of `turns` dialects.
    """
    turns = turns or settings["turns"]
    toolsets = split_toolsets(suite.questions)
    offers = list_toolsets(offering or suite)
    for epoch in list_epochs(settings):
        is_varied = epoch >= settings["plain_epochs"]
        for place, questions in enumerate(toolsets):
            for name in settings["dialects"][(place + epoch) % turns :: turns]:
                shuffled = rng.sample(questions, len(questions))
                for group in vary_groups(shuffled, offers, rng) if is_varied else [shuffled]:
                    for start in range(0, len(group), settings["group_size"]):
                        tools = shuffle_tools(group[0].tools, rng)
                        chosen = offer(group[start : start + settings["group_size"]], tools)
                        key = f"{epoch}/{chosen[0].id}"
                        prompts = [(render_qwen(render(suite, each, name, key)), each) for each in chosen]
                        yield make_group(prompts, name, epoch, suite.name, questions[0].tools)


def render(suite: Suite, question: Question, dialect_name: str, key: str) -> Shown:
    """Render a question; what is worked out from its results is shown for some of the keys."""
    shown_in = vary_dialect(dialect_name, key)
    if shown_in.in_text:
        return shown_in.render(question.tools, question.messages)
    return Trial(suite=suite, question=question, dialect=dialect_name).render()


def shuffle_tools(tools: Sequence[ToolSpec], rng: random.Random) -> list[ToolSpec]:
    """Return tools in another order; the one that gives a typed answer is the last, as in a run."""
    return sorted(rng.sample(tools, len(tools)), key=lambda spec: spec.name == OUTPUT_NAME)


def offer(questions: Sequence[Question], tools: Sequence[ToolSpec]) -> list[Question]:
    return [replace(each, tools=tuple(tools)) for each in questions]


def split_toolsets(questions: Sequence[Question]) -> list[list[Question]]:
    """Return the questions of each set of tools; those with a system message of their own are by themselves."""
    toolsets: dict[tuple[int, str], list[Question]] = {}  # the questions of a set share one tuple of tools
    for question in questions:
        if not question.expected and not question.reply:
            raise UsageError(f"{question.id}: nothing is expected, and no reply is given")
        system = "".join(message.text for message in question.messages if message.role == "system")
        toolsets.setdefault((id(question.tools), system), []).append(question)
    return list(toolsets.values())


def vary_groups(
    questions: Sequence[Question], offers: Sequence[Sequence[ToolSpec]], rng: random.Random
) -> Iterator[list[Question]]:
    """Yield groups of questions of one set, each with other tools than before, so that the right answers stay right.

    Tools that are not called may be missing where a call is right, or where no tool serves. Tools of another set may be
    there where a call is right: to what no tool of a set serves, another set might. Where a value is missing or a
    conversation goes on, nothing changes.
    """
    calling = [each for each in questions if each.expected]
    unserved = [each for each in questions if each.category == "none"]
    rest = [each for each in questions if not each.expected and each.category != "none"]
    half = len(calling) // 2
    for start in range(0, half, FEWER_TOOLS_GROUP):
        group = calling[start : min(half, start + FEWER_TOOLS_GROUP)]
        needed = {name for each in group for name in called_names(each)}
        spare = [spec for spec in group[0].tools if spec.name not in needed]
        kept = {spec.name for spec in rng.sample(spare, rng.randint(0, len(spare)))} | needed
        yield offer(group, [spec for spec in group[0].tools if spec.name in kept])
    if more := calling[half:]:
        names = {spec.name for spec in more[0].tools} | {OUTPUT_NAME}
        others = [spec for spec in rng.choice(offers) if spec.name not in names]
        yield offer(more, [*more[0].tools, *others[: max(0, MAX_TOOLS - len(more[0].tools))]])
    if unserved:
        tools = unserved[0].tools
        yield offer(unserved, rng.sample(tools, rng.randint(1, len(tools))))
    if rest:
        yield rest


def called_names(question: Question) -> set[str]:
    """Return the names of the tools that are called in the conversation or in the right answer."""
    earlier = {call.name for message in question.messages for call in message.calls}
    return earlier | {each.name for each in question.expected}


def make_group(
    prompts: Iterable[tuple[str, Question]], dialect_name: str, epoch: int, source: str, tools: Sequence[ToolSpec]
) -> dict[str, Any]:
    """Return the group of questions whose prompts begin with the same system message; the tools give it its rank."""
    systems: set[str] = set()
    examples: list[dict[str, str]] = []
    for prompt, question in prompts:
        system, end, rest = prompt.partition(SYSTEM_END)
        systems.add(system + end)
        target = make_target(question, dialect_name)
        target = drop_steps(target, rest.rpartition(f"{FIGURES_LABEL}:")[2]) if FIGURES_LABEL in rest else target
        examples.append({"id": question.id, "rest": rest, "target": target})
    [system] = systems
    names = ",".join(sorted(spec.name for spec in tools))
    group = {"epoch": epoch, "source": source, "toolset_rank": rank(names)}
    return {**group, "dialect": dialect_name, "system": system, "examples": examples}


def make_many_tools_groups(suite: Suite, settings: Mapping[str, Any], rng: random.Random) -> Iterator[dict[str, Any]]:
    """Yield questions with many tools, of which a budget lets some be shown; each turn is a group by itself."""
    for epoch, question in draw_questions(suite, settings, rng):
        name = rng.choice(settings["dialects"])
        for shown in show_turns(question, name, rng.choice(BUDGETS)):
            yield make_group([shown], name, epoch, "many-tools", question.tools)


def make_slip_groups(suite: Suite, settings: Mapping[str, Any], rng: random.Random) -> Iterator[dict[str, Any]]:
    """Yield questions that follow a call that went wrong, each a group by itself."""
    for epoch, name, question in make_slips(suite, settings, rng):
        prompt = render_qwen(vary_dialect(name, f"{epoch}/{question.id}").render(question.tools, question.messages))
        yield make_group([(prompt, question)], name, epoch, "slips", question.tools)


def load_habits(suite: Suite) -> Suite:
    """Return the questions by hand that are for training only, as a suite like another one."""
    suites = [load_suite(str(path)) for path in sorted(HERE.glob("habits-*.jsonl"))]
    return replace(suite, name="habits", questions=tuple(each for suite in suites for each in suite.questions))


def leave_hasty(suite: Suite) -> Suite:
    """Leave out the questions whose written reply compares before it gives the numbers."""
    kept = [each for each in suite.questions if not HASTY_REPLY.search(each.reply or "")]
    return replace(suite, questions=tuple(kept))


def add_plain(suite: Suite, rng: random.Random) -> Suite:
    """Add the questions of `plain.txt` to some of the sets of tools; the model itself writes the answers."""
    lines = (HERE / "plain.txt").read_text(encoding="utf-8").splitlines()
    chosen = rng.sample(list_toolsets(suite), -(-len(lines) // PLAIN_PER_SET))
    added: list[Question] = []
    for number, line in enumerate(lines):
        name, tools = f"{PLAIN_PREFIX}{number:03}", chosen[number // PLAIN_PER_SET]
        added.append(Question(id=name, category="talk", messages=(user(line),), tools=tools, reply=line))
    return replace(suite, questions=(*suite.questions, *added))


def list_toolsets(suite: Suite) -> list[tuple[ToolSpec, ...]]:
    return list({id(each.tools): each.tools for each in suite.questions}.values())


def draw_measured(dialects: Sequence[str], seed: int) -> Iterator[tuple[str, Trial]]:
    """Yield the questions to measure with, each with the part of the measurement that it belongs to."""
    parts = ("field", "answers")
    for part, suite in (*((name, load_suite(name)) for name in parts), ("talk", load_suite(str(HERE / "talk.jsonl")))):
        yield from ((part, trial) for trial in make_trials(suite, dialects, figures=True))
    if find_spec("bfcl_eval") is not None:
        suite = load_suite("bfcl")
        sample = {trial.id for trial in make_trials(suite, dialects, limit=BFCL_SAMPLE, seed=seed)}
        for trial in make_trials(suite, dialects):
            yield "bfcl" if trial.id in sample else "bfcl-rest", trial


def make_all(folder: Path, epochs: Sequence[int] | None = None, seed: int | None = None) -> None:
    """Write all files, or only what is trained on in some epochs; another seed than that of the settings draws anew."""
    settings = read_settings()
    settings["pairs"]["epochs"] = epochs
    pairs, measured_seed = settings["pairs"], settings["seed"]
    seed = measured_seed if seed is None else seed
    copy_adapters(folder)
    field = add_plain(leave_hasty(load_suite("field-train")), random.Random(seed))
    habits = leave_hasty(load_habits(field))
    by_hand = replace(field, questions=(*field.questions, *habits.questions))
    sources = [make_groups(each, pairs, random.Random(seed), offering=by_hand) for each in (field, habits)]
    for name, compose in COMPOSERS.items():
        write_lines(path := folder / f"{name}.jsonl", compose(seed))
        sources.append(make_groups(load_suite(str(path)), pairs, random.Random(seed), pairs["composed_turns"]))
    # With tools of the other suite, since to a request for code several tools of its own would be right.
    sources.append(make_groups(load_suite(str(HERE / "programs.jsonl")), pairs, random.Random(seed), offering=by_hand))
    sources.append(make_many_tools_groups(by_hand, pairs, random.Random(seed)))
    sources.append(make_slip_groups(by_hand, pairs, random.Random(seed)))
    sources.append(make_world_groups(pairs, seed))
    plain = (each for each in field.questions if each.id.startswith(PLAIN_PREFIX))
    own_prompts = ({"id": each.id, "prompt": render_qwen(Shown(messages=each.messages))} for each in plain)
    write_files(folder, chain.from_iterable(sources), own_prompts, draw_measured(pairs["dialects"], measured_seed))


def make_yours(folder: Path, questions: Path, measure: Path) -> None:
    """Write all files for the questions of one file, measured with those of another.

    Raises:
        UsageError: A file cannot be used, or the folder holds adapters, which are not trained again.
    """
    settings = read_settings()
    pairs, seed = settings["pairs"], settings["seed"]
    if earlier := sorted(path.name for path in folder.glob("*.gguf") if path.name not in BUILT_IN):
        raise UsageError(f"{folder} has {', '.join(earlier)} of an earlier training; take another folder, or delete it")
    if questions.resolve() == measure.resolve():
        raise UsageError(f"{questions} is to be trained on and to measure with; take different questions")
    if missing := [path for path in (questions, measure) if not path.is_file()]:
        raise UsageError(f"there is no file {missing[0]}")
    taught, measured = load_suite(str(questions)), load_suite(str(measure))
    for question in chain.from_iterable(split_toolsets(taught.questions)):
        make_target(question, pairs["dialects"][0])
    copy_adapters(folder)
    trials = (("yours", trial) for trial in make_trials(measured, pairs["dialects"]))
    write_files(folder, make_groups(taught, pairs, random.Random(seed)), (), trials)


def copy_adapters(folder: Path) -> None:
    folder.mkdir(parents=True, exist_ok=True)
    for name, path in BUILT_IN.items():
        shutil.copyfile(path, folder / name)


def write_files(
    folder: Path,
    groups: Iterable[dict[str, Any]],
    own_prompts: Iterable[dict[str, Any]],
    measured: Iterable[tuple[str, Trial]],
) -> None:
    """Write what is trained on, what the model answers before, and the prompts to measure with."""
    prompts = (make_prompt(trial, render_qwen) | {"part": part} for part, trial in measured)
    print(f"{write_rows(folder / 'pairs.jsonl.gz', groups)} groups of questions to train on")
    print(f"{write_rows(folder / 'own_prompts.jsonl.gz', own_prompts)} prompts to answer before that")
    print(f"{write_rows(folder / 'prompts.jsonl.gz', prompts)} prompts to measure with")
