"""The model of every window: the terms of the whole record, with the window's own coefficients."""

from collections.abc import Iterator
from dataclasses import dataclass, replace

from worker.identification.data.trajectories import MINIMUM_INCREMENTS
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
from worker.identification.selection.best_subset import Estimate
from worker.identification.sums.kernel_statistics import KernelStatistics, merged
from worker.identification.sums.rules import SamplingRule
from worker.rolling.windows import MovingWindows


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
            problem, statistics, identified, identified.rule.noise.variance
        )
    return first_weights(statistics, problem.kernels)
