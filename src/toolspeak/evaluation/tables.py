"""Figures laid out: a row for each category, a column for each dialect. Drawn by whoever has a terminal."""

from collections.abc import Callable, Sequence

from toolspeak.evaluation.summary import MEAN, Summary, Tally

Cell = Callable[[Tally], str]


def table(summary: Summary) -> list[list[str]]:
    """The head and the rows: percent right with its interval, then what it took."""
    head = ["percent right", *summary.dialects]
    body = [_row(summary, category, category, share) for category in summary.categories]
    if len(summary.categories) > 1:
        body.append(_row(summary, MEAN, MEAN, share))
    body.append(_row(summary, MEAN, "questions", lambda tally: str(tally.count)))
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
