"""Plots of one variable: drift, diffusion, effective potential and density beside the data."""

from collections.abc import Iterator
from dataclasses import replace
from typing import Any

import numpy as np

from contract.base import Interval
from contract.curves import Curve, Observed
from contract.results import IdentificationResult, ModelResult
from service.web.numbers import Units, plain
from service.web.plots.plot import Axis, Floats, Layers, Plot, Style, array, density_of, numbers

FLAT = 1e-6
"""Range of a potential in kT that is no more than rounding."""
ROUNDING = 1e-9
"""Fraction of a scale below which a number is zero by symmetry, up to rounding."""


def model_plots(result: ModelResult, units: Units) -> Iterator[Plot]:
    """Draw drift, diffusion, effective potential and stationary density, if they are known."""
    if result.curves is None:
        return
    x, name = np.array(result.curves.grid), only_variable(result)
    across = Axis(units.label(name), units.of_variable(name), (float(x[0]), float(x[-1])))
    drift = Axis(f"Drift b({name})", units.drift(name))
    diffusion = Axis(f"Diffusion a({name})", units.diffusion(name, name))
    yield _curve("drift", across, drift, x, result.curves.drift, result)
    yield _curve("diffusion", across, diffusion, x, result.curves.diffusion, result)
    yield from _potential(result, across)
    yield from _density(result, across, units)


def only_variable(result: ModelResult) -> str:
    """Return the name of a result's only variable."""
    [name] = result.model.drift
    return name


def _curve(name: str, across: Axis, up: Axis, x: Floats, curve: Curve, result: ModelResult) -> Plot:
    layers = Layers()
    values = numbers(curve.values)
    is_drift = name == "drift"
    shown = [values[np.isfinite(values)]]
    if curve.band:
        low, high = array(curve.band).T
        interval(layers, result, x, (low, high))
        shown += [low[np.isfinite(low)], high[np.isfinite(high)]]
    if is_drift:
        layers.rule(y=0.0)
        for point in result.generator.fixed_points:
            layers.rule(x=point.at[0])
    note = ""
    observed = observed_of(result)
    moments = None if observed is None else observed.kramers_moyal
    if moments is not None:
        found = (moments.drift, moments.drift_std_error)
        if not is_drift:
            found = (moments.diffusion, moments.diffusion_std_error)
        points, errors = map(numbers, found)
        label = "Kramers–Moyal estimates from the data (± 1 standard error)"
        layers.dots(label, moments.at, points, errors)
        # Points from few samples scatter far; they must not compress the rest of the plot.
        known = errors[np.isfinite(errors)]
        sure = errors < 4 * (np.median(known) if known.size else 0.0)
        shown.append(points[sure & np.isfinite(points)])
        note = "Points are binned averages of the increments"
        note += (
            " one sample later, corrected for measurement noise."
            if moments.noise_corrected
            else ", not corrected for the finite sampling interval."
        )
        note += f" {held_in_words(result)}" if held_in_words(result) else ""
    variable = only_variable(result)
    layers.line(f"model {'b' if is_drift else 'a'}({variable})", x, values)
    every = np.concatenate([*shown, [0.0]])
    span = padded(float(every.min()), float(every.max()))
    if not is_drift:
        span = (min(0.0, float(every.min())), span[1])
    ends = f"{plain(x[0], 3)} to {plain(x[-1], 3)}, with values from {_first_last(values)}"
    summary = f"{up.label} for {variable} from {ends}.{_roots(result) if is_drift else ''}"
    up = replace(up, range=span)
    return Plot(name, up.label, across, up, layers.made, summary, note)


def _potential(result: ModelResult, across: Axis) -> Iterator[Plot]:
    potential = result.generator.effective_potential
    if potential is None or across.range is None:
        return
    x, values = numbers(potential.grid), numbers(potential.values)
    inside = (x >= across.range[0]) & (x <= across.range[1]) & np.isfinite(values)
    if inside.sum() < 2:
        return
    layers = Layers()
    interval(layers, result, x, potential.values_ci)
    name = only_variable(result)
    layers.line(f"effective potential Φ({name})", x, values)
    shown = [p for p in result.generator.fixed_points if x[0] <= p.at[0] <= x[-1]]
    places = sorted({(p.at[0], "well" if p.stable else "barrier") for p in shown})
    at, kinds = [at for at, _ in places], [kind for _, kind in places]
    heights = [float(height) for height in np.interp(at, x, values)]
    layers.marks("wells and barriers", at, heights, kinds)
    low, high = float(values[inside].min()), float(values[inside].max())
    if high - low < FLAT:
        low, high = low - 0.5, low + 0.5
    summary = (
        "Effective potential in units of kT: minus the logarithm of the stationary density, if "
        "there is one."
    )
    for barrier in result.generator.barriers:
        summary += (
            f" The barrier at {plain(barrier.over, 3)} is {plain(barrier.height_over_noise, 3)} kT"
            f"{_within(barrier.height_over_noise_ci)} above the well at {plain(barrier.from_, 3)}."
        )
    title = f"Effective potential Φ({name})"
    up = Axis(f"Φ({name})", "kT", padded(low, high))
    yield Plot("potential", title, across, up, layers.made, summary)


