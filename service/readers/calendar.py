"""Calendars in numbers and in parts: digits such as 202001300010, or year, month and day apart."""

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from itertools import pairwise
from typing import Any

import numpy as np
import numpy.typing as npt

from service.readers.errors import UnreadableData
from service.readers.names import bare, is_time, month_of, split_unit, words
from service.readers.options import Layout, Notes
from service.readers.table import NOT_A_TIME, Column, Flags, Floats, Integers, Lines, Table
from service.readers.timestamps import PIVOT

_FIRST_YEAR, _LAST_YEAR = 1500, 2200
_DIGITS = {14: "YYYYMMDDhhmmss", 12: "YYYYMMDDhhmm", 10: "YYYYMMDDhh", 8: "YYYYMMDD", 6: "YYYYMM"}
_SELF_EVIDENT = 12
"""Digits from which a valid date needs no name that says time."""

_PARTS = {
    part: words(names)
    for part, names in {
        "year": "year years yr yyyy yy jahr",
        "month": "month months mon mo mm monat period seas season",
        "day": "day dy dd dom day_of_month tag",
        "day of year": "doy day_of_year yday jday julian_day",
        "quarter": "quarter qtr q",
        "hour": "hour hours hr hh stunde",
        "minute": "minute minutes min mn mi",
        "second": "second seconds sec ss",
        "hhmm": "hhmm hour_minute hrmn hour_min",
    }.items()
}
_RANGES = {
    "month": (1, 12),
    "day": (1, 31),
    "day of year": (1, 366),
    "quarter": (1, 4),
    "hour": (0, 24),
    "minute": (0, 59),
    "second": (0, 60),
    "hhmm": (0, 2400),
}
_QUARTER = re.compile(
    r"(?P<y>\d{4})[-_ /:]?Q(?P<q>[1-4])\Z|Q(?P<q2>[1-4])[-_ /:]?(?P<y2>\d{4})\Z", re.I
)
_MONTH = re.compile(
    r"(?P<y>\d{4})[-/_. ]?(?:M|m)?(?P<m>\d{2})\Z|(?P<m2>\d{1,2})[-/.](?P<y2>\d{4})\Z"
    r"|(?P<name>[A-Za-z]{3,9})\.?[-/_. ,]*(?P<y3>\d{4})\Z"
    r"|(?P<y4>\d{4})[-/_. ]*(?P<name2>[A-Za-z]{3,9})\Z"
    r"|(?P<name3>[A-Za-z]{3,9})[-/' ](?P<y5>\d{2})\Z"
)
_SEASONS = "DJFMAMJJASONDJ"
"""First letters of December to January; three in a row name the month in their middle."""
_MICROSECONDS = 1_000_000
_CLOCK_PARTS = ("hour", "minute", "second")
_OF_DAY = frozenset({"hour", "minute", "second"})


def with_calendar(table: Table, layout: Layout, notes: Notes) -> tuple[Table, Column | None]:
    """Replace columns that are dates in digits or in parts by one column of time.

    Returns the table and the new column, or None where there is none. Raises UnreadableData where
    parts are no dates.
    """
    if len(table) < 3:
        return table, None
    melted = _months_side_by_side(table, layout, notes)
    if melted is not None:
        return melted, melted.columns[0]
    table = _with_labels(_with_digits(table, layout, notes), layout, notes)
    parts = _parts_of(table, layout)
    if not parts:
        return table, None
    titles = ", ".join(column.title for column in parts.values())
    if parts.keys() <= _OF_DAY:
        return _elapsed(table, parts, titles, notes)
    decimal = _decimal_year(table, parts, layout)
    rest = [column for column in table.columns if column not in parts.values()]
    if decimal is not None:
        notes.assume(f"{decimal.title} is time in years: {titles} are its parts")
        notes.place("time", f"a part of {decimal.title}", *parts.values())
        notes.place("time", "is time in years", decimal)
        dated = replace(decimal, unit="year")
        columns = [dated if column is decimal else column for column in rest]
        return replace(table, columns=tuple(columns)), dated
    ticks = _ticks_of(parts, table)
    first = next(iter(parts.values()))
    of_day = (_OF_DAY | {"hhmm"}) & parts.keys()
    dated = Column(
        first.position,
        first.name,
        "stamp",
        ticks,
        tick=1e-6,
        date_only=not of_day,
    )
    notes.assume(f"{titles} together are a date")
    notes.place("time", "a part of the date", *parts.values())
    columns = sorted([dated, *rest], key=lambda column: column.position)
    return replace(table, columns=tuple(columns)), dated


