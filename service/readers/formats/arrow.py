"""Parquet and Arrow IPC files as tables.

The numbers of rows and columns are checked in the metadata before anything is decoded.
"""

from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from service.readers.cells import kind_of
from service.readers.errors import UnreadableData, too_large
from service.readers.names import split_unit
from service.readers.options import Limits, Notes
from service.readers.table import NOT_A_TIME, Column, Lines, Table
from service.readers.timestamps import column_of_stamps

_TICKS = {"s": 1.0, "ms": 1e-3, "us": 1e-6, "ns": 1e-9}
_TEXT = (pa.types.is_string, pa.types.is_large_string, pa.types.is_string_view)


def read_parquet(path: Path, limits: Limits, notes: Notes) -> Table:
    """Read the table in a Parquet file. Raises UnreadableData."""
    try:
        file = pq.ParquetFile(path, memory_map=True)
        _check(file.metadata.num_rows, file.schema_arrow, limits)
        columns = _readable(file.schema_arrow, notes)
        return _table(file.read(columns=columns, use_threads=False), notes)
    except (pa.ArrowException, OSError) as error:
        raise _damaged("Parquet", error) from None


def read_arrow(path: Path, limits: Limits, notes: Notes) -> Table:
    """Read the table in an Arrow IPC file or stream. Raises UnreadableData."""
    try:
        with pa.memory_map(str(path)) as source:
            is_file = source.read(6) == b"ARROW1"
            source.seek(0)
            reader: Any = pa.ipc.open_file(source) if is_file else pa.ipc.open_stream(source)
            columns = _readable(reader.schema, notes)
            batches, n_rows = [], 0
            in_file = map(reader.get_batch, range(reader.num_record_batches)) if is_file else reader
            for batch in in_file:
                n_rows += batch.num_rows
                _check(n_rows, reader.schema, limits)
                batches.append(batch.select(columns))
            schema = pa.schema([reader.schema.field(name) for name in columns])
            return _table(pa.Table.from_batches(batches, schema), notes)
    except (pa.ArrowException, OSError) as error:
        raise _damaged("Arrow", error) from None


def _damaged(what: str, error: Exception) -> UnreadableData:
    first = str(error).splitlines()[0][:160]
    return UnreadableData(f"The {what} file is damaged or of an unsupported kind: {first}.")


def _check(n_rows: int, schema: pa.Schema, limits: Limits) -> None:
    if n_rows * max(len(schema), 1) > limits.numbers or len(schema) > limits.columns:
        raise too_large(
            f"The file holds {n_rows:,} or more rows of {len(schema):,} columns; at most "
            f"{limits.numbers:,} numbers are read.",
            "Upload fewer samples, or keep only the columns needed.",
        )


def _readable(schema: pa.Schema, notes: Notes) -> list[str]:
    if len(set(schema.names)) != len(schema.names):
        raise UnreadableData("Several columns have the same name.", "Rename them.")
    names = []
    for field in schema:
        value_type = field.type.value_type if pa.types.is_dictionary(field.type) else field.type
        refused = (pa.types.is_nested, pa.types.is_binary, pa.types.is_null)
        if any(is_of(value_type) for is_of in refused):
            notes.warn(
                "ignored-column",
                f"Column '{field.name[:60]}' of type {str(field.type)[:60]} was ignored.",
            )
        else:
            names.append(field.name)
    if not names:
        raise UnreadableData(
            "No column of the file holds plain numbers.",
            "Nested lists are not supported: write one row per sample and an id column.",
        )
    return names


def _table(table: pa.Table, notes: Notes) -> Table:
    lines = Lines()
    if table.num_rows == 0:
        raise UnreadableData("The file holds no rows.", code="empty-file")
    columns = []
    for position, field in enumerate(table.schema, start=1):
        columns.append(_column(table.column(position - 1), field, position, lines, notes))
    return Table(tuple(columns), lines, "sample")


def _column(
    values: pa.ChunkedArray, field: pa.Field, position: int, lines: Lines, notes: Notes
) -> Column:
    kind, name = field.type, field.name or None
    metadata = field.metadata or {}
    given = metadata.get(b"unit") or metadata.get(b"units") or b""
    unit = given.decode("utf-8", "replace")[:40] or (split_unit(name)[1] if name else None)
    if pa.types.is_timestamp(kind):
        return Column(position, name, "stamp", _ticks(values), tick=_TICKS[kind.unit])
    if pa.types.is_date(kind):
        days = _ticks(values.cast(pa.date32()))
        return Column(position, name, "stamp", days, tick=86400.0, date_only=True)
    if pa.types.is_duration(kind) or pa.types.is_time(kind):
        return Column(position, name, "number", _ticks(values), kind.unit)
    if pa.types.is_dictionary(kind) or any(is_of(kind) for is_of in _TEXT):
        return _words(values, position, name, lines, notes)
    if pa.types.is_integer(kind) and values.null_count == 0 and kind != pa.uint64():
        return Column(position, name, "number", values.cast(pa.int64()).to_numpy(), unit)
    try:
        numbers = values.cast(pa.float64())
    except pa.ArrowInvalid:
        raise UnreadableData(
            f"Column {position} ('{name}'): whole numbers beyond 2^53 would lose digits."
        ) from None
    return Column(position, name, "number", np.asarray(numbers.to_numpy(), dtype=np.float64), unit)


def _ticks(values: pa.ChunkedArray) -> Any:
    whole = values.cast(pa.int32()) if values.type.bit_width == 32 else values
    return pc.fill_null(whole.cast(pa.int64()), pa.scalar(int(NOT_A_TIME), pa.int64())).to_numpy()


def _words(
    values: pa.ChunkedArray, position: int, name: str | None, lines: Lines, notes: Notes
) -> Column:
    plain = values.cast(values.type.value_type) if pa.types.is_dictionary(values.type) else values
    if not (pa.types.is_string(plain.type) or pa.types.is_large_string(plain.type)):
        plain = plain.cast(pa.string())
    first = next((value.as_py() for value in plain.drop_null()[:1]), "")
    if kind_of(first.strip(), ".") == "stamp":
        cells = ["" if value is None else value.strip() for value in plain.to_pylist()]
        return column_of_stamps(cells, position, name, lines, notes)
    encoded = plain.dictionary_encode().combine_chunks()
    encoded = encoded.chunk(0) if isinstance(encoded, pa.ChunkedArray) else encoded
    codes = pc.fill_null(encoded.indices.cast(pa.int64()), -1).to_numpy(zero_copy_only=False)
    return Column(position, name, "text", codes, labels=tuple(encoded.dictionary.to_pylist()))
