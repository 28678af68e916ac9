"""The view of a comparison: what differs in words, ratios as a plot, tables, the groups' models."""

from collections.abc import Iterator, Sequence

from markupsafe import Markup

from contract.comparison import (
    ComparedQuantity,
    ComparedTerm,
    ComparisonResult,
    GroupEstimate,
)
from contract.results import Notice
from service.web import mathml
from service.web.numbers import count, exact, percent, plain, with_interval
from service.web.plots.plot import SERIES, Axis, Layers, Plot, PlotGroup
from service.web.result_view import Figure, ResultView, data_in_words
from service.web.tables import Table

SPREAD = 0.8
"""Share of the distance between two rows of the plot over which the groups are spread."""

MARGIN = 0.05
"""Share of the ratios' range that is left free on both sides of them."""


def comparison_view(result: ComparisonResult) -> ResultView:
    """Show what differs between groups."""
    names = ", ".join(group.group for group in result.groups)
    return ResultView(
        subtitle=f"{names}: {data_in_words(result.data)}",
        sentence=" ".join(result.summary),
        figures=list(_figures(result)),
        warnings=(*result.warnings, *_of_groups(result)),
        groups=[PlotGroup("ratios", "Ratios", list(_plots(result)))],
        tables=[
            _tests(result),
            _coefficients(result),
            *_quantities(result),
            _models(result),
        ],
    )


def _of_groups(result: ComparisonResult) -> Iterator[Notice]:
    for group in result.groups:
        for warning in group.warnings:
            message = f"Group {group.group}: {warning.message}"
            yield warning.model_copy(update={"message": message})


def _figures(result: ComparisonResult) -> Iterator[Figure]:
    for name, component in result.components.items():
        if component.degrees:
            note = "differs" if component.differs else "does not differ"
            yield Figure(f"{name[:1].upper()}{name[1:]}", _p(component.p_value), note=note)
    for quantity in result.quantities:
        if quantity.contrast == "ratio":
            for contrast in quantity.contrasts:
                label = f"{quantity.name[:1].upper()}{quantity.name[1:]}, ratio"
                note = f"{contrast.group} to {quantity.values[0].group}"
                yield Figure.of(label, contrast.value, contrast.ci, None, note)


def _p(value: float) -> str:
    return f"p = {plain(value, 2)}" if value > 0 else "p < 10⁻³⁰⁰"


def _plots(result: ComparisonResult) -> Iterator[Plot]:
    """Draw the ratio of every coefficient and time of each group to the reference."""
    rows = [
        *((f"{name}, {t.term}", t.ratios) for name, t in _terms(result)),
        *((q.name, q.contrasts) for q in result.quantities if q.contrast == "ratio"),
    ]
    rows = [(name, ratios) for name, ratios in rows if any(r.value is not None for r in ratios)]
    if not rows:
        return
    further = [group.group for group in result.groups][1:]
    ends = [
        e for _, ratios in rows for r in ratios for e in (*(r.ci or ()), r.value) if e is not None
    ]
    low, high = min(1.0, *ends), max(1.0, *ends)
    log = low > 0 and high > 5 * low
    margin = (high / low) ** MARGIN if log else MARGIN * (high - low)
    reach = (low / margin, high * margin) if log else (low - margin, high + margin)
    layers = Layers(log=log)
    layers.rule(x=1.0)
    level, spread = percent(result.confidence), SPREAD / max(4, len(further))
    rows.reverse()  # The first row is the highest.
    for number, group in enumerate(further):
        shift = spread * ((len(further) - 1) / 2 - number)
        x: list[float] = []
        y: list[float | None] = []
        places: list[float] = []
        values: list[float | None] = []
        for row, (_, ratios) in enumerate(rows):
            found = next((r for r in ratios if r.group == group and r.value is not None), None)
            if found is None:
                continue
            if found.ci is not None:
                x += [*(end for end in found.ci if end is not None), 0.0]
                y += [*(row + shift for end in found.ci if end is not None), None]
            places.append(row + shift)
            values.append(found.value)
        style = SERIES[number % len(SERIES)]
        layers.line(f"{group}, {level} confidence interval", x, y, style)
        layers.dots(group, values, places, None, style)
    across = Axis(f"ratio to {result.reference}", log=log, range=reach)
    up = Axis("quantity", ticks=tuple(name for name, _ in rows), range=(-0.5, len(rows) - 0.5))
    said = f"Ratio of each coefficient and time to that in {result.reference}; 1 if equal."
    title = f"Ratios to {result.reference}"
    yield Plot("ratios", title, across, up, layers.made, said, wide=True)


