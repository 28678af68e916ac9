"""Trajectories as the core sees them, and the walk over their increments in chunks."""

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import islice, pairwise

import numba as nb
import numpy as np
from numpy.typing import NDArray

from worker.identification.errors import ConstantData, TooFewSamples, ValuesOutOfRange

Floats = NDArray[np.float64]
Integers = NDArray[np.int64]

CHUNK = 16_384
"""Samples per chunk, whose working arrays fit in the second-level cache."""

MINIMUM_INCREMENTS = 50
SMALLEST_SIZE, LARGEST_SIZE = 1e-30, 1e50
"""Sizes of a state that is computed with: beyond 1e-40 and 1e95, powers of it are no doubles."""

N_STEPS = 50_000
"""Number of sampling intervals that gives each share of them to half a percent."""


@dataclass(frozen=True, slots=True, eq=False)
class Trajectories:
    """Samples of R trajectories, cut into segments of increasing time.

    The arrays may be memory maps; nothing writes to them.

    states      (n_samples, d)    [state]
    times       (n_samples,)      increasing inside each segment [time]
    segments    (n_segments, 3)   first sample, one past the last, number of the trajectory; in
                                  order, disjoint
    inputs      (n_samples, m)    signals that drive the states and have no equation; None: none
    errors      (n_samples, d)    known standard errors of the samples [state]; None: not known
    """

    states: Floats
    times: Floats
    segments: Integers
    inputs: Floats | None = None
    errors: Floats | None = None

    @property
    def dimension(self) -> int:
        """Number of variables, d."""
        return int(self.states.shape[1])

    @property
    def n_increments(self) -> int:
        """Number of pairs of consecutive samples inside segments."""
        return int((self.segments[:, 1] - self.segments[:, 0] - 1).clip(min=0).sum())

    @property
    def n_trajectories(self) -> int:
        """Number of trajectories, R."""
        return int(np.unique(self.segments[:, 2]).size)


def from_arrays(trajectories: list[Floats], dt: float) -> Trajectories:
    """Make trajectories of one uniform sampling interval.

    trajectories   arrays (n_samples,) or (n_samples, d) [state]
    dt             sampling interval [time]
    """
    columns = [np.asarray(x, dtype=np.float64).reshape(len(x), -1) for x in trajectories]
    stops = np.cumsum([len(x) for x in columns])
    starts = stops - [len(x) for x in columns]
    return Trajectories(
        states=np.concatenate(columns),
        times=np.concatenate([np.arange(len(x)) * dt for x in columns]),
        segments=np.stack([starts, stops, np.arange(len(columns))], axis=1).astype(np.int64),
    )


def _trajectory_starts(data: Trajectories) -> Floats:
    """Find the time at which the trajectory of each segment began; (n_segments,) [time].

    All pieces of one record are on one clock.
    """
    _, first, trajectory = np.unique(data.segments[:, 2], return_index=True, return_inverse=True)
    return np.asarray(data.times[data.segments[first, 0]])[trajectory]


def longest_duration(data: Trajectories) -> float:
    """Measure the longest trajectory from its first sample to its last, gaps included [time]."""
    return float(np.max(np.asarray(data.times[data.segments[:, 1] - 1]) - _trajectory_starts(data)))


@dataclass(frozen=True, slots=True, eq=False)
class Scales:
    """Origin and unit of the internal coordinate y = (x − origin) / unit, and of time.

    In these units every sum is of order one.

    origin, unit      centre and half-width of the bulk, rounded to a few bits so that exact changes
                      of basis stay short [state]
    bulk              ends of the central part of the samples, see `measure_scales` [state]
    low, high         smallest and largest sample [state]
    mean, deviation   mean and standard deviation of all samples [state]
    time              median sampling interval [time]
    steps             sorted sampling intervals: all, or 5·10⁴ drawn from the record [time]
    duration          sum of all steps [time]
    """

    origin: float
    unit: float
    bulk: tuple[float, float]
    low: float
    high: float
    mean: float
    deviation: float
    time: float
    steps: Floats
    duration: float


