"""How fast the embedded model reads and writes, and what makes it faster. It is run by hand, on a quiet machine.

    toolspeak eval --suite field --dialect python --limit 4 --prompts-out FILE
    python bench/embedded.py read FILE STATES               read the prompts, and keep what was read in a folder
    python bench/embedded.py write FILE STATES OPTIONS…     write the answers with each of the options, in turn
    python bench/embedded.py guess FILE                     how many tokens could be guessed from the prompt, and what
                                                            that is worth
    python bench/embedded.py options OPTIONS…               read and write the same texts with each of the options
    python bench/embedded.py restart FOLDER                 the first token in a new process: reading all, and with
                                                            what is kept in a folder

`read` takes many minutes and can be stopped and continued. `write` starts from what was read, so that it measures only
the writing; `--start` and `--stop` choose a part of the questions. `guess` takes recorded answers, and measures only
what it costs to compute several tokens at once.

Options are `default`, or changes of it, joined by `+`: a name and a value, `batch=128`, or `guess=KIND:NAME=SIZE:…`,
such as `guess=ngram_simple:size_n=3:size_m=8`. All ratios are to the first of them. The CPU time of a process is what
other programs disturb least, with `--threads 1`: threads of llama.cpp wait for each other by spinning.
"""

import argparse
import gzip
import json
import os
import time
import urllib.request
from collections.abc import Mapping, Sequence
from pathlib import Path
from statistics import median
from typing import Any

from toolspeak.dialects import PYTHON
from toolspeak.models import EmbeddedModel, Request
from toolspeak.models.adapters import QWEN_CODER_CALLS
from toolspeak.models.local import (
    ENGINE,
    STARTUP_TIMEOUT_SECONDS,
    Child,
    LocalServer,
    ServerOptions,
    check_options,
    child_options,
    server_command,
)
from toolspeak.models.prompt_store import PromptStore
from toolspeak.models.weights import QWEN_CODER
from toolspeak.models.weights_download import find_weights
from toolspeak.settings import cache_folder

KEY = "bench"
RECORDED = Path(__file__).parent / "accuracy" / "adapter.jsonl.gz"
MAX_TOKENS = 192
TOTALS: tuple[str, ...] = ("tokens", "seconds", "cpu", "guessed", "right")
ADAPTER = {"lora": [{"id": 0, "scale": 1.0}]}
WORDS = "The price of {number} loaves of bread in the old town is told in the list of the shop, in line {number}. "


def read_engine(text: str) -> dict[str, Any]:
    """Return the options of an engine: the default ones, but for what the text says."""
    engine = dict(ENGINE)
    for part in text.split("+") if text != "default" else ():
        name, _, value = part.partition("=")
        if name == "guess" and value != "none":
            kind, *sizes = value.split(":")
            named = {size.partition("=")[0]: int(size.partition("=")[2]) for size in sizes}
            engine["guess"] = {"kind": kind, "sizes": named}
        elif name == "guess":
            engine["guess"] = None
        elif name not in engine:
            raise SystemExit(f"there is no option {name}; there are {', '.join(engine)}")
        else:
            engine[name] = int(value) if value.isdecimal() else value == "yes" if value in ("yes", "no") else value
    return engine


