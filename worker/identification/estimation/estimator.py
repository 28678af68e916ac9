"""The default estimator; read `identify` first.

The trapezoid rule comes first; then a correction where residuals show measurement noise, or a finer
rule where the step is too coarse. Sums of one variable are taken in cells (`cell_equations.py`),
sums of several directly (`direct_equations.py`).
"""

from dataclasses import replace
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from worker.identification.checks.residuals import SIGNIFICANT, ResidualMoments
from worker.identification.estimation.cell_equations import (
    WINDOWS_FOR_WEIGHTS,
    CellEquations,
    Weights,
    cell_equations,
    gather_for,
    walk,
    weights_through_noise,
)
from worker.identification.estimation.components import Equations, coarse_coefficients, solve
from worker.identification.estimation.direct_equations import JointEquations, joint_equations_of
from worker.identification.estimation.fit import Fit, Solution
from worker.identification.estimation.kernel_choice import choose_kernels
from worker.identification.estimation.possible_noise import is_noisy, with_possible_noise
from worker.identification.estimation.problem import Problem, at_longer_steps, completed
from worker.identification.selection.support_selection import simplest
from worker.identification.sums.kernel_statistics import KernelStatistics
from worker.identification.sums.measurement_noise import MeasurementNoise
from worker.identification.sums.rules import (
    ADAMS_MOULTON,
    RULES,
    SCALAR_THROUGH_NOISE,
    SIMPSON,
    THROUGH_NOISE,
    TRAPEZOID,
    RuleName,
    SamplingRule,
    ScalarNoise,
)
from worker.identification.sums.window_statistics import Sample

Floats = NDArray[np.float64]
NoiseHandling = Literal["auto", "none", "corrected"]

FEWEST_WINDOWS = 200

NOISE_ROUNDS = 8
NOISE_TOLERANCE = 1e-4
"""Relative change of the noise's variance at which the iteration ends, after three to five rounds.

Each round fits drift, then diffusion and variance, with the correction for the variance before."""

LONGEST_EXPOSURE = 1.2
"""Longest exposure of motion blur that is corrected for [sampling intervals]."""

COARSEST_RESOLUTION = 0.2
"""Share of zero increments up to which rounding acts like independent noise: two quanta a step."""

UNCORRELATED = 0.1
"""Correlation of neighbouring residuals below which a thinned record is no longer persistent."""

LEAST_SHARE = 0.8
"""Share of the windows that a finer rule must keep; it needs several equal steps in a row."""


def identify(problem: Problem, rule: RuleName | Literal["auto"], noise: NoiseHandling) -> Fit:
    """Identify drift and diffusion. Raises NoDataUnderKernels.

    Parameters
    ----------
    problem : data, library and instruments
    rule : name of the sampling rule; `auto` lets the residuals decide
    noise : treatment of measurement noise
    """
    problem = _without_long_steps(problem)
    if problem.library.dimension == 1:
        return _identify_one(problem, rule, noise)
    return _identify_several(problem, rule, noise)


def _identify_one(problem: Problem, rule: RuleName | Literal["auto"], noise: NoiseHandling) -> Fit:
    plain = fitted(problem, RULES.get(rule, TRAPEZOID))
    (raw,) = plain.raw
    if noise == "corrected" or (noise == "auto" and (raw.is_noisy or raw.is_blurred)):
        corrected = _through_noise_of_one(problem, plain)
        if corrected is not None:
            return corrected
    if rule == "auto" and _is_too_coarse(plain):
        for finer in (ADAMS_MOULTON, SIMPSON):
            if _share_of_windows(problem, finer) > LEAST_SHARE:
                return replace(fitted(problem, finer), raw=plain.raw)
    return plain


def _identify_several(
    problem: Problem, rule: RuleName | Literal["auto"], noise: NoiseHandling
) -> Fit:
    asked = RULES.get(rule, TRAPEZOID)
    # Residuals of overlapping windows are correlated anyway; those of pairs show noise of the path.
    plain = fitted(problem, TRAPEZOID if asked.overlapping else asked)
    if noise == "corrected" or (noise == "auto" and is_noisy(_with_noise(plain))):
        corrected = _through_noise_of_several(problem, plain)
        if corrected is not None:
            return corrected
    fit = _without_noise(problem, rule, asked, plain)
    return with_possible_noise(fit, problem) if noise == "auto" else fit


