"""NPY and NPZ: shapes, types of numbers, and sizes that are not the declared ones."""

import io
import struct
import zipfile
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from service.readers.options import Limits

RNG = np.random.default_rng(6)
X = np.cumsum(RNG.normal(size=100))
T = 0.1 * np.arange(100)

Reads = Callable[..., Any]


def npy(array: Any, **options: Any) -> bytes:
    file = io.BytesIO()
    np.save(file, np.asanyarray(array), **options)
    return file.getvalue()


def npz(**arrays: Any) -> bytes:
    file = io.BytesIO()
    np.savez_compressed(file, **arrays)
    return file.getvalue()


def claim(shape: str, payload: bytes = bytes(80)) -> bytes:
    header = (
        f"{{'descr': '<f8', 'fortran_order': False, 'shape': {shape}, }}".encode().ljust(117)
        + b"\n"
    )
    return b"\x93NUMPY\x01\x00" + struct.pack("<H", len(header)) + header + payload


@pytest.mark.parametrize(
    "kind", ["<f8", ">f8", "<f4", ">f4", "<f2", "<i4", ">i2", "<u8", "<i8", "longdouble"]
)
def test_real_number_types_become_doubles(kind: str, read_data: Reads) -> None:
    array = (10 * X).astype(kind)
    assert np.array_equal(read_data(npy(array), dt=0.1).states[:, 0], array.astype(float))


def test_booleans_are_zero_and_one(read_data: Reads) -> None:
    assert np.array_equal(
        read_data(npy(X.mean() < X), dt=0.1).states[:, 0], (X.mean() < X).astype(float)
    )


def test_counts_do_not_overflow(read_data: Reads) -> None:
    counts = (100_000 + np.round(X)).astype(np.int32)
    assert np.array_equal(
        read_data(npy(counts), dt=0.1).states[:, 0] ** 4, counts.astype(float) ** 4
    )


@pytest.mark.parametrize(
    "array",
    [
        X + 1j,
        np.array(["2020-01-01", "2020-01-02"], "M8[D]"),
        np.array(["a", "b"]),
        np.zeros(3, [("a", "f8")]),
        np.arange(3).astype("m8[s]"),
    ],
)
def test_other_types_are_refused(array: np.ndarray, refused: Reads) -> None:
    refusal = refused(npy(array))
    assert (refusal.status, refusal.code) == (422, "unreadable-data")
    assert "real numbers are needed" in refusal.detail


def test_object_arrays_are_never_unpickled(refused: Reads, tmp_path: Any) -> None:
    class Trap:
        def __reduce__(self) -> tuple[Any, ...]:
            return (open, (str(tmp_path / "sprung"), "w"))

    for data in (npy(np.array([Trap(), None]), allow_pickle=True), npz(x=np.array([Trap(), None]))):
        assert "Python objects" in refused(data).detail
    assert not (tmp_path / "sprung").exists()


def test_whole_numbers_beyond_exactness_are_refused(refused: Reads) -> None:
    assert "2^53" in refused(npy(np.array([2**60, 1, 2]))).detail


@pytest.mark.parametrize(
    ("data", "status"),
    [
        (claim("(1000000000000,)"), 413),
        (claim("(-10,)"), 422),
        (claim("(11,)"), 422),
        (claim("(9,)"), 422),
        (claim("(0,)", b""), 422),
        (claim("'x'"), 422),
        (claim("(" * 60), 422),
        (b"\x93NUMPY\x09\x00" + bytes(100), 422),
        (b"\x93NUMPY\x01\x00", 422),
        (npy(X)[:-3], 422),
        (npy(X) + b"more", 422),
    ],
)
def test_a_header_that_lies_is_caught_before_memory_is_taken(
    data: bytes, status: int, refused: Reads
) -> None:
    assert refused(data).status == status


def test_a_zip_bomb_is_refused_from_its_declared_sizes(refused: Reads) -> None:
    refusal = refused(
        npz(a=np.zeros(900_000), b=np.zeros(200_000)), limits=Limits(numbers=1_000_000)
    )
    assert (refusal.status, refusal.code) == (413, "too-large-data")


def test_zip_archives_of_other_things_are_refused(refused: Reads) -> None:
    file = io.BytesIO()
    with zipfile.ZipFile(file, "w") as archive:
        archive.writestr("xl/workbook.xml", "<workbook/>")
    assert "Excel" in refused(file.getvalue()).detail
    assert "damaged" in refused(b"PK\x03\x04" + bytes(50)).detail
    assert "damaged" in refused(npz(x=X)[:-30]).detail