class EngineServer(Child):
    """A server with options of its engine."""

    def __init__(self, engine: str, threads: int, *, states: Path | None = None, cache_mib: int = 0) -> None:
        weights = find_weights(QWEN_CODER, cache_folder() / "models")
        if weights is None:
            raise SystemExit("the weights are not here: toolspeak pull")
        options = check_options(
            ServerOptions(weights=weights, threads=threads, adapter=QWEN_CODER_CALLS, prompts=states)
        )
        own = {"engine": read_engine(engine), "cache_mib": cache_mib}
        started = time.perf_counter()
        super().__init__(server_command(), child_options(options, KEY) | own)
        self.address: str = self.wait_until_ready(timeout=STARTUP_TIMEOUT_SECONDS, on_progress=None)["address"]
        self.load_seconds = time.perf_counter() - started

    def post(self, path: str, body: dict[str, Any]) -> dict[str, Any]:
        headers = {"Authorization": f"Bearer {KEY}", "Content-Type": "application/json"}
        request = urllib.request.Request(f"{self.address}{path}", json.dumps(body).encode(), headers)
        with urllib.request.urlopen(request, timeout=900) as answer:
            return json.load(answer)

    def tokenize(self, text: str) -> list[int]:
        return self.post("/tokenize", {"content": text, "parse_special": True})["tokens"]

    def complete(self, prompt: str | list[int], tokens: int, **more: Any) -> dict[str, Any]:
        body = {"prompt": prompt, "n_predict": tokens, "temperature": 0, "id_slot": 0, **ADAPTER, **more}
        return self.post("/completion", body)

    @property
    def cpu_seconds(self) -> float:
        fields = Path(f"/proc/{self.pid}/stat").read_text().rsplit(")", 1)[1].split()
        return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")

    @property
    def memory_mb(self) -> float:
        lines = Path(f"/proc/{self.pid}/status").read_text().splitlines()
        return next(int(line.split()[1]) / 1000 for line in lines if line.startswith("VmRSS"))


def load_questions(path: Path) -> list[dict[str, Any]]:
    return [json.loads(line) for line in path.read_text().splitlines()]


def read_questions(path: Path, states: Path, threads: int) -> None:
    """Read the prompts, and keep the state after each in a file."""
    states.mkdir(exist_ok=True)
    server = EngineServer("default", threads, states=states)
    try:
        for number, question in enumerate(load_questions(path)):
            target = states / f"{number}.bin"
            if target.exists():
                continue
            timings = server.complete(question["prompt"], 0)["timings"]
            server.post("/slots/0?action=save", {"filename": "new"})
            (states / "new").rename(target)
            print(f"{number}: {timings['prompt_n']} tokens, {timings['prompt_per_second']:.1f} in a second", flush=True)
    finally:
        server.stop()


def write_answers(path: Path, states: Path, engines: Sequence[str], threads: int, part: slice) -> None:
    """Write the answers with each of the engines in turn, and print what each took and which answers differ."""
    servers = {engine: EngineServer(engine, threads, states=states) for engine in engines}
    totals = {engine: dict.fromkeys(TOTALS, 0.0) for engine in engines}
    differing: list[str] = []
    questions = [each for each in enumerate(load_questions(path)) if (states / f"{each[0]}.bin").exists()]
    try:
        for server in servers.values():
            server.complete("\n", 0)  # the adapter is taken into use
        for place, (number, question) in enumerate(questions[part]):
            texts: dict[str, str] = {}
            for engine in engines if place % 2 else reversed(engines):
                server, total = servers[engine], totals[engine]
                server.post("/slots/0?action=restore", {"filename": f"{number}.bin"})
                before = server.cpu_seconds
                answer = server.complete(question["prompt"], MAX_TOKENS, cache_prompt=True)
                timings = answer["timings"]
                total["cpu"] += server.cpu_seconds - before
                total["tokens"] += timings["predicted_n"]
                total["seconds"] += timings["predicted_ms"] / 1000
                total["guessed"] += timings.get("draft_n") or 0
                total["right"] += timings.get("draft_n_accepted") or 0
                texts[engine] = answer["content"]
            wanted = texts[engines[0]]
            others = [(engine, text) for engine, text in texts.items() if text != wanted]
            differing += [f"{question['id']} with {engine}: {text!r}, not {wanted!r}" for engine, text in others]
            print(json.dumps([number, totals]), flush=True)
    finally:
        for server in servers.values():
            server.stop()
    print_totals(totals)
    print(f"answers that differ: {len(differing)}", *differing, sep="\n")


