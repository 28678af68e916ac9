"""The spectral gap of every window's model, with its error.

The error of log λ is that of its coefficients, carried through the generator by symmetric differences along the columns of a
square root of their covariance, equation (M38): barriers enter as exponents, and there log λ is nearly linear.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from worker.generator.analysis import analyse
from worker.generator.errors import GeneratorError
from worker.generator.process import DiffusionProcess
from worker.generator.report import GeneratorReport, Range
from worker.generator.sample import analysed_alone
from worker.generator.together import rates_together

Floats = NDArray[np.float64]

MODELS_A_REFERENCE = 350
"""Models that are analysed on the panels of one of them: few enough that they are alike."""

NO_LAW = "the window's model has no stationary law"


@dataclass(frozen=True, slots=True)
class Gap:
    """The slowest rate of one window's model.

    log_rate    of λ₁ [log 1/time]; None where `reason` says why
    std_error   of log_rate; None where models within one standard error have no stationary law
    """

    log_rate: float | None
    std_error: float | None = None
    reason: str | None = None


@dataclass(frozen=True, slots=True, eq=False)
class Neighbourhood:
    """A model, and those one standard error away along each direction of its covariance: below, above, below, above, …"""

    model: DiffusionProcess
    around: tuple[DiffusionProcess, ...]


def gaps_of(neighbourhoods: Sequence[Neighbourhood], observed: Range) -> list[Gap]:
    """The gap of every model; neighbours in the sequence are analysed on common panels.

    observed   where the data of all windows were [state]
    """
    found: list[Gap] = []
    size = max(1, MODELS_A_REFERENCE // max(1, 1 + max((len(n.around) for n in neighbourhoods), default=0)))
    for first in range(0, len(neighbourhoods), size):
        found += _of_group(neighbourhoods[first : first + size], observed)
    return found


def _of_group(group: Sequence[Neighbourhood], observed: Range) -> list[Gap]:
    try:
        reference = analyse(
            group[len(group) // 2].model, eigenpairs=1, density_points=50, lags=2, frequencies=2, observed_range=observed
        )
    except GeneratorError:
        reference = None
    if reference is None or reference.spectrum is None:
        return [_alone(member, observed) for member in group]
    models = [process for member in group for process in (member.model, *member.around)]
    rates = iter(_log_rates(models, reference, observed))
    return [_gap(next(rates), [next(rates) for _ in member.around]) for member in group]


def _analysed(model: DiffusionProcess, observed: Range) -> GeneratorReport:
    """With little but the slowest rate."""
    return analyse(model, eigenpairs=1, density_points=50, lags=2, frequencies=2, observed_range=observed)


def _alone(member: Neighbourhood, observed: Range) -> Gap:
    """For a group whose middle has no law: each window's own model is its reference."""
    try:
        own = _analysed(member.model, observed)
    except GeneratorError as error:
        return Gap(None, reason=error.args[0])
    if own.spectrum is None:
        return Gap(None, reason=own.reason or NO_LAW)
    rates = _log_rates([member.model, *member.around], own, observed)
    return _gap(rates[0], rates[1:])


def _log_rates(models: Sequence[DiffusionProcess], reference: GeneratorReport, observed: Range) -> list[float | None]:
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
