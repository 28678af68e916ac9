"""Views of a dataset, a result, or two results side by side, as HTML for page and report."""

import math
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, fields, replace
from functools import partial
from typing import Any

import numpy as np
from markupsafe import Markup

from contract.batches import MOST_RECORDS
from contract.datasets import Dataset, DatasetPreview, DatasetReport, Stretch
from contract.records import JobRecord
from contract.results import ModelResult, Result, Term
from grammar.terms import variable_name
from service.readers.names import axis_of
from service.web import mathml, sentences
from service.web.forms import job_fields, kind_forms
from service.web.glossary import explained
from service.web.kinds import VIEWS
from service.web.layout_form import layout_form
from service.web.model_view import plots_of
from service.web.numbers import Units, count, exact, plain, with_error
from service.web.plots.paths import path_plots
from service.web.plots.plot import SERIES, Axis, Layer, Layers, Plot, Style
from service.web.site import assets, bundle, hash_of, rendered
from service.web.tables import Table, components_of

COLOURS = 5
"""Largest number of segments that are drawn in different colours; more of them share one."""

STYLES: tuple[Style, Style] = ("series1", "series2")
LETTERS = ("A", "B")
"""Names of the two results in plots and tables; the names of jobs may be long."""
OF_ONE = ("eigenfunctions", "selection", "residuals", "chapman-kolmogorov")
"""Plots that mean nothing when two are drawn over each other."""


@dataclass(frozen=True, slots=True)
class Finished:
    """A job that succeeded, and its result."""

    record: JobRecord
    result: Result
    data: tuple[Dataset, DatasetPreview] | None = None
    """The dataset that the job names, if there still is one."""


def dataset_view(dataset: Dataset, preview: DatasetPreview) -> str:
    """Show the content of a dataset in words and plots, and the form of the next job."""
    plots = list(data_plots(dataset, preview, sentences.units_of_dataset(dataset)))
    symbols = {variable_name(j): v.name for j, v in enumerate(dataset.report.variables)}
    inputs = {variable.name: variable.symbol for variable in dataset.report.inputs}
    basic, groups = job_fields(symbols, inputs)
    said = list(sentences.report_in_words(dataset))
    read = rendered(
        "dataset.html",
        dataset=dataset,
        sentences=said,
        plots=_drawn(plots),
        **vars(layout_form(dataset.report)),
    )
    return read + rendered(
        "form.html",
        basic=basic,
        groups=groups,
        kinds=kind_forms(groups=len(dataset.report.groups) > 1),
        name=dataset.label or "",
        trajectories=dataset.report.n_trajectories,
        most_records=MOST_RECORDS,
        datasets=(),
        heading="Identify the equation",
    )


def together_view(datasets: Sequence[Dataset]) -> str:
    """Show several datasets, and the form of a job on all of them.

    A job of one dataset that is chosen becomes a batch, with a model for each.
    """
    report = datasets[0].report
    basic, groups = job_fields(
        {variable_name(j): v.symbol for j, v in enumerate(report.variables)},
        {variable.name: variable.symbol for variable in report.inputs},
    )
    kinds = {kind.name: kind for kind in kind_forms()}
    each = replace(kinds["identification"], title="A model of its own for each (a batch)")
    return rendered(
        "together.html",
        datasets=datasets,
        heading="Analyse them together",
        basic=basic,
        groups=groups,
        kinds=[kinds["comparison"], kinds["population"], each],
        name="",
        trajectories=0,
        most_records=0,
    )


def result_view(finished: Finished) -> str:
    """Show a result's numbers, plots and tables."""
    values = result_values(finished)
    shown = rendered(values["template"], **values)
    targets = plan_targets(finished.result)
    return shown + rendered("plan.html", targets=targets) if targets else shown


def plan_targets(result: Result) -> dict[str, dict[str, str]]:
    """Return what the next measurement may be planned for, by name; empty where there are no plans.

    Plans are for one variable of first order.
    """
    if not isinstance(result, ModelResult) or len(result.model.drift) > 1:
        return {}
    targets = {
        "relaxation time": {"quantity": "relaxation_time"},
        "escape time between two wells": {"quantity": "passage"},
        "stationary variance": {"quantity": "variance"},
    }
    for function in ("drift", "diffusion"):
        for key, component in getattr(result.model, function).items():
            for term in component.terms:
                if term.value:
                    name = f"coefficient of {term.term} in the {function}"
                    targets[name] = {
                        "quantity": "coefficient", "component": key, "term": term.term
                    }  # fmt: skip
    return targets


