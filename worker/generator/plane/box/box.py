"""Rectangle of the plane with its coordinates and the distribution on coarse cells."""

from dataclasses import dataclass

import numpy as np
from scipy.linalg import eigh

from worker.generator.errors import UndefinedCoefficientsError
from worker.generator.plane.grid import Grid, Span, points
from worker.generator.process import DiffusionProcess, FloatArray, read_only, velocities


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
        a = self.process.diffusion(self.state(u))
        return np.asarray(self.matrix @ a @ self.matrix.T, dtype=np.float64)

    def jacobian(self, u: FloatArray) -> FloatArray:
        """Return ∂(drift of u)/∂u: (n, 2) → (n, 2, 2) [1/time]."""
        jacobian = self.process.drift_jacobian(self.state(u))
        return np.asarray(self.matrix @ jacobian @ self.inverse, dtype=np.float64)


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
        # Both at once: covariance = inverse · inverseᵀ, noise = inverse · diag · inverseᵀ.
        scale = np.sqrt(np.diag(covariance))
        _, vectors = eigh(noise / np.outer(scale, scale), covariance / np.outer(scale, scale))
        matrix = vectors.T / scale
        # The axis that has most of the first coordinate comes first, so that swapped coordinates
        # give swapped answers.
        matrix = matrix[np.argsort(-np.abs(matrix[:, 0]) * scale[0], kind="stable")]
    else:
        matrix = np.diag(1 / np.sqrt(np.diag(covariance)))
    inverse = np.linalg.inv(matrix)
    return Chart(process, read_only(origin.astype(float)), read_only(matrix), read_only(inverse))


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


CELLS = 40
"""Cells along each axis of a coarse distribution."""
OPEN = read_only(np.array([[-np.inf, np.inf]] * 2))
"""Walls of a box without any."""


@dataclass(frozen=True, slots=True, eq=False)
class Box:
    """Rectangle that holds a process.

    chart         coordinates
    spans         sides
    walls         (2, 2) ends of the domain in the chart's coordinates; ±inf where open
    masses        (CELLS²,) distribution on coarse cells
    open_towards  (2,) a state on a side where the density does not fall off, however far that is
                  moved out; None where there is none
    """

    chart: Chart
    spans: tuple[Span, Span]
    walls: FloatArray
    masses: FloatArray
    open_towards: FloatArray | None = None

    def grid(self, cells: int) -> Grid:
        """Cut the rectangle into cells × cells cells."""
        return Grid((self.spans[0].cut(cells), self.spans[1].cut(cells)))

    @property
    def lengths(self) -> FloatArray:
        """Lengths of the sides (2,), in the chart's coordinates."""
        return np.array([span.high - span.low for span in self.spans])

    @property
    def smooth_velocity(self) -> bool:
        """Whether the fluxes of high order serve here."""
        return has_smooth_velocity(self.chart.process, self.chart.cut)

    @property
    def covariance(self) -> FloatArray:
        """Covariance of the coarse distribution (2, 2), in the chart's coordinates."""
        _, covariance = moments(self.grid(CELLS).centres, self.masses)
        return covariance


def first_box(process: DiffusionProcess, rectangle: FloatArray) -> Box:
    """Return the box around a rectangle of states (2, 2), low and high of each coordinate.

    Nothing has been solved on it yet.
    """
    middle, half = rectangle.mean(axis=1), np.diff(rectangle, axis=1)[:, 0] / 2
    side = np.linspace(-1, 1, 9)
    noise = process.diffusion(middle + half * points(side, side))
    noise = noise[np.isfinite(noise).all(axis=(1, 2))]
    if not len(noise):
        raise UndefinedCoefficientsError(
            f"the diffusion is not a finite number near {state_text(middle)}; check the terms"
        )
    mean_noise, free = without_negative_part(noise).mean(axis=0), is_free(process)
    chart = make_chart(process, middle, np.diag((half / 3) ** 2), mean_noise, free)
    if not free:
        return _boxed(chart, rectangle)
    corners = np.abs(chart.coordinates(points(rectangle[0], rectangle[1]))).max(axis=0)
    first, second = (Span(-float(reach), float(reach), 0.0, 2 * float(reach)) for reach in corners)
    return Box(chart, (first, second), OPEN, np.zeros(0))


def is_free(process: DiffusionProcess) -> bool:
    """Return whether the axes may be turned: no coordinate ends or is an angle."""
    return not np.isfinite(np.array(process.domain)).any() and not any(process.periods)


def has_smooth_velocity(process: DiffusionProcess, cut: bool = False) -> bool:
    """Return whether the process is of second order, and meets no wall: see `high_order.py`."""
    walls = np.isfinite(np.array(process.domain)).any(axis=1)
    walls &= [period is None for period in process.periods]
    return bool(velocities(process)) and not (walls.any() or cut)


def moments(centres: FloatArray, masses: FloatArray) -> tuple[FloatArray, FloatArray]:
    """Return mean (2,) and covariance (2, 2) of masses (n,) at centres (n, 2)."""
    mean = masses @ centres
    away = centres - mean
    return mean, np.asarray((away * masses[:, None]).T @ away)


def _boxed(chart: Chart, rectangle: FloatArray) -> Box:
    """Return the box of a rectangle (2, 2) of states in a chart with the axes of the states."""
    process, scale = chart.process, np.diag(chart.matrix)
    walls = (np.array(process.domain, dtype=float) - chart.origin[:, None]) * scale[:, None]
    ends = (rectangle - chart.origin[:, None]) * scale[:, None]
    spans = []
    for axis, period in enumerate(process.periods):
        low, high = float(ends[axis, 0]), float(ends[axis, 1])
        if period is None:
            spans.append(Span(low, high, (low + high) / 2, high - low))
            continue
        low = float(walls[axis, 0])
        if not np.isfinite(low):
            low = float((-period / 2 - chart.origin[axis]) * scale[axis])
        spans.append(Span(low, low + float(period * scale[axis]), low, 1.0, circle=True))
        walls[axis] = -np.inf, np.inf
    return Box(chart, (spans[0], spans[1]), walls, np.zeros(0))


def state_text(state: FloatArray) -> str:
    """Write a state for a reader."""
    return "(" + ", ".join(f"{v:.4g}" for v in state) + ")"
