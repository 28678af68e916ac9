"""Order of samples: by trajectory, and in each trajectory by time."""

from dataclasses import dataclass

import numpy as np

from service.readers.options import Notes
from service.readers.table import Flags, Floats, Integers, Record

_LONG_RUN = 8
"""Mean number of rows between falls in time from which a fall may start a new recording."""


@dataclass(frozen=True, slots=True, eq=False)
class Ordered:
    """Samples of a record, sorted.

    index       (n,) int64    row of the record
    trajectory  (n,) int64    non-decreasing
    times       (n,) float64  non-decreasing in a trajectory; counts samples where there is no clock
    apart       (n,) bool     something is missing between this sample and the one before
    """

    index: Integers
    trajectory: Integers
    times: Floats
    apart: Flags

    def taken(self, keep: Flags) -> "Ordered":
        """Select the samples to keep (n,); the neighbours of dropped samples are then `apart`."""
        kept = np.flatnonzero(keep)
        apart = self.apart[kept].copy()
        if kept.size:
            dropped_before = np.diff(kept, prepend=-1) > 1
            apart |= dropped_before
        return Ordered(self.index[kept], self.trajectory[kept], self.times[kept], apart)

    @property
    def joined(self) -> Flags:
        """Flags (n - 1,) of the steps that stay in one trajectory."""
        return np.asarray(self.trajectory[1:] == self.trajectory[:-1])


def ordered(record: Record, notes: Notes) -> Ordered:
    """Sort a record by trajectory and time.

    Where time falls, misplaced rows are sorted, a new recording starts a new trajectory, and an
    axis that runs backwards is reversed; a warning says which.
    """
    n = len(record.states)
    index = np.arange(n)
    trajectory = record.trajectory if record.trajectory is not None else np.zeros(n, dtype=np.int64)
    if np.any(np.diff(trajectory) < 0):
        index = np.argsort(trajectory, kind="stable")
        trajectory = trajectory[index]
    if record.times is None:
        starts = np.searchsorted(trajectory, np.arange(int(trajectory[-1]) + 1))
        count = index_in(trajectory, starts).astype(np.float64)
        return Ordered(index, trajectory, count, np.zeros(n, dtype=bool))
    samples = Ordered(index, trajectory, record.times[index], np.zeros(n, dtype=bool))
    stamped = np.isfinite(samples.times)
    if not stamped.all():
        notes.n_missing += int(np.count_nonzero(~stamped))
        samples = samples.taken(stamped)
    if record.time_is_age:
        return _along_age(samples, record, notes)
    steps = np.diff(samples.times)
    falls = samples.joined & (steps < 0)
    if not falls.any():
        return samples
    if not np.any(samples.joined & (steps > 0)):
        notes.warn(
            "unsorted",
            f"{record.time_name} falls from row to row; the samples were sorted by time.",
        )
        return _sorted(samples)
    if restarted := _restarts(samples, falls, record, notes):
        return restarted
    n_falls = int(np.count_nonzero(falls))
    first = record.place(int(samples.index[1:][falls][0]))
    times = "once" if n_falls == 1 else f"{n_falls} times"
    notes.warn(
        "unsorted",
        f"The rows are not in order of time: {record.time_name} falls {times}, first at {first}; "
        "they were sorted by time.",
        falls=n_falls,
    )
    return _sorted(samples)


def index_in(trajectory: Integers, starts: Integers) -> Integers:
    """Count each sample (n,) in its trajectory, where trajectory k starts at sample `starts[k]`."""
    return np.arange(len(trajectory)) - starts[trajectory]


def _sorted(samples: Ordered) -> Ordered:
    order = np.lexsort((np.arange(len(samples.times)), samples.times, samples.trajectory))
    return Ordered(
        samples.index[order], samples.trajectory[order], samples.times[order], samples.apart[order]
    )


def _along_age(samples: Ordered, record: Record, notes: Notes) -> Ordered:
    """Read a decreasing age as increasing time, and an increasing age as time, with a warning."""
    steps = np.diff(samples.times)
    if not np.any(samples.joined & (steps > 0)):
        notes.assume(f"{record.time_name} is an age that falls: time runs forward in file order")
        times = np.nanmax(samples.times, initial=0.0) - samples.times
        return Ordered(samples.index, samples.trajectory, times, samples.apart)
    notes.warn(
        "age-axis",
        f"{record.time_name} looks like an age: increasing age is backwards in time. The samples "
        "were read in order of increasing age; if the process is not reversible the result depends "
        "on the direction. To follow time forward, reverse the rows.",
    )
    if np.any(samples.joined & (steps < 0)):
        message = f"The rows are not in order of {record.time_name}; they were sorted."
        notes.warn("unsorted", message)
        return _sorted(samples)
    return samples


def _restarts(samples: Ordered, falls: Flags, record: Record, notes: Notes) -> Ordered | None:
    """Split trajectories into one per rise of time where the rises cover the same times.

    Pieces of one recording never cover the same times; None is returned for them.
    """
    joined = samples.joined
    run = np.concatenate(([0], np.cumsum(falls | ~joined)))
    n_runs = int(run[-1]) + 1
    if len(run) < _LONG_RUN * n_runs:
        return None
    in_time = samples.times[np.lexsort((samples.times, samples.trajectory))]
    forward, after_sorting = np.diff(samples.times)[joined & ~falls], np.diff(in_time)[joined]
    short = float(np.median(forward)) / 2
    # Pieces of one recording fit together when they are sorted; several recordings of the same
    # times have many steps that are too short then.
    if float(np.mean(after_sorting < short)) < float(np.mean(forward < short)) + 0.02:
        return None
    first = record.place(int(samples.index[1:][falls][0]))
    notes.warn(
        "time-restarts",
        f"{record.time_name} starts again {int(falls.sum())} times, first at {first}, over times "
        f"already covered: the file was read as {n_runs} trajectories. If columns number them, "
        "name these (id_column=movie,particle).",
        trajectories=n_runs,
    )
    return Ordered(samples.index, run.astype(np.int64), samples.times, samples.apart)