def result_values(finished: Finished) -> dict[str, Any]:
    """Return the name of a result's template, and the values that it needs."""
    record, result = finished.record, finished.result
    view = VIEWS[result.kind](result)
    groups = list(view.groups)
    if isinstance(result, ModelResult) and groups:
        groups[0] = replace(groups[0], plots=[*_record_and_path(finished), *groups[0].plots])
    label = None if finished.data is None else finished.data[0].label
    labels = [f.label for f in view.figures] + [p.title for g in groups for p in g.plots]
    return {
        **{part.name: getattr(view, part.name) for part in fields(view)},
        "record": record,
        "title": record.labels.get("name") or label or record.id,
        "subtitle": f"{view.subtitle}; computed in {plain(result.provenance.seconds, 2)} s",
        "groups": [{"name": g.name, "title": g.title, "plots": _drawn(g.plots)} for g in groups],
        "provenance": result.provenance,
        "kind": result.kind,
        "entries": explained(labels),
        **view.more,
    }


def _record_and_path(finished: Finished) -> Iterator[Plot]:
    """Draw the record and a path of the model, or the path alone."""
    assert isinstance(finished.result, ModelResult)
    units = sentences.units_of_result(finished.result)
    if finished.data is None:
        return path_plots(finished.result, units)
    record = partial(_course, *finished.data, units)
    return path_plots(finished.result, units, finished.data[1], record)


def side_by_side_view(first: Finished, second: Finished) -> str:
    """Show two results side by side, with the curves of both in each plot."""
    assert isinstance(first.result, ModelResult)
    assert isinstance(second.result, ModelResult)
    plots = list(overlaid_plots(plots_of(first.result), plots_of(second.result)))
    sides = [
        result_values(side) | {"letter": letter}
        for side, letter in zip((first, second), LETTERS, strict=True)
    ]
    table = coefficients_table(first.result, second.result)
    return rendered("side_by_side.html", sides=sides, plots=_drawn(plots), table=table)


def _drawn(plots: Sequence[Plot]) -> list[dict[str, Any]]:
    return [plot.document() for plot in plots]


def report(finished: Finished) -> tuple[str, str]:
    """Return the page, and the content security policy that allows exactly what it contains."""
    styles = [_text("uplot/uPlot.min.css"), _text("style.css")]
    uplot, plots = _text("uplot/uPlot.iife.min.js"), bundle() + "\n" + _text("report.js")
    policy = (
        f"default-src 'none'; script-src {hash_of(uplot)} {hash_of(plots)}; "
        f"style-src {' '.join(map(hash_of, styles))}; "
        "img-src data: blob:; base-uri 'none'; form-action 'none'"
    )
    parts = {"styles": styles, "uplot": uplot, "script": plots, "policy": policy}
    return rendered("report.html", **result_values(finished), **parts), policy


def _text(name: str) -> str:
    return assets()[name].body.decode()


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
        title, up = f"Histogram of {units.label(name)}", Axis("number of samples")
        yield Plot(f"histogram-{name}", title, across, up, layers.made, summary)

    positions = _positions(report)
    if positions is not None and preview.stretches[0].first:
        yield _paths(preview, units, positions)


def _positions(report: DatasetReport) -> tuple[str, str] | None:
    """Return the two variables that are positions along x and y; None where there are none."""
    axes = {axis_of(v.column): v for v in reversed(report.variables) if v.column}
    x, y = axes.get(0), axes.get(1)
    return None if x is None or y is None or x.unit != y.unit else (x.name, y.name)


def _paths(preview: DatasetPreview, units: Units, positions: tuple[str, str]) -> Plot:
    """Draw the tracks in the plane, with the same length of either axis."""
    layers, (across, up) = Layers(), positions
    label, styles = _styles(preview)
    for stretch in preview.stretches:
        x, y = np.array(stretch.first[across]), np.array(stretch.first[up])
        layers.course(label(stretch), x, y, styles[stretch.trajectory])
    ends = [
        np.concatenate([(min(s.low[name]), max(s.high[name])) for s in preview.stretches])
        for name in positions
    ]
    middles = [(end.max() + end.min()) / 2 for end in ends]
    half = 0.53 * max(float(np.ptp(end)) for end in ends) or 1.0
    x_axis, y_axis = (
        Axis(units.label(name), units.of_variable(name), (middle - half, middle + half))
        for name, middle in zip(positions, middles, strict=True)
    )
    title = f"{units.label(up)} against {units.label(across)}"
    note = "The first sample of each time bin is shown."
    count_of = len(styles)
    summary = f"Paths of {count_of} trajectories in the plane." if count_of > 1 else "The path."
    return Plot("paths", title, x_axis, y_axis, layers.made, summary, note, square=True)


