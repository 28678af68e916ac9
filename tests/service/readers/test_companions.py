"""Columns beside the states: groups, inputs and errors of the samples, and trajectories' names."""

import io
import zipfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from service.readers.errors import UnreadableData

TABLE = """t,cell,condition,voltage,x,precision
0,a,control,1,0.1,0.01
1,a,control,2,0.2,0.01
2,a,control,2,0.15,0.02
0,b,drug,1,0.5,0.01
1,b,drug,1,0.4,0.01
2,b,drug,,0.45,0.01
3,b,drug,1,0.48,0.01
4,b,drug,1,0.41,0.01
"""
ALL = {
    "group_column": "condition",
    "input_columns": ["voltage"],
    "error_columns": ["precision"],
}

Reader = Callable[..., Any]


def test_each_column_has_its_role_and_a_sample_without_input_is_missing(
    read_data: Reader,
) -> None:
    found = read_data(TABLE, **ALL)
    report = found.report
    assert [variable.symbol for variable in report.variables] == ["x"]
    assert [(u.name, u.symbol) for u in report.inputs] == [("u", "voltage")]
    assert report.groups == {"control": 1, "drug": 1}
    assert report.errors == (0.01,)
    roles = {column.key: column.role for column in report.columns}
    assert roles == {
        "t": "time",
        "cell": "identity",
        "condition": "group",
        "voltage": "input",
        "x": "state",
        "precision": "error",
    }
    # The row without a voltage parts the record of b.
    assert found.segments.tolist() == [[0, 3, 0], [3, 5, 1], [5, 7, 1]]
    assert found.inputs.ravel().tolist() == [1, 2, 2, 1, 1, 1, 1]
    assert found.errors.ravel().tolist() == [0.01, 0.01, 0.02] + [0.01] * 4
    assert found.words == {"names": ["a", "b"], "groups": ["control", "drug"]}
    # The resolved layout reads the same again.
    again = read_data(TABLE, **report.layout.model_dump(exclude_none=True, exclude={"dt"}))
    assert (again.report.inputs, again.report.groups) == (report.inputs, report.groups)
    assert np.array_equal(again.errors, found.errors)


def test_groups_are_trajectories_where_nothing_else_tells_these_apart(
    read_data: Reader,
) -> None:
    found = read_data(TABLE, group_column="condition", id_column="none", state_columns=["x"])
    assert found.report.n_trajectories == 2
    assert found.words == {"names": ["control", "drug"], "groups": ["control", "drug"]}


@pytest.mark.parametrize(
    ("layout", "said"),
    [
        ({"group_column": "t", "id_column": "cell"}, "changes within a trajectory: row 2 says '0'"),
        ({"group_column": "voltage", "state_columns": ["voltage"]}, "is named twice"),
        ({"input_columns": ["voltage", "voltage"]}, "is named twice"),
        ({"input_columns": ["condition"]}, "does not hold numbers"),
        ({"error_columns": ["precision", "voltage"]}, "2 columns of errors for 1 state columns"),
        ({"group_column": "nothing"}, "nothing"),
    ],
)
def test_what_cannot_be_is_refused_with_the_column(
    layout: dict[str, Any], said: str, read_data: Reader
) -> None:
    chosen = {"state_columns": ["x"], **layout}
    with pytest.raises(UnreadableData, match=said) as caught:
        read_data(TABLE, **chosen)
    assert caught.value.code == "layout-mismatch"


def test_negative_errors_are_refused_with_their_row(read_data: Reader) -> None:
    wrong = TABLE.replace("0.15,0.02", "0.15,-0.02")
    with pytest.raises(UnreadableData, match=r"row 4 is negative: -0\.02"):
        read_data(wrong, **ALL)


def test_a_column_without_any_error_is_refused(read_data: Reader) -> None:
    without = "t,x,e\n0,0.1,\n1,0.2,\n2,0.3,\n"
    with pytest.raises(UnreadableData, match=r"'e'\) is to hold standard errors, and has none"):
        read_data(without, state_columns=["x"], error_columns=["e"])


def test_rows_without_a_group_are_left_out_and_said(read_data: Reader) -> None:
    without = TABLE.replace("2,b,drug,,0.45,0.01", "2,b,,1,0.45,0.01")
    report = read_data(without, group_column="condition", state_columns=["x"]).report
    (warning,) = (w for w in report.warnings if w.code == "rows-without-group")
    assert "1 rows have no value in column 3 ('condition'), first row 7" in warning.message
    assert report.n_samples == 7


def test_arrays_have_no_such_columns(read_data: Reader, tmp_path: Path) -> None:
    np.save(tmp_path / "a.npy", np.random.default_rng(0).normal(size=(3, 50, 2)))
    with pytest.raises(UnreadableData, match="input_columns names columns, but the data are no"):
        read_data(tmp_path / "a.npy", input_columns=["1"])


def test_files_name_their_trajectories_and_folders_their_groups(
    read_data: Reader, tmp_path: Path
) -> None:
    def table(seed: int) -> str:
        x = np.random.default_rng(seed).normal(size=20).tolist()
        return "t,x\n" + "\n".join(f"{i},{v}" for i, v in enumerate(x))

    archive = io.BytesIO()
    with zipfile.ZipFile(archive, "w") as file:
        for seed, name in enumerate(("control/1.csv", "control/2.csv", "drug/1.csv")):
            file.writestr(name, table(seed))
    (tmp_path / "all.zip").write_bytes(archive.getvalue())
    found = read_data(tmp_path / "all.zip")
    assert found.report.groups == {"control": 2, "drug": 1}
    assert found.words["names"] == ["control/1", "control/2", "drug/1"]
    assert "each folder of the archive is a group of trajectories" in found.report.assumptions
