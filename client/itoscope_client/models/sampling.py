"""Models drawn around an estimate, from the likely sets of terms in a result (docs/method.md §12).

The client is a distribution of its own and holds a copy of this file; a test holds both equal.
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray


class NoDraws(ValueError):
    """Error for a result whose coefficients have no distribution, in words."""


@dataclass(frozen=True, slots=True, eq=False)
class DrawnComponent:
    """Coefficients of one component in every model that was drawn.

    function       `drift` or `diffusion`
    component      variable of the drift, or pair `x,y` of the diffusion
    terms          names of its k terms: all that occur in a likely set
    coefficients   (n, k) in the units of the data; 0 where a model's set lacks the term
    """

    function: str
    component: str
    terms: tuple[str, ...]
    coefficients: NDArray[np.float64]


def drawn_components(
    document: Mapping[str, Any], count: int, seed: int
) -> tuple[DrawnComponent, ...]:
    """Draw `count` models of a result document, from the distribution that its intervals have.

    The set of terms of each component is drawn by its probability (M35), the coefficients from
    their covariance (M36). Every second model is that of the other sampling rule in all components,
    where that describes the data. What a drift has beyond its library (decision 0016) is not drawn.
    Raises NoDraws.
    """
    model = document.get("model") or {}
    if "drift" not in model:
        raise NoDraws("the result of this kind of job is not one model")
    found = [
        (function, name, part)
        for function in ("drift", "diffusion")
        for name, part in model[function].items()
    ]
    if not any(part.get("supports") for _, _, part in found):
        raise NoDraws("its coefficients have no errors, as the model was given or is the preset's")
    parameters = (document.get("provenance") or {}).get("parameters") or {}
    # An isotropic tensor is one component: its diagonal is drawn with the same random numbers.
    isotropic = parameters.get("diffusion_structure") == "isotropic"
    streams = [
        len(model["drift"]) if isotropic and function == "diffusion" else number
        for number, (function, _, _) in enumerate(found)
    ]
    return tuple(
        _component(function, name, part, count, np.random.default_rng([seed, stream]))
        for stream, (function, name, part) in zip(streams, found, strict=True)
    )


def _component(
    function: str, name: str, part: Mapping[str, Any], count: int, random: np.random.Generator
) -> DrawnComponent:
    values = {term["term"]: term["value"] for term in part["terms"]}
    supports = part.get("supports") or ()
    if not supports:
        terms = tuple(term for term, value in values.items() if value)
        row = np.array([values[term] for term in terms])
        return DrawnComponent(function, name, terms, np.tile(row, (count, 1)))
    inside = {term for support in supports for term in support["support"]}
    terms = tuple(term for term in values if term in inside)
    columns = {term: column for column, term in enumerate(terms)}
    normal = random.standard_normal((count, len(terms)))
    by_other = np.arange(count) % 2 == 1
    coefficients = np.zeros((count, len(terms)))
    for support, rows in _shares(supports, random.permutation(count)):
        own = [columns[term] for term in support["support"]]
        factor = np.reshape(support["factor"], (len(own), len(own)))
        drawn = np.array(support["values"]) + normal[rows, : len(own)] @ factor.T
        if support.get("shift") is not None:
            drawn[by_other[rows]] += support["shift"]
        coefficients[rows[:, None], own] = drawn
    return DrawnComponent(function, name, terms, coefficients)


def _shares(
    supports: Any, order: NDArray[np.int64]
) -> Iterator[tuple[Mapping[str, Any], NDArray[np.int64]]]:
    """Yield each likely set with its models: the exact share of its probability, not a random one.

    The selected set, which is the first, has what the others leave.
    """
    first = 0
    for support in supports[1:]:
        last = first + round(support["probability"] * len(order))
        yield support, order[first:last]
        first = last
    yield supports[0], order[first:]