# --- dates in digits ----------------------------------------------------------------------------


def _with_digits(table: Table, layout: Layout, notes: Notes) -> Table:
    states = set(layout.state_columns or ())
    columns = list(table.columns)
    for k, column in enumerate(columns):
        if column.kind != "number" or column.key in states or str(column.position) in states:
            continue
        named = bool(column.name) and is_time(column.name or "")
        given = layout.time_column in (column.key, str(column.position))
        # Without names the first column may be dates where it rises.
        first = not table.named and column.position == 1
        first = first and bool(np.all(np.diff(column.numbers()) > 0))
        dates = _from_digits(column, sure=named or given or first)
        dates = dates or _regular_in_digits(column)
        if dates is None:
            continue
        ticks, form = dates
        notes.assume(f"{column.title} holds calendar dates written {form}")
        columns[k] = replace(
            column, kind="stamp", values=ticks, tick=1e-6, date_only=len(form) <= 8, unit=None
        )
    return replace(table, columns=tuple(columns))


def _regular_in_digits(column: Column) -> tuple[Integers, str] | None:
    """Read dates in digits whatever their name, where they are even and their numbers are not.

    From 20191231 to 20200101 is a day, but 8870 in numbers.
    """
    dates = _from_digits(column, sure=True)
    steps = np.diff(column.numbers())
    if dates is None or not np.all(steps > 0) or float(np.mean(steps == steps[0])) == 1.0:
        return None
    ticks, form = dates
    if form == _DIGITS[6]:
        ticks = ticks.astype("datetime64[us]").astype("datetime64[M]").astype(np.int64)
    usual = np.median(np.diff(ticks))
    jumps = steps > 2 * np.median(steps)
    return dates if jumps.any() and np.all(np.diff(ticks)[jumps] <= 1.5 * usual) else None