def _without_noise(
    problem: Problem, rule: RuleName | Literal["auto"], asked: SamplingRule, plain: Fit
) -> Fit:
    """Fit several variables by the rule that suits residuals without measurement noise.

    Parameters
    ----------
    problem : data, library and instruments
    rule, asked : name of the sampling rule, and the rule
    plain : first fit, of neighbouring samples
    """
    persistent = any(m.is_persistent for m in _with_noise(plain))
    if rule == "auto" and persistent:
        slower = _fitted_at_longer_steps(problem, plain)
        if slower is not None:
            return slower
    if asked.overlapping:
        return fitted(problem, asked, plain)
    if persistent:
        # V holds the residuals' size only; the blocks of the record hold all their covariance.
        plain = fitted(problem, replace(asked, persistent=True), plain)
    if rule == "auto" and _is_too_coarse(plain):
        finer = fitted(problem, SIMPSON, plain)
        if finer.n_windows > LEAST_SHARE * plain.n_windows:
            return finer
    return plain


def fitted(problem: Problem, rule: SamplingRule, plain: Fit | None = None) -> Fit:
    """Fit by one rule, with weights from the residuals of a first fit.

    Parameters
    ----------
    problem : data, library and instruments
    rule : sampling rule
    plain : first fit, by the plain rule; None: a rough one by this rule
    """
    of_dimension = cell_equations if problem.library.dimension == 1 else joint_equations_of
    equations: Equations = of_dimension(problem, rule)
    rough = plain or solve(problem, equations, equations.first_covariances(), briefly=True)
    return _judged(problem, equations, equations.covariances(rough), plain)


def _judged(problem: Problem, equations: Equations, v: Any, plain: Fit | None) -> Fit:
    """Choose kernels if there is a choice, solve with these covariances, and measure residuals."""
    if isinstance(equations, CellEquations) and equations.at_nodes is not None:
        problem = choose_kernels(problem, equations.rule, equations.at_nodes, v)
        equations = replace(
            equations, problem=problem, statistics=equations.at_nodes.under(problem.kernels)
        )
    solution = solve(problem, equations, v)
    residuals = equations.residuals(solution)
    noise_free = residuals.noise_free() if plain is None else plain.noise_free
    drift = tuple(
        simplest(s, equations.of_drift(p, v), problem.library) if p in noise_free else s
        for p, s in enumerate(solution.drift)
    )
    coarse = coarse_coefficients(problem, equations, v, replace(solution, drift=drift))
    return Fit(
        rule=solution.rule,
        drift=drift,
        diffusion=completed(problem, solution.diffusion, noise_free),
        condition=solution.condition,
        noise=_noise_of(equations),
        residuals=residuals.moments,
        raw=residuals.moments if plain is None else plain.raw,
        coarse=(coarse[0], {p: c for p, c in coarse[1].items() if not set(p) & set(noise_free)}),
        instruments=problem.instruments,
        kernel_weights=equations.kernel_weights(residuals),
        n_windows=equations.n_windows,
        longest_step=problem.longest_step,
        least_step=problem.least_step,
        scores=residuals.scores,
        noise_free=noise_free,
        choice=problem.choice,
        statistics=equations.statistics if isinstance(equations, CellEquations) else None,
        variance=v.drift if isinstance(equations, CellEquations) else None,
        sample=equations.sample if isinstance(equations, JointEquations) else None,
    )


def _noise_of(equations: Equations) -> Floats | None:
    """Return the covariance of the measurement noise that is corrected for; (d, d)."""
    if isinstance(equations, JointEquations):
        return None if equations.noise is None else equations.noise.covariance
    return None if equations.rule.noise is None else np.array([[equations.rule.noise.variance]])


def _is_too_coarse(fit: Fit) -> bool:
    """Check whether doubling the step moves a coefficient by more than its error and a percent."""
    for _, selected, coarse in fit.components_at_double_step():
        estimate = selected.estimate
        if coarse is not None and len(coarse):
            moved = np.abs(coarse - estimate.raw)
            if bool(
                np.any((moved > 2.5 * estimate.std_error) & (moved > 0.01 * np.abs(estimate.raw)))
            ):
                return True
    return False


