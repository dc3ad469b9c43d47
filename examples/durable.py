"""A run that survives: kill this program in the middle, start it again, and the run goes on where it was.

Press Ctrl-C, or end it with kill -9, and run the same command: no call that has finished is made again. The facts of
the run are in durable.db, the effects in durable.txt; `rm durable.*` lets it begin anew. The model here is a script, so
that nothing has to be downloaded.

$ python examples/durable.py
run …: started
kill me with Ctrl-C or: kill -9 …
  ship({'order': 1}) → shipped order 1
  ship({'order': 2}) → shipped order 2
  ship({'order': 3}) → shipped order 3
  ship({'order': 4}) → shipped order 4
  ship({'order': 5}) → shipped order 5
All five orders are shipped.
durable.txt: order 1, order 2, order 3, order 4, order 5
"""

import os
import sys
import time
from pathlib import Path

from toolspeak import Agent, Model, tool
from toolspeak.durable import Runs, Worker
from toolspeak.testing import ScriptedModel, calls, says
from toolspeak.values.events import CallReady, RunEnded, RunResumed, ToolFinished
from toolspeak.values.messages import ToolCall

ORDERS = 5
SCRIPT = [
    *(calls(("ship", {"order": order})) for order in range(1, ORDERS + 1)),
    says("All five orders are shipped."),
]


def build_agent(effects: Path, seconds: float, model: Model | None = None) -> Agent:
    @tool(
        effect="idempotent"
    )  # a call that was cut off may be started again; "once" would forbid that
    def ship(order: int) -> str:
        """Ship an order.

        Args:
            order: The number of the order.
        """
        time.sleep(seconds)
        line = f"order {order}\n"
        effects.touch()
        if line not in effects.read_text().splitlines(
            keepends=True
        ):  # cut off after this line was written?
            with effects.open("a") as file:
                file.write(line)
        return f"shipped order {order}"

    return Agent(model or ScriptedModel(SCRIPT), [ship])


def main(folder: Path = Path(), seconds: float = 1.0) -> None:
    effects = folder / "durable.txt"
    with Runs(f"sqlite:///{folder}/durable.db") as runs:
        # The key makes a second start find the run of the first.
        run = runs.start_sync(
            "shipping", f"Ship the orders 1 to {ORDERS}.", key="monday"
        )
        print(f"run {run.id}: {'started' if run.is_new else 'found'}")
        if run.status_sync() == "done":
            print("it has ended, this is what happened; to begin anew: rm durable.*")
        else:
            print(f"kill me with Ctrl-C or: kill -9 {os.getpid()}", flush=True)
        with Worker(runs, {"shipping": build_agent(effects, seconds)}, lease=2):
            open_calls: dict[str, ToolCall] = {}
            for (
                _,
                event,
            ) in (
                run.events_sync()
            ):  # also what happened before this program was started
                match event:
                    case CallReady(call=call):
                        open_calls[call.id] = call
                    case ToolFinished(result=result):
                        call = open_calls[result.call_id]
                        print(
                            f"  {call.name}({call.arguments}) → {result.error or result.output}",
                            flush=True,
                        )
                    case RunResumed():
                        print("  (the run goes on)", flush=True)
                    case RunEnded():
                        print(run.outcome_sync().text)
                    case _:
                        pass
    print(f"durable.txt: {', '.join(effects.read_text().split(chr(10))[:-1])}")


if __name__ == "__main__":
    try:
        main(
            Path(sys.argv[1] if len(sys.argv) > 1 else "."),
            float(sys.argv[2]) if len(sys.argv) > 2 else 1.0,
        )
    except KeyboardInterrupt:
        print("stopped: start me again, and the run goes on")
