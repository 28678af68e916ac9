"""Integration of many independent paths by equation (G40), and the choice of its step length."""

from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from worker.generator.process import DiffusionProcess, FloatArray

ROUNDING = 1e-12
"""Pivot, over the diagonal, below which it counts as zero."""


def semidefinite_cholesky(tensors: FloatArray) -> FloatArray:
    """Return lower triangular roots (n, d, d) of positive semi-definite tensors (n, d, d).

    Cholesky's recursion runs over all states at once. A pivot that is zero or negative leaves its
    column empty, so that singular noise needs no special case.
    """
    n, d = tensors.shape[:2]
    a = np.ascontiguousarray(tensors.transpose(1, 2, 0))
    sigma = np.zeros((d, d, n))
    for j in range(d):
        size = np.abs(a[j, j])
        pivot = a[j, j].copy()
        for k in range(j):
            pivot -= sigma[j, k] ** 2
        usable = pivot > ROUNDING * size
        np.sqrt(pivot, out=sigma[j, j], where=usable)
        for i in range(j + 1, d):
            rest = a[i, j].copy()
            for k in range(j):
                rest -= sigma[i, k] * sigma[j, k]
            np.divide(rest, sigma[j, j], out=sigma[i, j], where=usable)
    return sigma.transpose(2, 0, 1)


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
            self.constant
            if self.constant is not None
            else semidefinite_cholesky(self.process.diffusion(x))
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
    return Stepper(process, semidefinite_cholesky(a[:1]) if additive else None)


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
    sigma = semidefinite_cholesky(a)
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


BURN_IN = 0.25
"""Part of the steps that is discarded as burn-in."""
RECORDS = 200
"""Number of recorded times after the burn-in."""
FAR = 100.0
"""Distance from the start, in typical lengths, at which a path counts as escaped."""


@dataclass(frozen=True, slots=True, eq=False)
class Run:
    """Records of R paths; states are z = (x − centre)/scale.

    interval   time between the records [time]
    fine       (RECORDS, R, d) z by the step
    coarse     (RECORDS, R, d) z by twice the step, driven by the same noise
    averages   (RECORDS, R, d) mean of z over the time before each record, by the step
    escaped    (R,) whether a path escaped
    left       (R, d) z at the escape
    step       length of a step [time]
    duration   length of a path after the burn-in [time]
    """

    interval: float
    fine: FloatArray
    coarse: FloatArray
    averages: FloatArray
    escaped: NDArray[np.bool_]
    left: FloatArray
    step: float
    duration: float


def run(
    stepper: Stepper,
    start: FloatArray,
    centre: FloatArray,
    scale: FloatArray,
    *,
    step: float,
    steps: int,
    seed: int,
    burn_in: float = BURN_IN,
) -> Run:
    """Simulate paths from `start`; a path further than `FAR` scales from the centre has escaped.

    Parameters
    ----------
    stepper : integration rule of the process
    start : (R, d) initial states [state]
    centre, scale : (d,) origin and unit of the recorded states [state]
    step : length of a step [time]
    steps : number of steps after the burn-in, rounded up to whole records
    seed : seed of the random numbers
    burn_in : part of the steps that is discarded first
    """
    generator = np.random.default_rng(seed)
    pairs = max(1, -(-steps // (2 * RECORDS)))
    before = int(np.ceil(burn_in * RECORDS)) * pairs
    shape = (RECORDS, *start.shape)
    fine, coarse, averages = np.empty(shape), np.empty(shape), np.empty(shape)
    escaped, left = np.zeros(len(start), dtype=np.bool_), np.zeros(start.shape)
    x, y = start.copy(), start.copy()
    # An angle is periodic, so only open coordinates define a distance.
    angles = np.array([turn is not None for turn in stepper.process.periods])
    total, root = np.zeros(start.shape), np.sqrt(step)
    with np.errstate(all="ignore"):
        for n in range(-before, RECORDS * pairs):
            kicks = root * generator.standard_normal((2, *start.shape))
            first = stepper.step(x, kicks[0], step)
            x = stepper.step(first, kicks[1], step)
            y = stepper.step(y, kicks[0] + kicks[1], 2 * step)
            total += first + x
            z, w = (x - centre) / scale, (y - centre) / scale
            near = (np.abs(z) < FAR) & (np.abs(w) < FAR) | angles
            if not near.all():
                gone = ~escaped & ~near.all(axis=1)
                left[gone] = np.where(
                    near[gone], 0.0, np.where(np.abs(z[gone]) < FAR, w[gone], z[gone])
                )
                escaped |= gone
            if escaped.any():
                x[escaped], y[escaped], total[escaped] = centre, centre, 0.0
            if (n + 1) % pairs:
                continue
            if n >= 0:
                k = n // pairs
                fine[k], coarse[k], averages[k] = z, w, (total / (2 * pairs) - centre) / scale
            total[:] = 0.0
    return Run(
        2 * pairs * step, fine, coarse, averages, escaped, left, step, 2 * pairs * RECORDS * step
    )
