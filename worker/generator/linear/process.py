"""Linear processes in any number of coordinates, dX = J (X − m) dt + σ dW with constant noise.

Their stationary distribution and their rates are known in closed form.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from heapq import heapify, heappop, heappush

import numpy as np
from numpy.typing import NDArray

from worker.generator.linear.fixed_points import gaussian_covariance
from worker.generator.process import DiffusionProcess, FloatArray, read_only

SAME = 1e-9
"""Relative difference of coefficients between states below which they count as constant."""
SPREAD = 1e-10
"""Smallest eigenvalue of a correlation matrix below which the distribution has no density."""


@dataclass(frozen=True, slots=True, eq=False)
class LinearProcess:
    """Process with the drift J (x − m).

    jacobian  (d, d) J [1/time]
    noise     (d, d) a [state²/time]
    origin    (d,) a point near m [state]
    push      (d,) drift at the origin [state/time]
    """

    jacobian: FloatArray
    noise: FloatArray
    origin: FloatArray
    push: FloatArray

    @property
    def covariance(self) -> FloatArray | None:
        """Covariance (d, d) of the stationary distribution [state²]; None where there is none."""
        return gaussian_covariance(self.jacobian, self.noise)

    @property
    def mean(self) -> FloatArray:
        """Mean m (d,) [state]; defined where J is regular. What is zero to rounding is zero."""
        away = np.linalg.solve(self.jacobian, self.push)
        mean, rounding = self.origin - away, 64 * np.finfo(float).eps
        return np.where(np.abs(mean) < rounding * (np.abs(self.origin) + np.abs(away)), 0.0, mean)

    @property
    def second_order(self) -> bool:
        """Whether the second half of the coordinates are the velocities of the first."""
        d, half = len(self.jacobian), len(self.jacobian) // 2
        if d % 2:
            return False
        moved = self.jacobian[:half] - np.eye(half, d, half)
        # Means over a distribution have rounding errors.
        return bool(np.max(np.abs(moved)) < SAME and not self.noise[:half].any())

    def has_density(self, covariance: FloatArray) -> bool:
        """Return whether the noise reaches every direction, if only through the drift."""
        scale = np.sqrt(np.maximum(np.diag(covariance), np.finfo(float).tiny))
        return bool(np.linalg.eigvalsh(covariance / np.outer(scale, scale))[0] > SPREAD)

    def rates(self, count: int) -> NDArray[np.complex128]:
        """Return the slowest eigenvalues of −L (count,) [1/time].

        They are the sums of eigenvalues of −J with whole numbers that are not all zero. A conjugate
        pair is not cut: there may be one more.
        """
        basic = -np.linalg.eigvals(self.jacobian)
        # Each sum grows from a slower one by a rate no earlier in the list than its last, so that
        # none is found twice.
        waiting = [(rate.real, k, rate) for k, rate in enumerate(basic)]
        heapify(waiting)
        found: list[complex] = []
        while len(found) <= count:
            _, last, total = heappop(waiting)
            found.append(total)
            for k in range(last, len(basic)):
                heappush(waiting, (total.real + basic[k].real, k, total + basic[k]))
        slowest, sums = found[0].real, np.array(found, dtype=np.complex128)
        sums.imag[np.abs(sums.imag) < 1e-12 * np.abs(sums)] = 0.0
        sums = sums[np.lexsort((-sums.imag, np.abs(sums.imag), np.round(sums.real / slowest, 9)))]
        cut = count < len(sums) and sums[count - 1].imag > 0
        return np.asarray(sums[: count + cut])

    def circulation(self, covariance: FloatArray) -> float | None:
        """Return ½⟨x b_y − y b_x⟩ [state²/time]; None unless there are two positions."""
        if len(covariance) != 2 or self.second_order:
            return None
        moment = self.jacobian @ covariance
        return float(moment[1, 0] - moment[0, 1]) / 2

    def entropy_production(self, covariance: FloatArray) -> float | None:
        """Return tr(D⁻¹ Q S⁻¹ Qᵀ) [1/time]; None for singular noise.

        D = a/2, and Q = J S + D is the antisymmetric part of the flow. Of second order it is
        ⟨(Γv)ᵀ D⁻¹ Γv⟩ − tr Γ, with the friction Γ and D of the velocities.
        """
        if self.second_order:
            half = len(covariance) // 2
            friction, spread = -self.jacobian[half:, half:], self.noise[half:, half:] / 2
            if np.linalg.eigvalsh(spread)[0] <= 1e-12 * np.trace(spread):
                return None
            lost = np.trace(friction)
            heat = np.trace(
                friction.T @ np.linalg.solve(spread, friction) @ covariance[half:, half:]
            )
            return 0.0 if abs(heat - lost) < SAME * lost else float(heat - lost)
        scale = np.sqrt(np.diag(covariance))
        half, s = self.noise / np.outer(scale, scale) / 2, covariance / np.outer(scale, scale)
        if np.linalg.eigvalsh(half)[0] <= 1e-12 * np.trace(half):
            return None
        q = self.jacobian * scale / scale[:, None] @ s + half
        return float(np.trace(np.linalg.solve(half, q) @ np.linalg.solve(s, q.T)))


def gaussian_density(
    mean: FloatArray, covariance: FloatArray, grid: Sequence[FloatArray]
) -> FloatArray:
    """Return the Gaussian density (n₀, n₁) on a grid of two coordinates [1/state²].

    Parameters
    ----------
    mean, covariance : (2,) [state] and (2, 2) [state²]
    grid : points of both coordinates [state]
    """
    away = np.stack(np.meshgrid(*grid, indexing="ij"), axis=-1) - mean
    exponent = -0.5 * np.einsum(
        "...i,ij,...j->...", away, np.linalg.inv(covariance), away, optimize=True
    )
    return np.asarray(np.exp(exponent) / (2 * np.pi * np.sqrt(np.linalg.det(covariance))))


def linear_view(
    process: DiffusionProcess, around: FloatArray, scale: FloatArray
) -> LinearProcess | None:
    """Return the process as a linear one; None where its coefficients are not those of one.

    The drift is of first degree, the noise is constant, and every coordinate is open.

    Parameters
    ----------
    process : process
    around, scale : (d,) centre and lengths of the region in which coefficients are tried [state]
    """
    d = process.dimension
    if any(period is not None for period in process.periods) or any(
        np.isfinite(end) for ends in process.domain for end in ends
    ):
        return None
    x = around + scale * np.random.default_rng(0).uniform(-3, 3, (24, d))
    b = process.drift(np.vstack([around, x]))
    jacobian, a = process.drift_jacobian(x), process.diffusion(x)
    units = np.outer(1 / scale, scale)  # These units make Jacobians comparable between coordinates.
    size = float(np.max(np.abs(jacobian * units)))
    noise = np.max(np.abs(a / np.outer(scale, scale)))
    straight = np.abs(jacobian - jacobian[0]) * units <= SAME * size
    constant = np.abs(a - a[0]) / np.outer(scale, scale) <= SAME * noise
    if not (np.all(np.isfinite(b)) and straight.all() and constant.all()):
        return None
    noise = (a[0] + a[0].T) / 2
    jacobian, around, push = np.array(jacobian[0]), np.array(around), np.array(b[0])
    return LinearProcess(*map(read_only, (jacobian, noise, around, push)))


def mean_linear_view(
    process: DiffusionProcess, mean: FloatArray, covariance: FloatArray
) -> LinearProcess:
    """Return the linear process with a process's mean slope, drift and noise under a Gaussian.

    Mean, covariance and the rates of −J are those of the process to first order in its distance
    from a linear process with this stationary distribution, equation (G60). The means are exact to
    degree five.

    Parameters
    ----------
    process : process
    mean, covariance : (d,) [state] and (d, d) [state²]
    """
    d = len(mean)
    nodes, weights = np.array([-np.sqrt(3), 0.0, np.sqrt(3)]), np.array([1, 4, 1]) / 6
    grid = np.stack(np.meshgrid(*[nodes] * d, indexing="ij"), axis=-1).reshape(-1, d)
    weight = np.prod(np.meshgrid(*[weights] * d, indexing="ij"), axis=0).ravel()
    x = mean + grid @ np.linalg.cholesky(covariance).T
    jacobian, noise, push = (
        np.tensordot(weight, f(x), axes=1)
        for f in (process.drift_jacobian, process.diffusion, process.drift)
    )
    return LinearProcess(jacobian, (noise + noise.T) / 2, np.array(mean), push)
