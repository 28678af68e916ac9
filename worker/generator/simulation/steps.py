"""Integration of many paths at once by equation (G40), and the choice of its step length."""

from dataclasses import dataclass
from functools import cached_property

import numpy as np

from worker.generator.numerics.semidefinite_cholesky import root_of
from worker.generator.process import DiffusionProcess, FloatArray

SAME = 1e-12
"""Relative difference of diffusion tensors between states below which the noise is additive."""
PART = 0.1
"""Length of a step, over the shortest time in which drift or noise change by their own size."""


@dataclass(frozen=True, eq=False)
class Stepper:
    """Heun's rule for the drift, with the noise evaluated at the start of the step.

    It is of weak order two where the noise is additive and there are no walls, else of order one.

    constant  (1, d, d) root of the diffusion where the noise is additive, else None
    """

    process: DiffusionProcess
    constant: FloatArray | None

    @cached_property
    def order(self) -> int:
        """Order of weak convergence."""
        return 2 if self.constant is not None and not self._walls else 1

    @cached_property
    def _walls(self) -> list[tuple[int, float, float]]:
        ends = enumerate(zip(self.process.domain, self.process.periods, strict=True))
        return [
            (k, low, high)
            for k, ((low, high), turn) in ends
            if turn is None and (np.isfinite(low) or np.isfinite(high))
        ]

    def step(self, x: FloatArray, kick: FloatArray, length: float) -> FloatArray:
        """Return states (n, d) one step later.

        Parameters
        ----------
        x : (n, d) states [state]
        kick : (n, d) increments of the Brownian motion, of variance `length` [√time]
        length : length of the step [time]
        """
        sigma = (
            self.constant if self.constant is not None else root_of(self.process.diffusion(x))[0]
        )
        noise = kick @ sigma[0].T if self.constant is not None else np.matvec(sigma, kick)
        b = self.process.drift(x)
        ahead = self.reflected(x + b * length + noise)
        return self.reflected(x + (b + self.process.drift(ahead)) * (length / 2) + noise)

    def reflected(self, x: FloatArray) -> FloatArray:
        """Fold states beyond a declared end back inside."""
        for k, low, high in self._walls:
            column = x[:, k]
            if np.isfinite(low) and np.isfinite(high):
                phase = np.mod(column - low, 2 * (high - low))
                x[:, k] = low + np.minimum(phase, 2 * (high - low) - phase)
            elif np.isfinite(low):
                x[:, k] = low + np.abs(column - low)
            else:
                x[:, k] = high - np.abs(high - column)
        return x


def stepper_of(process: DiffusionProcess, states: FloatArray) -> Stepper:
    """Return the stepper of a process, trying at states (n, d) whether its noise is additive."""
    a = process.diffusion(states)
    size = np.max(np.abs(a))
    additive = bool(np.all(np.abs(a - a[0]) <= SAME * size))
    return Stepper(process, root_of(a[:1])[0] if additive else None)


def fastest_rate(stepper: Stepper, states: FloatArray, scale: FloatArray) -> float:
    """Return the rate at which the drift's flow or the noise changes by its own size.

    It is the largest rate but for a hundredth of the states.

    Parameters
    ----------
    stepper : integration rule of the process
    states : (n, d) states at which rates are evaluated [state]
    scale : (d,) typical length of each coordinate [state]
    """
    process = stepper.process
    units = scale / scale[:, None]
    rates = np.linalg.norm(process.drift_jacobian(states) * units, axis=(1, 2))
    rates = rates[np.isfinite(rates)]
    fastest = float(np.quantile(rates, 0.99)) if rates.size else 0.0
    if stepper.constant is not None:
        return fastest
    # ½ Σ a_kl ∂_k log a_pp ∂_l log a_pp, by a difference along the noise itself.
    a = process.diffusion(states)
    sigma, _ = root_of(a)
    own = np.einsum("npp->np", a)
    small = 1e-4
    changes = np.zeros(len(states))
    for k in range(len(scale)):
        speed = np.sqrt(np.max(np.einsum("np,np->n", sigma[:, :, k], sigma[:, :, k])))
        if not speed > 0:
            continue
        length = small * float(np.min(scale[np.any(sigma[:, :, k] != 0, axis=0)])) / speed
        beside = stepper.reflected(states + length * sigma[:, :, k])
        other = np.einsum("npp->np", process.diffusion(beside))
        with np.errstate(divide="ignore", invalid="ignore"):
            slope = np.where(own > 0, (other - own) / own, 0.0) / length
        changes += np.max(slope**2, axis=1) / 4
    changes = changes[np.isfinite(changes)]
    return max(fastest, float(np.quantile(changes, 0.9)) if changes.size else 0.0)
