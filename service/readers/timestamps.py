"""Calendar time stamps in text, as microseconds since 1970 UTC; UTC offsets are respected."""

import re
from collections.abc import Sequence
from datetime import date
from itertools import pairwise
from typing import Literal

import numpy as np

from service.readers.cells import MISSING, shown
from service.readers.errors import UnreadableData
from service.readers.names import bare, month_of
from service.readers.options import Notes
from service.readers.table import NOT_A_TIME, Column, Integers, Lines

_CLOCK = (
    r"(?:[T ,]+(?P<h>\d{1,3}):(?P<mi>\d{2})(?::(?P<s>\d{2})(?:[.,](?P<f>\d+))?)?"
    r"\s*(?P<half>[AaPp][Mm])?\s*(?P<zone>Z|UTC|GMT|[+-]\d{2}:?\d{2}|[+-]\d{2})?)?\Z"
)
_FORMS = tuple(
    re.compile(start + _CLOCK, re.ASCII)
    for start in (
        r"(?P<y>\d{4})[-/](?P<m>\d{1,2})[-/](?P<d>\d{1,2})",
        r"(?P<p>\d{1,2})(?P<mark>[-/.])(?P<q>\d{1,2})(?P=mark)(?P<y>\d{4}|\d{2})",
        r"(?P<d>\d{1,2})[- ](?P<word>[A-Za-z]{3,9})[- ](?P<y>\d{4}|\d{2})",
        r"(?P<word>[A-Za-z]{3,9})\.? (?P<d>\d{1,2}),? (?P<y>\d{4})",
        r"(?P<only>)",
    )
)
_COMPACT = re.compile(r"(\d{4})(\d{2})(\d{2})T(\d{2})(\d{2})(\d{2})?(?:\.(\d+))?(Z?)\Z", re.ASCII)
_ISO = re.compile(r"\d{4}-\d{2}-\d{2}(?:[T ]\d{2}:\d{2}(?::\d{2}(?:\.\d{1,6})?)?)?", re.ASCII)
_WEEKDAY = re.compile(r"^[A-Z][a-z]{2}, (?=\d)")
_MINUTES = re.compile(r"(\d{1,3}):(\d{2})[.,](\d+)\Z", re.ASCII)
PIVOT = 70
"""Two-digit year from which the century is the twentieth."""

Order = Literal["dmy", "mdy", "ymd"]
"""Order of day, month and year in a date of three numbers."""

_SECOND = 1_000_000
_HOUR = 3600 * _SECOND
_DAY = 24 * _HOUR
_EPOCH = date(1970, 1, 1).toordinal()


def column_of_stamps(
    cells: Sequence[str], position: int, name: str | None, lines: Lines, notes: Notes
) -> Column:
    """Parse a column of time stamps. Raises UnreadableData naming the row of another cell."""
    title = f"column {position}" + (f" ('{name}')" if name else "")
    fast = _iso(cells)
    if fast is not None:
        ticks, date_only, zoned = fast
    else:
        ticks, date_only, zoned = _any_form(cells, title, lines, notes)
    if not zoned and not date_only:
        ticks = _clock_set_back(ticks, title, notes)
    return Column(position, name, "stamp", ticks, tick=1e-6, date_only=date_only)


def _iso(cells: Sequence[str]) -> tuple[Integers, bool, bool] | None:
    """Parse stamps of one ISO form by NumPy: ticks, dates only, zoned; None for other forms."""
    match = _ISO.match(cells[0]) if cells else None
    if match is None:
        return None
    cut = match.end()
    suffixes = {cell[cut:] for cell in cells}
    zones = {suffix: _offset(suffix) for suffix in suffixes}
    if len({len(cell) for cell in cells}) != 1 or None in zones.values():
        return None
    try:
        ticks = np.array([cell[:cut] for cell in cells], dtype="datetime64[us]").astype(np.int64)
    except ValueError:
        return None
    if len(zones) > 1 or any(zones.values()):
        offsets = (zones[cell[cut:]] or 0 for cell in cells)
        ticks = ticks - np.fromiter(offsets, np.int64, len(cells))
    return ticks, cut == 10, suffixes != {""}


