"""What a report says of every column: its role, why, its first values, and angles among them."""

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from contract.datasets import DatasetReport
from service.readers.errors import UnreadableData
from tests.service.readers.test_roles import STEPS, TRACKMATE, TRACKPY, WALK, table

Reads = Callable[..., Any]
RNG = np.random.default_rng(5)
TIMES = np.round(0.1 * np.arange(len(WALK)), 1)
RIG = table("t (s),Position (µm),temperature,se", TIMES, WALK, WALK[::-1], np.abs(WALK))


def roles(report: DatasetReport) -> dict[str | None, str]:
    return {column.column: column.role for column in report.columns}


def reasons(report: DatasetReport) -> dict[str | None, str | None]:
    return {column.column: column.reason for column in report.columns}


def test_every_column_has_its_role_a_reason_unit_and_first_values(read_data: Reads) -> None:
    report = read_data(RIG).report
    assert roles(report) == {
        "t (s)": "time",
        "Position (µm)": "state",
        "temperature": "state",
        "se": "error",
    }
    time, position, *_ = report.columns
    assert (time.number, time.key, time.unit, time.type) == (1, "t (s)", "s", "number")
    assert (time.reason, time.values) == ("is time by its name", ("0", "0.1", "0.2", "0.3"))
    assert position.unit == "µm"
    assert [float(value) for value in position.values] == WALK[:4].tolist()
    assert "error" in str(reasons(report)["se"])


def test_a_role_that_the_layout_gives_has_no_reason(read_data: Reads) -> None:
    report = read_data(RIG, state_columns=["2"], ignored_columns=["temperature"]).report
    assert reasons(report)["Position (µm)"] is None
    assert (roles(report)["temperature"], reasons(report)["temperature"]) == ("ignored", None)
    assert roles(report)["se"] == "ignored"
    assert reasons(report)["se"] == "is not among the columns that the layout names"
    assert report.layout.ignored_columns == ("temperature",)


def test_an_ignored_column_is_neither_time_nor_identity_nor_state(read_data: Reads) -> None:
    found = read_data(RIG, ignored_columns=["t (s)", "4"], dt=0.5)
    assert roles(found.report) == {
        "t (s)": "ignored",
        "Position (µm)": "state",
        "temperature": "state",
        "se": "ignored",
    }
    assert found.report.dt.source == "given"
    alone = read_data(TRACKPY, ignored_columns=["particle", "frame"], state_columns=["x"], dt=1)
    assert roles(alone.report)["particle"] == "ignored"


def test_what_cannot_be_ignored_is_said(refused: Callable[..., UnreadableData]) -> None:
    none = refused(RIG, ignored_columns=["humidity"])
    assert none.code == "layout-mismatch"
    assert "ignored_columns names 'humidity'" in none.detail
    both = refused(RIG, ignored_columns=["temperature"], state_columns=["temperature"])
    assert both.code == "layout-mismatch"
    assert "every column" in refused(RIG, ignored_columns=["1", "2", "3", "4"]).detail


def test_trackers_tables(read_data: Reads) -> None:
    found = roles(read_data(TRACKPY).report)
    assert found["particle"] == "identity"
    assert found["frame"] == "time"
    assert (found["x"], found["y"], found["mass"]) == ("state", "state", "ignored")
    assert roles(read_data(TRACKMATE).report)["QUALITY"] == "error"


