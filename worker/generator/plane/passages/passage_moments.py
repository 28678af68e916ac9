"""First-passage times between places of the plane, from ever finer cells with absorbing sets.

The moments of the time are extrapolated until they settle.
"""

from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import coo_array, csc_array

from worker.generator.plane.box.box_search import dominated
from worker.generator.plane.eigenmodes import factorised, stationary_masses
from worker.generator.plane.finite_volumes import (
    HIGH_ORDER,
    Coefficients,
    FaceTerm,
    Schemes,
    absorbed_flux,
    cell_numbers,
    face_terms,
    generator_matrix,
)
from worker.generator.plane.grid import Grid, IndexArray
from worker.generator.plane.passages.passage_mesh import PassageMesh
from worker.generator.process import FloatArray
from worker.generator.quantities.outcomes import TIME_UNSETTLED, Reason
from worker.generator.quantities.regions import Region

SHUT = -1
"""Owner of cells that the process never enters."""


@dataclass(frozen=True, slots=True, eq=False)
class Absorbing:
    """Process until it enters an absorbing set.

    free    (m,) numbers of the cells outside the sets
    matrix  (m, m) rate of change of the free cells' masses, transposed for functions [1/time]
    exits   (m, sets) rate at which each free cell's mass enters each set [1/time]
    """

    free: IndexArray
    matrix: csc_array
    exits: FloatArray


def absorbing_generator(
    grid: Grid,
    coefficients: Coefficients,
    terms: tuple[list[FaceTerm], list[FaceTerm]],
    absorbed: NDArray[np.int64],
    sets: int,
) -> Absorbing:
    """Build the generator with p = 0 on the edges of absorbing sets, which are faces of the grid.

    The density next to an edge is the odd continuation of that outside. The flux into a set is
    fitted exponentially over the half cell before it, and so is right with and without noise across
    the edge.

    Parameters
    ----------
    grid, coefficients : cells, and drift and diffusion on them
    terms : terms of the flux through the faces of either axis, see `face_terms`
    absorbed : (n₀, n₁) number of each cell's set, 1 … sets; 0 outside, SHUT for closed cells
    sets : number of absorbing sets
    """
    owner = absorbed.ravel()
    pieces: list[tuple[IndexArray, IndexArray, FloatArray]] = []
    exits = np.zeros((owner.size, sets))
    for axis in (0, 1):
        own, other = grid.axes[axis], grid.axes[1 - axis]
        numbers = cell_numbers(grid, axis)
        before, after = (numbers[own.neighbour(step)[0]].ravel() for step in (0, 1))
        length = np.tile(other.widths, len(own.faces))
        pieces += _between_free_cells(grid, terms[axis], owner, before, after, length)
        for cell, beyond, side in ((before, after, 1), (after, before, -1)):
            entering = np.flatnonzero((owner[cell] == 0) & (owner[beyond] > 0))
            flux = (absorbed_flux(grid, coefficients, axis, side).ravel() * length)[entering]
            pieces.append((cell[entering], cell[entering], -flux))
            np.add.at(exits, (cell[entering], owner[beyond[entering]] - 1), flux)
    volumes = grid.volumes.ravel()
    row, column, rate = (np.concatenate(part) for part in zip(*pieces, strict=True))
    free = np.flatnonzero(owner == 0)
    place = np.zeros(owner.size, dtype=np.int64)
    place[free] = np.arange(len(free))
    shape = len(free), len(free)
    matrix = coo_array((rate / volumes[column], (place[row], place[column])), shape=shape)
    return Absorbing(free, csc_array(matrix), exits[free] / volumes[free, None])


