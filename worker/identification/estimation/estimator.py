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
from worker.identification.estimation.trajectory_errors import compare_trajectories, wider_errors
from worker.identification.selection.support_selection import simplest
from worker.identification.sums.kernel_statistics import KernelStatistics
from worker.identification.sums.measurement_noise import MeasurementNoise
from worker.identification.sums.rounding import rounding_of
from worker.identification.sums.rules import (
    ADAMS_MOULTON,
    NO_NOISE,
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

NOISE_FOUND = 2.5
"""Standard errors from which a variance of measurement noise is corrected for.

A false alarm, one in 160 records that are looked at, costs precision; noise that is missed costs
the interval of a, which it shifts by up to 1.4 of its errors for each of these."""

NOISE_ROUNDS = 8
NOISE_TOLERANCE = 1e-4
"""Relative change of the noise's variance at which the iteration ends, after three to five rounds.

Each round fits drift, then diffusion and variance, with the correction for the variance before."""

LONGEST_EXPOSURE = 1.2
"""Longest exposure of motion blur that is corrected for [sampling intervals]."""

MEMORY, LONGEST_PAST, SHARE_OF_PAST = 2.0, 100, 10
"""Times of the filter's decay that are averaged, samples at most, and the part of a record."""

SUSPICIOUS = 1.5
"""Standard errors of a negative correlation of residuals from which noise is looked for."""

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
        return _among_trajectories(_identify_one(problem, rule, noise))
    return _among_trajectories(_identify_several(problem, rule, noise))


def _compared(fit: Fit) -> Fit:
    """Add tests whether trajectories differ, before residuals decide about noise.

    Of trajectories that move together all show the same chance correlation of neighbours.
    """
    tests = compare_trajectories(fit.equations.problem, fit)
    raw = tuple(
        moments.repeated(1 + test.together * test.common.variance**2)
        if test.moves_together
        else moments
        for moments, test in zip(fit.raw, tests, strict=False)
    )
    return replace(fit, raw=raw or fit.raw, trajectories=tests)


def _among_trajectories(fit: Fit) -> Fit:
    """Repeat a fit with wider errors where trajectories differ or move together."""
    problem = fit.equations.problem
    tests = fit.trajectories or compare_trajectories(problem, fit)
    errors = wider_errors(problem, fit, tests)
    if errors is None:
        return replace(fit, trajectories=tests)
    again = _judged(problem, replace(fit.equations, least=errors), fit.covariances, fit)
    # Terms that only told trajectories apart are gone, and hid part of the difference.
    final = compare_trajectories(problem, again)
    return replace(
        again,
        trajectories=final if any(test.differs for test in final) else tests,
        exposure=fit.exposure,
        before_thinning=fit.before_thinning,
    )


def _identify_one(problem: Problem, rule: RuleName | Literal["auto"], noise: NoiseHandling) -> Fit:
    plain = _compared(fitted(problem, RULES.get(rule, TRAPEZOID)))
    corrected = None if noise == "none" else _through_noise_of_one(problem, plain, noise)
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
    plain = _compared(fitted(problem, TRAPEZOID if asked.overlapping else asked))
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
        statistics = equations.at_nodes.under(problem.kernels)
        equations = replace(equations, problem=problem, statistics=statistics, at_nodes=None)
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
        noise_error=solution.noise_error,
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
        equations=equations,
        covariances=v,
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


def _through_noise_of_one(problem: Problem, plain: Fit, handling: NoiseHandling) -> Fit | None:
    """Correct for measurement noise and rounding; None where there is neither.

    Where the noise exceeds an increment, the fit is repeated with increments over m samples from
    every sample: the diffusion's error is smallest where a m Δt is about the noise's variance.
    """
    (raw,) = plain.raw
    rounding = rounding_of(problem.data, problem.scales, raw.mean_square, *raw.lag_one_covariance)
    if not (handling == "corrected" or rounding or _may_be_noisy(plain)):
        return None
    rule, known = SCALAR_THROUGH_NOISE, None
    if rounding is not None:
        rule, known = rule.at_stride(rounding.stride), rounding.noise
    found = _through_noise_at(problem, plain, rule, known or NO_NOISE)
    if found is not None and (handling == "corrected" or _is_found(found, known)):
        return _refined(problem, plain, found)
    return None if known is None else _through_noise_at(problem, plain, rule, known, fixed=True)


def _may_be_noisy(plain: Fit) -> bool:
    """Check whether to estimate the noise's variance, which a coarse step hides in residuals."""
    (raw,) = plain.raw
    suspicious = raw.lag_one_z < -SUSPICIOUS and raw.lag_one_correlation < -0.002
    return (
        (suspicious and not raw.is_deterministic)
        or raw.is_noisy
        or raw.is_blurred
        or _is_too_coarse(plain)
    )


def _is_found(found: Fit, rounding: ScalarNoise | None) -> bool:
    """Check whether there is noise beyond a known rounding."""
    if found.exposure:
        return True
    known = 0.0 if rounding is None else rounding.variance
    beyond = (float(found.noise_variances[0]) - known) / found.noise_error
    return beyond > NOISE_FOUND or (rounding is None and found.raw[0].is_noisy)


def _through_noise_at(
    problem: Problem,
    plain: Fit,
    rule: SamplingRule,
    first: ScalarNoise = NO_NOISE,
    *,
    fixed: bool = False,
) -> Fit | None:
    """Correct for measurement noise by one rule; None where none is left.

    Parameters
    ----------
    problem, plain : data, library and instruments, and the fit without noise
    rule : rule with its stride and the samples that are its instrument
    first : noise from which the iteration starts
    fixed : whether the noise is `first`, else its variance is an unknown
    """
    noise = replace(first, known=fixed)
    equations = cell_equations(problem, rule)
    statistics = equations.statistics
    if statistics.n_windows < FEWEST_WINDOWS:
        return None
    weights = Weights(statistics.time, statistics.time_squared.sum(axis=0))
    exposure = 0.0
    for turn in range(NOISE_ROUNDS):
        found = solve(problem, replace(equations, rule=replace(rule, noise=noise)), weights)
        variance = first.variance if found.noise is None else float(found.noise[0, 0])
        change = variance - noise.variance
        a, _ = _mean_diffusion_and_rate(problem, statistics, found)
        exposure = max(-6 * variance, 0.0) / a if a > 0 else np.inf
        if not (variance > 0 or (exposure < LONGEST_EXPOSURE and plain.raw[0].is_blurred)):
            return None
        # Blur is proportional to the diffusion; an instrument's noise is the same everywhere.
        shape = found.tensor[0, 0] / a if variance < 0 else None
        noise = replace(noise, variance=variance, shape=shape)
        if abs(change) < NOISE_TOLERANCE * abs(variance) and (turn or not fixed):
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


def _refined(problem: Problem, plain: Fit, found: Fit) -> Fit:
    """Repeat a fit through noise with the stride and the instrument that this noise asks for."""
    while True:
        assert found.statistics is not None, "there is one variable"
        a, rate = _mean_diffusion_and_rate(problem, found.statistics, found)
        before = replace(found.rule, noise=NO_NOISE)
        rule = _rule_for_noise(problem, before, float(found.noise_variances[0]), a, rate)
        again = None if rule == before else _through_noise_at(problem, plain, rule)
        if a > 0 or again is None:
            return again or found
        found = again


def _rule_for_noise(
    problem: Problem, before: SamplingRule, variance: float, a: float, rate: float
) -> SamplingRule:
    """Return the rule with the stride and the instrument for noise of this variance.

    An increment's a m Δt reaches the noise's variance; m Δt stays below a fifth of a relaxation
    time, where the rule's own error sets in. The instrument is the mean of the samples before, with
    the weights of the Kalman filter of a random walk. Where the noise hides the diffusion, four
    times the stride may show it.

    Parameters
    ----------
    problem : data
    before : rule so far
    variance : variance of the noise, internal units
    a, rate : mean diffusion and relaxation rate, internal units
    """
    if not variance > 0:
        return before
    hidden, stride, n = not a > 0, before.windows.stride, problem.data.n_increments
    wanted = 4 * stride if hidden else min(variance / a, 0.2 / rate if rate > 0 else np.inf)
    stride = max(stride, int(min(wanted, n / 1000)))
    ratio = 1 / stride if hidden else a / variance
    gain = (np.sqrt(ratio**2 + 4 * ratio) - ratio) / 2
    of_record = int(np.median(np.diff(problem.data.segments[:, :2]))) // SHARE_OF_PAST
    count = max(1, min(int(MEMORY / gain), LONGEST_PAST, of_record))
    weights = (1 - gain) ** np.arange(count)
    past = tuple((weights / weights.sum()).tolist())
    return replace(before, stride=stride, past=past)


def _positive(covariance: Floats) -> Floats:
    """Return the nearest positive semi-definite matrix."""
    values, vectors = np.linalg.eigh(covariance)
    return np.asarray((vectors * values.clip(min=0)) @ vectors.T)