def _terms(result: ComparisonResult) -> Iterator[tuple[str, ComparedTerm]]:
    for name, component in result.components.items():
        for term in component.terms:
            yield name, term


def _tests(result: ComparisonResult) -> Table:
    rows = []
    for name, component in result.components.items():
        permuted = component.permuted_p_value
        rows.append(
            (
                name,
                "yes" if component.differs else "no",
                _p(component.p_value),
                _p(component.adjusted_p_value),
                f"χ² = {plain(component.statistic, 3)}, {component.degrees} "
                f"{'degree' if component.degrees == 1 else 'degrees'} of freedom",
                "–" if permuted is None else _p(permuted),
            )
        )
    n = result.permutations.n_permutations
    note = result.permutations.reason or f"{count(n)} permutations of the groups' labels."
    headings = (
        "component", "differs", "p-value", "adjusted", "test", "p-value by permuted labels",
    )  # fmt: skip
    return Table("tests", "What differs", headings, tuple(rows), note)


def _coefficients(result: ComparisonResult) -> Table:
    rows: list[tuple[str | Markup, ...]] = []
    for name, term in _terms(result):
        for position, difference in enumerate(term.differences):
            rows.append(
                (
                    name,
                    mathml.term(term.term),
                    *_pair(term, difference.group),
                    *_cells(term.ratios[position]),
                    *_cells(difference),
                    _p(term.p_value),
                    _p(term.adjusted_p_value),
                    "one for all" if term.shared else "each its own",
                )
            )
    headings = (
        "component", "term", f"in {result.reference}", "in group", "group", "ratio",
        "confidence interval", "difference", "confidence interval", "p-value", "adjusted",
        "by the criterion",
    )  # fmt: skip
    return Table("coefficients", "Coefficients", headings, tuple(rows))


def _quantities(result: ComparisonResult) -> Iterator[Table]:
    if not result.quantities:
        return
    rows = [
        (
            quantity.name,
            *_pair(quantity, contrast.group),
            quantity.contrast,
            *_cells(contrast),
            _p(quantity.p_value),
            _p(quantity.adjusted_p_value),
        )
        for quantity in result.quantities
        for contrast in quantity.contrasts
    ]
    headings = (
        "quantity", f"in {result.reference}", "in group", "group", "compared by", "value",
        "confidence interval", "p-value", "adjusted",
    )  # fmt: skip
    yield Table("quantities", "Derived quantities", headings, tuple(rows))


def _pair(of: ComparedTerm | ComparedQuantity, group: str) -> tuple[str, str, str]:
    """Write the value of the reference, that of a group, and the group's name."""
    first, other = of.values[0], next(v for v in of.values if v.group == group)
    return (*(with_interval(v.value, v.ci)[0] for v in (first, other)), group)  # type: ignore[return-value]


def _cells(estimate: GroupEstimate) -> tuple[str, str]:
    text, interval = with_interval(estimate.value, estimate.ci)
    return text, interval or "–"


def _models(result: ComparisonResult) -> Table:
    rows = []
    for group in result.groups:
        drift, diffusion = (
            "; ".join(
                f"{name}: {component.expression}" if len(of) > 1 else component.expression
                for name, component in of.items()
            )
            for of in (group.model.drift, group.model.diffusion)
        )
        data = group.data
        unit = f" {data.time_unit}" if data.time_unit else ""
        rows.append(
            (
                group.group,
                drift,
                diffusion,
                count(data.n_trajectories),
                count(data.n_increments),
                f"{exact(data.dt)}{unit}",
                ", ".join(sorted({warning.code for warning in group.warnings})) or "none",
            )
        )
    headings: Sequence[str] = (
        "group", "drift", "diffusion", "trajectories", "increments", "Δt", "warnings",
    )  # fmt: skip
    return Table("models", "Models of the groups", tuple(headings), tuple(rows))
