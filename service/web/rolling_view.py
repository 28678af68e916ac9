"""The view of a rolling result: the trend of the spectral gap, and plots against time."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np

from contract.results import Estimate
from contract.rolling import RollingResult, RollingWindow, WindowTerm
from service.web import sentences
from service.web.numbers import Units, count, exact, plain
from service.web.plots.plot import SERIES, Axis, Layers, Plot, PlotGroup
from service.web.result_view import Figure, ResultView, data_in_words


@dataclass(frozen=True, slots=True)
class _Course:
    """A positive quantity against time: its names on the page, its unit, and what it is."""

    id: str
    symbol: str
    unit: str | None
    title: str
    said: str


def rolling_view(result: RollingResult) -> ResultView:
    """Show the windows along a time series."""
    units = sentences.units_of_data(result.data)
    return ResultView(
        subtitle=f"{count(len(result.windows))} windows of {data_in_words(result.data)}",
        sentence=sentences.trend(result),
        figures=list(trend_figures(result, units)),
        warnings=result.warnings,
        groups=rolling_groups(result, units),
    )


def trend_figures(result: RollingResult, units: Units) -> Iterator[Figure]:
    """Yield the numbers that describe how the spectral gap changes along the time series."""
    trend = result.trend
    if trend.factor.value is not None:
        factor = trend.factor
        yield Figure.of("Ratio of last to first spectral gap", factor.value, factor.ci, None)
    if trend.slope is not None:
        yield Figure.of("Slope of log λ₁", trend.slope, trend.ci, units.rate())
    yield from _of_time(result)
    if trend.p_value is not None:
        note = f"{trend.n_windows} non-overlapping windows"
        yield Figure("Test of a linear trend", f"p = {plain(trend.p_value, 2)}", note=note)


def _of_time(result: RollingResult) -> Iterator[Figure]:
    trend = result.correlation_time_trend
    if trend is not None and trend.factor.value is not None:
        label = "Ratio of last to first correlation time"
        yield Figure.of(label, trend.factor.value, trend.factor.ci, None)


def rolling_groups(result: RollingResult, units: Units) -> list[PlotGroup]:
    """Draw gap, correlation time of the noise, fixed points and coefficients against time."""
    if not result.windows:
        return []
    middle = [(w.begin + w.end) / 2 for w in result.windows]
    across = Axis("middle of the window", units.time)
    gaps = [w.gap for w in result.windows]
    times = [w.correlation_time for w in result.windows if w.correlation_time is not None]
    gap = _Course("gap", "λ₁", units.rate(), "Spectral gap", "Slowest relaxation rate")
    time = _Course("correlation-time", "τ", units.time, "Correlation time", "That of the noise")
    first = [
        *_course(result, middle, across, gaps, gap),
        *_course(result, middle, across, times, time),
        *_fixed_points(result, middle, across, units),
    ]
    coefficients = [
        plot for of in ("drift", "diffusion") for plot in _coefficients(result, middle, across, of)
    ]
    return [
        PlotGroup("windows", "Window by window", first),
        PlotGroup("coefficients", "Coefficients", coefficients),
    ]


def _course(
    result: RollingResult,
    middle: list[float],
    across: Axis,
    estimates: Sequence[Estimate],
    of: _Course,
) -> Iterator[Plot]:
    layers = Layers(log=True)
    if len(estimates) < len(middle):
        return
    low, high = zip(*(e.ci or (None, None) for e in estimates), strict=True)
    level = exact(100 * float(result.provenance.analysis.get("confidence", 0.95)))
    name = f"{of.title.lower()} {of.symbol}"
    values = [e.value for e in estimates]
    layers.band(f"{level} % confidence interval of each window", middle, low, high)
    layers.line(name, middle, values)
    layers.dots(name, middle, values, None, "model")
    if any(layer["kind"] == "line" for layer in layers.made):
        known = [v for v in values if v is not None]
        summary = (
            f"{of.said} of each window: {plain(known[0], 3)} in the first, "
            f"{plain(known[-1], 3)} in the last."
        )
        up = Axis(of.symbol, of.unit, log=True)
        yield Plot(of.id, f"{of.title} {of.symbol}", across, up, layers.made, summary)


def _fixed_points(
    result: RollingResult, middle: list[float], across: Axis, units: Units
) -> Iterator[Plot]:
    layers = Layers()
    for stable, name, style in ((True, "stable", SERIES[0]), (False, "unstable", SERIES[1])):
        found = [
            (t, p)
            for t, w in zip(middle, result.windows, strict=True)
            for p in w.fixed_points
            if p.stable == stable
        ]
        errors = [np.nan if p.std_error is None else p.std_error for _, p in found]
        times, places = [t for t, _ in found], [p.at for _, p in found]
        layers.dots(f"{name} (± 1 standard error)", times, places, errors, style)
    if layers.made:
        name = next(iter(units.state))
        title = "Stable and unstable fixed points"
        up = Axis(units.label(name), units.of_variable(name))
        yield Plot("fixed-points", title, across, up, layers.made, "Fixed points in each window.")


def _coefficients(
    result: RollingResult, middle: list[float], across: Axis, of: str
) -> Iterator[Plot]:
    def terms(window: RollingWindow) -> tuple[WindowTerm, ...]:
        return window.drift if of == "drift" else window.diffusion

    for name in dict.fromkeys(t.term for w in result.windows for t in terms(w)):
        by_window = [next((t for t in terms(w) if t.term == name), None) for w in result.windows]
        layers = Layers()
        values = [None if t is None else t.value for t in by_window]
        errors = [None if t is None else t.std_error for t in by_window]
        layers.line("coefficient", middle, values)
        layers.dots("± 1 standard error", middle, values, errors, "model")
        if layers.made:
            slug = "".join(c if c.isalnum() else "_" for c in name)
            title = f"Coefficient of {name} in the {of}"
            said = f"{title}, for each window."
            yield Plot(f"{of}-{slug}", title, across, Axis(name), layers.made, said)
