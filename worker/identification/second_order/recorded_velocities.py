"""Which columns of a record are velocities of others: dx = k v dt holds for them, as for no other.

Between two samples of dv = F dt + σ dW the trapezoid misses ∫ v ds by the area between a Brownian
bridge and its chord, of variance a Δt³/12, while (Δv)² has the mean a Δt. A record that was
simulated step by step has x₊ = x + v Δt with either end's v, which is the trapezoid and ∓ ½ Δv Δt.
So Δx is fitted by k (v + v₊) Δt/2 + κ (v₊ − v) Δt, and what is left may be a twelfth of k² (Δv Δt)²
and rounding, without memory. A drift that is not a velocity alone leaves its difference, which
outweighs the rest the more, the finer the sampling.

Velocities that were computed from the positions are told by this: they are one linear function of
neighbouring positions at every sample.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from worker.identification.data.trajectories import LARGEST_SIZE, SMALLEST_SIZE, Trajectories
from worker.identification.sums.rounding import quantum_of

Floats = NDArray[np.float64]

STRETCHES, LONGEST_STRETCH = 50, 1000
"""Stretches spread over the record in which columns are compared, and samples of each at most."""

FEWEST = 100
"""Fewest increments that tell a velocity."""

EXPLAINED = 0.3
"""Share of the increments' mean square that a velocity may leave."""

BRIDGE = 1.5
"""Largest mean square that is left, in twelfths of k² times that of Δv Δt less the force's."""

STEP = 0.55
"""Largest |κ/k|; ½ for a record that was simulated step by step."""

EXACT = 1e-8
"""Relative mean square up to which a difference is one of arithmetic."""

CERTAIN = 4.0
"""Standard errors within which a difference is chance."""

PRECISE = 0.01
"""Largest relative standard error of a factor k that is told."""

REACH = 5
"""Neighbours on each side from which a velocity may have been computed."""

NEIGHBOURS = tuple(m for m in range(-REACH, REACH + 1) if m)

EVEN = 0.01
"""Relative difference of sampling intervals up to which all are taken for one."""

INDEPENDENT, ALIKE = 0.1, 0.7
"""Correlation of neighbouring kicks up to which, and from which, differences of positions are the
velocities of an integrator."""

SMOOTH = 0.01
"""Share of (Δv Δt)² below which a path is not kicked."""

RESOLVED = 1.0
"""Largest mean square of Δv, in those of v, that the trapezoid is compared at."""

LARGEST = 0.1
"""Largest relative difference from a factor between units."""

UNITS = tuple(
    float(f"{m}e{n}") ** power for n in range(13) for m in (1, 6, 36) for power in (1, -1)
)
"""Factors between units: powers of ten, and minutes and hours with them."""

Source = Literal["instant", "secants"]


@dataclass(frozen=True, slots=True)
class RecordedVelocity:
    """Column v that is the velocity of a column x: dx = factor · v dt.

    position, velocity   numbers of the columns
    factor               1 where the velocity is in units of the position over that of time
    error                standard error of the factor; 0 where it is 1, or one between units
    source               whether v is the velocity at an instant, or differences of x
    """

    position: int
    velocity: int
    factor: float
    error: float
    source: Source


