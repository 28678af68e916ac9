"""Autocorrelation and power spectrum of a model near another, from a chain of few cells."""

from dataclasses import replace

import numpy as np

from worker.generator.line.correlations import mesh_of_curves
from worker.generator.line.finite_volumes import Cells, cut_into_cells
from worker.generator.line.landscape import Landscape
from worker.generator.line.spectrum import rates_on
from worker.generator.process import FloatArray
from worker.generator.quantities.correlations import Correlations
from worker.generator.quantities.passages import Timing

PHASE = 1.4
"""Largest phase of the fastest eigenfunction over a cell [radian]."""
HELD = 1e-2
"""Relative error of the variance on the cells up to which they hold the tails."""
LOST = 1e-8
"""Ratio of the slowest to the fastest rate below which its digits are lost in a dense matrix."""


def curves_on(
    landscape: Landscape,
    log_total: float,
    like: Correlations,
    mean: float,
    variance: float,
    time: Timing,
) -> Correlations:
    """Return both curves at the lags and frequencies of another model's, from two levels.

    C is right to 1e-3, the spectrum to 5 %, also 20 decades below its peak; both are nan where the
    cells do not hold the tails.

    Parameters
    ----------
    landscape : panels that hold the distribution
    log_total : log ∫π
    like : correlations of the other model
    mean, variance : of the stationary distribution [state], [state²]
    time : integrated autocorrelation time
    """
    moments = np.asarray(log_total), np.asarray(mean), np.asarray(variance)
    parts, rows = mesh_of_curves(landscape, like.fastest, *moments, PHASE)
    cells = cut_into_cells(landscape, 2 * parts, rows)
    (c, s, held), (coarse_c, coarse_s, _) = (
        _curves(level, like) for level in (cells, cells.halved())
    )
    if abs(held - variance) > HELD * variance:
        c, s = np.full(c.shape, np.nan), np.full(s.shape, np.nan)
    # The error goes with the square of the cells' length.
    return replace(
        like,
        autocorrelation=(4 * c - coarse_c)[None] / 3,
        power_spectrum=(4 * s - coarse_s)[None] / 3,
        integrated_times=(time,),
    )


def _curves(cells: Cells, like: Correlations) -> tuple[FloatArray, FloatArray, float]:
    """Return C (n,), S (k,) and the variance on the cells, equation (G58)."""
    mass, total = cells.log_node_mass, np.logaddexp.reduce(cells.log_node_mass)
    mass, resistance = mass - total, cells.log_resistance + total
    # The flows through the cells, and not the values on their edges: without the constant the
    # slowest mode has no neighbour.
    diagonal = np.exp(-resistance - mass[:-1]) + np.exp(-resistance - mass[1:])
    between = -np.exp(-(resistance[:-1] + resistance[1:]) / 2 - mass[1:-1])
    rates, flows = np.linalg.eigh(np.diag(diagonal) + np.diag(between, -1))
    if rates[0] < LOST * rates[-1]:
        rates[0] = rates_on(cells, 1)[0]
    rates = np.maximum(rates, np.finfo(float).tiny)
    drops = np.diff(cells.edges) * np.exp(-resistance / 2)
    with np.errstate(over="ignore"):
        weights = (drops @ flows) ** 2 / rates
    if not np.isfinite(weights).all():
        return np.full(len(like.lags), np.nan), np.full(len(like.frequencies), np.nan), np.inf
    omega = 2 * np.pi * like.frequencies[:, None]
    variance = float(weights.sum())
    decay = np.exp(-like.lags[:, None] * rates)
    return decay @ weights / variance, 4 * (rates / (rates**2 + omega**2)) @ weights, variance