def absorbed_in_position(grid: Grid, matrix: csc_array, free: NDArray[np.bool_]) -> Absorbing:
    """Restrict a generator in (x, v) to the positions on one side of a goal, which absorbs there.

    Beyond the edge there is no density with a velocity that leads back, and one with the other
    velocities goes on in a straight line.

    Parameters
    ----------
    grid : cells, along position and velocity
    matrix : (n, n) rate of change of all cells' masses by fluxes of high order [1/time]
    free : (n₀,) positions before the edge
    """
    numbers = np.arange(grid.volumes.size).reshape(grid.shape)
    inside = np.flatnonzero(free)
    forward = inside[0] == 0
    last, before = (inside[-1], inside[-2]) if forward else (inside[0], inside[1])
    beyond = np.flatnonzero(~free)[:: 1 if forward else -1][:REACH]
    centres = grid.axes[1].centres
    away = np.flatnonzero(centres > 0 if forward else centres < 0)
    rows, columns, weights = [], [], []
    volumes = grid.volumes
    for k, row in enumerate(beyond, start=1):
        for column, share in ((last, 1 + k), (before, -k)):
            rows.append(numbers[row, away])
            columns.append(numbers[column, away])
            weights.append(share * volumes[row, away] / volumes[column, away])
    n = numbers.size
    continued = coo_array(
        (np.concatenate(weights), (np.concatenate(rows), np.concatenate(columns))), shape=(n, n)
    )
    own = numbers[free].ravel()
    whole = csc_array(matrix + matrix @ csc_array(continued))
    return Absorbing(own, csc_array(whole[own][:, own]), np.zeros((len(own), 1)))


def _between_free_cells(
    grid: Grid,
    terms: list[FaceTerm],
    owner: IndexArray,
    before: IndexArray,
    after: IndexArray,
    length: FloatArray,
) -> list[tuple[IndexArray, IndexArray, FloatArray]]:
    """Return the flux through an axis's faces between free cells.

    Rows, columns and rates are per unit of the column's density.
    """
    inner = np.flatnonzero((owner[before] == 0) & (owner[after] == 0))
    widths = [
        np.broadcast_to(w, grid.shape).ravel()
        for w in (grid.axes[0].widths[:, None], grid.axes[1].widths)
    ]
    pieces: list[tuple[IndexArray, IndexArray, FloatArray]] = []
    for cells, coefficient, nearest, along in terms:
        column, own = cells.ravel()[inner], nearest.ravel()[inner]
        rate = np.broadcast_to(coefficient, cells.shape).ravel()[inner] * length[inner]
        # Beyond the edge of a set the density is continued oddly, so that it vanishes on the edge.
        # Into closed cells it is continued evenly.
        rate = np.where(owner[column] > 0, -rate * widths[along][column] / widths[along][own], rate)
        column = np.where(owner[column] != 0, own, column)
        pieces += [(before[inner], column, -rate), (after[inner], column, rate)]
    return pieces


LEVELS = (32, 48, 64, 96, 128)
"""Cells along each axis, level by level."""
SETTLED = 2e-4
"""Change of the logarithm of the mean time by the last step at which refinement ends."""
SETTLED_IN_POSITION = 2e-3
"""The same for a passage in position, whose times are not extrapolated.

Next to the edge at v = 0 the density is not smooth, and the error follows no power; on 64² cells it
is below 0.3 % for barriers of 2.5 kT.
"""
LARGEST_ERROR = 0.02
"""Change of the logarithm of the mean time above which no time is given."""
ORDERS: dict[str, tuple[float, float]] = {"exponential": (2, 4), "upwind": (2, 3)}
"""Powers of the cells' length in the error of each scheme."""
CORNERED = (4 / 3, 2)
"""Powers in the error where the goal has corners.

From a corner the time grows like the distance to the power 2/3.
"""
FITTED: Schemes = ("exponential", "exponential")
UPWIND: Schemes = ("upwind", "upwind")
REACH = 4
"""Cells beyond a face that its flux of high order depends on."""
LIGHT = 1e-12
"""Probability of a region below which no mean over it is taken."""


