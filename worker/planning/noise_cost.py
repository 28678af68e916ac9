"""What measurement noise costs: how it widens the errors of a plan's own model.

The covariance through noise is found in a few simulated records of the model (`noisy_errors.py`),
and smoothed over sampling intervals. With L the
symmetric root of the covariance without noise, and of (⟨a⟩Δt)²Δt/100 for the noise's variance,

    T Cov θ = L e^P L,     P = P_0 + P_1 log d + P_2 d,     d = rate·Δt                    (M82)

fitted to the logarithms of the matrices of all records, whose standard errors scatter by 5 to 9 %.
"""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy.linalg import block_diag
from scipy.stats import norm

from worker.generator.process import DiffusionProcess
from worker.identification.errors import IdentificationError
from worker.planning.errors import NoPlan
from worker.planning.information import Chain, covariance_per_time
from worker.planning.noisy_errors import covariance_through_noise
from worker.planning.records import Names, Recording, problem_of_terms, simulated

Floats = NDArray[np.float64]

SAMPLES, PATHS = 20_000, 50
"""Samples and paths of a simulated record. Its covariance takes 0.1 s, and scatters by 5 to 9 % in
the standard errors, as that of its 200 blocks does."""

FEW, MANY = 1.2, 3.0
"""Ratio of the longest interval to the shortest up to which P is a constant, and up to which it is
linear in log d."""


UNIT = 0.1
"""Unit of the error of s², in the ⟨a⟩Δt^(3/2) of increments. In a small one, e^P ≥ 1 says that the
coefficients' errors with s² known are at least those without noise."""


@dataclass(frozen=True, slots=True, eq=False)
class NoisyModel:
    """A model whose records are simulated with noise.

    process, names   the model and its terms
    coefficients     (k,) of its terms, the drift's first [data's units]
    chain            the model on cells
    seed             seed of the random numbers
    """

    process: DiffusionProcess
    names: Names
    coefficients: Floats
    chain: Chain
    seed: int

    def costs_at(self, dt: float, noise: float) -> "NoiseCost":
        """Find what noise costs at one sampling interval, on one path for any noise.

        Raises NoPlan.
        """
        return self.costs_over(np.array([dt]), noise)

    def costs_over(self, intervals: Floats, noise: float) -> "NoiseCost":
        """Find what noise costs at sampling intervals. Raises NoPlan where no record tells it.

        Parameters
        ----------
        intervals : (n,) sampling intervals [time]
        noise : standard deviation of the noise [state]
        """
        at, logarithms = [], []
        for number, dt in enumerate(intervals.tolist()):
            random = np.random.default_rng([self.seed, number])
            try:
                found = self._covariance(dt, noise, random)
                clean = covariance_per_time(self.chain, len(self.names[0]), dt, self.chain.density)
            except (IdentificationError, np.linalg.LinAlgError):
                continue
            inverse = np.linalg.inv(_root(clean, self.chain, dt))
            values, vectors = np.linalg.eigh(inverse @ found @ inverse.T)
            if np.isfinite(values).all() and values[0] > 0:
                at.append(dt)
                logarithms.append((vectors * np.log(values)) @ vectors.T)
        if not at:
            raise NoPlan(
                "No simulated record of the model with this measurement noise determines its "
                "coefficients. Plan with less `noise`, or leave out the terms that matter least."
            )
        span = max(at) / min(at)
        n_terms = min(len(at), 1 if span < FEW else 2 if span < MANY else 3)
        flat = np.reshape(logarithms, (len(at), -1))
        terms = np.stack([_smooth(self.chain, dt, n_terms) for dt in at])
        return NoiseCost(np.asarray(np.linalg.lstsq(terms, flat)[0], dtype=np.float64), self.chain)

    def _covariance(self, dt: float, noise: float, random: np.random.Generator) -> Floats:
        """Return T times the covariance of all coefficients and of the noise's variance."""
        recording = Recording(dt, SAMPLES // PATHS + 1, PATHS, noise, None)
        record = simulated(self.process, recording, self.chain, random)
        problem = problem_of_terms(record, dt, self.names)
        return covariance_through_noise(problem, self.names, self.coefficients, self.chain, noise)


@dataclass(frozen=True, slots=True, eq=False)
class NoiseCost:
    """Cost of noise over sampling intervals, (M82).

    logarithms   (m, (k + 1)²) coefficients P_0 … of P, m ≤ 3
    """

    logarithms: Floats
    chain: Chain

    def through(self, clean: Floats, dt: float, noise: float) -> "ThroughNoise":
        """Return the covariance through noise.

        Parameters
        ----------
        clean : (k, k) T times the covariance without noise
        dt : sampling interval [time]
        noise : standard deviation of the noise [state]
        """
        n = len(clean) + 1
        terms = _smooth(self.chain, dt, len(self.logarithms))
        values, vectors = np.linalg.eigh((terms @ self.logarithms).reshape(n, n))
        root = _root(clean, self.chain, dt)
        # Noise takes information away, but records scatter.
        half = root @ (vectors * np.exp(values.clip(min=0) / 2))
        return ThroughNoise(half @ half.T, noise * noise)


@dataclass(frozen=True, slots=True, eq=False)
class ThroughNoise:
    """T times the covariance of all coefficients and of the noise's variance s².

    An estimate of s² that would be negative is zero. Of the errors that s² passes on, those that go
    with a negative estimate are cut off: with r = s²√T/√C_ss, (M83),

        T Cov(c, d) = C − (1 − γ) C_·s C_s·/C_ss,     γ = Φ(r) − r φ(r) + r² Φ(−r)

    so that noise too weak to be seen costs less than noise that is seen.

    covariance   (k + 1, k + 1) without this
    variance     s² [state²]
    """

    covariance: Floats
    variance: float

    def after(self, duration: float) -> Floats:
        """Return T times the covariance of the coefficients after a duration T; (k, k)."""
        of_variance = float(self.covariance[-1, -1])
        r = self.variance * np.sqrt(duration / of_variance)
        seen = norm.cdf(r) - r * norm.pdf(r) + r * r * norm.sf(r)
        passed = self.covariance[:-1, -1]
        return np.asarray(
            self.covariance[:-1, :-1] - (1 - seen) * np.outer(passed, passed) / of_variance
        )


def _smooth(chain: Chain, dt: float, count: int) -> Floats:
    """Return the first of 1, log d and d at d = rate·Δt; (count,)."""
    d = chain.fast_rate * dt
    return np.array([1.0, np.log(d), d][:count])


def without_noise(clean: Floats) -> ThroughNoise:
    """Return a covariance (k, k) times duration as one of samples that are known to be clean."""
    return ThroughNoise(block_diag(clean, np.ones((1, 1))), 0.0)


def _root(clean: Floats, chain: Chain, dt: float) -> Floats:
    """Return the symmetric root L but for units, of what is there without noise; (k + 1, k + 1)."""
    errors = np.sqrt(np.diag(clean))
    values, vectors = np.linalg.eigh(clean / errors / errors[:, None])
    n = len(clean)
    out = np.zeros((n + 1, n + 1))
    out[:n, :n] = errors[:, None] * ((vectors * np.sqrt(values.clip(min=1e-12))) @ vectors.T)
    out[n, n] = UNIT * chain.mean_diffusion * dt * np.sqrt(dt)
    return out
