"""The quantity that a plan is for: its value, and its gradient in the model's coefficients."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Literal

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import brentq
from scipy.stats import ncx2, norm

from worker.generator.analysis import Analysis, GeneratorReport, analysis
from worker.generator.process import DiffusionProcess
from worker.planning.errors import NoSuchQuantity

Floats = NDArray[np.float64]

QuantityName = Literal["relaxation_time", "passage", "variance", "coefficient"]


@dataclass(frozen=True, slots=True)
class Quantity:
    """Quantity that a plan is for.

    name       what it is
    passage    start and end of a passage [state]; None: the slower way between two wells
    number     place of a coefficient among all of the model, the drift's first
    """

    name: QuantityName
    passage: tuple[float, float] | None = None
    number: int = 0


@dataclass(frozen=True, slots=True, eq=False)
class Target:
    """A quantity of a model.

    value     its value [data's units]
    gradient  (k,) of its logarithm in the k coefficients, 1 over their units
    passage   start and end of the passage; None for others
    of        value of the quantity at other coefficients near by; NaN where it has none
    """

    value: float
    gradient: Floats
    passage: tuple[float, float] | None
    of: Callable[[Floats], float]


def target_of(
    quantity: Quantity,
    coefficients: Floats,
    process_at: Callable[[Floats], DiffusionProcess],
    analysed: Analysis,
    changes: Floats,
) -> Target:
    """Find a quantity and its gradient. Raises NoSuchQuantity.

    Parameters
    ----------
    quantity : what is wanted
    coefficients : (k,) of the model
    process_at : model with other coefficients
    analysed : analysis of the model, with the passage if one is wanted
    changes : (k, k) small changes of the coefficients, in columns, along which it is differentiated
    """
    if quantity.name == "coefficient":
        value = float(coefficients[quantity.number])
        gradient = np.zeros(len(coefficients))
        gradient[quantity.number] = 1 / value
        return Target(value, gradient, None, lambda c: float(c[quantity.number]))
    if quantity.name == "passage" and quantity.passage is None:
        quantity = Quantity("passage", _slowest(analysed.report))
    value = _logarithm(analysed.report, quantity)
    near = analysed.perturbed
    if near is None or not np.isfinite(value):
        name = quantity.name.replace("_", " ")
        raise NoSuchQuantity(
            f"The model has no finite {name}: there is no error of it to plan for. Plan for a "
            "coefficient instead, or for another quantity."
        )

    def logarithm(at: Floats) -> float:
        return _logarithm(near(process_at(at)), quantity)

    along = np.array(
        [
            (logarithm(coefficients + change) - logarithm(coefficients - change)) / 2
            for change in changes.T
        ]
    )
    gradient = np.linalg.solve(changes.T, along)
    if not np.isfinite(gradient).all():
        raise NoSuchQuantity(
            f"The {quantity.name.replace('_', ' ')} ceases to exist where coefficients change by "
            "a percent: no error of it can be planned for. Plan for a coefficient instead."
        )
    return Target(
        float(np.exp(value)), gradient, quantity.passage, lambda c: float(np.exp(logarithm(c)))
    )


def needed_z(power: float, level: float) -> float:
    """Return the difference in standard errors that a Wald test finds with this power, (M85).

    Parameters
    ----------
    power : probability that the test rejects, above `level`
    level : probability that it rejects without a difference
    """
    least = norm.isf(level / 2) ** 2

    def missing(z: float) -> float:
        return float(ncx2.sf(least, 1, z**2) - power)

    return float(brentq(missing, 1e-6, 100.0))


def analysis_for(quantity: Quantity, process: DiffusionProcess) -> Analysis:
    """Analyse a model, with the passage that is wanted. Raises GeneratorError."""
    passages = () if quantity.passage is None else (quantity.passage,)
    return analysis(process, passages=passages, eigenpairs=1, lags=2, frequencies=2)


def _logarithm(report: GeneratorReport, quantity: Quantity) -> float:
    """Return the logarithm of a positive quantity; NaN where the report has none."""
    if quantity.name == "passage":
        for passage in report.passages:
            if (passage.start, passage.to) == quantity.passage:
                logarithm = passage.mean_time.log_value
                return float("nan") if logarithm is None else float(logarithm)
        return float("nan")
    if quantity.name == "relaxation_time":
        if report.spectrum is None or not len(report.spectrum.eigenvalues):
            return float("nan")
        slowest = float(report.spectrum.eigenvalues[0].real)
        return -float(np.log(slowest)) if slowest > 0 else float("nan")
    law = report.stationary
    variance = np.nan if law is None else np.array(law.covariance, dtype=np.float64)[0, 0]
    return float(np.log(variance))


def _slowest(report: GeneratorReport) -> tuple[float, float]:
    """Return start and end of the slowest passage between neighbouring wells."""
    timed = [p for p in report.passages if p.mean_time.log_value is not None]
    if not timed:
        raise NoSuchQuantity(
            "The model has no two wells between which it passes. Name start and end of the passage "
            "in target.from and target.to."
        )
    slowest = max(timed, key=lambda p: float(p.mean_time.log_value or 0.0))
    return slowest.start, slowest.to
