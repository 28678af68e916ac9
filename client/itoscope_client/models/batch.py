"""The table of a batch: a row for each record, with the values of its model."""

from collections.abc import Iterator, Mapping
from typing import Any

from itoscope_client.errors import needed

FIRST_COLUMNS = ("record", "state", "error", "job", "dataset", "trajectory")


class Batch:
    """The rows of a batch: `batch["trap-17"]`, `for row in batch`, `batch.table()`.

    document   the service's document of the batch, with all rows
    """

    def __init__(self, document: Mapping[str, Any]) -> None:
        self.document = document
        self._rows: tuple[Mapping[str, Any], ...] = tuple(document["rows"])

    @property
    def batch_id(self) -> str:
        """Identifier of the batch."""
        return str(self.document["id"])

    @property
    def counts(self) -> Mapping[str, int]:
        """Number of jobs in each state."""
        return dict(self.document["counts"])

    @property
    def ended(self) -> bool:
        """Whether all jobs have ended."""
        return not self.counts["queued"] + self.counts["running"]

    @property
    def records(self) -> tuple[str, ...]:
        """Name of each record."""
        return tuple(str(row["record"]) for row in self._rows)

    @property
    def jobs(self) -> tuple[str, ...]:
        """Id of each record's job, for `client.result(…)` and `client.report(…)`."""
        return tuple(str(row["job"]) for row in self._rows)

    @property
    def errors(self) -> Mapping[str, str]:
        """Reason why a record has no model, by the name of the record."""
        return {
            str(row["record"]): str(row["error"]["detail"]) for row in self._rows if row["error"]
        }

    def table(self) -> list[dict[str, Any]]:
        """Return each record as a dict, with the same keys in every one.

        `drift.x` is a formula, `drift.x:x^3` the coefficient of a term, `drift.x:x^3:std_error` its
        standard error, `relaxation_time:low` the end of an interval. What a record does not have is
        None.
        """
        columns = dict.fromkeys(name for row in self._rows for name in row["values"])
        return [
            {
                **{name: row[name] for name in FIRST_COLUMNS},
                "error": row["error"] and row["error"]["detail"],
                **{name: row["values"].get(name) for name in columns},
            }
            for row in self._rows
        ]

    def to_frame(self) -> Any:
        """Return the table as a pandas DataFrame. Raises MissingDependency."""
        return needed("pandas", "to_frame()").DataFrame(self.table())

    def __len__(self) -> int:
        return len(self._rows)

    def __getitem__(self, record: str | int) -> Mapping[str, Any]:
        """Return a record's row, by its name or number. Raises KeyError, IndexError."""
        if isinstance(record, int):
            return self._rows[record]
        for row in self._rows:
            if row["record"] == record:
                return row
        raise KeyError(record)

    def __iter__(self) -> Iterator[Mapping[str, Any]]:
        return iter(self._rows)

    def __reduce__(self) -> tuple[Any, ...]:
        return Batch, (self.document,)

    def __repr__(self) -> str:
        states = ", ".join(f"{count} {state}" for state, count in self.counts.items() if count)
        return f"<Batch {self.batch_id} of {len(self)} records: {states}>"
