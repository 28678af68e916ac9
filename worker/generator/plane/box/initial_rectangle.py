"""First rectangle: the range of the data, or the surroundings of fixed points of any magnitude."""

import numpy as np

from worker.generator.linear.fixed_points import fixed_points_near, gaussian_covariance
from worker.generator.process import DiffusionProcess, FloatArray
from worker.generator.quantities.fixed_points import FixedPoint

MARGIN = 0.2
"""Part of the observed range that is added on each side."""
REACH = 6.0
"""Reach of the surroundings of a fixed point, in standard deviations of the linearised process."""
TOGETHER = 100.0
"""Distance between fixed points, in the first one's reach, up to which both are included."""


def first_rectangle(
    process: DiffusionProcess, observed: tuple[tuple[float, float], ...] | None
) -> FloatArray:
    """Return low and high of each coordinate, inside the domain: (d, 2) [state]."""
    domain = np.array(process.domain, dtype=float)
    if observed is not None:
        ranges = np.array(observed, dtype=float)
        margin = MARGIN * np.diff(ranges, axis=1)[:, 0]
        ranges = np.column_stack([ranges[:, 0] - margin, ranges[:, 1] + margin])
    else:
        ranges = _around_fixed_points(process)
    for axis, period in enumerate(process.periods):
        if period is not None:
            low = domain[axis, 0] if np.isfinite(domain[axis, 0]) else -period / 2
            ranges[axis] = low, low + period
        elif np.isfinite(domain[axis]).all():
            ranges[axis] = domain[axis]
        else:
            length = ranges[axis, 1] - ranges[axis, 0]
            # A half-line starts at its end.
            ranges[axis, 0] = max(ranges[axis, 0], domain[axis, 0])
            ranges[axis, 1] = min(
                max(ranges[axis, 1], ranges[axis, 0] + length / 2), domain[axis, 1]
            )
            ranges[axis, 0] = min(ranges[axis, 0], ranges[axis, 1] - length / 2)
    return ranges


def fixed_points_in(
    process: DiffusionProcess, rectangle: FloatArray, per_axis: int
) -> tuple[FixedPoint, ...]:
    """Return the fixed points that Newton's method finds from a lattice.

    Parameters
    ----------
    process : process
    rectangle : (d, 2) low and high of each coordinate, to which a margin is added [state]
    per_axis : points along each coordinate
    """
    middle, half = rectangle.mean(axis=1), np.diff(rectangle, axis=1)[:, 0] / 2
    sides = np.meshgrid(*[np.linspace(-1.3, 1.3, per_axis)] * len(half), indexing="ij")
    starts = middle + half * np.stack([side.ravel() for side in sides], axis=1)
    return fixed_points_near(process, starts, half)


def _around_fixed_points(process: DiffusionProcess) -> FloatArray:
    d = process.dimension
    domain = np.array(process.domain, dtype=float)
    origin = np.where(
        np.isfinite(domain[:, 0]),
        domain[:, 0],
        np.where(np.isfinite(domain[:, 1]), domain[:, 1], 0.0),
    )
    sizes = 10.0 ** np.arange(-12, 12.1, 0.5)
    signs = np.random.default_rng(1).choice([-1.0, 1.0], (8, d))
    directions = signs * np.random.default_rng(2).uniform(0.2, 1, (8, d))
    units = _units(process, origin)
    offsets = (sizes[:, None, None] * directions).reshape(-1, d)
    lengths = units * np.max(np.abs(offsets), axis=1, keepdims=True)
    found = fixed_points_near(process, origin + units * offsets, lengths)
    reaches = [REACH * _reach(process, np.array(point.at)) for point in found]
    usable = [
        (point, reach)
        for point, reach in zip(found, reaches, strict=True)
        if np.all(reach > 0) and np.all(np.isfinite(reach))
    ]
    if not usable:
        return np.column_stack([origin - 1, origin + 1])

    def rank(pair: tuple[FixedPoint, FloatArray]) -> tuple[bool, float]:
        point, reach = pair
        return not point.stable, float(np.max(np.abs(np.array(point.at) - origin) / reach))

    first, length = min(usable, key=rank)
    near = [
        (np.array(p.at), r)
        for p, r in usable
        if np.all(np.abs(np.array(p.at) - first.at) <= TOGETHER * length)
    ]
    return np.column_stack(
        [np.min([at - r for at, r in near], axis=0), np.max([at + r for at, r in near], axis=0)]
    )


def _units(process: DiffusionProcess, at: FloatArray) -> FloatArray:
    """Return how far noise moves the coordinates relative to each other, also through the drift.

    Metres may stand beside nanometres. The result (d,) is ones where noise and drift do not tell.
    """
    jacobian, noise = process.drift_jacobian(at[None])[0], process.diffusion(at[None])[0]
    if not (np.isfinite(jacobian).all() and np.isfinite(noise).all()):
        return np.ones(len(at))
    rate = np.max(np.abs(np.linalg.eigvals(jacobian))) or np.float64(1)
    spread = np.diag(noise) + np.diag(jacobian @ noise @ jacobian.T) / rate**2
    if not np.all((spread > 0) & np.isfinite(spread)):
        return np.ones(len(at))
    logs = np.log(spread) / 2
    return np.asarray(np.exp(logs - logs.mean()))


def _reach(process: DiffusionProcess, at: FloatArray) -> FloatArray:
    """Return the standard deviations (d,) of the linearised process at a fixed point.

    An unstable one counts as if it attracted as strongly as it repels.
    """
    jacobian, noise = process.drift_jacobian(at[None])[0], process.diffusion(at[None])[0]
    rates = np.linalg.eigvals(jacobian)
    excess = float(np.max(rates.real))
    if excess >= 0:
        jacobian = jacobian - (excess + float(np.max(np.abs(rates)))) * np.eye(len(at))
    covariance = gaussian_covariance(jacobian, noise)
    return (
        np.zeros(len(at)) if covariance is None else np.sqrt(np.maximum(np.diag(covariance), 0.0))
    )
