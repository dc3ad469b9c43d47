"""Counts what makes the house easy or hard to see, and fails where a figure is above its limit.

    python scripts/house.py

The limits are today's figures, or goals that were reached: a change may lower them, and needs a reason to raise one.
The last reasons: the check of where values come from; answers that the gateway keeps; the table of all runs, its index
and the chat of the page; `toolspeak doctor`; tools by meaning; arguments that the gateway checks, and tools that its
clients run; fields of foreign results; HTTP connections of our own; names of short ids; errors that
say what to do; figures that a model can be taught to read; an adapter for what follows results; the log by meaning. In
training/, 18 worlds for conversations, and registers made from a line each.
"""

import ast
import sys
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
PACKAGE = ROOT / "src" / "toolspeak"

LIMITS = {
    "Python files in the package": 363,
    "lines of Python in the package": 93_300,
    "rooms and modules directly in the package": 20,
    "files of the largest room": 32,
    "lines of the longest file": 720,
    "circles of files that import each other": 0,
    "lines of ARCHITECTURE.md": 150,
    "lines of Python in training/": 12_390,
}


def count_lines(paths: list[Path]) -> int:
    return sum(path.read_text(encoding="utf-8").count("\n") for path in paths)


def find_modules() -> dict[str, Path]:
    """Return the files of the package by the names of their modules."""
    modules: dict[str, Path] = {}
    for path in sorted(PACKAGE.rglob("*.py")):
        parts = path.relative_to(PACKAGE.parent).with_suffix("").parts
        modules[".".join(parts[:-1] if parts[-1] == "__init__" else parts)] = path
    return modules


def find_imports(name: str, modules: dict[str, Path]) -> Iterator[str]:
    """Yield the modules that a module imports: when it is loaded, in a function, or for type checkers only."""
    path = modules[name]
    package = name if path.name == "__init__.py" else name.rpartition(".")[0]
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names if alias.name in modules)
        elif isinstance(node, ast.ImportFrom):
            base = package.split(".")[: len(package.split(".")) - node.level + 1] if node.level else []
            source = ".".join([*base, *([node.module] if node.module else [])])
            for alias in node.names:
                imported = f"{source}.{alias.name}" if f"{source}.{alias.name}" in modules else source
                if imported in modules:
                    yield imported


def find_circles(graph: dict[str, set[str]]) -> list[list[str]]:
    """Return the groups of modules each of which reaches all others of its group (Tarjan's algorithm)."""
    order: dict[str, int] = {}
    lowest: dict[str, int] = {}
    stack: list[str] = []
    circles: list[list[str]] = []

    def visit(name: str) -> None:
        order[name] = lowest[name] = len(order)
        stack.append(name)
        for other in sorted(graph[name]):
            if other not in order:
                visit(other)
                lowest[name] = min(lowest[name], lowest[other])
            elif other in stack:
                lowest[name] = min(lowest[name], order[other])
        if lowest[name] == order[name]:
            place = stack.index(name)
            circle = stack[place:]
            del stack[place:]
            if len(circle) > 1 or name in graph[name]:
                circles.append(sorted(circle))

    for name in graph:
        if name not in order:
            visit(name)
    return circles


def main() -> int:
    sys.setrecursionlimit(10_000)
    modules = find_modules()
    rooms = Counter(name.split(".")[1] for name in modules if "." in name)
    circles = find_circles({name: set(find_imports(name, modules)) for name in modules})
    lengths = {name: count_lines([path]) for name, path in modules.items()}
    longest = max(lengths, key=lambda name: lengths[name])
    figures = {
        "Python files in the package": len(modules),
        "lines of Python in the package": sum(lengths.values()),
        "rooms and modules directly in the package": len(rooms),
        "files of the largest room": max(rooms.values()),
        "lines of the longest file": lengths[longest],
        "circles of files that import each other": len(circles),
        "lines of ARCHITECTURE.md": count_lines([ROOT / "ARCHITECTURE.md"]),
        "lines of Python in training/": count_lines(sorted((ROOT / "training").rglob("*.py"))),
    }
    for what, figure in figures.items():
        print(f"{figure:>7,}  {what} (limit {LIMITS[what]:,}){'  ABOVE' if figure > LIMITS[what] else ''}")
    print("rooms: " + ", ".join(f"{room} {files}" for room, files in rooms.most_common()))
    print(f"longest: {longest}, median {sorted(lengths.values())[len(lengths) // 2]} lines")
    for circle in circles:
        print("circle: " + " – ".join(name.removeprefix("toolspeak.") for name in circle))
    return 1 if any(figure > LIMITS[what] for what, figure in figures.items()) else 0


if __name__ == "__main__":
    sys.exit(main())
