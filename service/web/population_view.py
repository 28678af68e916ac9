"""The view of a population: means and differences, a forest plot, and a table of the records."""

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
from markupsafe import Markup
from numpy.typing import NDArray

from contract.population import PopulationNumber, PopulationResult
from contract.results import Estimate
from service.web import mathml, sentences
from service.web.numbers import Units, count, exact, percent, plain, with_error, with_interval
from service.web.plots.plot import Axis, Layers, Plot, PlotGroup, numbers
from service.web.result_view import Figure, ResultView, data_in_words
from service.web.tables import Table

Floats = NDArray[np.float64]

SIGNIFICANT = 0.05
"""A difference between records is told where its probability by chance is smaller."""

MOST_ROWS = 20
"""Records in the table, besides those that stand apart; the document has all of them."""

HALF = MOST_ROWS // 2

MOST_DRAWN = 100
"""Records in a forest plot, besides those that stand apart."""


@dataclass(frozen=True, slots=True)
class _Number:
    """A number with the component it belongs to, and its unit."""

    component: str
    of: PopulationNumber
    unit: str | None

    @property
    def name(self) -> str:
        """Name of the number, with its component."""
        return f"{self.component}: {self.of.term}" if self.component else self.of.term


def population_view(result: PopulationResult) -> ResultView:
    """Show the distributions over the records."""
    units = sentences.units_of_data(result.data)
    found = list(_numbers(result, units))
    return ResultView(
        subtitle=f"{count(len(result.records))} records: {data_in_words(result.data)}",
        sentence=_sentence(result, found),
        figures=list(_figures(result, units)),
        warnings=result.warnings,
        groups=[PlotGroup("records", "Record by record", [_forest(n, result) for n in found])],
        tables=[_distributions(found), _records(result, found)],
    )


def _numbers(result: PopulationResult, units: Units) -> Iterator[_Number]:
    """Yield the relaxation rate first, then every coefficient."""
    if result.relaxation_rate is not None:
        yield _Number("", result.relaxation_rate, units.rate())
    for what, components in (("drift", result.drift), ("diffusion", result.diffusion)):
        for key, terms in components.items():
            for term in terms:
                yield _Number(f"{what} {key}", term, None)


def _sentence(result: PopulationResult, found: list[_Number]) -> str:
    """Write which numbers differ between records, and how many records stand apart."""
    differ = [n.name for n in found if n.of.p_value < SIGNIFICANT]
    same = [n.name for n in found if not n.of.p_value < SIGNIFICANT]
    said = []
    if differ:
        said.append(f"Records differ in {_listed(differ)}")
    if same:
        said.append(f"{'no' if differ else 'No'} difference is found in {_listed(same)}")
    apart = len({each.number for each in result.apart})
    stand = f" {count(apart)} {'record stands' if apart == 1 else 'records stand'} apart."
    return f"{'; '.join(said)}.{stand if apart else ''}"


def _listed(names: list[str]) -> str:
    return names[0] if len(names) == 1 else f"{', '.join(names[:-1])} and {names[-1]}"


def _figures(result: PopulationResult, units: Units) -> Iterator[Figure]:
    rate, time, variation = (
        result.relaxation_rate,
        result.relaxation_time,
        result.variation_of_rate,
    )
    if rate is not None:
        yield Figure.of("Mean relaxation rate", rate.mean.value, rate.mean.ci, units.rate())
        yield Figure.of("Relaxation time at this rate", time.value, time.ci, units.time)
        label = "Standard deviation of the rate over its mean"
        yield Figure.of(label, variation.value, variation.ci, None)
    yield Figure("Records", count(len(result.records)))


def _told(estimate: Estimate) -> str:
    value, around = with_interval(estimate.value, estimate.ci)
    return f"{value} ({around})" if around else value


def _distributions(found: list[_Number]) -> Table:
    """Tabulate mean, standard deviation and heterogeneity of each number."""
    rows: list[tuple[str | Markup, ...]] = []
    for number in found:
        of = number.of
        test = of.heterogeneity
        rows.append(
            (
                number.component or "drift",
                mathml.term(of.term) if number.component else of.term,
                *map(_told, (of.pooled, of.mean, of.standard_deviation)),
                "–" if test.share is None else percent(test.share),
                plain(of.p_value, 2),
            )
        )
    headings = (
        "component",
        "term",
        "all records as one process",
        "mean over the records",
        "standard deviation between records",
        "I²",
        "p of no difference",
    )
    return Table("distributions", "Over the records", headings, tuple(rows))


def _records(result: PopulationResult, found: list[_Number]) -> Table:
    """Tabulate records: those that stand apart, and the ends in the order of the first number."""
    order = _order(found[0].of) if found else np.arange(0)
    ends = order if len(order) <= MOST_ROWS else np.r_[order[:HALF], order[-HALF:]]
    apart = [each.number for each in result.apart]
    shown = list(dict.fromkeys([*apart, *ends.tolist()]))
    lengths = numbers(result.increments)
    values = [(numbers(n.of.shrunken), numbers(n.of.shrunken_std_errors)) for n in found]
    rows = [
        (
            result.records[i] + (" (apart)" if i in apart else ""),
            count(int(lengths[i])),
            *(with_error(float(value[i]), float(error[i])) for value, error in values),
        )
        for i in shown
    ]
    headings = ("record", "increments", *(f"{n.name} ± standard error" for n in found))
    left = len(result.records) - len(rows)
    note = ""
    if left > 0:
        note = (
            f"The {HALF} with the smallest and the {HALF} with the largest {found[0].name}; "
            f"{count(left)} further records are in the JSON document."
        )
    return Table("records", "Records, given the population", headings, tuple(rows), note)


def _order(of: PopulationNumber) -> NDArray[np.int_]:
    return np.argsort(numbers(of.shrunken), kind="stable")


def _forest(number: _Number, result: PopulationResult) -> Plot:
    """Draw the records in the order of their estimates, over the interval of the mean."""
    of, layers = number.of, Layers()
    order = _order(of)
    if len(order) > MOST_DRAWN:
        drawn = np.linspace(0, len(order) - 1, MOST_DRAWN).round().astype(np.int64)
        apart = np.flatnonzero(np.isin(order, [each.number for each in result.apart]))
        order = order[np.union1d(drawn, apart)]
    rank = np.arange(1, len(order) + 1, dtype=np.float64)
    ends = [float(rank[0]), float(rank[-1])]
    if of.mean.ci is not None and None not in of.mean.ci:
        low, high = of.mean.ci
        layers.band("confidence interval of the mean", ends, [low, low], [high, high])
    layers.line("mean", ends, [of.mean.value, of.mean.value])
    own, errors = numbers(of.estimates)[order], numbers(of.std_errors)[order]
    layers.dots("alone (± 1 standard error)", rank, own, errors, "data")
    shrunken, widths = numbers(of.shrunken)[order], numbers(of.shrunken_std_errors)[order]
    layers.dots("given the population (± 1 standard error)", rank, shrunken, widths, "second")
    total = len(numbers(of.shrunken))
    said = (
        f"{number.name} of {count(len(order))} of {count(total)} records in ascending order; mean "
        f"{exact(of.mean.value)}, standard deviation between records "
        f"{exact(of.standard_deviation.value)}."
    )
    slug = "".join(c if c.isalnum() else "_" for c in number.name)
    across = Axis("record, in the order of the estimates")
    up = Axis(number.name, number.unit)
    return Plot(f"forest-{slug}", number.name, across, up, layers.made, said, wide=True)
