"""Calendar time stamps: order of day and month, offsets, units."""

from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from typing import Any
from zoneinfo import ZoneInfo

import numpy as np
import pytest

PATH = np.round(np.cumsum(np.random.default_rng(4).normal(size=200)), 3)
START = datetime(2019, 10, 27, 0, 0, tzinfo=UTC) - timedelta(hours=1)

Reads = Callable[..., Any]


def series(
    form: Callable[[datetime], str],
    step: timedelta = timedelta(minutes=2),
    n: int = 200,
    start: datetime = START,
) -> str:
    return "\n".join(["time;x", *(f"{form(start + k * step)};{PATH[k]}" for k in range(n))])


@pytest.mark.parametrize(
    "form",
    [
        "%Y-%m-%dT%H:%M:%SZ",
        "%Y-%m-%d %H:%M:%S",
        "%Y/%m/%d %H:%M",
        "%Y%m%dT%H%M%S",
        "%d.%m.%Y %H:%M",
        "%m/%d/%Y %I:%M:%S %p",
        "%d-%b-%Y %H:%M:%S",
        "%Y-%m-%dT%H:%M:%S.%f",
        "%Y-%m-%dT%H:%M:%S+02:00",
    ],
)
def test_every_common_form_is_read(form: str, read_data: Reads) -> None:
    found = read_data(series(lambda moment: moment.strftime(form)))
    assert found.times.tolist() == [120.0 * k for k in range(200)]
    assert found.report.time_unit == "s"
    assert found.codes == set()


def test_offsets_carry_through_the_end_of_daylight_saving(read_data: Reads) -> None:
    berlin = ZoneInfo("Europe/Berlin")
    found = read_data(series(lambda moment: moment.astimezone(berlin).isoformat()))
    assert found.times.tolist() == [120.0 * k for k in range(200)]
    assert found.codes == set()


def test_local_times_that_repeat_an_hour_are_taken_apart_with_a_warning(read_data: Reads) -> None:
    berlin = ZoneInfo("Europe/Berlin")
    found = read_data(
        series(lambda moment: moment.astimezone(berlin).strftime("%Y-%m-%d %H:%M:%S"))
    )
    assert found.times.tolist() == [120.0 * k for k in range(200)]
    assert found.codes == {"daylight-saving-assumed"}


@pytest.mark.parametrize(
    ("form", "said"), [("%m/%d/%Y", "month before day"), ("%d/%m/%Y", "day before month")]
)
def test_a_number_above_twelve_settles_the_order_of_day_and_month(
    form: str, said: str, read_data: Reads
) -> None:
    found = read_data(series(lambda moment: moment.strftime(form), timedelta(days=1)))
    assert found.report.dt.median == 1.0
    assert found.report.n_gaps == 0
    assert said in found.said


def test_the_order_of_rows_settles_it_otherwise(read_data: Reads) -> None:
    start = datetime(2020, 1, 10)
    found = read_data(
        series(lambda moment: moment.strftime("%d/%m/%Y"), timedelta(days=1), 3, start)
    )
    assert found.times.tolist() == [0.0, 1.0, 2.0]
    assert "so they increase evenly" in found.said


def test_dates_that_fit_neither_order_are_refused(refused: Reads) -> None:
    refusal = refused("d,x\n13/01/2020,1\n01/13/2020,2\n02/02/2020,3\n")
    assert "neither" in refusal.detail


@pytest.mark.parametrize(
    ("unit", "step"),
    [
        ("min", 2.0),
        ("h", 1 / 30),
        ("day", 1 / 720),
        ("year", 120 / (365.25 * 86400)),
        ("seconds", 120.0),
    ],
)
def test_time_unit_converts_calendar_stamps(unit: str, step: float, read_data: Reads) -> None:
    found = read_data(series(lambda moment: moment.isoformat()), time_unit=unit)
    assert found.report.dt.median == pytest.approx(step, rel=1e-9)


def test_an_unknown_time_unit_is_refused_where_conversion_is_needed(refused: Reads) -> None:
    refusal = refused(series(lambda moment: moment.isoformat()), time_unit="fortnight")
    assert refusal.errors[0].pointer == "#/layout/time_unit"


def test_a_unit_of_numbers_is_a_label(read_data: Reads) -> None:
    found = read_data(
        "t,x\n" + "\n".join(f"{k},{x}" for k, x in enumerate(PATH)), time_unit="fortnight"
    )
    assert (found.report.time_unit, found.report.dt.median) == ("fortnight", 1.0)


def test_a_day_that_does_not_exist_is_named_with_its_row(refused: Reads) -> None:
    refusal = refused(
        series(lambda moment: moment.strftime("%Y-%m-%d"), timedelta(days=1)).replace(
            "2019-11-30", "2019-11-31"
        )
    )
    assert "Row 37, column 1 ('time')" in refusal.detail


def test_stamps_with_and_without_offset_are_not_mixed(refused: Reads) -> None:
    assert (
        "Row 3"
        in refused(
            "time,x\n2020-01-01T00:00:00Z,1\n2020-01-01T00:00:01,2\n2020-01-01T00:00:02Z,3\n"
        ).detail
    )


def test_times_of_day_pass_midnight(read_data: Reads) -> None:
    found = read_data(series(lambda moment: moment.strftime("%H:%M:%S"), timedelta(minutes=10)))
    assert found.times.tolist() == [600.0 * k for k in range(200)]


def test_date_and_time_of_day_may_be_two_columns_between_blanks(read_data: Reads) -> None:
    rows = [
        f"{(START + timedelta(seconds=k)).strftime('%Y-%m-%d %H:%M:%S')}  {x}"
        for k, x in enumerate(PATH)
    ]
    assert read_data("\n".join(rows)).times.tolist() == list(map(float, range(200)))


def test_a_missing_stamp_is_a_missing_sample(read_data: Reads) -> None:
    text = series(lambda moment: moment.strftime("%Y-%m-%dT%H:%M:%SZ")).split("\n")
    text[50] = ";" + text[50].partition(";")[2]
    found = read_data("\n".join(text))
    assert (found.report.n_missing, found.report.n_segments) == (1, 2)
