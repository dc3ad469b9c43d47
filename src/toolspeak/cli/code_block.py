r"""Finds the fenced code blocks of an answer, by the rules of markdown.

A block opens with a line of three or more backticks or tildes, after which the name of a language may follow. It closes
with a line of at least as many of the same character, or with the end of the text. The indentation of the opening line
is taken off the lines of the block.
"""

import re

_OPENING = re.compile(r"([ \t]*)(`{3,}(?=[^`]*$)|~{3,})")


def extract_code(text: str) -> str | None:
    r"""Return the content of the last code block in a text, with a line break at its end; None if there is no block.

    Examples:
        >>> extract_code("First:\n```\na\n```\nthen:\n```python\nprint(1)\n```\nDone.")
        'print(1)\n'
    """
    last: str | None = None
    lines = iter(text.split("\n"))
    for line in lines:
        opening = _OPENING.match(line)
        if opening is None:
            continue
        indent, fence = opening.groups()
        block: list[str] = []
        for inner in lines:
            if _is_closing(inner, fence):
                break
            block.append(_unindent(inner, len(indent)))
        last = "".join(f"{each}\n" for each in block)
    return last


def _is_closing(line: str, fence: str) -> bool:
    stripped = line.strip()
    return len(stripped) >= len(fence) and not stripped.strip(fence[0])


def _unindent(line: str, width: int) -> str:
    """Take at most so many spaces and tabs off the beginning of a line."""
    indentation = len(line) - len(line.lstrip(" \t"))
    return line[min(width, indentation) :]
