"""Calendars in parts and in digits, two-digit years, minutes and seconds, signs at numbers."""

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

N = 120
X = np.round(np.cumsum(np.random.default_rng(13).normal(size=N)), 3)
DAYS = np.datetime64("2019-11-20") + np.arange(N)
HOURS = np.datetime64("2019-12-30T00") + np.arange(N)
MONTHS = np.datetime64("1950-01") + np.arange(N)

Reads = Callable[..., Any]


def table(header: str | None, *columns: Any, delimiter: str = ",") -> str:
    lines = [delimiter.join(map(str, row)) for row in zip(*columns, strict=True)]
    return "\n".join([header, *lines] if header else lines)


def of(form: str, dates: Any) -> list[str]:
    return [date.astype("datetime64[s]").item().strftime(form) for date in dates]


def days_of(dates: Any) -> np.ndarray:
    days = dates.astype("datetime64[D]").astype(float)
    return days - days[0]


HOURLY = 3600.0 * np.arange(N)
MONTHLY = days_of(MONTHS)
QUARTERS = np.datetime64("1950-01") + 3 * np.arange(N)


@pytest.mark.parametrize(
    ("header", "columns", "times"),
    [
        ("year,month,x", [of("%Y", MONTHS), of("%m", MONTHS)], MONTHLY),
        ("YEAR,MO,x", [of("%Y", MONTHS), of("%b", MONTHS)], MONTHLY),
        ("year,month,day,x", [of("%Y", DAYS), of("%m", DAYS), of("%d", DAYS)], days_of(DAYS)),
        ("year,doy,x", [of("%Y", DAYS), of("%j", DAYS)], days_of(DAYS)),
        (
            "#YY,MM,DD,hh,mm,x",
            [of(f"%{part}", HOURS) for part in ("Y", "m", "d", "H", "M")],
            HOURLY,
        ),
        ("date,hour,x", [of("%Y-%m-%d", HOURS), of("%H", HOURS)], HOURLY),
        (
            "year,quarter,x",
            [of("%Y", QUARTERS), [1 + k % 4 for k in range(N)]],
            days_of(QUARTERS),
        ),
        (
            "quarter,x",
            [[f"{q.astype(object).year}Q{1 + k % 4}" for k, q in enumerate(QUARTERS)]],
            days_of(QUARTERS),
        ),
        ("period,x", [of("%b %Y", MONTHS)], MONTHLY),
        ("period,x", [of("%Y-%m", MONTHS)], MONTHLY),
        ("month,x", [of("%Y%m", MONTHS)], MONTHLY),
        ("date,x", [of("%Y%m%d", DAYS)], days_of(DAYS)),
        ("when,x", [of("%Y%m%d%H%M", HOURS)], HOURLY),
        ("when,x", [of("%Y%m%d%H%M%S", HOURS)], HOURLY),
        ("when,x", [of("%m/%d/%y %I:%M:%S %p", HOURS)], HOURLY),
        ("when,x", [of("%d.%m.%y %H:%M", HOURS)], HOURLY),
        ("when,x", [of("%y/%m/%d", DAYS)], days_of(DAYS)),
        ("when,x", [of("%d %B %Y", DAYS)], days_of(DAYS)),
    ],
)
def test_a_calendar_is_read_as_time(
    header: str, columns: Any, times: np.ndarray, read_data: Reads
) -> None:
    found = read_data(table(header, *columns, X))
    assert np.array_equal(found.states[:, 0], X)
    assert found.times == pytest.approx(times)
    assert found.report.time_unit == ("s" if times is HOURLY else "day")


def test_quoted_dates_with_the_month_in_words(read_data: Reads) -> None:
    dates = [f'"{text}"' for text in of("%b %d, %Y", DAYS)]
    assert read_data(table("Date,x", dates, X)).times == pytest.approx(days_of(DAYS))


