"""Dates and times as numbers: folded by the checker, computed by the engine, against Python's calendar and Arrow's."""

from __future__ import annotations

from datetime import UTC, date, datetime, timedelta

import pyarrow as pa
import pyarrow.compute as pc
import pytest
from hypothesis import given
from hypothesis import strategies as st

import holdfast
from holdfast.errors import HoldfastError, ProgramError
from holdfast.values import dates

SECOND = 1_000_000
pa.array([0])  # imports pandas where it is installed, which takes longer than Hypothesis allows a test


def both_ways(expression: str) -> set[object]:
    """The value of an expression of one constant: as the checker folds it, and as the engine computes it."""
    name, _, inside = expression.partition("(")
    first, *rest = inside.removesuffix(")").split(", ")
    rule = f"s({first}). p({name}({', '.join(['x', *rest])})) :- s(x)."
    return {next(iter(holdfast.from_text(text)["p"]))[0] for text in (f"p({expression}).", rule)}


@pytest.mark.parametrize(
    ("expression", "value"),
    [
        ('to_date("1970-01-01")', 0),
        ('to_date("2024-02-29")', 19782),
        ('to_date("0001-01-01")', -719162),
        ("date_text(-719162)", "0001-01-01"),
        ("date_text(2932896)", "9999-12-31"),
        ('to_time("1970-01-01T00:00:01Z")', SECOND),
        ('to_time("1970-01-01T01:00:01.5+01:00")', SECOND + SECOND // 2),
        ('to_time("1970-01-02 00:00")', 86_400 * SECOND),
        ('to_time("1969-12-31")', -86_400 * SECOND),
        ("time_text(-1)", "1969-12-31T23:59:59.999999Z"),
        ("time_text(0)", "1970-01-01T00:00:00Z"),
        ("date_of(-1)", -1),
        ("time_of(-1)", -86_400 * SECOND),
        ("year(-1)", 1969),
        ("month(59)", 3),
        ("day(58)", 28),
        ("weekday(0)", 4),
        ("hour(-1)", 23),
        ("minute(3723000000)", 2),
        ("second(3723999999)", 3),
        ("add_months(30, 1)", 58),
        ("add_months(0, -1)", -31),
        ("add_months(2932865, 1)", 2932895),
        ('format_time(0, "%d.%m.%Y %H:%M:%S.%f %%")', "01.01.1970 00:00:00.000000 %"),
        ('format_time(-62135596800000000, "%Y")', "0001"),
        ('parse_time("31.12.1969 23:59", "%d.%m.%Y %H:%M")', -60 * SECOND),
        ('parse_time("00:30 +0100 1970", "%H:%M %z %Y")', -30 * 60 * SECOND),
    ],
)
def test_functors(expression: str, value: object) -> None:
    assert both_ways(expression) == {value}


@pytest.mark.parametrize(
    ("expression", "why"),
    [
        ('to_date("2023-02-29")', "is not a day of the calendar"),
        ('to_date("2023-2-9")', "is not a date such as 2024-02-29"),
        ('to_date("2023-02-09Z")', "is not a date such as"),
        ('to_time("2023-02-09T24:00:00Z")', "is not a time such as"),
        ('to_time("2023-02-09T23:60:00Z")', "is not a time of the calendar"),
        ('to_time("2023-02-09T23:00:00.1234567Z")', "is not a time such as"),
        ("date_text(2932897)", "its year is not within 1 to 9999"),
        ("time_text(9223372036854775807)", "its year is not within 1 to 9999"),
        ("time_of(9223372036854775807)", "its year is not within 1 to 9999"),
        ("add_months(0, 9223372036854775807)", "is not within the years 1 to 9999"),
        ('format_time(0, "%b")', "a layout has only"),
        ('parse_time("x", "%")', "a layout has only"),
        ('parse_time("x", "%Y")', "is not a time laid out as"),
    ],
)
def test_what_is_no_date_is_refused_both_ways(expression: str, why: str) -> None:
    with pytest.raises(ProgramError, match=why) as folded:
        holdfast.from_text(f"p({expression}).")
    assert [found.code for found in folded.value.diagnostics] == ["E0406"]
    name, _, inside = expression.partition("(")
    first, *rest = inside.removesuffix(")").split(", ")
    with pytest.raises(HoldfastError, match=why) as computed:
        holdfast.from_text(f"s({first}). p({name}({', '.join(['x', *rest])})) :- s(x).")
    assert [found.code for found in computed.value.diagnostics] == ["E0701"]


@given(st.dates(), st.integers(-40_000, 40_000))
def test_dates_are_those_of_arrow(day: date, months: int) -> None:
    number = dates.to_date(day.isoformat())
    assert pa.scalar(day).cast(pa.int32()).as_py() == number
    assert dates.date_text(number) == day.isoformat()
    parts = [dates.ON_DATES[part](number) for part in ("year", "month", "day", "weekday")]
    assert parts == [day.year, day.month, day.day, pc.day_of_week(pa.scalar(day), count_from_zero=False).as_py()]
    try:
        moved = date.fromordinal(dates.add_months(number, months) + date(1970, 1, 1).toordinal())
    except dates.DateError:
        return
    assert (12 * moved.year + moved.month) - (12 * day.year + day.month) == months
    assert moved.day == day.day or (moved.day < day.day and (moved + timedelta(1)).day == 1)


@given(st.datetimes())
def test_times_are_those_of_arrow(time: datetime) -> None:
    number = dates.to_time(time.isoformat())
    assert pa.scalar(time, pa.timestamp("us")).cast(pa.int64()).as_py() == number
    assert datetime.fromisoformat(dates.time_text(number)) == time.replace(tzinfo=UTC)
    assert dates.parse_time(dates.format_time(number, "%Y-%m-%d %H:%M:%S.%f"), "%Y-%m-%d %H:%M:%S.%f") == number
    assert (dates.date_of(number), dates.time_of(dates.date_of(number))) == (
        dates.to_date(time.date().isoformat()),
        dates.to_time(time.date().isoformat()),
    )


def test_updates_and_arithmetic() -> None:
    text = """
    lent("a", "2024-02-27"). lent("b", "2024-02-01").
    due(book, date_text(to_date(day) + 14)) :- lent(book, day).
    late(book) :- lent(book, day), today(now), to_date(now) - to_date(day) > 14.
    """
    kb = holdfast.from_text(text, {"today": [("2024-03-01",)]})
    assert (set(kb["due"]), set(kb["late"])) == ({("a", "2024-03-12"), ("b", "2024-02-15")}, {("b",)})
    kb.apply(holdfast.Update(delete={"today": [("2024-03-01",)]}, insert={"today": [("2024-04-01",)]}))
    assert set(kb["late"]) == {("a",), ("b",)}
