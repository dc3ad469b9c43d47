"""A durable workflow for several tenants: refunds that survive a crash, wait for a person, and never mix up the books.

Each run has data that says whose it is. The worker opens the books of that tenant, a rule asks a person about large
refunds, and one tenant has one run at a time. The model here is a script, so that nothing has to be downloaded.

$ python examples/tenants.py
acme: refund({'order': 7}) is approved by ann
acme: Refund(order=7, euros=250)
globex: Refund(order=7, euros=9)
runs of acme: answered
"""

import tempfile
from dataclasses import dataclass

from toolspeak import Agent, Context, ToolCall, tool
from toolspeak.durable import RunRow, Runs, Worker
from toolspeak.models import Request
from toolspeak.testing import ScriptedModel, ScriptedReply, calls
from toolspeak.values.events import ApprovalNeeded

ORDERS = {"acme": {7: 250}, "globex": {7: 9}}


@dataclass
class Refund:
    order: int
    euros: int


Books = dict[int, int]


def open_books(run: RunRow) -> Books:
    """Return the orders of the tenant for whom a run was started. The model cannot choose another one."""
    return ORDERS[run.data["tenant"]]


def is_large(call: ToolCall, context: Context[Books]) -> bool:
    return context.deps.get(int(str(call.arguments["order"])), 0) > 100


@tool(effect="once", approve=is_large)
def refund(order: int, context: Context[Books]) -> int:
    """Give a customer the money for an order back, and return the euros.

    Args:
        order: The number of the order.
    """
    return context.deps[order]


def read_result(request: Request) -> ScriptedReply:
    """Play a model that gives its answer by what it was shown last."""
    euros = "250" if "250" in repr(request.shown.messages[-1]) else "9"
    return calls(("final_answer", {"order": 7, "euros": euros}))


def main(folder: str = "") -> None:
    agent = Agent(
        ScriptedModel([calls(("refund", {"order": 7})), read_result]),
        [refund],
        output=Refund,
    )
    with (
        tempfile.TemporaryDirectory() as made,
        Runs(f"sqlite:///{folder or made}/runs.db") as runs,
    ):
        started = {
            tenant: runs.start_sync(
                "refunds",
                "Refund order 7.",
                data={"tenant": tenant},
                lane=tenant,
                concurrency=1,
            )
            for tenant in ORDERS
        }
        with Worker(runs, {"refunds": agent}, deps=open_books):
            for tenant, run in started.items():
                for _, event in run.events_sync():
                    if isinstance(
                        event, ApprovalNeeded
                    ):  # the run holds no worker meanwhile, and may wait for days
                        print(
                            f"{tenant}: {event.call.name}({event.call.arguments}) is approved by ann"
                        )
                        run.approve_sync(event.call.id, by="ann", digest=event.digest)
                print(f"{tenant}: {run.outcome_sync().output}")
        print(
            "runs of acme:",
            *(row.stop_reason for row in runs.list_sync(data={"tenant": "acme"})),
        )


if __name__ == "__main__":
    main()
