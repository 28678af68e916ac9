"""Paths of the harmonic oscillator, exact, and of others by short steps."""

from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray
from scipy.linalg import expm

Floats = NDArray[np.float64]


def harmonic(
    stiffness: float, friction: float, diffusion: float, dt: float, n: int, seed: int
) -> Floats:
    """Sample positions of dx = v dt, dv = −(k x + γ v) dt + σ dW from its stationary law; (n,)."""
    return harmonic_states(stiffness, friction, diffusion, dt, n, seed)[:, 0]


def harmonic_states(
    stiffness: float, friction: float, diffusion: float, dt: float, n: int, seed: int
) -> Floats:
    """Sample positions and velocities of the same; (n, 2)."""
    generator = np.array([[0.0, 1.0], [-stiffness, -friction]])
    a = np.diag([0.0, diffusion])
    # Van Loan's block exponential has the step and the covariance of its noise.
    block = expm(np.block([[-generator, a], [np.zeros((2, 2)), generator.T]]) * dt)
    step = block[2:, 2:].T
    noise = np.linalg.cholesky(step @ block[:2, 2:] + 1e-18 * np.eye(2))
    rng = np.random.default_rng(seed)
    state = np.sqrt(diffusion / 2 / friction) * rng.standard_normal(2) / [np.sqrt(stiffness), 1]
    out, normal = np.empty((n, 2)), rng.standard_normal((n, 2))
    for i in range(n):
        out[i] = state
        state = step @ state + noise @ normal[i]
    return out


def oscillators(
    force: Callable[[Floats, Floats], Floats],
    diffusion: Callable[[Floats, Floats], Floats],
    dt: float,
    n: int,
    n_records: int,
    seed: int = 1,
) -> Floats:
    """Simulate positions of dx = v dt, dv = F dt + σ dW by Heun's rule; (n_records, n)."""
    rng = np.random.default_rng(seed)
    parts, out = 20, np.empty((n, n_records))
    h = dt / parts
    x, v = rng.standard_normal((2, n_records))
    for i in range(-200, n):
        for normal in rng.standard_normal((parts, n_records)):
            kick = np.sqrt(diffusion(x, v) * h) * normal
            middle, before = x + h / 2 * v, v
            first = force(middle, v)
            v = v + h / 2 * (first + force(middle, v + h * first + kick)) + kick
            x = x + h / 2 * (before + v)
        if i >= 0:
            out[i] = x
    return np.ascontiguousarray(out.T)
