"""Fixed points of a drift in several coordinates, and the Gaussian law next to a stable one."""

import numpy as np
from numpy.typing import NDArray
from scipy.linalg import solve_continuous_lyapunov
from scipy.optimize import linear_sum_assignment

from worker.generator.process import DiffusionProcess, FloatArray
from worker.generator.quantities.fixed_points import FixedPoint

STEPS = 60
"""Newton steps; a start that has not settled by then is given up."""
FEW_STEPS = 12
"""From a root of another drift, not far away."""
APART = 1e-6
"""Distance, in typical lengths, below which two roots are one."""

SAME = 1e-12
"""Difference of squared distances, over the largest eigenvalue's square, below which both are equally near."""


def fixed_points_near(
    process: DiffusionProcess, starts: FloatArray, scale: FloatArray
) -> tuple[FixedPoint, ...]:
    """The roots of the drift that Newton's method reaches from `starts` (n, d) inside the domain, sorted by their coordinates.

    scale  (d,) typical length of each coordinate, or (n, d) with one for each start [state]
    """
    x = np.array(starts, dtype=float)
    scale = np.broadcast_to(scale, x.shape)
    with np.errstate(all="ignore"):
        for _ in range(STEPS):
            step = _newton_step(process, x)
            # No longer than a typical length, so that each start finds a root in its own neighbourhood.
            x = x + step / np.maximum(np.max(np.abs(step) / scale, axis=1, keepdims=True), 1.0)
        step = _newton_step(process, x)
        settled = np.all(
            np.isfinite(x) & (np.abs(step) <= 1e-9 * scale + 1e-12 * np.abs(x)), axis=1
        )
    roots: list[FloatArray] = []
    for root, length in zip(x[settled], scale[settled], strict=True):
        at = _into_the_domain(process, np.where(np.abs(root) < 1e-11 * length, 0.0, root))
        if at is not None and all(np.max(np.abs(at - other) / length) > APART for other in roots):
            roots.append(at)
    return tuple(
        sorted((fixed_point_at(process, root) for root in roots), key=lambda point: point.at)
    )


def followed(process: DiffusionProcess, points: FloatArray, reach: FloatArray) -> FloatArray:
    """(n, d) the root next to each of `points` (n, d), which are roots of a drift like this one's; nan where Newton's method
    finds none within `reach` (n, d) of it, or outside the domain [state]."""
    x = np.array(points, dtype=float)
    with np.errstate(all="ignore"):
        for _ in range(FEW_STEPS):
            step = _newton_step(process, x)
            x = x + step / np.maximum(np.max(np.abs(step) / reach, axis=1, keepdims=True), 1.0)
        near = np.all(
            (np.abs(x - points) < reach) & (np.abs(step) <= 1e-9 * reach + 1e-12 * np.abs(x)),
            axis=1,
        )
    low, high = np.array(process.domain).T
    open_ended = np.array([period is not None for period in process.periods])
    inside = np.all(open_ended | ((x >= low) & (x <= high)), axis=1)
    return np.where((near & inside)[:, None], x, np.nan)


def fixed_point_at(process: DiffusionProcess, at: FloatArray) -> FixedPoint:
    """The root `at` (d,) with what the Jacobian says of it."""
    rates = np.linalg.eigvals(process.drift_jacobian(at[None])[0]).astype(np.complex128)
    rates = rates[np.lexsort((-rates.imag, -rates.real))]
    slowest = float(rates[0].real)
    return FixedPoint(
        tuple(float(v) for v in at), slowest < 0, slowest, tuple(complex(rate) for rate in rates)
    )


def jacobian_rates(
    process: DiffusionProcess, at: FloatArray, reference: NDArray[np.complex128]
) -> NDArray[np.complex128]:
    """(d,) eigenvalues of the Jacobian `at` (d,), in the order of those of another process, `reference` (d,), which they are
    nearest to [1/time]. Of two that are equally near the one of the larger real part comes first."""
    rates = np.linalg.eigvals(process.drift_jacobian(at[None])[0]).astype(np.complex128)
    rates = rates[np.lexsort((-rates.imag, -rates.real))]
    size = np.max(np.abs(np.concatenate([rates, reference])))
    order = np.arange(len(rates))
    cost = np.abs(rates - reference[:, None]) ** 2 + SAME * size**2 * np.abs(order - order[:, None])
    return np.asarray(rates[linear_sum_assignment(cost)[1]])


def gaussian_covariance(jacobian: FloatArray, noise: FloatArray) -> FloatArray | None:
    """(d, d) covariance S of the linear process with this Jacobian and diffusion: J S + S Jᵀ + a = 0; None unless all of J's
    eigenvalues have negative real parts."""
    if not np.all(np.isfinite(jacobian)) or np.max(np.linalg.eigvals(jacobian).real) >= 0:
        return None
    covariance = solve_continuous_lyapunov(jacobian, -noise)
    return np.asarray((covariance + covariance.T) / 2)


def _newton_step(process: DiffusionProcess, x: FloatArray) -> FloatArray:
    b, jacobian = process.drift(x), np.array(process.drift_jacobian(x))
    usable = np.isfinite(b).all(axis=1) & np.isfinite(jacobian).all(axis=(1, 2))
    jacobian[~usable] = np.nan
    singular = ~(np.abs(np.linalg.det(jacobian)) > 1e-200)
    jacobian[singular] = np.eye(x.shape[1])
    step = -np.linalg.solve(jacobian, b[..., None])[..., 0]
    step[singular | ~usable] = np.nan
    return np.asarray(step)


def _into_the_domain(process: DiffusionProcess, x: FloatArray) -> FloatArray | None:
    """The root with its angles on the first turn; None outside the domain."""
    at = x.copy()
    for k, ((low, high), period) in enumerate(zip(process.domain, process.periods, strict=True)):
        if period is not None:
            first = low if np.isfinite(low) else -period / 2
            at[k] = first + np.mod(at[k] - first, period)
        elif not low <= at[k] <= high:
            return None
    return at
