"""Fixed points of the drift, and the barriers between the wells around the stable ones."""

import numpy as np

from worker.generator.line.domain.domain_scan import Window
from worker.generator.line.landscape import Landscape
from worker.generator.numerics.quadrature import WEIGHTS
from worker.generator.numerics.roots import roots
from worker.generator.process import FloatArray, ScalarProcess, values
from worker.generator.quantities.barrier import Barrier
from worker.generator.quantities.fixed_point import FixedPoint


def fixed_points_of(model: ScalarProcess, window: Window) -> tuple[FixedPoint, ...]:
    """Return every point where the drift changes sign, from left to right.

    A point where it only touches zero is not one.
    """
    found, stable = roots(model, window.points, window.drift)
    slopes = values(model.db, found)
    return tuple(
        FixedPoint((float(x),), bool(s), float(db))
        for x, s, db in zip(found, stable, slopes, strict=True)
    )


def barriers_of(
    model: ScalarProcess, landscape: Landscape, fixed: tuple[FixedPoint, ...]
) -> tuple[Barrier, ...]:
    """Return one barrier for each neighbouring well and unstable point, from left to right."""
    barriers = []
    for index, well in enumerate(fixed):
        if not well.stable:
            continue
        for step in (-1, 1):
            if not 0 <= index + step < len(fixed):
                continue
            top = fixed[index + step].at[0]
            behind = fixed[index + 2 * step].at[0] if 0 <= index + 2 * step < len(fixed) else None
            pair = np.array([well.at[0], top])
            if not (landscape.edges[0] <= pair.min() and pair.max() <= landscape.edges[-1]):
                continue
            log_density = landscape.log_density_at(pair)
            height = -work_between(model, landscape, *pair)
            barriers.append(
                Barrier(well.at[0], top, behind, height, float(log_density[0] - log_density[1]))
            )
    return tuple(barriers)


def work_between(model: ScalarProcess, landscape: Landscape, start: float, stop: float) -> float:
    """Return ∫ b dx from start to stop, both of them edges of panels [state²/time].

    Parameters
    ----------
    model : process in one coordinate
    landscape : its panels
    start, stop : edges of panels [state]
    """
    first, last = sorted(int(np.argmin(np.abs(landscape.edges - x))) for x in (start, stop))
    x: FloatArray = landscape.at_nodes[0][first:last]
    work = float(landscape.half[first:last] @ (values(model.b, x) @ WEIGHTS))
    return work if start < stop else -work
