"""Names and units that a layout gives to the state variables, by column."""

import io
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from contract.datasets import DatasetReport
from service.readers.errors import UnreadableData
from tests.service.readers.test_described_columns import RIG, TIMES
from tests.service.readers.test_roles import WALK, table

Reads = Callable[..., Any]
Refuses = Callable[..., UnreadableData]


def words(report: DatasetReport) -> list[tuple[str, str | None, str | None]]:
    """Symbol, label and unit of every variable."""
    return [(v.symbol, v.label, v.unit) for v in report.variables]


def npy(array: np.ndarray) -> bytes:
    file = io.BytesIO()
    np.save(file, array)
    return file.getvalue()


def test_without_them_names_and_units_are_the_files(read_data: Reads) -> None:
    report = read_data(RIG).report
    assert words(report) == [("Position", "Position", "µm"), ("temperature", "temperature", None)]
    assert (report.layout.state_names, report.layout.state_unit) == (None, None)


def test_a_column_is_called_by_its_name_or_number(read_data: Reads) -> None:
    names, units = {"Position (µm)": "height", "3": "bath heat"}, {"2": "nm", "temperature": "K"}
    report = read_data(RIG, state_names=names, state_unit=units).report
    assert words(report) == [("height", "height", "nm"), ("bath_heat", "bath_heat", "K")]
    assert [v.column for v in report.variables] == ["Position (µm)", "temperature"]
    assert report.layout.state_names == {"Position (µm)": "height", "temperature": "bath_heat"}
    assert report.layout.state_unit == {"Position (µm)": "nm", "temperature": "K"}


def test_one_unit_is_that_of_all_and_none_is_none(read_data: Reads) -> None:
    assert [v.unit for v in read_data(RIG, state_unit="nm").report.variables] == ["nm", "nm"]
    bare = read_data(RIG, state_unit={"Position (µm)": "none"}).report
    assert [v.unit for v in bare.variables] == [None, None]
    assert bare.layout.state_unit == {"Position (µm)": "none"}


def test_names_are_exchanged(read_data: Reads) -> None:
    both = {"Position (µm)": "temperature", "temperature": "Position"}
    report = read_data(RIG, state_names=both).report
    assert [v.symbol for v in report.variables] == ["temperature", "Position"]


@pytest.mark.parametrize(
    ("array", "layout"),
    [
        (np.stack([WALK, WALK[::-1]], axis=-1), {"axes": "td"}),
        (np.stack([WALK, WALK[::-1]], axis=-1)[None], {"axes": "ntd"}),
    ],
)
def test_variables_of_an_array_are_numbered(
    read_data: Reads, array: np.ndarray, layout: dict[str, Any]
) -> None:
    given = {"state_names": {"2": "force"}, "state_unit": {"2": "pN"}, "dt": 0.1}
    report = read_data(npy(array), **layout, **given).report
    assert [(v.symbol, v.unit) for v in report.variables] == [("x", None), ("force", "pN")]
    assert report.layout.state_names == {"2": "force"}


def test_trajectories_side_by_side_are_one_variable(read_data: Reads, refused: Refuses) -> None:
    cells = table("t,cell 1,cell 2,cell 3", TIMES, WALK, WALK[::-1], WALK + 1)
    report = read_data(cells, state_names={"cell 2": "height"}, state_unit={"cell 1": "nm"}).report
    assert words(report) == [("height", "height", "nm")]
    assert report.layout.state_names == {"cell 1": "height"}
    rows = "\n".join(",".join(map(str, WALK[k : k + 40])) for k in range(6))
    assert words(read_data(rows, orientation="rows", state_names={"1": "v"}).report) == [
        ("v", "v", None)
    ]
    twice = refused(cells, state_names={"cell 1": "a", "cell 2": "b"})
    assert "one variable twice, as 'cell 1' and 'cell 2'" in twice.detail


@pytest.mark.parametrize(
    ("layout", "said", "key"),
    [
        ({"state_names": {"humidity": "h"}}, "names 'humidity', but the file has", "humidity"),
        ({"state_names": {"9": "h"}}, "names '9', but the file has", "9"),
        ({"state_unit": {"t (s)": "ms"}}, "column 1 ('t (s)'), which was not read", "t (s)"),
        ({"state_names": {"se": "e"}}, "column 4 ('se'), which was not read", "se"),
        (
            {"state_names": {"temperature": "h"}, "state_columns": ["2"]},
            "column 3 ('temperature'), which was not read as a state",
            "temperature",
        ),
        (
            {"state_names": {"2": "h", "3": "h"}},
            "that is the name of 'temperature'",
            "Position (µm)",
        ),
        (
            {"state_names": {"2": "temperature"}},
            "'Position (µm)' cannot be called temperature: that is the name of 'temperature'",
            "Position (µm)",
        ),
        ({"state_names": {"2": "y"}}, "the standard name of 'temperature'", "Position (µm)"),
        ({"state_names": {"2": "a", "Position (µm)": "b"}}, "one variable twice", "Position (µm)"),
    ],
)
def test_what_is_not_one_variables_name_is_refused_by_column_and_cause(
    refused: Refuses, layout: dict[str, Any], said: str, key: str
) -> None:
    refusal = refused(RIG, **layout)
    assert refusal.code == "layout-mismatch"
    assert said in refusal.detail
    assert refusal.errors[0].pointer == f"#/layout/{next(iter(layout))}/{key}"
    numbered = refused(npy(WALK[None, :, None]), axes="ntd", dt=1, state_names={"x": "v"})
    assert numbered.hints == ("Call the variables by their numbers: variable 1.",)


def test_reading_again_as_resolved_is_the_same(read_data: Reads) -> None:
    twice = table("t,x,x", TIMES, WALK, WALK[::-1])
    first = read_data(twice, state_names={"3": "right"}, state_unit={"2": "nm"}).report
    again = read_data(twice, **first.layout.model_dump(exclude_none=True)).report
    assert words(first) == words(again) == [("x", "x", "nm"), ("right", "right", None)]
    assert first.layout.state_columns == ("2", "3")
