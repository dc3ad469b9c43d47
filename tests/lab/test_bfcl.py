"""Records in the layout of BFCL, and its checker behind a stand-in for its table of models."""

import json
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from toolspeak.lab.bfcl import convert_schema, load_bfcl, load_checker
from toolspeak.lab.files import render_qwen
from toolspeak.lab.questions import Suite, Verdict
from toolspeak.lab.trials import RecordedAnswer, Trial, TrialResult
from toolspeak.values.errors import UsageError

AREA = {
    "name": "shapes.area",
    "description": "The area of a shape.",
    "parameters": {
        "type": "dict",
        "properties": {
            "sides": {"type": "tuple", "items": {"type": "float"}, "description": "Its sides."},
            "unit": {"type": "any", "default": "m", "optional": True},
            "style": {"type": "dict", "properties": {"scale": {"type": "float"}, "name": {"type": "string"}}},
        },
        "required": ["sides"],
    },
}
COLOR = {
    "name": "color",
    "description": "Pick a color.",
    "parameters": {
        "type": "dict",
        "properties": {"name": {"type": "string", "enum": ["red", "blue"]}, "dark": {"type": "boolean"}},
        "required": ["name"],
    },
}

CHECKER = """
from bfcl_eval.constants.enums import Language
from bfcl_eval.constants.model_config import MODEL_CONFIG_MAPPING

SEEN = []

def ast_checker(functions, calls, truth, language, category, model):
    assert language is Language.PYTHON and not MODEL_CONFIG_MAPPING[model].underscore_to_dot
    SEEN.append((calls, category))
    if any("crash" in str(call) for call in calls):
        raise KeyError("type")
    right = [{name: {key: values[0] for key, values in given.items()}} for call in truth for name, given in call.items()]
    if calls == right:
        return {"valid": True, "error": []}
    return {"valid": False, "error": [f"{calls} is not {right}"], "error_type": "simple"}
"""


def record(id: str, text: str, *functions: Any) -> dict[str, Any]:
    return {"id": id, "question": [[{"role": "user", "content": text}]], "function": list(functions)}


QUESTIONS = {
    "simple_python": [record("simple_python_0", "Area of 3 by 4?", AREA)],
    "multiple": [record("multiple_0", "A dark red.", AREA, COLOR)],
    "parallel": [record("parallel_0", "Red and blue.", COLOR)],
    "parallel_multiple": [record("parallel_multiple_0", "Area of 3 by 4, and red.", AREA, COLOR)],
    "irrelevance": [record("irrelevance_0", "Who was Bach?", COLOR)],
    "live_relevance": [record("live_relevance_0-0-0", "Some color.", COLOR)],
    "live_simple": [
        {
            **record("live_simple_0-0-0", "Red.", COLOR),
            "question": [[{"role": "system", "content": "Be kind."}, {"role": "user", "content": "Red."}]],
        }
    ],
}
TRUTHS = {
    "simple_python": [{"id": "simple_python_0", "ground_truth": [{"shapes.area": {"sides": [[3, 4]]}}]}],
    "multiple": [{"id": "multiple_0", "ground_truth": [{"color": {"name": ["red"], "dark": [True]}}]}],
    "parallel": [{"id": "parallel_0", "ground_truth": [{"color": {"name": ["red"]}}, {"color": {"name": ["blue"]}}]}],
    "parallel_multiple": [
        {
            "id": "parallel_multiple_0",
            "ground_truth": [{"shapes.area": {"sides": [[3, 4]]}}, {"color": {"name": ["red"]}}],
        }
    ],
    "live_simple": [{"id": "live_simple_0-0-0", "ground_truth": [{"color": {"name": ["red"]}}]}],
}


