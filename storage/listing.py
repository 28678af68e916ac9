"""Facets by which jobs can be listed, and the cursor of their pages.

Each facet of a job is a list of its own in the store, so that a page costs the same however many
jobs there are. A cursor names the last job shown, so later changes do not shift pages.
"""

import hashlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from contract.jobs import Job
from contract.records import State
from storage.names import is_dataset_id
from storage.stores import InvalidCursor

MOST_LOOKED_AT = 1000
"""Jobs that a page examines at most where they must match several facets; it may then be short."""


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
            *_facets(self.kind, () if self.dataset is None else (self.dataset,), self.labels),
        ]


EVERY_JOB = JobFilter()


def facets(job: Job) -> Sequence[str]:
    """Return the facets of a job except its state, which changes."""
    return _facets(job.kind, job.dataset_ids, job.labels)


def _facets(kind: str | None, datasets: Sequence[str], labels: Mapping[str, str]) -> Sequence[str]:
    # Labels are free text, hashed so that they cannot be part of another key. An id that no dataset
    # can have becomes the empty string.
    return [
        *([f"kind={kind}"] if kind is not None else ()),
        *(f"dataset={dataset if is_dataset_id(dataset) else ''}" for dataset in datasets),
        *(f"label={_digest(name)}={_digest(value)}" for name, value in labels.items()),
    ]


def _digest(text: str) -> str:
    return hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()[:32]


def job_number(cursor: str) -> int:
    """Return the arrival number of the last job of the page. Raise InvalidCursor."""
    if not (cursor.isascii() and cursor.isdigit() and len(cursor) < 16):
        raise InvalidCursor("no page of jobs gave this cursor")
    return int(cursor)
