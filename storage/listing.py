"""Lists of jobs and datasets: facets by which jobs can be listed, and pages, newest first.

Each facet of a job is a list of its own in the store, so that a page costs the same however many
jobs there are. A cursor names the last item shown, so later changes do not shift pages.
"""

import hashlib
import re
from collections.abc import Callable, Hashable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from heapq import nlargest

from contract.datasets import Dataset
from contract.jobs import DataJob, Job
from contract.records import State
from storage.names import is_dataset_id
from storage.stores import InvalidCursor

MOST_LOOKED_AT = 1000
"""Jobs that a page examines at most where they must match several facets; it may then be short."""
_CURSOR = re.compile(r"([0-9]{1,18})-(ds_[a-z0-9]{1,64})", re.ASCII)
_Age = tuple[int, str]
_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)


@dataclass(frozen=True, slots=True)
class JobFilter:
    """Condition on jobs: a job matches if it agrees with every field that is given."""

    state: State | None = None
    kind: str | None = None
    dataset: str | None = None
    labels: Mapping[str, str] = field(default_factory=dict)

    @property
    def facets(self) -> Sequence[str]:
        """Facets that all matching jobs share."""
        return [
            *([f"state={self.state}"] if self.state is not None else ()),
            *_facets(self.kind, self.dataset, self.labels),
        ]


EVERY_JOB = JobFilter()


def facets(job: Job) -> Sequence[str]:
    """Return the facets of a job except its state, which changes."""
    return _facets(job.kind, job.dataset if isinstance(job, DataJob) else None, job.labels)


def _facets(kind: str | None, dataset: str | None, labels: Mapping[str, str]) -> Sequence[str]:
    # Labels are free text, hashed so that they cannot be part of another key. An id that no dataset
    # can have becomes the empty string.
    return [
        *([f"kind={kind}"] if kind is not None else ()),
        *([f"dataset={dataset if is_dataset_id(dataset) else ''}"] if dataset is not None else ()),
        *(f"label={_digest(name)}={_digest(value)}" for name, value in labels.items()),
    ]


def _digest(text: str) -> str:
    return hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()[:32]


@dataclass(slots=True)
class DatasetPages:
    """Pages of datasets whose descriptions are expensive to read, with a memory of upload times.

    A description never changes. With 10 000 datasets in a folder, the first page of a process takes
    1.2 s of CPU, each further one 0.1 s.
    """

    _known: dict[str, dict[str, tuple[Hashable, _Age]]] = field(default_factory=dict)

    def page(
        self,
        tenant: str,
        stamps: Mapping[str, Hashable],
        read: Callable[[str], Dataset | None],
        limit: int,
        cursor: str | None,
    ) -> tuple[Sequence[Dataset], str | None]:
        """Return up to `limit` datasets after the cursor, and the next one. Raise InvalidCursor.

        stamps   by dataset id, a value that changes when the dataset is deleted and uploaded again
        read     returns the dataset of an id; None where it was deleted meanwhile
        """
        before = _parsed(cursor) if cursor is not None else None
        known, ages = self._known.get(tenant, {}), {}
        for dataset_id, stamp in stamps.items():
            seen, age = known.get(dataset_id, (None, None))
            if age is None or seen != stamp:
                dataset = read(dataset_id)
                age = _age(dataset) if dataset is not None else None
            if age is not None:
                ages[dataset_id] = stamp, age
        self._known[tenant] = ages
        newest = nlargest(
            limit + 1, (age for _, age in ages.values() if before is None or age < before)
        )
        shown = newest[:limit]
        datasets = [dataset for _, dataset_id in shown if (dataset := read(dataset_id)) is not None]
        return datasets, "{}-{}".format(*shown[-1]) if len(newest) > limit and shown else None


def job_number(cursor: str) -> int:
    """Return the arrival number of the last job of the page. Raise InvalidCursor."""
    if not (cursor.isascii() and cursor.isdigit() and len(cursor) < 16):
        raise InvalidCursor("no page of jobs gave this cursor")
    return int(cursor)


def _age(dataset: Dataset) -> _Age:
    """Return the microseconds from the epoch to the upload, and the id, which settles ties."""
    return (dataset.created_at - _EPOCH) // timedelta(microseconds=1), dataset.id


def _parsed(cursor: str) -> tuple[int, str]:
    match = _CURSOR.fullmatch(cursor)
    if match is None:
        raise InvalidCursor("no page of datasets gave this cursor")
    return int(match[1]), match[2]
