"""Autocorrelation and power spectrum of models near a reference, from all modes of a chain of few cells."""

from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from worker.generator.line.correlations import mesh_of_curves
from worker.generator.line.finite_volumes import Cells, cut_into_cells
from worker.generator.line.landscape import Landscape, with_reference
from worker.generator.numerics.quadrature import WEIGHTS
from worker.generator.process import FloatArray
from worker.generator.quantities.correlations import Memory
from worker.generator.uncertainty.sturm_bisection import slowest_rates

COARSE, FINE = 0.8, 0.6
"""Radians of the fastest eigenfunction over a cell: where only the difference between two models is taken, and the longer
of two lengths where it is not."""
CurvePair = tuple[FloatArray, FloatArray]
"""Autocorrelation (n,) and power spectrum (k,) of one model."""
HELD = 1e-2
"""Relative difference of the variance on the cells from the exact one up to which they hold the tails."""
LOST = 1e-8
"""Of the slowest rate over the fastest: below this its digits are lost in a dense matrix."""


@dataclass(frozen=True, slots=True, eq=False)
class Curves:
    """The curves of m models, at the lags and frequencies of the reference.

    autocorrelation  (m, n)
    power_spectrum   (m, k) [state²·time]
    variance         (m,) of the stationary law, as the cells have it [state²]
    """

    autocorrelation: FloatArray
    power_spectrum: FloatArray
    variance: FloatArray

    def of(self, model: int) -> CurvePair:
        """Both of one model."""
        return self.autocorrelation[model], self.power_spectrum[model]


def curves_near(landscape: Landscape, reference: Landscape, memory: Memory) -> Curves:
    """Of each model on the panels of the reference, whose own curves are `memory`: these, moved by what the models differ from it
    on the same cells; the autocorrelation by the difference, to 1e-3, the spectrum, which falls over decades, by the ratio, to
    2 %."""
    both = with_reference(landscape, reference)
    found = _curves(cut_into_cells(both, *_mesh(both, memory.fastest, COARSE)), memory)
    c, s = found.autocorrelation, found.power_spectrum
    return Curves(
        memory.autocorrelation[0] + c[1:] - c[0],
        memory.power_spectrum[0] * s[1:] / s[0],
        found.variance[1:],
    )


def curves_alone(
    landscape: Landscape, memory: Memory, variance: float
) -> CurvePair | tuple[None, None]:
    """Of one model with this variance, on a landscape of its own, extrapolated: the spectrum to 5 %, also 20 decades below its
    peak. Neither where the cells do not hold the tails."""
    one = replace(landscape, psi=landscape.psi[None], log_a=landscape.log_a[None])
    parts, rows = _mesh(one, memory.fastest, FINE)
    cells = cut_into_cells(one, 2 * parts, rows)
    fine, coarse = _curves(cells, memory), _curves(cells.halved(), memory)
    if abs(fine.variance[0] - variance) > HELD * variance:
        return None, None
    # The error goes with the square of the cells' length.
    (c, s), (coarse_c, coarse_s) = fine.of(0), coarse.of(0)
    return (4 * c - coarse_c) / 3, (4 * s - coarse_s) / 3


def _mesh(landscape: Landscape, fastest: float, phase: float) -> tuple[NDArray[np.int64], slice]:
    """That of the models' curves; what lies beyond the panels counts for nothing."""
    x, psi, log_a = landscape.at_nodes
    height = psi - log_a
    top = height.max(axis=(-2, -1), keepdims=True)
    weight = landscape.half[:, None] * WEIGHTS * np.exp(height - top)
    total = weight.sum(axis=(-2, -1))
    mean = (weight * x).sum(axis=(-2, -1)) / total
    variance = (weight * (x - mean[:, None, None]) ** 2).sum(axis=(-2, -1)) / total
    return mesh_of_curves(landscape, fastest, top[:, 0, 0] + np.log(total), mean, variance, phase)


def _curves(cells: Cells, memory: Memory) -> Curves:
    """Equation (G58)."""
    mass, total = (
        cells.log_node_mass,
        np.logaddexp.reduce(cells.log_node_mass, axis=-1, keepdims=True),
    )
    mass, resistance = mass - total, cells.log_resistance + total
    n = resistance.shape[-1]
    # The flows through the cells, and not the values on their edges: without the constant the slowest mode has no neighbour.
    matrix = np.zeros((*resistance.shape, n))
    each = np.arange(n)
    matrix[:, each, each] = np.exp(-resistance - mass[:, :-1]) + np.exp(-resistance - mass[:, 1:])
    between = -np.exp(-(resistance[:, :-1] + resistance[:, 1:]) / 2 - mass[:, 1:-1])
    matrix[:, each[1:], each[:-1]] = between
    rates, flows = np.linalg.eigh(matrix)
    lost = rates[:, 0] < LOST * rates[:, -1]
    if lost.any():
        guess = 1 / np.array([memory.integrated_times[0].value or memory.lags[-1]])
        rates[lost, 0] = slowest_rates(cells.where(lost), guess)[:, 0]
    rates = np.maximum(rates, np.finfo(float).tiny)
    drops = np.diff(cells.edges) * np.exp(-resistance / 2)
    weights = np.einsum("mjk,mj->mk", flows, drops) ** 2 / rates
    variance = weights.sum(axis=1, keepdims=True)
    decay = np.exp(-rates[:, None, :] * memory.lags[:, None])
    omega = 2 * np.pi * memory.frequencies[:, None]
    lorentzian = rates[:, None, :] / (rates[:, None, :] ** 2 + omega**2)
    return Curves(
        (decay @ weights[..., None])[..., 0] / variance,
        4 * (lorentzian @ weights[..., None])[..., 0],
        variance[:, 0],
    )
