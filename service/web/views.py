"""Documents → pieces of HTML: a dataset, a result, two results side by side. The page shows them, the report holds one."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from contract.datasets import Dataset, DatasetPreview
from contract.jobs import JobRecord
from contract.results import DataSummary, GeneratorResult, IdentificationResult
from contract.rolling import RollingResult
from contract.sweep import SweepResult
from service.web import headline, mathml, sentences
from service.web.forms import job_fields
from service.web.numbers import count, exact, plain
from service.web.plots.checks import check_plots
from service.web.plots.comparison import LETTERS, together
from service.web.plots.data import data_plots
from service.web.plots.dynamics import law_plots
from service.web.plots.model import Result, model_plots
from service.web.plots.plane import plane_plots
from service.web.plots.plot import Plot
from service.web.plots.rolling import rolling_plots
from service.web.several_models import both, sets_of_parameters
from service.web.site import rendered
from service.web.tables import tables


@dataclass(frozen=True, slots=True)
class Finished:
    """A job that succeeded, and what came of it."""

    record: JobRecord
    result: Result | RollingResult | SweepResult


def dataset_view(dataset: Dataset, preview: DatasetPreview) -> str:
    """What was read, in words and plots, and the form of the job that comes next."""
    plots = list(data_plots(dataset, preview, sentences.units_of_dataset(dataset)))
    basic, groups = job_fields([v.name for v in dataset.report.variables])
    read = rendered("dataset.html", dataset=dataset, sentences=list(sentences.what_was_read(dataset)), plots=_drawn(plots))
    return read + rendered("form.html", basic=basic, groups=groups, name=dataset.label or "")


def result_view(finished: Finished) -> str:
    """The answer, its plots and its tables."""
    values = result_values(finished)
    return rendered(values["template"], **values)


def result_values(finished: Finished) -> dict[str, Any]:
    """What the template of a result asks for, and which that is."""
    record, result = finished.record, finished.result
    if isinstance(result, RollingResult):
        return _rolling_values(record, result)
    if isinstance(result, SweepResult):
        return _sweep_values(record, result)
    units = sentences.units_of_result(result)
    plots = plots_of(result)
    return {
        "template": "result.html",
        "record": record,
        "title": title_of(record),
        "subtitle": subtitle_of(result),
        "general": mathml.general_equation(list(result.model.drift)),
        "equations": headline.equations(result),
        "figures": list(headline.figures(result, units)),
        "columns": {name: units.columns[name] for name in result.model.drift if units.label(name) != name},
        "reason": sentences.without_law(result.generator.reason),
        "units": units,
        "generator": result.generator,
        # Why there is no law stands beside the answer already.
        "warnings": [w for w in result.warnings if w.code != "not-ergodic"],
        "plots": _drawn(plots),
        "tables": list(tables(result, units)),
        "provenance": result.provenance,
        "kind": result.kind,
    }


def _rolling_values(record: JobRecord, result: RollingResult) -> dict[str, Any]:
    units = sentences.units_of_data(result.data)
    windows = f"{count(len(result.windows))} windows"
    return {
        "template": "rolling.html",
        "record": record,
        "title": title_of(record),
        "subtitle": f"{windows} of {_of_data(result.data)}; computed in {plain(result.provenance.seconds, 2)} s",
        "verdict": sentences.trend(result),
        "figures": list(headline.trend_figures(result, units)),
        "warnings": result.warnings,
        "plots": _drawn(list(rolling_plots(result, units))),
        "provenance": result.provenance,
        "kind": result.kind,
    }


def _sweep_values(record: JobRecord, result: SweepResult) -> dict[str, Any]:
    passes = f"{count(result.passes_taken)} passes over the data, {count(result.passes_shared)} saved"
    return {
        "template": "sweep.html",
        "record": record,
        "title": title_of(record),
        "subtitle": f"{_of_data(result.data)}; {passes}; computed in {plain(result.provenance.seconds, 2)} s",
        "table": sets_of_parameters(result),
        "plots": [],
        "provenance": result.provenance,
        "kind": result.kind,
    }


def comparison_view(first: Finished, second: Finished) -> str:
    """Both answers side by side, and the curves of both in one plot each."""
    assert isinstance(first.result, IdentificationResult | GeneratorResult)
    assert isinstance(second.result, IdentificationResult | GeneratorResult)
    plots = list(together(plots_of(first.result), plots_of(second.result)))
    sides = [result_values(side) | {"letter": letter} for side, letter in zip((first, second), LETTERS, strict=True)]
    return rendered("comparison.html", sides=sides, plots=_drawn(plots), table=both(first.result, second.result))


def plots_of(result: Result) -> list[Plot]:
    """Every plot of a result, what matters most first."""
    units, variables = sentences.units_of_result(result), list(result.model.drift)
    plots: list[Plot] = []
    if len(variables) == 1:
        plots += model_plots(result, units)
    else:
        plots += plane_plots(result, units, variables)
    plots += law_plots(result, units)
    if isinstance(result, IdentificationResult):
        plots += check_plots(result, units)
    return plots


def title_of(record: JobRecord) -> str:
    """The name that was given to the job, or its id."""
    return record.labels.get("name") or record.id


def subtitle_of(result: Result) -> str:
    """What it was computed from."""
    seconds = f"computed in {plain(result.provenance.seconds, 2)} s"
    if isinstance(result, GeneratorResult):
        return f"A model given by its terms; {seconds}"
    return f"{_of_data(result.data)}; {seconds}"


def _of_data(data: DataSummary) -> str:
    time = f" {data.time_unit}" if data.time_unit else ""
    tracks = "one trajectory" if data.n_trajectories == 1 else f"{count(data.n_trajectories)} trajectories"
    return f"{count(data.n_increments)} increments in {tracks}, Δt = {exact(data.dt)}{time}, {exact(data.duration)}{time} in all"


def _drawn(plots: Sequence[Plot]) -> list[dict[str, Any]]:
    return [plot.document() for plot in plots]
