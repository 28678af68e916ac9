"""Rounding of the samples: the quantum of their grid, and the law of the error that it makes.

The error e of x rounded to multiples of q is a function of x, and yet noise: where x is spread
smoothly over a quantum, e is uniform, of variance q²/12, and uncorrelated with what x does next.
Its own correlation over a step of variance v is known, too (Widrow and Kollár 2008).
"""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import brentq

from worker.identification.data.trajectories import Trajectories, shorter
from worker.identification.sums.rules import ScalarNoise

Floats = NDArray[np.float64]

SAMPLES = 20_000
"""Samples from which the grid is read."""

FINEST = 1e-3
"""Quantum, in root mean squares of the different increments, below which there is none."""

ON_GRID = 1e-3
"""Distance of a value from its grid, in quanta, that the arithmetic of decimals leaves."""

HARMONICS = 200
"""Harmonics of the sawtooth that are summed; steps of a hundredth of a quantum need as many."""

FARTHEST = 2.0
"""Quanta per step's deviation up to which rounding acts like independent noise."""

CERTAIN = 4.0
"""Standard errors that the steps' covariance is from that of rounding where there is none.

It must be less than half of it, too, since a drift that is fitted takes up a part."""

MATERIAL = 0.5
"""Share of the diffusion's least relative error, √(2/n), beyond which rounding is corrected for."""


def quantum_of(data: Trajectories, period: float | None = None) -> float:
    """Measure the quantum of one variable [state]; 0 where the values lie on no grid.

    It is read off the increments: values that were rounded and then wrapped lie on no grid if the
    period is no multiple of the quantum, and trajectories may have grids of their own.

    Parameters
    ----------
    data : record
    period : period of the state, or None [state]
    """
    first, stop = data.segments[:, 0], data.segments[:, 1]
    left = np.arange(0, len(data.states) - 1, max(1, len(data.states) // SAMPLES))
    segment = np.searchsorted(stop, left, side="right").clip(max=len(stop) - 1)
    left = left[(left >= first[segment]) & (left + 1 < stop[segment])]
    here, there = (np.asarray(data.states[k, 0], dtype=np.float64) for k in (left, left + 1))
    levels = np.unique(np.append(shorter(there - here, period), 0.0))
    gaps = np.diff(levels)
    # Nearer levels are one, but for the arithmetic of many turns: so fine a grid does not matter.
    gaps = gaps[gaps > FINEST * np.sqrt((levels**2).mean())]
    if not gaps.size:
        return 0.0
    steps = levels / gaps.min()
    counts = np.abs(np.round(steps))
    # The least gap has the rounding error of one decimal, the range has that of thousands.
    quantum = float(gaps.min() * np.median((np.abs(steps) / counts.clip(min=1))[counts > 0]))
    off = levels / quantum
    return quantum if np.abs(off - np.round(off)).max() < ON_GRID else 0.0


@dataclass(frozen=True, slots=True)
class Rounding:
    """Rounding of samples that is coarse enough to matter; internal units.

    quantum    q
    variance   variance of the process's own steps, without the rounding
    stride     samples from one to the next that are far enough apart
    """

    quantum: float
    variance: float
    stride: int

    @property
    def noise(self) -> ScalarNoise:
        """Measurement noise as which the rounding acts, between samples a stride apart."""
        step = self.stride * self.variance
        shared = (shared_error(step, self.quantum), shared_error(3 * step, self.quantum))
        return ScalarNoise(self.quantum**2 / 12, known=True, shared=shared)


def rounding_of(
    quantum: float, n_increments: int, mean_square: float, covariance: float, error: float
) -> Rounding | None:
    """Measure the rounding of one variable; None where there is none that matters.

    Counts lie on a grid, too, without being rounded: their neighbouring steps are not
    anticorrelated as those of rounded values are.

    Parameters
    ----------
    quantum : quantum of the values, internal units
    n_increments : number of increments
    mean_square : that of the increments, internal units
    covariance, error : covariance of neighbouring residuals, internal units, and its standard error
    """
    if not quantum**2 / 6 > MATERIAL * np.sqrt(2 / n_increments) * mean_square:
        return None
    variance = own_variance(mean_square, quantum)
    one, two = (shared_error(k * variance, quantum) for k in (1, 2))
    expected = -(quantum**2) / 12 * (1 - 2 * one + two)
    if covariance > expected / 2 and covariance - expected > CERTAIN * error:
        return None
    stride = int(np.ceil((quantum / FARTHEST) ** 2 / variance))
    return Rounding(quantum, variance, max(1, min(stride, n_increments // 200)))


def own_variance(mean_square: float, quantum: float) -> float:
    """Compute the variance v of steps whose rounded values have this mean square.

    It solves v + (q²/6)(1 − shared error of v) = mean square.

    Parameters
    ----------
    mean_square : mean square of the rounded steps [state²]
    quantum : q [state]
    """

    def beyond(v: float) -> float:
        return v + quantum**2 / 6 * (1 - shared_error(v, quantum)) - mean_square

    return float(brentq(beyond, 0.0, mean_square))


def shared_error(variance: float, quantum: float) -> float:
    """Compute the correlation of the rounding errors of two samples whose distance has a variance.

    It is (6/π²) Σ_k k⁻² exp(−2π²k² v/q²): below 0.005 where the distance has a deviation of half a
    quantum.

    Parameters
    ----------
    variance : v, mean square distance [state²]
    quantum : q [state]
    """
    k = np.arange(1, HARMONICS + 1)
    decay = np.exp(-2 * (np.pi * k / quantum) ** 2 * variance)
    return float((decay / k**2).sum() / (1 / k**2).sum())
