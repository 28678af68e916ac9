"""Fixed points, barriers, densities and potentials of many models on the same panels."""

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.polynomial.legendre import legder, legval, legvander
from numpy.typing import NDArray
from scipy.sparse import csr_array

from worker.generator.line.fixed_points import FixedPoint
from worker.generator.line.landscape import Landscape
from worker.generator.line.passages.kramers import Extrema, with_widths
from worker.generator.numerics.quadrature import (
    CUMULATIVE,
    DERIVATIVE,
    NODES,
    ORDER,
    TO_LEGENDRE,
    WEIGHTS,
)
from worker.generator.process import FloatArray
from worker.generator.quantities.report import GeneratorReport
from worker.generator.uncertainty.topography import Topography, above_lowest

SETTLED = 1e-14
"""Last step of Newton's method, in half widths of a panel."""


def extrema_and_work(
    landscape: Landscape, b: FloatArray, inside: tuple[FixedPoint, ...]
) -> tuple[Extrema, FloatArray]:
    """The fixed points of each model (m, n), found as roots of the polynomials that the panels hold of b, nan where there are
    others than the reference's; and ∫b dx up to each of them (m, n) [state²/time]."""
    count, stable = len(inside), np.array([point.stable for point in inside], bool)
    flat = b.reshape(len(b), -1)
    # A node that is a fixed point itself has the sign of the one before it.
    known = np.maximum.accumulate(np.where(flat != 0, np.arange(flat.shape[1]), 0), axis=1)
    crossing = np.diff(np.take_along_axis(flat > 0, known, axis=1)) != 0
    usual = np.count_nonzero(crossing, axis=1) == count
    nodes = np.zeros((len(b), count), dtype=np.int64)
    nodes[usual] = known[:, :-1][crossing & usual[:, None]].reshape(np.count_nonzero(usual), count)
    panel, first = np.divmod(nodes, ORDER)
    models = np.arange(len(b))[:, None]
    polynomial = np.moveaxis(b[models, panel] @ TO_LEGENDRE.T, -1, 0)
    slope = np.asarray(legder(polynomial), dtype=np.float64)
    t = NODES[first]
    for _ in range(20):
        before, t = (
            t,
            np.clip(
                t - legval(t, polynomial, tensor=False) / legval(t, slope, tensor=False), -1.1, 1.1
            ),
        )
        if np.all(np.abs(t - before)[usual] < SETTLED):
            break
    half = landscape.half[panel]
    at = landscape.base[panel] + landscape.low[panel] + half * (t + 1)
    psi, log_a, work = (
        np.asarray(
            legval(t, np.moveaxis(table[models, panel] @ TO_LEGENDRE.T, -1, 0), tensor=False),
            dtype=np.float64,
        )
        for table in (landscape.psi, landscape.log_a, summed(landscape, b))
    )
    at, psi, work = (np.where(usual[:, None], table, np.nan) for table in (at, psi, work))
    return with_widths(
        at, stable, psi, log_a, np.asarray(legval(t, slope, tensor=False) / half, dtype=np.float64)
    ), work


def summed(landscape: Landscape, table: FloatArray) -> FloatArray:
    """(m, P, ORDER) integral from the first panel's lower end up to each node, of a function at the nodes."""
    half = landscape.half[:, None]
    total = half[:, 0] * (table @ WEIGHTS)
    return (np.cumsum(total, axis=-1) - total)[..., None] + half * (table @ CUMULATIVE.T)


def topographies(
    landscape: Landscape,
    b: FloatArray,
    found: tuple[Extrema, FloatArray],
    inside: Sequence[FixedPoint],
    reference: GeneratorReport,
    log_total: FloatArray,
) -> list[Topography | None]:
    """One for each model.

    b          (m, P, ORDER) drift at the nodes [state/time]
    found      of `extrema_and_work`, of the reference's fixed points `inside` the panels
    log_total  (m,) log ∫π
    """
    if reference.effective_potential is None:
        return [None] * len(b)
    grid = reference.effective_potential.grid
    values, slopes = _read_at(landscape, grid)
    beyond = (grid < landscape.edges[0]) | (grid > landscape.edges[-1])
    log_a = _on_grid(values, landscape.log_a)
    log_density = _on_grid(values, landscape.psi) - log_a
    density = np.exp(log_density - log_total[:, None])
    relaxation = np.abs(_on_grid(slopes, b)) * np.exp(-log_a)
    potential = above_lowest(log_density)
    for curve in (density, relaxation, potential):
        curve[:, beyond] = np.nan  # There the models are not known.
    places, heights = _places(reference, inside, *found)
    return [
        Topography(density[row], potential[row], relaxation[row], places[row], heights[row])
        for row in range(len(b))
    ]


def _places(
    reference: GeneratorReport, inside: Sequence[FixedPoint], extrema: Extrema, work: FloatArray
) -> tuple[FloatArray, FloatArray]:
    """(m, n) each of the reference's fixed points in each model, and (m, k, 2) the heights of its barriers."""
    column = {point.at[0]: k for k, point in enumerate(inside)}
    places = np.full((len(work), len(reference.fixed_points)), np.nan)
    for k, point in enumerate(reference.fixed_points):
        if point.at[0] in column:
            places[:, k] = extrema.at[:, column[point.at[0]]]
    heights = np.full((len(work), len(reference.barriers), 2), np.nan)
    log_density = extrema.psi - extrema.log_a
    for k, barrier in enumerate(reference.barriers):
        if barrier.start in column and barrier.over in column:
            well, top = column[barrier.start], column[barrier.over]
            heights[:, k, 0] = work[:, well] - work[:, top]
            heights[:, k, 1] = log_density[:, well] - log_density[:, top]
    return places, heights


def _read_at(landscape: Landscape, grid: FloatArray) -> tuple[Any, Any]:
    """(g, P · ORDER) sparse each: values at the panels' nodes → values, and derivatives, at points of the grid."""
    rows = landscape.panel_of(grid)
    t = np.clip(
        (grid - landscape.base[rows] - landscape.low[rows]) / landscape.half[rows] - 1, -1, 1
    )
    matrix = legvander(t, ORDER - 1) @ TO_LEGENDRE
    columns: NDArray[np.int64] = rows[:, None] * ORDER + np.arange(ORDER)
    starts = np.arange(len(grid) + 1) * ORDER
    shape = len(grid), len(landscape.base) * ORDER
    values, slopes = (
        csr_array((table.ravel(), columns.ravel(), starts), shape=shape)
        for table in (matrix, matrix @ DERIVATIVE / landscape.half[rows][:, None])
    )
    return values, slopes


def _on_grid(matrix: Any, table: FloatArray) -> FloatArray:
    """(m, g) from values at the nodes (m, P, ORDER)."""
    return np.ascontiguousarray((matrix @ table.reshape(len(table), -1).T).T)