def _offset(zone: str) -> int | None:
    """Return an offset from UTC, positive in the east [µs]; None where `zone` is no offset."""
    zone = zone.strip()
    if zone in ("", "Z", "UTC", "GMT"):
        return 0
    match = re.fullmatch(r"([+-])(\d{2}):?(\d{2})?", zone)
    if match is None:
        return None
    return (1 if match[1] == "+" else -1) * (int(match[2]) * 60 + int(match[3] or 0)) * 60 * _SECOND


def _any_form(
    cells: Sequence[str], title: str, lines: Lines, notes: Notes
) -> tuple[Integers, bool, bool]:
    matches = [
        None if cell.lower() in MISSING else _match(cell, title, lines, k)
        for k, cell in enumerate(cells)
    ]
    present = [match for match in matches if match is not None]
    kinds = {match.re for match in present}
    zoned = {bool(match["zone"]) for match in present}
    if len(kinds) > 1 or len(zoned) > 1:
        odd = next(
            k
            for k, match in enumerate(matches)
            if match
            and (match.re, bool(match["zone"])) != (present[0].re, bool(present[0]["zone"]))
        )
        raise UnreadableData(
            f"Row {lines[odd]}, {title}: '{shown(cells[odd])}' is written differently from the "
            "time stamps before it.",
            "Write all time stamps in one format, for instance 2024-01-31T12:00:00Z.",
        )
    marked = bool(present) and "mark" in present[0].re.groupindex
    order = _order_of(matches, title, notes) if marked else "ymd"
    minutes = _are_minutes(
        [match for match in present if "only" in match.re.groupindex], title, notes
    )
    ticks = np.full(len(cells), NOT_A_TIME)
    for k, match in enumerate(matches):
        if match is not None:
            try:
                ticks[k] = _ticks(match, order) // (60 if minutes else 1)
            except (ValueError, KeyError):
                raise UnreadableData(
                    f"Row {lines[k]}, {title}: there is no such date as '{shown(cells[k])}'."
                ) from None
    if present and "only" in present[0].re.groupindex:
        ticks = _past_midnight(ticks, title, notes)
    return ticks, all(match["h"] is None for match in present), True in zoned


def _match(cell: str, title: str, lines: Lines, k: int) -> re.Match[str]:
    cell = _WEEKDAY.sub("", cell)
    if compact := _COMPACT.match(cell):
        y, m, d, h, mi, s, f, z = compact.groups()
        cell = f"{y}-{m}-{d}T{h}:{mi}:{s or '00'}.{f or '0'}{z}"
    if minutes := _MINUTES.match(cell):
        mi, s, f = minutes.groups()
        cell = f"{int(mi) // 60}:{int(mi) % 60:02d}:{s}.{f}"
    for form in _FORMS:
        if match := form.match(f" {cell}" if "only" in form.groupindex else cell):
            return match
    raise UnreadableData(
        f"Row {lines[k]}, {title}: '{shown(cell)}' is not a time stamp.",
        "Write time stamps like 2024-01-31T12:00:00Z.",
    )


def _are_minutes(clocks: Sequence[re.Match[str]], title: str, notes: Notes) -> bool:
    """Return whether `12:34` are minutes and seconds: by the name, or where no day has so many."""
    if not clocks or any(match["s"] or match["half"] for match in clocks):
        return False
    name = bare(title)
    if "mm:ss" in title.lower() or "min_s" in name or max(int(match["h"]) for match in clocks) > 24:
        notes.assume(f"{title} holds minutes and seconds")
        return True
    if int(clocks[0]["h"]) == 0 and int(clocks[0]["mi"]) <= 1:
        notes.warn(
            "clock-assumed",
            f"{title} was read as hours and minutes. If it holds minutes and seconds, write "
            "0:12:34, or call the column 'time (mm:ss)'.",
        )
    return False


def _ticks(match: re.Match[str], order: Order) -> int:
    found = match.groupdict()
    days = 0
    if "only" not in found:
        if "mark" in found:
            places = dict(zip(order, (found["p"], found["q"], found["y"]), strict=True))
            year, month, day = places["y"], places["m"], places["d"]
        else:
            year, day = found["y"], found["d"]
            month = found["m"] if "m" in found else str(month_of(found["word"]) or 0)
        century = (2000 if int(year) < PIVOT else 1900) if len(year) <= 2 else 0
        days = date(int(year) + century, int(month), int(day)).toordinal() - _EPOCH
    hour, minute, second = int(found["h"] or 0), int(found["mi"] or 0), int(found["s"] or 0)
    if found["half"]:
        hour = hour % 12 + (12 if found["half"].lower() == "pm" else 0)
    if minute > 59 or second > 60 or ("only" not in found and hour > 24):
        raise ValueError
    fraction = int((found["f"] or "0")[:6].ljust(6, "0"))
    of_day = hour * _HOUR + (minute * 60 + second) * _SECOND + fraction
    return days * _DAY + of_day - (_offset(found["zone"] or "") or 0)