def _without_long_steps(problem: Problem) -> Problem:
    """Leave out steps of more than half a relaxation time, if sampling is uneven and enough remain.

    The quadrature rule errs by more than two percent over a longer step. The choice of steps does
    not depend on the noise, so it biases nothing.
    """
    steps = problem.scales.steps
    if not steps[-1] > 1.5 * steps[0]:
        return problem
    if problem.library.dimension == 1:
        equations = CellEquations(problem, TRAPEZOID, gather_for(problem, TRAPEZOID))
        _, rate = _mean_diffusion_and_rate(
            problem, equations.statistics, solve(problem, equations, equations.first_covariances())
        )
    else:
        joint = joint_equations_of(problem, TRAPEZOID)
        rate = _fastest_rate(joint.rough_drift(), joint.sample)
    if not rate > 0:
        return problem
    limit = problem.scales.time / (2 * rate)
    share = float(np.searchsorted(steps, limit)) / len(steps)
    return replace(problem, longest_step=limit) if 0.2 < share < 1 else problem


def _with_noise(fit: Fit) -> list[ResidualMoments]:
    """Return the residuals of the variables whose increments hold noise of their own."""
    return [m for p, m in enumerate(fit.raw) if p not in fit.noise_free]


def _through_noise_of_one(problem: Problem, plain: Fit) -> Fit | None:
    """Correct for measurement noise; None where drift and diffusion explain the residuals.

    Where the noise exceeds an increment, the fit is repeated with increments over m samples from
    every sample: the diffusion's error is smallest where a m Δt is about the noise's variance.
    """
    thinned = _stride_beyond_resolution(problem, plain.raw[0].zero_steps)
    found = _through_noise_at(problem, plain, thinned, keep=thinned > 1)
    if found is None:
        return None
    stride = _stride_beyond_noise(problem, found)
    if stride <= found.rule.windows.stride:
        return found
    return _through_noise_at(problem, plain, stride) or found


def _through_noise_at(
    problem: Problem, plain: Fit, stride: int, *, keep: bool = False
) -> Fit | None:
    """Correct for measurement noise, on every `stride`-th sample.

    keep   return a fit also where no noise is left: quantised values that are thinned until
           rounding does not show are better than all
    """
    rule, noise = SCALAR_THROUGH_NOISE.at_stride(stride), ScalarNoise(0.0)
    equations = cell_equations(problem, rule)
    statistics = equations.statistics
    if statistics.n_windows < FEWEST_WINDOWS:
        return None
    weights = Weights(statistics.time, statistics.time_squared.sum(axis=0))
    exposure = 0.0
    for _ in range(NOISE_ROUNDS):
        found = solve(problem, replace(equations, rule=replace(rule, noise=noise)), weights)
        assert found.noise is not None, "the rule has it as an unknown"
        variance = float(found.noise[0, 0])
        change = variance - noise.variance
        a, _ = _mean_diffusion_and_rate(problem, statistics, found)
        exposure = max(-6 * variance, 0.0) / a if a > 0 else np.inf
        if not (variance > 0 or (exposure < LONGEST_EXPOSURE and plain.raw[0].is_blurred)):
            if not keep:
                return None
            noise, exposure = ScalarNoise(0.0), 0.0
            break
        # Blur is proportional to the diffusion; an instrument's noise is the same everywhere.
        noise = ScalarNoise(variance, found.tensor[0, 0] / a if variance < 0 else None)
        if abs(change) < NOISE_TOLERANCE * abs(variance):
            break
        weights = weights_through_noise(problem, statistics, found, variance)
    return replace(
        _judged(problem, replace(equations, rule=replace(rule, noise=noise)), weights, plain),
        exposure=exposure,
    )


def _through_noise_of_several(problem: Problem, plain: Fit) -> Fit | None:
    """Correct for measurement noise; None where no noise is left, or it cannot be done."""
    if problem.library.other:
        return None
    equations = joint_equations_of(problem, THROUGH_NOISE)
    if equations.n_windows < FEWEST_WINDOWS:
        return None
    v, covariance, found = equations.covariances(plain), np.zeros((len(plain.drift),) * 2), None
    for _ in range(NOISE_ROUNDS):
        noisy = replace(equations, noise=MeasurementNoise(covariance, problem.library))
        found = solve(problem, noisy, v, briefly=True)
        before = covariance
        covariance = _positive(noisy.noise_covariance(found.coefficients, found.tensor))
        if not covariance.any():
            return None
        if np.abs(covariance - before).max() < NOISE_TOLERANCE * covariance.max():
            break
    assert found is not None, "there is a round"
    noisy = replace(equations, noise=MeasurementNoise(covariance, problem.library))
    return _judged(problem, noisy, noisy.covariances(found), plain)


