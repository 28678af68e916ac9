"""From samples to segments: finite, strictly increasing in time, without increments over gaps."""

from dataclasses import dataclass, field, replace
from itertools import pairwise
from typing import Literal

import numpy as np

from service.readers.clock import UniformClock, resolution_of, steady_clock, uniform_clock
from service.readers.errors import UnreadableData
from service.readers.options import Notes
from service.readers.order import Ordered, index_in, ordered
from service.readers.table import Flags, Floats, Integers, Record

_REGULAR_SHARE = 0.9
_REGULAR_STEP = 0.01
_FEW_DUPLICATES = 0.01
_MOST_SEPARATE = 10_000
"""Largest number of trajectories whose clocks are examined one by one."""


@dataclass(frozen=True, slots=True, eq=False)
class Segmented:
    """The canonical arrays.

    states    (n, d) float64                                                       [state]
    times     (n,)   float64                                                       [time]
    segments  (n_segments, 3) int64: first sample, one past the last, trajectory
    inputs    (n, m) float64
    errors    (n, d) float64 standard errors of the states, or (n, 0)              [state]
    names     name of each trajectory; empty where the file names none
    groups    group of each trajectory; empty without groups
    """

    states: Floats
    times: Floats
    segments: Integers
    n_trajectories: int
    source: Literal["time_column", "given", "assumed"]
    inputs: Floats = field(default_factory=lambda: np.zeros((0, 0)))
    errors: Floats = field(default_factory=lambda: np.zeros((0, 0)))
    names: tuple[str, ...] = ()
    groups: tuple[str, ...] = ()


def segmented(record: Record, dt: float | None, gap_factor: float, notes: Notes) -> Segmented:
    """Cut a record into segments.

    record      samples in the order of the file
    dt          sampling interval that the user gave or the file names [time]
    gap_factor  number of sampling intervals from which a step is a gap
    notes       receives warnings and counts

    Raises UnreadableData where time stamps repeat with different states and no dt is known.
    """
    samples = ordered(record, notes)
    source: Literal["time_column", "given", "assumed"] = "time_column"
    if record.times is None or record.counted:
        source = "given" if dt is not None else "assumed"
        samples = replace(samples, times=samples.times * (dt or 1.0))
        if record.times is None:
            samples = _without_padding(samples, record) if record.padded else samples
        else:
            samples = _distinct(samples, record, dt, notes)
    else:
        samples = _without_padding(samples, record) if record.padded else samples
        samples = _on_a_uniform_clock(samples, record, dt, notes)
        samples = _distinct(samples, record, dt, notes)
    gap = np.zeros(len(samples.times), dtype=bool)
    if record.times is not None and len(samples.times) > 1:
        gap[1:] = _gaps(samples, gap_factor, notes)
    samples = replace(samples, apart=samples.apart | gap)
    whole: Flags = np.all(np.isfinite(record.states[samples.index]), axis=1)
    n_missing = int(np.count_nonzero(~whole))
    if n_missing:
        samples = samples.taken(whole)
    notes.n_missing += n_missing
    notes.n_gaps = int(np.count_nonzero(gap))
    return _cut(samples, record, source)


def _without_padding(samples: Ordered, record: Record) -> Ordered:
    """Remove the missing samples at either end of each trajectory."""
    present: Flags = np.all(np.isfinite(record.states[samples.index]), axis=1)
    n = len(present)
    bounds = np.flatnonzero(np.diff(samples.trajectory, prepend=-1))
    position = np.arange(n)
    last = np.maximum.reduceat(np.where(present, position, -1), bounds)
    first = np.minimum.reduceat(np.where(present, position, n), bounds)
    group = np.cumsum(np.diff(samples.trajectory, prepend=samples.trajectory[:1]) != 0)
    inner = (position >= first[group]) & (position <= last[group])
    kept = samples.taken(inner)
    starts = np.diff(kept.trajectory, prepend=-1) != 0
    return replace(kept, apart=kept.apart & ~starts)


