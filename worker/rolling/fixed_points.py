"""The fixed points of every window's drift, where data of the record were."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from worker.generator.numerics.roots import roots
from worker.generator.process import DiffusionProcess, scalar_view, values
from worker.identification.data.library import Library
from worker.identification.data.trajectories import Scales
from worker.identification.selection.best_subset import Estimate

POINTS = 400
"""Points at which the sign of the drift is evaluated."""


@dataclass(frozen=True, slots=True)
class Place:
    """Fixed point of a window; its error is that of the drift over the drift's slope [state]."""

    at: float
    std_error: float
    stable: bool


def places_of(
    models: Sequence[DiffusionProcess], drifts: Sequence[Estimate], library: Library, scales: Scales
) -> list[tuple[Place, ...]]:
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
    places = []
    for model, drift, g, (at, stable) in zip(models, drifts, of_each, found, strict=False):
        of_drift = np.linalg.norm(g @ drift.internal_factor, axis=1) * scales.unit / scales.time
        slope = np.abs(scalar_view(model).db(at))
        error = np.divide(of_drift, slope, out=np.full(len(at), np.inf), where=slope > 0)
        places.append(tuple(map(Place, at.tolist(), error.tolist(), stable.tolist())))
    return places
