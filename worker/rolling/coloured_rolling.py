"""Models of windows with coloured noise: gap and correlation time apart.

Read `roll_coloured` first.

A correlation time that grows makes a record as slow, and its variance as large, as a gap that
closes. Both are estimated in every window, so each has a trend of its own.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial

import numpy as np
from scipy.stats import chi2

from worker.identification.data.trajectories import Scales
from worker.identification.errors import NoCorrelationTime
from worker.identification.findings.finding import Finding
from worker.identification.findings.second_order import second_order_findings
from worker.identification.second_order.coloured_noise import coloured_noise
from worker.identification.second_order.estimator import SecondOrderProblem, fit
from worker.rolling.coloured_windows import ColouredFits, ColouredWindow, fits_of, neighbourhood_of
from worker.rolling.rolling import (
    FEWEST,
    SIGNIFICANT,
    Coefficient,
    CorrelationTime,
    Rolling,
    Trend,
    WindowModel,
    gap_findings,
    gap_trend,
    line_through,
)
from worker.rolling.spectral_gaps import Gap, gaps_of
from worker.rolling.window_models import EstimatedFixedPoint, fixed_points_of
from worker.rolling.windows import MovingWindows

UNCERTAIN = 0.2
"""Largest relative error of the whole record's correlation time.

Rough records, of white noise alone, had none or 0.26 to 0.6, as if measurement noise made them so;
records of coloured noise 0.03 to 0.06.
"""

REJECTED = 1e-4
"""Probability below which the windows' forces are not those of coloured noise.

A correlation time that drifts within the windows, too, has p < 0.01 in 8.5 % of 1000 records.
"""

APART = 2.0
"""Standard errors of their ratio by which the rates of system and noise are apart."""

TOGETHER = (
    "the rates of system and noise come within their errors of each other, so there a trend of the "
    "one cannot be told from a trend of the other"
)


@dataclass(frozen=True, slots=True)
class _Rates:
    """Gap of a window, and log of the noise's rate over it with its standard error."""

    gap: Gap
    log_ratio: float = np.inf
    std_error: float = 0.0

    @property
    def are_apart(self) -> bool:
        return self.log_ratio > APART * self.std_error


def roll_coloured(
    problem: SecondOrderProblem,
    windows: MovingWindows,
    bounds: tuple[float, float] = (-np.inf, np.inf),
) -> Rolling:
    """Identify the whole time series, then every window with its terms. Raises IdentificationError.

    Parameters
    ----------
    problem : positions in one coordinate, and terms of the force
    windows : windows
    bounds : ends of the domain [state]
    """
    problem = _without_powers(problem)
    whole = fit(problem)
    noise = coloured_noise(problem, whole)
    if noise is None or noise.rate_error > UNCERTAIN * noise.rate:
        raise NoCorrelationTime(
            "No correlation time of the noise is determined: the record fits noise that is white "
            "at this sampling interval, that lasts as long as the record, or as long as the "
            "system's relaxation.",
            hints=(
                "Set parameters.dynamics to first-order.",
                "If the path is smooth, a job of the kind identification with parameters.dynamics "
                "set to second-order fits the whole time series.",
            ),
        )
    fitted = fits_of(problem, whole, noise, windows)
    known = {i: m for i, m in enumerate(fitted.models) if isinstance(m, ColouredWindow)}
    scales = problem.space.positions.scales[0]
    near = [neighbourhood_of(model, problem, noise.library, bounds) for model in known.values()]
    gaps = gaps_of(near, (scales.low, scales.high))
    rates = {
        i: _rates(model, gap, scales.time)
        for (i, model), gap in zip(known.items(), gaps, strict=True)
    }
    places = fixed_points_of(
        [around[0] for around in near], [m.drift for m in known.values()], noise.library, scales
    )
    fixed_points = dict(zip(known, places, strict=True))
    names = noise.library.names
    found = []
    for i, model in enumerate(fitted.models):
        of = partial(WindowModel, *windows.span(i), fitted.n_windows[i])
        if isinstance(model, str):
            found.append(
                of((), (), (), Gap(None, reason=model), CorrelationTime(None, None, model))
            )
        else:
            found.append(of(*_in_units(model, names, scales, fixed_points[i], rates[i].gap)))
    apart = list(windows.disjoint())
    together = [i for i in apart if i not in rates or not rates[i].are_apart]
    if fitted.is_interchangeable:
        apart = _longest_run(apart, together)
    told = TOGETHER if len(apart) < min(FEWEST, len(windows.disjoint())) else None
    trend, reason = gap_trend(found, apart)
    time_trend, time_reason = _time_trend(found, apart)
    variance = float(whole.kicks.noise[0]) * scales.unit**2
    # Residuals of the record's force are those of a mixture, and say nothing about a window's: a
    # drifting τ let them look smoothed in 4 of 60 records.
    of_record = second_order_findings(whole, problem, None, {}, restricted=True)
    findings = (
        *(f for f in of_record if f.code != "smoothed-velocities"),
        *_of_the_form(fitted),
        *(_interchangeable(found, apart, together, windows) if fitted.is_interchangeable else ()),
        *gap_findings(found, trend),
        *_of_time(time_trend),
    )
    return Rolling(
        tuple(found),
        trend,
        told or reason,
        "trapezoid",
        scales.time,
        variance,
        findings,
        time_trend,
        told or time_reason,
    )


