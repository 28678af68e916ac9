"""Which models fit on the reference's panels, and on which panels the others would."""

from collections.abc import Sequence
from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from worker.generator.line.domain.metastable import SMALLEST_BARRIER
from worker.generator.line.finite_volumes import cut_into_cells
from worker.generator.line.landscape import Landscape
from worker.generator.line.panels import MAX_RISE
from worker.generator.numerics.quadrature import TO_LEGENDRE
from worker.generator.process import DiffusionProcess, FloatArray
from worker.generator.uncertainty.batch_mesh import Frame, Models, models_on
from worker.generator.uncertainty.batch_potential import summed
from worker.generator.uncertainty.mesh_adaptation import with_room, without_depths
from worker.generator.uncertainty.sampled_model import DEPTH

RESOLVED = 1e-6
"""Last Legendre coefficients of ψ and log a with which a model counts as resolved on the panels."""
RARE = 12.0
"""Fall of the log-density from its peak beyond which a panel need not be resolved: what is there counts for e^−12."""
LARGEST_SPAN = 300.0
"""Range of the logarithms of masses and resistances that floating numbers hold with room to spare."""

Bools = NDArray[np.bool_]


def fitting(models: Models, frame: Frame) -> tuple[Landscape, Models]:
    """Those models that the panels resolve, with their landscape there."""
    landscape = _stacked(frame.landscape, models.b, models.a)
    steep = np.ptp(landscape.psi, axis=(-2, -1)) > LARGEST_SPAN
    if steep.any():
        models = without_depths(models, landscape, frame, steep)
        landscape = _stacked(frame.landscape, models.b, models.a)
    fits = _resolved(landscape, frame.landscape, models.b, models.a) & _fallen(landscape, models)
    return landscape.where(fits), models.where(fits)


def roomier(frame: Frame, processes: Sequence[DiffusionProcess]) -> Frame:
    """The frame with panels as fine as these models need."""
    models = models_on(frame, processes)
    return with_room(frame, _stacked(frame.landscape, models.b, models.a))


def too_wide(landscape: Landscape) -> bool:
    """Whether masses and resistances of a model differ by more than floating numbers hold."""
    cells = cut_into_cells(landscape)
    return bool(max(np.ptp(cells.log_resistance), np.ptp(cells.log_mass)) > LARGEST_SPAN)


def _stacked(reference: Landscape, b: FloatArray, a: FloatArray) -> Landscape:
    """The models' landscape on the reference's panels."""
    return replace(
        reference, psi=summed(reference, 2 * b / a), log_a=np.log(a), tails=(-np.inf, -np.inf)
    )


def _resolved(landscape: Landscape, reference: Landscape, b: FloatArray, a: FloatArray) -> Bools:
    """Whether each model, where its probability is, is as smooth as the panels need and not much steeper than the reference."""
    half = reference.half[:, None]
    left = (
        np.abs((2 * b / a) @ TO_LEGENDRE[-2:].T) * half,
        np.abs(landscape.log_a @ TO_LEGENDRE[-2:].T),
    )
    smooth = np.max(np.maximum(*left), axis=-1) < RESOLVED
    rise, usual = (np.ptp(psi, axis=-1) for psi in (landscape.psi, reference.psi))
    height = (landscape.psi - landscape.log_a).max(axis=-1)
    rare = height < height.max(axis=-1, keepdims=True) - RARE
    span = np.maximum(np.ptp(landscape.psi, axis=(-2, -1)), np.ptp(landscape.log_a, axis=(-2, -1)))
    return np.asarray(
        (span < 2 * LARGEST_SPAN)
        & np.all(rare | (smooth & (rise < 2 * np.maximum(usual, MAX_RISE))), axis=-1)
    )


def _fallen(landscape: Landscape, models: Models) -> Bools:
    """Whether nothing beyond the panels counts, and whether a barrier holds the models that turn outward there."""
    height = landscape.psi - landscape.log_a / 2
    peak = height.max(axis=(-2, -1))
    fits = np.full(len(height), True)
    rows = np.arange(len(height))
    for column, panel, node in ((0, 0, 0), (1, -1, -1)):
        fits &= models.walled[:, column] | (peak - height[:, panel, node] > DEPTH)
        cut = models.cut[:, column]
        fits &= (cut < 0) | (peak - height[rows, cut, -1 - node] > SMALLEST_BARRIER)
    return np.asarray(fits)
