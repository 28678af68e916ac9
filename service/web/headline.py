"""The headline of a result: its main numbers, with their confidence intervals."""

from collections.abc import Iterator
from dataclasses import dataclass

from contract.results import ModelResult
from contract.rolling import RollingResult
from service.web import mathml
from service.web.derived import inverted, mean_of, period_ends
from service.web.numbers import plain, with_interval
from service.web.plots.dynamics import place
from service.web.units import Units

FEW_PASSAGES = 6


@dataclass(frozen=True, slots=True)
class Figure:
    """A number of the headline.

    interval   confidence interval as text; empty if there is none
    note       text beside the number
    """

    label: str
    value: str
    unit: str = ""
    interval: str = ""
    note: str = ""


def equations(result: ModelResult) -> list[mathml.Equation]:
    """List the equations of drift and diffusion; pairs without diffusion are left out."""
    alone = len(result.model.drift) == 1
    made = [
        mathml.drift_equation(name, component, alone=alone)
        for name, component in result.model.drift.items()
    ]
    for pair, component in result.model.diffusion.items():
        one, _, other = pair.partition(",")
        if one == other or any(t.active and t.value for t in component.terms):
            made.append(mathml.diffusion_equation(pair, component, alone=alone))
    return made


def figures(result: ModelResult, units: Units) -> Iterator[Figure]:
    """Yield relaxation and first-passage times, periods and currents, and stationary moments."""
    generator, time = result.generator, units.time or ""
    if generator.spectrum is not None and generator.spectrum.eigenvalues:
        first = generator.spectrum.eigenvalues[0]
        value, interval = with_interval(1 / first.re if first.re else None, inverted(first.ci))
        yield Figure("Relaxation time", value, time, interval)
        if first.period is not None:
            value, interval = with_interval(first.period, period_ends(first))
            yield Figure("Period of oscillation", value, time, interval)
    for passage in generator.passages[:FEW_PASSAGES]:
        value, interval = with_interval(passage.mean_time.value, passage.mean_time.ci)
        note = passage.mean_time.reason or ""
        if passage.kramers.value is not None:
            note = f"Kramers’ formula: {plain(passage.kramers.value)}"
        label = f"Mean first-passage time {place(passage.from_)} → {place(passage.to)}"
        yield Figure(
            label, value, time if passage.mean_time.value is not None else "", interval, note
        )
    stationary = generator.stationary
    if stationary is None:
        return
    names = list(result.model.drift)
    for k, name in enumerate(names[:3]):
        if k < len(stationary.mean) and stationary.mean[k] is not None:
            value, interval = mean_of(stationary, k)
            yield Figure(
                "Stationary mean" if len(names) == 1 else f"Mean of {name}",
                value,
                units.of_variable(name) or "",
                interval,
            )
    if len(names) == 1 and stationary.covariance and stationary.covariance[0][0] is not None:
        value, interval = with_interval(
            stationary.covariance[0][0],
            stationary.covariance_ci[0][0] if stationary.covariance_ci else None,
        )
        unit = units.of_variable(names[0])
        yield Figure("Stationary variance", value, f"{unit}²" if unit else "", interval)
    if stationary.mean_velocity is not None:
        unit = units.drift(names[0])
        yield Figure("Mean velocity", plain(stationary.mean_velocity), unit or "")
    if stationary.circulation is not None:
        value, interval = with_interval(stationary.circulation, stationary.circulation_ci)
        yield Figure(
            "Circulation (area per unit time)", value, units.circulation(names) or "", interval
        )
    if stationary.entropy_production is not None:
        value, interval = with_interval(
            stationary.entropy_production, stationary.entropy_production_ci
        )
        yield Figure("Entropy production", value, units.rate() or "", interval)


def trend_figures(result: RollingResult, units: Units) -> Iterator[Figure]:
    """Yield the numbers that describe how the spectral gap changes along the time series."""
    trend = result.trend
    if trend.factor.value is not None:
        value, interval = with_interval(trend.factor.value, trend.factor.ci)
        yield Figure("Ratio of last to first spectral gap", value, "", interval)
    if trend.slope is not None:
        value, interval = with_interval(trend.slope, trend.ci)
        yield Figure("Slope of log λ₁", value, units.rate() or "", interval)
    if trend.p_value is not None:
        yield Figure(
            "Test of a linear trend",
            f"p = {plain(trend.p_value, 2)}",
            "",
            "",
            f"{trend.n_windows} non-overlapping windows",
        )
