"""Plots of a dataset: each variable against time, and its histogram."""

from collections.abc import Iterator

import numpy as np

from contract.datasets import Dataset, DatasetPreview
from service.web.numbers import Units, count, exact, plain
from service.web.plots.plot import SERIES, Axis, Layers, Plot

COLOURS = 5
"""Largest number of segments that are drawn in different colours; more of them share one."""


def data_plots(dataset: Dataset, preview: DatasetPreview, units: Units) -> Iterator[Plot]:
    """Draw each variable against time, and its histogram."""
    report = dataset.report
    for variable in report.variables[:6]:
        name = variable.name
        yield _course(dataset, preview, units, name)
        bins = preview.histograms[name]
        layers = Layers()
        layers.bars("samples", bins.edges, np.array(bins.counts, dtype=float))
        k = int(np.argmax(bins.counts))
        peak = (bins.edges[k] + bins.edges[k + 1]) / 2
        summary = (
            f"Histogram of {count(report.n_samples)} samples of {units.label(name)} between "
            f"{exact(bins.edges[0])} and {exact(bins.edges[-1])}; the highest bin is near "
            f"{plain(peak, 3)}."
        )
        across = Axis(units.label(name), units.of_variable(name))
        yield Plot(
            f"histogram-{name}",
            f"Histogram of {units.label(name)}",
            across,
            Axis("number of samples"),
            layers.tuple(),
            summary,
        )


def _course(dataset: Dataset, preview: DatasetPreview, units: Units, name: str) -> Plot:
    layers, many = Layers(), len(preview.stretches) > COLOURS
    trajectories = list(dict.fromkeys(s.trajectory for s in preview.stretches))
    shortened = False
    for stretch in preview.stretches:
        low, high = np.array(stretch.low[name]), np.array(stretch.high[name])
        times = np.array(stretch.times)
        if np.array_equal(low, high):
            across, up = times, low
        else:
            # The line goes from minimum to maximum in each bin, so it covers every sample.
            shortened = True
            across = np.repeat(times, 2)
            up = np.stack([low, high], axis=1).ravel()
        place = trajectories.index(stretch.trajectory)
        label = "time series" if len(trajectories) == 1 else f"trajectory {stretch.trajectory + 1}"
        layers.course(
            label, across, up, "model" if many or len(trajectories) == 1 else SERIES[place]
        )
    shown, total = len(preview.stretches), preview.n_segments
    notes = []
    if shown < total:
        notes.append(f"The {shown} longest of {count(total)} segments are shown.")
    if shortened:
        notes.append("Downsampled for display: minimum and maximum of each time bin.")
    low_end, high_end = dataset.report.range[[v.name for v in dataset.report.variables].index(name)]
    summary = (
        f"{units.label(name)} against time, ranging from {exact(low_end)} to {exact(high_end)}."
    )
    return Plot(
        f"course-{name}",
        f"{units.label(name)} against time",
        Axis("time", units.time),
        Axis(units.label(name), units.of_variable(name)),
        layers.tuple(),
        summary,
        " ".join(notes),
        wide=True,
    )
