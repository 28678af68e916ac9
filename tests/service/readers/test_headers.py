"""Headers that programs write: names in comments or in several rows, and rates above the data."""

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

RNG = np.random.default_rng(12)
X, Y = np.round(np.cumsum(RNG.normal(size=(2, 120)), axis=1), 3)

Reads = Callable[..., Any]


def table(header: str, *columns: Any, delimiter: str = ",") -> str:
    lines = (delimiter.join(map(str, row)) for row in zip(*columns, strict=True))
    return "\n".join([header, *lines])


def test_plumed_names_its_columns_above_its_settings(read_data: Reads) -> None:
    header = "#! FIELDS time d1 phi\n#! SET min_phi -pi\n#! SET max_phi pi"
    found = read_data(table(header, 0.5 * np.arange(120), X, Y, delimiter=" "))
    assert [variable.column for variable in found.report.variables] == ["d1", "phi"]
    assert found.report.layout.time_column == "time"


def test_deeplabcut_names_a_column_by_body_part_and_coordinate(read_data: Reads) -> None:
    header = (
        "scorer,net,net,net,net,net,net\nbodyparts,nose,nose,nose,tail,tail,tail\n"
        "coords,x,y,likelihood,x,y,likelihood"
    )
    sure = [f"0.9{k % 7}" for k in range(120)]
    text = table(header, range(120), X, Y, sure, Y[::-1], X[::-1], sure)
    found = read_data(text, dt=0.04)
    names = [variable.column for variable in found.report.variables]
    assert names == ["nose x", "nose y", "tail x", "tail y"]
    assert found.report.dt.median == 0.04


@pytest.mark.parametrize("end", ["", "\t"])
def test_labview_measurement_files_are_read_below_their_header(end: str, read_data: Reads) -> None:
    header = (
        "LabVIEW Measurement\t\nSeparator\tTab\nDate\t2020/01/30\n***End_of_Header***\t\n\t\n"
        "Channels\t1\t\nSamples\t120\t\nX0\t0.0E+0\t\nDelta_X\t0.001000\t\n"
        "***End_of_Header***\t\t\nX_Value\tVoltage\tComment"
    )
    times = [f"{0.001 * k:.6f}" for k in range(120)]
    ends = ["\t", *[end] * 119]
    rows = [f"{t}\t{x}{last}" for t, x, last in zip(times, X, ends, strict=True)]
    found = read_data("\n".join([header, *rows]))
    assert np.array_equal(found.states[:, 0], X)
    assert [variable.column for variable in found.report.variables] == ["Voltage"]
    assert found.report.dt.median == pytest.approx(0.001)


@pytest.mark.parametrize("mark", ['"#"', "#"])
def test_a_first_column_called_by_the_number_sign_is_no_comment(
    mark: str, read_data: Reads
) -> None:
    header = f'{mark},"Date Time, GMT+00:00","Temp, °C (LGR S/N: 1, SEN S/N: 1)"'
    days = [f"2020-01-{1 + k // 24:02d} {k % 24:02d}:00:00" for k in range(120)]
    found = read_data(table(header, range(1, 121), days, X))
    assert np.array_equal(found.states[:, 0], X)
    assert found.report.variables[0].unit == "°C"
    assert found.report.dt.median == 3600.0


@pytest.mark.parametrize(
    ("line", "dt"),
    [
        ("# fps: 10", 0.1),
        ("# frame rate = 25 Hz", 0.04),
        ("Sampling rate: 2 kHz", 0.0005),
        ("% fs = 100", 0.01),
        ("# recorded at 25 fps", 0.04),
        ("# sampling frequency (Hz): 50", 0.02),
    ],
)
def test_a_rate_above_the_data_is_the_sampling_interval(
    line: str, dt: float, read_data: Reads
) -> None:
    found = read_data(table(f"{line}\nu,w", X, Y))
    assert found.report.dt.median == pytest.approx(dt, rel=1e-12)
    assert found.report.time_unit == "s"
    assert read_data(table(f"{line}\nu,w", X, Y), dt=3.0).report.dt.median == 3.0


def test_of_two_comments_with_names_and_units_the_first_holds_the_names(read_data: Reads) -> None:
    header = "#YY MM DD hh WSPD\n#yr mo dy hr m/s"
    dates = [(2020, 1, 1 + k // 24, k % 24) for k in range(120)]
    found = read_data(table(header, *zip(*dates, strict=True), X, delimiter=" "))
    assert [variable.column for variable in found.report.variables] == ["WSPD"]
    assert found.report.dt.median == 3600.0