def _without_powers(problem: SecondOrderProblem) -> SecondOrderProblem:
    """Leave out powers of the velocity, which coloured noise does not have, equation (S8).

    Without them instruments may lie a sample nearer: standard errors of τ = 0.1 at Δt = 0.05 fall
    from 11 to 7 %.
    """
    library = problem.library
    kept = [k for k, e in enumerate(library.exponents) if e is not None and e[1] <= 1]
    return replace(
        problem,
        library=replace(
            library,
            names=tuple(library.names[k] for k in kept),
            trees=tuple(library.trees[k] for k in kept),
            exponents=tuple(library.exponents[k] for k in kept),
        ),
    )


def _rates(model: ColouredWindow, gap: Gap, time: float) -> _Rates:
    if gap.log_rate is None or gap.std_error is None:
        return _Rates(gap)
    ratio = float(np.log(model.rate / time)) - gap.log_rate
    return _Rates(gap, ratio, float(np.linalg.norm(model.root[-2] - np.array(gap.along))))


def _in_units(
    model: ColouredWindow,
    names: Sequence[str],
    scales: Scales,
    fixed_points: tuple[EstimatedFixedPoint, ...],
    gap: Gap,
) -> tuple[
    tuple[Coefficient, ...],
    tuple[Coefficient, ...],
    tuple[EstimatedFixedPoint, ...],
    Gap,
    CorrelationTime,
]:
    """Write drift, diffusion, fixed points, gap and correlation time in the data's units."""
    to_drift, drift = scales.unit / scales.time, model.drift
    terms = tuple(
        Coefficient(names[k], float(value * to_drift), float(error * to_drift))
        for k, value, error in zip(drift.support, drift.raw, drift.std_error, strict=True)
    )
    strength = model.strength * scales.unit**2 / scales.time
    error = strength * float(np.linalg.norm(model.along_strength))
    time = CorrelationTime(
        float(np.log(scales.time / model.rate)), float(np.linalg.norm(model.root[-2]))
    )
    return terms, (Coefficient("1", strength, error),), fixed_points, gap, time


def _time_trend(
    found: Sequence[WindowModel], windows: Sequence[int]
) -> tuple[Trend | None, str | None]:
    times = [(found[i], found[i].correlation_time) for i in windows]
    return line_through(
        [(w, t.log_time, t.std_error) for w, t in times if t is not None], "a correlation time"
    )


def _of_the_form(fitted: ColouredFits) -> Iterator[Finding]:
    """Say where a free force of second order fits the windows better."""
    p = float(chi2.sf(fitted.statistic, max(fitted.degrees, 1)))
    if p < REJECTED:
        yield Finding(
            "not-coloured-noise",
            "In windows that share no sample a free force of second order fits better "
            f"(p = {p:.1g}) than coloured noise, so gaps and correlation times are those of an "
            "approximation. A job of the kind identification with parameters.dynamics set to "
            "second-order shows the terms of the force.",
            {"p_value": p},
        )


def _longest_run(windows: Sequence[int], together: Sequence[int]) -> list[int]:
    """Return the longest run of windows without those in which the rates are together.

    Within a run neither rate can have become the slower one.
    """
    runs: list[list[int]] = [[]]
    for window in windows:
        if window in together:
            runs.append([])
        else:
            runs[-1].append(window)
    return max(runs, key=len)


def _interchangeable(
    found: Sequence[WindowModel],
    apart: Sequence[int],
    together: Sequence[int],
    windows: MovingWindows,
) -> Iterator[Finding]:
    """Say what a linear drift leaves open, and where it leaves no trend."""
    yield Finding(
        "rates-interchangeable",
        "The drift is linear within its errors, so every window holds two rates and cannot tell "
        "which is the system's and which the noise's. The slower was taken for the system in "
        "every window: if the noise is the slower, spectral gap and correlation time are "
        "exchanged, and so are their trends.",
        _details(found),
    )
    if together:
        used = "No trend is given."
        if len(apart) >= FEWEST:
            begin, end = found[apart[0]].begin, found[apart[-1]].end
            used = (
                f"The trends are those of the {len(apart)} windows from t = {begin:g} to {end:g}, "
                "in which the rates stay apart."
            )
        yield Finding(
            "rates-together",
            f"In {len(together)} of {len(windows.disjoint())} windows that share no sample "
            f"{TOGETHER}. {used} Longer windows (windows.length) have smaller errors.",
            {"begins": [found[i].begin for i in together]},
        )


def _details(found: Sequence[WindowModel]) -> Mapping[str, object]:
    """Return the ranges of both times."""
    slow = [float(np.exp(-w.gap.log_rate)) for w in found if w.gap.log_rate is not None]
    fast = [
        float(np.exp(w.correlation_time.log_time))
        for w in found
        if w.correlation_time is not None and w.correlation_time.log_time is not None
    ]
    return {
        name: [min(times), max(times)]
        for name, times in (("relaxation_times", slow), ("correlation_times", fast))
        if times
    }


def _of_time(trend: Trend | None) -> Iterator[Finding]:
    """Warn of a correlation time that changes."""
    if trend is None or abs(trend.z) <= SIGNIFICANT:
        return
    factor = float(np.exp(abs(trend.change)))
    grows = trend.slope > 0
    verb, memory = ("grows", "longer") if grows else ("falls", "shorter")
    yield Finding(
        "correlation-time-grows" if grows else "correlation-time-falls",
        f"The noise's correlation time {verb} over time, by a factor of {factor:.3g} from the "
        f"first window to the last ({abs(trend.z):.1f} standard errors): the noise remembers "
        f"{memory}, which changes variance and autocorrelation of the record as a changing "
        "spectral gap does.",
        {"z": trend.z, "change": trend.change},
    )
