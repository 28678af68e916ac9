"""Tables of every coefficient, rate, first-passage time and check of one model."""

import math
from collections.abc import Iterator
from dataclasses import dataclass

from markupsafe import Markup

from contract.base import Interval
from contract.results import (
    Component,
    Eigenvalue,
    FixedPoint,
    IdentificationResult,
    Model,
    ModelResult,
    Stationary,
)
from service.web import mathml, sentences
from service.web.numbers import Units, count, measured, percent, plain, power_of_ten, with_interval
from service.web.plots.dynamics import place
from service.web.plots.model import ROUNDING, cleaned, smallest

WORTH_A_ROW = 0.05
"""Probability of a term that was not selected from which on it is shown."""

INTERVAL = "confidence interval"

ON_CELLS = 1e-5
"""Error of means on the cells of a plane; those of a symmetric double well were 5e-6."""


@dataclass(frozen=True, slots=True)
class Table:
    """Rows of text or markup under headings; `note` is a text beside them or instead of them."""

    name: str
    title: str
    headings: tuple[str, ...]
    rows: tuple[tuple[str | Markup, ...], ...]
    note: str = ""


def tables(result: ModelResult, units: Units) -> Iterator[Table]:
    """Yield every table that has rows."""
    yield _coefficients(result)
    yield from _rates(result, units)
    yield from _passages(result, units)
    yield from _exits(result, units)
    yield from _places(result)
    yield from _moments(result)
    if isinstance(result, IdentificationResult):
        yield _checks(result)


def _coefficients(result: ModelResult) -> Table:
    rows: list[tuple[str | Markup, ...]] = []
    for name, component in components_of(result.model):
        rows += _terms(name, component)
    left_out = sum(
        not t.active
        for c in (*result.model.drift.values(), *result.model.diffusion.values())
        for t in c.terms
    )
    said = f"{left_out} further candidate terms were considered but not selected."
    headings = (
        "component",
        "term",
        "value",
        "± standard error",
        INTERVAL,
        "value / error",
        "probability",
    )
    return Table("coefficients", "Coefficients", headings, tuple(rows), said if left_out else "")


def components_of(model: Model) -> Iterator[tuple[str, Component]]:
    """Yield every component that was estimated, with its name: `drift x`, `diffusion x,x`.

    The drift of a velocity is a force; that of its position is known.
    """
    velocities = sentences.positions_of(model)
    for key, component in model.drift.items():
        if key not in velocities.values():
            yield f"{'force' if velocities else 'drift'} {key}", component
    for key, component in model.diffusion.items():
        yield f"diffusion {key}", component


def _terms(of: str, component: Component) -> Iterator[tuple[str | Markup, ...]]:
    for t in component.terms:
        likely = "–" if t.probability is None else percent(t.probability)
        if not t.active:
            if t.probability and t.probability > WORTH_A_ROW:
                _, interval = with_interval(t.value, t.ci)
                yield of, mathml.term(t.term), "not selected", "–", interval, "–", likely
        elif t.std_error:
            value, error, exponent = measured(t.value, t.std_error)
            power = power_of_ten(exponent)
            # The interval has digits of its own: it may be wider than the error if two sampling
            # rules disagree.
            _, interval = with_interval(t.value, t.ci)
            yield (
                of,
                mathml.term(t.term),
                value + power + (" (at its bound)" if t.bound else ""),
                error + power,
                interval,
                plain(t.z, 3),
                likely,
            )
        else:
            error = "given" if t.known else "–"
            yield of, mathml.term(t.term), plain(t.value), error, "–", "–", likely


def _rates(result: ModelResult, units: Units) -> Iterator[Table]:
    spectrum = result.generator.spectrum
    if spectrum is None or not spectrum.eigenvalues:
        return
    rows = tuple(
        (
            *_cells(value.re, value.ci),
            *_cells(1 / value.re if value.re else None, inverted(value.ci)),
            plain(value.period),
        )
        for value in spectrum.eigenvalues
    )
    unit, per = (f" ({units.time})", f" ({units.rate()})") if units.time else ("", "")
    headings = (f"rate{per}", INTERVAL, f"relaxation time{unit}", INTERVAL, f"period{unit}")
    yield Table("rates", "Relaxation rates", headings, rows, spectrum.reason or "")


