"""Plots of the model's correlations, slow modes and first-passage times."""

from collections.abc import Iterator

import numpy as np

from contract.results import IdentificationResult, ModelResult
from service.web.numbers import Units, plain
from service.web.plots.model import confidence_of, interval, only_variable
from service.web.plots.plot import SERIES, Axis, Layers, Plot, array, numbers


def dynamics_plots(result: ModelResult, units: Units) -> Iterator[Plot]:
    """Draw autocorrelations, eigenfunctions, committors, first-passage times and power spectrum.

    Committors are drawn here for one variable only.
    """
    yield from _autocorrelations(result, units)
    yield from _eigenfunctions(result, units)
    yield from _committors(result, units)
    yield from _passages(result, units)
    yield from _power_spectrum(result, units)


def _autocorrelations(result: ModelResult, units: Units) -> Iterator[Plot]:
    model = result.generator.autocorrelation
    observed = (
        result.diagnostics.autocorrelation if isinstance(result, IdentificationResult) else {}
    )
    # Of velocities that were not recorded there is the model's alone.
    names = list(dict.fromkeys([*observed, *(model.values if model is not None else ())]))
    for name in names:
        layers, seen, end = Layers(), observed.get(name), 0.0
        layers.rule(y=0.0)
        if seen is not None and seen.lags:
            band, label = array(seen.band), "95 % confidence interval of the data"
            if band.size:
                layers.band(label, seen.lags, band[:, 0], band[:, 1], "data")
            layers.dots("data", seen.lags, seen.data)
            end = float(seen.lags[-1])
        if model is not None and name in model.values:
            lags, values = numbers(model.lags), numbers(model.values[name])
            if name in model.values_ci:
                band_label = f"{confidence_of(result)} confidence interval of the model"
                layers.band(band_label, lags, *model.values_ci[name])
            layers.line("model", lags, values)
            end = end or float(lags[-1])
        elif seen is not None and seen.model:
            layers.line("model", seen.lags, seen.model)
        if len(layers.made) < 2:
            continue
        summary = f"Autocorrelation function of {name}"
        if seen is not None and seen.p_value is not None:
            summary += (
                f" of data and model; p = {plain(seen.p_value, 2)} under the null hypothesis that "
                "the model is correct"
            )
        label = "Autocorrelation" if len(names) == 1 else f"Autocorrelation of {name}"
        across = Axis("lag", units.time, (0.0, end))
        without = seen is not None and not seen.lags and seen.reason
        note = f"No empirical curve: {without}." if without else ""
        identifier, said = f"autocorrelation-{name}", f"{summary}."
        yield Plot(identifier, label, across, Axis(label), layers.made, said, note)


def _eigenfunctions(result: ModelResult, units: Units) -> Iterator[Plot]:
    spectrum, stationary = result.generator.spectrum, result.generator.stationary
    if (
        spectrum is None
        or stationary is None
        or not spectrum.eigenfunctions
        or len(stationary.density.grid) != 1
    ):
        return
    x, density = numbers(stationary.density.grid[0]), numbers(stationary.density.values)
    # Far out, where the process never is, eigenfunctions grow like polynomials.
    inhabited = density > 1e-3 * np.nanmax(density)
    layers = Layers()
    layers.rule(y=0.0)
    pairs = zip(spectrum.eigenfunctions, spectrum.relaxation_times, SERIES, strict=False)
    for ends, style in zip(spectrum.eigenfunctions_ci, SERIES, strict=False):
        if ends is not None:
            inside = [numbers(end)[inhabited] for end in ends]
            interval(layers, result, x[inhabited], inside, style)
    for k, (values, time, style) in enumerate(pairs, start=1):
        unit = f" {units.time}" if units.time else ""
        name = f"mode {k}, relaxation time {plain(time, 3)}{unit}"
        layers.line(name, x[inhabited], numbers(values)[inhabited], style)
    summary = (
        f"The {len(spectrum.eigenfunctions)} slowest eigenfunctions over the range of the "
        "stationary density. A step between two plateaus separates metastable states."
    )
    variable = only_variable(result)
    across, up = Axis(units.label(variable), units.of_variable(variable)), Axis("eigenfunction")
    yield Plot("eigenfunctions", "Slowest eigenfunctions", across, up, layers.made, summary)


