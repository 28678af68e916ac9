"""The table of a batch as CSV: a row for each record, with the values of its result."""

import csv
import io
from collections.abc import Iterable, Sequence

from contract.batches import BatchRow

MEDIA_TYPE = "text/csv"
FIRST_COLUMNS = ("number", "record", "dataset", "trajectory", "job", "state", "error")
_ORDER = ("n_increments", "dt", "duration", "drift", "diffusion", "relaxation_time", "passage")


def columns_of(rows: Iterable[BatchRow]) -> Sequence[str]:
    """Return the columns of all values: of the data, drift, diffusion and what follows from them.

    Columns of one kind stand in the order in which the rows have them.
    """
    seen = dict.fromkeys(name for row in rows for name in row.values)
    return sorted(seen, key=_place)


def _place(column: str) -> tuple[int, str]:
    kind = column.partition(".")[0].partition(":")[0]
    component = column.partition(":")[0]
    return _ORDER.index(kind) if kind in _ORDER else len(_ORDER), component


def csv_of(rows: Sequence[BatchRow]) -> str:
    """Write the table. A value that a row does not have is empty."""
    columns, text = columns_of(rows), io.StringIO()
    writer = csv.writer(text)
    writer.writerow((*FIRST_COLUMNS, *columns))
    for row in rows:
        error = "" if row.error is None else f"{row.error.code}: {row.error.detail}"
        whole = (row.number, row.record, row.dataset, row.trajectory, row.job, row.state, error)
        writer.writerow((*whole, *(row.values.get(name) for name in columns)))
    return text.getvalue()
