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
"""At which the drift's sign is looked at."""


@dataclass(frozen=True, slots=True)
class Place:
    """A fixed point; its error is the drift's there over its slope [state]."""

    at: float
    std_error: float
    stable: bool


def places_of(
    models: Sequence[DiffusionProcess], drifts: Sequence[Estimate], library: Library, scales: Scales
) -> list[tuple[Place, ...]]:
    """Of each model, whose drift was estimated so."""
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
