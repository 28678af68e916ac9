"""The default estimator. Read `identify` first: which sampling rule, whether there is measurement noise, what the step leaves.

Sums, weights, supports and coefficients of one rule are in fitting.py.
"""

from dataclasses import dataclass, replace
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from worker.identification.checks.scalar_residuals import ResidualMoments, ResidualSums
from worker.identification.data.library import Library
from worker.identification.estimation.cell_equations import (
    WINDOWS_FOR_DIAGNOSTICS,
    WINDOWS_FOR_WEIGHTS,
    Fit,
    Problem,
    Weights,
    at_double_step,
    first_weights,
    fit_with,
    gather_for,
    residuals_of,
    walk,
    weights_of,
    weights_through_noise,
)
from worker.identification.estimation.scalar_kernel_choice import choose_kernels, gather_with_nodes
from worker.identification.selection.cross_validation import KernelChoice
from worker.identification.sums.cell_rules import (
    AdamsMoulton,
    Euler,
    RuleName,
    SamplingRule,
    Simpson,
    Trapezoid,
)
from worker.identification.sums.kernel_statistics import KernelStatistics
from worker.identification.sums.kernels import Kernels
from worker.identification.sums.measurement_noise import Noisy

Floats = NDArray[np.float64]
NoiseHandling = Literal["auto", "none", "corrected"]

SIGNIFICANT = 4.0
"""Standard errors beyond which a residual's correlation is called so; a false alarm in 16 000 fits."""

NOISE_ROUNDS = 8
SETTLED = 1e-4
"""Drift, then diffusion and the noise's variance together, are found with the correction for the variance before; its relative
change is below this in three to five rounds."""

LONGEST_EXPOSURE = 1.2
"""Exposure, in sampling intervals, up to which positively correlated residuals are those of motion blur."""

COARSEST_RESOLUTION = 0.2
"""Share of zero increments up to which rounding acts like independent noise: the values then move by two quanta a step."""


@dataclass(frozen=True, slots=True, eq=False)
class Identified:
    """The model of one coordinate, in internal units, with what is needed to judge it.

    raw            residuals of the pairwise fit that decided about noise and rule; the model's own are `residuals`
    coarse         raw coefficients of drift and diffusion on the same supports at twice the step; None where there are none
    kernel_weights (n_kernels,) Σ K_j(z_n), in windows
    longest_step   increments over longer steps were left out [time]
    exposure       time over which each sample is an average [sampling intervals]: motion blur, which acts like measurement noise
                   of the variance −aE/6 and was corrected for. Zero where there is none
    kernels        that were used
    variance       (n_nodes,) quadrature weights of the drift residuals' variance
    choice         how they were chosen, where they were
    """

    fit: Fit
    residuals: ResidualSums
    raw: ResidualSums
    statistics: KernelStatistics
    coarse: tuple[Floats | None, Floats | None]
    kernel_weights: Floats
    longest_step: float
    kernels: Kernels
    variance: Floats
    choice: KernelChoice | None = None
    exposure: float = 0.0

    @property
    def noise_variance(self) -> float:
        """Of the measurement noise that was corrected for, internal units."""
        return max(self.fit.rule.noise_variance, 0.0)


def identify(
    problem: Problem, rule: RuleName | Literal["auto"], noise: NoiseHandling
) -> Identified:
    """Drift and diffusion of one-dimensional trajectories. Raises NoDataUnderKernels."""
    problem = without_long_steps(problem)
    named: dict[str, SamplingRule] = {
        "euler": Euler(),
        "trapezoid": Trapezoid(),
        "simpson": Simpson(),
    }
    plain = fitted(problem, named.get(rule, Trapezoid()))
    if noise == "corrected" or (noise == "auto" and (is_noisy(plain.raw) or is_blurred(plain.raw))):
        corrected = fitted_through_noise(problem, plain)
        if corrected is not None:
            return corrected
    if rule == "auto" and is_too_coarse(plain):
        for finer in (AdamsMoulton(), Simpson()):
            if share_of_windows(problem, finer) > 0.8:
                return replace(fitted(problem, finer), raw=plain.raw)
    return plain


