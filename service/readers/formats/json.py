"""JSON documents as records: numbers, rows, row objects, columns, or trajectories."""

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any, NoReturn

import numpy as np

from service.readers.cells import kind_of, number_of
from service.readers.columns import record_of
from service.readers.errors import UnreadableData, too_large
from service.readers.formats.arrays import record_of_array, record_of_bundle, record_of_list
from service.readers.names import split_unit
from service.readers.options import Layout, Limits, Notes
from service.readers.table import LARGEST_EXACT, Column, Floats, Lines, Record, Table
from service.readers.timestamps import column_of_stamps

_HINT = (
    'Send {"dt": 0.01, "trajectories": [[…], […]]}, a list of numbers, or a list of objects such '
    'as {"t": 0, "x": 1.5}.'
)


def read(path: Path, layout: Layout, limits: Limits, notes: Notes) -> Record:
    """Read the record in a JSON file, in which `null` is a missing value.

    Raises UnreadableData, also for NaN, which is not JSON.
    """
    if path.stat().st_size > limits.json_bytes:
        raise too_large(
            f"JSON of more than {limits.json_bytes // 2**20} MiB is not read.",
            "Upload large data as NPY, NPZ, Parquet or CSV.",
        )
    document = _in_order(_parsed(path.read_bytes()))
    if isinstance(document, dict):
        return _of_object(document, layout, limits, notes)
    if isinstance(document, list):
        return _of_list(document, "#", layout, limits, notes)
    raise UnreadableData("The JSON document is neither a list nor an object.", _HINT)


def _parsed(body: bytes) -> Any:
    try:
        text = body.decode("utf-8-sig")
        return json.loads(text, object_pairs_hook=_object, parse_constant=_constant)
    except json.JSONDecodeError as error:
        if error.msg == "Extra data" and (rows := _lines(body)) is not None:
            return rows
        raise UnreadableData(
            f"The file is not valid JSON: {error.msg} at line {error.lineno}, "
            f"column {error.colno}.",
            "Write the file with a JSON library; one document a line (NDJSON) is read, too.",
        ) from None
    except UnicodeDecodeError:
        raise UnreadableData("The file is not valid JSON: it is not in UTF-8.") from None
    except RecursionError:
        raise UnreadableData("The JSON document is nested too deeply.", _HINT) from None
    except ValueError:
        raise UnreadableData("The JSON document holds a number with too many digits.") from None


def _lines(body: bytes) -> list[Any] | None:
    """Parse a document for each line (NDJSON); None where a line is none."""
    try:
        return [
            json.loads(line, object_pairs_hook=_object, parse_constant=_constant)
            for line in body.decode("utf-8-sig").splitlines()
            if line.strip()
        ]
    except json.JSONDecodeError:
        return None


def _in_order(document: Any) -> Any:
    """Return the rows or columns of a document that wraps them, else the document.

    Services wrap rows in an object, and pandas writes a data frame as an object of columns, or
    of rows, whose members are numbered by the index.
    """
    if not isinstance(document, dict) or not document:
        return document
    rows = [value for value in document.values() if _are_objects(value)]
    lists = [value for value in document.values() if isinstance(value, list) and value]
    if len(rows) == len(lists) == 1:
        return rows[0]
    inner = list(document.values())
    keys = list(inner[0]) if isinstance(inner[0], dict) else []
    if not keys or not all(isinstance(value, dict) and list(value) == keys for value in inner):
        return document
    by_row = all(key.isdigit() for key in document)
    index = list(document) if by_row else keys
    if not all(key.isdigit() for key in index):
        return document
    columns = (
        {name: [row[name] for row in inner] for name in keys}
        if by_row
        else {name: list(column.values()) for name, column in document.items()}
    )
    # The index is the time where it is one; `index` is a word for the number of a row.
    return {"index": [int(key) for key in index], **columns}


def _are_objects(value: Any) -> bool:
    return isinstance(value, list) and bool(value) and all(isinstance(row, dict) for row in value)


def _object(members: list[tuple[str, Any]]) -> dict[str, Any]:
    found = dict(members)
    if len(found) != len(members):
        raise UnreadableData("The JSON document names the same member twice in one object.")
    return found


def _constant(name: str) -> NoReturn:
    if name == "NaN":
        raise UnreadableData(
            "The file is not valid JSON: it holds NaN.", "Write null for a missing value."
        )
    _refuse_infinite("The JSON document")


def _refuse_infinite(what: str) -> NoReturn:
    raise UnreadableData(f"{what} holds an infinite number.", "Write null for a missing value.")


def _of_object(document: dict[str, Any], layout: Layout, limits: Limits, notes: Notes) -> Record:
    dt = document.get("dt")
    if isinstance(dt, (int, float)) and not isinstance(dt, bool) and 0 < dt < float("inf"):
        notes.dt_in_file = (float(dt), None, "dt")
    elif dt is not None and not isinstance(dt, list):
        raise UnreadableData("dt in the JSON document is not a positive number.")
    if "trajectories" in document:
        return _of_trajectories(document, layout, limits, notes)
    if isinstance(document.get("columns"), list) and isinstance(document.get("data"), list):
        rows = [dict(zip(document["columns"], row, strict=False)) for row in document["data"]]
        return _of_rows(rows, layout, limits, notes)
    lists = {name: value for name, value in document.items() if isinstance(value, list)}
    if not lists:
        raise UnreadableData("The JSON object has no list of samples.", _HINT)
    flat = all(value and not isinstance(value[0], list) for value in lists.values())
    if flat and len({len(value) for value in lists.values()}) == 1:
        columns = [
            _column(list(value), name, k, f"#/{name}", notes)
            for k, (name, value) in enumerate(lists.items(), start=1)
        ]
        return record_of(Table(tuple(columns), Lines(), "sample"), layout, limits, notes)
    arrays = {name: _array(value, f"#/{name}") for name, value in lists.items()}
    return record_of_bundle(arrays, layout, limits, notes)


