"""The figures as a table of texts: a row for each category, a column for each dialect."""

from collections.abc import Callable, Sequence

from toolspeak.evaluation.summary import MEAN, Summary, Tally

Cell = Callable[[Tally], str]

FOLLOW_UP_TITLE = "asked again"


def build_table(first: Summary, with_follow_ups: Summary | None = None) -> list[list[str]]:
    """Return the heading and the rows: percent right with its interval, then the costs.

    Args:
        first: The figures of the first answers alone.
        with_follow_ups: The figures with the answers to follow-ups; None if there were to be no follow-ups.
    """
    head = ["percent right", *first.dialects]
    body: list[list[str]] = []
    for category in (*first.categories, MEAN) if len(first.categories) > 1 else first.categories:
        body.append(_build_row(first, category, category, format_share))
        if with_follow_ups is not None and with_follow_ups.has_follow_ups(category):
            body.append(_build_row(with_follow_ups, category, f"{category}, {FOLLOW_UP_TITLE}", format_share))
    summary = with_follow_ups or first
    body.append(_build_row(summary, MEAN, "questions", lambda tally: str(tally.count)))
    if with_follow_ups is not None:
        body.append(_build_row(summary, MEAN, FOLLOW_UP_TITLE, lambda tally: str(tally.follow_ups)))
    costs: Sequence[tuple[str, Callable[[Tally], float | None], int]] = (
        ("prompt tokens", lambda tally: tally.prompt_tokens, 0),
        ("answer tokens", lambda tally: tally.answer_tokens, 0),
        ("seconds", lambda tally: tally.seconds, 1),
    )
    for title, of, digits in costs:
        if any(of(tally) is not None for tally in summary.tallies.values()):
            body.append(
                _build_row(summary, MEAN, title, lambda tally, of=of, digits=digits: _format_number(of(tally), digits))
            )
    return [head, *body]


def format_lines(rows: Sequence[Sequence[str]]) -> str:
    """Format a table for other programs: a line for each row, with tabs between the cells."""
    return "\n".join("\t".join(row) for row in rows)


def _build_row(summary: Summary, category: str, title: str, cell: Cell) -> list[str]:
    tallies = [summary.tally(dialect, category) for dialect in summary.dialects]
    return [title, *("" if tally is None else cell(tally) for tally in tallies)]


def format_share(tally: Tally) -> str:
    """Format the percentage that is right, and its interval."""
    return f"{100 * tally.share:.1f} ({100 * tally.interval.low:.0f}–{100 * tally.interval.high:.0f})"


def _format_number(value: float | None, digits: int) -> str:
    return "" if value is None else f"{value:,.{digits}f}"
