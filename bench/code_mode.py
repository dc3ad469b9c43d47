"""What code mode saves: `python bench/code_mode.py` compares ten tasks that need a loop. It is run by hand.

Each task is done twice by a scripted model: with plain calls, as many as possible in one message, and with one program.
The table has the messages of the model, the calls that ran, and the bytes of all requests and answers, as tokens of
four bytes. Each task that pays something needs an approval for that, which is refused: nothing may be paid.
"""

import sys
from collections.abc import Sequence
from typing import Any, NamedTuple

from toolspeak import Agent, Limits, tool
from toolspeak.testing import ScriptedModel, ScriptedReply, calls, says
from toolspeak.values.events import NestedFact, ToolFinished
from toolspeak.values.messages import Result, Text

BYTES_PER_TOKEN = 4


class Shop:
    """Orders, pages and jobs, as the tools of the tasks."""

    def __init__(self) -> None:
        self.paid: list[int] = []
        self._polls = 0

    @property
    def tools(self) -> list[Any]:
        def get_order(number: int) -> dict[str, Any]:
            """Return an order."""
            lines = [{"article": f"article {place}", "price": number * 1.0} for place in range(4)]
            return {"number": number, "total": number * 4.0, "customer": f"customer {number % 7}", "lines": lines}

        def list_orders(page: int) -> list[dict[str, Any]]:
            """Return the orders of a page; none after the last page."""
            return [get_order(page * 10 + each) for each in range(10)] if page < 4 else []

        def poll_job(job: str) -> str:
            """Return how far a job is: "running" or "done"."""
            self._polls += 1
            return "done" if self._polls == 12 else "running"

        @tool(approve=True)
        def refund(number: int) -> str:
            """Pay an order back."""
            self.paid.append(number)
            return "paid"

        return [get_order, list_orders, poll_job, refund]


class Task(NamedTuple):
    """A task: the messages with plain calls, and the program."""

    name: str
    plain: Sequence[Sequence[tuple[str, dict[str, Any]]]]
    program: str


def orders(numbers: Sequence[int]) -> list[tuple[str, dict[str, Any]]]:
    return [("get_order", {"number": number}) for number in numbers]


POLLS: list[list[tuple[str, dict[str, Any]]]] = [[("poll_job", {"job": "j"})] for _ in range(12)]
PAGES: list[list[tuple[str, dict[str, Any]]]] = [[("list_orders", {"page": page})] for page in range(5)]
REFUNDS: list[tuple[str, dict[str, Any]]] = [("refund", {"number": number}) for number in (1, 2, 3)]
PAGED = "orders, page = [], 0\nwhile found := list_orders(page=page):\n    orders += found\n    page += 1\n"
TRY = "    try:\n        refund(number=n)\n    except RuntimeError as error:\n        print(n, error)"

COUNT = (
    "c = {}\nfor n in range(30):\n    o = get_order(number=n)\n    c[o['customer']] = c.get(o['customer'], 0) + 1\nc"
)
BISECT = (
    "low, high = 0, 40\nwhile low < high:\n    mid = (low + high) // 2\n"
    "    low, high = (low, mid) if get_order(number=mid)['total'] > 90 else (mid + 1, high)\nlow"
)
SEARCH = "n = 0\nwhile get_order(number=n)['total'] <= 90: n += 1\nn"
DEAR = f"for n in range(20):\n    if get_order(number=n)['total'] < 70: continue\n{TRY}"

TASKS = (
    Task("sum over 40 orders", [orders(range(1, 41))], "sum(get_order(number=n)['total'] for n in range(1, 41))"),
    Task("largest of 40", [orders(range(40))], "max((get_order(number=n)['total'], n) for n in range(40))"),
    Task("count by customer", [orders(range(30))], COUNT),
    Task("all pages", PAGES, PAGED + "len(orders)"),
    Task("sum over pages", PAGES, PAGED + "sum(o['total'] for o in orders)"),
    Task("retry until done", POLLS, "n = 1\nwhile poll_job(job='j') != 'done': n += 1\nn"),
    Task("first above 90", [orders([n]) for n in range(24)], SEARCH),
    Task("bisection", [orders([n]) for n in (20, 30, 25, 22, 23)], BISECT),
    Task("refund three", [REFUNDS], f"for n in (1, 2, 3):\n{TRY}"),
    Task("refund the dear ones", [orders(range(20)), REFUNDS], DEAR),
)


class Cost(NamedTuple):
    """What a run took."""

    turns: int
    calls: int
    tokens: int
    paid: int


def measure(script: Sequence[ScriptedReply], *, code: bool) -> Cost:
    shop, model = Shop(), ScriptedModel(script, dialect="python")
    agent = Agent(model, shop.tools, code=code, approve=lambda _: "no", limits=Limits(turns=None, repeats=None))
    outcome = agent.run("Do the task.")
    inner = [fact for fact in outcome.facts if isinstance(fact, NestedFact) and isinstance(fact.event, ToolFinished)]
    sent = sum(len(_read(part)) for request in model.requests for each in request.shown.messages for part in each.parts)
    made = len(inner) if code else sum(each.result.ran for each in outcome.calls)
    return Cost(len(model.requests), made, (sent + len(outcome.text)) // BYTES_PER_TOKEN, len(shop.paid))


def _read(part: Any) -> str:
    if isinstance(part, Result):
        return "".join(each.text for each in part.content if isinstance(each, Text))
    return part.text if isinstance(part, Text) else ""


def main() -> int:
    print("| task | turns | tokens | turns, code | tokens, code | calls | calls, code |\n|---|---|---|---|---|---|---|")
    paid = 0
    plain: list[Cost] = []
    coded: list[Cost] = []
    for task in TASKS:
        one = measure([*(calls(*each) for each in task.plain), says("Done.")], code=False)
        two = measure([calls(("run_program", {"code": task.program})), says("Done.")], code=True)
        plain.append(one)
        coded.append(two)
        paid += one.paid + two.paid
        tokens = f"{one.turns} | {one.tokens:,} | {two.turns} | {two.tokens:,} | {one.calls} | {two.calls}"
        print(f"| {task.name} | {tokens} |")
    one, two = (Cost(*map(sum, zip(*costs, strict=True))) for costs in (plain, coded))
    tokens = f"{one.turns} | {one.tokens:,} | {two.turns} | {two.tokens:,} | {one.calls} | {two.calls}"
    print(f"| **all** | {tokens} |")
    print(f"\ncalls past an approval: {paid}")
    return int(paid > 0)


if __name__ == "__main__":
    sys.exit(main())
