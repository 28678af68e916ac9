"""The spectral gap of every window's model, with its error.

The error of log λ propagates that of the coefficients through the generator, by symmetric
differences along the columns of a square root of their covariance, equation (M38): barriers enter
as exponents, where log λ is nearly linear.

The drift of a short window's model may point outward where data are few, and then there is no
stationary distribution. The question is how fast the process relaxes where it was: all models get
the same reflecting ends, beyond the data's range as far as the drift of all points inward.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from worker.generator.analysis import analysis
from worker.generator.circle.perturbed_model import PerturbedCircleAnalysis
from worker.generator.errors import GeneratorError
from worker.generator.line.domain.positive_diffusion import reflecting_interval
from worker.generator.line.perturbed_model import PerturbedLineAnalysis
from worker.generator.process import DiffusionProcess, scalar_view
from worker.generator.quantities.report import Range
from worker.rolling.window_models import Neighbourhood

MODELS_A_REFERENCE = 350
"""Number of models that are analysed on the panels of one; so many neighbours are similar."""

BEYOND = 0.25
"""Distance of the reflecting ends beyond the data's range, as a share of it; densities vanish."""

N_POINTS = 20
"""Points beyond each end at which the sign of the drift is evaluated."""

NO_DISTRIBUTION = "the window's model has no stationary distribution"


@dataclass(frozen=True, slots=True)
class Gap:
    """Spectral gap λ₁, the slowest rate of one window's model.

    log_rate    log λ₁ [log 1/time]; None where there is none
    std_error   standard error of log λ₁; None where models within one standard error have no gap
    reason      reason why there is no gap
    along       half the differences of log λ between the models above and below
    """

    log_rate: float | None
    std_error: float | None = None
    reason: str | None = None
    along: tuple[float, ...] = ()


def gaps_of(windows: Sequence[Neighbourhood], observed: Range) -> list[Gap]:
    """Return the gap of every window; neighbours are analysed on common panels.

    observed   range of the data of all windows [state]
    """
    if not windows:
        return []
    if windows[0][0].period is None:
        windows = _between(
            windows, _ends([model for models in windows for model in models], observed)
        )
    found: list[Gap] = []
    size = max(1, MODELS_A_REFERENCE // max(map(len, windows)))
    for first in range(0, len(windows), size):
        found += _of_group(windows[first : first + size], observed)
    return found


def _ends(models: Neighbourhood | Sequence[DiffusionProcess], observed: Range) -> Range:
    """Return the farthest ends up to which all models have noise and an inward drift.

    They contain at least the range of the data."""
    low, high = observed
    steps = BEYOND * (high - low) * np.linspace(0, 1, N_POINTS + 1)
    side = np.array([[-1.0], [1.0]])
    at = np.array([[low], [high]]) + side * steps
    x, (lowest, highest) = at.reshape(-1, 1), models[0].domain[0]
    fine = (at < lowest) | (at > highest)
    holds = np.full(at.shape, True)
    with np.errstate(all="ignore"):
        for model in models:
            b, a = model.drift(x).reshape(at.shape), model.diffusion(x).reshape(at.shape)
            holds &= (side * b < 0) & (a > 0)
    below, above = (max(0, int(np.argmin(np.append(row, False))) - 1) for row in fine | holds)
    return float(at[0, below]), float(at[1, above])


def _between(windows: Sequence[Neighbourhood], ends: Range) -> list[Neighbourhood]:
    """Put the models between reflecting ends, unless their domain ends before."""
    interval = reflecting_interval(scalar_view(windows[0][0]), ends)
    if interval is None:
        return list(windows)
    return [tuple(replace(model, bounds=interval) for model in models) for models in windows]


def _of_group(group: Sequence[Neighbourhood], observed: Range) -> list[Gap]:
    near = _near(group[len(group) // 2][0], observed)
    if not isinstance(near, str):
        return [_gap([near.slowest_rate(model) for model in models]) for models in group]
    if len(group) == 1:
        return [Gap(None, reason=near)]
    # The middle model has no stationary distribution: each window's own is the reference.
    return [gap for models in group for gap in _of_group([models], observed)]


def _near(
    model: DiffusionProcess, observed: Range
) -> PerturbedLineAnalysis | PerturbedCircleAnalysis | str:
    """Return a solver of slowest rates of similar models, or the reason why this one has none."""
    try:
        found = analysis(
            model, eigenpairs=1, density_points=50, lags=2, frequencies=2, observed_range=observed
        )
    except GeneratorError as error:
        return str(error.args[0])
    spectrum = found.report.spectrum
    near = None if found.perturbed is None else found.perturbed.geometry
    if spectrum is None or not isinstance(near, PerturbedLineAnalysis | PerturbedCircleAnalysis):
        return str(found.report.reason or NO_DISTRIBUTION)
    return near


def _gap(rates: Sequence[float | None]) -> Gap:
    """Return the gap of the first model, with its error from the others."""
    known = np.log([np.nan if rate is None else rate for rate in rates])
    if np.isnan(known[0]):
        return Gap(None, reason=NO_DISTRIBUTION)
    if np.isnan(known).any():
        return Gap(float(known[0]))
    differences = (known[2::2] - known[1::2]) / 2
    error = float(np.sqrt(np.sum(differences**2)))
    return Gap(float(known[0]), error, along=tuple(differences.tolist()))
