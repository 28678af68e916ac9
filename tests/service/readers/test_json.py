"""JSON: the shapes in which people send numbers."""

import json
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

X = [0.5, 1.25, -0.75, 2.0, 1.5]

Reads = Callable[..., Any]


def test_the_shape_of_inline_data(read_data: Reads) -> None:
    found = read_data(json.dumps({"dt": 0.1, "trajectories": [X, X[:3]]}))
    assert found.report.format == "json"
    assert found.segments.tolist() == [[0, 5, 0], [5, 8, 1]]
    assert found.report.dt.median == pytest.approx(0.1)


def test_times_of_each_trajectory(read_data: Reads) -> None:
    found = read_data(
        json.dumps({"times": [[10, 11, 12, 13, 15], [10, 11, 12]], "trajectories": [X, X[:3]]})
    )
    assert found.times.tolist() == [0, 1, 2, 3, 5, 0, 1, 2]


def test_samples_of_several_variables(read_data: Reads) -> None:
    found = read_data(json.dumps({"dt": 1, "trajectories": [[[x, -x] for x in X]]}))
    assert np.array_equal(found.states, [[x, -x] for x in X])


def test_null_is_missing(read_data: Reads) -> None:
    found = read_data('{"dt": 1, "trajectories": [[1, 2, null, 4, 5]]}')
    assert (found.report.n_missing, found.report.n_segments) == (1, 2)
    assert found.times.tolist() == [0, 1, 3, 4]


def test_a_list_of_numbers(read_data: Reads) -> None:
    assert read_data(json.dumps(X), dt=0.5).states[:, 0].tolist() == X


def test_lists_of_different_lengths_are_trajectories(read_data: Reads) -> None:
    assert read_data(json.dumps([X, X[:3]]), dt=0.5).report.n_trajectories == 2


def test_row_objects(read_data: Reads) -> None:
    found = read_data(json.dumps([{"t": k, "x": x} for k, x in enumerate(X)]))
    assert found.states[:, 0].tolist() == X
    assert found.report.layout.time_column == "t"


def test_row_objects_with_calendar_stamps_and_names(read_data: Reads) -> None:
    rows = [
        {"cell": "ab"[k // 5], "time": f"2020-01-01T00:00:{k % 5:02d}Z", "x": X[k % 5]}
        for k in range(10)
    ]
    found = read_data(json.dumps(rows))
    assert (found.report.n_trajectories, found.report.dt.median, found.report.time_unit) == (
        2,
        1.0,
        "s",
    )


def test_columns(read_data: Reads) -> None:
    assert read_data(json.dumps({"t": list(range(5)), "x": X})).states[:, 0].tolist() == X


def test_a_data_frame_in_split_form(read_data: Reads) -> None:
    document = {
        "columns": ["t", "x"],
        "index": list(range(5)),
        "data": [[k, x] for k, x in enumerate(X)],
    }
    assert read_data(json.dumps(document)).states[:, 0].tolist() == X


@pytest.mark.parametrize(
    ("text", "word"),
    [
        ('{"dt": 1, "trajectories": [[1, "a", 3]]}', "#/trajectories/0/1 is not a number"),
        ('{"dt": 1, "trajectories": [[1, true, 3]]}', "#/trajectories/0/1 is not a number"),
        ('{"dt": 1, "trajectories": [[1, [2], 3]]}', "#/trajectories/0"),
        ('{"dt": 1, "trajectories": [[[1, 2], [3]]]}', "#/trajectories/0/1 has 1 values where 2"),
        ('{"dt": 1, "trajectories": []}', "trajectories"),
        ('{"dt": -1, "trajectories": [[1, 2]]}', "dt"),
        ('{"times": [[1, 2]], "trajectories": [[1, 2, 3]]}', "3 samples but 2 times"),
        ('{"times": [], "trajectories": [[1, 2, 3]]}', "times"),
        ('{"dt": 1, "trajectories": [[1, Infinity]]}', "infinite"),
        ("[1, 1e400, 2]", "infinite"),
        ("[1, " + "9" * 5000 + "]", "too many digits"),
        ("[1, 9007199254740993]", "2^53"),
        ('{"a": [1], "a": [2]}', "twice"),
        ("[" * 100_000, "nested"),
        ("[" * 100_000 + "]" * 100_000, "nested"),
        ('{"a": ', "line 1"),
        ("[]", "empty"),
        ("{}", "no list"),
        ('{"a": 1}', "no list"),
        ("[{}]", "members"),
        ('[{"x": 1}, 2]', "not a number"),
        ('"text"', "neither"),
    ],
)
def test_other_documents_are_refused_with_their_place(text: str, word: str, refused: Reads) -> None:
    refusal = refused(text, media_type="application/json")
    assert refusal.status == 422
    assert word in refusal.detail


def test_nan_is_not_json_and_refused_without_being_echoed(refused: Reads) -> None:
    error = refused('{"dt": 1, "trajectories": [[1, 2, NaN, 4, 5]]}')
    assert "not valid JSON" in str(error)
    assert "null" in " ".join(error.hints)
