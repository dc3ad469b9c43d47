"""Fenced blocks of a whole text are found with their label, their content and their place."""

import pytest

from toolspeak.reading.fences import find_fenced_blocks


@pytest.mark.parametrize(
    ("text", "blocks"),
    [
        ("", []),
        ("no fence", []),
        ("```python\nf()\n```", [("python", "f()")]),
        ("```\nf()\n```", [("", "f()")]),
        ("```Python  \nf()```", [("python", "f()")]),
        ("``` ts\nf()\n```", [("ts", "f()")]),
        ("```{.python}\nf()\n```", [("python", "f()")]),
        ('```python title="a.py"\nf()\n```', [("python", "f()")]),
        ("````python\n```\nf()\n```\n````", [("python", "```\nf()\n```")]),
        ("```a\n1\n```\nwords\n```b\n2\n\n```", [("a", "1"), ("b", "2\n")]),
        ("```\n```", [("", "")]),
        ("use ```f()``` here", []),
        ("use ```f()``` or\n```py\ng()\n```", [("py", "g()")]),
        ("```python\nf()", []),
        ("~~~python\nf()\n~~~", []),
    ],
)
def test_blocks_are_found(text: str, blocks: list[tuple[str, str]]):
    found = find_fenced_blocks(text)
    assert [(block.label, block.content) for block in found] == blocks
    for block in found:
        assert text[block.start :].startswith("```")
        assert text[: block.end].endswith("```")
        assert block.content in text[block.start : block.end]
