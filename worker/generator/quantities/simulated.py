"""What simulated paths show of a stationary distribution."""

from dataclasses import dataclass

from worker.generator.process import FloatArray


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
    reason: str | None = None
