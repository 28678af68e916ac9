"""Covariance per unit of time of the coefficients that are estimated from clean samples.

Drift and diffusion are estimated from the trapezoid's residuals r and s of every step Δt, which
have mean zero in the right model (docs/method.md §3). With their slopes in the coefficients, their
variances at each state and the density π of the states at which steps begin, the information per
unit of time is a sum over states, equation (M79); it tends to ∫ f fᵀ/a π dx for the drift and to
½ Δt⁻¹ ∫ g gᵀ/a² π dx for the diffusion as Δt → 0.
"""

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy.linalg import expm

from worker.identification.estimation.rule_errors import chain_of_cells, residuals_of_step

Floats = NDArray[np.float64]
Function = Callable[[Floats], Floats]

CELLS = 128
"""Cells on which densities and residuals are computed.

With them T Var of the rate of an Ornstein-Uhlenbeck process is that of the exact likelihood to
2·10⁻⁴ at up to one relaxation time a step."""

FORGOTTEN = 1e6
"""Duration, times the rate inside the wells, from which the start of a trajectory is forgotten."""


@dataclass(frozen=True, slots=True, eq=False)
class Terms:
    """Terms of the drift and of the diffusion with their coefficients [data's units].

    drift, diffusion    functions of states (n,) → (n,)
    coefficients        (k,) those of the drift first
    """

    drift: tuple[Function, ...]
    diffusion: tuple[Function, ...]
    coefficients: Floats


@dataclass(frozen=True, slots=True, eq=False)
class Chain:
    """A model on cells.

    x          (CELLS,) centres of the cells [state]
    width      width of a cell [state]
    functions  (CELLS, k) terms, the drift's first
    b, a       (CELLS,) drift and diffusion
    rates      (CELLS, CELLS) generator [1/time]
    density    (CELLS,) stationary probability of each cell
    """

    x: Floats
    width: float
    functions: Floats
    b: Floats
    a: Floats
    rates: Floats
    density: Floats

    @property
    def mean_diffusion(self) -> float:
        """Stationary mean of a [state²/time]."""
        return float(self.density @ self.a)

    @property
    def fast_rate(self) -> float:
        """Rate 2⟨b²⟩/⟨a⟩ = −⟨b′⟩ of relaxation inside the wells [1/time]."""
        return 2 * float(self.density @ self.b**2) / self.mean_diffusion

    def density_from(self, start: float, duration: float) -> Floats:
        """Return the mean of the cells' probabilities over trajectories that begin at one state.

        Parameters
        ----------
        start : where every trajectory begins [state]
        duration : duration of a trajectory [time]
        """
        if duration * self.fast_rate > FORGOTTEN:
            return self.density
        n = len(self.x)
        begin = np.interp(start, self.x, np.arange(n))
        first = int(min(begin, n - 2))
        at = np.zeros(n)
        at[first], at[first + 1] = 1 - (begin - first), begin - first
        block = np.zeros((n + 1, n + 1))
        block[:n, :n], block[:n, n] = self.rates.T * duration, at
        return np.asarray(expm(block)[:n, n].clip(min=0))


def chain_of(terms: Terms, interval: tuple[float, float]) -> Chain:
    """Return a model on the cells of an interval that holds its stationary distribution [state]."""
    low, high = interval
    width = (high - low) / CELLS
    x: Floats = low + width * (np.arange(CELLS, dtype=np.float64) + 0.5)
    functions = np.stack([f(x) for f in (*terms.drift, *terms.diffusion)], axis=1)
    k = len(terms.drift)
    b, a = functions[:, :k] @ terms.coefficients[:k], functions[:, k:] @ terms.coefficients[k:]
    rates = chain_of_cells(b, a, width)
    growth = np.log(np.diag(rates, 1)) - np.log(np.diag(rates, -1))
    log_density = np.append(0.0, np.cumsum(growth))
    density = np.exp(log_density - log_density.max())
    return Chain(x, width, functions, b, a, rates, np.asarray(density / density.sum()))


def covariance_per_time(chain: Chain, n_drift: int, dt: float, density: Floats) -> Floats:
    """Return T times the covariance of all coefficients, the drift's first, (M79) and (M80).

    Parameters
    ----------
    chain : the model on cells
    n_drift : number of the drift's terms
    dt : sampling interval Δt [time]
    density : (CELLS,) probabilities of the states at which steps begin

    Returns
    -------
    (k, k) covariance times duration [units of both coefficients · time]
    """
    centred = chain.x - chain.density @ chain.x
    arguments = (chain.b, chain.a, chain.functions, chain.width, dt)
    table = residuals_of_step(chain.rates, centred, *arguments)
    slopes = np.split(table[:, 5:], 3, axis=1)
    own, mixed, diffusion = slopes[0][:, :n_drift], slopes[1][:, :n_drift], slopes[2][:, n_drift:]
    # Jumps between cells have a fourth cumulant that a diffusion has not.
    of_drift, of_square = table[:, 3], table[:, 4] - chain.a * dt * chain.width**2
    # A drift's term and a diffusion's may differ by many decades.
    scales = (
        np.sqrt(((own**2).T / of_drift) @ density),
        np.sqrt(((diffusion**2).T / of_square) @ density),
    )
    own, mixed, diffusion = own / scales[0], mixed / scales[0], diffusion / scales[1]

    def over(first: Floats, second: Floats, variance: Floats) -> Floats:
        return np.asarray((first * (density / variance)[:, None]).T @ second)

    drift_covariance = np.linalg.inv(over(own, own, of_drift))
    inverse = np.linalg.inv(over(diffusion, diffusion, of_square))
    # The diffusion's equation holds the drift's error, and both residuals are correlated.
    shift = over(diffusion, mixed, of_square)
    shared = (diffusion * (density * table[:, 2] / (of_drift * of_square))[:, None]).T @ own
    between = inverse @ (shared - shift) @ drift_covariance
    crossed = shared @ drift_covariance @ shift.T
    scatter = shift @ drift_covariance @ shift.T - crossed - crossed.T
    covariance = np.block(
        [[drift_covariance, between.T], [between, inverse + inverse @ scatter @ inverse]]
    )
    units = 1 / np.concatenate(scales)
    return np.asarray(dt * covariance * units * units[:, None])
