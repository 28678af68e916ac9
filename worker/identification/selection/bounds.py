"""Bounds of coefficients: estimates and drawn models inside them (docs/method.md §17)."""

from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from worker.identification.data.library import Library
from worker.identification.selection.best_subset import Estimate
from worker.identification.selection.half_spaces import HalfSpaces
from worker.identification.selection.log_likelihood_gains import Support

Floats = NDArray[np.float64]

TOUCHING = 1e-9
"""Distance from a bound, in standard errors, below which a coefficient is at it."""


@dataclass(frozen=True, slots=True)
class BoundsTest:
    """Test of the bounds of a component that its free estimate violates, equation (M73).

    terms       terms whose free coefficients are outside their bounds
    values      these coefficients, internal units
    errors      their standard errors
    nearest     the bounds they violate
    statistic   squared distance of the free estimate from the bounds, in standard errors
    p_value     largest probability of a larger statistic if the bounds hold
    """

    terms: Support
    values: tuple[float, ...]
    errors: tuple[float, ...]
    nearest: tuple[float, ...]
    statistic: float
    p_value: float


def within(
    estimate: Estimate, bounds: tuple[tuple[int, float, float], ...], library: Library
) -> tuple[Estimate, BoundsTest | None]:
    """Move an estimate inside bounds, in the metric of its covariance.

    Its errors stay those of the free estimate, which may be anywhere near: intervals are cut by
    the bounds. The test is None where the free estimate is inside.

    Parameters
    ----------
    estimate : free estimate of a component
    bounds : terms with the lowest and highest raw coefficient, internal units
    library : library of terms
    """
    of_terms = np.array([[float(v) for v in row] for row in library.coefficient_functionals])
    covariance = estimate.internal_factor @ estimate.internal_factor.T
    sides, places = [], []
    for k, low, high in bounds:
        if k not in estimate.support:
            continue
        functional = of_terms[library.places[k]]
        if not functional @ covariance @ functional > 0:
            continue
        for sign, bound in ((1.0, low), (-1.0, high)):
            if np.isfinite(bound):
                sides.append((sign * functional, sign * bound, sign))
                places.append(estimate.support.index(k))
    if not sides:
        return estimate, None
    rows = np.array([row for row, _, _ in sides])
    least, signs = np.array([b for _, b, _ in sides]), np.array([s for _, _, s in sides])
    along = covariance @ rows.T
    half_spaces = HalfSpaces(rows, least, along, rows @ along)
    slack = signs * estimate.raw[places] - least
    multipliers = half_spaces.multipliers(slack[None])[0]
    raw = estimate.raw + _on(estimate.support, library, of_terms) @ (along @ multipliers)
    errors = np.sqrt(np.diag(half_spaces.covariance))
    at_bound = signs * raw[places] - least <= TOUCHING * errors
    raw[np.array(places)[at_bound]] = (signs * least)[at_bound]
    free = raw.copy()
    free[places] = estimate.raw[places]
    moved = replace(
        estimate,
        internal=estimate.internal + along @ multipliers,
        raw=raw,
        half_spaces=half_spaces,
        free=free,
        at_bound=tuple(estimate.support[places[i]] for i in np.flatnonzero(at_bound)),
    )
    violated = np.flatnonzero(slack < -TOUCHING * errors)
    if not len(violated):
        return moved, None
    statistic = float(multipliers @ half_spaces.covariance @ multipliers)
    return moved, BoundsTest(
        tuple(estimate.support[places[i]] for i in violated),
        tuple(float(estimate.raw[places[i]]) for i in violated),
        tuple(float(errors[i]) for i in violated),
        tuple(float(signs[i] * least[i]) for i in violated),
        statistic,
        half_spaces.probability(statistic),
    )


def _on(support: Support, library: Library, of_terms: Floats) -> Floats:
    """Return what reads the raw coefficients of a support off the internal ones."""
    return of_terms[[library.places[k] for k in support]]