@pytest.mark.parametrize("layout", [{}, {"axes": "ntd"}])
def test_three_axes_are_trajectory_time_state(layout: dict[str, str], read_data: Reads) -> None:
    array = RNG.normal(size=(4, 30, 2))
    found = read_data(npy(array), dt=0.1, **layout)
    assert found.report.n_trajectories == 4
    assert np.array_equal(found.states, array.reshape(-1, 2))


@pytest.mark.parametrize("axes", ["tnd", "dnt", "tdn", "ndt", "dtn"])
def test_axes_may_come_in_any_order(axes: str, read_data: Reads) -> None:
    array = RNG.normal(size=(4, 30, 2))
    turned = np.transpose(array, ["ntd".index(axis) for axis in axes])
    assert np.array_equal(
        read_data(npy(np.asfortranarray(turned)), axes=axes, dt=0.1).states, array.reshape(-1, 2)
    )


def test_axes_must_fit_the_array(refused: Reads) -> None:
    assert refused(npy(X), axes="nt").errors[0].pointer == "#/layout/axes"


def test_a_tall_matrix_is_one_row_per_sample(read_data: Reads) -> None:
    found = read_data(npy(np.column_stack([T, X])))
    assert np.array_equal(found.states[:, 0], X)
    assert found.report.dt.median == pytest.approx(0.1, rel=1e-12)


def test_a_wide_matrix_is_one_row_per_trajectory_with_a_warning(read_data: Reads) -> None:
    found = read_data(npy(X.reshape(4, 25)), dt=0.1)
    assert found.report.n_trajectories == 4
    assert found.codes == {"orientation-assumed"}
    assert read_data(npy(X.reshape(4, 25)), dt=0.1, axes="nt").codes == set()


def test_a_wide_matrix_that_starts_with_time_is_one_row_per_variable(read_data: Reads) -> None:
    found = read_data(npy(np.array([T, X, X[::-1]])))
    assert np.array_equal(found.states, np.column_stack([X, X[::-1]]))
    assert found.report.dt.source == "time_column"


def test_infinity_is_refused_with_its_place(refused: Reads) -> None:
    array = np.column_stack([T, X])
    array[7, 1] = np.inf
    assert "(8, 2)" in refused(npy(array)).detail


def test_named_arrays_are_columns(read_data: Reads) -> None:
    found = read_data(npz(time=T, x=X, v=X[::-1]))
    assert np.array_equal(found.states, np.column_stack([X, X[::-1]]))
    assert [variable.column for variable in found.report.variables] == ["x", "v"]


def test_numbered_arrays_are_trajectories(read_data: Reads) -> None:
    found = read_data(npz(arr_0=X, arr_1=X[:40]), dt=0.1)
    assert found.segments.tolist() == [[0, 100, 0], [100, 140, 1]]


def test_one_time_axis_may_serve_many_rows(read_data: Reads) -> None:
    found = read_data(npz(t=T[:25], x=X.reshape(4, 25)))
    assert found.report.n_trajectories == 4
    assert np.allclose(found.times[25:50], T[:25], rtol=0, atol=1e-15)


def test_dt_may_be_among_the_arrays(read_data: Reads) -> None:
    found = read_data(npz(dt=0.25, x=X))
    assert (found.report.dt.median, found.report.dt.source) == (0.25, "given")


def test_arrays_that_do_not_belong_together_are_listed(refused: Reads) -> None:
    assert "'a' (100,), 'b' (3, 3)" in refused(npz(a=X, b=np.eye(3))).detail


def test_an_array_is_chosen_by_its_name(read_data: Reads, refused: Callable[..., Any]) -> None:
    """Arrays that do not belong together were refused without a way to choose one."""
    path, other = X[:, None], RNG.normal(size=(7, 3))
    bundle = npz(trajectory=path, emission=other, t=T)
    assert "state_columns" in " ".join(refused(bundle).hints)
    found = read_data(bundle, state_columns=["trajectory"])
    assert np.array_equal(found.states[:, 0], X)
    assert found.times == pytest.approx(T)
    cube = npz(paths=np.stack([path, path + 1]), matrix=other, weights=RNG.normal(size=(3, 3)))
    assert read_data(cube, state_columns=["paths"]).report.n_trajectories == 2
