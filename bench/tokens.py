"""What showing tools costs: `python bench/tokens.py TARGET` counts tokens of each notation (o200k_base).

It needs tiktoken and its vocabulary, which tiktoken fetches when it is first used (or finds in `TIKTOKEN_CACHE_DIR`).
"""

import json
import sys
from collections.abc import Sequence

import tiktoken

from toolspeak import discover
from toolspeak.dialects.python_notation import format_tools as format_python_tools
from toolspeak.dialects.typescript_notation import format_tools as format_typescript_tools
from toolspeak.values.spec import ToolSpec

BARS = {"typescript": 0.60, "python": 0.72}


def format_schemas(specs: Sequence[ToolSpec]) -> str:
    """Write the tools as a JSON array of schemas, the form with which the others are compared."""
    tools = ({"name": spec.name, "description": spec.description, "parameters": spec.parameters} for spec in specs)
    return "[{}]".format(",\n".join(json.dumps(tool, ensure_ascii=False, separators=(",", ":")) for tool in tools))


def main() -> int:
    encoding = tiktoken.get_encoding("o200k_base")
    specs = discover(sys.argv[1] if len(sys.argv) > 1 else "examples/weather.py").specs
    shown = {
        "json": format_schemas(specs),
        "typescript": format_typescript_tools(specs),
        "python": format_python_tools(specs),
    }
    counts = {name: len(encoding.encode(text)) for name, text in shown.items()}
    held = True
    for name, count in counts.items():
        ratio = count / counts["json"]
        held = held and ratio <= BARS.get(name, 1)
        bar = f"≤ {BARS[name]:.2f}  {'ok' if ratio <= BARS[name] else 'MISSED'}" if name in BARS else ""
        print(f"{name:12} {count:6} tokens  {ratio:.3f}  {bar}".rstrip())
    return int(not held)


if __name__ == "__main__":
    sys.exit(main())
