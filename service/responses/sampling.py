"""Models drawn around an estimate, from the likely sets of terms in a result (docs/method.md §12).

The client is a distribution of its own and holds a copy of this file; a test holds both equal.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]
Ends = tuple[float | None, float | None]
SWEEPS = 1_000
"""Largest number of turns in which bounded coefficients are moved."""


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
    coefficients: Floats


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
    isotropic = parameters.get("diffusion_structure") == "isotropic"
    groups: dict[str, int] = {}
    drawn = []
    for number, (function, name, part) in enumerate(found):
        # An isotropic tensor is one component: its diagonal is drawn with the same random numbers.
        together = part.get("joint") or ("isotropic" if isotropic and "," in name else name)
        stream = groups.setdefault(together, number)
        numbers = np.random.default_rng([seed, 0, stream])
        order = np.random.default_rng([seed, 1, number if together == "equalities" else stream])
        drawn.append(_component(function, name, part, numbers, order.permutation(count)))
    return tuple(drawn)


def _component(
    function: str,
    name: str,
    part: Mapping[str, Any],
    numbers: np.random.Generator,
    order: NDArray[np.int64],
) -> DrawnComponent:
    values = {term["term"]: term["value"] for term in part["terms"]}
    supports = part.get("supports") or ()
    if not supports:
        terms = tuple(term for term, value in values.items() if value)
        row = np.array([values[term] for term in terms])
        return DrawnComponent(function, name, terms, np.tile(row, (len(order), 1)))
    inside = {term for support in supports for term in support["support"]}
    terms = tuple(term for term in values if term in inside)
    columns = {term: column for column, term in enumerate(terms)}
    # By columns: components that share numbers may have factors of different widths.
    width = max(len(row) for support in supports for row in [*support["factor"], ()])
    normal = numbers.standard_normal((width, len(order))).T
    by_other = np.arange(len(order)) % 2 == 1
    coefficients = np.zeros((len(order), len(terms)))
    for support, rows in _shares(supports, order):
        own = [columns[term] for term in support["support"]]
        if not own:
            continue
        factor = np.array(support["factor"])
        drawn = np.array(support["values"]) + normal[rows, : factor.shape[1]] @ factor.T
        if support.get("shift") is not None:
            drawn[by_other[rows]] += support["shift"]
        if support.get("bounds") is not None:
            drawn = _within(drawn, support["bounds"], factor @ factor.T)
        coefficients[rows[:, None], own] = drawn
    return DrawnComponent(function, name, terms, coefficients)


def _within(drawn: Floats, bounds: Sequence[Ends], covariance: Floats) -> Floats:
    """Move coefficients (n, k) to the nearest within bounds, in the metric of their covariance.

    This is (M72), whose multipliers are found one at a time, in turn, until they change no more
    (Hildreth, 1957).
    """
    sides = [
        (column, sign, sign * bound)
        for column, ends in enumerate(bounds)
        for sign, bound in zip((1.0, -1.0), ends, strict=True)
        if bound is not None and covariance[column, column] > 0
    ]
    if not sides:
        return drawn
    columns = [column for column, _, _ in sides]
    signs = np.array([sign for _, sign, _ in sides])
    norms = np.sqrt(np.diag(covariance)[columns])
    metric = covariance[np.ix_(columns, columns)] * np.outer(signs / norms, signs / norms)
    slack = (drawn[:, columns] * signs - [least for _, _, least in sides]) / norms
    multipliers = np.zeros_like(slack)
    for _ in range(SWEEPS):
        before = multipliers.copy()
        for j, row in enumerate(metric):
            multipliers[:, j] = (multipliers[:, j] - slack[:, j] - multipliers @ row).clip(min=0)
        if np.abs(multipliers - before).max() < 1e-12:
            break
    moved = drawn + multipliers * (signs / norms) @ covariance[columns]
    lowest = [-np.inf if low is None else low for low, _ in bounds]
    highest = [np.inf if high is None else high for _, high in bounds]
    return np.asarray(moved.clip(lowest, highest))


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