def fitted(problem: Problem, rule: SamplingRule) -> Identified:
    """By one rule, with weights from the residuals of a first fit."""
    statistics, at_nodes = gather_with_nodes(problem, rule)
    first = fit_with(
        problem, rule, statistics, first_weights(statistics, problem.kernels), briefly=True
    )
    weights = weights_of(
        residuals_of(problem, first, WINDOWS_FOR_WEIGHTS),
        first,
        statistics,
        problem.library,
        problem.kernels,
    )
    return _final(problem, rule, statistics, at_nodes, weights)


def fitted_through_noise(problem: Problem, plain: Identified) -> Identified | None:
    """Corrected for measurement noise; None where no noise is left once drift and diffusion are.

    Where the noise is larger than an increment, the fit is done again on every m-th sample (windows still start at every one):
    the diffusion's error is smallest where an increment's a m Δt is about the noise's variance.
    """
    thinned = _stride_beyond_resolution(problem, plain)
    found = _fitted_through_noise(problem, plain, thinned, keep=thinned > 1)
    if found is None:
        return None
    stride = _stride_beyond_noise(problem, found)
    if stride <= found.fit.rule.windows.stride:
        return found
    return _fitted_through_noise(problem, plain, stride) or found


def _fitted_through_noise(
    problem: Problem, plain: Identified, stride: int, *, keep: bool = False
) -> Identified | None:
    """With `keep` also where no noise is left: quantised values that are thinned until rounding does not show are still better
    than all of them."""
    rule = Noisy(0.0, stride)
    statistics, at_nodes = gather_with_nodes(problem, rule)
    if statistics.n_windows < 200:
        return None
    weights = Weights(statistics.time, statistics.time_squared.sum(axis=0))
    exposure = 0.0
    for _ in range(NOISE_ROUNDS):
        fit = fit_with(problem, rule, statistics, weights)
        assert fit.noise_variance is not None, "the rule has it as an unknown"
        variance, change = fit.noise_variance, fit.noise_variance - rule.variance
        a, _ = mean_diffusion_and_rate(problem.library, statistics, fit)
        exposure = max(-6 * variance, 0.0) / a if a > 0 else np.inf
        if not (variance > 0 or (exposure < LONGEST_EXPOSURE and is_blurred(plain.raw))):
            if not keep:
                return None
            rule, exposure = replace(rule, variance=0.0, shape=None), 0.0
            break
        # Blur is in proportion to the diffusion; an instrument's noise is the same everywhere.
        rule = replace(
            rule,
            variance=variance,
            shape=fit.diffusion.estimate.internal / a if variance < 0 else None,
        )
        if abs(change) < SETTLED * abs(variance):
            break
        weights = weights_through_noise(problem, statistics, fit, variance)
    return replace(
        _final(problem, rule, statistics, at_nodes, weights), raw=plain.raw, exposure=exposure
    )


def _stride_beyond_noise(problem: Problem, found: Identified) -> int:
    """Stride at which an increment's a m Δt reaches the noise's variance, but not beyond a fifth of a
    relaxation time, where the rule's own error sets in."""
    a, rate = mean_diffusion_and_rate(problem.library, found.statistics, found.fit)
    if not a > 0:
        return 1
    beyond_noise = found.noise_variance / a
    return max(
        1,
        int(
            min(beyond_noise, 0.2 / rate if rate > 0 else np.inf, problem.data.n_increments / 1000)
        ),
    )


def is_noisy(residuals: ResidualMoments) -> bool:
    """Whether neighbouring residuals are anticorrelated beyond chance."""
    return (
        residuals.lag_one_z < -SIGNIFICANT
        and residuals.lag_one_correlation < -0.005
        and not is_deterministic(residuals)
    )


def is_blurred(residuals: ResidualMoments) -> bool:
    """Whether neighbouring residuals, and only neighbours, are correlated as those of samples that are averages over an
    exposure: by up to ¼, with the whole interval exposed."""
    near, far = residuals.lag_one_correlation, residuals.lag_two_correlation
    # Inertia and filters go on; a drift fitted to blurred samples leaves a trace of the other sign.
    only_neighbours = residuals.lag_two_z < SIGNIFICANT or far < 0.1 * near
    # Jumps, and noise that comes and goes, make correlations of their own.
    of_a_diffusion = not (residuals.is_heavy_tailed or is_deterministic(residuals))
    return (
        residuals.lag_one_z > SIGNIFICANT
        and 0.02 < near < 0.35
        and only_neighbours
        and of_a_diffusion
    )


