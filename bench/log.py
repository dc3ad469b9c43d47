"""What the log of conversations costs when it is large: `python bench/log.py [--conversations N]`.

Fills a file with conversations of two prompts (answers of 1,500 characters), and prints the seconds of a whole
`toolspeak log` and `toolspeak log search` in a fresh process, beside `toolspeak --version`, and of the query alone. The
bar for 10,000 conversations is one second for each command.
"""

import argparse
import os
import random
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from toolspeak.durable.log import ConversationStore, RunLink, StoredFact
from toolspeak.values.events import RunEnded, RunStarted, TurnEnded, TurnStarted
from toolspeak.values.messages import assistant, user

WORDS = ("rain", "Oslo", "函数", "straße", "tool", "answer", "weather", "window", "river", "Paris", "north", "seven")
REPETITIONS = 5
BAR_SECONDS = 1.0


def write_conversations(store: ConversationStore, count: int) -> None:
    """Write conversations of two runs each; one of them has a word that no other has."""
    pick = random.Random(0)
    for number in range(count):
        link, messages = None, ()
        for turn in range(2):
            run_id = f"{number:08x}{turn}"
            prompt = user(" ".join(pick.choices(WORDS, k=12)))
            answer = assistant(" ".join(pick.choices(WORDS, k=250)) + (" needle" if number == count // 2 else ""))
            started = RunStarted(run_id=run_id, model="bench", dialect="native", messages=(*messages, prompt))
            at = number * 10.0 + turn
            link = link or RunLink(conversation=run_id)
            store.start(started, at, link)
            facts = (TurnStarted(turn=1), TurnEnded(message=answer, finish="stop"), RunEnded(reason="answered"))
            store.append(run_id, [StoredFact(fact, at) for fact in facts])
            messages = (*messages, prompt, answer)
            link = RunLink(conversation=link.conversation, parent=run_id, messages=messages)


def time_command(folder: Path, *arguments: str) -> float:
    """Return the median of the wall seconds that a command takes in a fresh process."""
    environment = {**os.environ, "TOOLSPEAK_DATA_FOLDER": str(folder)}
    times: list[float] = []
    for _ in range(REPETITIONS):
        before = time.perf_counter()
        subprocess.run(
            [sys.executable, "-m", "toolspeak.cli", *arguments], env=environment, stdout=subprocess.DEVNULL, check=True
        )
        times.append(time.perf_counter() - before)
    return statistics.median(times)


def main() -> int:
    """Measure, print a table, and return 1 if a bar is missed."""
    parser = argparse.ArgumentParser(description="Measure the log of conversations.")
    parser.add_argument("--conversations", type=int, default=10_000, metavar="N")
    count: int = parser.parse_args().conversations
    with tempfile.TemporaryDirectory() as name:
        path = Path(name) / "log.sqlite"
        with ConversationStore(path) as store:
            before = time.perf_counter()
            write_conversations(store, count)
            written = time.perf_counter() - before
            before = time.perf_counter()
            found = store.list_newest(20, ["needle"])
            query = time.perf_counter() - before
            assert len(found) == 1
        print(f"{count:,} conversations, {path.stat().st_size / 1e6:.0f} MB, written in {written:.0f} s")
        print(f"  search, the query alone      {query:.3f} s")
        missed = False
        for arguments in (["--version"], ["log"], ["log", "search", "needle"], ["log", "search", "函数", "EATHER"]):
            seconds = time_command(Path(name), *arguments)
            missed |= seconds > BAR_SECONDS
            print(f"  toolspeak {' '.join(arguments):<18} {seconds:.3f} s")
    return int(missed and count <= 10_000)


if __name__ == "__main__":
    sys.exit(main())