@dataclass(frozen=True, slots=True, eq=False)
class PassageMoments:
    """Moments of a first-passage time.

    logs           (levels, 2) logarithms of mean and standard deviation, from coarse to fine cells
    log_mean       extrapolated logarithm of the mean time
    log_deviation  extrapolated logarithm of the standard deviation
    schemes        schemes of the fluxes along both axes
    error          change of `log_mean` by the last step
    """

    logs: FloatArray
    log_mean: float
    log_deviation: float
    schemes: Schemes
    error: float


def passage_moments(mesh: PassageMesh, discretised: "Discretised") -> PassageMoments | Reason:
    """Return the moments of the first-passage time, or why it has none."""
    tried = []
    schemes_tried = (HIGH_ORDER,) if mesh.in_position else _schemes_of(mesh)
    for schemes in schemes_tried:
        orders = orders_of(mesh.goal, schemes)
        logs = np.array(
            [log_moments(mesh, discretised(mesh, cells, schemes)) for cells in LEVELS[:3]]
        )
        before, now = (_extrapolated(logs[:n], LEVELS[:n], orders) for n in (2, 3))
        change = abs(now[0] - before[0])
        tried.append((change if np.isfinite(change) else np.inf, schemes, logs, now))
    change, schemes, logs, now = min(tried, key=lambda attempt: attempt[0])
    orders = orders_of(mesh.goal, schemes)
    settled = SETTLED_IN_POSITION if mesh.in_position else SETTLED
    for level in (3, 4):
        if change < settled:
            break
        logs = np.vstack([logs, log_moments(mesh, discretised(mesh, LEVELS[level], schemes))])
        before, now = now, _extrapolated(logs[-3:], LEVELS[level - 2 : level + 1], orders)
        change = abs(now[0] - before[0])
    if not change < LARGEST_ERROR:
        return TIME_UNSETTLED
    return PassageMoments(logs, float(now[0]), float(now[1]), schemes, float(change))


def _schemes_of(mesh: PassageMesh) -> tuple[Schemes, ...]:
    return (UPWIND,) if weak_noise(mesh) else (FITTED, UPWIND)


@dataclass(frozen=True, eq=False)
class DiscreteProcess:
    """Discretised process, common to passages between all places whose edges its cells fit."""

    grid: Grid
    coefficients: Coefficients
    schemes: Schemes
    peak: FloatArray

    @classmethod
    def of(cls, mesh: PassageMesh, cells: int, schemes: Schemes) -> "DiscreteProcess":
        """Discretise the process on cells × cells cells.

        Parameters
        ----------
        mesh : domain aligned with the places
        cells : cells along each axis
        schemes : schemes of the fluxes along both axes
        """
        grid, peak = mesh.grid(cells), mesh.chart.coordinates(mesh.peak[None])
        return cls(grid, Coefficients.of(mesh.chart, grid), schemes, peak)

    @cached_property
    def law(self) -> FloatArray:
        """Stationary masses (n,); nan where none can be found."""
        pin = int(np.argmin(np.sum((self.grid.centres - self.peak) ** 2, axis=1)))
        return stationary_masses(self.matrix, pin)

    @cached_property
    def terms(self) -> tuple[list[FaceTerm], list[FaceTerm]]:
        """Terms of the flux through the faces of either axis."""
        first, second = (
            face_terms(self.grid, self.coefficients, axis, self.schemes[axis]) for axis in (0, 1)
        )
        return first, second

    @cached_property
    def matrix(self) -> csc_array:
        """Rate of change of the cells' masses (n, n) [1/time]."""
        return generator_matrix(self.grid, self.coefficients, self.schemes)

    def reaching(self, mesh: PassageMesh) -> Absorbing:
        """Return a process of second order until its position reaches the goal."""
        low, high = mesh.goal.intervals[0]
        axis = self.grid.axes[0]
        x = mesh.chart.state(np.column_stack([axis.centres, axis.centres]))[:, 0]
        free = x < low if mesh.starts_below else x > high
        return absorbed_in_position(self.grid, self.matrix, free)

    def absorbed_in(self, mesh: PassageMesh, sets: tuple[Region, ...]) -> Absorbing:
        """Return the process until it enters one of the regions."""
        absorbed = np.zeros(self.grid.shape, dtype=np.int64)
        if self.coefficients.closed is not None:
            absorbed[self.coefficients.closed.reshape(self.grid.shape)] = SHUT
        for number, region in enumerate(sets, start=1):
            absorbed[mesh.cells_of(region, self.grid) & (absorbed == 0)] = number
        return absorbing_generator(self.grid, self.coefficients, self.terms, absorbed, len(sets))


