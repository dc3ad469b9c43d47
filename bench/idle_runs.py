"""What a run takes of memory while it waits for its model: 500 runs at once, beside a loop written by hand with httpx.

Each value comes from a fresh process whose runs all wait for an endpoint that never answers. Needs `/proc`.
"""

import random
import sys

from harness.environments import prepare, versions_of
from harness.figures import compare
from harness.report import parse_options, report
from over_http import BASE, US, Endpoint, Side, Task

TASK = Task("silent0", 0, 1, at_once=500)
MAX_RATIO = 2.0


def main() -> int:
    options = parse_options("Measure the memory of runs that wait.", full=7, short=7)
    prepare((US, BASE))
    with Endpoint() as endpoint:
        sides = {name: Side(name, endpoint.url) for name in (US, BASE)}
        pairs = []
        for _ in range(options.reps):
            taken = {name: sides[name].seconds(TASK, fresh=True) / 1024 for name in random.sample((US, BASE), 2)}
            pairs.append((taken[US], taken[BASE]))
    figure = compare("memory of a run that waits, 500 at once", pairs, BASE, MAX_RATIO, unit="KiB")
    return report([figure], versions_of((US, BASE)), options.json)


if __name__ == "__main__":
    sys.exit(main())
