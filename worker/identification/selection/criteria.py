"""Gain that a term must bring to be kept, by each method of selection (docs/method.md §5)."""

from collections import Counter
from dataclasses import dataclass
from functools import lru_cache
from math import log
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from worker.identification.data.library import Library

Floats = NDArray[np.float64]
Method = Literal["bic", "pastis", "lasso_cv", "stlsq", "none"]

P0 = 1e-3
"""Probability that a term is false, as `pastis` takes it."""

Z_THRESHOLD = 4.0
"""Standard errors that give a false alarm of one term in 16 000."""


@dataclass(frozen=True, slots=True)
class Criterion:
    """Method by which terms are kept or dropped.

    z_threshold   standard errors that a coefficient must be away from zero, for `stlsq`
    """

    method: Method = "bic"
    z_threshold: float = Z_THRESHOLD


BIC = Criterion()


def costs_of(criterion: Criterion, library: Library, n_increments: int) -> Floats:
    """Compute what each term must add to the log-likelihood, equations (M11) and (M11a); (K,).

    `lasso_cv` and `none` have no such costs and get those of `bic`.

    Parameters
    ----------
    criterion : method of selection
    library : library of terms
    n_increments : number of increments of the data
    """
    match criterion.method:
        case "pastis":
            return np.full(library.size, log(library.size / P0))
        case "stlsq":
            return np.full(library.size, criterion.z_threshold**2 / 2)
    return 0.5 * log(n_increments) + costs_of_choice(library)


@lru_cache(maxsize=64)
def costs_of_choice(library: Library) -> Floats:
    """Compute what a term must gain for being one of many of its degree: log of their number; (K,).

    Among x^2, x*y, y^2 one fits well by chance more often than x^2 alone. Constant and linear
    terms, which any drift may be expected to have, are exempt. In one variable every degree has one
    term, and all costs are zero.
    """
    if library.dimension == 1:
        return np.zeros(library.size)
    count = Counter(library.degrees)
    return np.array([0.0 if degree in (0, 1) else log(count[degree]) for degree in library.degrees])
