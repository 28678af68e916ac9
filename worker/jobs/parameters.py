"""Parameters of a document as the core takes them."""

from collections.abc import Mapping
from typing import Any

import numpy as np

from contract import generator
from contract.base import Interval
from contract.identification import IdentificationParameters
from grammar.terms import variable_name
from worker.generator.quantities.regions import Place, Region
from worker.identification.selection.criteria import Criterion


def bounds_of(domain: Mapping[str, Interval], variable: str = "x") -> tuple[float, float]:
    """Bounds of a variable, infinite where open."""
    low, high = domain.get(variable, (None, None))
    return (-np.inf if low is None else low, np.inf if high is None else high)


def period_of(periodic: Mapping[str, float], variable: str = "x") -> float | None:
    """Period of a variable, or None."""
    return periodic.get(variable)


def place_of(place: generator.Place, dimension: int) -> Place:
    """A number, a point, or the region whose intervals are given by variable."""
    if not isinstance(place, dict):
        return place
    variables = [variable_name(i) for i in range(dimension)]
    return Region(
        tuple(bounds_of(place, v) for v in variables),
        tuple(name for name in place if name not in variables),
    )


def criterion_of(parameters: IdentificationParameters) -> Criterion:
    """How terms are chosen."""
    return Criterion(parameters.selection.method, parameters.selection.z_threshold)


def library_options(parameters: IdentificationParameters) -> dict[str, Any]:
    """Which terms there are."""
    return {
        "polynomial_degree": parameters.library.polynomial_degree,
        "fourier_harmonics": parameters.library.fourier_harmonics,
        "extra_terms": parameters.library.extra_terms,
    }
