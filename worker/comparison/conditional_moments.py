"""What the model expects of the state a time later, g(X_t) → E[g(X_{t+τ}) | X_t]: on line and circle, and of linear processes."""

from dataclasses import dataclass
from typing import Protocol

import numpy as np
from numpy.typing import NDArray
from scipy.linalg import expm

from worker.comparison.markov_chain import Chain
from worker.generator.linear.process import LinearProcess

Floats = NDArray[np.float64]


@dataclass(frozen=True, slots=True, eq=False)
class Measure:
    """How a variable is measured: z = (x − middle)/deviation, and g = (z, z²); of an angle its phase, and g = (cos, sin).

    noise   variance of the measurement noise [state²]
    """

    middle: float
    deviation: float
    period: float | None = None
    noise: float = 0.0

    def values(self, x: Floats) -> Floats:
        """g at states x (n,): (n, 2)."""
        if self.period is not None:
            phase = 2 * np.pi / self.period * x
            return np.stack([np.cos(phase), np.sin(phase)], axis=1)
        z = (x - self.middle) / self.deviation
        return np.stack([z, z * z], axis=1)


class Prediction(Protocol):
    """Expected changes of g for every variable."""

    @property
    def measures(self) -> tuple[Measure, ...]: ...

    def covers(self, states: Floats) -> NDArray[np.bool_] | None:
        """(n,) states about which the model is asked; None: all."""
        ...

    def increments(self, variable: int, states: Floats, time: float) -> Floats:
        """E[g(X_{t+time}) − g(X_t)] given the states (n, d) at t: (n, 2); where these hold measurement noise, the function whose
        expectation over the noise that is."""
        ...


@dataclass(frozen=True, slots=True, eq=False)
class OnTheLine:
    """By a chain of nodes."""

    chain: Chain
    measure: Measure

    @property
    def measures(self) -> tuple[Measure, ...]:
        return (self.measure,)

    def covers(self, states: Floats) -> None:
        return None

    def increments(self, variable: int, states: Floats, time: float) -> Floats:
        g = self.measure.values(self.chain.nodes)
        change = self.chain.transitions(time) @ g - g
        if self.measure.noise:
            change = change - self.measure.noise / 2 * self.chain.curvature(change)
        return self.chain.at(change, states[:, 0])


@dataclass(frozen=True, slots=True, eq=False)
class OfLinear:
    """In closed form: X_{t+τ} given X_t is Gaussian with mean m + e^{Jτ}(X_t − m) and covariance S − e^{Jτ} S e^{Jτ}ᵀ."""

    process: LinearProcess
    covariance: Floats
    measures: tuple[Measure, ...]

    def covers(self, states: Floats) -> None:
        return None

    def increments(self, variable: int, states: Floats, time: float) -> Floats:
        measure, row = self.measures[variable], expm(self.process.jacobian * time)[variable]
        mean = self.process.mean
        ahead = (mean[variable] + (states - mean) @ row - measure.middle) / measure.deviation
        here = (states[:, variable] - measure.middle) / measure.deviation
        spread = self.covariance[variable, variable] - row @ self.covariance @ row
        noise = np.array([m.noise for m in self.measures])
        constant = (spread - row**2 @ noise + noise[variable]) / measure.deviation**2
        return np.stack([ahead - here, ahead**2 + constant - here**2], axis=1)