def _order_of(matches: Sequence[re.Match[str] | None], title: str, notes: Notes) -> Order:
    """Return the order of day, month and year in dates such as 30/01/2020 and 01/30/20."""
    present = [match for match in matches if match is not None]
    if all(len(match["y"]) == 2 for match in present):
        notes.assume(f"the years of {title} are written with two digits")
        n_first, n_last = (len({match[key] for match in present}) for key in ("p", "y"))
        # The year changes least.
        if n_first < n_last or max(int(match["p"]) for match in present) > 31:
            notes.assume(f"the dates of {title} are written year, month, day")
            return "ymd"
    elif any(len(match["y"]) == 2 for match in present):
        detail = f"The years of {title} are written with two and with four digits."
        raise UnreadableData(detail, "Write all time stamps in one format: 2024-01-31T12:00:00Z.")
    return "dmy" if _is_day_first(present, title, notes) else "mdy"


def _is_day_first(present: Sequence[re.Match[str]], title: str, notes: Notes) -> bool:
    """Return whether day precedes month: by a number above 12, the order of the rows, or custom."""
    first = max(int(match["p"]) for match in present)
    second = max(int(match["q"]) for match in present)
    if first > 12 and second > 12:
        detail = f"The dates of {title} are neither all day/month/year nor all month/day/year."
        raise UnreadableData(detail)
    if first > 12 or second > 12:
        order = "day before month" if first > 12 else "month before day"
        notes.assume(f"the dates of {title} are written {order}: other numbers exceed 12")
        return first > 12
    by_day = _disorder([_ticks(match, "dmy") for match in present])
    by_month = _disorder([_ticks(match, "mdy") for match in present])
    if by_day != by_month:
        day_first = by_day < by_month
        order = "day before month" if day_first else "month before day"
        notes.assume(f"the dates of {title} are written {order}: so they increase evenly")
        return day_first
    day_first = present[0]["mark"] != "/"
    order = "day before month" if day_first else "month before day"
    notes.warn(
        "date-order-assumed",
        f"The dates of {title} do not say which number is the month; {order} was assumed. "
        "Write 2024-01-31.",
    )
    return day_first


def _disorder(ticks: Sequence[int]) -> tuple[int, int]:
    """Count the steps back in time, and the different steps."""
    steps = [b - a for a, b in pairwise(ticks)]
    return sum(step < 0 for step in steps), len(set(steps))


def _past_midnight(ticks: Integers, title: str, notes: Notes) -> Integers:
    """Add a day wherever times of day fall by more than half a day, which is midnight."""
    present = ticks != NOT_A_TIME
    steps = np.diff(ticks[present], prepend=ticks[present][:1])
    if (passed := steps < -_DAY // 2).any():
        ticks = ticks.copy()
        ticks[present] += np.cumsum(passed) * _DAY
        notes.assume(f"{title} passes midnight {int(passed.sum())} times")
    return ticks


def _clock_set_back(ticks: Integers, title: str, notes: Notes) -> Integers:
    """Add an hour wherever local times repeat one hour: the end of daylight saving time."""
    present = ticks != NOT_A_TIME
    steps = np.diff(ticks[present], prepend=ticks[present][:1])
    back = steps < 0
    usual = float(np.median(steps[1:])) if len(steps) > 2 else 0.0
    if not back.any() or not 0 < usual < _HOUR / 2 or back.sum() > 20:
        return ticks
    if np.any(np.abs(steps[back] + _HOUR - usual) > usual / 2):
        return ticks
    ticks = ticks.copy()
    ticks[present] += np.cumsum(back) * _HOUR
    notes.warn(
        "daylight-saving-assumed",
        f"The time stamps of {title} fall back by one hour {int(back.sum())} times; this was taken "
        "as the end of daylight saving time. Give time stamps with a UTC offset.",
    )
    return ticks
