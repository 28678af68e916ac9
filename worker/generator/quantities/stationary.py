"""The stationary distribution, its potential, local relaxation rates and simulated estimates."""

from dataclasses import dataclass
from typing import Annotated

import numpy as np

from worker.generator.process import FloatArray, read_only
from worker.generator.quantities.kinds import (
    COVARIANCE,
    DENSITY,
    NOT_NEGATIVE,
    NUMBER,
    PLACE,
    POSITIVE_CURVE,
    POTENTIAL,
    SHAPE,
    SIZE,
)
from worker.generator.quantities.outcomes import Reason


@dataclass(frozen=True, slots=True, eq=False)
class StationaryDistribution:
    """Invariant probability distribution of one coordinate, equations (G1)–(G3).

    mean        (d,) [state]; None where it does not exist
    covariance  (d, d) [state²]; None where it does not exist
    skewness    (d,) third standardised moment; None where it does not exist
    kurtosis    (d,) fourth central moment over the squared variance, 3 for a Gaussian; None where
                it does not exist
    grid        d arrays of points [state]
    density     on the grid [1/state^d]
    reasons     which moments do not exist, and why
    """

    mean: Annotated[tuple[float | None, ...], PLACE]
    covariance: Annotated[tuple[tuple[float | None, ...], ...], COVARIANCE]
    skewness: Annotated[tuple[float | None, ...], SHAPE]
    kurtosis: Annotated[tuple[float | None, ...], SHAPE]
    grid: tuple[FloatArray, ...]
    density: Annotated[FloatArray, POSITIVE_CURVE]
    reasons: tuple[Reason, ...] = ()


@dataclass(frozen=True, slots=True, eq=False)
class MultivariateDistribution:
    """Invariant probability distribution of several coordinates.

    mean                (d,) [state]; None for an angle
    covariance          (d, d) [state²]; None for an angle
    skewness, kurtosis  (d,) of each coordinate; None for an angle
    grid                arrays of points of each coordinate; empty where there is no density to show
                        [state]
    density             (n₀, n₁) on the grid [1/state²]; empty in three coordinates and more
    reasons             which numbers are missing or only approximate, and why
    current             (n₀, n₁, 2) probability current on the grid [1/(state·time)]; None where it
                        was not computed
    circulation         ½⟨x b_y − y b_x⟩, the area that the process sweeps per time [state²/time];
                        None for an angle, or d > 2
    entropy_production  ∫ 2 Jᵀa⁻¹J / π, per time, in units of Boltzmann's constant [1/time]; 0 in
                        equilibrium; None where the noise does not act in every direction
    """

    mean: Annotated[tuple[float | None, ...], PLACE]
    covariance: Annotated[tuple[tuple[float | None, ...], ...], COVARIANCE]
    skewness: Annotated[tuple[float | None, ...], SHAPE]
    kurtosis: Annotated[tuple[float | None, ...], SHAPE]
    grid: tuple[FloatArray, ...]
    density: Annotated[FloatArray, DENSITY]
    reasons: tuple[Reason, ...] = ()
    current: FloatArray | None = None
    circulation: Annotated[float | None, NUMBER] = None
    entropy_production: Annotated[float | None, NOT_NEGATIVE] = None


@dataclass(frozen=True, slots=True, eq=False)
class DistributionNumbers:
    """Single numbers of a distribution.

    mean                (d,) [state]
    covariance          (d, d) [state²]
    skewness, kurtosis  (d,) of each coordinate; None where they are not computed
    circulation, entropy_production
                        as in `MultivariateDistribution`
    """

    mean: FloatArray
    covariance: FloatArray
    skewness: FloatArray | None = None
    kurtosis: FloatArray | None = None
    circulation: float | None = None
    entropy_production: float | None = None


@dataclass(frozen=True, slots=True, eq=False)
class EffectivePotential:
    """Effective potential Φ(x) = −∫2b/a dx + log a, equation (G1).

    It is zero at its lowest point of the grid, and −log π where there is a stationary distribution.

    grid    (n,) [state]
    values  (n,) [kT]; inf where the density is below e^−2000 of its peak
    """

    grid: FloatArray
    values: Annotated[FloatArray, POTENTIAL]


@dataclass(frozen=True, slots=True, eq=False)
class LocalRelaxation:
    """Local relaxation rate γ(x) = |b'(x)|/a(x), equation (G16).

    It is large where the drift changes fast against the noise. It is not the spectral gap.

    grid   (n,) [state]
    slope  (n,) b'(x)/a(x) [1/state²]; nan where a is not positive
    """

    grid: FloatArray
    slope: Annotated[FloatArray, SIZE]

    @property
    def rate(self) -> FloatArray:
        """(n,) γ [1/state²]: a rate only where the state is measured in units of the noise."""
        return read_only(np.abs(self.slope))


@dataclass(frozen=True, slots=True)
class Simulated:
    """Number from simulated paths, with its Monte Carlo standard error."""

    value: float
    std_error: float


@dataclass(frozen=True, slots=True, eq=False)
class Marginal:
    """Density of one coordinate in equal bins, and its standard errors [1/state].

    edges   (n + 1,) [state]
    """

    edges: FloatArray
    density: FloatArray
    std_error: FloatArray


@dataclass(frozen=True, slots=True, eq=False)
class Estimates:
    """Moments, integrated times and marginals from simulated paths.

    Numbers are None for an angle, whose moments would depend on where the circle is cut.

    integrated_times   ∫₀^∞ of each coordinate's autocorrelation [time]; None where the paths are
                       too short for it
    step_error         what the extrapolation to step zero changed, the largest of: a mean, in
                       standard deviations; a standard deviation, relative. What is left is of
                       higher order in the step
    """

    mean: tuple[Simulated | None, ...]
    covariance: tuple[tuple[Simulated | None, ...], ...]
    skewness: tuple[Simulated | None, ...]
    kurtosis: tuple[Simulated | None, ...]
    integrated_times: tuple[Simulated | None, ...]
    marginals: tuple[Marginal, ...]
    step_error: float


@dataclass(frozen=True, slots=True, eq=False)
class SimulatedLaw:
    """What the simulated paths show.

    n_paths, n_escaped   number of paths, and how many of them ran away
    duration, step       length of every path after the burn-in, and its step [time]
    estimates            None where paths ran away or did not settle
    reason               why there are no estimates
    """

    n_paths: int
    n_escaped: int
    duration: float
    step: float
    estimates: Estimates | None = None
    reason: Reason | None = None