def _density(result: ModelResult, across: Axis, units: Units) -> Iterator[Plot]:
    stationary, layers = result.generator.stationary, Layers()
    name = only_variable(result)
    seen = histogram(layers, result, name)
    top = seen
    if stationary is not None and len(stationary.density.grid) == 1:
        x, values = numbers(stationary.density.grid[0]), numbers(stationary.density.values)
        highest = values
        if stationary.density.values_ci is not None:
            interval(layers, result, x, stationary.density.values_ci)
            highest = np.fmax(values, numbers(stationary.density.values_ci[1]))
        layers.line("stationary density of the model", x, values)
        first, last = across.range or (-np.inf, np.inf)
        inside = highest[np.isfinite(highest) & (x >= first) & (x <= last)]
        # A density may be unbounded at an end; the histogram then decides how much is shown.
        top = max(seen, min(float(inside.max(initial=0.0)), 3 * seen or np.inf))
    if not layers.made or top <= 0:
        return
    model, data = "stationary density of the model", "histogram of the data"
    said = [*([model] if stationary is not None else []), *([data] if seen else [])]
    summary = " beside the ".join(said).capitalize()
    if isinstance(result, IdentificationResult):
        distance = result.diagnostics.density_total_variation
        if distance is not None:
            summary += f"; their total variation distance is {plain(distance, 2)}"
    up = Axis("density", units.density(name), (0.0, 1.08 * top))
    note = held_in_words(result)
    yield Plot("density", "Stationary density", across, up, layers.made, f"{summary}.", note)


def held_in_words(result: ModelResult) -> str:
    """Say that the model is drawn at held inputs and without forcing; nothing of one without."""
    if not result.model.inputs and result.generator.driving is None:
        return ""
    held = [f"{name} = {plain(value, 3)}" for name, value in result.model.inputs.items()]
    without = [] if result.generator.driving is None else ["without its periodic forcing"]
    where = " and ".join([*([f"at {', '.join(held)}"] if held else []), *without])
    return f"The model is drawn {where}, the data are as they were driven."


def observed_of(result: ModelResult) -> Observed | None:
    """Return the data that are drawn beside the model, if there are any."""
    return result.observed if isinstance(result, IdentificationResult) else None


def histogram(layers: Layers, result: ModelResult, name: str) -> float:
    """Add the histogram of a variable's data, if there is one; return its highest density."""
    observed = observed_of(result)
    bins = None if observed is None else observed.histograms.get(name)
    share = density_of(bins)
    if bins is None or share is None:
        return 0.0
    layers.bars("histogram of the data", bins.edges, share)
    return float(share.max())


def interval(
    layers: Layers, result: ModelResult, x: Floats, ends: Any, style: Style = "model"
) -> None:
    """Add the area between the ends of the result's confidence intervals, if there are any."""
    if ends is not None:
        low, high = map(numbers, ends)
        layers.band(f"{confidence_of(result)} confidence interval", x, low, high, style)


def confidence_of(result: ModelResult) -> str:
    """Write the confidence level of the result's intervals as `95 %`."""
    level = 100 * float(result.provenance.analysis.get("confidence", 0.95))
    return f"{plain(level, 3).rstrip('0').rstrip('.')} %"


def smallest(result: ModelResult) -> float:
    """Return the size below which a state is zero up to rounding [state]."""
    stationary = result.generator.stationary
    covariance = () if stationary is None else stationary.covariance
    widths = [float(np.sqrt(row[k] or 0.0)) for k, row in enumerate(covariance)]
    return ROUNDING * max(
        [*widths, *(abs(at) for p in result.generator.fixed_points for at in p.at)], default=0.0
    )


def cleaned(value: float, least: float) -> float:
    """Return the value, or zero if it is smaller than `least`."""
    return 0.0 if abs(value) < least else value


def _within(interval: Interval | None) -> str:
    if interval is None or None in interval:
        return ""
    return f" ({plain(interval[0], 3)} to {plain(interval[1], 3)})"


def _roots(result: ModelResult) -> str:
    least = smallest(result)
    said = []
    for kind, stable in (("stable", True), ("unstable", False)):
        points = [p.at[0] for p in result.generator.fixed_points if p.stable == stable]
        if points:
            places = ", ".join(plain(cleaned(at, least), 3) for at in points)
            said.append(f"{kind} fixed points at {places}")
    return f" It has {' and '.join(said)}." if said else ""


def _first_last(values: np.ndarray) -> str:
    seen = values[np.isfinite(values)]
    return f"{plain(float(seen[0]), 3)} to {plain(float(seen[-1]), 3)}" if seen.size else "nowhere"


def padded(low: float, high: float, share: float = 0.06) -> tuple[float, float]:
    """Return a range with a margin on both sides."""
    margin = share * (high - low) or abs(high) or 1.0
    return low - margin, high + margin