def is_deterministic(residuals: ResidualMoments) -> bool:
    """Whether next to nothing of the increments' mean square is noise."""
    return bool(residuals.squares[0] < 1e-3 * residuals.squares[1])


def is_too_coarse(identified: Identified) -> bool:
    """Whether doubling the step moves a coefficient beyond its error and by more than a percent."""
    for component, coarse in zip(
        (identified.fit.drift, identified.fit.diffusion), identified.coarse, strict=True
    ):
        estimate = component.estimate
        if coarse is None:
            continue
        moved = np.abs(coarse - estimate.raw)
        if bool(np.any((moved > 2.5 * estimate.std_error) & (moved > 0.01 * np.abs(estimate.raw)))):
            return True
    return False


def share_of_windows(problem: Problem, rule: SamplingRule) -> float:
    """Windows of the rule by pairs of samples: few where steps are uneven or trajectories short."""
    each = (
        sum(c.size for c in walk(problem, r, at_most=WINDOWS_FOR_WEIGHTS))
        for r in (rule, Trapezoid())
    )
    windows, pairs = each
    return windows / max(pairs, 1)


def without_long_steps(problem: Problem) -> Problem:
    """Steps up to half a relaxation time, where sampling is uneven and enough steps are shorter; else all.

    Over a longer step the quadrature rule errs by more than two percent. The choice of steps does not depend on the noise, so
    leaving the long ones out biases nothing.
    """
    steps = problem.scales.steps
    if not steps[-1] > 1.5 * steps[0]:
        return problem
    statistics = gather_for(problem, Trapezoid())
    fit = fit_with(problem, Trapezoid(), statistics, first_weights(statistics, problem.kernels))
    _, rate = mean_diffusion_and_rate(problem.library, statistics, fit)
    if not rate > 0:
        return problem
    limit = problem.scales.time / (2 * rate)
    share = float(np.searchsorted(steps, limit)) / len(steps)
    return replace(problem, longest_step=limit) if 0.2 < share < 1 else problem


def mean_diffusion_and_rate(
    library: Library, statistics: KernelStatistics, fit: Fit
) -> tuple[float, float]:
    """⟨a⟩ and the relaxation rate 2⟨b²⟩/⟨a⟩ = −⟨b′⟩ (integration by parts under the stationary law), internal units."""
    functions, time = library.internal(statistics.nodes), float(statistics.time.sum())
    b, a = functions @ fit.drift.estimate.internal, functions @ fit.diffusion.estimate.internal
    diffusion = float(statistics.time @ a) / time
    return diffusion, 2 * float(statistics.time @ b**2) / time / diffusion if diffusion > 0 else 0.0


def _final(
    problem: Problem,
    rule: SamplingRule,
    statistics: KernelStatistics,
    at_nodes: KernelStatistics | None,
    weights: Weights,
) -> Identified:
    """The fit by these weights, after the kernels are chosen where there is a choice."""
    choice = None
    if at_nodes is not None:
        problem, choice = choose_kernels(problem, rule, at_nodes, weights)
        statistics = at_nodes.under(problem.kernels)
    fit = fit_with(problem, rule, statistics, weights)
    return replace(_judged(problem, fit, statistics, weights), choice=choice)


def _judged(
    problem: Problem, fit: Fit, statistics: KernelStatistics, weights: Weights
) -> Identified:
    residuals = residuals_of(problem, fit, WINDOWS_FOR_DIAGNOSTICS)
    return Identified(
        fit=fit,
        residuals=residuals,
        raw=residuals,
        statistics=statistics,
        coarse=at_double_step(problem, fit, statistics, weights),
        kernel_weights=statistics.at_nodes(problem.kernels)
        @ residuals.count
        * (statistics.n_windows / residuals.n_windows),
        longest_step=problem.longest_step,
        kernels=problem.kernels,
        variance=weights.drift,
    )


def _stride_beyond_resolution(problem: Problem, plain: Identified) -> int:
    """Samples to skip until quantised values move by about two quanta: only then is rounding like independent noise."""
    stride, share = 1, plain.raw.zero_steps
    limit = problem.data.n_increments // 200
    while share > COARSEST_RESOLUTION and 2 * stride < limit:
        stride *= 2
        zeros = n = 0
        for chunk in walk(problem, Trapezoid(stride)):
            zeros += int((chunk.left == chunk.right).sum())
            n += chunk.size
        share = zeros / max(n, 1)
    return stride