def _passages(result: ModelResult, units: Units) -> Iterator[Table]:
    if not result.generator.passages:
        return
    unit = f" ({units.time})" if units.time else ""
    rows = []
    for p in result.generator.passages:
        mean, interval = _cells(p.mean_time.value, p.mean_time.ci)
        mean = mean if p.mean_time.value is not None else f"– {p.mean_time.reason or ''}"
        median = next((q for q in p.quantiles if round(q.probability, 3) == 0.5), None)
        found = [(e.value, e.ci) if e else (None, None) for e in (p.standard_deviation, p.kramers)]
        found.append((median.time, median.ci) if median else (None, None))
        last = (with_interval(*each)[0] for each in found)
        seen = "–" if p.transitions is None else count(p.transitions)
        rows.append((place(p.from_), place(p.to), mean, interval, *last, seen))
    after = ("standard deviation", "Kramers’ formula", "median", "transitions in the data")
    headings = ("from", "to", f"mean{unit}", INTERVAL, *after)
    yield Table("passages", "First-passage times", headings, tuple(rows))


def _exits(result: ModelResult, units: Units) -> Iterator[Table]:
    rows = []
    for e in result.generator.exits:
        share, time = e.probability_high, e.mean_time
        places = (plain(at) for at in (e.from_, e.low, e.high))
        found = (*_cells(share.value, share.ci), *_cells(time.value, time.ci))
        rows.append((*places, *found, share.reason or time.reason or ""))
    if rows:
        unit = f" ({units.time})" if units.time else ""
        found = ("P(exit at upper end)", INTERVAL, f"mean exit time{unit}", INTERVAL)
        headings = ("start", "lower end", "upper end", *found, "")
        yield Table("exits", "Exit from intervals", headings, tuple(rows))


def _places(result: ModelResult) -> Iterator[Table]:
    points, barriers = result.generator.fixed_points, result.generator.barriers
    if points:
        least = smallest(result)
        rows = tuple((*_where(p, least), "stable" if p.stable else "unstable") for p in points)
        yield Table("fixed-points", "Fixed points", ("position", INTERVAL, "stability"), rows)
    if barriers:
        rows4 = []
        for b in barriers:
            height, interval = with_interval(b.height_over_noise, b.height_over_noise_ci)
            shown = height if interval else plain(b.height_over_noise, 3)
            rows4.append((place(b.from_), place(b.over), place(b.to), shown, interval or "–"))
        headings = ("well", "barrier top", "neighbouring well", "height (kT)", INTERVAL)
        yield Table("barriers", "Barriers", headings, tuple(rows4))


def _where(point: FixedPoint, least: float) -> tuple[str, str]:
    """Write a fixed point's position and its confidence intervals, one for each variable."""
    places = tuple(cleaned(at, least) for at in point.at)
    found = [
        _cells(at, _cleaned(ci, least))
        for at, ci in zip(places, point.at_ci or (None,) * len(places), strict=True)
    ]
    intervals = [interval for _, interval in found]
    if set(intervals) == {"–"}:
        return place(places[0] if len(places) == 1 else places), "–"
    return found[0][0] if len(found) == 1 else place(places), "; ".join(intervals)


def _cleaned(ci: Interval | None, least: float) -> Interval | None:
    low, high = ci or (None, None)
    return None if ci is None else (low and cleaned(low, least), high and cleaned(high, least))


def _moments(result: ModelResult) -> Iterator[Table]:
    stationary = result.generator.stationary
    if stationary is None:
        return
    rows = []
    for k, name in enumerate(result.model.drift):
        if k >= len(stationary.mean):
            continue
        mean, mean_interval = mean_of(stationary, k)
        known = stationary.covariance_ci[k][k] if k < len(stationary.covariance_ci) else None
        variance = stationary.covariance[k][k] if k < len(stationary.covariance) else None
        skewness, kurtosis = (
            values[k] if k < len(values) else None
            for values in (stationary.skewness, stationary.kurtosis)
        )
        skewness = 0.0 if skewness is not None and abs(skewness) < ROUNDING else skewness
        shape = (plain(skewness, 3), plain(kurtosis, 3))
        rows.append((name, mean, mean_interval or "–", *_cells(variance, known), *shape))
    headings = ("variable", "mean", INTERVAL, "variance", INTERVAL, "skewness", "kurtosis")
    yield Table("moments", "Stationary moments", headings, tuple(rows), stationary.reason or "")


