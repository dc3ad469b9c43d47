"""What showing tools costs: `python bench/tokens.py TARGET` counts tokens of each notation (o200k_base).

It needs tiktoken and its vocabulary, which tiktoken fetches when it is first used (or finds in `TIKTOKEN_CACHE_DIR`).
"""

import sys

import tiktoken

from toolspeak import discover
from toolspeak.dialects import json_notation, python_notation, typescript_notation

BARS = {"typescript": 0.60, "python": 0.72}


def main() -> int:
    encoding = tiktoken.get_encoding("o200k_base")
    specs = discover(sys.argv[1] if len(sys.argv) > 1 else "examples/weather.py").specs
    forms = {"json": json_notation, "typescript": typescript_notation, "python": python_notation}
    counts = {name: len(encoding.encode(form.signatures(specs))) for name, form in forms.items()}
    held = True
    for name, count in counts.items():
        ratio = count / counts["json"]
        held = held and ratio <= BARS.get(name, 1)
        bar = f"≤ {BARS[name]:.2f}  {'ok' if ratio <= BARS[name] else 'MISSED'}" if name in BARS else ""
        print(f"{name:12} {count:6} tokens  {ratio:.3f}  {bar}".rstrip())
    return int(not held)


if __name__ == "__main__":
    sys.exit(main())
