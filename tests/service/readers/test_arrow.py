"""Parquet and Arrow IPC: typed columns, counted before they are decoded."""

import io
from collections.abc import Callable
from datetime import UTC, date, datetime, timedelta
from decimal import Decimal
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.feather
import pyarrow.parquet as pq
import pytest

from service.readers.options import Limits

N = 60
X = np.cumsum(np.random.default_rng(7).normal(size=N))

Reads = Callable[..., Any]


def parquet(table: pa.Table) -> bytes:
    file = io.BytesIO()
    pq.write_table(table, file)
    return file.getvalue()


def ipc_file(table: pa.Table) -> bytes:
    file = io.BytesIO()
    with pa.ipc.new_file(file, table.schema) as writer:
        writer.write_table(table, max_chunksize=25)
    return file.getvalue()


def ipc_stream(table: pa.Table) -> bytes:
    file = io.BytesIO()
    with pa.ipc.new_stream(file, table.schema) as writer:
        writer.write_table(table, max_chunksize=25)
    return file.getvalue()


def feather(table: pa.Table) -> bytes:
    file = io.BytesIO()
    pyarrow.feather.write_feather(table, file)
    return file.getvalue()


@pytest.mark.parametrize(
    ("write", "form"),
    [(parquet, "parquet"), (ipc_file, "arrow"), (ipc_stream, "arrow"), (feather, "arrow")],
)
def test_every_container_gives_the_same_numbers(
    write: Callable[[pa.Table], bytes], form: str, read_data: Reads
) -> None:
    table = pa.table(
        {"cell": ["a"] * 30 + ["b"] * 30, "t": [0.5 * k for k in range(30)] * 2, "x_um": X}
    )
    found = read_data(write(table))
    assert found.report.format == form
    assert np.array_equal(found.states[:, 0], X)
    assert found.segments.tolist() == [[0, 30, 0], [30, 60, 1]]
    assert found.report.variables[0].unit == "um"


@pytest.mark.parametrize(
    "kind", [pa.float32(), pa.float16(), pa.int16(), pa.uint64(), pa.decimal128(12, 3), pa.bool_()]
)
def test_every_kind_of_number_becomes_a_double(kind: pa.DataType, read_data: Reads) -> None:
    whole = [abs(int(10 * x)) % 2 for x in X]
    values: list[Any] = [Decimal(value) for value in whole] if pa.types.is_decimal(kind) else whole
    if pa.types.is_boolean(kind):
        values = list(map(bool, whole))
    if pa.types.is_float16(kind):
        values = list(np.asarray(whole, dtype=np.float16))
    found = read_data(parquet(pa.table({"x": pa.array(values, kind)})), dt=0.1)
    assert found.states[:, 0].tolist() == whole


@pytest.mark.parametrize("unit", ["s", "ms", "us", "ns"])
def test_time_stamps_of_every_resolution(unit: str, read_data: Reads) -> None:
    start = datetime(2024, 3, 31, tzinfo=UTC)
    stamps = pa.array(
        [start + timedelta(seconds=10 * k) for k in range(N)], pa.timestamp(unit, "Europe/Berlin")
    )
    found = read_data(parquet(pa.table({"when": stamps, "x": X})))
    assert found.times.tolist() == [10.0 * k for k in range(N)]
    assert found.report.time_unit == "s"


def test_dates_are_counted_in_days(read_data: Reads) -> None:
    days = [date(2024, 1, 1) + timedelta(days=k) for k in range(N)]
    found = read_data(parquet(pa.table({"date": days, "x": X})))
    assert (found.report.time_unit, found.report.dt.median) == ("day", 1.0)


def test_whole_nanoseconds_keep_every_digit(read_data: Reads) -> None:
    stamps = pa.array([1_700_000_000_000_000_000 + 1000 * k for k in range(N)], pa.int64())
    found = read_data(parquet(pa.table({"timestamp": stamps, "x": X})))
    assert found.times.tolist() == [1000.0 * k for k in range(N)]


def test_nulls_are_missing(read_data: Reads) -> None:
    values = [None if k == 20 else float(x) for k, x in enumerate(X)]
    found = read_data(parquet(pa.table({"t": np.arange(N) * 0.5, "x": values})))
    assert (found.report.n_missing, found.report.n_segments) == (1, 2)


def test_categories_tell_trajectories_apart(read_data: Reads) -> None:
    cells = pa.array(["a"] * 30 + ["b"] * 30).dictionary_encode()
    found = read_data(parquet(pa.table({"cell": cells, "t": np.tile(np.arange(30.0), 2), "x": X})))
    assert found.report.n_trajectories == 2


def test_stamps_in_text_are_read_too(read_data: Reads) -> None:
    stamps = [f"2024-01-01T00:00:{k:02d}Z" for k in range(N)]
    assert read_data(parquet(pa.table({"time": stamps, "x": X}))).report.dt.median == 1.0


def test_nested_columns_are_left_out_with_a_warning(read_data: Reads, refused: Reads) -> None:
    nested = pa.array([[1.0, 2.0]] * N)
    found = read_data(parquet(pa.table({"t": np.arange(N) * 0.5, "x": X, "list": nested})))
    assert found.codes == {"ignored-column"}
    assert "Nested lists" in refused(parquet(pa.table({"list": nested}))).hints[0]


def test_rows_are_counted_before_they_are_decoded(refused: Reads) -> None:
    table = pa.table({"x": pa.array(np.zeros(200_000))})
    for data in (parquet(table), ipc_file(table), ipc_stream(table)):
        refusal = refused(data, limits=Limits(numbers=100_000))
        assert (refusal.status, refusal.code) == (413, "too-large-data")


@pytest.mark.parametrize("write", [parquet, ipc_file, ipc_stream])
def test_damaged_files_are_refused(write: Callable[[pa.Table], bytes], refused: Reads) -> None:
    data = write(pa.table({"t": np.arange(N) * 0.5, "x": X}))
    broken_ends = (
        [data[:-9] + bytes(9)] if write is not ipc_stream else []
    )  # a stream ends in padding
    for broken in (
        data[: len(data) // 2],
        data[:8],
        data[:40] + bytes(len(data) - 40),
        *broken_ends,
    ):
        assert refused(broken).status == 422


def test_an_empty_table_is_refused(refused: Reads) -> None:
    assert (
        refused(
            parquet(pa.table({"t": pa.array([], pa.float64()), "x": pa.array([], pa.float64())}))
        ).code
        == "empty-file"
    )


def test_infinity_is_refused_with_its_sample(refused: Reads) -> None:
    values = X.copy()
    values[9] = np.inf
    assert (
        "Sample 10, column 2 ('x')"
        in refused(parquet(pa.table({"t": np.arange(N) * 0.5, "x": values}))).detail
    )
