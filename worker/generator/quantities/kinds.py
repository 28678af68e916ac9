"""The kinds of quantities: how each is compared and ranked over models drawn around an estimate.

A field of a value that is annotated with a kind has an interval.
"""

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Literal

import numpy as np

from worker.generator.process import FloatArray

TINY = 1e-300
"""Value below which a positive quantity counts as this."""

SMALL = 0.1
"""Correlation above which it is nearly an exponential function of the coefficients; below, linear.

It may be negative."""

Change = Callable[[FloatArray], FloatArray]


@dataclass(frozen=True, slots=True)
class Kind:
    """How a quantity is ranked over models.

    forward   to the numbers in which the quantity is nearly a quadratic function of the
              coefficients
    back      from these numbers (n, …) of n models to the quantity's
    monotone  whether `back` keeps the order of numbers, so that it may be applied to the ends of an
              interval alone
    whole     whether it is a curve, of which all points are judged together
    absent    number that stands for a missing value: nan where the model is left out of the ranking
    unit      what differences that may be rounding errors are compared with; None for the value
    shown     from the quantity as it is kept to the numbers that are reported
    """

    forward: Change
    back: Change
    monotone: bool = True
    whole: bool = False
    absent: float = np.nan
    unit: Literal["state", "one"] | None = None
    shown: Change = np.asarray


def _same(values: FloatArray) -> FloatArray:
    return values


def _log(values: FloatArray) -> FloatArray:
    with np.errstate(invalid="ignore"):
        return np.asarray(np.log(np.maximum(values, TINY)))


def _exp(values: FloatArray) -> FloatArray:
    with np.errstate(over="ignore"):
        return np.asarray(np.exp(values))


def _log_above_small(values: FloatArray) -> FloatArray:
    return np.asarray(np.arcsinh(values / SMALL))


def _exp_above_small(values: FloatArray) -> FloatArray:
    with np.errstate(over="ignore"):
        return np.asarray(SMALL * np.sinh(values))


def _share(values: FloatArray) -> FloatArray:
    return np.asarray(np.clip(values, 0.0, 1.0))


def _not_negative(values: FloatArray) -> FloatArray:
    return np.asarray(np.maximum(values, 0.0))


def _above_middle(values: FloatArray) -> FloatArray:
    # A potential is infinite where a model has reflecting ends before the grid's.
    with np.errstate(invalid="ignore"):
        return np.asarray(values - values[..., values.shape[-1] // 2, None])


def _above_lowest(values: FloatArray) -> FloatArray:
    return np.asarray(values - np.min(values, axis=-1, keepdims=True))


def _log_diagonal(values: FloatArray) -> FloatArray:
    diagonal = np.eye(values.shape[-1], dtype=bool)
    return np.where(diagonal, _log(values), values)


def _exp_diagonal(values: FloatArray) -> FloatArray:
    diagonal = np.eye(values.shape[-1], dtype=bool)
    return np.where(diagonal, _exp(values), values)


NUMBER = Kind(_same, _same)
NOT_NEGATIVE = Kind(_same, _not_negative)
"""Number whose surface may err below zero."""
COVARIANCE = Kind(_log_diagonal, _exp_diagonal)
"""Matrix with positive numbers on its diagonal."""
PLACE = Kind(_same, _same, unit="state")
SHAPE = Kind(_same, _same, unit="one")
POSITIVE = Kind(_log, _exp)
TIME = Kind(_same, _exp, absent=np.inf)
"""Time given by its logarithm; a model without it counts as infinite."""
FINITE_TIME = Kind(_same, _exp)
"""Time given by its logarithm; a model that has none is left out."""
CURVE = Kind(_same, _same, whole=True)
CORRELATION = Kind(_log_above_small, _exp_above_small, whole=True)
POSITIVE_CURVE = Kind(_log, _exp, whole=True)
DENSITY = Kind(_same, _not_negative, whole=True)
PROBABILITY = Kind(_same, _share)
PROBABILITY_CURVE = Kind(_same, _share, whole=True)
POTENTIAL = Kind(_above_middle, _above_lowest, monotone=False, whole=True)
"""Curve up to a constant: each model's is zero at its own lowest point."""
SIZE = Kind(_same, np.abs, monotone=False, whole=True, shown=np.abs)
"""Curve of which only the size counts."""


def numbers_of(values: Iterable[float | None]) -> FloatArray:
    """Return the numbers, with nan for None."""
    return np.array([np.nan if value is None else value for value in values], dtype=float)