def _fitted_at_longer_steps(problem: Problem, plain: Fit) -> Fit | None:
    """Fit at the shortest steps whose residuals are uncorrelated.

    Returns None where no such steps are shorter than half a relaxation time."""
    for slower in at_longer_steps(problem):
        fit = fitted(slower, TRAPEZOID)
        assert fit.sample is not None, "there are several variables"
        if (
            _fastest_rate(fit.coefficients, fit.sample) * slower.least_step
            > 0.5 * problem.space.time
        ):
            return None
        if all(
            m.lag_one_correlation < UNCORRELATED and m.lag_one_z < SIGNIFICANT
            for m in _with_noise(fit)
        ):
            return replace(fit, before_thinning=plain.raw)
    return None


def _share_of_windows(problem: Problem, rule: SamplingRule) -> float:
    """Return windows of the rule per pair of samples: few if steps are uneven or records short."""
    each = (
        sum(c.size for c in walk(problem, r, at_most=WINDOWS_FOR_WEIGHTS))
        for r in (rule, TRAPEZOID)
    )
    windows, pairs = each
    return windows / max(pairs, 1)


def _mean_diffusion_and_rate(
    problem: Problem, statistics: KernelStatistics, model: Solution
) -> tuple[float, float]:
    """Return ⟨a⟩ and the relaxation rate 2⟨b²⟩/⟨a⟩ = −⟨b′⟩, in internal units.

    The two forms are equal by integration by parts under the stationary distribution."""
    functions, time = problem.library.internal(statistics.nodes), float(statistics.time.sum())
    b = functions @ model.drift[0].estimate.internal
    a = functions @ model.diffusion[0, 0].estimate.internal
    diffusion = float(statistics.time @ a) / time
    return diffusion, 2 * float(statistics.time @ b**2) / time / diffusion if diffusion > 0 else 0.0


def _fastest_rate(drift: Floats, sample: Sample) -> float:
    """Return the size of the largest eigenvalue of the drift's linear regression on the state.

    drift   (d, n_functions) internal coefficients"""
    b, y = sample.functions @ drift.T, sample.instrument
    slopes = np.linalg.lstsq(np.column_stack([y, np.ones(len(y))]), b, rcond=None)[0][:-1]
    return float(np.abs(np.linalg.eigvals(slopes)).max())


def _stride_beyond_noise(problem: Problem, found: Fit) -> int:
    """Return the stride at which an increment's a m Δt reaches the noise's variance.

    It stays below a fifth of a relaxation time, where the rule's own error sets in."""
    assert found.statistics is not None, "there is one variable"
    a, rate = _mean_diffusion_and_rate(problem, found.statistics, found)
    if not a > 0:
        return 1
    beyond_noise = float(found.noise_variances[0]) / a
    return max(
        1,
        int(
            min(beyond_noise, 0.2 / rate if rate > 0 else np.inf, problem.data.n_increments / 1000)
        ),
    )


def _stride_beyond_resolution(problem: Problem, share: float) -> int:
    """Return the stride at which quantised values move by about two quanta.

    Only then does rounding act like independent noise.

    share   of the increments that are zero
    """
    stride, limit = 1, problem.data.n_increments // 200
    while share > COARSEST_RESOLUTION and 2 * stride < limit:
        stride *= 2
        zeros = n = 0
        for chunk in walk(problem, TRAPEZOID.at_stride(stride)):
            zeros += int((chunk.left == chunk.right).sum())
            n += chunk.size
        share = zeros / max(n, 1)
    return stride


def _positive(covariance: Floats) -> Floats:
    """Return the nearest positive semi-definite matrix."""
    values, vectors = np.linalg.eigh(covariance)
    return np.asarray((vectors * values.clip(min=0)) @ vectors.T)
