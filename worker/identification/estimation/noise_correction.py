"""The correction for measurement noise, rounding and motion blur."""

from dataclasses import replace
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from worker.identification.checks.residuals import ResidualMoments
from worker.identification.checks.restriction import Restriction, noise_restriction
from worker.identification.data.given_noise import GivenNoise
from worker.identification.errors import InvalidLibrary, TooFewSamples
from worker.identification.estimation.cell_equations import (
    Weights,
    cell_equations,
    weights_through_noise,
)
from worker.identification.estimation.components import solve
from worker.identification.estimation.direct_equations import joint_equations_of
from worker.identification.estimation.fit import Fit, Solution
from worker.identification.estimation.one_rule import is_too_coarse, judged, mean_diffusion_and_rate
from worker.identification.estimation.possible_noise import NoiseBelow
from worker.identification.estimation.problem import Problem
from worker.identification.sums.kernel_statistics import KernelStatistics
from worker.identification.sums.measurement_noise import MeasurementNoise
from worker.identification.sums.rounding import quantum_of, rounding_of
from worker.identification.sums.rules import (
    NO_NOISE,
    SCALAR_THROUGH_NOISE,
    THROUGH_NOISE,
    SamplingRule,
    ScalarNoise,
)
from worker.identification.sums.strong_noise import strong_noise

Floats = NDArray[np.float64]

NoiseHandling = Literal["auto", "none", "corrected", "possible"]
"""Treatment of measurement noise; `possible`: corrected for wherever any is found, significant or
not, between steps that show it. So no estimate is shifted by noise that was missed, as one of two
records that are compared may be."""

FEWEST_WINDOWS = 200

NOISE_FOUND = 3.0
"""Standard errors from which a variance of measurement noise is corrected for.

A false alarm, one in 700 records that are looked at (at 2.5 errors one in 160), costs precision;
noise that is missed costs the interval of a, which it shifts by up to 1.4 of its errors for each of
these."""

NOISE_ROUNDS = 8

GIVEN_ROUNDS = 2
"""Rounds in which the stride for a known noise grows."""

LEAST_NOISE = 1e-9
"""Variance, in a mean square increment, at which noise and blur cancel on average."""

NOISE_TOLERANCE = 1e-4
"""Relative change of the noise's variance at which the iteration ends, after three to five rounds.

Each round fits drift, then diffusion and variance, with the correction for the variance before."""

LONGEST_EXPOSURE = 1.2
"""Longest exposure of motion blur that is corrected for [sampling intervals]."""

MEMORY, LONGEST_PAST, SHARE_OF_PAST = 2.0, 100, 10
"""Times of the filter's decay that are averaged, samples at most, and the part of a record."""

NOISE_DEVIATIONS = 2.0
"""Least bandwidth of kernels through noise, in roots of what instrument and y₀ share of it.

The series in `_shared_at_zero` converges, and the noisy sample itself resolves no finer ones."""

MATERIALLY = 1.05
"""Ratio of bandwidths from which the sums are taken again with the wider kernels.

The first round knows no noise. With its kernels, of 1.3 s, the series diverged in 8 of 24 records
(Ornstein-Uhlenbeck, 1000 samples at 0.15 relaxation times, s 30 % sd): the next rounds found s²
alternately right and a tenth, and a 60 % too large at 0.08 claimed."""

SMOOTH_OVER_GRID = 1.6
"""Least bandwidth of kernels on a grid of values, in quanta.

Sums of narrower ones may vanish on the grid to more than 10⁻⁵, and their derivatives do not."""

COARSE = 0.1
"""Relaxation times from which on a sampling interval hides noise in the drift's slope.

At 0.3 and 5 000 samples, noise of 14 % sd shows 1.3 errors in the residuals in one record of four,
and makes a three errors too large."""

COARSEST = 0.6
"""Relaxation times from which on the noise's variance is not looked for, unless residuals show it.

The rule's own error is then taken for noise. Of five clean Ornstein-Uhlenbeck records of 20 000
samples, the four that gave any variance have a mean z of 0.7 to 1.0 at 0.3 to 0.5 relaxation times,
1.4 at 0.6, and 2.3 at one, where two were called noisy."""

SUSPICIOUS = 1.5
"""Standard errors of a negative correlation of residuals from which noise is looked for."""


