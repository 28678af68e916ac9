"""Probabilities of supports: which sets of terms may be the right one (docs/method.md §12)."""

from collections.abc import Sequence
from math import log

import numpy as np
from numpy.typing import NDArray

from worker.identification.data.library import Library
from worker.identification.regression import NormalEquations
from worker.identification.selection.best_subset import judged_by
from worker.identification.selection.explosion import OpenEnds
from worker.identification.selection.log_likelihood_gains import (
    Gains,
    Level,
    Support,
    gains_of,
)
from worker.identification.selection.supports import EXHAUSTIVE_UP_TO

Floats = NDArray[np.float64]

UNLIKELY = 0.002
"""Probability of a support below which no model is drawn from it."""

MOST_SUPPORTS = 60
"""Number of supports of one component that models are drawn from."""

EXPANSIONS = 20
"""Number of likely supports of a large library whose neighbours, one term more or less, are
looked at."""

LEAST_COST = 0.5
"""Smallest cost of a term [log-likelihood]: that of a term of one standard error."""


def cost_of_a_term(gain: float, n_terms: int) -> float:
    """Compute what a term must add to the log-likelihood to be as likely as not, (M35).

    The largest gain of any support, 4 G = T/τ for a linear drift, says how many relaxation times
    were recorded. In 4 000 random systems of one variable (Gaussian limit) intervals of the drift
    held the truth in 84 % with the cost ½ log(number of increments), and in 93 % with this one;
    they are 15 % wider where no term is in doubt.

    Parameters
    ----------
    gain : largest gain of any support
    n_terms : number of terms of the library, which gain ½ each by chance
    """
    return max(log(max(4 * gain - 2 * n_terms, 1.0)) - 3.0, LEAST_COST)


def support_probabilities(
    equations: NormalEquations,
    library: Library,
    levels: Sequence[Level],
    criterion_costs: Floats,
    own_costs: Floats,
    chosen: Support,
    excluded: Support,
    ends: OpenEnds,
) -> dict[Support, float]:
    """Return the probabilities of the likely supports, the chosen one first, equation (M35).

    Parameters
    ----------
    equations, library : normal equations, library of terms
    levels : supports that the selection looked at, by size
    criterion_costs : (K,) what the selection asks of each term, which a draw never exceeds
    own_costs : (K,) what a term must gain for being one of many of its degree
    chosen : selected support
    excluded : terms that depend on the sampling rule, which no support has
    ends : ends of the line at which a drift may explode
    """
    gains = _considered(equations, library, levels, own_costs)
    gains |= gains_of(equations, library, [chosen])
    if not np.isfinite(gains[chosen]):
        # Its terms are hardly told apart: no other support can be weighed against it.
        return {chosen: 1.0}
    largest = max(gain for gain in gains.values() if np.isfinite(gain))
    costs = np.minimum(criterion_costs, cost_of_a_term(largest, library.size) + own_costs)
    allowed = [
        support
        for support, gain in gains.items()
        if np.isfinite(gain) and (support == chosen or not set(support) & set(excluded))
    ]
    members = np.zeros((len(allowed), library.size), dtype=bool)
    for i, support in enumerate(allowed):
        members[i, list(support)] = True
    level = Level(members, np.array([gains[support] for support in allowed]))
    scores = judged_by(costs, level, equations, library, ends, window=-log(UNLIKELY))
    weights = dict(zip(allowed, np.exp(scores - scores.max()).tolist(), strict=True))
    ranked = sorted(weights, key=lambda support: -weights[support])[:MOST_SUPPORTS]
    total = sum(weights.values())
    kept = [s for s in ranked if s != chosen and weights[s] > UNLIKELY * total]
    total = weights[chosen] + sum(weights[support] for support in kept)
    return {support: weights[support] / total for support in (chosen, *kept)}


def _considered(
    equations: NormalEquations, library: Library, levels: Sequence[Level], costs: Floats
) -> dict[Support, float]:
    """Compute the gains of all supports of a small library, of the likely ones of a large one.

    In a large library these are the supports that the selection looked at, and those next to the
    best of them (Occam's window of Madigan and Raftery, 1994).
    """
    found = {
        level.support(k): float(gain) for level in levels for k, gain in enumerate(level.gains)
    }
    # Far from the origin each support costs an exact elimination.
    if library.size <= EXHAUSTIVE_UP_TO or not library.near_origin:
        return found
    gains = Gains(equations, library)
    largest = max(gain for gain in found.values() if np.isfinite(gain))
    costs = costs + cost_of_a_term(largest, library.size)
    expanded: set[Support] = set()
    for _ in range(EXPANSIONS):
        best = max(
            (s for s in found if s not in expanded),
            key=lambda s: found[s] - costs[list(s)].sum(),
        )
        expanded.add(best)
        more = [tuple(sorted((*best, k))) for k in range(library.size) if k not in best]
        less = [tuple(j for j in best if j != k) for k in best]
        for supports in (more, less):
            new = [support for support in supports if support not in found]
            found |= dict(zip(new, gains.of(new), strict=True))
    return found
