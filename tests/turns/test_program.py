"""A program where a call of the tool that runs programs was meant."""

import pytest

from toolspeak.dialects import JSON, PYTHON, TYPESCRIPT, fold
from toolspeak.tools import Tool
from toolspeak.turns import TurnReader
from toolspeak.values.messages import Text
from toolspeak.values.pieces import Answer


def run_python(code: str) -> str:
    """Run Python code."""
    return code


def look_up(word: str) -> str:
    """Look a word up."""
    return word


def read(text, *functions, text_dialect=PYTHON, finish="stop"):
    specs = [Tool(function).spec for function in functions]
    return fold(TurnReader(text_dialect, specs).feed([Answer(parts=(Text(text=text),), finish=finish)]))


PROGRAM = "import math\n\n\ndef area(r):\n    return math.pi * r**2\n\n\nprint(area(7.5))"
BLOCK = f"```python\n{PROGRAM}\n```"


@pytest.mark.parametrize("text_dialect", [JSON, TYPESCRIPT, PYTHON], ids=lambda dialect: dialect.name)
@pytest.mark.parametrize("text", [BLOCK, f"Let me compute that.\n\n{BLOCK}\n"])
def test_a_block_is_given_to_the_tool_that_runs_it(text, text_dialect):
    content = read(text, run_python, look_up, text_dialect=text_dialect)
    assert [ready.call.arguments for ready in content.calls] == [{"code": PROGRAM}]
    assert content.calls[0].repair == "shape"


def test_two_blocks_are_one_program():
    content = read("```python\nx = 1\n```\n\n```python\nprint(x)\n```", run_python)
    assert content.calls[0].call.arguments == {"code": "x = 1\n\nprint(x)"}


@pytest.mark.parametrize(
    ("text", "functions", "finish"),
    [
        pytest.param(f"{BLOCK}\nThis prints the area.", [run_python], "stop", id="talk about code"),
        pytest.param("word " * 100 + f"\n{BLOCK}", [run_python], "stop", id="a long talk before it"),
        pytest.param(BLOCK, [look_up], "stop", id="nothing runs programs"),
        pytest.param(BLOCK, [run_python], "length", id="cut"),
        pytest.param("```javascript\nalert(1)\n```", [run_python], "stop", id="another language"),
        pytest.param("```python\n\n```", [run_python], "stop", id="nothing in it"),
    ],
)
def test_nothing_else_is_a_program(text, functions, finish):
    assert read(text, *functions, finish=finish).calls == ()


def test_a_call_that_is_said_counts_alone():
    content = read('```python\nrun_python(code="print(1)")\n```', run_python)
    assert [ready.call.arguments for ready in content.calls] == [{"code": "print(1)"}]


@pytest.mark.parametrize(
    ("text", "named"),
    [
        ("```python\nlookup_word(word='x')\n```", ["lookup_word"]),
        ("```python\nlook_upp(word='x')\n```", ["look_upp"]),
        ("```typescript\nconst a = await lookUps({word: 'x'});\n```", ["lookUps"]),
        ("```python\ntools.look_ups('x')\nprint_it('y')\n```", ["tools.look_ups"]),
        ("```python\nlook.ups(word='x')\n```", ["look.ups"]),
        ("```python\nlook_upp(\n    word=[\n        'x',\n    ],\n)\n```", ["look_upp"]),
        ("```tool_code\nprint(tools.look_upp(word='x'))\n```", ["tools.look_upp"]),
        ("```python\nfor word in words:\n    look_upp(word)\n```", []),
        ("```js\nif(word){\n    look_upp(word)\n}\n```", []),
        ("Try this:\n```python\nlook_upp(word='x')\n```", []),
        ("```python\nimport look\nlook_upp(word='x')\n```", []),
        ("```python\nopen('file')\n```", []),
        ("look_upp(word='x')", []),
    ],
)
def test_what_nearly_names_a_tool_is_told(text, named):
    content = read(text, look_up)
    assert [each.name for each in content.malformed] == named
    assert content.calls == ()
    assert all("Did you mean look_up?" in each.hint for each in content.malformed)