def through_noise_of_one(
    problem: Problem, plain: Fit, handling: NoiseHandling
) -> tuple[Fit | None, NoiseBelow | None]:
    """Correct for measurement noise and rounding; None where there is neither.

    Where nothing is corrected for and the steps are coarse, the noise that is not significant is
    returned, too. Between fine ones it hides too little: to lower the diffusion for what one record
    of ten shows by chance made its rms error up to 1.5 times that of maximum likelihood.

    Where the noise exceeds an increment, the fit is repeated with increments over m samples from
    every sample: the diffusion's error is smallest where a m Δt is about the noise's variance.
    """
    (raw,) = plain.raw
    quantum = quantum_of(problem.data, problem.period) / problem.scales.unit
    n = problem.data.n_increments
    rounding = rounding_of(quantum, n, raw.mean_square, *raw.lag_one_covariance)
    strong = strong_noise(problem.data, problem.scales, problem.period)
    coarse = _hides_noise(plain)
    if handling == "possible" and _rate_of(plain) < COARSEST:
        handling = "corrected"
    if not (handling == "corrected" or rounding or strong or coarse or _looks_noisy(raw)):
        return None, None
    problem = no_narrower(plain.equations.problem, SMOOTH_OVER_GRID * quantum)
    rule, known, first = SCALAR_THROUGH_NOISE, None, NO_NOISE
    if raw.is_blurred:
        # An average over an exposure has a part in the increment before it.
        rule = rule.of_residuals
    if rounding is not None:
        rule, known = rule.at_stride(rounding.stride), rounding.noise
        first = known
    elif strong is not None:
        past = _filter_of(problem, 1 / strong.stride)
        rule, first = replace(rule, stride=strong.stride, past=past), ScalarNoise(strong.variance)
    found = _through_noise_at(problem, plain, rule, first)
    if found is not None and (handling == "corrected" or _is_found(found, known)):
        short = first is not NO_NOISE and known is None
        refined = _refined(problem, plain, found, short=short)
        if strong is not None and strong.error < refined.noise_error:
            # Strides tell the diffusion best, and single steps the noise.
            refined = replace(refined, noise=np.array([[strong.variance]]))
        return refined, None
    if known is not None:
        return _through_noise_at(problem, plain, rule, known, fixed=True), None
    if found is None or not coarse:
        return None, None
    return None, NoiseBelow(float(found.noise_variances[0]), found.noise_error)


def _looks_noisy(raw: ResidualMoments) -> bool:
    """Check whether the residuals are anticorrelated enough to estimate the noise's variance."""
    suspicious = raw.lag_one_z < -SUSPICIOUS and raw.lag_one_correlation < -0.002
    return (suspicious and not raw.is_deterministic) or raw.is_noisy or raw.is_blurred


def _hides_noise(plain: Fit) -> bool:
    """Check whether the step is so coarse that residuals hide noise, and the fit shows it."""
    rate = _rate_of(plain)
    return rate < COARSEST and (rate > COARSE or is_too_coarse(plain))


def _rate_of(plain: Fit) -> float:
    """Return the relaxation rate, internal units."""
    assert plain.statistics is not None, "there is one variable"
    return mean_diffusion_and_rate(plain.equations.problem, plain.statistics, plain)[1]


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
    problem = _wide_enough(problem, rule, first.variance)
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
        a, _ = mean_diffusion_and_rate(problem, statistics, found)
        exposure = 0.0
        if variance < 0:
            exposure = -6 * variance / a if a > 0 else np.inf
        if not (variance > 0 or (exposure < LONGEST_EXPOSURE and plain.raw[0].is_blurred)):
            return None
        # Blur is proportional to the diffusion; an instrument's noise is the same everywhere.
        shape = found.tensor[0, 0] / a if variance < 0 else None
        noise = replace(noise, variance=variance, shape=shape, error=found.noise_error)
        wider = _wide_enough(problem, rule, variance)
        if wider.kernels.bandwidth > MATERIALLY * problem.kernels.bandwidth:
            problem, equations = wider, cell_equations(wider, rule)
            statistics = equations.statistics
        elif abs(change) < NOISE_TOLERANCE * abs(variance) and (turn or not fixed):
            break
        weights = weights_through_noise(problem, statistics, found, noise, equations.runs)
    return replace(
        judged(problem, replace(equations, rule=replace(rule, noise=noise)), weights, plain),
        exposure=exposure,
    )


