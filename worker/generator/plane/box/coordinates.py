"""Linear coordinates of the rectangle, in which noise and distribution lie along the axes."""

from dataclasses import dataclass

import numpy as np
from scipy.linalg import eigh

from worker.generator.process import DiffusionProcess, FloatArray, read_only


@dataclass(frozen=True, slots=True, eq=False)
class Chart:
    """Process in the coordinates u = matrix · (x − origin).

    process  process in its own coordinates x
    origin   (2,) [state]
    matrix   (2, 2) [1/state]; diagonal where an axis is an angle or ends
    inverse  (2, 2) [state]
    cut      the process is kept, by reflection, where its diffusion is positive in every direction
    """

    process: DiffusionProcess
    origin: FloatArray
    matrix: FloatArray
    inverse: FloatArray
    cut: bool = False

    def state(self, u: FloatArray) -> FloatArray:
        """Return x at u: (n, 2) → (n, 2)."""
        return self.origin + u @ self.inverse.T

    def coordinates(self, x: FloatArray) -> FloatArray:
        """Return u at x: (n, 2) → (n, 2)."""
        return (x - self.origin) @ self.matrix.T

    def drift(self, u: FloatArray) -> FloatArray:
        """Return the drift of u: (n, 2) → (n, 2) [1/time]."""
        return np.asarray(self.process.drift(self.state(u)) @ self.matrix.T, dtype=np.float64)

    def diffusion(self, u: FloatArray) -> FloatArray:
        """Return the diffusion of u without its negative part, (n, 2) → (n, 2, 2) [1/time]."""
        return without_negative_part(self.raw_diffusion(u))

    def raw_diffusion(self, u: FloatArray) -> FloatArray:
        """Return the diffusion of u as the model has it, (n, 2) → (n, 2, 2) [1/time]."""
        return np.asarray(
            self.matrix @ self.process.diffusion(self.state(u)) @ self.matrix.T, dtype=np.float64
        )

    def jacobian(self, u: FloatArray) -> FloatArray:
        """Return ∂(drift of u)/∂u: (n, 2) → (n, 2, 2) [1/time]."""
        return np.asarray(
            self.matrix @ self.process.drift_jacobian(self.state(u)) @ self.inverse,
            dtype=np.float64,
        )


def make_chart(
    process: DiffusionProcess,
    origin: FloatArray,
    covariance: FloatArray,
    noise: FloatArray,
    free: bool,
) -> Chart:
    """Return the chart in which `covariance` is the unit matrix and `noise` is diagonal.

    Parameters
    ----------
    process, origin : process, and the state (2,) at u = 0
    covariance : (2, 2) [state²]
    noise : (2, 2) mean diffusion [state²/time]
    free : whether the axes may be turned; otherwise only their units change
    """
    if free:
        # Both forms are had at once: covariance = inverse · inverseᵀ, noise = inverse · diag ·
        # inverseᵀ.
        scale = np.sqrt(np.diag(covariance))
        _, vectors = eigh(noise / np.outer(scale, scale), covariance / np.outer(scale, scale))
        matrix = vectors.T / scale
        # The axis that has most of the first coordinate comes first, so that swapped coordinates
        # give swapped answers.
        matrix = matrix[np.argsort(-np.abs(matrix[:, 0]) * scale[0], kind="stable")]
    else:
        matrix = np.diag(1 / np.sqrt(np.diag(covariance)))
    return Chart(
        process,
        read_only(origin.astype(float)),
        read_only(matrix),
        read_only(np.linalg.inv(matrix)),
    )


def lowest_diffusion(a: FloatArray) -> FloatArray:
    """Return the smaller eigenvalue of each tensor over the larger one's size: (n, 2, 2) → (n,).

    It is 0 where there is no noise.
    """
    half = (a[:, 0, 0] + a[:, 1, 1]) / 2
    radius = np.hypot((a[:, 0, 0] - a[:, 1, 1]) / 2, (a[:, 0, 1] + a[:, 1, 0]) / 2)
    return (half - radius) / np.where(np.abs(half) + radius > 0, np.abs(half) + radius, 1.0)


def without_negative_part(a: FloatArray) -> FloatArray:
    """Return the nearest tensors that are not negative in any direction (n, 2, 2)."""
    if (lowest_diffusion(a) >= 0).all():
        return a
    values, vectors = np.linalg.eigh((a + np.swapaxes(a, 1, 2)) / 2)
    return np.asarray(np.einsum("nik,nk,njk->nij", vectors, np.maximum(values, 0.0), vectors))
