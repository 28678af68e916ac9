"""Covariance of sums over windows that share increments and measurement noise (method.md §10)."""

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy.signal import oaconvolve

from worker.identification.data.trajectories import Chunk
from worker.identification.sums.kernels import Kernels
from worker.identification.sums.measurement_noise import OVER_TWO

Floats = NDArray[np.float64]


@dataclass(frozen=True, slots=True, eq=False)
class Runs:
    """Windows of runs in which each starts one sample after the one before it.

    instrument   (n,) states z of the windows' instruments, internal units
    kernels      (n_kernels, n) kernels there
    step         (n,) h
    run          (n,) number of the run
    """

    instrument: Floats
    kernels: Floats
    step: Floats
    run: NDArray[np.int_]


def runs_of(walk: Iterator[Chunk], kernels: Kernels) -> Runs:
    """Collect the windows of a walk.

    Parameters
    ----------
    walk : windows in chunks
    kernels : test functions
    """
    states, steps, follows = [], [], []
    for chunk in walk:
        after = chunk.follows.copy()
        after[:1] = False
        states.append(chunk.left)
        steps.append(chunk.steps[1])
        follows.append(after)
    instrument = np.concatenate(states)
    return Runs(
        instrument,
        kernels.at(instrument),
        np.concatenate(steps),
        np.cumsum(~np.concatenate(follows)),
    )


@dataclass(frozen=True, slots=True, eq=False)
class Overlaps:
    """Residuals r of (M17) in windows that overlap, of which the covariance is known.

    stride      m, samples from one point of a window to the next
    diffusion   (n,) a of each window
    noise       (n,) variance of its measurement noise; negative where blur is more
    rate        mean −b′, per internal unit of time
    """

    runs: Runs
    stride: int
    diffusion: Floats
    noise: Floats
    rate: float

    def alone(self, values: Floats) -> Floats:
        """Compute Σ_n u_n u_nᵀ a h, as if windows were independent; (k, k) of (n, k)."""
        return np.asarray((values * (self.diffusion * self.runs.step)[:, None]).T @ values)

    def covariance(self, values: Floats) -> Floats:
        """Compute Σ_n Σ_l u_n u_{n+l}ᵀ ⟨r_n r_{n+l}⟩ of values u_n of the past; (k, k) of (n, k).

        Increments share 2m − l steps of the motion. The noise of y₀, y₁ and y₂ has the factors
        −1 + φ, 4φ and 1 + φ, φ = rate · h/3.
        """
        m, runs = self.stride, self.runs
        # Runs stand 2m rows apart, so that none reaches the next one.
        rows = np.arange(len(runs.run)) + 2 * m * (runs.run - runs.run[0])
        moved = (2.0 * m - np.arange(2 * m + 1)) / m
        out = _summed(values * np.sqrt(self.diffusion * runs.step)[:, None], rows, moved)
        of_points = self.rate * float(runs.step.mean()) * np.array(OVER_TWO)
        of_points += [-1.0, 0.0, 1.0]
        shared = np.zeros(2 * m + 1)
        for lag in range(3):
            shared[lag * m] = of_points[: 3 - lag] @ of_points[lag:]
        for sign in (1.0, -1.0):
            size = np.sqrt((sign * self.noise).clip(min=0))
            if size.any():
                out += sign * _summed(values * size[:, None], rows, shared)
        return out


def _summed(values: Floats, rows: NDArray[np.int_], by_lag: Floats) -> Floats:
    """Compute Σ_n Σ_l c_|l| u_n u_{n+l}ᵀ of rows u_n at their places; (k, k)."""
    placed = np.zeros((int(rows[-1]) + 1, values.shape[1]))
    placed[rows] = values
    kernel = by_lag.copy()
    kernel[0] /= 2
    half = placed.T @ oaconvolve(placed, kernel[:, None], axes=0)[: len(placed)]
    return np.asarray(half + half.T)