def measure_scales(
    data: Trajectories, period: float | None = None, variable: str | None = None
) -> Scales:
    """Measure the scales of one-dimensional data.

    Quantiles are read off a strided sample of at most 2·10⁵ values, extremes off all of them. The
    bulk is the central 99.9 % of the samples, widened to the extremes where these lie within three
    times its half-width, so that trajectories that start far away count and one wild reading does
    not.

    Raises TooFewSamples, ConstantData, ValuesOutOfRange.

    Parameters
    ----------
    data : trajectories of one variable
    period : period of an angle [state]; None on the line
    variable : its name, where there are others besides
    """
    of = f" of variable {variable}" if variable else ""
    n = data.n_increments
    if n < MINIMUM_INCREMENTS:
        raise TooFewSamples(
            f"Too few samples: {n} increments; at least {MINIMUM_INCREMENTS} are required "
            "to distinguish a drift from noise.",
            hints=("Record longer, or upload several trajectories of the same process together.",),
        )
    values = data.states[:, 0]
    shift = float(values[data.segments[0, 0]])
    low, high, total, squares, count = _summary(values, data.segments, shift)
    duration = float(
        sum(data.times[stop - 1] - data.times[start] for start, stop, _ in data.segments)
    )
    # A spread of a few units in the last place cannot be distinguished from rounding.
    if not high - low > 64 * np.spacing(max(abs(low), abs(high))):
        raise ConstantData(
            f"The series{of} is constant: all {count} samples equal {low:g} to rounding error. "
            "It does not vary, so there is nothing to identify.",
            hints=("Check which column holds the state (layout.state_columns).",),
        )
    if high - low < SMALLEST_SIZE or max(abs(low), abs(high)) > LARGEST_SIZE:
        raise ValuesOutOfRange(
            f"The values{of} go from {low:g} to {high:g}. Their powers are not numbers that "
            "a computer holds.",
            hints=("Give the state in another unit.",),
        )
    stride = max(1, len(values) // 200_000)
    sample, mean, steps = np.asarray(values[::stride]), total / count, _sampled_steps(data)
    deviation = float(np.sqrt(max(squares / count - mean**2, 0.0)))
    inner_low, middle, inner_high = (float(q) for q in np.quantile(sample, [0.0005, 0.5, 0.9995]))
    bulk = (
        max(low, middle - 4 * (middle - inner_low)),
        min(high, middle + 4 * (inner_high - middle)),
    )
    if not bulk[1] > bulk[0]:
        bulk = (low, high)
    origin, unit = (0.0, period / 2) if period is not None else rounded_coordinate(*bulk)
    return Scales(
        origin,
        unit,
        bulk,
        low,
        high,
        shift + mean,
        deviation,
        float(np.median(steps)),
        steps,
        duration,
    )


def _sampled_steps(data: Trajectories) -> Floats:
    """List the steps inside segments, sorted.

    A short record gives all of them. Of a long one they are drawn at random, which no pattern of
    the clock can fool.
    """
    first, inside = data.segments[:, 0], data.segments[:, 1] - data.segments[:, 0] - 1
    total = int(inside.clip(min=0).sum())
    wanted = (
        np.arange(total)
        if total <= N_STEPS
        else np.random.default_rng(0).integers(0, total, N_STEPS)
    )
    ends = np.cumsum(inside.clip(min=0))
    segment = np.searchsorted(ends, wanted, side="right")
    index = first[segment] + wanted - (ends[segment] - inside[segment])
    return np.sort(data.times[index + 1] - data.times[index])


@nb.njit(cache=True, nogil=True)
def _summary(
    values: Floats, segments: Integers, shift: float
) -> tuple[float, float, float, float, int]:
    """Return the low, high, Σ (x − shift), Σ (x − shift)² and number of the samples in segments."""
    low, high, total, squares, count = np.inf, -np.inf, 0.0, 0.0, 0
    for s in range(segments.shape[0]):
        for n in range(segments[s, 0], segments[s, 1]):
            x = values[n]
            low, high = min(low, x), max(high, x)
            total += x - shift
            squares += (x - shift) ** 2
        count += segments[s, 1] - segments[s, 0]
    return low, high, total, squares, count


def rounded_coordinate(low: float, high: float) -> tuple[float, float]:
    """Return origin and unit of the coordinate in which [low, high] is about [−1, 1].

    The unit is rounded up to six bits, and the origin to a sixteenth of the unit.
    """
    origin, unit = (low + high) / 2, (high - low) / 2
    quantum = 2.0 ** (np.frexp(unit)[1] - 6)
    unit = float(np.ceil(unit / quantum) * quantum)
    return float(np.round(origin / unit * 16) * unit / 16), unit


@dataclass(frozen=True, slots=True, eq=False)
class Chunk:
    """Windows of consecutive samples of one block, in internal units.

    block      number of the block
    states     (n_points, n)       y, unwrapped where periodic; row 0 is known before the noise of
                                   the rest is drawn
    steps      (n_points − 1, n)   Δt between the rows
    follows    (n,)                whether the window starts one sample after the one before it in
                                   this chunk
    elapsed    (n,)                time since the start of the record of this trajectory
    """

    block: int
    states: Floats
    steps: Floats
    follows: NDArray[np.bool_]
    elapsed: Floats

    @property
    def size(self) -> int:
        """Number of windows."""
        return int(self.states.shape[1])

    @property
    def left(self) -> Floats:
        """State y at the first point; (n,)."""
        return np.asarray(self.states[0])

    @property
    def right(self) -> Floats:
        """State y at the second point; (n,)."""
        return np.asarray(self.states[1])

    @property
    def step(self) -> Floats:
        """Time Δt between the first two points; (n,)."""
        return np.asarray(self.steps[0])


EVERYWHERE = (-np.inf, np.inf)


@dataclass(frozen=True, slots=True)
class Windows:
    """Choice of the windows to walk.

    n_points       samples of a window
    stride         samples from one point of a window to the next; windows start at every sample
    even           whether the steps of a window must be equal to two percent
    longest_step   step above which a window is left out [time]
    between        interval in which the first point must lie [state]
    past           weights of the samples before the first point, latest first; their mean, which no
                   noise of the points has part in, is one more point before the first
    """

    n_points: int = 2
    stride: int = 1
    even: bool = False
    longest_step: float = np.inf
    between: tuple[float, float] = EVERYWHERE
    past: tuple[float, ...] = ()


PAIRS = Windows()


def block_edges(
    data: Trajectories, n_blocks: int, *, one_per_trajectory: bool = False, whole: bool = True
) -> Integers:
    """Choose the sample numbers at which blocks begin, and the end: (n_blocks + 1,).

    A block is a group of whole trajectories where there are enough of them, else a stretch of the
    record.

    Parameters
    ----------
    data : record
    n_blocks : number of blocks at most
    one_per_trajectory : whether each trajectory is a block
    whole : whether eight trajectories are enough; else it takes as many as there are to be blocks
    """
    numbers, first = np.unique(data.segments[:, 2], return_index=True)
    starts = data.segments[np.sort(first), 0]
    end = int(data.segments[-1, 1])
    if one_per_trajectory:
        return np.append(starts, end)
    n_blocks = max(1, min(n_blocks, data.n_increments // MINIMUM_INCREMENTS))
    if numbers.size >= (8 if whole else n_blocks):
        targets = np.linspace(starts[0], end, min(n_blocks, numbers.size) + 1)[1:-1]
        inner = starts[np.unique(np.searchsorted(starts, targets).clip(1, numbers.size - 1))]
    else:
        inner = np.linspace(starts[0], end, n_blocks + 1)[1:-1].astype(np.int64)
    return np.concatenate([[starts[0]], inner, [end]]).astype(np.int64)


def chunks(
    data: Trajectories,
    scales: Scales,
    edges: Integers,
    windows: Windows = PAIRS,
    *,
    period: float | None = None,
    every: int = 1,
    joined: bool = False,
) -> Iterator[Chunk]:
    """Walk all windows inside segments, block by block.

    Parameters
    ----------
    data : record of one variable
    scales : its internal units
    edges : (n_blocks + 1,) samples between which blocks lie, or (n_blocks, 2) first and one past
        last
    windows : windows to walk
    period : period of the state, or None [state]
    every : k, to walk only each k-th chunk
    joined : whether neighbouring small chunks become one, of the block of the first, for sums that
        do not ask for the block; no window then follows one of another block
    """
    first_of, last_of = data.segments[:, 0], data.segments[:, 1]
    before = len(windows.past)
    span = before + (windows.n_points - 1) * windows.stride
    start_time = _trajectory_starts(data)
    for block, begin, end, starts in _spans(edges, every, joined):
        values = np.asarray(data.states[begin : end + span, 0])
        times = np.asarray(data.times[begin : end + span])
        n = len(values) - span
        if n <= 0:
            continue
        index = np.arange(begin, begin + n)
        segment = _segment_of(index, last_of)
        inside = (index >= first_of[segment]) & (index + span < last_of[segment])
        points = [
            slice(before + k * windows.stride, before + k * windows.stride + n)
            for k in range(windows.n_points)
        ]
        steps = np.array([times[b] - times[a] for a, b in pairwise(points)])
        if windows.longest_step < np.inf:
            inside &= (steps <= windows.longest_step).all(axis=0)
        if windows.even:
            inside &= np.ptp(steps, axis=0) <= 0.02 * steps[0]
        if before:
            mean_step = (times[points[0]] - times[:n]) / before
            inside &= np.abs(mean_step * windows.stride - steps[0]) <= 0.02 * steps[0]
            steps = np.concatenate([steps[:1], steps])
        if windows.between != EVERYWHERE:
            first = values[max(before - 1, 0) :][:n]
            inside &= (first >= windows.between[0]) & (first <= windows.between[1])
        if not inside.any():
            continue
        follows = np.zeros(n, dtype=np.bool_)
        follows[1:] = inside[1:] & inside[:-1] & (segment[1:] == segment[:-1])
        follows[[start - begin for start in starts if start < begin + n]] = False
        extra = int(before > 0)
        states = np.empty((windows.n_points + extra, n))
        states[extra] = (values[points[0]] - scales.origin) / scales.unit
        if period is not None:
            states[extra] -= 2 * np.round(states[extra] / 2)
        for k, (a, b) in enumerate(pairwise(points), start=extra):
            states[k + 1] = states[k] + _difference(values, a, b, period) / scales.unit
        if before:
            for k, weight in enumerate(windows.past):
                earlier = slice(before - 1 - k, before - 1 - k + n)
                distance = _difference(values, points[0], earlier, period)
                states[0] = (states[0] if k else states[1]) + weight * distance / scales.unit
            if period is not None:
                states -= 2 * np.round(states[0] / 2)
        keep = slice(None) if inside.all() else inside
        yield Chunk(
            block=block,
            states=states[:, keep],
            steps=steps[:, keep] / scales.time,
            follows=follows[keep],
            elapsed=((times[:n] - start_time[segment]) / scales.time)[keep],
        )


def _difference(values: Floats, a: slice, b: slice, period: float | None) -> Floats:
    """Compute the distance from samples to others, the shorter way round where periodic."""
    return shorter(values[b] - values[a], period)


def shorter(difference: Floats, period: float | None) -> Floats:
    """Compute the shorter way round of a difference, if periodic; (n,) → (n,)."""
    if period is not None:
        difference = difference - period * np.round(difference / period)
    return np.asarray(difference)


def _spans(edges: Integers, every: int, joined: bool) -> Iterator[tuple[int, int, int, list[int]]]:
    """Yield the block of each chunk, its first sample, one past its last, and its joints."""
    of_blocks = enumerate(pairwise(edges) if edges.ndim == 1 else edges)
    single = (
        (b, at, min(at + CHUNK, int(end)))
        for b, (first, end) in of_blocks
        for at in range(int(first), int(end), CHUNK)
    )
    last: tuple[int, int, int, list[int]] | None = None
    for block, begin, end in islice(single, None, None, every):
        if last is not None and joined and last[2] == begin and end - last[1] <= CHUNK:
            last = (last[0], last[1], end, [*last[3], begin])
            continue
        if last is not None:
            yield last
        last = (block, begin, end, [])
    if last is not None:
        yield last


def _segment_of(index: Integers, last_of: Integers) -> Integers:
    """Find the segment of each of these consecutive samples, or of the next one; (n,)."""
    first, last = np.searchsorted(last_of, index[[0, -1]], side="right").clip(max=len(last_of) - 1)
    if first == last:
        return np.full(len(index), first)
    return np.searchsorted(last_of, index, side="right").clip(max=len(last_of) - 1)