def _on_a_uniform_clock(
    samples: Ordered, record: Record, dt: float | None, notes: Notes
) -> Ordered:
    """Restore the times of a uniform clock where the stamps are its rounded times."""
    inside = samples.joined
    steps = np.diff(samples.times)[inside]
    if len(steps) < 10:
        return samples
    usual = float(np.median(steps))
    even = np.abs(steps - usual) <= _REGULAR_STEP * usual + _float_noise(samples.times)
    n_zero = int(np.count_nonzero(steps == 0))
    if n_zero == 0 and float(np.mean(even)) >= _REGULAR_SHARE:
        return samples
    regular = n_zero > 0 and _usual_step(steps[steps > 0], 0.0) is not None
    if regular and not np.any(_repeats(samples, record)[1]):
        return samples  # these are rows that were written twice
    resolution = _resolution(samples, record)
    coarsest = np.maximum(resolution[1:], resolution[:-1])
    typical = float(np.mean(steps[steps <= usual + 2 * float(np.median(coarsest[inside]))]))
    broken = ~inside | (np.diff(samples.times) >= typical + 2 * coarsest)
    piece = np.concatenate(([0], np.cumsum(broken)))
    if np.count_nonzero(broken & inside) > 0.1 * len(steps):
        return samples
    clock = uniform_clock(samples.times, piece, resolution, dt) if dt else None
    clock = clock or uniform_clock(samples.times, piece, resolution)
    if clock is not None:
        return _restored(
            samples, clock, notes,
            f"The time stamps are rounded: steps of {steps.min():.6g} to "
            f"{float(steps[~broken[inside]].max()):.6g} agree with uniform sampling in the "
            f"printed digits; a uniform sampling interval of {clock.step:.8g} was used.",
        )  # fmt: skip
    if n_zero > _FEW_DUPLICATES * len(steps):
        whole = np.concatenate(([0], np.cumsum(~inside)))
        clock = steady_clock(samples.times, whole, dt) if dt else None
        clock = clock or steady_clock(samples.times, whole)
        if clock is not None:
            return _restored(
                samples, clock, notes,
                f"{n_zero} time stamps repeat, but all stay within {clock.largest_shift:.3g} of "
                "uniform times; they were treated as rounded or delayed, and a uniform sampling "
                f"interval of {clock.step:.8g} was used. Give dt to confirm it.",
            )  # fmt: skip
    return samples


def _restored(samples: Ordered, clock: UniformClock, notes: Notes, message: str) -> Ordered:
    notes.warn("rounded-stamps", message, dt=clock.step, largest_shift=clock.largest_shift)
    return replace(samples, times=clock.times - clock.times.min())


def _resolution(samples: Ordered, record: Record) -> Floats:
    if record.printed is not None:
        return resolution_of(record.printed[samples.index])
    ticks = np.round(samples.times / record.tick)
    unit = 1.0
    for longer in (1e3, 1e3, 1e3, 60.0, 60.0, 24.0):
        if np.any(np.mod(ticks, unit * longer)):
            break
        unit *= longer
    return np.full(len(ticks), unit * record.tick)


def _repeats(samples: Ordered, record: Record) -> tuple[Flags, Flags]:
    """Flag the samples (n,) that repeat the time stamp before, and those with another state."""
    repeated = np.concatenate(([False], samples.joined & (np.diff(samples.times) <= 0)))
    place = np.flatnonzero(repeated)
    now, before = record.states[samples.index[place]], record.states[samples.index[place - 1]]
    differs = np.zeros(len(repeated), dtype=bool)
    differs[place] = ~np.all((now == before) | (np.isnan(now) & np.isnan(before)), axis=1)
    return repeated, differs


