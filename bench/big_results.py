"""Ten tasks over results of 1 to 50 MB, cut at 65,536 characters and with `recall`: `python bench/big_results.py`.

A script stands for the model: it calls a tool, and asks `recall` as a model would that knows the shape of the result.
Each run has its own process. The columns: the tokens of all requests (four bytes are one) and whether the answer is in
what the model was shown; the seconds of the run, the longest time for which the event loop did not turn, and the most
memory that the process took. With `recall`, the last query is repeated six times: "more" is by how much the memory grew
in the last five, so it shows whether a turn keeps a copy. Numbers of tasks, from 0, run only these.
"""

import asyncio
import json
import resource
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from typing import Any, NamedTuple

from toolspeak import Agent, Limits
from toolspeak.models import Request
from toolspeak.models.request_size import count_request_bytes
from toolspeak.testing import ScriptedModel, ScriptedReply, calls, says
from toolspeak.tools import Tool
from toolspeak.values.messages import list_stretches

CUT_CHARS = 65_536
REPEATS = 6


class Task(NamedTuple):
    """A result of some megabytes, the queries that lead to the answer, and the answer."""

    name: str
    size: float
    make: Callable[[int], Any]
    queries: list[dict[str, Any]]
    answer: str


def list_orders(chars: int) -> list[dict[str, Any]]:
    """Make orders, of which each takes about 150 characters."""
    cities = ("Oslo", "Rome", "Lima", "Kyoto", "Quito")
    count = chars // 150
    orders = [
        {
            "id": number,
            "city": cities[number % 5],
            "total": number % 997 * 1.5,
            "note": f"ordered by client {number:0>60}",
        }
        for number in range(count)
    ]
    orders[count - 100]["note"] = "the blue heron"
    return orders


def nest(chars: int) -> dict[str, Any]:
    orders = list_orders(chars)
    size = len(orders) // 40
    shops = [
        {"manager": f"manager {number}", "orders": orders[number * size : (number + 1) * size]} for number in range(40)
    ]
    return {
        "year": 2024,
        "regions": [{"name": f"region {each}", "shops": shops[each * 10 : each * 10 + 10]} for each in range(4)],
    }


def write_table(chars: int) -> str:
    return "id,city,total,note\n" + "".join(f"{','.join(map(str, each.values()))}\n" for each in list_orders(chars * 2))


def write_log(chars: int) -> str:
    count = chars // 90
    lines = [
        f"2024-05-{number % 28 + 1:02} 10:00:00 INFO worker {number % 16} took job {number:0>40}"
        for number in range(count)
    ]
    lines[count - 500 : count - 498] = [
        "2024-05-09 10:00:00 ERROR payment failed",
        "  caused by: card 4711 was declined",
    ]
    return "\n".join(lines)


def write_json_lines(chars: int) -> str:
    return "".join(json.dumps(each) + "\n" for each in list_orders(chars))


HERON = {"find": "blue heron"}
TASKS = [
    Task("JSON list: one order", 1, list_orders, [{"path": "$[6000].note"}], f"client {6000:0>60}"),
    Task("JSON list: count", 10, list_orders, [{"where": "city = Oslo and total > 1490", "count": True}], "40"),
    Task("JSON list: search", 50, list_orders, [HERON], "the blue heron"),
    Task("nested JSON: path", 5, nest, [{"path": "$.regions[3].shops[9].manager"}], "manager 39"),
    Task("nested JSON: search", 50, nest, [HERON, {"path": "$.regions[3].name"}], "region 3"),
    Task("JSON in a text: search", 20, lambda chars: json.dumps(list_orders(chars)), [HERON], "the blue heron"),
    Task("lines of JSON: condition", 20, write_json_lines, [{"where": "note contains heron"}], "the blue heron"),
    Task("CSV: condition", 10, write_table, [{"where": "city = Lima and total >= 1494", "count": True}], "26"),
    Task("CSV: search", 50, write_table, [HERON, {"path": "$[-100].city"}], "Rome"),
    Task("log: what caused it", 50, write_log, [{"find": "error payment"}, {"lines": "555056-555057"}], "card 4711"),
]


class Clock:
    """Measures the longest time for which the event loop did not turn."""

    longest = 0.0

    async def run(self) -> None:
        """Look at the time whenever the event loop turns."""
        while True:
            began = time.perf_counter()
            await asyncio.sleep(0.001)
            self.longest = max(self.longest, time.perf_counter() - began)


def get_memory() -> int:
    """Return the most memory that this process has taken, in MB."""
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss // (2**20 if sys.platform == "darwin" else 2**10)


async def measure(task: Task, *, with_recall: bool) -> dict[str, Any]:
    """Run a task in this process."""
    output = task.make(int(task.size * 1e6))
    seen, memory = list[str](), list[int]()

    def load() -> Any:
        """Load the data."""
        return output

    def script() -> Iterator[ScriptedReply]:
        yield calls(("load", {}))
        if with_recall:
            for query in (*task.queries, *[task.queries[-1]] * REPEATS):
                yield calls(("recall", {"handle": "result_1", **query}))
        yield says("Done.")

    def note(reply: ScriptedReply) -> Callable[[Request], ScriptedReply]:
        def answer(request: Request) -> ScriptedReply:
            seen.append(list_stretches(request.shown.messages[-1])[-1].text)
            memory.append(get_memory())
            return reply

        return answer

    model = ScriptedModel([note(reply) for reply in script()])
    agent = Agent(
        model, [Tool(load, max_output=None if with_recall else CUT_CHARS)], limits=Limits(turns=None, repeats=None)
    )
    clock = Clock()
    ticking = asyncio.create_task(clock.run())
    began = time.perf_counter()
    await agent.arun("Go.")
    seconds = time.perf_counter() - began
    ticking.cancel()
    needed = 2 + len(task.queries) if with_recall else 2  # the requests that the task takes, without those that repeat
    return {
        "tokens": sum(count_request_bytes(each.shown) for each in model.requests[:needed]) // 4,
        "found": any(each == task.answer or (len(task.answer) > 6 and task.answer in each) for each in seen[1:]),
        "seconds": seconds / (len(model.requests) - 1),
        "wait": clock.longest,
        "memory": memory[-1],
        "more": memory[-1] - memory[-6] if with_recall else 0,
    }


def measure_apart(number: int, mode: str) -> dict[str, Any]:
    """Run a task in a process of its own."""
    done = subprocess.run([sys.executable, __file__, mode, str(number)], capture_output=True, text=True, check=True)
    return json.loads(done.stdout)


def main(arguments: list[str]) -> None:
    """Print the table, or what one run took."""
    if arguments and arguments[0] in ("cut", "recall"):
        print(json.dumps(asyncio.run(measure(TASKS[int(arguments[1])], with_recall=arguments[0] == "recall"))))
        return
    print(
        "| task | MB | cut: tokens | found | wait | memory | recall: tokens | found | wait | s a turn | memory | more |"
    )
    print("|---|---|---|---|---|---|---|---|---|---|---|---|")
    for number in map(int, arguments or range(len(TASKS))):
        cells = [TASKS[number].name, TASKS[number].size]
        for mode in ("cut", "recall"):
            took = measure_apart(number, mode)
            cells += [f"{took['tokens']:,}", "yes" if took["found"] else "no", f"{took['wait']:.2f}"]
            cells += [took["memory"]] if mode == "cut" else [f"{took['seconds']:.2f}", took["memory"], took["more"]]
        print("|", " | ".join(map(str, cells)), "|", flush=True)


if __name__ == "__main__":
    main(sys.argv[1:])
