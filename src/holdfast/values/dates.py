"""Dates and times as numbers: days, and microseconds, since the beginning of 1970 in UTC.

Years range from 1 to 9999, in the Gregorian calendar even before its introduction, and a day has 86,400 seconds.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from datetime import UTC, date, datetime, timedelta
from typing import TYPE_CHECKING, Final

from holdfast.lazy import lazily

if TYPE_CHECKING:
    import calendar
else:
    calendar = lazily("calendar")

EPOCH: Final = datetime(1970, 1, 1, tzinfo=UTC)
_FIRST_DAY: Final = EPOCH.toordinal()
_MICROSECOND: Final = timedelta(microseconds=1)
_DAY: Final = 86_400_000_000
_DATE: Final = re.compile(r"[0-9]{4}-[0-9]{2}-[0-9]{2}")
_TIME: Final = re.compile(
    r"[0-9]{4}-[0-9]{2}-[0-9]{2}"
    r"([T ]([01][0-9]|2[0-3]):[0-9]{2}(:[0-9]{2}(\.[0-9]{1,6})?)?(Z|[+-][0-9]{2}:[0-9]{2})?)?"
)
_DIRECTIVES: Final = frozenset("YmdHMSfjz%")  # the directives that mean the same in every locale and on every system


class DateError(ValueError):
    """A text or a number that is not a date or time; the message says which and why."""


def days(value: date) -> int:
    """A date as a number."""
    return value.toordinal() - _FIRST_DAY


def microseconds(value: datetime) -> int:
    """A time as a number; without a zone it is in UTC."""
    aware = value if value.tzinfo is not None else value.replace(tzinfo=UTC)
    return (aware - EPOCH) // _MICROSECOND


def to_date(text: str) -> int:
    """The number of `2024-02-29`."""
    if not _DATE.fullmatch(text):
        raise DateError(f'"{text}" is not a date such as 2024-02-29')
    try:
        return days(date.fromisoformat(text))
    except ValueError:
        raise DateError(f'"{text}" is not a day of the calendar') from None


def to_time(text: str) -> int:
    """The number of `2024-02-29T12:30:00+01:00`; the seconds, the time of day and the zone are optional."""
    if not _TIME.fullmatch(text):
        raise DateError(f'"{text}" is not a time such as 2024-02-29T12:30:00Z')
    try:
        return microseconds(datetime.fromisoformat(text))
    except (ValueError, OverflowError):
        raise DateError(f'"{text}" is not a time of the calendar and the clock') from None


def date_text(number: int) -> str:
    """A date as `2024-02-29`."""
    return _date(number).isoformat()


def time_text(number: int) -> str:
    """A time as `2024-02-29T11:30:00Z`, with six decimals if the seconds are not whole."""
    return _time(number).isoformat().replace("+00:00", "Z")


def parse_time(text: str, layout: str) -> int:
    """Parses a time in a format such as `%d.%m.%Y %H:%M`."""
    _check_layout(layout)
    try:
        return microseconds(datetime.strptime(text, layout))
    except (ValueError, OverflowError):
        raise DateError(f'"{text}" is not a time laid out as "{layout}"') from None


def format_time(number: int, layout: str) -> str:
    """Formats a time in a format such as `%d.%m.%Y %H:%M`."""
    _check_layout(layout)
    time = _time(number)
    years = layout.split("%%")  # on some systems `strftime` omits a year's leading zeros
    return time.strftime("%%".join(part.replace("%Y", f"{time.year:04}") for part in years))


def _check_layout(layout: str) -> None:
    for directive in re.findall(r"%(.?)", layout, re.DOTALL):
        if directive not in _DIRECTIVES:
            raise DateError(f'"{layout}" has %{directive}, and a layout has only %Y %m %d %j %H %M %S %f %z %%')


def date_of(time: int) -> int:
    """The day of a time."""
    return time // _DAY


def time_of(day: int) -> int:
    """The time at which a day begins."""
    return days(_date(day)) * _DAY


def add_months(number: int, months: int) -> int:
    """The same day some months later, or the last day of a month that has no such day."""
    day = _date(number)
    year, month = divmod(12 * day.year + day.month - 1 + months, 12)
    if not 1 <= year <= 9999:
        raise DateError(f"{months} months after {day.isoformat()} is not within the years 1 to 9999")
    return days(date(year, month + 1, min(day.day, calendar.monthrange(year, month + 1)[1])))


def _date(number: int) -> date:
    try:
        return date.fromordinal(number + _FIRST_DAY)
    except (ValueError, OverflowError):
        raise DateError(f"{number} is not a date: its year is not within 1 to 9999") from None


def _time(number: int) -> datetime:
    try:
        return EPOCH + number * _MICROSECOND
    except OverflowError:
        raise DateError(f"{number} is not a time: its year is not within 1 to 9999") from None


ON_DATES: Final[dict[str, Callable[..., int | str]]] = {
    "to_date": to_date,
    "to_time": to_time,
    "date_text": date_text,
    "time_text": time_text,
    "parse_time": parse_time,
    "format_time": format_time,
    "date_of": date_of,
    "time_of": time_of,
    "add_months": add_months,
    "year": lambda number: _date(number).year,
    "month": lambda number: _date(number).month,
    "day": lambda number: _date(number).day,
    "weekday": lambda number: _date(number).isoweekday(),
    "hour": lambda number: _time(number).hour,
    "minute": lambda number: _time(number).minute,
    "second": lambda number: _time(number).second,
}
"""The functors of dates and times."""
