"""How long results and records are kept. Settings are read with this, also by processes that never see a document."""

from dataclasses import dataclass

DAY = 86_400.0


@dataclass(frozen=True, slots=True)
class Retention:
    """Seconds from a job's end; infinity is for ever.

    results   until its result is deleted
    records   until its record is deleted, too, not before the result; it is then known to have been there for as long again
    """

    results: float = 180 * DAY
    records: float = 365 * DAY
