"""Drift and diffusion for drawing: curves with bands, and a field of arrows."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from worker.generator.process import DiffusionProcess
from worker.identification.model_sampling import DrawnModels

Floats = NDArray[np.float64]
Range = tuple[float, float]

POINTS = 121
ARROWS = 17
"""Number of arrows along each of two coordinates."""
MOST = 1000
"""Number of sampled models from which a band is taken."""


@dataclass(frozen=True, slots=True, eq=False)
class Curve:
    """Function on a grid.

    values   (n,)
    band     (2, n) lower and upper end of its confidence interval; None without drawn models
    """

    values: Floats
    band: Floats | None


@dataclass(frozen=True, slots=True, eq=False)
class Curves:
    """Drift and diffusion of one coordinate.

    grid        (n,) [state]
    drift       [state/time]
    diffusion   [state²/time]
    """

    grid: Floats
    drift: Curve
    diffusion: Curve


@dataclass(frozen=True, slots=True, eq=False)
class DriftField:
    """Drift of two coordinates.

    grid     two (ARROWS,) [state]
    values   (ARROWS, ARROWS, 2) [state/time]
    """

    grid: tuple[Floats, Floats]
    values: Floats


def curves_of(
    process: DiffusionProcess,
    draws: DrawnModels[Any] | None,
    where: Range,
    confidence: float = 0.95,
) -> Curves:
    """Evaluate drift and diffusion of a process of one coordinate over an interval.

    Parameters
    ----------
    process : process of one coordinate
    draws : models drawn around the estimate; None where there are none
    where : interval [state]
    confidence : share of the draws that the band holds at each point
    """
    grid = np.linspace(*where, POINTS)
    x = grid[:, None]
    with np.errstate(all="ignore"):
        b, a = process.drift(x)[:, 0], process.diffusion(x)[:, 0, 0]
    bands = (None, None) if draws is None or not len(draws) else _bands(draws, grid, confidence)
    return Curves(grid, Curve(b, bands[0]), Curve(a, bands[1]))


def drift_field(process: DiffusionProcess, where: Sequence[Range]) -> DriftField:
    """Evaluate the drift of a process of two coordinates over a rectangle."""
    first, second = (np.linspace(*ends, ARROWS) for ends in where)
    at = np.stack(np.meshgrid(first, second, indexing="ij"), axis=-1)
    with np.errstate(all="ignore"):
        values = process.drift(at.reshape(-1, 2)).reshape(at.shape)
    return DriftField((first, second), values)


def _bands(draws: DrawnModels[Any], grid: Floats, confidence: float) -> list[Floats]:
    """(2, n) each: the central intervals of drift and diffusion."""
    tail = (1 - confidence) / 2
    # Both are linear in the coefficients.
    functions = [draws.process_at(unit) for unit in np.eye(len(draws.centre))]
    with np.errstate(all="ignore"):
        tables = [f.b(grid) for f in functions], [f.a(grid) for f in functions]
        return [
            np.quantile(draws.coefficients[:MOST] @ np.array(table), [tail, 1 - tail], axis=0)
            for table in tables
        ]
