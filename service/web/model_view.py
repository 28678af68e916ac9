"""The view of one model: its equations, the quantities derived from it, and its checks."""

from collections.abc import Iterator

from markupsafe import Markup

from contract.results import IdentificationResult, ModelResult, Stationary
from service.web import mathml, sentences
from service.web.numbers import Units, plain, with_interval
from service.web.plots.checks import check_plots, selection_plots
from service.web.plots.driving import driving_plots
from service.web.plots.dynamics import dynamics_plots, place
from service.web.plots.model import ROUNDING, cleaned, model_plots
from service.web.plots.phase import section_plots
from service.web.plots.plane import plane_plots
from service.web.plots.plot import Plot, PlotGroup
from service.web.result_view import Figure, ResultView, data_in_words
from service.web.tables import inverted, mean_of, period_ends, tables
from service.web.verdict import verdict

FEW_PASSAGES = 6
MAIN_PLOTS = 4
"""Plots of several variables that are shown at once."""


def model_view(result: ModelResult) -> ResultView:
    """Show an identification, or the analysis of a model."""
    units = sentences.units_of_result(result)
    source = "A model given by its terms"
    if isinstance(result, IdentificationResult):
        source = data_in_words(result.data)
    groups, judged = groups_of(result), None
    if isinstance(result, IdentificationResult):
        judged = verdict(result, [plot.name for group in groups for plot in group.plots])
    return ResultView(
        template="result.html",
        subtitle=source,
        figures=list(figures(result, units)),
        # The headline already says why there is no stationary distribution.
        warnings=[w for w in result.warnings if w.code != "not-ergodic"],
        groups=groups,
        tables=list(tables(result, units)),
        more={
            "general": general_equation(result),
            "equations": equations(result),
            "columns": _columns(result),
            "reason": sentences.without_distribution(result.generator.reason),
            "units": units,
            "generator": result.generator,
            "judged": judged,
            # What forcing does, and what explains a failed check, is not folded away.
            "opened": (
                *(("forcing",) if result.generator.driving is not None else ()),
                *(() if judged is None or judged.passed else ("checks",)),
            ),
        },
    )


def _columns(result: ModelResult) -> dict[str, str]:
    """Return the column of each variable with another name, and what velocities are."""
    described = result.data.variables if isinstance(result, IdentificationResult) else ()
    columns = {
        str(v["name"]): column
        for v in described
        if (column := v.get("column")) not in (None, v["name"]) and column is not None
    }
    velocities = sentences.positions_of(result.model)
    for v, x in velocities.items():
        said = f"the velocity of {x}"
        columns[v] = f"{columns[v]}, {said}" if v in columns else said
    return columns


def groups_of(result: ModelResult) -> list[PlotGroup]:
    """Draw every plot of a result, the most important first."""
    units, variables = sentences.units_of_result(result), list(result.model.drift)
    first, more = [], []
    if len(variables) == 1:
        first = list(model_plots(result, units))
    elif result.model.order == 2:
        drawn = list(plane_plots(result, units, variables))
        first, more = [*drawn[:2], *section_plots(result, units)], drawn[2:]
    else:
        drawn = list(plane_plots(result, units, variables))
        first, more = drawn[:MAIN_PLOTS], drawn[MAIN_PLOTS:]
    dynamics = list(dynamics_plots(result, units))
    groups = [
        PlotGroup("model", "Model and data", first),
        PlotGroup("distribution", "Distribution and committors", more),
        PlotGroup("forcing", "Forcing", list(driving_plots(result, units))),
        PlotGroup("dynamics", "Dynamics", dynamics),
    ]
    if isinstance(result, IdentificationResult):
        groups += [
            PlotGroup("selection", "Model selection", list(selection_plots(result))),
            PlotGroup("checks", "Checks", list(check_plots(result, units))),
        ]
    return [group for group in groups if group.plots]


def plots_of(result: ModelResult) -> list[Plot]:
    """Draw every plot of a result, the most important first."""
    return [plot for group in groups_of(result) for plot in group.plots]


def general_equation(result: ModelResult) -> Markup:
    """Typeset the kind of equation that the model is."""
    velocities = sentences.positions_of(result.model)
    if velocities:
        return mathml.moving_equation(list(velocities.values()), list(velocities))
    return mathml.general_equation(list(result.model.drift))


def equations(result: ModelResult) -> list[mathml.Equation]:
    """List the equations of drift and diffusion; pairs without diffusion are left out."""
    drift, velocities = result.model.drift, sentences.positions_of(result.model)
    alone = len(drift) == 1 or len(velocities) == 1
    if velocities:
        made = [
            equation
            for v, x in velocities.items()
            for equation in mathml.motion_equations(x, v, drift[v], alone=alone)
        ]
    else:
        made = [mathml.drift_equation(name, c, alone=alone) for name, c in drift.items()]
    if result.model.coloured_noise is not None:
        made += mathml.coloured_equations(next(iter(drift)), result.model.coloured_noise.drift)
    for pair, component in result.model.diffusion.items():
        one, _, other = pair.partition(",")
        # A position has no noise of its own.
        if {one, other} & set(velocities.values()):
            continue
        if one == other or any(t.active and t.value for t in component.terms):
            where = tuple(drift) if alone else ()
            made.append(mathml.diffusion_equation(pair, component, where=where))
    return made


