"""Retention times, in a module that also processes without documents import with the settings."""

from dataclasses import dataclass

DAY = 86_400.0


@dataclass(frozen=True, slots=True)
class Retention:
    """Seconds from a job's end; infinity keeps for ever.

    results   until the result is deleted
    records   until the record is deleted, too, but not before the result; for the same time again
              the store still knows that the job existed
    """

    results: float = 180 * DAY
    records: float = 365 * DAY