def _styles(preview: DatasetPreview) -> tuple[Callable[[Stretch], str], dict[int, Style]]:
    """Return the words for a segment's trajectory, and the style of each trajectory.

    More than COLOURS segments share one colour, and the one word for it.
    """
    trajectories = list(dict.fromkeys(s.trajectory for s in preview.stretches))
    if len(trajectories) == 1:
        return lambda _: "time series", {trajectories[0]: "model"}
    if len(preview.stretches) > COLOURS:
        return lambda _: "trajectories", dict.fromkeys(trajectories, "model")
    styles = dict(zip(trajectories, SERIES, strict=False))
    return lambda stretch: f"trajectory {stretch.trajectory + 1}", styles


def _course(dataset: Dataset, preview: DatasetPreview, units: Units, name: str) -> Plot:
    layers, (label, styles) = Layers(), _styles(preview)
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
        layers.course(label(stretch), across, up, styles[stretch.trajectory])
    shown, total = len(preview.stretches), preview.n_segments
    notes = []
    if shown < total:
        notes.append(f"The {shown} longest of {count(total)} segments are shown.")
    if shortened:
        notes.append("Downsampled for display: minimum and maximum of each time bin.")
    low_end, high_end = dataset.report.range[[v.name for v in dataset.report.variables].index(name)]
    title, note = f"{units.label(name)} against time", " ".join(notes)
    summary = f"{title}, ranging from {exact(low_end)} to {exact(high_end)}."
    x, y = Axis("time", units.time), Axis(units.label(name), units.of_variable(name))
    return Plot(f"course-{name}", title, x, y, layers.made, summary, note, wide=True)


def overlaid_plots(first: Sequence[Plot], second: Sequence[Plot]) -> Iterator[Plot]:
    """Draw every plot that both results have, with the model's curves of both.

    Maps cannot be drawn over each other and are shown side by side.
    """
    others = {plot.name: plot for plot in second}
    for plot in first:
        other = others.get(plot.name)
        if other is None or plot.name in OF_ONE:
            continue
        if plot.square:
            for one, letter in zip((plot, other), LETTERS, strict=True):
                yield replace(
                    one, name=f"{one.name}-{letter.lower()}", title=f"{letter}: {one.title}"
                )
            continue
        layers = (*_curves(plot, LETTERS[0], STYLES[0]), *_curves(other, LETTERS[1], STYLES[1]))
        if layers:
            rules = tuple(
                layer for layer in plot.layers if layer["kind"] == "rule" and layer["y"] is not None
            )
            yield replace(
                plot,
                x=_joined(plot.x, other.x),
                y=_joined(plot.y, other.y),
                layers=rules + layers,
                summary=f"{plot.title}: both models.",
                note="",
            )


def _curves(plot: Plot, name: str, style: Style) -> Iterator[Layer]:
    several = len({layer["style"] for layer in plot.layers if layer["kind"] == "line"}) > 1
    for layer in plot.layers:
        if layer["kind"] == "band" and layer["style"] == "model":
            yield {**layer, "name": f"{name}: {layer['name']}", "style": style}
        elif layer["kind"] == "line" and not layer["dashed"]:
            label = f"{name}: {layer['name']}" if several else name
            yield {**layer, "name": label, "style": style}


def _joined(one: Axis, other: Axis) -> Axis:
    if one.range is None or other.range is None:
        return replace(one, range=None)
    return replace(
        one, range=(min(one.range[0], other.range[0]), max(one.range[1], other.range[1]))
    )


def coefficients_table(first: ModelResult, second: ModelResult) -> Table:
    """Tabulate the coefficients of two models side by side, and their difference over its error."""
    rows: list[tuple[str | Markup, ...]] = []
    one, other = _by_term(first), _by_term(second)
    for of, name in dict.fromkeys((*one, *other)):
        a, b = one.get((of, name)), other.get((of, name))
        apart = "–"
        if a is not None and b is not None and a.std_error and b.std_error:
            apart = plain(abs(a.value - b.value) / math.hypot(a.std_error, b.std_error), 2)
        both = ("–" if t is None else with_error(t.value, t.std_error) for t in (a, b))
        rows.append((of, mathml.term(name), *both, apart))
    headings = ("of", "term", "A", "B", "difference / error")
    return Table("both", "Coefficients", headings, tuple(rows))


def _by_term(result: ModelResult) -> dict[tuple[str, str], Term]:
    found = {}
    for name, component in components_of(result.model):
        found.update({(name, t.term): t for t in component.terms if t.active})
    return found
