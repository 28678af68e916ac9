"""Every window's model, and those one standard error away from it."""

from collections.abc import Iterator

import numpy as np
from numpy.typing import NDArray

from worker.identification.data.library import Library
from worker.identification.data.trajectories import Scales
from worker.identification.identified_model import process_of
from worker.identification.selection.best_subset import Estimate
from worker.identification.symbolic_process import SymbolicProcess

Floats = NDArray[np.float64]
Neighbourhood = tuple[SymbolicProcess, ...]
"""A window's model, then two models, below and above, along each direction of its covariance."""


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
