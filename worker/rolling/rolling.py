"""Models of windows moved along one time series: fixed points, spectral gaps and their trend.

Terms, kernels and sampling rule are those of the whole time series; coefficients are the window's
own. Read `roll` first.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Literal

import numpy as np

from worker.identification.data.library import Library
from worker.identification.estimation.estimator import NoiseHandling, identify
from worker.identification.estimation.problem import Problem
from worker.identification.findings import Finding, check_paths
from worker.identification.selection.best_subset import Estimate
from worker.identification.sums.rules import RuleName
from worker.rolling.fits import fits_of
from worker.rolling.fixed_points import Place, places_of
from worker.rolling.perturbed_models import neighbourhood_of
from worker.rolling.spectral_gaps import Gap, gaps_of
from worker.rolling.trend import Trend, trend_of
from worker.rolling.windows import MovingWindows

SIGNIFICANT = 3.0
"""Standard errors from which a slope is significant; one false alarm in 370 stationary records."""
NOT_TOLD = "the window has too few increments to determine its coefficients"


@dataclass(frozen=True, slots=True)
class Coefficient:
    """Coefficient of a term, in the data's units; None where the window does not determine it."""

    term: str
    value: float | None
    std_error: float | None


@dataclass(frozen=True, slots=True)
class Window:
    """Model of one window.

    begin, end     first and last time of the window [time]
    n_increments   number of increments in it
    """

    begin: float
    end: float
    n_increments: int
    drift: tuple[Coefficient, ...]
    diffusion: tuple[Coefficient, ...]
    fixed_points: tuple[Place, ...]
    gap: Gap


@dataclass(frozen=True, slots=True, eq=False)
class Rolling:
    """All windows, in order of time.

    trend            trend of log λ₁; None with too few windows that share no sample
    trend_reason     reason why there is no trend
    rule             name of the sampling rule
    dt               median sampling interval [time]
    noise_variance   variance of the measurement noise that was corrected for [state²]
    """

    windows: tuple[Window, ...]
    trend: Trend | None
    trend_reason: str | None
    rule: str
    dt: float
    noise_variance: float
    findings: tuple[Finding, ...]


def roll(
    problem: Problem,
    windows: MovingWindows,
    *,
    rule: RuleName | Literal["auto"] = "auto",
    noise: NoiseHandling = "auto",
    bounds: tuple[float, float] = (-np.inf, np.inf),
) -> Rolling:
    """Identify the whole time series, then every window with its terms. Raises IdentificationError.

    Parameters
    ----------
    problem : data, library and kernels
    windows : windows
    rule : name of the sampling rule; `auto` lets the residuals decide
    noise : treatment of measurement noise
    bounds : ends of the domain [state]
    """
    identified = identify(problem, rule, noise)
    check_paths(identified)
    problem = replace(
        problem, instruments=identified.instruments, grid=None, longest_step=identified.longest_step
    )
    library, scales = problem.library, problem.scales
    fits = list(fits_of(problem, identified, windows))
    told = {
        i: (fit.drift, fit.diffusion)
        for i, fit in enumerate(fits)
        if fit.drift is not None and fit.diffusion is not None
    }
    near = [neighbourhood_of(*fit, library, scales, bounds) for fit in told.values()]
    gaps = dict(zip(told, gaps_of(near, (scales.low, scales.high)), strict=True))
    places = dict(
        zip(
            told,
            places_of(
                [models[0] for models in near], [b for b, _ in told.values()], library, scales
            ),
            strict=True,
        )
    )
    drift, diffusion = (
        identified.drift[0].estimate.support,
        identified.diffusion[0, 0].estimate.support,
    )
    found = []
    for i, fit in enumerate(fits):
        found.append(
            Window(
                *windows.span(i),
                n_increments=fit.n_windows,
                drift=_coefficients(library, drift, fit.drift, scales.unit / scales.time),
                diffusion=_coefficients(
                    library, diffusion, fit.diffusion, scales.unit**2 / scales.time
                ),
                fixed_points=places.get(i, ()),
                gap=gaps.get(i, Gap(None, reason=NOT_TOLD)),
            )
        )
    trend, reason = _trend(found, windows)
    return Rolling(
        tuple(found),
        trend,
        reason,
        identified.rule.name,
        scales.time,
        float(identified.noise_variances[0]) * scales.unit**2,
        tuple(_findings(found, trend)),
    )


def _coefficients(
    library: Library, support: Sequence[int], estimate: Estimate | None, factor: float
) -> tuple[Coefficient, ...]:
    if estimate is None:
        return tuple(Coefficient(library.names[k], None, None) for k in support)
    errors = estimate.std_error
    if estimate.robust_std_error is not None:
        errors = np.maximum(errors, estimate.robust_std_error)
    return tuple(
        Coefficient(library.names[k], float(value * factor), float(error * factor))
        for k, value, error in zip(estimate.support, estimate.raw, errors, strict=True)
    )


def _trend(found: Sequence[Window], windows: MovingWindows) -> tuple[Trend | None, str | None]:
    known = [found[i] for i in windows.apart() if found[i].gap.std_error]
    trend = trend_of(
        [(w.begin + w.end) / 2 for w in known],
        [w.gap.log_rate for w in known if w.gap.log_rate is not None],
        [w.gap.std_error for w in known if w.gap.std_error is not None],
    )
    if trend is not None:
        return trend, None
    return (
        None,
        f"{len(known)} non-overlapping windows have a spectral gap, and a trend needs 4: use "
        "shorter windows",
    )


def _findings(found: Sequence[Window], trend: Trend | None) -> Iterator[Finding]:
    if trend is not None and abs(trend.z) > SIGNIFICANT:
        factor = float(np.exp(abs(trend.change)))
        closes = trend.slope < 0
        yield Finding(
            "gap-closing" if closes else "gap-opening",
            f"The spectral gap {'falls' if closes else 'grows'} over time, by a factor of "
            f"{factor:.3g} from the first window to the last ({abs(trend.z):.1f} standard errors): "
            "the process "
            + (
                "relaxes more and more slowly, as before a transition."
                if closes
                else "relaxes faster and faster."
            ),
            {"z": trend.z, "change": trend.change},
        )
    without = [w for w in found if w.gap.log_rate is None]
    if without:
        reason = without[0].gap.reason
        yield Finding(
            "windows-without-gap",
            f"{len(without)} of {len(found)} windows have no spectral gap; the first begins at "
            f"{without[0].begin:g}: {reason}. Try longer windows (windows.length) or fewer terms.",
            {"count": len(without)},
        )