def _of_trajectories(
    document: dict[str, Any], layout: Layout, limits: Limits, notes: Notes
) -> Record:
    trajectories = document["trajectories"]
    if not _is_list_of_lists(trajectories) or not trajectories or not all(trajectories):
        raise UnreadableData("trajectories is not a list of non-empty lists.", _HINT)
    parts = [_trajectory(part, f"#/trajectories/{k}") for k, part in enumerate(trajectories)]
    times = document.get("times")
    own = None
    if times is not None:
        if not _is_list_of_lists(times) or len(times) != len(parts):
            raise UnreadableData("times is not one list per trajectory.", _HINT)
        own = [_numbers(part, f"#/times/{k}") for k, part in enumerate(times)]
    if ignored := sorted(set(document) - {"trajectories", "times", "dt"}):
        notes.assume(f"members {', '.join(ignored)[:200]} of the JSON object were ignored")
    return record_of_list(parts, own, layout, limits, notes)


def _is_list_of_lists(value: Any) -> bool:
    return isinstance(value, list) and all(isinstance(part, list) for part in value)


def _of_list(values: list[Any], where: str, layout: Layout, limits: Limits, notes: Notes) -> Record:
    if not values:
        raise UnreadableData("The JSON list is empty.", _HINT, code="empty-file")
    if all(isinstance(value, dict) for value in values):
        return _of_rows(values, layout, limits, notes)
    if not all(isinstance(value, list) for value in values):
        return record_of_array(_numbers(values, where), layout, limits, notes)
    nested = any(isinstance(item, list) for value in values for item in value[:1])
    if nested or len({len(value) for value in values}) > 1:
        notes.assume("each inner list is one trajectory")
        parts = [_trajectory(part, f"{where}/{k}") for k, part in enumerate(values)]
        return record_of_list(parts, None, layout, limits, notes)
    return record_of_array(_array(values, where), layout, limits, notes)


def _of_rows(
    rows: Sequence[dict[str, Any]], layout: Layout, limits: Limits, notes: Notes
) -> Record:
    names = list(dict.fromkeys(name for row in rows for name in row))
    if not names or len(names) * len(rows) > limits.numbers or len(names) > limits.columns:
        raise UnreadableData(f"The row objects have {len(names)} different members.", _HINT)
    columns = [
        _column([row.get(name) for row in rows], str(name), k, f"#/*/{name}", notes)
        for k, name in enumerate(names, start=1)
    ]
    return record_of(Table(tuple(columns), Lines(), "sample"), layout, limits, notes)


def _column(values: list[Any], name: str, position: int, where: str, notes: Notes) -> Column:
    present = [value for value in values if value is not None]
    if present and all(isinstance(value, str) for value in present):
        words = ["" if value is None else value for value in values]
        if kind_of(present[0].strip(), ".") == "stamp":
            return column_of_stamps(words, position, name, Lines(), notes)
        kinds = {kind_of(word.strip(), ".") for word in words}
        if kinds <= {"number", "missing"} and "number" in kinds:
            found = [number_of(word.strip(), ".") for word in words]
            return Column(position, name, "number", _numbers(found, where), split_unit(name)[1])
        labels: dict[str, int] = {}
        codes = [-1 if value is None else labels.setdefault(value, len(labels)) for value in values]
        return Column(position, name, "text", np.asarray(codes, np.int64), labels=tuple(labels))
    return Column(position, name, "number", _numbers(values, where), split_unit(name)[1])


def _trajectory(values: list[Any], where: str) -> Floats:
    """Convert a list of samples to an array (n, d)."""
    array = _array(values, where)
    return array.reshape(len(array), -1)


def _array(values: list[Any], where: str) -> Floats:
    """Convert nested lists to an array. Raises UnreadableData naming a list of another shape."""
    if not any(isinstance(value, list) for value in values):
        return _numbers(values, where)
    parts = []
    for k, value in enumerate(values):
        if not isinstance(value, list):
            raise UnreadableData(f"{where}/{k} is a single value among lists.")
        parts.append(_array(value, f"{where}/{k}"))
    if len({part.shape for part in parts}) != 1:
        odd = next(k for k, part in enumerate(parts) if part.shape != parts[0].shape)
        raise UnreadableData(
            f"{where}/{odd} has {len(values[odd])} values where {len(values[0])} are expected."
        )
    return np.stack(parts)


def _numbers(values: list[Any], where: str) -> Floats:
    for k, value in enumerate(values):
        kind = type(value)
        if kind is float or value is None:
            continue
        if kind is not int:
            raise UnreadableData(f"{where}/{k} is not a number.", _HINT)
        if not -LARGEST_EXACT <= value <= LARGEST_EXACT:
            raise UnreadableData(
                f"{where}/{k} is a whole number beyond 2^53 and would lose digits."
            )
    array = np.asarray([np.nan if value is None else value for value in values], dtype=np.float64)
    if np.isinf(array).any():
        _refuse_infinite(f"{where}/{int(np.flatnonzero(np.isinf(array))[0])}")
    return array