@pytest.fixture
def package(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """A package in the layout of bfcl-eval, whose table of models cannot be imported."""
    folder = tmp_path / "bfcl_eval"
    for name in ("", "constants", "eval_checker", "eval_checker/ast_eval"):
        (folder / name).mkdir(exist_ok=True)
        (folder / name / "__init__.py").touch()
    (folder / "constants" / "enums.py").write_text(
        'from enum import Enum\nLanguage = Enum("Language", "PYTHON JAVA")\n'
    )
    (folder / "constants" / "model_config.py").write_text("import something_very_large\n")
    (folder / "eval_checker" / "ast_eval" / "ast_checker.py").write_text(CHECKER)
    (folder / "data" / "possible_answer").mkdir(parents=True)
    for part, rows in (("data", QUESTIONS), ("data/possible_answer", TRUTHS)):
        for name, each in rows.items():
            (folder / part / f"BFCL_v4_{name}.json").write_text("\n".join(map(json.dumps, each)))
    for name in list_modules():
        monkeypatch.delitem(sys.modules, name)  # those of the package itself, which other tests may have imported
    monkeypatch.syspath_prepend(tmp_path)
    yield folder
    for name in list_modules():
        del sys.modules[name]


def list_modules() -> list[str]:
    return [name for name in sys.modules if name.partition(".")[0] == "bfcl_eval"]


def result(asked: Suite, dialect: str, text: str) -> TrialResult:
    [question] = asked.questions
    return Trial(suite=asked, question=question, dialect=dialect).judge(RecordedAnswer(id="…", text=text))


def test_its_types_become_json_schema():
    schema = convert_schema(AREA["parameters"])
    assert schema == {
        "type": "object",
        "properties": {
            "sides": {"type": "array", "items": {"type": "number"}, "description": "Its sides."},
            "unit": {"type": "string", "default": "m"},
            "style": {"type": "object", "properties": {"scale": {"type": "number"}, "name": {"type": "string"}}},
        },
        "required": ["sides"],
    }
    assert AREA["parameters"]["type"] == "dict"  # what the checker reads is left as it was


def test_the_categories_that_are_not_live_are_asked(package: Path):
    asked = load_bfcl()
    assert asked.name == "bfcl"
    assert asked.categories == ("simple", "multiple", "parallel", "parallel_multiple", "irrelevance")
    assert [question.id for question in asked.questions] == [
        "simple_python_0", "multiple_0", "parallel_0", "parallel_multiple_0", "irrelevance_0",
    ]  # fmt: skip


@pytest.mark.parametrize(
    ("category", "dialect", "text"),
    [
        ("simple", "python", "```python\nshapes.area(sides=[3, 4])\n```"),
        ("simple", "typescript", "```typescript\nshapes.area({sides: [3, 4]})\n```"),
        ("simple", "json", '<tool_call>{"name": "shapes.area", "arguments": {"sides": ["3", 4]}}</tool_call>'),
        ("simple", "native", '<tool_call>{"name": "shapes_area", "arguments": {"sides": [3, 4]}}</tool_call>'),
        ("multiple", "python", '```python\ncolor(name="RED", dark="true")\n```'),
        ("parallel", "python", '```python\ncolor(name="red")\ncolor(name="blue")\n```'),
        ("parallel_multiple", "typescript", '```typescript\nshapes.area({sides: [3, 4]})\ncolor({name: "red"})\n```'),
        ("irrelevance", "python", "Bach was a composer."),
        ("irrelevance", "json", 'I would need <tool_call>{"name": "google", "arguments": {}}</tool_call> for that.'),
        ("live_simple", "python", 'color(name="red")'),
        ("live_relevance", "python", 'color(name="blue")'),
    ],
)
def test_right_answers(package: Path, category: str, dialect: str, text: str):
    found = result(load_bfcl([category]), dialect, text)
    assert found.verdict == Verdict(right=True)


@pytest.mark.parametrize(
    ("category", "dialect", "text", "why"),
    [
        ("simple", "python", "The area is 12.", "nothing was called"),
        ("simple", "python", "shapes.area(sides=[3, 5])", "[{'shapes.area': {'sides': [3.0, 5.0]}}] is not [{'shapes.area': {'sides': [3, 4]}}]"),
        ("multiple", "python", 'color(name="crash")', "the checker cannot take it: KeyError: 'type'"),
        ("irrelevance", "python", 'color(name="red")', "something was called"),
        ("live_relevance", "python", "Which one?", "nothing was called"),
    ],
)  # fmt: skip
def test_wrong_answers_and_why(package: Path, category: str, dialect: str, text: str, why: str):
    found = result(load_bfcl([category]), dialect, text)
    assert found.verdict == Verdict(right=False, why=why)


def test_the_checker_is_given_floats_and_no_references(package: Path):
    text = '```python\na = shapes.area(sides=[3, 4], style={"scale": 2, "name": "x"})\ncolor(name=a["name"], dark=False)\n```'
    seen: list[Any] = []

    def check(functions: Any, calls: Any, truth: Any, category: str) -> Verdict:
        seen.append((calls, category))
        return Verdict(right=True)

    asked = load_bfcl(["parallel_multiple"], checker=check)
    assert result(asked, "python", text).verdict.right
    [([area, color], category)] = seen
    assert category == "parallel_multiple"
    assert [type(side) for side in area["shapes.area"]["sides"]] == [float, float]
    assert type(area["shapes.area"]["style"]["scale"]) is float
    assert color == {"color": {"name": "the result of call_1_1['name']", "dark": False}}


def test_the_package_itself_is_left_as_it_is(package: Path):
    load_checker(package)
    assert "bfcl_eval.constants.model_config" not in sys.modules
    assert "bfcl_eval.eval_checker.ast_eval.ast_checker" not in sys.modules


def test_what_a_model_is_shown(package: Path):
    [question] = load_bfcl(["simple"]).questions
    shown = {
        name: Trial(suite=load_bfcl(["simple"]), question=question, dialect=name).render()
        for name in ("native", "python", "json")
    }
    prompts = {name: render_qwen(each) for name, each in shown.items()}
    assert "shapes_area" in prompts["native"]
    assert "shapes.area" not in prompts["native"]
    assert "shapes.area" in prompts["python"]
    assert "shapes.area" in prompts["json"]
    [asked] = load_bfcl(["live_simple"]).questions
    assert [message.role for message in asked.messages] == ["system", "user"]


def test_what_was_expected_is_told(package: Path):
    told = {
        each.category: load_bfcl([each.category]).expected(each)
        for each in load_bfcl(["parallel", "irrelevance", "live_relevance"]).questions
    }
    assert told == {
        "parallel": '{"color": {"name": ["red"]}}\n{"color": {"name": ["blue"]}}',
        "irrelevance": "no call",
        "live_relevance": "some call",
    }


def test_what_is_not_there_is_told(package: Path):
    with pytest.raises(UsageError, match="bfcl has no category 'hard'; it has: simple, multiple"):
        load_bfcl(["hard"])
    with pytest.raises(UsageError, match="this version of bfcl-eval has no questions of 'live_parallel'"):
        load_bfcl(["live_parallel"])
    with pytest.raises(UsageError, match="keeps its checker elsewhere"):
        load_checker(package / "data")
