"""What a run takes of memory while it waits for its model: 500 runs at once, beside programs written by hand.

One is the loop with httpx; the other sends requests with aiohttp and does nothing else, which is the least there is.
Each value comes from a fresh process whose runs all wait for an endpoint that never answers. Needs `/proc`.
"""

import sys
from functools import partial

from harness.environments import prepare, versions_of
from harness.figures import compare, measure_in_turn
from harness.report import parse_options, report
from over_http import BASE, US, Endpoint, Side, Task

LEAST = "aiohttp"
SIDES = (US, BASE, LEAST)
TASK = Task("silent0", 0, 1, at_once=500)
BARS = {BASE: 1.0, LEAST: 2.0}


def main() -> int:
    options = parse_options("Measure the memory of runs that wait.", full=7, short=7)
    prepare(SIDES)
    with Endpoint() as endpoint:
        taken = measure_in_turn({name: partial(measure_kib, Side(name, endpoint.url)) for name in SIDES}, options.reps)
    figures = [
        compare(
            f"memory of a run that waits, 500 at once, beside {name}",
            [(each[US], each[name]) for each in taken],
            name,
            bar,
            unit="KiB",
        )
        for name, bar in BARS.items()
    ]
    return report(figures, versions_of(SIDES), options.json)


def measure_kib(side: Side) -> float:
    """Return the KiB that one of many runs takes, in a fresh process."""
    return side.seconds(TASK, fresh=True) / 1024


if __name__ == "__main__":
    sys.exit(main())