def _from_digits(column: Column, *, sure: bool) -> tuple[Integers, str] | None:
    values = column.numbers()
    present = np.isfinite(values)
    if not present.any() or np.any(values[present] < 1) or np.any(values[present] % 1):
        return None
    if np.nanmax(values) == np.nanmin(values):
        return None
    lengths = {len(str(int(np.nanmin(values)))), len(str(int(np.nanmax(values))))}
    length = lengths.pop()
    if lengths or length not in _DIGITS or not (sure or length >= _SELF_EVIDENT):
        return None
    digits = np.where(present, values, 0).astype(np.int64) * 10 ** (14 - length)
    if length == 6:
        digits[present] += 10**6
    fields = [digits // 10**p % 10**n for p, n in ((10, 4), (8, 2), (6, 2), (4, 2), (2, 2), (0, 2))]
    ticks, valid = _ticks(*fields)
    if not np.all(valid[present]):
        return None
    return np.where(present, ticks, NOT_A_TIME), _DIGITS[length]


def _ticks(
    year: Integers,
    month: Integers,
    day: Integers,
    hour: Integers,
    minute: Integers,
    second: Floats | Integers,
) -> tuple[Integers, Flags]:
    """Return microseconds since 1970 (n,), and whether each date exists (n,)."""
    months = (year - 1970) * 12 + (month - 1)
    first = months.astype("datetime64[M]").astype("datetime64[D]")
    dates = first + (day - 1)
    valid = (
        (year >= _FIRST_YEAR)
        & (year <= _LAST_YEAR)
        & (month >= 1)
        & (month <= 12)
        & (day >= 1)
        & (dates.astype("datetime64[M]").astype(np.int64) == months)
        & (hour <= 24)
        & (minute <= 59)
        & (second < 61)
    )
    seconds = dates.astype(np.int64) * 86400 + hour * 3600 + minute * 60
    fraction = np.round(np.asarray(second) * _MICROSECONDS).astype(np.int64)
    return seconds * _MICROSECONDS + fraction, np.asarray(valid)


# --- months and quarters in words ---------------------------------------------------------------


def _with_labels(table: Table, layout: Layout, notes: Notes) -> Table:
    """Read columns of text such as `2001Q1`, `2001-01` and `Jan 2001` as dates."""
    columns = list(table.columns)
    for k, column in enumerate(columns):
        if column.kind != "text" or len(column.labels) < 2 or layout.id_column == column.key:
            continue
        found = [_month_in(label) for label in column.labels]
        if None in found:
            continue
        months = np.asarray([*found, 0], dtype=np.int64)[column.values]
        short = re.fullmatch(r"\D+\d{2}", column.labels[0].strip()) is not None
        if short and not np.all(np.diff(months) == months[1] - months[0]):
            continue  # `Jan-15` may be a day of January
        ticks = months.astype("datetime64[M]").astype("datetime64[us]").astype(np.int64)
        ticks = np.where(column.values < 0, NOT_A_TIME, ticks)
        notes.assume(f"{column.title} holds months or quarters; each is dated on its first day")
        columns[k] = replace(
            column, kind="stamp", values=ticks, labels=(), tick=1e-6, date_only=True
        )
    return replace(table, columns=tuple(columns))


def _month_in(label: str) -> int | None:
    """Return the months since 1970 of a label, None where it names no month or quarter."""
    label = label.strip()
    if match := _QUARTER.match(label):
        year, month = int(match["y"] or match["y2"]), 3 * int(match["q"] or match["q2"]) - 2
    elif match := _MONTH.match(label):
        year = int(match["y"] or match["y2"] or match["y3"] or match["y4"] or match["y5"])
        if match["y5"]:
            year += 1900 if year >= PIVOT else 2000
        word = match["name"] or match["name2"] or match["name3"]
        month = (month_of(word) or 0) if word else int(match["m"] or match["m2"])
    else:
        return None
    if not 1 <= month <= 12 or not _FIRST_YEAR <= year <= _LAST_YEAR:
        return None
    return 12 * (year - 1970) + month - 1


# --- dates in parts -----------------------------------------------------------------------------


def _part(name: str | None) -> str | None:
    if not name:
        return None
    if name.strip("# ") in ("MM", "mm"):
        return "month" if "MM" in name else "minute"
    word = bare(split_unit(name)[0]).strip("#_")
    return next((part for part, names in _PARTS.items() if word in names), None)


def _parts_of(table: Table, layout: Layout) -> Mapping[str, Column]:
    """Return the columns that together are a date, by their part; none where there is no date."""
    given = {layout.time_column, *(layout.state_columns or ())}
    chosen = {column for column in table.columns if {column.key, str(column.position)} & given}
    free = [column for column in table.columns if column not in chosen]
    parts: dict[str, Column] = {}
    for column in free:
        part = _part(column.name)
        if part is not None and part not in parts and _fits(column, part):
            parts[part] = column
    dated = [c for c in free if c.kind == "stamp" and c.date_only]
    if "year" not in parts and len(dated) == 1 and {"hour", "hhmm"} & parts.keys():
        parts["date"] = dated[0]
        keys = ("date", "hour", "minute", "second", "hhmm")
        return {key: parts[key] for key in keys if key in parts}
    if "year" in parts and {"month", "day of year", "quarter"} & parts.keys():
        return parts
    of_day = {key: column for key, column in parts.items() if key in _OF_DAY}
    if len(of_day) > 1 and not parts.keys() - _OF_DAY:
        return of_day if all(c.kind != "stamp" for c in free) else {}
    return {} if table.named else _nameless_parts(free)


def _nameless_parts(free: Sequence[Column]) -> Mapping[str, Column]:
    """Recognise year, month and day, or year and month, without names, by dates that rise."""
    for k, first in enumerate(free):
        names: tuple[str, ...] = ("year", "month", "day", *_CLOCK_PARTS)
        if first.kind == "stamp" and first.date_only:
            names = ("date", *_CLOCK_PARTS)
        least = 2 if names[0] == "date" else 3
        for n in range(len(names), least - 1, -1):
            parts = dict(zip(names[:n], free[k : k + n], strict=False))
            fits = len(parts) == n and all(
                part == "date" or _fits(column, part) for part, column in parts.items()
            )
            if fits and _are_dates(parts, len(first.values)):
                return parts
    for year, month in pairwise(free):
        if year.kind != "number" or month.kind != "number":
            continue
        y, m = year.numbers(), month.numbers()
        whole = bool(np.all(y % 1 == 0) and np.all(m % 1 == 0))
        if not whole or y.min() < _FIRST_YEAR or y.max() > _LAST_YEAR:
            continue
        if np.all(np.diff(12 * y + m) == 1) and m.min() == 1 and m.max() == 12:
            return {"year": year, "month": month}
    return {}


def _are_dates(parts: Mapping[str, Column], n: int) -> bool:
    """Return whether parts are dates that rise, nine of ten by the same step."""
    numbers = {part: column.numbers() for part, column in parts.items() if part != "date"}
    if "date" in parts:
        if np.any(parts["date"].values == NOT_A_TIME):
            return False
        start = _microseconds(parts["date"])
        year, month, day = (np.full(n, k) for k in (1970, 1, 1))
    else:
        start = np.zeros(n, dtype=np.int64)
        if not all(np.isfinite(column).all() for column in numbers.values()):
            return False
        year, month, day = (numbers[part].astype(np.int64) for part in ("year", "month", "day"))
        if year.min() < _FIRST_YEAR:
            return False
    clock = (numbers.get(part, np.zeros(n)).astype(np.int64) for part in _CLOCK_PARTS)
    ticks, valid = _ticks(year, month, day, *clock)
    steps = np.diff(start + ticks)
    even = float(np.mean(steps == np.median(steps))) >= 0.9
    return bool(valid.all() and np.all(steps > 0)) and even


def _fits(column: Column, part: str) -> bool:
    if part == "month" and column.kind == "text":
        return all(map(_month_of, column.labels)) and bool(np.all(column.values >= 0))
    if part == "quarter" and column.kind == "text":
        labels = set(column.labels)
        return labels <= {"Q1", "Q2", "Q3", "Q4"} and bool(np.all(column.values >= 0))
    if column.kind != "number":
        return False
    values = column.numbers()
    if not np.all(np.isfinite(values)) or (part != "second" and np.any(values % 1)):
        return False
    if part == "year":
        short = values.min() >= 0 and values.max() <= 99
        return bool(short or (values.min() >= _FIRST_YEAR and values.max() <= _LAST_YEAR))
    low, high = _RANGES[part]
    return bool(values.min() >= low and values.max() <= high)


def _month_of(label: str) -> int | None:
    """Return the month that a label is: `Jan`, `M01` (BLS), or the middle of `DJF` (NOAA)."""
    if match := re.fullmatch(r"M(0[1-9]|1[0-2])", label):
        return int(match[1])
    season = _SEASONS.find(label) if len(label) == 3 and label.isupper() else -1
    return month_of(label) or (1 + season % 12 if season >= 0 else None)


def _decimal_year(table: Table, parts: Mapping[str, Column], layout: Layout) -> Column | None:
    """Return a column that holds the year with its fraction beside year and month."""
    if "year" not in parts or layout.time_column is not None:
        return None
    year = parts["year"].numbers()
    for column in table.columns:
        if column in parts.values() or column.kind != "number":
            continue
        values = column.numbers()
        if np.all(np.floor(values + 1e-9) == year) and np.all(np.diff(values) > 0):
            return column
    return None


def _ticks_of(parts: Mapping[str, Column], table: Table) -> Integers:
    n = len(table)
    zero, one = np.zeros(n, dtype=np.int64), np.ones(n, dtype=np.int64)
    of: Callable[[str, Integers], Any] = lambda part, other: (  # noqa: E731
        _numbers(parts[part]) if part in parts else other
    )
    hour, minute = of("hour", zero), of("minute", zero)
    if "hhmm" in parts:
        hour, minute = of("hhmm", zero) // 100, of("hhmm", zero) % 100
    second = parts["second"].numbers() if "second" in parts else zero
    if "date" in parts:
        since = (hour * 3600 + minute * 60) * _MICROSECONDS
        fraction = np.round(np.asarray(second) * _MICROSECONDS).astype(np.int64)
        return np.asarray(_microseconds(parts["date"]) + since + fraction, dtype=np.int64)
    year = of("year", zero)
    if year.max() <= 99:
        year = year + np.where(year < 70, 2000, 1900)
    month = of("month", 3 * of("quarter", one) - 2)
    day = of("day", one)
    if "day of year" in parts and "month" not in parts:
        ticks, valid = _ticks(year, one, one, hour, minute, second)
        ticks = ticks + (of("day of year", one) - 1) * 86400 * _MICROSECONDS
    else:
        ticks, valid = _ticks(year, month, day, hour, minute, second)
    if not valid.all():
        row = int(np.flatnonzero(~valid)[0])
        titles = ", ".join(column.title for column in parts.values())
        raise UnreadableData(
            f"{table.row_word.capitalize()} {table.lines[row]}: {titles} are no date.",
            "Join them into dates such as 2024-01-31, or name other columns in the layout.",
        )
    return np.asarray(ticks, dtype=np.int64)


def _microseconds(date: Column) -> Integers:
    """Return stamps in microseconds; dates of Arrow count days."""
    scale = round(date.tick * _MICROSECONDS)
    return np.where(date.values == NOT_A_TIME, NOT_A_TIME, date.values * scale)


def _elapsed(
    table: Table, parts: Mapping[str, Column], titles: str, notes: Notes
) -> tuple[Table, Column | None]:
    """Put hours, minutes and seconds together, where they count on from the first row."""
    lengths = {"hour": 3600.0, "minute": 60.0, "second": 1.0}
    seconds = np.sum([lengths[key] * column.numbers() for key, column in parts.items()], axis=0)
    if np.any(np.diff(seconds) < 0):
        return table, None
    first = next(iter(parts.values()))
    time = Column(first.position, first.name, "number", np.round(seconds, 9), unit="s")
    rest = [column for column in table.columns if column not in parts.values()]
    notes.assume(f"{titles} together are the elapsed time")
    notes.place("time", "a part of the elapsed time", *parts.values())
    columns = sorted([time, *rest], key=lambda column: column.position)
    return replace(table, columns=tuple(columns)), time


def _numbers(column: Column) -> npt.NDArray[np.int64]:
    if column.kind == "text":
        labels = [_month_of(label) or int(label[-1]) for label in column.labels]
        return np.take(np.asarray(labels, dtype=np.int64), column.values)
    return column.numbers().astype(np.int64)


# --- months side by side ------------------------------------------------------------------------


def _months_side_by_side(table: Table, layout: Layout, notes: Notes) -> Table | None:
    """Read a row for each year and a column for each month as one series of months."""
    if layout.state_columns is not None or layout.time_column is not None:
        return None
    year = next((c for c in table.columns if c.kind == "number"), None)
    if year is None or layout.orientation is not None:
        return None
    if table.named:
        by_month = {month_of(c.name): c for c in table.columns if c.kind == "number"}
        if _part(year.name) != "year" or not set(range(1, 13)) <= by_month.keys():
            return None
        months = [by_month[k] for k in range(1, 13)]
    else:
        if len(table.columns) != 13 or any(c.kind != "number" for c in table.columns):
            return None
        months = list(table.columns[1:])
    years = year.numbers()
    whole = bool(np.all(np.diff(years) == 1)) and years[0] % 1 == 0
    if not whole or years[0] < _FIRST_YEAR or years[-1] > _LAST_YEAR:
        return None
    values = np.column_stack([column.numbers() for column in months]).ravel()
    since = (int(years[0]) - 1970) * 12 + np.arange(len(values))
    ticks = since.astype("datetime64[M]").astype("datetime64[us]").astype(np.int64)
    lines = Lines([0], [table.lines[0]])
    for k in range(len(values)):
        lines.start(k, table.lines[k // 12])
    notes.assume("each row is a year and each column a month: they are one series of months")
    notes.place("time", "holds the years of the rows", year)
    notes.place("state", "holds a month of each year", *months)
    time = Column(1, "month", "stamp", ticks, tick=1e-6, date_only=True)
    state = Column(2, "value", "number", np.asarray(values))
    return Table((time, state), lines, table.row_word)