def print_totals(totals: Mapping[str, Mapping[str, float]]) -> None:
    first = next(iter(totals.values()))
    for engine, total in totals.items():
        speed, base = total["tokens"] / total["seconds"], first["tokens"] / first["seconds"]
        cpu, base_cpu = total["cpu"] / total["tokens"], first["cpu"] / first["tokens"]
        print(
            f"{engine}: {total['tokens']:.0f} tokens, {speed:.2f} in a second ({speed / base:.2f}), "
            f"{cpu:.3f} CPU seconds a token ({cpu / base_cpu:.2f}), "
            f"{total['right']:.0f} of {total['guessed']:.0f} guesses right"
        )


def find_guesses(tokens: Sequence[int], match: int, most: int) -> Sequence[int]:
    """Return what followed when the last tokens stood in the text before, as llama.cpp does with `ngram_simple`."""
    last = tokens[-match:]
    for place in range(len(tokens) - match - 1, -1, -1):
        if tokens[place : place + match] == last:
            return tokens[place + match : place + match + most]
    return ()


def simulate_guesses(path: Path, threads: int, rounds: int) -> None:
    """Print how fast the recorded answers would be written, if tokens were guessed from the prompt."""
    recorded: dict[str, str] = {}
    with gzip.open(RECORDED, "rt", encoding="utf-8") as lines:
        for row in map(json.loads, lines):
            recorded[row["id"]] = row["text"]
    server = EngineServer("default", threads)
    try:
        texts = [(each["prompt"], recorded[each["id"]] + "<|im_end|>") for each in load_questions(path)]
        pairs = [[server.tokenize(text) for text in pair] for pair in texts]
        costs = measure_passes(server, pairs[0][0], rounds)
    finally:
        server.stop()
    print("computing several tokens at once costs, in tokens one by one:")
    print(", ".join(f"{size}: {cost:.2f}" for size, cost in costs.items()))
    for match in (1, 2, 3, 4, 6):
        for most in (1, 3, 7):
            written, passes, cost, guessed, right = 0, 0, 0.0, 0, 0
            for prompt, answer in pairs:
                tokens, place = [*prompt, answer[0]], 1  # the first token comes with the prompt
                while place < len(answer):
                    guess = find_guesses(tokens, match, most)
                    rest = answer[place:]
                    same = next((at for at, (a, b) in enumerate(zip(guess, rest, strict=False)) if a != b), len(guess))
                    taken = rest[: min(same, len(rest) - 1) + 1]
                    passes, cost = passes + 1, cost + costs[1 + len(guess)]
                    written, guessed, right = written + len(taken), guessed + len(guess), right + len(taken) - 1
                    tokens += taken
                    place += len(taken)
            print(
                f"match {match}, guess {most}: {written} tokens, {right} of {guessed} guesses right, speed "
                f"{written / cost:.2f}; {written / passes:.2f} if several cost as much as one"
            )


def measure_passes(server: EngineServer, prompt: list[int], rounds: int) -> dict[int, float]:
    """Return the CPU time of computing 1 to 8 tokens at once, as multiples of that of one token."""
    known, least = prompt[:64], dict.fromkeys(range(1, 9), float("inf"))
    for _ in range(rounds):
        for size in least:
            server.complete(known, 0, cache_prompt=True)
            before = server.cpu_seconds
            server.complete([*known, *prompt[100 : 100 + size]], 0, cache_prompt=True)
            least[size] = min(least[size], server.cpu_seconds - before)
    return {size: seconds / least[1] for size, seconds in least.items()}


