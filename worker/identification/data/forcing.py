"""Forcing that the clock tells: sine and cosine of given periods, and the time itself."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from grammar.terms import Binary, Call, Tree, Variable, parse
from worker.identification.data.trajectories import Scales, Trajectories, rounded_coordinate

Floats = NDArray[np.float64]

CLOCK = "t"
"""Name of the time in terms."""


@dataclass(frozen=True)
class Forcing:
    """Functions of the time t that drive the states, equation (M66).

    periods     periods P of the forcing [time]
    harmonics   sin(2πkt/P) and cos(2πkt/P) for k = 1 … harmonics
    trend       highest power of t; 0: no trend
    """

    periods: tuple[float, ...] = ()
    harmonics: int = 1
    trend: int = 0

    @property
    def any(self) -> bool:
        """Whether there is any forcing."""
        return bool(self.periods or self.trend)

    @cached_property
    def frequencies(self) -> tuple[float, ...]:
        """Angular frequency of each pair of a sine and a cosine [1/time]."""
        return tuple(
            2 * np.pi * k / period for period in self.periods for k in range(1, self.harmonics + 1)
        )

    @cached_property
    def names(self) -> tuple[str, ...]:
        """Names of the functions as terms: t, sin(2*pi*t/5), cos(2*pi*t/5), sin(4*pi*t/5), …"""
        waves = [
            f"{function}({2 * k}*pi*{CLOCK}{'' if period == 1 else f'/{period!r}'})"
            for period in map(_short, self.periods)
            for k in range(1, self.harmonics + 1)
            for function in ("sin", "cos")
        ]
        return (*((CLOCK,) if self.trend else ()), *waves)

    @property
    def waves(self) -> tuple[str, ...]:
        """Names of the sines and cosines, in pairs."""
        return self.names[1:] if self.trend else self.names

    @cached_property
    def trees(self) -> dict[Tree, str]:
        """Name of each sine and cosine by its parse tree."""
        return {parse(name): name for name in self.waves}

    def at(self, times: Floats) -> Floats:
        """Evaluate all functions; (n,) → (n, number of functions)."""
        columns = [times] if self.trend else []
        for omega in self.frequencies:
            columns += [np.sin(omega * times), np.cos(omega * times)]
        return np.stack(columns, axis=1) if columns else np.zeros((len(times), 0))

    def scales(self, data: Trajectories, of_state: Scales) -> tuple[Scales, ...]:
        """Return the scales of all functions over a record.

        Sines and cosines are their own internal coordinates.
        """
        times = np.asarray(data.times[:: max(1, len(data.times) // 200_000)], dtype=np.float64)
        out = []
        for name, values in zip(self.names, self.at(times).T, strict=True):
            low, high = (float(values.min()), float(values.max())) if name == CLOCK else (-1.0, 1.0)
            origin, unit = rounded_coordinate(low, high) if name == CLOCK else (0.0, 1.0)
            out.append(
                replace(
                    of_state,
                    origin=origin,
                    unit=unit,
                    bulk=(low, high),
                    low=low,
                    high=high,
                    mean=float(values.mean()),
                    deviation=float(values.std()),
                )
            )
        return tuple(out)

    def named(self, tree: Tree) -> Tree:
        """Return a term with the sines and cosines of this forcing as variables of their names."""
        if tree in self.trees:
            return Variable(self.trees[tree])
        match tree:
            case Call(function, argument):
                return Call(function, self.named(argument))
            case Binary(operator, left, right):
                return Binary(operator, self.named(left), self.named(right))
        return tree


def _short(period: float) -> float | int:
    """Return a whole number as an integer, which is written without a point."""
    return int(period) if period == int(period) and abs(period) < 1e15 else float(period)


NO_FORCING = Forcing()


def driving_terms(
    states: Sequence[str], inputs: Sequence[str], forcing: Forcing, degree: int
) -> Iterable[str]:
    """List the terms that hold an input or forcing, lowest total degree first, equation (M67).

    Inputs multiply each other and the states up to this total degree. Sines and cosines stand
    alone or times states: their products are other harmonics.

    Parameters
    ----------
    states, inputs : names of the variables
    forcing : functions of the time
    degree : highest total degree
    """
    out: list[tuple[int, int, str]] = []
    free = [*inputs, *((CLOCK,) if forcing.trend else ())]
    of_states = _monomials(states, degree - 1)
    for size, name in _monomials(free, max(degree, forcing.trend)):
        pure = set(name.split("*")[0].split("^")[:1]) == {CLOCK} and "*" not in name
        if not size or (size > degree and not pure):
            continue
        for more, other in of_states:
            if size + more <= degree or (pure and not more and size <= forcing.trend):
                out.append((size + more, len(out), f"{other}*{name}" if more else name))
    for wave in forcing.waves:
        for more, other in of_states:
            out.append((1 + more, len(out), f"{other}*{wave}" if more else wave))
    return [name for _, _, name in sorted(out)]


def _monomials(variables: Sequence[str], degree: int) -> list[tuple[int, str]]:
    """List degree and text of all monomials up to a degree, the constant first."""
    found: list[tuple[int, str]] = [(0, "1")]
    whole: list[tuple[int, tuple[int, ...]]] = [(0, ())]
    for _ in variables:
        whole = [
            (total + k, (*e, k)) for total, e in whole for k in range(max(degree, 0) - total + 1)
        ]
    for total, e in sorted(whole, key=lambda each: (each[0], tuple(-k for k in each[1]))):
        if total:
            factors = (v if k == 1 else f"{v}^{k}" for v, k in zip(variables, e, strict=True) if k)
            found.append((total, "*".join(factors)))
    return found