class Discretised:
    """Discretised processes by their cells: passages on the same cells share what they can.

    The way there and the way back do.
    """

    def __init__(self) -> None:
        self._known: dict[tuple[object, ...], DiscreteProcess] = {}

    def __call__(self, mesh: PassageMesh, cells: int, schemes: Schemes) -> DiscreteProcess:
        """Discretise the process on cells × cells cells, or return what is known."""
        chart, axes = mesh.chart, mesh.grid(cells).axes
        key = (
            schemes,
            chart.matrix.tobytes(),
            chart.origin.tobytes(),
            *(axis.edges.tobytes() for axis in axes),
        )
        if key not in self._known:
            self._known[key] = DiscreteProcess.of(mesh, cells, schemes)
        return self._known[key]


def log_moments(mesh: PassageMesh, discrete: DiscreteProcess) -> FloatArray:
    """Return the logarithms of mean and standard deviation on one grid (2,), nan if undefined."""
    weights = _start(mesh, discrete)
    if discrete.schemes == HIGH_ORDER:
        left = discrete.reaching(mesh)
    else:
        left = discrete.absorbed_in(mesh, (mesh.goal,))
    try:
        solver = factorised(left.matrix)
    except RuntimeError:
        return np.full(2, np.nan)
    first = solver.solve(np.full(len(left.free), -1.0), "T")
    second = solver.solve(-2 * first, "T")
    here = weights[left.free]
    with np.errstate(all="ignore"):
        mean = float(here @ first)
        # Both moments, about a mean of similar size, lose no digits: the deviation is a good part
        # of it.
        return np.asarray(np.log(np.array([mean, np.sqrt(here @ second - mean**2)])))


def _start(mesh: PassageMesh, discrete: DiscreteProcess) -> FloatArray:
    """Return the weights of the cells at the start of the passage (n,)."""
    if not isinstance(mesh.start, Region):
        return mesh.around(mesh.start, discrete.grid)
    shares = mesh.shares_of(mesh.start, discrete.grid).ravel()
    here = np.where(shares > 0, shares * discrete.law, 0.0)
    total = float(here.sum())
    return here / total if total > LIGHT else np.full(len(here), np.nan)


def weak_noise(mesh: PassageMesh) -> bool:
    """Return whether drift dominates noise over the coarsest cells, where the process is."""
    discrete = DiscreteProcess.of(mesh, LEVELS[1], FITTED)
    masses = np.abs(discrete.law)
    return any(
        dominated(discrete.coefficients.peclet(discrete.grid, axis), masses) for axis in (0, 1)
    )


def orders_of(goal: Region, schemes: Schemes) -> tuple[float, ...]:
    """Return the two leading powers of the cells' length in the error; () where there are none."""
    if schemes == HIGH_ORDER:
        return ()
    if np.isfinite(np.array(goal.intervals)).any(axis=1).all():
        return CORNERED
    return ORDERS["upwind" if "upwind" in schemes else "exponential"]


def _extrapolated(
    logs: FloatArray, levels: tuple[int, ...], orders: tuple[float, ...]
) -> FloatArray:
    """Remove the leading powers of the cells' length from the error: (levels, …) → (…)."""
    if not orders:
        return np.asarray(logs[-1])
    n = len(levels)
    lengths = levels[0] / np.array(levels, dtype=float)
    weights = np.linalg.solve(
        np.array([np.ones(n), *(lengths**order for order in orders[: n - 1])]), np.eye(n)[0]
    )
    return np.asarray(weights @ logs)
