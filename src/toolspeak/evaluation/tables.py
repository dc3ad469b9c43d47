"""Figures laid out: a row for each category, a column for each dialect. Drawn by whoever has a terminal."""

from collections.abc import Callable, Sequence

from toolspeak.evaluation.summary import MEAN, Summary, Tally

Cell = Callable[[Tally], str]

AGAIN = "asked again"


def table(first: Summary, again: Summary | None = None) -> list[list[str]]:
    """The head and the rows: percent right with its interval, then what it took.

    Args:
        first: The figures of the first answers alone.
        again: The figures with the answers of questions that were asked again, if such were to be.
    """
    head = ["percent right", *first.dialects]
    body: list[list[str]] = []
    for category in (*first.categories, MEAN) if len(first.categories) > 1 else first.categories:
        body.append(_row(first, category, category, share))
        if again is not None and again.asked_again(category):
            body.append(_row(again, category, f"{category}, {AGAIN}", share))
    summary = again or first
    body.append(_row(summary, MEAN, "questions", lambda tally: str(tally.count)))
    if again is not None:
        body.append(_row(summary, MEAN, AGAIN, lambda tally: str(tally.asked_again)))
    costs: Sequence[tuple[str, Callable[[Tally], float | None], int]] = (
        ("prompt tokens", lambda tally: tally.prompt_tokens, 0),
        ("answer tokens", lambda tally: tally.answer_tokens, 0),
        ("seconds", lambda tally: tally.seconds, 1),
    )
    for title, of, digits in costs:
        if any(of(tally) is not None for tally in summary.tallies.values()):
            body.append(_row(summary, MEAN, title, lambda tally, of=of, digits=digits: _number(of(tally), digits)))
    return [head, *body]


def lines(rows: Sequence[Sequence[str]]) -> str:
    """A table where nobody looks: a line each, with tabs between."""
    return "\n".join("\t".join(row) for row in rows)


def _row(summary: Summary, category: str, title: str, cell: Cell) -> list[str]:
    tallies = [summary.tally(dialect, category) for dialect in summary.dialects]
    return [title, *("" if tally is None else cell(tally) for tally in tallies)]


def share(tally: Tally) -> str:
    """The percentage that is right, and where it truly lies."""
    return f"{100 * tally.share:.1f} ({100 * tally.interval.low:.0f}–{100 * tally.interval.high:.0f})"


def _number(value: float | None, digits: int) -> str:
    return "" if value is None else f"{value:,.{digits}f}"