WORDS = {
    "bounds": "bounds of coefficients",
    "equalities": "equations among coefficients",
    "gradient": "drift with a potential",
    "detailed-balance": "detailed balance",
    "measurement-noise": "measurement noise",
}
"""What each restriction is called."""


def _checks(result: IdentificationResult) -> Table:
    d = result.diagnostics
    rows: list[tuple[str, str, str]] = []
    for name, r in d.residuals_by_variable.items() or {"": d.residuals}.items():
        of = f" of {name}" if name else ""
        rows += [
            (f"mean of the residuals{of}", plain(r.mean, 3), "0"),
            (f"variance of the residuals{of}", plain(r.variance, 3), "1"),
            (f"skewness of the residuals{of}", plain(r.skewness, 3), "0"),
            (f"kurtosis of the residuals{of}", plain(r.kurtosis, 3), "3"),
            (f"correlation of consecutive residuals{of}", plain(r.lag_one_correlation, 3), "0"),
        ]
    if d.density_total_variation is not None:
        distance = plain(d.density_total_variation, 2)
        rows.append(("total variation distance between data and model density", distance, "0"))
    if d.measurement_noise_variance is not None:
        rows.append(("measurement noise variance", plain(d.measurement_noise_variance, 3), "0"))
    for name, component in components_of(result.model):
        test = component.constraint_test
        if test is not None:
            terms = ", ".join(
                f"{term} is {plain(free.value, 3)} ± {plain(free.std_error, 2)}"
                for term, free in test.free.items()
            )
            said = f"p-value of the terms given or excluded in the {name}: if free, {terms}"
            rows.append((said, plain(test.p_value, 2), "> 0.01"))
    rows += [
        (f"p-value of what was given: {WORDS[test.restriction]}", plain(test.p_value, 2), "> 0.01")
        for test in result.model.restriction_tests
    ]
    if result.generator.ergodic_share is not None:
        share = percent(result.generator.ergodic_share)
        rows.append(("sampled models with a stationary distribution", share, "100 %"))
    if d.condition_number is not None:
        condition = plain(d.condition_number, 3)
        rows.append(("condition number of the drift’s design matrix", condition, "small"))
    if d.coverage is not None:
        sparse = f"{d.coverage.n_sparse} of {d.coverage.n_kernels}"
        rows.append(("kernels with too few samples", sparse, "0"))
    headings = ("", "observed", "expected if the model is correct")
    return Table("checks", "Checks", headings, tuple(rows))


def _cells(value: float | None, ci: Interval | None) -> tuple[str, str]:
    """Write a value and its confidence interval for two cells of a table."""
    text, interval = with_interval(value, ci)
    return text, interval or "–"


def inverted(ci: tuple[float, float] | None) -> Interval | None:
    """Convert the confidence interval of a rate to that of its relaxation time."""
    if ci is None:
        return None
    low, high = ci
    return (1 / high if high > 0 else None, 1 / low if low > 0 else None)


def period_ends(eigenvalue: Eigenvalue) -> Interval | None:
    """Return the interval of an eigenvalue's period; None if that of its frequency contains 0."""
    ends = eigenvalue.im_ci
    if ends is None or ends[0] * ends[1] <= 0:
        return None
    turns = sorted(2 * math.pi / abs(end) for end in ends)
    return turns[0], turns[1]


def mean_of(stationary: Stationary, k: int) -> tuple[str, str]:
    """Write the mean of variable k and its interval as text.

    A mean that is zero by symmetry is zero up to rounding, relative to the standard deviation; on
    the cells of a plane, up to the error of their equations.
    """
    variance = stationary.covariance[k][k] if k < len(stationary.covariance) else None
    error = ROUNDING if len(stationary.density.grid) < 2 else ON_CELLS
    least = error * math.sqrt(variance or 0.0)
    ends = stationary.mean_ci[k] if k < len(stationary.mean_ci) else None
    known = [
        0.0 if v is not None and abs(v) < least else v for v in (stationary.mean[k], *(ends or ()))
    ]
    return with_interval(known[0], (known[1], known[2]) if ends is not None else None)
