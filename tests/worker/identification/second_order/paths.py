"""Exact paths of the harmonic oscillator, positions alone."""

import numpy as np
from numpy.typing import NDArray
from scipy.linalg import expm

Floats = NDArray[np.float64]


def harmonic(
    stiffness: float, friction: float, diffusion: float, dt: float, n: int, seed: int
) -> Floats:
    """Sample positions of dx = v dt, dv = −(k x + γ v) dt + σ dW from its stationary law; (n,)."""
    generator = np.array([[0.0, 1.0], [-stiffness, -friction]])
    a = np.diag([0.0, diffusion])
    # Van Loan's block exponential has the step and the covariance of its noise.
    block = expm(np.block([[-generator, a], [np.zeros((2, 2)), generator.T]]) * dt)
    step = block[2:, 2:].T
    noise = np.linalg.cholesky(step @ block[:2, 2:] + 1e-18 * np.eye(2))
    rng = np.random.default_rng(seed)
    state = np.sqrt(diffusion / 2 / friction) * rng.standard_normal(2) / [np.sqrt(stiffness), 1]
    out, normal = np.empty(n), rng.standard_normal((n, 2))
    for i in range(n):
        out[i] = state[0]
        state = step @ state + noise @ normal[i]
    return out
