"""Models drawn around the estimate: uncertainty of coefficients, sampling rule and support."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Generic, TypeVar

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import brentq
from scipy.special import ndtr

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
    joint: dict[int, tuple[Floats, NDArray[np.int64]]] = {}
    for selected in components:
        supports *= 1 + len(selected.alternatives)
        shared = selected.joint
        if shared is not None and shared.number in joint:
            normal, order = joint[shared.number]
            order = order if shared.same_supports else generator.permutation(count)
        else:
            normal = generator.standard_normal((count, selected.estimate.internal_factor.shape[1]))
            order = generator.permutation(count)
        if shared is not None:
            joint[shared.number] = normal, order
        drawn = _around(selected.supports[0], normal, by_other)
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


def _around(support: AlternativeSupport, normal: Floats, by_other: NDArray[np.bool_]) -> Floats:
    drawn = support.estimate.internal + normal @ support.estimate.internal_factor.T
    if support.shift is not None:
        drawn[by_other] += support.shift.internal
    half_spaces = support.estimate.half_spaces
    return np.asarray(drawn if half_spaces is None else half_spaces.inside(drawn))


@dataclass(frozen=True, slots=True)
class CoefficientEstimate:
    """Estimate of one coefficient on one support.

    weight      probability of the support
    value       coefficient by the chosen sampling rule
    std_error   its standard error, by either rule
    shift       coefficient by the other rule less `value`; 0 where that does not describe the data
    """

    weight: float
    value: float
    std_error: float
    shift: float = 0.0


def confidence_interval(
    estimates: Sequence[CoefficientEstimate],
    confidence: float,
    value: float,
    bounds: tuple[float, float] = (-np.inf, np.inf),
) -> tuple[float, float]:
    """Return the central interval of a coefficient over supports and sampling rules, (M34), (M35).

    The coefficient is zero with the probability that the weights leave to one. On a single support
    the interval covers the truth whichever of two rules is right (Imbens and Manski, 2004). The
    interval is widened to the estimate where the other supports all but exclude it.

    Parameters
    ----------
    estimates : estimates on the supports that have the term
    confidence : coverage of the interval, 0 to 1
    value : the estimate; 0 of a term that is not selected
    bounds : known bounds of the coefficient, which cut the interval
    """
    table = np.array([(e.weight, e.value, e.std_error, e.shift) for e in estimates]).reshape(-1, 4)
    weight, middle, error, shift = table.T
    absent = max(1 - float(weight.sum()), 0.0)
    error = np.maximum(error, np.finfo(float).tiny)
    reach = 10 * error
    low = min(float(np.min(np.minimum(middle, middle + shift) - reach, initial=0.0)), 0.0)
    high = max(float(np.max(np.maximum(middle, middle + shift) + reach, initial=0.0)), 0.0)

    def below(x: float) -> float:
        return float(weight @ (ndtr((x - middle) / error) + ndtr((x - middle - shift) / error)) / 2)

    def end(share: float) -> float:
        at_zero = below(0.0)
        if at_zero <= share <= at_zero + absent:
            return 0.0
        wanted = share if share < at_zero else share - absent
        return float(brentq(lambda x: below(x) - wanted, low, high, xtol=1e-9 * error.min()))

    lowest, highest = bounds
    return (
        min(max(end((1 - confidence) / 2), lowest), value),
        max(min(end((1 + confidence) / 2), highest), value),
    )