def test_a_decimal_year_is_time_beside_year_and_month_without_names(read_data: Reads) -> None:
    year = np.repeat(np.arange(1950, 1960), 12)
    month = np.tile(np.arange(1, 13), 10)
    decimal = np.round(year + (month - 0.5) / 12, 3)
    text = table(None, year, month, decimal, X, delimiter=";")
    for layout in ({}, {"time_column": "3", "state_columns": ("4",)}):
        found = read_data(text, **layout)
        assert np.array_equal(found.states[:, 0], X)
        assert found.report.n_segments == 1
        assert found.report.dt.median == pytest.approx(1 / 12, rel=1e-4)


@pytest.mark.parametrize("header", ["Year,Jan,Feb,Mar,Apr,May,Jun,Jul,Aug,Sep,Oct,Nov,Dec", None])
def test_months_side_by_side_are_one_series(header: str | None, read_data: Reads) -> None:
    text = table(header, range(1950, 1960), *X.reshape(10, 12).T)
    found = read_data(text)
    assert np.array_equal(found.states[:, 0], X)
    assert found.times == pytest.approx(MONTHLY)


def test_minutes_and_seconds_in_columns_are_elapsed_time(read_data: Reads) -> None:
    found = read_data(table("Minute,Second,x", np.arange(N) // 60, np.arange(N) % 60, X))
    assert found.times == pytest.approx(np.arange(N))
    assert found.report.time_unit == "s"


def test_years_months_and_days_without_names_are_dates(read_data: Reads) -> None:
    found = read_data(table(None, of("%Y", DAYS), of("%m", DAYS), of("%d", DAYS), X))
    assert found.times == pytest.approx(days_of(DAYS))
    assert np.array_equal(found.states[:, 0], X)


def test_parts_that_are_no_date_are_refused(refused: Reads) -> None:
    day = [31, *of("%d", DAYS)[1:]]
    text = table("year,month,day,x", of("%Y", DAYS), of("%m", DAYS), day, X)
    assert "Row 2" in refused(text).detail
    assert "are no date" in refused(text).detail


def test_long_numbers_that_are_no_dates_stay_numbers(read_data: Reads) -> None:
    counts = 209_913_000_000 + np.arange(N) * 10
    assert read_data(table("t,x", counts, X)).times == pytest.approx(10.0 * np.arange(N))


@pytest.mark.parametrize(
    ("name", "clock", "dt"),
    [
        ("t", [f"{k // 60:02d}:{k % 60:02d}" for k in range(20 * 100, 20 * 100 + N)], 1.0),
        ("time (mm:ss)", [f"{k // 60:02d}:{k % 60:02d}" for k in range(N)], 1.0),
        ("t", [f"{k // 60:02d}:{k % 60:02d}.5" for k in range(N)], 1.0),
        ("t", [f"08:{k // 60:02d}:{k % 60:02d}" for k in range(N)], 1.0),
    ],
)
def test_minutes_and_seconds(name: str, clock: list[str], dt: float, read_data: Reads) -> None:
    found = read_data(table(f"{name},x", clock, X))
    assert found.report.dt.median == dt
    assert "clock-assumed" not in found.codes


def test_a_clock_that_starts_at_zero_is_read_with_a_warning(read_data: Reads) -> None:
    clock = [f"{k // 60:02d}:{k % 60:02d}" for k in range(N)]
    found = read_data(table("t,x", clock, X))
    assert found.report.dt.median == 60.0
    assert "clock-assumed" in found.codes


def test_percent_and_currency_signs_are_removed(read_data: Reads) -> None:
    share, price = (np.round(X + shift, 2) for shift in (0, 50))
    cells = [[f"{value:.2f}%" for value in share], [f'"${value:,.2f}"' for value in 1000 + price]]
    found = read_data(table("t,share,price", range(N), cells[0], cells[1]), state_columns=["share"])
    assert found.states[:, 0] == pytest.approx(share)
    found = read_data(table("t,share,price", range(N), cells[0], cells[1]), state_columns=["price"])
    assert found.states[:, 0] == pytest.approx(1000 + price)
    assert "currency signs" in found.said