def compare_options(engines: Sequence[str], threads: int, rounds: int) -> None:
    """Read and write the same texts with each of the engines in turn, and print medians, load time and memory."""
    servers = {engine: EngineServer(engine, threads) for engine in engines}
    found: dict[str, list[tuple[float, float, float]]] = {engine: [] for engine in engines}
    try:
        for number in range(rounds):
            text = "".join(WORDS.format(number=number * 100 + each) for each in range(10))
            for engine in engines if number % 2 else reversed(engines):
                before = servers[engine].cpu_seconds
                timings = servers[engine].complete(text, 16, cache_prompt=False, ignore_eos=True)["timings"]
                cpu = servers[engine].cpu_seconds - before
                found[engine].append((timings["prompt_per_second"], timings["predicted_per_second"], cpu))
                print(engine, found[engine][-1], flush=True)
        first: list[float] = []
        for engine, server in servers.items():
            middle = [median(each[place] for each in found[engine]) for place in range(3)]
            first = first or middle
            ratios = " / ".join(f"{mine / base:.2f}" for mine, base in zip(middle, first, strict=True))
            print(
                f"{engine}: {middle[0]:.1f} read and {middle[1]:.1f} written in a second, {middle[2]:.2f} CPU seconds "
                f"({ratios}), loaded in {server.load_seconds:.1f} s, {server.memory_mb:.0f} MB"
            )
    finally:
        for server in servers.values():
            server.stop()


DEMO = "What's the weather like in Paris and London? Also convert 20C to Fahrenheit."


def measure_restart(folder: Path, rounds: int) -> None:
    """Print the seconds until a new process has loaded the weights and written the first token, and their ratio."""
    import asyncio
    import sys

    sys.path.insert(0, str(Path(__file__).parents[1] / "examples"))
    from weather_calculator import calculator, get_weather

    from toolspeak.tools import Tool
    from toolspeak.values.messages import user

    weights = find_weights(QWEN_CODER, cache_folder() / "models")
    if weights is None:
        raise SystemExit("the weights are not here: toolspeak pull")
    specs = [Tool(each).spec for each in (get_weather, calculator)]
    request = Request(shown=PYTHON.render(specs, [user(DEMO)]), dialect="python")

    async def wait_for_token(model: EmbeddedModel) -> None:
        async for _ in model.ask(request):
            return

    found: dict[str, list[tuple[float, float]]] = {"reading all": [], "kept prompts": []}
    for number in range(-1, rounds):  # the first one writes the file
        for name, prompts in (("reading all", None), ("kept prompts", PromptStore(folder))):
            if number < 0 and prompts is None:
                continue
            model = EmbeddedModel(weights, adapter=QWEN_CODER_CALLS, prompts=prompts)
            started = time.perf_counter()
            server = model.load()
            loaded = time.perf_counter()
            asyncio.run(wait_for_token(model))
            ended = time.perf_counter()
            if isinstance(server, LocalServer):
                server.stop()
            print(f"{name}: loaded in {loaded - started:.1f} s, first token after {ended - loaded:.1f} s", flush=True)
            if number >= 0:
                found[name].append((loaded - started, ended - loaded))
    asked = {name: median(token for _, token in times) for name, times in found.items()}
    whole = {name: median(loaded + token for loaded, token in times) for name, times in found.items()}
    for what, seconds in (("after loading", asked), ("with loading", whole)):
        first, kept = seconds.values()
        print(
            f"first token, {what}: {first:.2f} s reading all, {kept:.2f} s with kept prompts, ratio {kept / first:.2f}"
        )


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("what", choices=("read", "write", "guess", "options", "restart"))
    parser.add_argument("arguments", nargs="*")
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--start", type=int)
    parser.add_argument("--stop", type=int)
    options = parser.parse_args()
    match options.what, options.arguments:
        case "read", [file, states]:
            read_questions(Path(file), Path(states), options.threads)
        case "write", [file, states, *engines]:
            part = slice(options.start, options.stop)
            write_answers(Path(file), Path(states), engines or ["default"], options.threads, part)
        case "guess", [file]:
            simulate_guesses(Path(file), options.threads, options.rounds)
        case "options", engines:
            compare_options(engines or ["default"], options.threads, options.rounds)
        case "restart", [folder]:
            measure_restart(Path(folder), options.rounds)
        case _:
            parser.error("the first lines of --help show the arguments")


if __name__ == "__main__":
    main()
