"""Sequentially thresholded least squares, with the threshold on z-scores (docs/method.md §5)."""

from collections.abc import Iterator

import numpy as np
from numpy.typing import NDArray

from worker.identification.data.library import Library
from worker.identification.equations.regression import NormalEquations
from worker.identification.selection.best_subset import Candidate, lowest_of_best, raw_on
from worker.identification.selection.log_likelihood_gains import (
    Gains,
    Level,
    Support,
    without_each,
)
from worker.identification.selection.supports import shrinking

Floats = NDArray[np.float64]


def thresholding_path(
    equations: NormalEquations, library: Library, threshold: float
) -> tuple[tuple[Candidate, ...], Support]:
    """Drop terms below a threshold on |z| one by one, equation (M11a).

    Returns every round's support, smallest first, and the one at which no coefficient is below the
    threshold. One term goes a round, the one of the smallest |z|: of terms that are much alike
    every z is small until one of them has gone, and to drop all that are below the threshold, as is
    done with raw coefficients, would lose x and x^3 together. After the last round terms still go,
    down to none, for the reader of the path.

    Parameters
    ----------
    equations, library : normal equations, library of terms
    threshold : |z| in standard errors
    """
    path, kept = [], None
    for support, gain, weakest in _rounds(Gains(equations, library), library, threshold):
        if kept is None and weakest >= threshold:
            kept = support
        if np.isfinite(gain):
            score = gain - 0.5 * threshold**2 * len(support)
            path.append(Candidate(support, gain, score, raw_on(equations, library, support)))
    return tuple(reversed(path)), kept or ()


def _rounds(
    gains: Gains, library: Library, threshold: float
) -> Iterator[tuple[Support, float, float]]:
    """Yield the supports from everything to nothing, with their gain and smallest |z|."""
    support = shrinking(library)
    (gain,) = gains.of([support.inside])
    while support.inside:
        without = without_each(gains, library, support)
        # z² of a coefficient is twice what the fit loses without it. Terms that are not
        # identifiable have none.
        is_identifiable = np.isfinite(gain)
        weakest = (
            float(np.sqrt(2 * max(gain - without.gains.max(), 0.0))) if is_identifiable else 0.0
        )
        yield support.inside, gain, weakest
        out = _next(
            without,
            gain - 0.5 * threshold**2 if is_identifiable and weakest < threshold else -np.inf,
            library,
        )
        support, gain = support.without_term(support.inside[out]), float(without.gains[out])
    yield (), 0.0, np.inf


def _next(without: Level, least: float, library: Library) -> int:
    """Find the term of the smallest z, of those whose loss the threshold allows."""
    allowed = np.flatnonzero(without.gains > least)
    if not len(allowed):
        allowed = np.arange(len(without.gains))
    found = without.at(allowed)
    return int(allowed[lowest_of_best(found.gains, found, library)[0]])