def _distinct(samples: Ordered, record: Record, dt: float | None, notes: Notes) -> Ordered:
    """Drop samples with repeated times; use the given dt where the times cannot be a clock."""
    repeated, differs = _repeats(samples, record)
    n_repeated = int(np.count_nonzero(repeated))
    if n_repeated == 0:
        return samples
    n_different = int(np.count_nonzero(differs))
    if n_different > max(1, _FEW_DUPLICATES * len(samples.times)):
        place = record.place(int(samples.index[differs][0]))
        if dt is None or record.counted:
            raise UnreadableData(
                f"{n_different} samples repeat the time stamp of the sample before with another "
                f"state, first at {place}.",
                "If several trajectories are mixed, name the column that identifies them as "
                "id_column.",
                *(["If the time stamps are too coarse, give dt."] if dt is None else []),
            )
        notes.warn(
            "dt-disagrees",
            f"{n_different} time stamps of {record.time_name} repeat with another state, first at "
            f"{place}: the column cannot hold times, and the given dt = {dt:g} was used instead.",
        )
        starts = np.flatnonzero(np.diff(samples.trajectory, prepend=-1))
        group = np.cumsum(np.diff(samples.trajectory, prepend=samples.trajectory[:1]) != 0)
        return replace(samples, times=np.asarray(index_in(group, starts) * dt, dtype=np.float64))
    notes.n_duplicate_times = n_repeated
    kind = "with the same state"
    if n_different:
        kind = f"({n_different} of them with another state; the first was kept)"
    notes.warn(
        "duplicate-times",
        f"{n_repeated} samples repeat a time stamp {kind}, first at "
        f"{record.place(int(samples.index[repeated][0]))}; they were dropped.",
        samples=n_repeated,
    )
    kept = samples.taken(~repeated)
    return replace(kept, apart=samples.apart[~repeated])


def _gaps(samples: Ordered, gap_factor: float, notes: Notes) -> Flags:
    """Flag the steps (n - 1,) longer than gap_factor sampling intervals of a regular trajectory."""
    steps, inside = np.diff(samples.times), samples.joined
    if not inside.any():
        return np.zeros(len(steps), dtype=bool)
    noise = _float_noise(samples.times)
    usual = _usual_step(steps[inside], noise)
    if usual is not None:
        return inside & (steps > gap_factor * usual)
    bounds = np.append(np.flatnonzero(np.diff(samples.trajectory, prepend=-1)), len(samples.times))
    gaps = np.zeros(len(steps), dtype=bool)
    n_uneven = 0
    if len(bounds) - 1 <= _MOST_SEPARATE:
        for first, end in pairwise(bounds):
            own = steps[first : end - 1]
            own_usual = _usual_step(own, noise) if own.size else 0.0
            n_uneven += own_usual is None
            if own_usual:
                gaps[first : end - 1] = own > gap_factor * own_usual
    if n_uneven or len(bounds) - 1 > _MOST_SEPARATE:
        shown = steps[inside]
        notes.warn(
            "uneven-sampling",
            f"The sampling is irregular: steps from {shown.min():.4g} to {shown.max():.4g}, "
            f"median {np.median(shown):.4g}. Every step is used with its own length, and none "
            "counts "
            "as a gap.",
            min=float(shown.min()), max=float(shown.max()), median=float(np.median(shown)),
        )  # fmt: skip
    return gaps


def _usual_step(steps: Floats, noise: float) -> float | None:
    """Return the sampling interval of a regular record; None where too few steps agree on one."""
    usual = float(np.median(steps))
    even = np.abs(steps - usual) <= _REGULAR_STEP * usual + noise
    return usual if float(np.mean(even)) >= _REGULAR_SHARE else None


def _float_noise(times: Floats) -> float:
    return 8 * float(np.spacing(np.abs(times).max(initial=0.0)))


def _cut(
    samples: Ordered, record: Record, source: Literal["time_column", "given", "assumed"]
) -> Segmented:
    n = len(samples.times)
    new_trajectory = np.diff(samples.trajectory, prepend=-1) != 0
    starts = np.flatnonzero(new_trajectory | samples.apart)
    number = np.cumsum(new_trajectory) - 1
    ends = np.append(starts[1:], n)[: len(starts)]
    segments = np.column_stack([starts, ends, number[starts]]).astype(np.int64).reshape(-1, 3)
    in_order = np.array_equal(samples.index, np.arange(len(record.states)))
    states = record.states if in_order else record.states[samples.index]
    times = samples.times - samples.times.min(initial=np.inf) if n else samples.times
    trajectories = int(number[-1]) + 1 if n else 0
    # A trajectory that was cut where its time starts again has the name of the whole.
    rows = samples.index[new_trajectory]
    own = record.trajectory[rows] if record.trajectory is not None else np.zeros(len(rows), int)
    return Segmented(
        states,
        times,
        segments,
        trajectories,
        source,
        names=tuple(record.names[k] for k in own.tolist()) if record.names else (),
        groups=tuple(record.groups[k] for k in own.tolist()) if record.groups else (),
    )