def figures(result: ModelResult, units: Units) -> Iterator[Figure]:
    """Yield relaxation and first-passage times, periods and currents, and stationary moments."""
    generator, time = result.generator, units.time
    noise, names = result.model.coloured_noise, list(result.model.drift)
    if noise is not None:
        for label, estimate, unit in (
            ("Correlation time of the noise", noise.correlation_time, time),
            (
                "Diffusion for a short correlation time",
                noise.diffusion,
                units.diffusion(*names[:1] * 2),
            ),
        ):
            yield Figure.of(label, estimate.value, estimate.ci, unit, estimate.reason or "")
    for name, at in result.model.inputs.items():
        label = f"Analysed at {result.model.symbols.get(name, name)}"
        yield Figure(label, plain(at, 4), note="every quantity below is at this value")
    yield from _responses(result, units)
    if generator.spectrum is not None and generator.spectrum.eigenvalues:
        first = generator.spectrum.eigenvalues[0]
        relaxation = 1 / first.re if first.re else None
        yield Figure.of("Relaxation time", relaxation, inverted(first.ci), time)
        if first.period is not None:
            yield Figure.of("Period of oscillation", first.period, period_ends(first), time)
    for passage in generator.passages[:FEW_PASSAGES]:
        mean = passage.mean_time
        notes = [mean.reason] if mean.reason else []
        if passage.kramers.value is not None:
            notes = [
                f"Kramers’ formula: {with_interval(passage.kramers.value, passage.kramers.ci)[0]}"
            ]
        if mean.value is not None and passage.transitions is not None:
            notes.append(f"{sentences.transitions(passage.transitions)} in the data")
        label = f"Mean first-passage time {place(passage.from_)} → {place(passage.to)}"
        yield Figure.of(
            label, mean.value, mean.ci, None if mean.value is None else time, "; ".join(notes)
        )
    stationary = generator.stationary
    if stationary is None:
        return
    # The mean of a velocity is zero.
    for k, name in enumerate(names[: 3 if result.model.order == 1 else len(names) // 2]):
        if k < len(stationary.mean) and stationary.mean[k] is not None:
            value, interval = mean_of(stationary, k)
            label = "Stationary mean" if len(names) == 1 else f"Mean of {name}"
            yield Figure(label, value, units.of_variable(name) or "", interval)
    if len(names) == 1 and stationary.covariance and stationary.covariance[0][0] is not None:
        ci = stationary.covariance_ci[0][0] if stationary.covariance_ci else None
        unit = units.of_variable(names[0])
        squared = f"{unit}²" if unit else ""
        yield Figure.of("Stationary variance", stationary.covariance[0][0], ci, squared)
    if stationary.mean_velocity is not None:
        velocity, ci = stationary.mean_velocity, stationary.mean_velocity_ci
        yield Figure.of("Mean velocity", velocity, ci, units.drift(names[0]))
    if stationary.kinetic_temperature is not None:
        temperature, ci = stationary.kinetic_temperature, stationary.kinetic_temperature_ci
        unit = units.circulation(names) if result.model.order == 2 else ""
        yield Figure.of("Kinetic temperature ⟨v²⟩", temperature, ci, unit)
    yield from _irreversible(result, stationary, units)


def _responses(result: ModelResult, units: Units) -> Iterator[Figure]:
    """Yield the response to periodic forcing, and the Floquet multiplier of the slowest deviation.

    Words for variables are those of the figures after them.
    """
    driving = result.generator.driving
    if driving is None:
        return
    for found in driving.responses:
        where = f"{found.variable}, period {plain(found.period, 4)}"
        for label, estimate, unit in (
            ("Amplitude", found.amplitude, units.of_variable(found.variable) or ""),
            ("Gain", found.gain, units.time),
            ("Lag", found.lag, "rad"),
        ):
            yield Figure.of(f"{label} of {where}", estimate.value, estimate.ci, unit)
    if driving.cycle is not None and driving.cycle.multipliers:
        slowest = driving.cycle.multipliers[0]
        size = abs(complex(slowest.real, slowest.imaginary))
        note = "by which deviations change in a period"
        yield Figure("Largest Floquet multiplier", plain(size, 3), note=note)
    elif driving.reason is not None:
        yield Figure("Cycle of the forcing", "none", note=driving.reason)


def _irreversible(result: ModelResult, stationary: Stationary, units: Units) -> Iterator[Figure]:
    """Yield circulation and entropy production; what is below rounding is none.

    Both are sums over the current, whose parts have the size of the fastest rate that is known: the
    circulation is linear in it, the entropy production quadratic.
    """
    spectrum, covariance = result.generator.spectrum, stationary.covariance
    fastest = max((abs(v.re) for v in spectrum.eigenvalues), default=0.0) if spectrum else 0.0
    variances = [row[k] or 0.0 for k, row in enumerate(covariance)]
    area = max(variances, default=0.0)
    for label, value, ci, unit, least in (
        (
            "Circulation (area per unit time)",
            stationary.circulation,
            stationary.circulation_ci,
            units.circulation(list(result.model.drift)),
            ROUNDING * fastest * area,
        ),
        (
            "Entropy production",
            stationary.entropy_production,
            stationary.entropy_production_ci,
            units.rate(),
            ROUNDING**2 * fastest,
        ),
    ):
        if value is None:
            continue
        ends = None if ci is None else tuple(v and cleaned(v, least) for v in ci)
        shown = cleaned(value, least)
        if not shown and not any(ends or ()):
            yield Figure(label, "none", note="zero up to rounding: the model is in equilibrium")
        else:
            yield Figure.of(label, shown, None if ends is None else (ends[0], ends[1]), unit)
