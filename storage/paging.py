"""Pages, newest first. A cursor names the last item shown, so pages stay right while others come and go."""

import re
from collections.abc import Iterable, Sequence
from datetime import UTC, datetime, timedelta

from contract.datasets import Dataset
from storage.stores import InvalidCursor

_CURSOR = re.compile(r"([0-9]{1,18})-(ds_[a-z0-9]{1,64})", re.ASCII)
_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)


def page(datasets: Iterable[Dataset], limit: int, cursor: str | None) -> tuple[Sequence[Dataset], str | None]:
    """At most `limit` datasets after the cursor, and the cursor of the next page. Raises InvalidCursor."""
    before = _parsed(cursor) if cursor is not None else None
    found = sorted((dataset for dataset in datasets if before is None or _age(dataset) < before), key=_age, reverse=True)
    shown = found[:limit]
    more = len(found) > limit and bool(shown)
    return shown, "{}-{}".format(*_age(shown[-1])) if more else None


def job_number(cursor: str) -> int:
    """The number, in order of arrival, of the job that a page of jobs ended with. Raises InvalidCursor."""
    if not (cursor.isascii() and cursor.isdigit() and len(cursor) < 16):
        raise InvalidCursor("no page of jobs gave this cursor")
    return int(cursor)


def _age(dataset: Dataset) -> tuple[int, str]:
    """Microseconds from the epoch to the upload; the id settles ties."""
    return (dataset.created_at - _EPOCH) // timedelta(microseconds=1), dataset.id


def _parsed(cursor: str) -> tuple[int, str]:
    match = _CURSOR.fullmatch(cursor)
    if match is None:
        raise InvalidCursor("no page of datasets gave this cursor")
    return int(match[1]), match[2]
