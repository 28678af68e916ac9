"""Views of a dataset, a result, or two results side by side, as HTML for page and report."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from contract.datasets import Dataset, DatasetPreview
from contract.records import JobRecord
from contract.results import ModelResult, Result
from service.web import sentences
from service.web.forms import job_fields
from service.web.kinds import VIEWS
from service.web.model_view import plots_of
from service.web.numbers import plain
from service.web.plots.comparison import LETTERS, coefficients_table, overlaid_plots
from service.web.plots.data import data_plots
from service.web.plots.plot import Plot
from service.web.site import assets, bundle, hash_of, rendered


@dataclass(frozen=True, slots=True)
class Finished:
    """A job that succeeded, and its result."""

    record: JobRecord
    result: Result


def dataset_view(dataset: Dataset, preview: DatasetPreview) -> str:
    """Show the content of a dataset in words and plots, and the form of the next job."""
    plots = list(data_plots(dataset, preview, sentences.units_of_dataset(dataset)))
    basic, groups = job_fields([v.name for v in dataset.report.variables])
    read = rendered(
        "dataset.html",
        dataset=dataset,
        sentences=list(sentences.report_in_words(dataset)),
        plots=_drawn(plots),
    )
    return read + rendered("form.html", basic=basic, groups=groups, name=dataset.label or "")


def result_view(finished: Finished) -> str:
    """Show a result's numbers, plots and tables."""
    values = result_values(finished)
    return rendered(values["template"], **values)


def result_values(finished: Finished) -> dict[str, Any]:
    """Return the name of a result's template, and the values that it needs."""
    record, result = finished.record, finished.result
    view = VIEWS[result.kind](result)
    return {
        "template": view.template,
        "record": record,
        "title": record.labels.get("name") or record.id,
        "subtitle": f"{view.subtitle}; computed in {plain(result.provenance.seconds, 2)} s",
        "sentence": view.sentence,
        "figures": view.figures,
        "warnings": view.warnings,
        "plots_heading": view.plots_heading,
        "plots": _drawn(view.plots),
        "tables": view.tables,
        "provenance": result.provenance,
        "kind": result.kind,
        **view.more,
    }


def comparison_view(first: Finished, second: Finished) -> str:
    """Show two results side by side, with the curves of both in each plot."""
    assert isinstance(first.result, ModelResult)
    assert isinstance(second.result, ModelResult)
    plots = list(overlaid_plots(plots_of(first.result), plots_of(second.result)))
    sides = [
        result_values(side) | {"letter": letter}
        for side, letter in zip((first, second), LETTERS, strict=True)
    ]
    return rendered(
        "comparison.html",
        sides=sides,
        plots=_drawn(plots),
        table=coefficients_table(first.result, second.result),
    )


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
    page = rendered(
        "report.html",
        **result_values(finished),
        styles=styles,
        uplot=uplot,
        script=plots,
        policy=policy,
    )
    return page, policy


def _text(name: str) -> str:
    return assets()[name].body.decode()
