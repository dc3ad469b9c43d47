"""Formats the programs in README and `docs/`, so that code fits the column of the site.

    $ python scripts/format_pages.py [PAGE.md …]

Each ```python block is formatted by ruff with lines of 88 columns. A comment that stands too far to the right moves to a
line of its own: a shown value (`# ->`) below its statement, prose above it. A value that is still too long is cut in its
middle with `…`. Texts in quotes are left alone: `tests/test_docs.py` names those that are too wide.
"""

import ast
import io
import re
import subprocess
import sys
import tokenize
from pathlib import Path

ROOT = Path(__file__).parents[1]
MAX_COLUMNS = 88
MARK = "# ->"
FENCE = re.compile(r"(`{3,})\s*(\w*)")


def format_block(source: str) -> str:
    """Return a program in lines that fit, as far as comments and layout go."""
    for _ in range(2):  # what ruff makes longer or shorter may move a comment
        source = move_comments(run_ruff(source))
    return "".join(cut_value(line) for line in source.splitlines(keepends=True))


def run_ruff(source: str) -> str:
    """Format a program."""
    command = [sys.executable, "-m", "ruff", "format", "--line-length", str(MAX_COLUMNS), "--stdin-filename", "page.py", "-"]
    return subprocess.run(command, input=source, capture_output=True, encoding="utf-8", check=True).stdout


def move_comments(source: str) -> str:
    """Move comments at the end of lines that are too long: values below their statement, prose above."""
    lines = source.splitlines()
    starts = {
        node.end_lineno: node.lineno for node in ast.walk(ast.parse(source)) if isinstance(node, ast.stmt) and node.end_lineno
    }
    comments = [each for each in tokenize.generate_tokens(io.StringIO(source).readline) if each.type == tokenize.COMMENT]
    for token in reversed(comments):
        row, column = token.start
        line = lines[row - 1]
        code = line[:column].rstrip()
        if len(line) <= MAX_COLUMNS or not code:
            continue
        if token.string.startswith(MARK):
            lines[row - 1 : row] = [code, token.string]
        else:
            lines[row - 1] = code
            first = starts.get(row, row)
            indent = re.match(r"\s*", lines[first - 1])
            lines.insert(first - 1, (indent[0] if indent else "") + token.string)
    return "\n".join(lines) + "\n"


def cut_value(line: str) -> str:
    """Cut a shown value that does not fit."""
    if not line.startswith(MARK) or len(line.rstrip("\n")) <= MAX_COLUMNS:
        return line
    text = line.rstrip("\n")
    return f"{text[: MAX_COLUMNS - 16]}…{text[-15:]}\n"


def format_page(text: str) -> str:
    """Return a page with its programs formatted. What a block of another sort holds is left alone."""
    made: list[str] = []
    block: list[str] = []
    fence = language = ""
    for line in text.splitlines(keepends=True):
        if fence and line.rstrip() == fence:
            made += [format_block("".join(block)) if language == "python" else "".join(block), line]
            fence, block = "", []
        elif fence:
            block.append(line)
        else:
            made.append(line)
            if opening := FENCE.match(line):
                fence, language = opening[1], opening[2]
    return "".join(made)


def main() -> None:
    """Format the pages that are named, or all."""
    pages = [Path(name) for name in sys.argv[1:]] or [ROOT / "README.md", *sorted((ROOT / "docs").rglob("*.md"))]
    for page in pages:
        text = page.read_text(encoding="utf-8")
        formatted = format_page(text)
        if formatted != text:
            page.write_text(formatted, encoding="utf-8")
            print(f"formatted {page}")


if __name__ == "__main__":
    main()