def test_parts_of_a_date_are_time_and_words_are_ignored(read_data: Reads) -> None:
    n = len(WALK)
    text = table(
        "year,month,day,station,flow",
        *(np.full(n, 2020), 1 + (np.arange(n) // 28) % 12, 1 + np.arange(n) % 28),
        *(np.where(np.arange(n) % 3, "A", "B"), WALK),
    )
    found = read_data(text).report
    assert [column.role for column in found.columns] == [*["time"] * 3, "ignored", "state"]
    assert {column.reason for column in found.columns[:3]} == {"a part of the date"}
    assert found.columns[3].type == "text"
    assert found.columns[3].values == ("B", "A", "A", "B")


def test_stamps_are_shown_as_dates(read_data: Reads) -> None:
    stamps = [f"2024-03-01 12:{k // 60:02d}:{k % 60:02d}.5" for k in range(len(WALK))]
    (time, _) = read_data(table("when,x", stamps, WALK)).report.columns
    assert (time.type, time.role) == ("time stamp", "time")
    assert time.values[0] == "2024-03-01T12:00:00.500"


def test_columns_without_a_name_of_their_own_are_called_by_their_number(read_data: Reads) -> None:
    twice = read_data(table("t,x,x", TIMES, WALK, WALK[::-1])).report
    assert [column.key for column in twice.columns] == ["t", "2", "3"]
    nameless = read_data("\n".join(f"{t} {x}" for t, x in zip(TIMES, WALK, strict=True))).report
    assert [column.key for column in nameless.columns] == ["1", "2"]


def test_what_is_no_table_of_samples_has_no_columns(read_data: Reads) -> None:
    rows = "\n".join(",".join(map(str, STEPS[:, k, 0])) for k in range(6))
    assert read_data(rows).report.columns == ()


@pytest.mark.parametrize(
    ("header", "turn", "centred"),
    [
        ("angle_deg", 360.0, True),
        ("heading [°]", 360.0, False),
        ("phi (rad)", 2 * np.pi, True),
        ("theta", 2 * np.pi, False),
        ("phase", 360.0, True),
        ("x", 360.0, True),
        ("x", 2 * np.pi, False),
        ("progress (turns)", 1.0, False),
    ],
)
def test_an_angle_is_offered_its_period(
    read_data: Reads, header: str, turn: float, centred: bool
) -> None:
    path = np.cumsum(RNG.normal(0.02, 0.02, 3000)) * turn
    wrapped = path % turn - (turn / 2 if centred else 0)
    report = read_data(table(f"t,{header}", *(np.arange(3000), np.round(wrapped, 6)))).report
    assert report.likely_periods == {"x": pytest.approx(turn)}


@pytest.mark.parametrize(
    ("header", "values"),
    [
        ("x", RNG.uniform(-180, 180, 2000)),
        ("x", np.cumsum(RNG.normal(size=2000))),
        ("x", 3.1 * np.tanh(np.cumsum(RNG.normal(size=2000)))),
        ("angle_deg", 2000 * np.cumsum(RNG.normal(size=2000))),
        ("angle_deg", RNG.normal(0, 5, 2000)),
        ("T (degC)", 20 + RNG.normal(0, 5, 2000)),
    ],
)
def test_other_variables_are_no_angles(read_data: Reads, header: str, values: Any) -> None:
    report = read_data(table(f"t,{header}", np.arange(2000), np.round(values, 6))).report
    assert report.likely_periods == {}


def test_a_column_that_is_left_out_is_described_and_its_cells_hinder_nobody(
    read_data: Reads,
) -> None:
    spoilt = RIG.replace(f",{WALK[-1]},", ",oops,", 1)
    report = read_data(spoilt, ignored_columns=["temperature"]).report
    assert roles(report)["temperature"] == "ignored"
    report = read_data(RIG, state_columns=["Position"]).report
    assert [column.number for column in report.columns] == [1, 2, 3, 4]
    temperature = report.columns[2]
    assert (temperature.type, temperature.role) == ("number", "ignored")
    assert [float(value) for value in temperature.values] == WALK[::-1][:4].tolist()


def test_a_time_of_day_beside_its_date_is_time(read_data: Reads) -> None:
    clock = [f"{k // 60:02d}:{k % 60:02d}:00" for k in range(len(WALK))]
    report = read_data(table("date,clock,x", ["2024-03-01"] * len(WALK), clock, WALK)).report
    assert [column.role for column in report.columns] == ["time", "time", "state"]
