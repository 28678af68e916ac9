"""Quantiles of a first-passage time near another model's: Newton's method on equation (G57)."""

from collections.abc import Callable

import numpy as np

from worker.generator.line.finite_volumes import Cells
from worker.generator.line.landscape import Landscape
from worker.generator.line.passages.distribution import MOST_EDGES, passage_cells, relaxing_law
from worker.generator.line.passages.transform import Chain
from worker.generator.numerics.laplace_inversion import points_for
from worker.generator.process import FloatArray
from worker.generator.quantities.passage import PROBABILITIES, Passage
from worker.generator.quantities.passage_time import Timing

COARSER = 4
"""Length of the cells, in those of the distribution itself, where a level of twice this length
goes with them."""
STEPS = 12
SETTLED = 3e-3
"""Step in the logarithm of a time after which the next would be its square, about."""

Quantiles = tuple[float, ...]


def quantiles_on_the_line(cells: Cells, passage: Passage, mean: Timing) -> Quantiles:
    """Return the times by which the passage of a model is over with each of `PROBABILITIES` [time].

    There are none where the other model has none, or the passage is not inside the cells.

    Parameters
    ----------
    cells : an even number of cells that resolve the passage
    passage : the passage of a model near it
    mean : mean time of the model's passage; where it is infinite, so are the quantiles
    """
    low, high = sorted((passage.start, passage.to))
    if not cells.edges[0] <= low < high <= cells.edges[-1]:
        return ()
    return _quantiles(
        cells, lambda level: Chain.along(level, passage.start, passage.to), passage, mean
    )


def quantiles_round(landscape: Landscape, at: float, passage: Passage, mean: Timing) -> Quantiles:
    """Return the quantiles on a circle that is cut open at the goal.

    Parameters
    ----------
    landscape : one turn; the passage is over where either end of it is reached
    at : start [state]
    passage : the passage of a model near it
    mean : mean time of the model's passage
    """
    low, high = landscape.edges[[0, -1]]
    nearest = low if at - low < high - at else high
    cells = passage_cells(landscape, min(nearest, at), max(nearest, at), coarser=COARSER)
    return _quantiles(cells, lambda level: Chain.out_of(level, level.edge_at(at)), passage, mean)


def _quantiles(
    cells: Cells, chain_of: Callable[[Cells], Chain], passage: Passage, mean: Timing
) -> Quantiles:
    known = passage.mean_time.log_value
    if not passage.quantiles or known is None or len(cells.edges) > MOST_EDGES:
        return ()
    if mean.log_value is None:
        return (np.inf,) * len(passage.quantiles)
    coarse = _on_chain(chain_of(cells.halved()), np.log(passage.quantiles) + mean.log_value - known)
    fine = _on_chain(chain_of(cells), coarse)
    # The error goes with the square of the cells' length.
    return tuple(np.exp((4 * fine - coarse) / 3).tolist())


def _on_chain(chain: Chain, log_times: FloatArray) -> FloatArray:
    """Return (k,) log quantiles, from a guess of them; nan where they are not found."""
    points = points_for(chain.log_amplification)
    if points is None or not np.isfinite(log_times).all():
        return np.full(log_times.shape, np.nan)
    law = relaxing_law(chain, points)
    for _ in range(STEPS):
        times = np.exp(log_times)
        density, over = law(times)
        with np.errstate(divide="ignore", invalid="ignore"):
            step = np.clip((PROBABILITIES - over) / (density * times), -1.0, 1.0)
        log_times = log_times + step
        if np.max(np.abs(step)) < SETTLED:
            return log_times
    return np.full(log_times.shape, np.nan)
