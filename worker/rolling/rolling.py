"""Models of windows moved along one time series: fixed points, spectral gaps and their trend.

Terms, kernels and sampling rule are those of the whole time series; coefficients are the window's
own. Read `roll` first.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Literal

import numpy as np
from scipy.special import gammaincc

from worker.identification.data.library import Library
from worker.identification.errors import SecondOrderDynamics
from worker.identification.estimation.estimator import identify
from worker.identification.estimation.fit import Fit
from worker.identification.estimation.noise_correction import NoiseHandling
from worker.identification.estimation.problem import Problem
from worker.identification.findings.finding import Finding
from worker.identification.findings.residuals import check_paths
from worker.identification.selection.best_subset import Estimate
from worker.identification.sums.rules import RuleName
from worker.rolling.checks import checks_of
from worker.rolling.spectral_gaps import Gap, gaps_of
from worker.rolling.window_models import (
    EstimatedFixedPoint,
    fits_of,
    fixed_points_of,
    neighbourhood_of,
)
from worker.rolling.windows import MovingWindows

FEWEST = 4
"""Fewest windows for a line and a test of it."""

SIGNIFICANT = 3.0
"""Standard errors from which a slope is significant; one false alarm in 370 stationary records."""
UNDETERMINED = "the window has too few increments to determine its coefficients"


@dataclass(frozen=True, slots=True)
class Coefficient:
    """Coefficient of a term, in the data's units; None where the window does not determine it."""

    term: str
    value: float | None
    std_error: float | None


@dataclass(frozen=True, slots=True)
class CorrelationTime:
    """Correlation time τ of the noise of one window.

    log_time    log τ [log time]; None where there is none
    std_error   standard error of log τ
    reason      reason why there is no correlation time
    """

    log_time: float | None
    std_error: float | None = None
    reason: str | None = None


@dataclass(frozen=True, slots=True)
class WindowModel:
    """Model of one window.

    begin, end         first and last time of the window [time]
    n_increments       number of increments in it
    correlation_time   that of the noise; None where the noise is white
    """

    begin: float
    end: float
    n_increments: int
    drift: tuple[Coefficient, ...]
    diffusion: tuple[Coefficient, ...]
    fixed_points: tuple[EstimatedFixedPoint, ...]
    gap: Gap
    correlation_time: CorrelationTime | None = None


@dataclass(frozen=True, slots=True)
class Trend:
    """Straight line log λ = level + slope · t, or log τ, by weighted least squares.

    slope       slope of the line [1/time]; negative where the gap closes
    std_error   standard error of the slope, from the errors of the windows alone
    span        time between the middles of the first and the last window [time]
    p_value     significance of the windows' scatter under the null hypothesis of a straight line
    n_windows   number of windows
    """

    slope: float
    std_error: float
    span: float
    p_value: float
    n_windows: int

    @property
    def z(self) -> float:
        """Slope over its standard error."""
        return self.slope / self.std_error

    @property
    def change(self) -> float:
        """Change of the logarithm over the span."""
        return self.slope * self.span


@dataclass(frozen=True, slots=True, eq=False)
class Rolling:
    """All windows, in order of time.

    trend            trend of log λ₁; None with too few windows that share no sample
    trend_reason     reason why there is no trend
    time_trend       trend of log τ of coloured noise, or None
    time_reason      reason why there is none; None where the noise is white
    rule             name of the sampling rule
    dt               median sampling interval [time]
    noise_variance   variance of the measurement noise that was corrected for [state²]
    """

    windows: tuple[WindowModel, ...]
    trend: Trend | None
    trend_reason: str | None
    rule: str
    dt: float
    noise_variance: float
    findings: tuple[Finding, ...]
    time_trend: Trend | None = None
    time_reason: str | None = None


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
    _check_paths(identified)
    problem = replace(
        problem, instruments=identified.instruments, grid=None, longest_step=identified.longest_step
    )
    library, scales = problem.library, problem.scales
    fits = list(fits_of(problem, identified, windows))
    determined = {
        i: (fit.drift, fit.diffusion)
        for i, fit in enumerate(fits)
        if fit.drift is not None and fit.diffusion is not None
    }
    near = [neighbourhood_of(*fit, library, scales, bounds) for fit in determined.values()]
    gaps = dict(zip(determined, gaps_of(near, (scales.low, scales.high)), strict=True))
    models, drifts = [around[0] for around in near], [b for b, _ in determined.values()]
    places = fixed_points_of(models, drifts, library, scales)
    fixed_points = dict(zip(determined, places, strict=True))
    drift = identified.drift[0].estimate.support
    diffusion = identified.diffusion[0, 0].estimate.support
    to_drift, to_diffusion = scales.unit / scales.time, scales.unit**2 / scales.time
    found = [
        WindowModel(
            *windows.span(i),
            n_increments=fit.n_windows,
            drift=_coefficients(library, drift, fit.drift, to_drift),
            diffusion=_coefficients(library, diffusion, fit.diffusion, to_diffusion),
            fixed_points=fixed_points.get(i, ()),
            gap=gaps.get(i, Gap(None, reason=UNDETERMINED)),
        )
        for i, fit in enumerate(fits)
    ]
    trend, reason = gap_trend(found, windows.disjoint())
    variance = float(identified.noise_variances[0]) * scales.unit**2
    findings = (
        *checks_of(problem, identified, windows, fits, noise),
        *gap_findings(found, trend),
    )
    name = identified.rule.name
    return Rolling(tuple(found), trend, reason, name, scales.time, variance, findings)


