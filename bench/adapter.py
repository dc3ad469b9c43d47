"""What the adapter of the embedded model costs: `python bench/adapter.py`. It is run by hand, on a quiet machine.

One server reads and continues the same texts without the adapter, with each file of it, and with both of them in
halves, in turn. Printed are the tokens that it reads and writes in a second, each the median of all rounds, the ratios,
and the memory with the adapter and without.
"""

import argparse
import hashlib
import json
import resource
import urllib.request
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from statistics import median

from toolspeak.models.adapters import QWEN_CODER_CALLS, Adapter
from toolspeak.models.local import LocalServer, ServerOptions, start_server
from toolspeak.models.weights import QWEN_CODER
from toolspeak.models.weights_download import find_weights
from toolspeak.settings import cache_folder

WORDS = "The price of {number} loaves of bread in the old town is told in the list of the shop, in line {number}. "
WRITTEN_TOKENS = 24


USES = {"without": (0.0, 0.0), "the first": (1.0, 0.0), "the second": (0.0, 1.0), "both, in halves": (0.5, 0.5)}
"""How much of each file of the adapter is used."""


def ask(server: LocalServer, text: str, scales: Sequence[float]) -> tuple[float, float]:
    """Return the tokens that were read and written in a second, with so much of each file of the adapter."""
    body = {
        "prompt": text,
        "n_predict": WRITTEN_TOKENS,
        "ignore_eos": True,
        "temperature": 0,
        "cache_prompt": False,
        "id_slot": 0,
        "lora": [{"id": number, "scale": scale} for number, scale in enumerate(scales)],
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
        ask(server, make_text(0), [1.0] if adapter else [])
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
    measured = (None, replace(QWEN_CODER_CALLS, after_results=None), QWEN_CODER_CALLS)
    memory = [f"{measure_memory(weights, each, options.threads):,.0f}" for each in measured]
    print("memory: {} MB without, {} with the first file, {} with both".format(*memory))
    server = start_server(ServerOptions(weights=weights, threads=options.threads, adapter=QWEN_CODER_CALLS))
    found: dict[str, list[tuple[float, float]]] = {use: [] for use in USES}
    try:
        ask(server, make_text(0), USES["without"])  # the first request is slower
        for number in range(options.rounds):
            for use in list(USES)[:: -1 if number % 2 else 1]:
                found[use].append(ask(server, make_text(number), USES[use]))
    finally:
        server.stop()
    for place, name in enumerate(("read", "written")):
        speeds = {use: median(pair[place] for pair in pairs) for use, pairs in found.items()}
        told = (f"{use} {speed:.1f} (ratio {speed / speeds['without']:.2f})" for use, speed in speeds.items())
        print(f"tokens {name} in a second: {'; '.join(told)}")


if __name__ == "__main__":
    main()
