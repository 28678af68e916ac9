"""MAT files of version 5 give the arrays that SciPy wrote; hostile and damaged ones are refused."""

import io
import struct
import zlib
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from scipy.io import savemat

from service.readers.errors import UnreadableData
from service.readers.formats.matlab import read_mat
from service.readers.options import Limits, Notes

RNG = np.random.default_rng(8)
X = np.cumsum(RNG.normal(size=100))
T = 0.1 * np.arange(100)

Reads = Callable[..., Any]


def mat(compressed: bool = True, **variables: Any) -> bytes:
    file = io.BytesIO()
    savemat(file, variables, do_compression=compressed)
    return file.getvalue()


def header(order: bytes = b"IM") -> bytes:
    return b"MATLAB 5.0 MAT-file, made by hand".ljust(124) + b"\x00\x01" + order


def element(kind: int, content: bytes, order: str = "<") -> bytes:
    return struct.pack(f"{order}II", kind, len(content)) + content + bytes(-len(content) % 8)


def matrix(
    shape: tuple[int, ...], content: bytes, order: str = "<", name: bytes = b"x", kind: int = 6
) -> bytes:
    head = element(6, struct.pack(f"{order}II", kind, 0), order) + element(
        5, struct.pack(f"{order}{len(shape)}i", *shape), order
    )
    return head + element(1, name, order) + content


@pytest.mark.parametrize("compressed", [True, False])
@pytest.mark.parametrize("kind", ["f8", "f4", "i1", "u1", "i2", "u2", "i4", "u4", "i8", "u8", "?"])
def test_real_arrays_of_every_kind_come_out_as_they_went_in(
    kind: str, compressed: bool, read_data: Reads
) -> None:
    array = (10 * np.abs(X)).astype(kind) if kind != "?" else X.mean() < X
    if kind in ("i1", "u1"):
        array = np.clip(10 * np.abs(X), 0, 100).astype(kind)
    found = read_data(mat(compressed, x=array), dt=0.1)
    assert np.array_equal(found.states[:, 0], array.astype(float))
    assert found.report.format == "mat"


def test_a_vector_is_one_variable_standing_or_lying_and_a_time_vector_is_time(
    read_data: Reads,
) -> None:
    for t, x in ((T, X), (T[:, None], X[None, :])):
        found = read_data(mat(t=t, x=x))
        assert np.array_equal(found.states[:, 0], X)
        assert np.allclose(found.times, T)


def test_a_matrix_keeps_its_axes_and_a_number_named_dt_is_the_clock(read_data: Reads) -> None:
    both = np.column_stack([X, X**2])
    found = read_data(mat(data=both, dt=0.25))
    assert np.array_equal(found.states, both)
    assert found.report.dt.median == 0.25


def test_a_structure_gives_its_fields_and_a_cell_array_its_trajectories(read_data: Reads) -> None:
    found = read_data(mat(recording={"t": T, "x": X, "note": "trap 17"}))
    assert np.array_equal(found.states[:, 0], X)
    assert "text" in found.report.assumptions[0]
    cells = np.empty(3, dtype=object)
    cells[:] = [X[:50], X[:70], X[:50]]
    for compressed in (True, False):
        found = read_data(mat(compressed, tracks=cells, dt=0.5))
        assert found.report.n_trajectories == 3
        assert np.array_equal(found.states[50:120, 0], X[:70])
        assert found.report.dt.median == 0.5


def test_what_is_no_array_of_real_numbers_is_passed_over_and_named(
    read_data: Reads, refused: Reads
) -> None:
    found = read_data(mat(x=X, z=X + 1j, title="a text"), dt=0.1)
    assert np.array_equal(found.states[:, 0], X)
    assert "z (complex numbers), title (text)" in found.report.assumptions[0]
    assert refused(mat(title="only text")).code == "empty-file"


def test_the_other_byte_order_is_read(read_data: Reads) -> None:
    body = element(14, matrix((100, 1), element(9, X.astype(">f8").tobytes(), ">"), ">"), ">")
    assert np.array_equal(read_data(header(b"MI") + body, dt=0.1).states[:, 0], X)


def test_mat_7_3_is_told_what_to_do(refused: Reads) -> None:
    refusal = refused(b"MATLAB 7.3 MAT-file, Platform: GLNXA64".ljust(512) + b"\x89HDF\r\n\x1a\n")
    assert (refusal.status, refusal.code) == (415, "unsupported-media-type")
    assert "-v7" in refusal.hints[0]


def test_declared_sizes_are_refused_before_memory_is_taken(refused: Reads) -> None:
    for shape in ((2**31 - 1, 2**31 - 1), (60_000_000, 1)):
        zeros = struct.pack("<II", 9, 480_000_000) + bytes(10**6)
        array = struct.pack("<II", 14, 480_000_100) + matrix(shape, zeros)
        in_a_cell = struct.pack("<II", 14, 480_000_200) + matrix((1, 1), array, kind=1)
        for bomb in map(zlib.compress, (array, in_a_cell)):
            refusal = refused(header() + struct.pack("<II", 15, len(bomb)) + bomb)
            assert refusal.code == "too-large-data"
            assert "declares" in refusal.detail


def test_many_small_parts_and_deep_ones_are_refused(refused: Reads) -> None:
    one = element(14, matrix((1, 1), element(9, struct.pack("<d", 1.0))))
    assert refused(header() + one * 11, limits=Limits(members=10)).code == "too-large-data"
    cells = element(14, matrix((2**31 - 1, 2), element(14, b"") * 20, kind=1))
    assert refused(header() + cells, limits=Limits(members=10)).code == "too-large-data"
    deep = one
    for _ in range(30):
        deep = element(14, matrix((1, 1), deep, kind=1))
    assert refused(header() + deep).code == "too-large-data"


@pytest.mark.parametrize("compressed", [True, False])
def test_a_damaged_file_is_refused_or_read_and_never_breaks_the_reader(
    compressed: bool, tmp_path: Any
) -> None:
    whole = mat(
        compressed, x=X[:20], s={"t": T[:5], "label": "a"}, c=np.array([X[:3], X[:4]], dtype=object)
    )
    path, refusals = tmp_path / "file.mat", 0
    rng = np.random.default_rng(3)
    for trial in range(400):
        torn = bytearray(whole)
        if trial % 4:
            for at in rng.integers(len(torn), size=rng.integers(1, 4)):
                torn[at] = rng.integers(256)
        else:
            torn = torn[: rng.integers(len(torn))]
        path.write_bytes(torn)
        try:
            read_mat(path, Limits(), Notes())
        except UnreadableData:
            refusals += 1
    assert refusals > 100
