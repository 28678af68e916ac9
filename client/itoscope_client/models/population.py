"""The distributions of coefficients over the records of a population."""

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from itoscope_client.errors import needed
from itoscope_client.models.estimates import Estimate, array_of, estimate_of
from itoscope_client.models.numbers import exact
from itoscope_client.models.spelling import in_symbols, renamed

Floats = NDArray[np.float64]
RATE = "relaxation rate"


class PopulationNumber:
    """One number over the records: its mean, standard deviation, and estimate of each record.

    name       component and term: `drift x: x`
    document   its part of the result document
    """

    def __init__(self, name: str, document: Mapping[str, Any]) -> None:
        self.name, self.document = name, document

    def __repr__(self) -> str:
        return f"<{self.name}: mean {self.mean}, standard deviation {self.standard_deviation}>"

    @property
    def pooled(self) -> Estimate:
        """Coefficient of one model of all records together, with its confidence interval."""
        return estimate_of(self.document["pooled"])

    @property
    def mean(self) -> Estimate:
        """Mean over the population, with its confidence interval."""
        return estimate_of(self.document["mean"])

    @property
    def standard_deviation(self) -> Estimate:
        """Standard deviation between records, with its confidence interval."""
        return estimate_of(self.document["standard_deviation"])

    @property
    def p_value(self) -> float:
        """Probability of so much difference if the number is the same in all records."""
        return float(self.document["p_value"])

    @property
    def share(self) -> float | None:
        """I²: share of the variance of a typical record's estimate that is due to differences."""
        found: float | None = self.document["heterogeneity"]["share"]
        return found

    @property
    def estimates(self) -> Floats:
        """Estimate from each record alone, (n,); NaN where it is too short."""
        return array_of(self.document["estimates"])

    @property
    def std_errors(self) -> Floats:
        """Standard errors of `estimates`, (n,)."""
        return array_of(self.document["std_errors"])

    @property
    def shrunken(self) -> Floats:
        """Estimate of each record given the population, (n,)."""
        return array_of(self.document["shrunken"])

    @property
    def shrunken_std_errors(self) -> Floats:
        """Standard errors of `shrunken`, (n,)."""
        return array_of(self.document["shrunken_std_errors"])