def _committors(result: ModelResult, units: Units) -> Iterator[Plot]:
    layers, said, seen = Layers(), [], list[float]()
    known = [c for c in result.generator.committors if len(c.grid) == 1]
    for committor, style in zip(known, SERIES, strict=False):
        x = numbers(committor.grid[0])
        interval(layers, result, x, committor.values_ci, style)
        name = f"{place(committor.to)} before {place(committor.from_)}"
        layers.line(name, x, numbers(committor.values), style)
        said.append(name)
        seen += [float(x[0]), float(x[-1])]
    if said:
        ends = result.curves.grid if result.curves is not None else seen
        span = (float(min(ends)), float(max(ends)))
        variable = only_variable(result)
        across = Axis(units.label(variable), units.of_variable(variable), span)
        up = Axis("probability", None, (0.0, 1.0))
        summary = f"Committors: probability, by starting state, of reaching {'; '.join(said)}."
        yield Plot("committors", "Committors", across, up, layers.made, summary)


def _passages(result: ModelResult, units: Units) -> Iterator[Plot]:
    layers, said = Layers(log=True), []
    known = [
        p for p in result.generator.passages if p.distribution is not None and p.distribution.times
    ]
    for passage, style in zip(known, SERIES, strict=False):
        distribution = passage.distribution
        assert distribution is not None
        name = f"from {place(passage.from_)} to {place(passage.to)}"
        layers.line(name, distribution.times, distribution.cumulative, style)
        said.append(name)
    if said:
        summary = f"Cumulative distribution of the first-passage time: {'; '.join(said)}."
        across, up = Axis("time", units.time, log=True), Axis("probability", None, (0.0, 1.0))
        title = "First-passage time distribution (cumulative)"
        yield Plot("passages", title, across, up, layers.made, summary)


def _power_spectrum(result: ModelResult, units: Units) -> Iterator[Plot]:
    spectrum = result.generator.power_spectrum
    if spectrum is None:
        return
    layers = Layers(log=True)
    for (name, values), style in zip(spectrum.values.items(), SERIES, strict=False):
        power, frequencies = numbers(values), numbers(spectrum.frequencies)
        if name in spectrum.values_ci:
            ends = [
                np.where(frequencies > 0, numbers(end), np.nan) for end in spectrum.values_ci[name]
            ]
            interval(layers, result, frequencies, ends, style)
        drawn = np.where((power > 0) & (frequencies > 0), power, np.nan)
        layers.line(name, frequencies, drawn, style)
    if layers.made:
        across = Axis("frequency", units.rate(), log=True)
        title, up = "Power spectral density of the model", Axis("power spectral density", log=True)
        summary = "One-sided power spectral density of the model; its integral is the variance."
        yield Plot("power-spectrum", title, across, up, layers.made, summary)


def place(given: object) -> str:
    """Describe a state, a point or a region in words."""
    if isinstance(given, dict):
        named = [
            _range(name, low, high)
            for name, (low, high) in given.items()
            if low is not None or high is not None
        ]
        return ", ".join(named) or "anywhere"
    if isinstance(given, tuple):
        return f"({', '.join(plain(v, 3) for v in given)})"
    return plain(given, 3) if isinstance(given, int | float) else "–"


def _range(name: str, low: float | None, high: float | None) -> str:
    if low is None or high is None:
        return f"{name} > {plain(low, 3)}" if high is None else f"{name} < {plain(high, 3)}"
    return f"{name} {plain(low, 3)} to {plain(high, 3)}"
