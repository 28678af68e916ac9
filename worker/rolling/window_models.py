"""Models of every window: terms of the whole time series, coefficients of the window."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from worker.generator.numerics.roots import roots
from worker.generator.process import DiffusionProcess, scalar_view, values
from worker.identification.data.library import Library
from worker.identification.data.trajectories import MINIMUM_INCREMENTS, Scales
from worker.identification.errors import NoDataUnderKernels
from worker.identification.estimation.cell_equations import (
    CellEquations,
    Weights,
    first_weights,
    gather_for,
    weights_through_noise,
)
from worker.identification.estimation.components import re_estimated
from worker.identification.estimation.fit import Fit
from worker.identification.estimation.problem import Problem
from worker.identification.identified_model import process_of
from worker.identification.selection.best_subset import Estimate
from worker.identification.sums.kernel_statistics import KernelStatistics, merged
from worker.identification.sums.rules import SamplingRule
from worker.identification.symbolic_process import SymbolicProcess
from worker.rolling.windows import MovingWindows

Floats = NDArray[np.float64]
Neighbourhood = tuple[SymbolicProcess, ...]
"""A window's model, then two models, below and above, along each direction of its covariance."""

POINTS = 400
"""Points at which the sign of the drift is evaluated."""


@dataclass(frozen=True, slots=True, eq=False)
class WindowFit:
    """Drift and diffusion of one window, in internal units; None where it does not determine them.

    n_windows   number of increments in the window
    """

    n_windows: int
    drift: Estimate | None
    diffusion: Estimate | None


def fits_of(problem: Problem, identified: Fit, windows: MovingWindows) -> Iterator[WindowFit]:
    """Yield the fit of each window, equation (M37), from sums that are taken once for each piece.

    Parameters
    ----------
    problem : data, library and kernels of the whole time series
    identified : fit to the whole time series, whose terms are kept
    windows : windows
    """
    rule = identified.rule
    pieces = [
        gather_for(replace(problem, edges=windows.edges[i : i + 2]), rule)
        for i in range(len(windows.edges) - 1)
    ]
    for window in range(windows.count):
        yield _fit(problem, rule, identified, pieces[windows.pieces(window)])


def _fit(
    problem: Problem, rule: SamplingRule, identified: Fit, pieces: list[KernelStatistics]
) -> WindowFit:
    filled = [piece for piece in pieces if piece.n_windows]
    n_windows = sum(piece.n_windows for piece in filled)
    if n_windows < MINIMUM_INCREMENTS:
        return WindowFit(n_windows, None, None)
    statistics = merged(filled)
    try:
        weights = _weights(problem, identified, statistics)
        drift, diffusion = re_estimated(
            problem, CellEquations(problem, rule, statistics), weights, identified
        )
        return WindowFit(n_windows, drift[0], diffusion.get((0, 0)))
    except NoDataUnderKernels:
        return WindowFit(n_windows, None, None)


def _weights(problem: Problem, identified: Fit, statistics: KernelStatistics) -> Weights:
    """Return weights from the window's increments; with noise, from the whole series' model."""
    if identified.rule.noise is not None:
        return weights_through_noise(
            problem, statistics, identified, identified.rule.noise, identified.equations.runs
        )
    return first_weights(statistics, problem.kernels)


def neighbourhood_of(
    drift: Estimate,
    diffusion: Estimate,
    library: Library,
    scales: Scales,
    bounds: tuple[float, float],
) -> Neighbourhood:
    """Make the models around the estimate of one window.

    Parameters
    ----------
    drift : estimate
    diffusion : estimate
    library : terms
    scales : scales of the variable
    bounds : ends of the domain [state]
    """
    return tuple(process_of(library, b, a, scales, bounds) for b, a in _around(drift, diffusion))


def _around(drift: Estimate, diffusion: Estimate) -> Iterator[tuple[Floats, Floats]]:
    """Yield drift and diffusion along the internal functions."""
    b, a = drift.internal, diffusion.internal
    yield b, a
    for column in _columns(drift):
        yield b - column, a
        yield b + column, a
    for column in _columns(diffusion):
        yield b, a - column
        yield b, a + column


def _columns(estimate: Estimate) -> Iterator[Floats]:
    for column in estimate.internal_factor.T:
        if column.any():
            yield column


@dataclass(frozen=True, slots=True)
class EstimatedFixedPoint:
    """Fixed point of a window; its error is that of the drift over the drift's slope [state]."""

    at: float
    std_error: float
    stable: bool


def fixed_points_of(
    models: Sequence[DiffusionProcess], drifts: Sequence[Estimate], library: Library, scales: Scales
) -> list[tuple[EstimatedFixedPoint, ...]]:
    """Return the fixed points of each model in the range of the data.

    Parameters
    ----------
    models : model of each window
    drifts : its drift's estimate
    library : terms
    scales : scales of the variable
    """
    points = np.linspace(scales.low, scales.high, POINTS)
    found = [roots(model, points, values(model.b, points)) for model in map(scalar_view, models)]
    functions = library.internal(
        (np.concatenate([np.zeros(0), *(at for at, _ in found)]) - scales.origin) / scales.unit
    )
    of_each = np.split(functions, np.cumsum([len(at) for at, _ in found]))
    fixed_points = []
    for model, drift, g, (at, stable) in zip(models, drifts, of_each, found, strict=False):
        of_drift = np.linalg.norm(g @ drift.internal_factor, axis=1) * scales.unit / scales.time
        slope = np.abs(scalar_view(model).db(at))
        error = np.divide(of_drift, slope, out=np.full(len(at), np.inf), where=slope > 0)
        fixed_points.append(
            tuple(map(EstimatedFixedPoint, at.tolist(), error.tolist(), stable.tolist()))
        )
    return fixed_points
