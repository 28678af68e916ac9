"""The model of every window: the terms of the whole record, with the window's own coefficients."""

from collections.abc import Iterator
from dataclasses import dataclass, replace

import numpy as np

from worker.identification.data.trajectories import MINIMUM_INCREMENTS
from worker.identification.equations.measurement_noise import Noisy
from worker.identification.errors import NoDataUnderKernels
from worker.identification.estimation.scalar_estimator import Identified
from worker.identification.estimation.scalar_fit import (
    Problem,
    Weights,
    first_weights,
    gather_for,
    re_estimated,
    weights_through_noise,
)
from worker.identification.selection.best_subset import Estimate
from worker.identification.sums.kernel_statistics import KernelStatistics
from worker.rolling.windows import MovingWindows


@dataclass(frozen=True, slots=True, eq=False)
class WindowFit:
    """Drift and diffusion of one window, in internal units; None where it does not tell them.

    n_windows   increments that it rests on
    """

    n_windows: int
    drift: Estimate | None
    diffusion: Estimate | None


def fits_of(
    problem: Problem, identified: Identified, windows: MovingWindows
) -> Iterator[WindowFit]:
    """One fit a window, equation (M37): the sums of every piece are taken once, and those of a window are their sum."""
    rule = identified.fit.rule
    pieces = [
        gather_for(replace(problem, edges=windows.edges[i : i + 2]), rule)
        for i in range(len(windows.edges) - 1)
    ]
    for window in range(windows.count):
        yield _fit(problem, identified, pieces[windows.pieces(window)])


def _fit(problem: Problem, identified: Identified, pieces: list[KernelStatistics]) -> WindowFit:
    filled = [piece for piece in pieces if piece.n_windows]
    n_windows = sum(piece.n_windows for piece in filled)
    if n_windows < MINIMUM_INCREMENTS:
        return WindowFit(n_windows, None, None)
    statistics = _merged(filled)
    try:
        return WindowFit(
            n_windows,
            *re_estimated(
                problem, identified.fit, statistics, _weights(problem, identified, statistics)
            ),
        )
    except NoDataUnderKernels:
        return WindowFit(n_windows, None, None)


def _weights(problem: Problem, identified: Identified, statistics: KernelStatistics) -> Weights:
    """From the window's own increments; through noise as the whole record's model has them."""
    if isinstance(identified.fit.rule, Noisy):
        return weights_through_noise(
            problem, statistics, identified.fit, identified.fit.rule.variance
        )
    return first_weights(statistics, identified.kernels)


def _merged(pieces: list[KernelStatistics]) -> KernelStatistics:
    """What `+` gives, in one step."""
    return KernelStatistics(
        n_windows=sum(piece.n_windows for piece in pieces),
        cells=pieces[0].cells,
        time=np.sum([piece.time for piece in pieces], axis=0),
        time_squared=np.concatenate([piece.time_squared for piece in pieces]),
        at_instrument=np.concatenate([piece.at_instrument for piece in pieces]),
        sums=np.concatenate([piece.sums for piece in pieces]),
        totals=np.sum([piece.totals for piece in pieces], axis=0),
    )
