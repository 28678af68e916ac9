"""Density and current on a grid of states, for a reader to draw."""

import numpy as np
from numpy.typing import NDArray
from scipy.interpolate import RectBivariateSpline

from worker.generator.plane.grid import Axis, points
from worker.generator.plane.grid_refinement import Solution
from worker.generator.process import FloatArray, read_only
from worker.generator.request import AnalysisRequest

MOST_POINTS = 60
"""Points along each coordinate, whatever is asked for: the grid has the square of it."""
OUTSIDE = 1e-5
"""Probability left out on each side of each coordinate."""
FLOOR = 1e-14
"""Density, over its peak, below which it is taken for zero."""
HIGHEST_FLOOR = 1e-3
RIPPLE = 10.0
"""Likewise, in units of the deepest negative density: what the cells' error can be elsewhere."""


def picture(
    solution: Solution, request: AnalysisRequest
) -> tuple[tuple[FloatArray, FloatArray], FloatArray, FloatArray]:
    """Points of both coordinates, density (n, n) and current (n, n, 2) there."""
    chart, level = solution.box.chart, solution.finest
    count = min(request.density_points, MOST_POINTS)
    first, second = (
        read_only(np.linspace(*_range(solution, axis, request), count)) for axis in (0, 1)
    )
    u, inside = on_the_rectangle(solution, (first, second))
    jacobian = abs(float(np.linalg.det(chart.matrix)))
    peak = float(level.density.max())
    floor = min(max(FLOOR * peak, -RIPPLE * float(level.density.min())), HIGHEST_FLOOR * peak)
    log_density = interpolated(level.grid.axes, np.log(np.maximum(level.density, floor)), u, 3)
    density = np.where(
        inside & (log_density > np.log(floor) + 1e-3), np.exp(log_density), 0.0
    ).reshape(count, count)
    density = density / np.trapezoid(np.trapezoid(density, second, axis=1), first)
    along = [
        np.where(inside, interpolated(level.grid.axes, level.current[..., k], u, 1), 0.0)
        for k in (0, 1)
    ]
    current = np.stack(along, axis=1) @ chart.inverse.T * jacobian
    return (first, second), read_only(density), read_only(current.reshape(count, count, 2))


def on_the_rectangle(
    solution: Solution, grid: tuple[FloatArray, ...]
) -> tuple[FloatArray, NDArray[np.bool_]]:
    """The points of a grid of states in the chart's coordinates (n₀ · n₁, 2), and whether they are in the rectangle."""
    u = solution.box.chart.coordinates(points(*grid))
    inside = np.full(len(u), True)
    for axis, span in enumerate(solution.box.spans):
        if span.circle:
            u[:, axis] = span.low + np.mod(u[:, axis] - span.low, span.high - span.low)
        inside &= (u[:, axis] >= span.low) & (u[:, axis] <= span.high)
    return u, inside


def _range(solution: Solution, axis: int, request: AnalysisRequest) -> tuple[float, float]:
    """Where almost all of the law is along a coordinate, and where the data were; the whole turn of an angle [state]."""
    chart, level = solution.box.chart, solution.finest
    process, span = chart.process, solution.box.spans[axis]
    if span.circle:
        low = chart.state(np.array([[s.low for s in solution.box.spans]]))[0, axis]
        return float(low), float(low + process.periods[axis])
    x = chart.state(level.grid.centres)[:, axis]
    order = np.argsort(x)
    below = np.cumsum(np.maximum(level.density * level.grid.volumes, 0.0).ravel()[order])
    low, high = (
        float(x[order][np.searchsorted(below, share * below[-1])])
        for share in (OUTSIDE, 1 - OUTSIDE)
    )
    for walls, end in zip(process.domain[axis], (0, 1), strict=True):
        # The outermost cells' centres lie half a cell before a wall that the process touches.
        if np.isfinite(walls) and solution.box.walls[axis, end] == (span.low, span.high)[end]:
            low, high = (float(walls), high) if end == 0 else (low, float(walls))
    if request.observed_ranges is not None:
        low, high = (
            min(low, request.observed_ranges[axis][0]),
            max(high, request.observed_ranges[axis][1]),
        )
    return max(low, process.domain[axis][0]), min(high, process.domain[axis][1])


def interpolated(
    axes: tuple[Axis, Axis], values: FloatArray, u: FloatArray, degree: int
) -> FloatArray:
    """(n,) values on cells (n₀, n₁) at points u (n, 2) of the rectangle."""
    for k, axis in enumerate(axes):
        if axis.circle:
            values = np.concatenate(
                [np.take(values, [-3, -2, -1], k), values, np.take(values, [0, 1, 2], k)], axis=k
            )
    first, second = (_unrolled(axis) for axis in axes)
    spline = RectBivariateSpline(first, second, values, kx=degree, ky=degree)
    return np.asarray(
        spline.ev(np.clip(u[:, 0], first[0], first[-1]), np.clip(u[:, 1], second[0], second[-1]))
    )


def _unrolled(axis: Axis) -> FloatArray:
    if not axis.circle:
        return axis.centres
    turn = axis.edges[-1] - axis.edges[0]
    return np.concatenate([axis.centres[-3:] - turn, axis.centres, axis.centres[:3] + turn])
