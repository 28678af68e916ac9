"""A model's drift and diffusion as functions of the state."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from itoscope_client.models.terms import (
    FUNCTIONS,
    Binary,
    Call,
    Number,
    Tree,
    Variable,
    parse,
    variables_of,
)

Values = NDArray[Any]
"""Array of real or complex numbers."""
Interval = tuple[float | None, float | None]

_FUNCTIONS: Mapping[str, Callable[[Values], Values]] = {
    name: getattr(np, name) for name in FUNCTIONS
}
_OPERATORS: Mapping[str, Callable[[Values, Values], Values]] = {
    "+": np.add, "-": np.subtract, "*": np.multiply, "/": np.divide, "^": np.power,
}  # fmt: skip
_INTEGER_POWERS = range(65)


@dataclass(frozen=True, slots=True)
class Sum:
    """A sum of coefficients times terms, which are functions of the state, and a constant."""

    constant: float = 0.0
    terms: tuple[tuple[float, Callable[[Mapping[str, Values]], Values]], ...] = ()
    varies: bool = False

    def at(self, values: Mapping[str, Values]) -> Values:
        """Return the sum at states."""
        total: Values = np.full_like(next(iter(values.values())), self.constant)
        for value, term in self.terms:
            total = total + value * term(values)
        return total


@dataclass(frozen=True)
class Process:
    """The process dX = b(X) dt + σ(X) dW in the Itô sense, a = σσᵀ, of d variables.

    drift       terms of b by variable
    diffusion   terms of a by pair of variables; missing pairs are zero
    domain      declared bounds by variable
    order       2 where the variables are positions and then their velocities
    inputs      values of what drives the variables and has no equation
    """

    variables: tuple[str, ...]
    drift: Mapping[str, Sum]
    diffusion: Mapping[tuple[str, str], Sum]
    domain: Mapping[str, Interval]
    order: int = 1
    inputs: Mapping[str, float] = field(default_factory=dict)

    def drift_at(self, x: ArrayLike) -> NDArray[np.float64]:
        """Return b [state/time] at states of any shape in one variable, (…, d) in several.

        Raises ValueError for states of another number of variables.
        """
        values = self._values(x)
        with np.errstate(all="ignore"):
            parts = [self.drift[name].at(values) for name in self.variables]
        return np.asarray(parts[0] if self.scalar else np.stack(parts, axis=-1), dtype=np.float64)

    def diffusion_at(self, x: ArrayLike) -> NDArray[np.float64]:
        """Return a [state²/time] at states: in the shape of one variable's, or (…, d, d).

        Raises ValueError for states of another number of variables.
        """
        values = self._values(x)
        if self.scalar:
            return np.asarray(self._pair(0, 0, values), dtype=np.float64)
        d = len(self.variables)
        rows = [np.stack([self._pair(i, j, values) for j in range(d)], axis=-1) for i in range(d)]
        return np.asarray(np.stack(rows, axis=-2), dtype=np.float64)

    def diffusion_slope_at(self, x: NDArray[np.float64]) -> NDArray[np.float64]:
        """Return a′ of one variable: Im a(x + ih) / h, exact to rounding because a is analytic."""
        h = 1e-30
        values = self._with_inputs({self.variables[0]: x + 1j * h})
        return np.asarray(self._pair(0, 0, values).imag / h, dtype=np.float64)

    @property
    def scalar(self) -> bool:
        """Whether there is only one variable."""
        return len(self.variables) == 1

    @property
    def n_positions(self) -> int:
        """Number of positions whose velocities are variables; 0 for a model of first order."""
        return len(self.variables) // 2 if self.order == 2 else 0

    @property
    def additive(self) -> bool:
        """Whether the diffusion is constant."""
        return not any(part.varies for part in self.diffusion.values())

    def _pair(self, i: int, j: int, values: Mapping[str, Values]) -> Values:
        a, b = self.variables[i], self.variables[j]
        with np.errstate(all="ignore"):
            return (self.diffusion.get((a, b)) or self.diffusion.get((b, a)) or Sum()).at(values)

    def _values(self, x: ArrayLike) -> dict[str, Values]:
        states = np.asarray(x, dtype=np.float64)
        if self.scalar:
            return self._with_inputs({self.variables[0]: states})
        d = len(self.variables)
        if not states.ndim or states.shape[-1] != d:
            raise ValueError(
                f"states of {d} variables ({', '.join(self.variables)}) "
                f"have the shape (…, {d}), not {states.shape}"
            )
        return self._with_inputs({name: states[..., k] for k, name in enumerate(self.variables)})

    def _with_inputs(self, values: dict[str, Values]) -> dict[str, Values]:
        shape = next(iter(values.values()))
        return values | {name: np.full_like(shape, v) for name, v in self.inputs.items()}


def process_of(document: Mapping[str, Any], inputs: Mapping[str, float] | None = None) -> Process:
    """Read the process that a result document describes, whose angles' terms are in values.

    inputs   values of what drives the variables, by its word; the others' are the document's.
             Without a value of the time t, its sines and cosines have their mean over a period, 0
    """
    model = document["model"]
    words = model.get("symbols", {})
    held = {words.get(name, name): float(v) for name, v in (model.get("inputs") or {}).items()}
    held |= inputs or {}
    variables: Sequence[str] = [*model["drift"]]
    bounds = model.get("domain") or {}
    return Process(
        tuple(variables),
        {name: _sum_of(part, variables, held) for name, part in model["drift"].items()},
        {
            _pair_of(pair): _sum_of(part, variables, held)
            for pair, part in model["diffusion"].items()
        },
        {name: (ends[0], ends[1]) for name, ends in bounds.items()},
        model.get("order") or 1,
        held,
    )


def function_of(tree: Tree) -> Callable[[Mapping[str, Values]], Values]:
    """Return a term as a function of states: arrays of one shape by variable.

    Undefined operations give NaN or infinity, with NumPy's warnings.
    """
    match tree:
        case Number(value):
            return lambda values: np.full_like(next(iter(values.values())), value)
        case Variable(name):
            return lambda values: values[name]
        case Call(name, argument):
            outer, inner = _FUNCTIONS[name], function_of(argument)
            return lambda values: outer(inner(values))
        case Binary("^", base, Number(exponent)) if exponent in _INTEGER_POWERS:
            below = function_of(base)
            power = int(exponent)
            # Two multiplications take a tenth of the time of a power.
            if power == 3:
                return lambda values: (x := below(values)) * x * x
            return lambda values: np.asarray(below(values) ** power)
        case Binary("*", Number(value), other):
            scaled = function_of(other)
            return lambda values: value * scaled(values)
        case Binary(operator, left, right):
            combine = _OPERATORS[operator]
            a, b = function_of(left), function_of(right)
            return lambda values: combine(a(values), b(values))


def summands_of(component: Mapping[str, Any]) -> list[tuple[float, Tree]]:
    """Return the coefficients of a component's terms, with the terms as trees."""
    return [
        (float(term["value"]), parse(term["term"])) for term in component["terms"] if term["value"]
    ]


def _sum_of(
    component: Mapping[str, Any], variables: Sequence[str], held: Mapping[str, float]
) -> Sum:
    known = {*variables, *held}
    trees = [(value, tree) for value, tree in summands_of(component) if variables_of(tree) <= known]
    constant = sum(value * tree.value for value, tree in trees if isinstance(tree, Number))
    rest = [(value, tree) for value, tree in trees if not isinstance(tree, Number)]
    varies = any(variables_of(tree) & set(variables) for _, tree in rest)
    return Sum(constant, tuple((value, function_of(tree)) for value, tree in rest), varies)


def _pair_of(name: str) -> tuple[str, str]:
    first, _, second = name.partition(",")
    return first.strip(), second.strip()
