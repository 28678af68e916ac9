"""Plots of one variable: drift, diffusion, effective potential and density beside the data."""

from collections.abc import Iterator

import numpy as np

from contract.base import Interval
from contract.curves import Bins, Curve, KramersMoyal
from contract.results import IdentificationResult, ModelResult
from service.web.numbers import Units, plain
from service.web.plots.plot import Axis, Layers, Plot, array, density_of, numbers

FLAT = 1e-6
"""Range of a potential in kT that is no more than rounding."""
ROUNDING = 1e-9
"""Fraction of a scale below which a number is zero by symmetry, up to rounding."""


def model_plots(result: ModelResult, units: Units) -> Iterator[Plot]:
    """Draw drift, diffusion, effective potential and stationary density, if they are known."""
    if result.curves is None:
        return
    observed = result.observed if isinstance(result, IdentificationResult) else None
    moments = None if observed is None else observed.kramers_moyal
    histogram = None if observed is None else observed.histograms.get("x")
    x = np.array(result.curves.grid)
    across = Axis(units.label("x"), units.of_variable("x"), (float(x[0]), float(x[-1])))
    yield _curve(
        "drift", "Drift b(x)", units.drift("x"), across, x, result.curves.drift, moments, result
    )
    yield _curve(
        "diffusion",
        "Diffusion a(x)",
        units.diffusion("x", "x"),
        across,
        x,
        result.curves.diffusion,
        moments,
        result,
    )
    yield from _potential(result, across)
    yield from _density(result, across, units, histogram)


def _curve(
    name: str,
    title: str,
    unit: str | None,
    across: Axis,
    x: np.ndarray,
    curve: Curve,
    moments: KramersMoyal | None,
    result: ModelResult,
) -> Plot:
    layers = Layers()
    values = numbers(curve.values)
    is_drift = name == "drift"
    shown = [values[np.isfinite(values)]]
    if curve.band:
        low, high = array(curve.band).T
        layers.band(f"{confidence_of(result)} confidence interval", x, low, high)
        shown += [low[np.isfinite(low)], high[np.isfinite(high)]]
    if is_drift:
        layers.rule(y=0.0)
        for point in result.generator.fixed_points:
            layers.rule(x=point.at[0])
    note = ""
    if moments is not None:
        y, error = (
            (moments.drift, moments.drift_std_error)
            if is_drift
            else (moments.diffusion, moments.diffusion_std_error)
        )
        layers.dots(
            "Kramers–Moyal estimates from the data (± 1 standard error)", moments.at, y, error
        )
        points, errors = numbers(y), numbers(error)
        # Points from few samples scatter far; they must not compress the rest of the plot.
        sure = (
            errors < 4 * np.nanmedian(errors)
            if np.isfinite(errors).any()
            else np.zeros(0, dtype=bool)
        )
        shown.append(points[sure & np.isfinite(points)])
        note = (
            "Points are binned averages of the increments one sample later, corrected for "
            "measurement noise."
            if moments.noise_corrected
            else "Points are binned averages of the increments, not corrected for the finite "
            "sampling interval."
        )
    layers.line(f"model {'b(x)' if is_drift else 'a(x)'}", x, values)
    every = np.concatenate([*shown, [0.0]])
    span = _padded(float(every.min()), float(every.max()))
    if not is_drift:
        span = (min(0.0, float(every.min())), span[1])
    summary = (
        f"{title} for x from {plain(x[0], 3)} to {plain(x[-1], 3)}, with values from "
        f"{_first_last(values)}."
    )
    if is_drift:
        summary += _roots(result)
    return Plot(name, title, across, Axis(title, unit, span), layers.tuple(), summary, note)


def _potential(result: ModelResult, across: Axis) -> Iterator[Plot]:
    potential = result.generator.effective_potential
    if potential is None or across.range is None:
        return
    x, values = numbers(potential.grid), numbers(potential.values)
    inside = (x >= across.range[0]) & (x <= across.range[1]) & np.isfinite(values)
    if inside.sum() < 2:
        return
    layers = Layers()
    if potential.values_ci is not None:
        layers.band(
            f"{confidence_of(result)} confidence interval",
            x,
            numbers(potential.values_ci[0]),
            numbers(potential.values_ci[1]),
        )
    layers.line("effective potential Φ(x)", x, values)
    places = sorted(
        {
            (p.at[0], "well" if p.stable else "barrier")
            for p in result.generator.fixed_points
            if x[0] <= p.at[0] <= x[-1]
        }
    )
    heights = [float(np.interp(at, x, values)) for at, _ in places]
    layers.marks(
        "wells and barriers", [at for at, _ in places], heights, [kind for _, kind in places]
    )
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
    yield Plot(
        "potential",
        "Effective potential Φ(x)",
        across,
        Axis("Φ(x)", "kT", _padded(low, high)),
        layers.tuple(),
        summary,
    )


def _density(
    result: ModelResult, across: Axis, units: Units, histogram: Bins | None
) -> Iterator[Plot]:
    stationary = result.generator.stationary
    layers, top = Layers(), [0.0]
    share = density_of(histogram)
    if histogram is not None and share is not None:
        layers.bars("histogram of the data", histogram.edges, share)
        top.append(float(share.max()))
    if stationary is not None and len(stationary.density.grid) == 1:
        x, values = numbers(stationary.density.grid[0]), numbers(stationary.density.values)
        highest = values
        if stationary.density.values_ci is not None:
            low, high = (numbers(end) for end in stationary.density.values_ci)
            layers.band(f"{confidence_of(result)} confidence interval", x, low, high)
            highest = np.fmax(values, high)
        layers.line("stationary density of the model", x, values)
        inside = highest[
            np.isfinite(highest)
            & (x >= (across.range or (-np.inf, np.inf))[0])
            & (x <= (across.range or (0, np.inf))[1])
        ]
        # A density may be unbounded at an end; the histogram then decides how much is shown.
        top.append(min(float(inside.max(initial=0.0)), 3 * top[-1] if top[-1] else np.inf))
    if not layers.made or max(top) <= 0:
        return
    summary = (
        "Stationary density of the model" if stationary is not None else "Histogram of the data"
    )
    if stationary is not None and histogram is not None:
        summary += " beside the histogram of the data"
    distance = (
        result.diagnostics.density_total_variation
        if isinstance(result, IdentificationResult)
        else None
    )
    if distance is not None:
        summary += f"; their total variation distance is {plain(distance, 2)}"
    yield Plot(
        "density",
        "Stationary density",
        across,
        Axis("density", units.density("x"), (0.0, 1.08 * max(top))),
        layers.tuple(),
        summary + ".",
    )


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
    return (
        ""
        if interval is None or None in interval
        else f" ({plain(interval[0], 3)} to {plain(interval[1], 3)})"
    )


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


def _padded(low: float, high: float, share: float = 0.06) -> tuple[float, float]:
    margin = share * (high - low) or abs(high) or 1.0
    return low - margin, high + margin
