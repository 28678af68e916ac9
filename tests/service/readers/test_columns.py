"""Roles of columns: time, trajectory, count of samples, state."""

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

N = 120
RNG = np.random.default_rng(5)
X, Y = (np.round(np.cumsum(RNG.normal(size=N)), 3) for _ in range(2))
T = [f"{0.5 * k:.1f}" for k in range(N)]

Reads = Callable[..., Any]


def rows(*columns: Any, header: str | None = None) -> str:
    lines = [",".join(map(str, row)) for row in zip(*columns, strict=True)]
    return "\n".join([header, *lines] if header else lines)


@pytest.mark.parametrize(
    "name",
    [
        "t",
        "Time",
        "time (s)",
        "t_ps",
        "Zeit [ms]",
        "elapsed",
        "timestamp",
        "t/s",
        "seconds",
        "t_years",
    ],
)
def test_time_is_known_by_its_name(name: str, read_data: Reads) -> None:
    found = read_data(rows(X, T, header=f"x,{name}"))
    assert found.report.layout.time_column == name
    assert found.report.dt.median == 0.5


@pytest.mark.parametrize(
    ("name", "unit"),
    [
        ("t_ps", "ps"),
        ("time (s)", "s"),
        ("Zeit [ms]", "ms"),
        ("t_years", "year"),
        ("t/h", "h"),
        ("seconds", "s"),
        ("t", None),
    ],
)
def test_the_unit_of_time_is_read_off_its_name(
    name: str, unit: str | None, read_data: Reads
) -> None:
    assert read_data(rows(T, X, header=f"{name},x")).report.time_unit == unit


@pytest.mark.parametrize(
    ("name", "unit"),
    [
        ("x_um", "um"),
        ("v [mV]", "mV"),
        ("phi_deg", "deg"),
        ("dev_mHz", "mHz"),
        ("force/pN", "pN"),
        ("x_a", None),
    ],
)
def test_the_unit_of_the_state_is_read_off_its_name(
    name: str, unit: str | None, read_data: Reads
) -> None:
    variable = read_data(rows(T, X, header=f"t,{name}")).report.variables[0]
    assert (variable.name, variable.column, variable.unit) == ("x", name, unit)


def test_without_a_header_the_rising_column_is_time(read_data: Reads) -> None:
    found = read_data(rows(X, T))
    assert np.array_equal(found.states[:, 0], X)
    assert found.report.layout.time_column == "2"


def test_two_wandering_columns_are_both_state(read_data: Reads) -> None:
    found = read_data(rows(X, Y))
    assert np.array_equal(found.states, np.column_stack([X, Y]))
    assert [variable.name for variable in found.report.variables] == ["x", "y"]
    assert found.codes == {"no-time-axis"}


def test_a_decaying_state_is_not_taken_for_time(read_data: Reads) -> None:
    decay = np.round(np.exp(-0.05 * np.arange(N)), 9)
    assert np.array_equal(read_data(rows(T, decay)).states[:, 0], decay)


def test_a_growing_state_is_not_taken_for_time(read_data: Reads) -> None:
    growth = np.round(np.exp(0.05 * np.arange(N)), 9)
    assert np.array_equal(read_data(rows(growth, T)).states[:, 0], growth)


