"""Quantiles of passage times of models near a reference: Newton's method on the Laplace transform of the time."""

from dataclasses import replace

import numba as nb
import numpy as np
from numpy.typing import NDArray

from worker.generator.line.finite_volumes import Cells, cut_into_cells
from worker.generator.line.landscape import Landscape, with_reference
from worker.generator.line.passages.distribution import (
    MOST_EDGES,
    PROBABILITIES,
    PassageCurve,
    passage_cells,
)
from worker.generator.line.passages.mean_times import Passage
from worker.generator.line.passages.transform import UNSEEN, Chain, oriented
from worker.generator.numerics.laplace_inversion import contour, points_for
from worker.generator.process import FloatArray

ComplexArray = NDArray[np.complex128]

PER_DISTANCE = 8
"""Cells over the distance of a passage: as only ratios are taken, a quarter of those that the law itself is given on."""
COARSER = 4
"""Length of the cells, in those of the law itself, where a level of twice this length goes with them."""
NEGLIGIBLE = 20.0
"""Depth of a panel's mass behind the start below the largest there at which it is left out."""
MOST_SAMPLES = 100
"""Samples, the first of them, that it is done for."""
STEPS = 12
SETTLED = 3e-3
"""Step in the logarithm of a time after which the next would be its square, about."""
LARGEST_LOG = 690.0


def log_quantiles_of_many(
    landscape: Landscape, reference: Landscape, passage: Passage, log_means: FloatArray
) -> FloatArray:
    """(m, k) log of the times by which the passage is over with each of `PROBABILITIES`, for each model on the panels: the
    reference's, times the ratio of both on the same cells; nan where there is none. Both points are edges of panels.

    reference  its landscape, on the same panels
    passage    the reference's, with the law of its time
    log_means  (m,) log of the models' mean times
    """
    exact, mean = _log_quantiles(passage), passage.mean_time.log_value
    low, high = sorted((passage.start, passage.to))
    inside = landscape.edges[0] <= low and high <= landscape.edges[-1]
    if exact is None or mean is None or not inside or not np.isfinite(log_means).all():
        return np.full((len(log_means), len(PROBABILITIES)), np.nan)
    both = with_reference(landscape, reference)
    cells = cut_into_cells(both, *_few_cells(both, passage.start, passage.to))
    shift = np.append(0.0, log_means - mean)
    found = _on_cells(cells, passage.start, passage.to, exact + shift[:, None])
    return np.asarray(exact + found[1:] - found[0])


def log_quantiles_alone(
    landscape: Landscape, passage: Passage, log_mean: float
) -> FloatArray | None:
    """(k,) likewise of one model on a landscape of its own, to 1e-4; inf where the mean is. None where the reference has none,
    or the passage is not inside the panels."""
    exact, mean = _log_quantiles(passage), passage.mean_time.log_value
    edges = landscape.edges
    low, high = sorted((passage.start, passage.to))
    if exact is None or mean is None:
        return None
    if log_mean == np.inf:
        return np.full(len(exact), np.inf)
    if not edges[0] <= low < high <= edges[-1]:
        return None
    cells = passage_cells(landscape, low, high)
    if len(cells.edges) > MOST_EDGES:
        return None
    guess = (exact + log_mean - mean)[None]
    fine = _on_cells(_stacked(cells), passage.start, passage.to, guess)
    coarse = _on_cells(_stacked(cells.halved()), passage.start, passage.to, fine)
    # The error goes with the square of the cells' length.
    return np.asarray((4 * fine - coarse)[0] / 3)


def log_quantiles_round(
    landscape: Landscape, at: float, passage: Passage, log_mean: float
) -> FloatArray | None:
    """(k,) likewise of a model on a circle, from `at` until either end of the landscape is reached; None where the reference
    has none, or the landscape is too steep."""
    exact, mean = _log_quantiles(passage), passage.mean_time.log_value
    low, high = landscape.edges[[0, -1]]
    if exact is None or mean is None or log_mean == np.inf:
        return None
    nearest = low if at - low < high - at else high
    cells = passage_cells(landscape, min(nearest, at), max(nearest, at), coarser=COARSER)
    if len(cells.edges) > MOST_EDGES:
        return None
    found = (exact + log_mean - mean)[None]
    levels = []
    for level in (cells, cells.halved()):
        chain = Chain.out_of(level, level.edge_at(at))
        points = points_for(chain.log_amplification)
        if points is None:
            return None
        arrays = chain.ahead[None], chain.back[None], chain.start
        found = np.asarray(_solved(*arrays, np.array(PROBABILITIES), found, *contour(points)))
        levels.append(found[0])
    return np.asarray((4 * levels[0] - levels[1]) / 3)


