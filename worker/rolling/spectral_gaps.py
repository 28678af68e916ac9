"""The spectral gap of every window's model, with its error.

The error of log λ is that of its coefficients, carried through the generator by symmetric differences along the columns of a
square root of their covariance, equation (M38): barriers enter as exponents, and there log λ is nearly linear.

A short window's model may push outward where its data hardly were, and then has no stationary law. What is asked is how fast the
process relaxes where it was: all models get the same reflecting ends, beyond the record's range as far as all of them turn back.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise

import numpy as np

from worker.generator.analysis import analyse
from worker.generator.errors import GeneratorError
from worker.generator.line.domain.positive_diffusion import reflecting_interval
from worker.generator.process import DiffusionProcess, scalar_view
from worker.generator.process_batch import coefficients_at
from worker.generator.quantities.report import GeneratorReport, Range
from worker.generator.uncertainty.batch import rates_together
from worker.generator.uncertainty.single_model import analysed_alone
from worker.identification.symbolic_process import SymbolicFamily
from worker.rolling.perturbed_models import Neighbourhoods

MODELS_A_REFERENCE = 350
"""Models that are analysed on the panels of one of them: few enough that they are alike."""

BEYOND = 0.25
"""How far beyond the record's range the reflecting ends stand, as a share of it: there the law of most has nothing left."""
LOOKS = 20
"""Points at which it is seen whether a model turns back there."""
NO_LAW = "the window's model has no stationary distribution"


@dataclass(frozen=True, slots=True)
class Gap:
    """The slowest rate of one window's model.

    log_rate    of λ₁ [log 1/time]; None where `reason` says why
    std_error   of log_rate; None where models within one standard error have none
    """

    log_rate: float | None
    std_error: float | None = None
    reason: str | None = None


def gaps_of(near: Neighbourhoods, observed: Range) -> list[Gap]:
    """The gap of every window; neighbours in the sequence are analysed on common panels.

    observed   where the data of all windows were [state]
    """
    if not len(near):
        return []
    if near.models.period is None:
        near = _between(near, _ends(near.models, observed))
    found: list[Gap] = []
    size = max(1, MODELS_A_REFERENCE // near.largest)
    for first in range(0, len(near), size):
        found += _of_group(near.some(first, min(first + size, len(near))), observed)
    return found


def _ends(models: SymbolicFamily, observed: Range) -> Range:
    """The furthest points up to which every model has noise and is driven back; at least those of the record."""
    low, high = observed
    steps = BEYOND * (high - low) * np.linspace(0, 1, LOOKS + 1)
    side = np.array([[-1.0], [1.0]])
    at = np.array([[low], [high]]) + side * steps
    inside = (at >= models.bounds[0]) & (at <= models.bounds[1])
    b, a = (found.reshape(-1, *at.shape) for found in coefficients_at(models, at.ravel()))
    fine = ~inside | np.all((side * b < 0) & (a > 0), axis=0)
    below, above = (max(0, int(np.argmin(np.append(row, False))) - 1) for row in fine)
    return float(at[0, below]), float(at[1, above])


def _between(near: Neighbourhoods, ends: Range) -> Neighbourhoods:
    """The same models between reflecting ends, unless their domain ends before."""
    interval = reflecting_interval(scalar_view(near.models[0]), ends)
    return near if interval is None else near.within(interval)


def _of_group(group: Neighbourhoods, observed: Range) -> list[Gap]:
    own = group.own
    try:
        reference = _analysed(own[len(group) // 2], observed)
    except GeneratorError:
        reference = None
    if reference is None or reference.spectrum is None:
        return [_alone(group.some(row, row + 1).models, observed) for row in range(len(group))]
    rates = _log_rates(group.models, reference, observed)
    return [_gap(rates[start], rates[start + 1 : stop]) for start, stop in pairwise(group.starts)]


def _analysed(model: DiffusionProcess, observed: Range) -> GeneratorReport:
    """With little but the slowest rate."""
    return analyse(
        model, eigenpairs=1, density_points=50, lags=2, frequencies=2, observed_range=observed
    )


def _alone(models: SymbolicFamily, observed: Range) -> Gap:
    """For a group whose middle has no law: each window's own model is its reference."""
    try:
        own = _analysed(models[0], observed)
    except GeneratorError as error:
        return Gap(None, reason=error.args[0])
    if own.spectrum is None:
        return Gap(None, reason=own.reason or NO_LAW)
    rates = _log_rates(models, own, observed)
    return _gap(rates[0], rates[1:])


def _log_rates(
    models: SymbolicFamily, reference: GeneratorReport, observed: Range
) -> list[float | None]:
    together = rates_together(models, reference, observed)
    each = (
        rates if rates is not None else analysed_alone(model, reference, (), observed).rates
        for model, rates in zip(models, together, strict=True)
    )
    return [float(np.log(rates[0])) if rates else None for rates in each]


def _gap(at: float | None, around: Sequence[float | None]) -> Gap:
    if at is None:
        return Gap(None, reason=NO_LAW)
    known = [rate for rate in around if rate is not None]
    if len(known) < len(around):
        return Gap(at)
    differences = (np.array(known[1::2]) - np.array(known[0::2])) / 2
    return Gap(at, float(np.sqrt(np.sum(differences**2))))
