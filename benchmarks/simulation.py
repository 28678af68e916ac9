"""Sample paths by Euler–Maruyama with substeps, for benchmarks, tests and the shipped example."""

from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]


def simulate(
    drift: Callable[[Floats], Floats],
    diffusion: Callable[[Floats], Floats],
    start: Floats,
    *,
    dt: float,
    n_steps: int,
    substeps: int = 1,
    burn_in: int = 0,
    seed: int,
) -> Floats:
    """Paths of dX = b dt + √a dW, all trajectories at once; (n_trajectories, n_steps + 1) [state].

    drift, diffusion   b and a of states (n_trajectories,)
    start              (n_trajectories,) [state]
    dt                 sampling interval [time]
    substeps           Euler–Maruyama steps in each interval (1: the paper's data)
    burn_in            sampling intervals discarded first
    """

    def moved(x: Floats, kicks: Floats) -> Floats:
        return x + drift(x) * (dt / substeps) + np.sqrt(diffusion(x)) * kicks

    x = np.asarray(start, dtype=np.float64)
    out = _walk(moved, x, x.shape, dt, n_steps, substeps, burn_in, seed)
    return np.ascontiguousarray(out.T)


def _walk(
    moved: Callable[[Floats, Floats], Floats],
    x: Floats,
    sources: tuple[int, ...],
    dt: float,
    n_steps: int,
    substeps: int,
    burn_in: int,
    seed: int,
) -> Floats:
    """Return (n_steps + 1, …) states after steps with white noise of this shape."""
    generator = np.random.default_rng(seed)
    root = np.sqrt(dt / substeps)
    out = np.empty((n_steps + 1, *x.shape))
    for n in range(-burn_in, n_steps + 1):
        if n >= 0:
            out[n] = x
        for kicks in root * generator.standard_normal((substeps, *sources)):
            x = moved(x, kicks)
    return out


SYSTEMS: dict[str, tuple[Callable[[Floats], Floats], Callable[[Floats], Floats]]] = {
    "ornstein-uhlenbeck": (lambda x: -x, lambda x: np.full_like(x, 0.49)),
    "double-well": (lambda x: x - x**3, lambda x: np.full_like(x, 0.25)),
    "multiplicative": (lambda x: -2 * x, lambda x: 0.25 * (1 + x**2)),
}
"""The source paper's three benchmarks."""


def simulate_system(
    drift: Callable[[Floats], Floats],
    noise: Callable[[Floats], Floats],
    start: Floats,
    *,
    dt: float,
    n_steps: int,
    substeps: int = 1,
    burn_in: int = 0,
    seed: int,
) -> Floats:
    """Return paths of dX = b dt + σ dW in d coordinates: (n_trajectories, n_steps + 1, d) [state].

    drift, noise   b (n, d) and σ (n, d, m) of states (n, d)
    start          (n_trajectories, d) [state]

    The other arguments are those of `simulate`.
    """

    def moved(x: Floats, kicks: Floats) -> Floats:
        return x + drift(x) * (dt / substeps) + np.einsum("nij,nj->ni", noise(x), kicks)

    x = np.asarray(start, dtype=np.float64)
    sources = len(x), noise(x).shape[2]
    out = _walk(moved, x, sources, dt, n_steps, substeps, burn_in, seed)
    return np.ascontiguousarray(out.transpose(1, 0, 2))
