"""When a schedule is next due: five fields of cron in a time zone, or every so many seconds."""

from collections.abc import Generator
from datetime import UTC, datetime, timedelta
from zoneinfo import ZoneInfo, ZoneInfoNotFoundError

from toolspeak.values.errors import UsageError
from toolspeak.values.frozen import frozen

_FIELDS = (("minute", 0, 59), ("hour", 0, 23), ("day", 1, 31), ("month", 1, 12), ("weekday", 0, 7))
_MONTHS = ("jan", "feb", "mar", "apr", "may", "jun", "jul", "aug", "sep", "oct", "nov", "dec")
_DAYS = ("sun", "mon", "tue", "wed", "thu", "fri", "sat")

MAX_DAYS = 366 * 8
"""How far ahead a time is looked for: 29 February is at most eight years away."""


@frozen
class Cron:
    """Times by cron: minutes, hours, days of a month, months and days of a week, each as the numbers that fit.

    A time that a clock leaves out when it is put forward is not due on that day; one that it shows twice is due once.

    Attributes:
        zone: The time zone in which the fields are meant.
        needs_both: Whether a day must fit both day fields. If both name days, one of them is enough, as in cron.
    """

    minutes: frozenset[int]
    hours: frozenset[int]
    days: frozenset[int]
    months: frozenset[int]
    weekdays: frozenset[int]
    zone: str
    needs_both: bool

    def find_next(self, after: datetime) -> datetime:
        """Return the first time after another one, in UTC.

        Raises:
            UsageError: There is none, as for 30 February.
        """
        zone = ZoneInfo(self.zone)
        begin = after.astimezone(zone)
        day = begin.date()
        for number in range(MAX_DAYS):
            if self._fits(day.month, day.day, day.isoweekday() % 7):
                for hour in sorted(each for each in self.hours if number or each >= begin.hour):
                    for minute in sorted(self.minutes):
                        local = datetime(day.year, day.month, day.day, hour, minute, tzinfo=zone)
                        time = local.astimezone(UTC)
                        if time > after and time.astimezone(zone).replace(tzinfo=None) == local.replace(tzinfo=None):
                            return time
            day += timedelta(days=1)
        raise UsageError("this cron expression names a day that never comes")

    def _fits(self, month: int, day: int, weekday: int) -> bool:
        if month not in self.months:
            return False
        in_month, in_week = day in self.days, weekday in self.weekdays
        return (in_month and in_week) if self.needs_both else (in_month or in_week)


def parse_cron(text: str, zone: str = "UTC") -> Cron:
    """Return the times of a cron expression: `30 9 * * mon-fri`.

    Raises:
        UsageError: It has not five fields, or one of them or the time zone cannot be read.
    """
    try:
        ZoneInfo(zone)
    except (ZoneInfoNotFoundError, ValueError, OSError):
        raise UsageError(f"there is no time zone {zone!r}; write one like Europe/Berlin, or UTC") from None
    fields = text.split()
    if len(fields) != len(_FIELDS):
        raise UsageError(
            f"{text!r} is not a cron expression: it has five fields, minute, hour, day, month and weekday, as in "
            "'30 9 * * mon-fri'"
        )
    minutes, hours, days, months, weekdays = (
        frozenset(_parse_field(field, *known)) for field, known in zip(fields, _FIELDS, strict=True)
    )
    needs_both = fields[2].startswith("*") or fields[4].startswith("*")
    cron = Cron(
        minutes=minutes,
        hours=hours,
        days=days,
        months=months,
        weekdays=frozenset(day % 7 for day in weekdays),
        zone=zone,
        needs_both=needs_both,
    )
    cron.find_next(datetime.now(UTC))
    return cron


def _parse_field(field: str, name: str, lowest: int, highest: int) -> Generator[int]:
    for part in field.split(","):
        span, _, step = part.partition("/")
        first, sign, last = span.partition("-")
        try:
            if span == "*":
                begin, end = lowest, highest
            else:
                begin = _parse_number(first, name)
                end = _parse_number(last, name) if sign else (highest if step else begin)
            width = int(step) if "/" in part else 1
        except ValueError:
            begin, end, width = 1, 0, 1
        if not lowest <= begin <= end <= highest or width < 1:
            raise UsageError(
                f"{part!r} is not a {name} of a cron expression: {lowest} to {highest}, as in 5, 1-5 or */2"
            )
        yield from range(begin, end + 1, width)


def _parse_number(text: str, name: str) -> int:
    names = {"month": ("", *_MONTHS), "weekday": _DAYS}.get(name, ())
    return names.index(text.lower()) if text and text.lower() in names else int(text)
