"""Histograms, Kramers–Moyal points and residuals of a bounded sample, drawn beside the model."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from worker.generator.process import DiffusionProcess
from worker.identification.data.trajectories import Trajectories
from worker.validation.sample_blocks import MOST, pieces

Floats = NDArray[np.float64]
Range = tuple[float, float]

BINS = 60
JOINT_BINS = 32
"""Number of bins along each of two coordinates."""
RESIDUAL_BINS, RESIDUAL_END = 48, 6.0
LONGEST_STEP = 3.0
"""Longest increment in median steps: a longer one says little about the drift where it began."""
EVEN = 0.01
"""Relative difference of two steps up to which they are equal."""
FEW = 10
"""Number of increments below which a bin has no estimate."""


@dataclass(frozen=True, slots=True, eq=False)
class Bins:
    """Counts in equal bins; `edges` has one more entry."""

    edges: Floats
    counts: NDArray[np.int64]


@dataclass(frozen=True, slots=True, eq=False)
class KramersMoyal:
    """Conditional moments of the increments by bin, NaN where too few; equations (C7) and (C8).

    at                (n,) mean state [state]
    drift             (n,) [state/time]
    drift_error       (n,) standard error of the drift [state/time]
    diffusion         (n,) [state²/time]
    diffusion_error   (n,) standard error of the diffusion [state²/time]
    noise_corrected   whether the moments are conditional on the sample before, less the share of
                      the measurement noise
    """

    at: Floats
    drift: Floats
    drift_error: Floats
    diffusion: Floats
    diffusion_error: Floats
    noise_corrected: bool = False


@dataclass(frozen=True, slots=True, eq=False)
class Observed:
    """Histograms and moments of the data.

    n_samples        number of samples used
    histograms       of each variable
    residuals        of each variable, (Δx − b Δt) / √(a Δt + 2s²) with measurement noise s²; of a
                     model of second order of each velocity, (Δ²x − F Δt²) / √(⅔a Δt³ + 6s²)
    kramers_moyal    of one variable
    joint_edges      of the bins of two variables
    joint_counts     (JOINT_BINS, JOINT_BINS) of two variables
    """

    n_samples: int
    histograms: tuple[Bins, ...]
    residuals: tuple[Bins, ...]
    kramers_moyal: KramersMoyal | None = None
    joint_edges: tuple[Floats, Floats] | None = None
    joint_counts: NDArray[np.int64] | None = None


def observe(
    data: Trajectories,
    process: DiffusionProcess,
    where: Sequence[Range],
    step: float,
    most: int = MOST,
    noise: Sequence[float] = (),
    order: int = 1,
    recorded: int | None = None,
) -> Observed:
    """Return histograms and moments of up to `most` samples.

    Parameters
    ----------
    data : record
    process : identified model
    where : interval of each variable that is drawn, of an angle one whole turn [state]
    step : median sampling interval of the record [time]
    most : number of samples used at most
    noise : variances of the measurement noise, where the model was corrected for it [state²]
    order : order of the model; of order 2, the variables are positions and velocities
    recorded : number of variables that were recorded; the others are secants of these. None: all
    """
    periods = process.periods
    x, dx, dt = _increments(data, step, periods, most)
    places = [
        x[:, k] if period is None else low + np.mod(x[:, k] - low, period)
        for k, ((low, _), period) in enumerate(zip(where, periods, strict=True))
    ]
    histograms = tuple(
        _histogram(values, *ends, BINS) for values, ends in zip(places, where, strict=True)
    )
    starts = np.isfinite(dt)
    variances = np.array(noise, dtype=np.float64) if noise else np.zeros(len(where))
    # A position that its velocity moves has no noise.
    first_noisy = len(where) - len(where) // order
    residuals = tuple(
        _second_residuals(x, dx, dt, process, variances)
        if recorded is not None and recorded < len(where)
        else _residuals(x[starts], dx[starts], dt[starts], process, variances)[first_noisy:]
    )
    moments, edges, counts = None, None, None
    if len(where) == 1:
        state, change, time = places[0], dx[:, 0], dt
        if variances[0]:
            # An increment's own noise changed its first sample, which is no drift: (C8) conditions
            # on the sample before, which it left alone.
            state, change, time = state[:-1], change[1:], np.where(starts[:-1], dt[1:], np.nan)
        seen = np.isfinite(time)
        moments = _kramers_moyal(
            state[seen], change[seen], time[seen], histograms[0].edges, float(variances[0])
        )
    elif len(where) == 2:
        first, second = (np.linspace(*ends, JOINT_BINS + 1) for ends in where)
        edges = (first, second)
        counts = np.histogram2d(places[0], places[1], bins=[first, second])[0].astype(np.int64)
    return Observed(len(x), histograms, residuals, moments, edges, counts)


def _increments(
    data: Trajectories, step: float, periods: Sequence[float | None], most: int
) -> tuple[Floats, Floats, Floats]:
    """Return samples (n, d), the increments to the next, and their times (n,), NaN without one."""
    states, changes, times = [], [], []
    for start, stop in pieces(data.segments, 1, most):
        x = np.array(data.states[start:stop], dtype=np.float64)
        dt, dx = np.full(len(x), np.nan), np.zeros_like(x)
        dt[:-1] = np.diff(np.asarray(data.times[start:stop]))
        dt[dt > LONGEST_STEP * step] = np.nan
        dx[:-1] = np.diff(x, axis=0)
        states.append(x)
        changes.append(dx)
        times.append(dt)
    x, dx, dt = np.concatenate(states), np.concatenate(changes), np.concatenate(times)
    for k, period in enumerate(periods):
        if period is not None:
            dx[:, k] -= period * np.round(dx[:, k] / period)
    return x, dx, dt


def _histogram(values: Floats, low: float, high: float, bins: int) -> Bins:
    counts, edges = np.histogram(values, bins=bins, range=(low, high))
    return Bins(edges, counts)


def _residuals(
    x: Floats, dx: Floats, dt: Floats, process: DiffusionProcess, noise: Floats
) -> list[Bins]:
    with np.errstate(all="ignore"):
        b, a = process.drift(x), process.diffusion(x)
        found = [
            (dx[:, k] - b[:, k] * dt) / np.sqrt(a[:, k, k] * dt + 2 * noise[k])
            for k in range(x.shape[1])
        ]
    return [_standardised(u) for u in found]


def _second_residuals(
    x: Floats, dx: Floats, dt: Floats, process: DiffusionProcess, noise: Floats
) -> list[Bins]:
    """Return histograms of second differences of each position less the force, where steps agree.

    Kicks of diffusion a give second differences the variance ⅔ a Δt³.
    """
    d = x.shape[1] // 2
    even = np.zeros(len(dt), dtype=bool)
    even[1:] = np.abs(dt[1:] - dt[:-1]) <= EVEN * dt[:-1]
    middle = np.flatnonzero(even)
    at, step = x[middle], dt[middle]
    with np.errstate(all="ignore"):
        force, a = process.drift(at)[:, d:], process.diffusion(at)[:, d:, d:]
        found = [
            (dx[middle, k] - dx[middle - 1, k] - force[:, k] * step**2)
            / np.sqrt(2 / 3 * a[:, k, k] * step**3 + 6 * noise[k])
            for k in range(d)
        ]
    return [_standardised(u) for u in found]


def _standardised(residuals: Floats) -> Bins:
    seen = residuals[np.isfinite(residuals)]
    return _histogram(seen, -RESIDUAL_END, RESIDUAL_END, RESIDUAL_BINS)


def _kramers_moyal(x: Floats, dx: Floats, dt: Floats, edges: Floats, noise: float) -> KramersMoyal:
    inside = (x >= edges[0]) & (x < edges[-1])
    x, dx, dt = x[inside], dx[inside], dt[inside]
    n_bins = len(edges) - 1
    place = np.minimum(
        ((x - edges[0]) / (edges[-1] - edges[0]) * n_bins).astype(np.int64), n_bins - 1
    )

    def sums(values: Floats | None = None) -> Floats:
        return np.bincount(place, weights=values, minlength=n_bins).astype(np.float64)

    n, time = sums(), sums(dt)
    with np.errstate(all="ignore"):
        n[n < FEW] = np.nan
        drift = sums(dx) / time + 0 * n
        squares = sums((dx - drift[place] * dt) ** 2) / time
        drift_error, diffusion_error = np.sqrt(squares / time), squares * np.sqrt(2 / n)
        diffusion = squares - 2 * noise * sums() / time
        return KramersMoyal(
            sums(x) / n, drift, drift_error + 0 * n, diffusion, diffusion_error, noise > 0
        )
