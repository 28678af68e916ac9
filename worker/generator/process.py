"""The one thing the analysis needs: a diffusion process dX = b(X) dt + σ(X) dW (Itô), a = σσᵀ."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Protocol, TypeVar

import numpy as np
from numpy.typing import NDArray

from worker.generator.errors import (
    InvalidDomainError,
    UndefinedCoefficientsError,
    UnsupportedDimensionError,
)

FloatArray = NDArray[np.float64]
"""Array of float64, of any shape."""


class DiffusionProcess(Protocol):
    """Diffusion process dX = b(X) dt + σ(X) dW in the Itô sense, in `dimension` = d coordinates.

    domain      lower and upper end of each coordinate [state]; ±inf where open
    periods     period of each coordinate [state]; None where it is not an angle
    """

    @property
    def dimension(self) -> int:
        """Number of coordinates d."""

    @property
    def domain(self) -> tuple[tuple[float, float], ...]:
        """Lower and upper end of each coordinate [state]."""

    @property
    def periods(self) -> tuple[float | None, ...]:
        """Period of each angle [state]; None for other coordinates."""

    def drift(self, x: FloatArray) -> FloatArray:
        """Return b at x: (n, d) → (n, d) [state/time]."""
        ...

    def diffusion(self, x: FloatArray) -> FloatArray:
        """Return a = σσᵀ at x: (n, d) → (n, d, d) [state²/time]."""
        ...

    def drift_jacobian(self, x: FloatArray) -> FloatArray:
        """Return ∂b_i/∂x_j at x: (n, d) → (n, d, d) [1/time]."""
        ...


ScalarFunction = Callable[[FloatArray], FloatArray]
"""Vectorised function of one variable, (n,) → (n,)."""


@dataclass(frozen=True, slots=True)
class ScalarProcess:
    """A process in one coordinate, from vectorised functions of one variable.

    b, a, db    drift, diffusion a = σ², and derivative of the drift: (n,) → (n,)
    bounds      lower and upper end of the state space [state]
    period      the coordinate is an angle of this period [state]; None on the line
    """

    b: ScalarFunction
    a: ScalarFunction
    db: ScalarFunction
    bounds: tuple[float, float] = (-np.inf, np.inf)
    period: float | None = None

    @property
    def dimension(self) -> int:
        """Number of coordinates: 1."""
        return 1

    @property
    def domain(self) -> tuple[tuple[float, float], ...]:
        """Lower and upper end of the one coordinate [state]."""
        return (self.bounds,)

    @property
    def periods(self) -> tuple[float | None, ...]:
        """Period of the one coordinate [state]; None on the line."""
        return (self.period,)

    def drift(self, x: FloatArray) -> FloatArray:
        """Return b at x: (n, 1) → (n, 1) [state/time]."""
        return _like(self.b(x[:, 0]), x)[:, None]

    def diffusion(self, x: FloatArray) -> FloatArray:
        """Return a at x: (n, 1) → (n, 1, 1) [state²/time]."""
        return _like(self.a(x[:, 0]), x)[:, None, None]

    def drift_jacobian(self, x: FloatArray) -> FloatArray:
        """Return b' at x: (n, 1) → (n, 1, 1) [1/time]."""
        return _like(self.db(x[:, 0]), x)[:, None, None]


@dataclass(frozen=True, slots=True)
class WithDomain:
    """A process in another domain."""

    process: DiffusionProcess
    domain: tuple[tuple[float, float], ...]

    @property
    def dimension(self) -> int:
        """Number of coordinates d."""
        return self.process.dimension

    @property
    def periods(self) -> tuple[float | None, ...]:
        """Period of each angle [state]; None for other coordinates."""
        return self.process.periods

    def drift(self, x: FloatArray) -> FloatArray:
        """Return b at x: (n, d) → (n, d) [state/time]."""
        return self.process.drift(x)

    def diffusion(self, x: FloatArray) -> FloatArray:
        """Return a at x: (n, d) → (n, d, d) [state²/time]."""
        return self.process.diffusion(x)

    def drift_jacobian(self, x: FloatArray) -> FloatArray:
        """Return ∂b_i/∂x_j at x: (n, d) → (n, d, d) [1/time]."""
        return self.process.drift_jacobian(x)


def scalar_view(process: DiffusionProcess) -> ScalarProcess:
    """Return the process as functions of one variable.

    Raises UnsupportedDimensionError for d > 1, InvalidDomainError for an empty domain or a period
    that is not positive.
    """
    if process.dimension != 1:
        raise UnsupportedDimensionError(
            f"the process has {process.dimension} coordinates and the analysis covers one; "
            "analyse one coordinate at a time"
        )
    (low, high), period = process.domain[0], process.periods[0]
    if not low < high:
        raise InvalidDomainError(
            f"the domain [{low:g}, {high:g}] is empty; give a lower end below the upper end"
        )
    if period is not None and not 0 < period < np.inf:
        raise InvalidDomainError(
            f"the period {period:g} is not a positive number; give the length of one turn"
        )
    if isinstance(process, ScalarProcess):
        return process

    def b(x: FloatArray) -> FloatArray:
        return process.drift(x[:, None])[:, 0]

    def a(x: FloatArray) -> FloatArray:
        return process.diffusion(x[:, None])[:, 0, 0]

    def db(x: FloatArray) -> FloatArray:
        return process.drift_jacobian(x[:, None])[:, 0, 0]

    return ScalarProcess(b, a, db, (float(low), float(high)), period)


def values(function: ScalarFunction, x: FloatArray) -> FloatArray:
    """Return function(x) for x of any shape; overflow gives inf or nan silently."""
    flat = x.ravel()
    with np.errstate(all="ignore"):
        return _like(function(flat), flat).reshape(x.shape)


def value(function: ScalarFunction, x: float) -> float:
    """Return the function at one point.

    Raises UndefinedCoefficientsError where it is not a finite number.
    """
    result = float(values(function, np.array([x]))[0])
    if not np.isfinite(result):
        raise UndefinedCoefficientsError(
            f"drift or diffusion is not a finite number at x = {x:g}; check the terms there"
        )
    return result


def velocities(process: DiffusionProcess) -> tuple[int, ...]:
    """Return which coordinates of a process of second order are velocities; () of any other.

    Of second order is dx = v dt, dv = F(x, v) dt + σ(x, v) dW: the positions come first, the
    velocities after them in the same order, and the noise acts on these alone.
    """
    d, half = process.dimension, process.dimension // 2
    if d % 2 or any(period is not None for period in process.periods[half:]):
        return ()
    state = np.random.default_rng(0).normal(size=(8, d))
    with np.errstate(all="ignore"):
        moved = process.drift(state)[:, :half] - state[:, half:]
        shaken = process.diffusion(state)[:, :half]
    return tuple(range(half, d)) if np.all(np.abs(moved) < 1e-12) and not shaken.any() else ()


Scalar = TypeVar("Scalar", bound=np.generic)


def read_only(array: NDArray[Scalar]) -> NDArray[Scalar]:
    """Return the array, closed for writing."""
    array.setflags(write=False)
    return array


def _like(result: FloatArray | float, x: FloatArray) -> FloatArray:
    # Constant functions may answer with one number.
    array = np.asarray(result, dtype=float)
    return array if array.shape == (len(x),) else np.broadcast_to(array, (len(x),))
