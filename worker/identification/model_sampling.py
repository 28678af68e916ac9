"""Models drawn around the estimate: uncertainty of coefficients, sampling rule and support."""

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Generic, TypeVar

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import brentq
from scipy.special import ndtr, ndtri

from worker.identification.selection.support_selection import AlternativeSupport, Selected

Floats = NDArray[np.float64]
Process = TypeVar("Process")


@dataclass(frozen=True, slots=True, eq=False)
class DrawnModels(Generic[Process]):
    """Models around an estimate.

    coefficients   (n, m) coefficients of n models, all components in turn
    centre         (m,) coefficients of the estimate
    support        (n,) number of each model's support; 0 for the estimate's own
    process_at     function of coefficients (m,) that makes their process
    """

    coefficients: Floats
    centre: Floats
    support: NDArray[np.int64]
    process_at: Callable[[Floats], Process]

    def __len__(self) -> int:
        return len(self.coefficients)

    def __getitem__(self, row: int) -> Process:
        return self.process_at(self.coefficients[row])


def draw_models(
    components: Sequence[Selected], count: int, seed: int
) -> tuple[Floats, NDArray[np.int64]]:
    """Draw coefficients along the internal functions, and supports.

    The support of each component is drawn by the weights (M35), its coefficients from their
    covariance (M36). Where both sampling rules describe the data, every second model is that of the
    other rule, in all components: central intervals over this even mixture are those of (M34).

    Parameters
    ----------
    components : estimates
    count : number of models
    seed : seed of the random numbers

    Returns
    -------
    coefficients : (count, n_components, n_functions)
    supports : (count,) number of each model's support
    """
    generator = np.random.default_rng(seed)
    by_other = np.arange(count) % 2 == 1
    models, supports = [], np.zeros(count, np.int64)
    for selected in components:
        supports *= 1 + len(selected.alternatives)
        normal = generator.standard_normal((count, len(selected.estimate.internal)))
        drawn = _around(_of(selected), normal, by_other)
        order = generator.permutation(count)
        first = 0
        for number, alternative in enumerate(selected.alternatives, start=1):
            # The number of models is the weight's exact share, not a random one.
            last = first + round(alternative.weight * count)
            rows = order[first:last]
            drawn[rows] = _around(alternative, normal[rows], by_other[rows])
            supports[rows] += number
            first = last
        models.append(drawn)
    return np.stack(models, axis=1), supports


def _of(selected: Selected) -> AlternativeSupport:
    return AlternativeSupport(
        selected.estimate,
        1 - sum(alternative.weight for alternative in selected.alternatives),
        selected.shift,
    )


def _around(support: AlternativeSupport, normal: Floats, by_other: NDArray[np.bool_]) -> Floats:
    drawn = support.estimate.internal + normal @ support.estimate.internal_factor.T
    if support.shift is not None:
        drawn[by_other] += support.shift.internal
    return np.asarray(drawn)


def confidence_interval(
    value: float, std_error: float, shift: float, confidence: float
) -> tuple[float, float]:
    """Return an interval that covers the truth whichever of two sampling rules is right, (M34).

    The construction is that of Imbens and Manski (2004).

    Parameters
    ----------
    value : coefficient by one rule
    std_error : standard error by either rule
    shift : coefficient by the other rule, less `value`
    confidence : probability that the interval covers the truth
    """
    distance = abs(shift) / std_error
    two_sided, one_sided = float(ndtri((1 + confidence) / 2)), float(ndtri(confidence))
    if not math.isfinite(distance):
        width = one_sided
    elif distance > 0:
        width = float(
            brentq(
                lambda c: ndtr(c + distance) - ndtr(-c) - confidence,
                one_sided - 1e-9,
                two_sided + 1e-9,
            )
        )
    else:
        width = two_sided
    return min(value, value + shift) - width * std_error, max(
        value, value + shift
    ) + width * std_error
