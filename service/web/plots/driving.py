"""Plots of what periodic forcing does: the cycle, and first-passage times by starting phase."""

from collections.abc import Iterator

import numpy as np

from contract.results import ForcedPassage, ModelResult
from service.web.numbers import Units, plain
from service.web.plots.model import interval
from service.web.plots.plot import SERIES, Axis, Floats, Layers, Plot, numbers


def driving_plots(result: ModelResult, units: Units) -> Iterator[Plot]:
    """Draw mean and standard deviation over a period, and first-passage times."""
    yield from _cycles(result, units)
    yield from _passages(result, units)


def _cycles(result: ModelResult, units: Units) -> Iterator[Plot]:
    driving = result.generator.driving
    if driving is None or driving.cycle is None:
        return
    cycle = driving.cycle
    times = np.append(numbers(cycle.times), cycle.period)
    for name, values in cycle.mean.items():
        layers = Layers()
        mean = _closed(values)
        deviation = np.sqrt(_closed(cycle.covariance[f"{name},{name}"]).clip(min=0))
        layers.band("mean ± standard deviation", times, mean - deviation, mean + deviation)
        layers.line("mean", times, mean)
        label = units.label(name)
        title = f"{label} over a period of the forcing"
        across = Axis("time in the period", units.time, (0.0, cycle.period))
        up = Axis(label, units.of_variable(name))
        unit = f" {units.time}" if units.time else ""
        summary = (
            f"Mean and standard deviation of {label} over a period of {plain(cycle.period, 4)}"
            f"{unit}, once it has settled: from {plain(mean.min(), 3)} to {plain(mean.max(), 3)}."
        )
        yield Plot(f"cycle-{name}", title, across, up, layers.made, summary)


def _passages(result: ModelResult, units: Units) -> Iterator[Plot]:
    driving = result.generator.driving
    known: list[ForcedPassage] = []
    if driving is not None:
        known = [found for found in driving.passages if found.mean_time]
    layers, said = Layers(), []
    for found, style in zip(known, SERIES, strict=False):
        period = found.times[-1] + found.times[1]
        times = np.append(numbers(found.times), period)
        if found.mean_time_ci is not None:
            interval(layers, result, times, [_closed(end) for end in found.mean_time_ci], style)
        name = f"from {plain(found.from_, 3)} to {plain(found.to, 3)}"
        layers.line(name, times, _closed(found.mean_time), style)
        said.append(name)
    if said:
        summary = (
            "Mean first-passage time by the time in the period at which the passage starts: "
            f"{'; '.join(said)}."
        )
        across = Axis("time in the period at the start", units.time, (0.0, float(period)))
        title, up = "First-passage time by starting phase", Axis("mean time", units.time)
        yield Plot("passages-by-phase", title, across, up, layers.made, summary)


def _closed(values: tuple[float, ...]) -> Floats:
    """Return the values of a period with the first one at its end."""
    return np.append(numbers(values), values[0])