def _refined(problem: Problem, plain: Fit, found: Fit, *, short: bool) -> Fit:
    """Repeat a fit through noise with the stride and the instrument that this noise asks for.

    A diffusion that one fit shows by chance the next does not, and the search goes on.

    Parameters
    ----------
    problem, plain : data, library and instruments, and the fit without noise
    found : first fit through noise
    short : whether its stride is the least that shows the process, and longer ones may be better
    """
    for turn in range(NOISE_ROUNDS):
        assert found.statistics is not None, "there is one variable"
        a, rate = mean_diffusion_and_rate(problem, found.statistics, found)
        before = replace(found.rule, noise=NO_NOISE)
        variance = float(found.noise_variances[0])
        rule = rule_for_noise(problem, before, variance, a, rate)
        # The first fit's instrument is noisier, so that its rate may be too high.
        longer = short and rule.stride >= 2 * before.stride
        if rule == before or (turn and a > 0 and not longer):
            return found
        again = _through_noise_at(problem, plain, rule, ScalarNoise(variance))
        if again is None:
            return found
        found = again
    return found


def rule_for_noise(
    problem: Problem, before: SamplingRule, variance: float, a: float, rate: float
) -> SamplingRule:
    """Return the rule with the stride and the instrument for noise of this variance.

    An increment's a m Δt reaches the noise's variance; m Δt stays below a fifth of a relaxation
    time, where the rule's own error sets in. The instrument is the mean of the samples before, with
    the weights of the Kalman filter of a random walk. Where the noise hides the diffusion, four
    times the stride may show it; where it hides the drift, a longer one may leave nothing of it.

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
    unseen = hidden or not rate > 0
    wanted = 4 * stride if hidden else min(variance / a, 4 * stride if unseen else 0.2 / rate)
    stride = max(stride, int(min(wanted, n / 1000)))
    past = _filter_of(problem, 1 / stride if hidden else a / variance)
    return replace(before, stride=stride, past=past)


def _filter_of(problem: Problem, ratio: float) -> tuple[float, ...]:
    """Return weights of the samples before X_0 in the instrument (M41), latest first.

    Parameters
    ----------
    problem : data
    ratio : ρ = aΔt/s²
    """
    gain = (np.sqrt(ratio**2 + 4 * ratio) - ratio) / 2
    of_record = int(np.median(np.diff(problem.data.segments[:, :2]))) // SHARE_OF_PAST
    count = max(1, min(int(MEMORY / gain), LONGEST_PAST, of_record))
    weights = (1 - gain) ** np.arange(count + 1)
    return tuple((weights / weights.sum()).tolist()[1:])


def _wide_enough(problem: Problem, rule: SamplingRule, variance: float) -> Problem:
    """Return the problem with kernels wide enough for what instrument and y₀ share of the noise.

    Twice s itself was six times the width of a well that the filtered instrument resolves.
    """
    shared = float(np.sqrt(max(variance, 0.0) * rule.own))
    return no_narrower(problem, NOISE_DEVIATIONS * shared)


def no_narrower(problem: Problem, narrowest: float) -> Problem:
    """Return the problem with its kernels, not narrower than this, and no others to choose from."""
    kernels = problem.kernels
    wider = replace(kernels, bandwidth=max(kernels.bandwidth, narrowest))
    return replace(problem, instruments=wider, grid=None)


def through_noise_of_several(problem: Problem, plain: Fit) -> Fit | None:
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
    return judged(problem, noisy, noisy.covariances(found), plain)


def through_given_noise_of_one(problem: Problem, plain: Fit, given: GivenNoise) -> Fit:
    """Correct for measurement noise and motion blur that are known, and test the noise (M78).

    Raises TooFewSamples.

    Parameters
    ----------
    problem, plain : data, library and instruments, and the fit without noise
    given : what is known
    """
    problem = no_narrower(problem, 0.0)
    variance = float(given.variances[0])
    a, rate = mean_diffusion_and_rate(problem, _statistics(plain), plain)
    if given.exposure:
        rule = SCALAR_THROUGH_NOISE.of_residuals
    else:
        # The increments' mean square has twice the noise in it.
        alone = max(a - 2 * variance, 0.05 * a)
        rule = rule_for_noise(problem, SCALAR_THROUGH_NOISE, variance, alone, rate)
    found = _through_given_at(problem, plain, rule, given)
    for _ in range(GIVEN_ROUNDS if not given.exposure else 0):
        a, rate = mean_diffusion_and_rate(problem, _statistics(found), found)
        before = replace(found.rule, noise=NO_NOISE)
        wanted = rule_for_noise(problem, before, variance, a, rate)
        if wanted.stride < 2 * before.stride:
            break
        found = _through_given_at(problem, plain, wanted, given)
    return replace(
        found, given_noise=True, restrictions=_noise_tested(problem, plain, found, given)
    )


def _statistics(fit: Fit) -> KernelStatistics:
    assert fit.statistics is not None, "there is one variable"
    return fit.statistics


def _through_given_at(problem: Problem, plain: Fit, rule: SamplingRule, given: GivenNoise) -> Fit:
    """Correct for known noise by one rule. Raises TooFewSamples."""
    variance = float(given.variances[0])
    problem = _wide_enough(problem, rule, variance)
    equations = cell_equations(problem, rule)
    statistics = equations.statistics
    if statistics.n_windows < FEWEST_WINDOWS:
        raise TooFewSamples(
            f"The record has {statistics.n_windows} windows of equal steps, too few to correct for "
            f"known measurement noise; {FEWEST_WINDOWS} are required.",
            hints=("Leave measurement_noise and exposure out, or record longer.",),
        )
    weights = Weights(statistics.time, statistics.time_squared.sum(axis=0))
    noise = ScalarNoise(variance, known=True, given=True)
    for turn in range(NOISE_ROUNDS):
        found = solve(problem, replace(equations, rule=replace(rule, noise=noise)), weights)
        before, noise = noise, _with_blur(problem, statistics, found, given)
        size = max(abs(noise.variance), variance)
        if turn and abs(noise.variance - before.variance) < NOISE_TOLERANCE * size:
            break
        weights = weights_through_noise(problem, statistics, found, noise, equations.runs)
    whole = replace(equations, rule=replace(rule, noise=noise))
    return judged(problem, whole, weights, plain)


def _with_blur(
    problem: Problem, statistics: KernelStatistics, found: Solution, given: GivenNoise
) -> ScalarNoise:
    """Return the noise and, of samples averaged over an exposure E, −aE/6 at every state."""
    variance = float(given.variances[0])
    noise = ScalarNoise(variance, known=True, given=True)
    a, _ = mean_diffusion_and_rate(problem, statistics, found)
    if not given.exposure or not a > 0:
        return noise
    total = -given.exposure / 6 * found.tensor[0, 0]
    total[0] += variance
    mean = variance - given.exposure / 6 * a
    mean = mean if abs(mean) > LEAST_NOISE * a else -LEAST_NOISE * a
    return replace(
        noise,
        variance=mean,
        shape=total / mean,
        blur=given.exposure / 6,
        diffusion=found.tensor[0, 0],
    )


def _noise_tested(
    problem: Problem, plain: Fit, found: Fit, given: GivenNoise
) -> tuple[Restriction, ...]:
    """Test noise that was given against its estimate, where one is to be had."""
    used = found.rule.noise
    assert used is not None, "there is noise or blur"
    known = ScalarNoise(used.variance, used.shape)
    free = _through_noise_at(problem, plain, replace(found.rule, noise=NO_NOISE), known)
    if free is None or free.noise is None or not free.noise_error > 0:
        return ()
    return (
        noise_restriction(
            problem.library.variables,
            (known.variance, float(free.noise[0, 0]), free.noise_error),
            problem.scales.unit**2,
            blurred=given.exposure > 0,
        ),
    )


def through_given_noise_of_several(problem: Problem, plain: Fit, given: GivenNoise) -> Fit:
    """Correct for measurement noise and motion blur that are known. Raises IdentificationError."""
    if problem.library.other:
        names = ", ".join(problem.library.names[k] for k in problem.library.other)
        raise InvalidLibrary(
            "Known measurement noise of several variables is corrected for in monomials only, and "
            f"the library has {names}.",
            hints=('Leave these terms out, or set measurement_noise to "none".',),
        )
    equations = joint_equations_of(problem, THROUGH_NOISE)
    if equations.n_windows < FEWEST_WINDOWS:
        raise TooFewSamples(
            f"The record has {equations.n_windows} windows of equal steps, too few to correct for "
            f"known measurement noise; {FEWEST_WINDOWS} are required.",
            hints=("Leave measurement_noise and exposure out, or record longer.",),
        )
    v, found = equations.covariances(plain), None
    noise = np.diag(given.variances)
    average = equations.sample.functions.mean(axis=0)
    for _ in range(NOISE_ROUNDS if given.exposure else 1):
        noisy = replace(equations, noise=MeasurementNoise(noise, problem.library))
        found = solve(problem, noisy, v, briefly=True)
        before = noise
        noise = np.diag(given.variances) - given.exposure / 6 * found.tensor @ average
        if np.abs(noise - before).max() < NOISE_TOLERANCE * np.abs(noise).max():
            break
    assert found is not None, "there is a round"
    noisy = replace(equations, noise=MeasurementNoise(noise, problem.library))
    return replace(judged(problem, noisy, noisy.covariances(found), plain), given_noise=True)


def _positive(covariance: Floats) -> Floats:
    """Return the nearest positive semi-definite matrix."""
    values, vectors = np.linalg.eigh(covariance)
    return np.asarray((vectors * values.clip(min=0)) @ vectors.T)
