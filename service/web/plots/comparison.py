"""Comparison of two results: the curves of both in one plot, their coefficients in one table."""

import math
from collections.abc import Iterator, Sequence
from dataclasses import replace

from markupsafe import Markup

from contract.results import ModelResult, Term
from service.web import mathml
from service.web.numbers import plain, with_error
from service.web.plots.plot import Axis, Layer, Plot, Style
from service.web.tables import Table

STYLES: tuple[Style, Style] = ("series1", "series2")
LETTERS = ("A", "B")
"""Names of the two results in plots and tables; the names of jobs may be long."""
OF_ONE = ("eigenfunctions", "selection", "residuals", "chapman-kolmogorov")
"""Plots that mean nothing when two are drawn over each other."""


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
        rows.append(
            (
                of,
                mathml.term(name),
                *("–" if t is None else with_error(t.value, t.std_error) for t in (a, b)),
                apart,
            )
        )
    return Table(
        "both", "Coefficients", ("of", "term", "A", "B", "difference / error"), tuple(rows)
    )


def _by_term(result: ModelResult) -> dict[tuple[str, str], Term]:
    found = {}
    for kind, components in (("drift", result.model.drift), ("diffusion", result.model.diffusion)):
        for key, component in components.items():
            found.update({(f"{kind} {key}", t.term): t for t in component.terms if t.active})
    return found
