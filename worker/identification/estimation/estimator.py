"""The default estimator; read `identify` first.

The trapezoid rule comes first; then a correction for its own error and for measurement noise; of
several variables a finer rule where the step is too coarse. Sums of one variable are taken in cells
(`cell_equations.py`), sums of several directly (`direct_equations.py`).
"""

from dataclasses import replace
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from worker.identification.checks.residuals import SIGNIFICANT, ResidualMoments
from worker.identification.checks.state_dependent_steps import steps_depend_on_state
from worker.identification.estimation.cell_equations import (
    CellEquations,
    gather_for,
)
from worker.identification.estimation.components import solve
from worker.identification.estimation.direct_equations import joint_equations_of
from worker.identification.estimation.fit import Fit
from worker.identification.estimation.noise_correction import (
    NoiseHandling,
    through_given_noise_of_one,
    through_given_noise_of_several,
    through_noise_of_one,
    through_noise_of_several,
)
from worker.identification.estimation.one_rule import (
    fitted,
    is_too_coarse,
    judged,
    mean_diffusion_and_rate,
    without_rule_errors,
)
from worker.identification.estimation.possible_noise import (
    is_noisy,
    with_noise_below,
    with_possible_noise,
)
from worker.identification.estimation.problem import Problem, at_longer_steps
from worker.identification.estimation.trajectory_errors import compare_trajectories, wider_errors
from worker.identification.sums.rules import (
    RULES,
    SIMPSON,
    TRAPEZOID,
    RuleName,
    SamplingRule,
)
from worker.identification.sums.window_statistics import Sample

Floats = NDArray[np.float64]

UNCORRELATED = 0.1
"""Correlation of neighbouring residuals below which a thinned record is no longer persistent."""

LEAST_SHARE = 0.8
"""Share of the windows that a finer rule must keep; it needs several equal steps in a row."""


def identify(problem: Problem, rule: RuleName | Literal["auto"], noise: NoiseHandling) -> Fit:
    """Identify drift and diffusion. Raises NoDataUnderKernels.

    Where the sampling interval depends on the state, windows of equal steps are chosen by what the
    path does in them, and only a rule over single steps is right: the others are not used unless
    they are asked for by name, and neither noise nor the trapezoid's own error is corrected for.

    Parameters
    ----------
    problem : data, library and instruments
    rule : name of the sampling rule; `auto` lets the residuals decide
    noise : treatment of measurement noise
    """
    if steps_depend_on_state(problem.data, problem.space):
        problem, noise = replace(problem, informative=True), "none"
    else:
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
    again = judged(problem, replace(fit.equations, least=errors), fit.covariances, fit)
    # Terms that only told trajectories apart are gone, and hid part of the difference.
    final = compare_trajectories(problem, again)
    return replace(
        again,
        trajectories=final if any(test.differs for test in final) else tests,
        exposure=fit.exposure,
        before_thinning=fit.before_thinning,
        given_noise=fit.given_noise,
        restrictions=fit.restrictions,
    )


def _identify_one(problem: Problem, rule: RuleName | Literal["auto"], noise: NoiseHandling) -> Fit:
    plain = _compared(fitted(problem, RULES.get(rule, TRAPEZOID)))
    if problem.given_noise is not None and noise != "none":
        return through_given_noise_of_one(plain.equations.problem, plain, problem.given_noise)
    if rule == "auto" and not problem.informative:
        plain = without_rule_errors(plain)
    if noise == "none":
        return plain
    corrected, below = through_noise_of_one(problem, plain, noise)
    return with_noise_below(plain, problem, below) if corrected is None else corrected


def _identify_several(
    problem: Problem, rule: RuleName | Literal["auto"], noise: NoiseHandling
) -> Fit:
    asked = RULES.get(rule, TRAPEZOID)
    # Residuals of overlapping windows are correlated anyway; those of pairs show noise of the path.
    plain = _compared(fitted(problem, TRAPEZOID if asked.overlapping else asked))
    if problem.given_noise is not None and noise != "none":
        return through_given_noise_of_several(problem, plain, problem.given_noise)
    if noise == "corrected" or (noise != "none" and is_noisy(_with_noise(plain))):
        corrected = through_noise_of_several(problem, plain)
        if corrected is not None:
            return corrected
    fit = _without_noise(problem, rule, asked, plain)
    return with_possible_noise(fit, problem) if noise in ("auto", "possible") else fit


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
    if rule == "auto" and not problem.informative and is_too_coarse(plain):
        finer = fitted(problem, SIMPSON, plain)
        if finer.n_windows > LEAST_SHARE * plain.n_windows:
            return finer
    return plain


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
        _, rate = mean_diffusion_and_rate(
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


def _fastest_rate(drift: Floats, sample: Sample) -> float:
    """Return the size of the largest eigenvalue of the drift's linear regression on the state.

    drift   (d, n_functions) internal coefficients"""
    b, y = sample.functions @ drift.T, sample.instrument
    slopes = np.linalg.lstsq(np.column_stack([y, np.ones(len(y))]), b, rcond=None)[0][:-1]
    return float(np.abs(np.linalg.eigvals(slopes)).max())
