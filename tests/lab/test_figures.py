"""Figures, the table and the picture."""

from xml.etree import ElementTree

import pytest
from hypothesis import given
from hypothesis import strategies as st

from toolspeak.lab.plot import plot
from toolspeak.lab.questions import Verdict
from toolspeak.lab.summary import build_table, compute_confidence, format_lines, summarize, wilson_interval
from toolspeak.lab.trials import RecordedAnswer, TrialResult

SVG = "{http://www.w3.org/2000/svg}"


def results(dialect: str, category: str, right: int, count: int, *, tokens: int | None = 10) -> list[TrialResult]:
    return [
        TrialResult(
            answer=RecordedAnswer(
                id=f"own/{category}/{dialect}/{n}", text="", prompt_tokens=tokens, answer_tokens=tokens
            ),
            calls=(),
            malformed=(),
            verdict=Verdict(right=n < right),
        )
        for n in range(count)
    ]


RESULTS = [
    *results("json", "single", 9, 10),
    *results("json", "no_ne", 0, 4, tokens=24),
    *results("python", "single", 10, 10, tokens=None),
]


def followed_up(result: TrialResult, *, right: bool, tokens: int | None = 30) -> TrialResult:
    answered = RecordedAnswer(id=f"{result.answer.id}#2", text="", prompt_tokens=tokens, answer_tokens=tokens)
    return TrialResult(answer=answered, calls=(), malformed=(), verdict=Verdict(right=right), earlier=(result,))


MENDED = [
    *(followed_up(each, right=True) if not each.verdict.right else each for each in results("json", "single", 7, 10)),
    *results("json", "none", 2, 2),
    *results("python", "single", 10, 10),
]
FIRST = [result.first for result in MENDED]


@pytest.mark.parametrize(
    ("right", "count", "low", "high"),
    [(0, 10, 0.0, 0.278), (10, 10, 0.722, 1.0), (5, 10, 0.237, 0.763), (870, 1000, 0.848, 0.889), (0, 0, 0.0, 1.0)],
)
def test_wilsons_interval(right: int, count: int, low: float, high: float):
    found = wilson_interval(right, count)
    assert (round(found.low, 3), round(found.high, 3)) == (low, high)


@given(st.integers(1, 2000).flatmap(lambda count: st.tuples(st.integers(0, count), st.just(count))))
def test_the_share_lies_in_its_interval(pair: tuple[int, int]):
    right, count = pair
    found = wilson_interval(right, count)
    assert 0 <= found.low <= right / count + 1e-9
    assert right / count - 1e-9 <= found.high <= 1


@given(st.integers(0, 300), st.integers(0, 300))
def test_one_of_two_is_better(better: int, worse: int):
    assert compute_confidence(better, worse) + compute_confidence(worse, better) == pytest.approx(1)
    assert compute_confidence(better + 1, worse) >= compute_confidence(better, worse)


def test_categories_count_the_same_and_tokens_by_answer():
    summary = summarize(RESULTS)
    assert (summary.dialects, summary.categories) == (("json", "python"), ("single", "no_ne"))
    mean = summary.tally("json")
    assert (mean.share, mean.count, mean.prompt_tokens) == (0.45, 14, 14)
    assert mean.interval.low < 0.45 < mean.interval.high
    assert summary.tally("python", "no_ne") is None
    assert summary.tally("python").answer_tokens is None


def test_the_table():
    assert format_lines(build_table(summarize(RESULTS))).split("\n") == [
        "percent right\tjson\tpython",
        "single\t90.0 (60–98)\t100.0 (72–100)",
        "no_ne\t0.0 (0–49)\t",
        "mean\t45.0 (30–70)\t100.0 (72–100)",
        "questions\t14\t10",
        "prompt tokens\t14\t",
        "answer tokens\t14\t",
    ]


def test_a_table_of_one_category_has_no_mean():
    assert [row[0] for row in build_table(summarize(results("json", "single", 1, 2, tokens=None)))] == [
        "percent right", "single", "questions",
    ]  # fmt: skip


def test_the_table_tells_both_where_something_was_asked_again():
    assert format_lines(build_table(summarize(FIRST), summarize(MENDED))).split("\n") == [
        "percent right\tjson\tpython",
        "single\t70.0 (40–89)\t100.0 (72–100)",
        "single, asked again\t100.0 (72–100)\t100.0 (72–100)",
        "none\t100.0 (34–100)\t",
        "mean\t85.0 (49–95)\t100.0 (72–100)",
        "mean, asked again\t100.0 (64–100)\t100.0 (72–100)",
        "questions\t12\t10",
        "asked again\t3\t0",
        "prompt tokens\t18\t10",
        "answer tokens\t18\t10",
    ]
    nothing = summarize(RESULTS)
    assert [row[0] for row in build_table(nothing, nothing)] == [
        "percent right", "single", "no_ne", "mean", "questions", "asked again", "prompt tokens", "answer tokens",
    ]  # fmt: skip


def test_what_a_question_took_is_known_if_all_its_answers_are():
    [first] = results("json", "single", 0, 1)
    assert summarize([followed_up(first, right=True)]).tally("json").prompt_tokens == 40
    assert summarize([followed_up(first, right=True, tokens=None)]).tally("json").prompt_tokens is None


def test_the_picture_has_a_line_across_where_something_was_asked_again():
    svg = ElementTree.fromstring(plot(summarize(FIRST), "x", summarize(MENDED)))
    texts = [each.text for each in svg.iter(f"{SVG}text")]
    assert "the first answers alone" in texts
    assert "70" not in texts
    dashed = [float(each.get("y1")) for each in svg.iter(f"{SVG}line") if each.get("stroke-dasharray")]
    assert dashed == [41.0, 64 + 240 * 0.3, 64 + 240 * 0.15]
    assert "the first answers alone" not in plot(summarize(FIRST), "x", summarize(FIRST))


def test_the_picture_is_sound():
    svg = ElementTree.fromstring(plot(summarize(RESULTS), "1 < 2 & so on"))
    texts = [each.text for each in svg.iter(f"{SVG}text")]
    assert texts[0] == "1 < 2 & so on"
    assert {"json", "python", "single", "no ne", "mean", "90", "14 + 14"} <= set(texts)
    width, height = float(svg.get("width")), float(svg.get("height"))
    for each in svg.iter(f"{SVG}rect"):
        x, y, wide, high = (float(each.get(name, 0)) for name in ("x", "y", "width", "height"))
        assert 0 <= x <= x + wide <= width + 0.1
        assert 0 <= y <= y + high <= height + 0.1


def test_the_picture_without_tokens():
    svg = plot(summarize(results("json", "single", 1, 2, tokens=None)), "x")
    assert "tokens" not in svg
    ElementTree.fromstring(svg)
