"""Models drawn around an estimate, and functions of the model evaluated over them."""

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from operator import index
from typing import Any, Generic, TypeVar

import numpy as np

from itoscope_client.models.document import Floats, ModelDocument
from itoscope_client.models.numbers import with_interval
from itoscope_client.models.sampling import DrawnComponent, drawn_components
from itoscope_client.models.terms import as_factor

M = TypeVar("M", bound=ModelDocument)

MOST = 2_000
"""Largest number of models that are drawn, as by `GET /v1/jobs/{id}/draws`."""


@dataclass(frozen=True, slots=True, eq=False)
class Draws(Generic[M]):
    """Models drawn around an estimate; to iterate over them gives each as a model of its own.

    These have coefficients, drift, diffusion and simulated paths, and no analysis of the generator.
    """

    components: tuple[DrawnComponent, ...]
    """Coefficients of each component in all models, by standard names."""
    document: Mapping[str, Any]
    """The estimate's document without what was derived from it."""
    symbols: Mapping[tuple[str, str], Mapping[str, str]]
    """Each component's terms in the file's names, by their standard names."""
    model_of: Callable[[Mapping[str, Any]], M]
    """Function that reads a model from a document."""

    def __len__(self) -> int:
        return len(self.components[0].coefficients)

    def __getitem__(self, row: int) -> M:
        parts: dict[str, dict[str, Any]] = {"drift": {}, "diffusion": {}}
        for c in self.components:
            values = dict(zip(c.terms, c.coefficients[row].tolist(), strict=True))
            spelled = self.symbols[c.function, c.component]
            listed = [
                {"term": term, "value": value, "active": value != 0}
                for term, value in ((term, values.get(term, 0.0)) for term in spelled)
            ]
            kept = [_summand(spelled[term], v) for term, v in values.items() if v]
            formula = " + ".join(kept).replace("+ -", "- ") or "0"
            parts[c.function][c.component] = {"expression": formula, "terms": listed}
        return self.model_of({**self.document, "model": {**self.document["model"], **parts}})

    def __iter__(self) -> Iterator[M]:
        return (self[row] for row in range(len(self)))

    def coefficients(self, component: str, term: str) -> Floats:
        """Return a term's coefficient in every model, (n,); 0 where a model lacks the term.

        component   variable of the drift, or pair `x,y` of the diffusion
        term        term as the estimate's document or its equations write it

        Raises KeyError where there is no such component or term.
        """
        estimate = self.model_of(self.document)
        found = estimate.candidate(component, term)
        for c in self.components:
            spelled = self.symbols[c.function, c.component]
            if (c.function, estimate.name_of(c.component)) != (found.function, found.component):
                continue
            for column, name in enumerate(c.terms):
                if spelled[name] == found.term:
                    return c.coefficients[:, column]
        return np.zeros(len(self))


def _summand(term: str, value: float) -> str:
    return f"{value:.4g}" if term == "1" else f"{value:.4g}*{as_factor(term)}"


@dataclass(frozen=True, slots=True, eq=False)
class Evaluation:
    """A function of the model with its confidence interval; arrays where the function gives one."""

    estimate: Any
    """Value of the estimated model."""
    low: Any
    """Lower end of the interval."""
    high: Any
    """Upper end of the interval."""
    values: Floats
    """Values of the models that were drawn, (n, …)."""
    undefined: float = 0.0
    """Share of the models of which the function has no value; the interval is that of the rest."""

    def __float__(self) -> float:
        return float(self.estimate)

    def __str__(self) -> str:
        if np.ndim(self.estimate):
            return f"{self.estimate} ({self.low} to {self.high})"
        value, interval = with_interval(float(self.estimate), (float(self.low), float(self.high)))
        lacking = f"; no value for {100 * self.undefined:.2g} %" if self.undefined else ""
        return f"{value} ({interval}{lacking})"


def draw(
    model: ModelDocument, make: Callable[[Mapping[str, Any]], M], count: int, seed: int
) -> Draws[M]:
    """Draw models around a model. Raises NoDraws, ValueError for count or seed out of range."""
    count, seed = index(count), index(seed)
    if not 1 <= count <= MOST or seed < 0:
        raise ValueError(f"draw 1 to {MOST} models, with a seed of at least 0")
    document = model.document
    spelled = iter(model.terms)
    symbols = {
        (function, component): {term["term"]: next(spelled).term for term in part["terms"]}
        for function in ("drift", "diffusion")
        for component, part in document["model"][function].items()
    }
    bare = {
        "data": document.get("data"),
        "model": {**document["model"], "coloured_noise": None},
        "generator": {"ergodic": None, "reason": "a drawn model has no analysis"},
        "provenance": document.get("provenance"),
    }
    return Draws(drawn_components(document, count, seed), bare, symbols, make)


def _numbers(value: Any) -> Floats:
    """Return a function's value as an array of numbers. Raises ValueError."""
    try:
        return np.asarray(value, dtype=np.float64)
    except (TypeError, ValueError):
        raise ValueError(
            f"the function returns {type(value).__name__}: let it return a number or an array of "
            "real numbers, all of one length"
        ) from None


def evaluate(
    function: Callable[[M], Any], estimate: M, draws: Draws[M], confidence: float
) -> Evaluation:
    """Evaluate a function over models, with the central interval of its values.

    The interval is widened to the estimate where the models do not reach it. Raises ValueError
    where the function has no value of the estimate, or of any model.
    """
    if not 0 < confidence < 1:
        raise ValueError("confidence is a number between 0 and 1, such as 0.95")
    with np.errstate(all="ignore"):
        value = _numbers(function(estimate))
        found = [_numbers(function(model)) for model in draws]
    other = next((each.shape for each in found if each.shape != value.shape), value.shape)
    if other != value.shape:
        raise ValueError(
            f"the function returns an array of shape {value.shape} for the estimate and of shape "
            f"{other} for a drawn model: let it return as many numbers for every model, such as "
            "values on a fixed grid"
        )
    values = np.stack(found)
    defined = ~np.isnan(values).reshape(len(values), -1).any(axis=1)
    if np.isnan(value).any():
        raise ValueError("the function has no value (NaN) for the estimate itself")
    if not defined.any():
        raise ValueError("the function has no value (NaN) for any of the drawn models")
    ends = [(1 - confidence) / 2, (1 + confidence) / 2]
    # Percentiles that are values themselves: infinite ones cannot be interpolated.
    low, high = np.quantile(values[defined], ends, axis=0, method="inverted_cdf")
    low, high = np.minimum(low, value), np.maximum(high, value)
    undefined = 1 - float(defined.mean())
    if value.ndim:
        return Evaluation(value, low, high, values, undefined)
    return Evaluation(float(value), float(low), float(high), values, undefined)