class Population:
    """The distributions of all coefficients over the records.

    document   the service's result document, with what has no property here
    """

    def __init__(self, document: Mapping[str, Any]) -> None:
        self.document = document
        described = (document.get("data") or {}).get("variables") or ()
        self._symbols = {v["name"]: v["symbol"] for v in described if v.get("symbol")}
        found = in_symbols(document)
        self._numbers: dict[str, PopulationNumber] = {}
        if found.get("relaxation_rate") is not None:
            self._numbers[RATE] = PopulationNumber(RATE, found["relaxation_rate"])
        for what in ("drift", "diffusion"):
            for key, terms in found[what].items():
                for term in terms:
                    name = f"{what} {key}: {term['term']}"
                    self._numbers[name] = PopulationNumber(name, term)

    def __repr__(self) -> str:
        lines = "".join(f"\n  {number!r}" for number in self.numbers)
        return f"<Population of {len(self.records)} records{lines}\n>"

    def __len__(self) -> int:
        return len(self.records)

    @property
    def job_id(self) -> str:
        """Identifier of the job that found the distributions."""
        return str(self.document["job"])

    @property
    def records(self) -> tuple[str, ...]:
        """Names of the records, or their numbers from 1."""
        return tuple(self.document["records"])

    @property
    def increments(self) -> Floats:
        """Number of increments of each record, (n,)."""
        return array_of(self.document["increments"])

    @property
    def numbers(self) -> tuple[PopulationNumber, ...]:
        """All numbers: the relaxation rate, where there is one, and every coefficient."""
        return tuple(self._numbers.values())

    @property
    def relaxation_rate(self) -> PopulationNumber | None:
        """Relaxation rate over the records; None where the drift is not linear [1/time]."""
        return self._numbers.get(RATE)

    @property
    def relaxation_time(self) -> Estimate:
        """Relaxation time at the mean rate, with its confidence interval [time]."""
        return estimate_of(self.document["relaxation_time"])

    def coefficient(
        self, term: str, of: str = "drift", component: str | None = None
    ) -> PopulationNumber:
        """Return the coefficient of a term in drift or diffusion.

        component   variable `x` or pair `x,y`; the first one if it is left out

        Raises LookupError for an unknown term.
        """
        name = renamed(term, self._symbols)
        for key, number in self._numbers.items():
            what, _, rest = key.partition(" ")
            where, _, found = rest.partition(": ")
            if what == of and found == name and component in (None, where):
                return number
        known = ", ".join(self._numbers)
        raise LookupError(f"there is no coefficient of {term!r} in the {of}; there are {known}")

    @property
    def apart(self) -> tuple[Mapping[str, Any], ...]:
        """Records that stand apart, each with `record`, `component`, `term` and `p_value`."""
        return tuple(self.document["apart"])

    @property
    def warnings(self) -> tuple[Mapping[str, Any], ...]:
        """Warnings, each with `code`, `message` and `details`."""
        return tuple(self.document.get("warnings", ()))

    def table(self) -> Any:
        """Return every record as a row of a pandas DataFrame. Raises MissingDependency."""
        pandas = needed("pandas", "table()")
        apart = {each["number"] for each in self.apart}
        columns: dict[str, Any] = {
            "increments": self.increments,
            "apart": [n in apart for n in range(len(self))],
        }
        for number in self.numbers:
            columns[f"{number.name} alone"] = number.estimates
            columns[f"{number.name} alone std_error"] = number.std_errors
            columns[number.name] = number.shrunken
            columns[f"{number.name} std_error"] = number.shrunken_std_errors
        return pandas.DataFrame(columns, index=pandas.Index(self.records, name="record"))

    to_frame = table

    def plot(self, number: PopulationNumber | None = None, *, ax: Any = None) -> Any:
        """Draw a forest plot of one number with matplotlib, and return its figure.

        number   the number; by default the relaxation rate or the first coefficient
        ax       matplotlib's axes to draw on; None: a new figure

        Raises MissingDependency.
        """
        number = self.numbers[0] if number is None else number
        axes = ax
        if axes is None:
            plt = needed("matplotlib.pyplot", "plot()", extra="plot")
            axes = plt.subplots(figsize=(5, 6), layout="constrained")[1]
        order = np.argsort(number.shrunken, kind="stable")
        rank = np.arange(len(order))
        alone, given = number.estimates[order], number.shrunken[order]
        axes.errorbar(
            alone, rank, xerr=number.std_errors[order], fmt=".", color="0.7", label="alone"
        )
        axes.errorbar(
            given, rank, xerr=number.shrunken_std_errors[order], fmt=".", label="given the others"
        )
        if number.mean.ci is not None and None not in number.mean.ci:
            axes.axvspan(*number.mean.ci, alpha=0.2, label="mean")
        if len(order) <= 60:
            axes.set_yticks(rank, [self.records[i] for i in order])
        axes.set_xlabel(number.name)
        axes.legend()
        return axes.figure


def rows_of(population: Population) -> list[tuple[str, ...]]:
    """Write mean, standard deviation and heterogeneity of every number as rows of text."""
    rows: list[tuple[str, ...]] = [
        (
            "number",
            "all as one",
            "interval",
            "mean",
            "interval",
            "standard deviation",
            "interval",
            "I²",
            "p",
        )
    ]
    for number in population.numbers:
        share = "–" if number.share is None else f"{100 * number.share:.0f} %"
        p = exact(number.p_value, 2)
        estimates = (number.pooled, number.mean, number.standard_deviation)
        texts = [text for estimate in estimates for text in estimate.texts]
        rows.append((number.name, *texts, share, p))
    return rows


def in_words(population: Population) -> str:
    """Write how many records there are, and which stand apart."""
    apart: Sequence[str] = list(dict.fromkeys(each["record"] for each in population.apart))
    said = f"{len(population)} records"
    return f"{said}; apart: {', '.join(apart)}" if apart else said
