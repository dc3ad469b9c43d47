"""What the adapter of the embedded model costs: `python bench/adapter.py`. It is run by hand, on a quiet machine.

One server reads and continues the same texts with the adapter and without, in turn. Printed are the tokens that it
reads and writes in a second, each the median of all rounds, the ratio of the two, and the memory of both.
"""

import argparse
import hashlib
import json
import resource
import urllib.request
from pathlib import Path
from statistics import median

from toolspeak.models.adapters import QWEN_CODER_CALLS, Adapter
from toolspeak.models.local import LocalServer, ServerOptions, start_server
from toolspeak.models.weights import QWEN_CODER
from toolspeak.models.weights_download import find_weights
from toolspeak.settings import cache_folder

WORDS = "The price of {number} loaves of bread in the old town is told in the list of the shop, in line {number}. "
WRITTEN_TOKENS = 24


def ask(server: LocalServer, text: str, scale: float) -> tuple[float, float]:
    """Return the tokens that were read and written in a second."""
    body = {
        "prompt": text,
        "n_predict": WRITTEN_TOKENS,
        "ignore_eos": True,
        "temperature": 0,
        "cache_prompt": False,
        "lora": [{"id": 0, "scale": scale}],
    }
    headers = {"Authorization": f"Bearer {server.key}", "Content-Type": "application/json"}
    address = f"{server.base_url.removesuffix('/v1')}/completion"
    request = urllib.request.Request(address, json.dumps(body).encode(), headers)
    with urllib.request.urlopen(request, timeout=600) as answer:
        timings = json.load(answer)["timings"]
    return timings["prompt_per_second"], timings["predicted_per_second"]


def measure_memory(weights: Path, adapter: Adapter | None, threads: int) -> float:
    """Return the most memory of a server that answers once, in MB, or that of an earlier one if it took more."""
    server = start_server(ServerOptions(weights=weights, threads=threads, adapter=adapter))
    try:
        ask(server, make_text(0), 1.0)
    finally:
        server.stop()
    return resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss / 1000


def make_text(number: int) -> str:
    return "".join(WORDS.format(number=number * 100 + each) for each in range(5))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--threads", type=int, default=2)
    options = parser.parse_args()
    weights = find_weights(QWEN_CODER, cache_folder() / "models")
    if weights is None:
        raise SystemExit("the weights are not here: toolspeak pull")
    for path in QWEN_CODER_CALLS.paths:
        content = path.read_bytes()
        print(f"{path.name}: {len(content) / 1e6:.1f} MB, SHA-256 {hashlib.sha256(content).hexdigest()}")
    without, having = (measure_memory(weights, each, options.threads) for each in (None, QWEN_CODER_CALLS))
    print(f"memory: {without:,.0f} MB without, {having:,.0f} MB with")
    server = start_server(ServerOptions(weights=weights, threads=options.threads, adapter=QWEN_CODER_CALLS))
    found: dict[float, list[tuple[float, float]]] = {0.0: [], 1.0: []}
    try:
        for number in range(options.rounds):
            for scale in sorted(found, reverse=number % 2 == 0):
                found[scale].append(ask(server, make_text(number), scale))
    finally:
        server.stop()
    for place, name in enumerate(("read", "written")):
        without, having = (median(pair[place] for pair in found[scale]) for scale in (0.0, 1.0))
        print(f"tokens {name} in a second: {without:.1f} without, {having:.1f} with, ratio {having / without:.2f}")


if __name__ == "__main__":
    main()