def recorded_velocities(
    data: Trajectories, periods: Sequence[float | None]
) -> tuple[RecordedVelocity, ...]:
    """Find the columns that are velocities of others, one of each position.

    Parameters
    ----------
    data : record
    periods : period of each variable that is an angle [state], else None
    """
    d = data.dimension
    if d < 2:
        return ()
    stretches = list(_stretches(data, periods))
    if sum(len(t) - 1 for t, _ in stretches) < FEWEST:
        return ()
    size = max(float(np.abs(x).max()) for _, x in stretches)
    if not SMALLEST_SIZE < size < LARGEST_SIZE:
        return ()
    quanta = [
        quantum_of(Trajectories(data.states[:, i : i + 1], data.times, data.segments), periods[i])
        for i in range(d)
    ]
    found = [
        pair
        for i in range(d)
        for j in range(d)
        if i != j and periods[j] is None
        if (pair := _compared(stretches, i, j, quanta[i], quanta[j])) is not None
    ]
    # Of a rotation without noise, dx = y dt and dy = −x dt, each would be the other's velocity.
    found.sort(key=lambda pair: abs(np.log(abs(pair.factor))))
    chosen: list[RecordedVelocity] = []
    for pair in found:
        taken = any(
            pair.position == other.position
            or pair.velocity == other.velocity
            or (pair.position, pair.velocity) == (other.velocity, other.position)
            for other in chosen
        )
        if not taken:
            chosen.append(pair)
    return tuple(sorted(chosen, key=lambda pair: pair.position))