@pytest.mark.parametrize("name", ["id", "track", "particle_id", "Trajectory", "cell", "animal"])
def test_trajectories_are_told_apart_by_a_named_column(name: str, read_data: Reads) -> None:
    found = read_data(rows([k // 40 for k in range(N)], T[:40] * 3, X, header=f"{name},t,x"))
    assert found.segments.tolist() == [[0, 40, 0], [40, 80, 1], [80, 120, 2]]
    assert found.report.n_increments == N - 3
    assert found.report.lengths.median == 40


def test_words_tell_trajectories_apart(read_data: Reads) -> None:
    found = read_data(
        rows(
            [("Cilla", "Gabs", "Toni")[k // 40] for k in range(N)],
            T[:40] * 3,
            X,
            header="buffalo,t,x",
        )
    )
    assert found.report.n_trajectories == 3
    assert "identifies the trajectories" in found.said


def test_whole_numbers_that_change_where_time_restarts_tell_trajectories_apart(
    read_data: Reads,
) -> None:
    found = read_data(rows([k // 40 for k in range(N)], T[:40] * 3, X))
    assert (
        found.report.n_trajectories,
        found.report.layout.id_column,
        found.report.layout.time_column,
    ) == (3, "1", "2")


def test_interleaved_trajectories_are_gathered(read_data: Reads) -> None:
    found = read_data(
        rows([k // 2 for k in range(N)], [k % 2 for k in range(N)], X, header="frame,particle,x"),
        dt=0.1,
    )
    assert np.array_equal(found.states[:60, 0], X[::2])
    assert np.array_equal(found.states[60:, 0], X[1::2])
    assert found.codes == set()


def test_a_constant_identity_is_one_trajectory(read_data: Reads) -> None:
    assert read_data(rows([7] * N, T, X, header="particle_id,t,x")).report.n_trajectories == 1


def test_the_layout_decides_over_every_guess(read_data: Reads) -> None:
    found = read_data(rows(T, X, Y, header="a,t,b"), time_column="a", state_columns=("b", "t"))
    assert np.array_equal(found.states, np.column_stack([Y, X]))
    assert found.report.layout.state_columns == ("b", "t")


def test_columns_may_be_named_by_number(read_data: Reads) -> None:
    found = read_data(
        rows(X, [k // 60 for k in range(N)], T[:60] * 2),
        time_column="3",
        id_column="2",
        state_columns=("1",),
    )
    assert found.report.n_trajectories == 2
    assert np.array_equal(found.states[:, 0], X)


@pytest.mark.parametrize("field", ["time_column", "id_column"])
def test_a_column_that_is_not_there_is_refused_with_the_ones_that_are(
    field: str, refused: Reads
) -> None:
    refusal = refused(rows(T, X, header="t,x"), **{field: "voltage"})
    assert refusal.status == 422
    assert refusal.errors[0].pointer == f"#/layout/{field}"
    assert "1 ('t'), 2 ('x')" in refusal.detail


def test_words_in_a_column_that_is_not_wanted_do_no_harm(read_data: Reads) -> None:
    notes = ["ok"] * N
    found = read_data(rows(T, X, notes, header="t,x,note"))
    assert np.array_equal(found.states[:, 0], X)
    assert "same text in every row" in found.said


def test_a_bad_cell_outside_the_named_columns_does_no_harm(
    read_data: Reads, refused: Reads
) -> None:
    other = [1.5] * 60 + ["broken"] + [1.5] * 59
    text = rows(T, X, other, header="t,x,y")
    assert np.array_equal(read_data(text, state_columns=("x",)).states[:, 0], X)
    assert "Row 62, column 3 ('y'): 'broken' is not a number" in refused(text).detail


def test_one_constant_column_among_others_is_left_out_with_a_warning(read_data: Reads) -> None:
    text = rows(T, X, [7.0] * N, header="t,x,y")
    found = read_data(text)
    assert np.array_equal(found.states[:, 0], X)
    assert found.states.shape == (N, 1)
    assert found.codes == {"constant-column"}
    assert read_data(text, state_columns=("x", "y")).states.shape == (N, 2)


def test_an_index_column_without_a_name_is_left_out(read_data: Reads) -> None:
    found = read_data(rows(range(N), T, X, header=",t,x"))
    assert [variable.column for variable in found.report.variables] == ["x"]


def test_wide_rows_without_names_are_trajectories_with_a_warning(read_data: Reads) -> None:
    matrix = np.round(np.cumsum(RNG.normal(size=(8, 50)), axis=1), 3)
    found = read_data("\n".join(" ".join(map(str, row)) for row in matrix))
    assert "orientation-assumed" in found.codes
    assert found.report.n_trajectories == 8
    assert found.report.layout.orientation == "rows"
    assert np.array_equal(found.states[:, 0], matrix.ravel())


def test_rows_padded_with_nan_or_cut_short_are_shorter_trajectories(read_data: Reads) -> None:
    matrix = np.round(np.cumsum(RNG.normal(size=(6, 30)), axis=1), 3)
    for filler in ([*["NaN"] * 5], []):
        lines = [
            " ".join([*map(str, row[:25]), *filler]) if k % 2 else " ".join(map(str, row))
            for k, row in enumerate(matrix)
        ]
        found = read_data("\n".join(lines), orientation="rows", dt=0.1)
        assert found.report.n_missing == 0
        assert found.codes == set()
        assert (found.report.lengths.min, found.report.lengths.max) == (25, 30)


def test_a_hole_inside_a_row_is_missing(read_data: Reads) -> None:
    found = read_data("1 2 NaN 4 5 NaN\n2 3 4 5 6 7\n", orientation="rows", dt=1.0)
    assert found.report.n_missing == 1
    assert found.segments.tolist() == [[0, 2, 0], [2, 4, 0], [4, 10, 1]]
    assert found.times.tolist() == [0, 1, 3, 4, 0, 1, 2, 3, 4, 5]


def test_many_columns_of_paths_side_by_side_are_not_guessed_at(refused: Reads) -> None:
    matrix = np.round(np.cumsum(RNG.normal(size=(300, 30)), axis=0), 3)
    refusal = refused("\n".join(" ".join(map(str, row)) for row in matrix))
    assert any("orientation=rows" in hint for hint in refusal.hints)


def test_too_many_state_columns_are_refused_by_their_number(refused: Reads) -> None:
    matrix = np.round(RNG.normal(size=(30, 70)), 3)
    refusal = refused(
        "\n".join(
            [",".join(f"v{k}x" for k in range(70)), *(",".join(map(str, row)) for row in matrix)]
        )
    )
    assert "70 state columns" in refusal.detail


@pytest.mark.parametrize("count", [2, 20, 100])
@pytest.mark.parametrize("clock", [False, True])
@pytest.mark.parametrize("header", [False, True])
def test_axes_say_that_columns_are_trajectories(
    read_data: Reads, count: int, clock: bool, header: bool
) -> None:
    """A ring of 39 columns had no layout that read it, and `axes` was ignored for text."""
    paths = np.round(np.cumsum(np.random.default_rng(count).normal(size=(count, N)), axis=1), 3)
    names = ["time"] * clock + [f"{'abcdefghij'[k % 10]}{k}" for k in range(count)]
    text = rows(*([T] if clock else []), *paths, header=",".join(names) if header else None)
    found = read_data(text, axes="tn")
    assert found.report.n_trajectories == count
    assert len(found.report.variables) == 1
    assert np.array_equal(found.states[:, 0], paths.ravel())
    assert found.report.layout.axes == "tn"
    assert "orientation-assumed" not in found.codes
    # Negative control: read as `td` they are variables, and as `nt` each row is a trajectory.
    if count == 2:
        assert len(read_data(text, axes="td").report.variables) == count
    if not clock and not header:
        assert read_data(text, axes="nt").report.n_trajectories == N


def test_axes_that_a_table_cannot_have_are_refused(refused: Callable[..., Any]) -> None:
    found = refused(rows(X, Y), axes="ntd")
    assert "a table has rows and columns" in found.detail
    assert "axes=tn" in found.hints[0]