def _few_cells(landscape: Landscape, start: float, to: float) -> tuple[NDArray[np.int64], slice]:
    """Cells per panel, and the panels that matter to the passage: those on the way, and behind it those with mass."""
    edges, width = landscape.edges, 2 * landscape.half
    low, high = sorted((start, to))
    on_the_way = (edges[:-1] + edges[1:] > 2 * low) & (edges[:-1] + edges[1:] < 2 * high)
    behind = (
        (edges[1:] + edges[:-1] < 2 * low) if start < to else (edges[1:] + edges[:-1] > 2 * high)
    )
    masses = (landscape.psi - landscape.log_a).max(axis=-1) + np.log(width)
    most = np.where(behind, masses, -np.inf).max(axis=1, keepdims=True, initial=-np.inf)
    seen = np.flatnonzero(on_the_way | np.any(behind & (masses > most - NEGLIGIBLE), axis=0))
    away = np.maximum(np.maximum(low - edges[1:], edges[:-1] - high), high - low)
    parts = 2 ** np.ceil(np.log2(np.clip(PER_DISTANCE * width / away, 1, PER_DISTANCE))).astype(
        np.int64
    )
    rows = slice(int(seen[0]), int(seen[-1]) + 1)
    return parts[rows], rows


def _log_quantiles(passage: Passage) -> FloatArray | None:
    return np.log(passage.law.quantiles) if isinstance(passage.law, PassageCurve) else None


def _stacked(cells: Cells) -> Cells:
    return replace(
        cells,
        log_resistance=cells.log_resistance[None],
        log_left=cells.log_left[None],
        log_right=cells.log_right[None],
    )


def _on_cells(cells: Cells, start: float, to: float, guess: FloatArray) -> FloatArray:
    """(m, k) log quantiles on the chain of the cells as it is, equation (G57), from a guess of them."""
    first, last, (resistance, *_) = oriented(cells, start, to)
    resistance = np.atleast_2d(resistance)
    mass = np.atleast_2d(cells.log_node_mass if start < to else cells.log_node_mass[..., ::-1])
    gathered = np.logaddexp.accumulate(mass[:, :last], axis=1)
    begin = min(first, int(np.argmax((gathered > gathered[:, first, None] - UNSEEN).any(axis=0))))
    mass, between = mass[:, begin:last], resistance[:, begin:last]
    behind = np.concatenate([np.full((len(mass), 1), np.inf), between[:, :-1]], axis=1)
    points = points_for(
        float(np.max(np.logaddexp.reduce(mass, axis=1) - mass[:, first - begin])) / 2
    )
    if points is None or np.max(-mass - between) > LARGEST_LOG:
        return np.full(guess.shape, np.nan)
    ahead, back = np.exp(-mass - between), np.exp(-mass - behind)
    return np.asarray(
        _solved(ahead, back, first - begin, np.array(PROBABILITIES), guess, *contour(points))
    )


@nb.njit(cache=True, nogil=True)
def _solved(
    ahead: FloatArray,
    back: FloatArray,
    start: int,
    probabilities: FloatArray,
    guess: FloatArray,
    nodes: ComplexArray,
    weights: ComplexArray,
) -> FloatArray:
    """(m, k) log times at which the distribution function on each chain (m, n) has these values; it may end at either side."""
    models, n = ahead.shape
    found = np.full(guess.shape, np.nan)
    for model in range(models):
        forth, home = ahead[model], back[model]
        open_below = home[0] > 0
        for k in range(len(probabilities)):
            log_time = guess[model, k]
            for _ in range(STEPS):
                time = np.exp(log_time)
                density, below = 0.0, 0.0
                for j in range(len(nodes)):
                    s = nodes[j] / time
                    left = home[0] + 0j
                    down = left
                    for i in range(1, start + 1):
                        grown = left + s
                        passed = home[i] / (forth[i - 1] + grown)
                        left = grown * passed
                        if open_below:
                            down = down * passed
                    right = forth[n - 1] + 0j
                    up = right
                    for i in range(n - 2, start - 1, -1):
                        grown = right + s
                        passed = forth[i] / (home[i + 1] + grown)
                        right = grown * passed
                        up = up * passed
                    value = (down + up) / (left + right + s) * weights[j]
                    density += value.imag
                    below += (value / nodes[j]).imag
                # density · time is the slope in the logarithm of time.
                if not density > 0:
                    break
                step = min(max((probabilities[k] - below) / density, -1.0), 1.0)
                log_time += step
                if abs(step) < SETTLED:
                    found[model, k] = log_time
                    break
    return found