def _stretches(
    data: Trajectories, periods: Sequence[float | None]
) -> Iterator[tuple[Floats, Floats]]:
    """Yield times (n,) and states (n, d) of stretches spread over the record, angles unwrapped."""
    total = int((data.segments[:, 1] - data.segments[:, 0]).sum())
    every = max(1, total // (STRETCHES * LONGEST_STRETCH))
    taken = 0
    for start, stop, _ in data.segments.tolist():
        for first in range(start, stop, LONGEST_STRETCH * every):
            last = min(first + LONGEST_STRETCH, stop)
            if last - first < 3 or taken > 2 * STRETCHES * LONGEST_STRETCH:
                continue
            x = np.array(data.states[first:last], dtype=np.float64)
            for i, period in enumerate(periods):
                if period is not None:
                    x[:, i] = np.unwrap(x[:, i], period=period)
            taken += last - first
            yield np.asarray(data.times[first:last], dtype=np.float64), x


def _compared(
    stretches: list[tuple[Floats, Floats]], i: int, j: int, quantum: float, of_velocity: float
) -> RecordedVelocity | None:
    """Compare column j with the changes of column i; None where it is no velocity of it."""
    here = _changes(stretches, i, j, 1)
    square, size = float(np.mean(here.moved**2)), float(np.mean(here.area**2))
    if not (square > 0 and size > 0):
        return None
    correlation = float(np.mean(here.moved * here.area)) / np.sqrt(square * size)
    if correlation**2 < EXPLAINED:
        return None
    fitted = here.fitted(here.velocity)
    (k, kappa), left, variance = fitted.values.tolist(), fitted.left, fitted.variance
    turns, steps = k**2 * float(np.mean(here.turn**2)), float(np.mean(here.step**2))
    rounding = quantum**2 / 6 + (k**2 / 4 + kappa**2) * steps * of_velocity**2 / 6
    error = float(np.sqrt(max(variance, EXACT**2 * square) / len(left) / size))
    if variance <= EXACT * min(square, turns) + CERTAIN * min(rounding, SMOOTH * turns):
        coarse = min(turns / (k**2 * size) / 6, PRECISE)
        factor, allowed = _between_units(k, CERTAIN * error + abs(k) * coarse)
        simulated = abs(abs(kappa / k) - 0.5) > 0.01 or _is_kicked(stretches, i, j)
        source: Source = "instant" if simulated else "secants"
        return RecordedVelocity(i, j, factor, allowed / CERTAIN, source)
    # Of a path without noise, too, velocities are a function of the positions around them.
    smooth = variance < SMOOTH * turns
    if not smooth and _is_of_neighbours(stretches, i, j, quantum, of_velocity):
        return RecordedVelocity(i, j, k, error, "secants")
    relative = turns / (k**2 * size)
    if abs(kappa / k) > STEP or relative > RESOLVED or variance > EXPLAINED * square:
        return None
    return _of_a_path(stretches, i, j, rounding)


@dataclass(frozen=True, slots=True, eq=False)
class _Changes:
    """Changes between samples some steps apart; (n,) each.

    step    Δt
    moved   Δx
    area    (v + v₊) Δt/2
    turn    (v₊ − v) Δt
    place   (x + x₊)/2, less its mean
    """

    step: Floats
    moved: Floats
    area: Floats
    turn: Floats
    place: Floats

    @property
    def velocity(self) -> Floats:
        """Columns that the changes of a position follow; (n, 2)."""
        return np.column_stack([self.area, self.turn])

    @property
    def with_states(self) -> Floats:
        """The same beside terms of another drift: 1, x, v², v³; (n, 6)."""
        v = self.area / self.step
        v /= np.sqrt(np.mean(v**2))
        others = [np.ones_like(v), self.place, v**2, v**3]
        return np.column_stack([self.area, self.turn, *(self.step * f for f in others)])

    def fitted(self, columns: Floats) -> "_Fitted":
        """Fit columns (n, m) to the changes of the position."""
        norms = np.sqrt(np.mean(columns**2, axis=0))
        scaled = columns / np.where(norms > 0, norms, 1.0)
        inverse = np.linalg.pinv(scaled.T @ scaled, hermitian=True)
        values = inverse @ (scaled.T @ self.moved)
        left = self.moved - scaled @ values
        variance = float(np.mean(left**2))
        return _Fitted(values / norms, np.sqrt(np.diag(inverse) * variance) / norms, left, variance)


@dataclass(frozen=True, slots=True, eq=False)
class _Fitted:
    """Coefficients with their standard errors, what is left (n,), and its mean square."""

    values: Floats
    errors: Floats
    left: Floats
    variance: float

    def corrected(self, other: "_Fitted", column: int) -> tuple[float, float]:
        """Return a coefficient without the trapezoid's error, and how far it may be off.

        other   the same at twice the step, with twice the errors
        """
        bias = float(other.values[column] - self.values[column]) / 3
        # A record that was simulated at its own step has errors of first order.
        return (
            float(self.values[column]) - bias,
            2 * CERTAIN * float(self.errors[column]) + 3 * abs(bias),
        )


def _changes(stretches: list[tuple[Floats, Floats]], i: int, j: int, lag: int) -> _Changes:
    """Take the changes of columns i and j between samples `lag` apart."""
    step = np.concatenate([t[lag:] - t[:-lag] for t, _ in stretches])
    moved, turn = (np.concatenate([x[lag:, m] - x[:-lag, m] for _, x in stretches]) for m in (i, j))
    place, mean = (
        np.concatenate([x[lag:, m] + x[:-lag, m] for _, x in stretches]) / 2 for m in (i, j)
    )
    return _Changes(step, moved, mean * step, turn * step, place - place.mean())


def _of_a_path(
    stretches: list[tuple[Floats, Floats]], i: int, j: int, rounding: float
) -> RecordedVelocity | None:
    """Check that what the trapezoid leaves is a bridge's, and depends on no state.

    The trapezoid's own error is four times as large at twice the step, and so taken out; a drift
    with another term is not.
    """
    near, far = (_changes(stretches, i, j, lag) for lag in (1, 2))
    here, there = near.fitted(near.velocity), far.fitted(far.velocity)
    k, error = here.corrected(there, 0)
    kicks = _kicks_of(stretches, i, j) * near.step
    bridge = k**2 * float(np.mean(kicks**2)) / 12
    size = float(np.mean(near.area**2))
    smooth = (float(np.mean(near.turn**2)) / size / 6) ** 2 * k**2 * size
    if here.variance > BRIDGE * bridge + CERTAIN * rounding + smooth:
        return None
    chance = CERTAIN * here.variance / np.sqrt(len(here.left))
    if _lasting(stretches, here.left) > chance + smooth:
        return None
    here, there = near.fitted(near.with_states), far.fitted(far.with_states)
    for column in range(2, near.with_states.shape[1]):
        value, allowed = here.corrected(there, column)
        if abs(value) > allowed:
            return None
    factor, error = _between_units(k, error)
    if error > CERTAIN * PRECISE * abs(factor):
        return None
    return RecordedVelocity(i, j, factor, error / CERTAIN, "instant")


def _between_units(k: float, allowed: float) -> tuple[float, float]:
    """Return a factor and how far it may be off, which is 0 of a factor between units."""
    for factor in UNITS:
        if abs(abs(k) - factor) < min(allowed, LARGEST * factor):
            return float(np.copysign(factor, k)), 0.0
    return k, allowed


def _kicks_of(stretches: list[tuple[Floats, Floats]], i: int, j: int) -> Floats:
    """Compute what a linear force leaves of the changes of a velocity; (n,)."""
    changed = np.concatenate([np.diff(s[:, j]) for _, s in stretches])
    before = np.concatenate([s[:-1, [i, j]] for _, s in stretches])
    before = (before - before.mean(axis=0)) / before.std(axis=0).clip(min=1e-300)
    columns = np.column_stack([np.ones(len(before)), before])
    return np.asarray(changed - columns @ np.linalg.lstsq(columns, changed, rcond=None)[0])


def _lasting(stretches: list[tuple[Floats, Floats]], left: Floats) -> float:
    """Compute the mean product of neighbouring residuals."""
    ends = np.cumsum([len(t) - 1 for t, _ in stretches])[:-1]
    products = left[1:] * left[:-1]
    return float(np.mean(np.delete(products, ends - 1)))


def _is_kicked(stretches: list[tuple[Floats, Floats]], i: int, j: int) -> bool:
    """Check whether differences of positions are the velocities of an integrator.

    Its kicks are independent, or alike where they are no noise. Those of secants of a sampled path
    are correlated by ¼, of a smoothed one by more, and of noisy positions negatively.
    """
    powers = [(p, q) for p in range(4) for q in range(4 - p)]
    x, v = (np.concatenate([s[:-1, m] for _, s in stretches]) for m in (i, j))
    kicks = np.concatenate([np.diff(s[:, j]) / np.diff(t) for t, s in stretches])
    x, v = ((y - y.mean()) / max(float(y.std()), 1e-300) for y in (x, v))
    terms = np.column_stack([x**p * v**q for p, q in powers])
    left = kicks - terms @ np.linalg.lstsq(terms, kicks, rcond=None)[0]
    near = _lasting(stretches, left) / max(float(np.mean(left**2)), 1e-300)
    return abs(near) < INDEPENDENT + CERTAIN / np.sqrt(len(left)) or near > ALIKE


def _is_of_neighbours(
    stretches: list[tuple[Floats, Floats]], i: int, j: int, quantum: float, of_velocity: float
) -> bool:
    """Check whether velocities are a linear function of the positions before and after.

    On an uneven clock it is the slope of the parabola through three samples.
    """
    here, columns, smallest, even = [], [], np.inf, True
    for t, s in stretches:
        h, n = np.diff(t), len(t)
        if n < 2 * REACH + 2:
            continue
        even &= bool(np.ptp(h) < EVEN * h[0])
        smallest = min(smallest, float(h.min()))
        middle = s[REACH:-REACH, i]
        near = [s[REACH + m : n - REACH + m, i] - middle for m in NEIGHBOURS]
        columns.append(np.column_stack([np.gradient(s[:, i], t)[REACH:-REACH] * smallest, *near]))
        here.append(s[REACH:-REACH, j])
    if not here:
        return False
    seen, around = np.concatenate(here), np.concatenate(columns)
    if not even:
        around = around[:, :1]
    unit = float(np.sqrt(np.mean(around**2))) or 1.0
    weights = np.linalg.lstsq(around / unit, seen, rcond=None)[0] / unit
    left = float(np.mean((seen - around @ weights) ** 2))
    rounding = (of_velocity**2 + 2 * float(np.sum(weights**2)) * quantum**2) / 12
    return left <= EXACT * float(np.var(seen)) + BRIDGE * rounding
