"""Conditional moments g(X_t) → E[g(X_{t+τ}) | X_t] of the model: line, circle, linear processes."""

from dataclasses import dataclass
from typing import Protocol

import numpy as np
from numpy.typing import NDArray
from scipy.linalg import expm

from worker.comparison.markov_chain import BirthDeathChain
from worker.generator.linear.process import LinearProcess

Floats = NDArray[np.float64]


@dataclass(frozen=True, slots=True, eq=False)
class Observable:
    """Observable g of a variable: (z, z²), z = (x − middle)/deviation, or (cos, sin) of an angle.

    middle      value at which z is 0 [state]
    deviation   unit of z [state]
    period      of an angle [state]; None: no angle
    noise       variance of the measurement noise [state²]
    """

    middle: float
    deviation: float
    period: float | None = None
    noise: float = 0.0

    def values(self, x: Floats) -> Floats:
        """Return g (n, 2) at states x (n,)."""
        if self.period is not None:
            phase = 2 * np.pi / self.period * x
            return np.stack([np.cos(phase), np.sin(phase)], axis=1)
        z = (x - self.middle) / self.deviation
        return np.stack([z, z * z], axis=1)


class Prediction(Protocol):
    """Expected changes of g for every variable."""

    @property
    def observables(self) -> tuple[Observable, ...]:
        """Observables of the variables, in their order."""

    def covers(self, states: Floats) -> NDArray[np.bool_] | None:
        """Return (n,) flags of the states for which the model predicts; None: all."""

    def increments(self, variable: int, states: Floats, time: float) -> Floats:
        """Return E[g(X_{t+time}) − g(X_t)] given the states (n, d) at t: (n, 2).

        Where the states hold measurement noise, return the function whose expectation over the
        noise is that.
        """


@dataclass(frozen=True, slots=True, eq=False)
class ChainPrediction:
    """Prediction by a birth-and-death chain."""

    chain: BirthDeathChain
    observable: Observable

    @property
    def observables(self) -> tuple[Observable, ...]:
        """Observable of the one variable."""
        return (self.observable,)

    def covers(self, states: Floats) -> None:
        """Return None: the chain predicts for all states."""
        return None

    def increments(self, variable: int, states: Floats, time: float) -> Floats:
        """Return the expected change on the nodes, interpolated at the states."""
        g = self.observable.values(self.chain.nodes)
        change = self.chain.transitions(time) @ g - g
        if self.observable.noise:
            change = change - self.observable.noise / 2 * self.chain.curvature(change)
        return self.chain.at(change, states[:, 0])


@dataclass(frozen=True, slots=True, eq=False)
class LinearPrediction:
    """Prediction of a linear process in closed form.

    X_{t+τ} given X_t is Gaussian with mean m + e^{Jτ}(X_t − m) and covariance S − e^{Jτ} S e^{Jτ}ᵀ.
    """

    process: LinearProcess
    covariance: Floats
    observables: tuple[Observable, ...]

    def covers(self, states: Floats) -> None:
        """Return None: the closed form holds for all states."""
        return None

    def increments(self, variable: int, states: Floats, time: float) -> Floats:
        """Return the change of the Gaussian's two moments, less the share of the noise."""
        observable, row = self.observables[variable], expm(self.process.jacobian * time)[variable]
        mean = self.process.mean
        ahead = (mean[variable] + (states - mean) @ row - observable.middle) / observable.deviation
        here = (states[:, variable] - observable.middle) / observable.deviation
        spread = self.covariance[variable, variable] - row @ self.covariance @ row
        noise = np.array([m.noise for m in self.observables])
        constant = (spread - row**2 @ noise + noise[variable]) / observable.deviation**2
        return np.stack([ahead - here, ahead**2 + constant - here**2], axis=1)