def _check_paths(identified: Fit) -> None:
    """Raise SecondOrderDynamics for a smooth path, with what windows offer for it."""
    try:
        check_paths(identified)
    except SecondOrderDynamics as error:
        hints = (
            "Set parameters.dynamics to coloured-noise: the windows then have a drift and a "
            "correlation time of the noise.",
            "Or sample more slowly, until increments are uncorrelated.",
        )
        raise SecondOrderDynamics(error.message, hints=hints) from error


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


def trend_of(
    times: Sequence[float], log_rates: Sequence[float], std_errors: Sequence[float]
) -> Trend | None:
    """Fit a line to independent windows; None for fewer than four, or all at one time (M39).

    Parameters
    ----------
    times : (n,) middles of the windows [time]
    log_rates : (n,) log λ
    std_errors : (n,) standard errors of the log rates, positive
    """
    if len(times) < FEWEST:
        return None
    t, y, weight = np.asarray(times), np.asarray(log_rates), 1 / np.square(std_errors)
    middle = np.average(t, weights=weight)
    spread = float(np.sum(weight * (t - middle) ** 2))
    if not spread > 0:
        return None
    slope = float(np.sum(weight * (t - middle) * y) / spread)
    left = y - np.average(y, weights=weight) - slope * (t - middle)
    p_value = float(gammaincc((len(t) - 2) / 2, float(np.sum(weight * left**2)) / 2))
    return Trend(slope, float(1 / np.sqrt(spread)), float(np.ptp(t)), p_value, len(t))


def gap_trend(
    found: Sequence[WindowModel], windows: Sequence[int]
) -> tuple[Trend | None, str | None]:
    """Fit the trend of log λ₁ to windows that share no sample, or say why there is none."""
    of = [(found[i], found[i].gap.log_rate, found[i].gap.std_error) for i in windows]
    return line_through(of, "a spectral gap")


def line_through(
    found: Sequence[tuple[WindowModel, float | None, float | None]], what: str
) -> tuple[Trend | None, str | None]:
    """Fit the trend of a logarithm with its standard error, or say why there is none.

    Parameters
    ----------
    found : windows that share no sample, each with the logarithm and its standard error
    what : name of the quantity, with its article
    """
    known = [(w, y, e) for w, y, e in found if y is not None and e]
    middles = [(w.begin + w.end) / 2 for w, _, _ in known]
    trend = trend_of(middles, [y for _, y, _ in known], [e for _, _, e in known])
    few = f"{len(known)} non-overlapping windows have {what}, and a trend needs 4"
    return trend, None if trend is not None else f"{few}: use shorter windows"


def gap_findings(found: Sequence[WindowModel], trend: Trend | None) -> Iterator[Finding]:
    """Yield the warnings about the gap's trend, and about windows without a gap."""
    if trend is not None and abs(trend.z) > SIGNIFICANT:
        factor = float(np.exp(abs(trend.change)))
        closes = trend.slope < 0
        verb, effect = "grows", "relaxes faster and faster"
        if closes:
            verb, effect = "falls", "relaxes more and more slowly, as before a transition"
        yield Finding(
            "gap-closing" if closes else "gap-opening",
            f"The spectral gap {verb} over time, by a factor of {factor:.3g} from the first window "
            f"to the last ({abs(trend.z):.1f} standard errors): the process {effect}.",
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
