"""A fit by one sampling rule, and what it tells about that rule."""

from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from worker.identification.estimation.cell_equations import CellEquations, cell_equations
from worker.identification.estimation.components import Equations, coarse_coefficients, solve
from worker.identification.estimation.direct_equations import JointEquations, joint_equations_of
from worker.identification.estimation.fit import Fit, Solution
from worker.identification.estimation.kernel_choice import choose_kernels
from worker.identification.estimation.problem import Problem, completed
from worker.identification.regression import (
    SMALLEST_EIGENVALUE,
    estimated,
    inverse_square_root,
)
from worker.identification.regression import Solution as Estimated
from worker.identification.selection.constraints import simplest_under
from worker.identification.sums.kernel_statistics import KernelStatistics
from worker.identification.sums.rules import TRAPEZOID, SamplingRule

Floats = NDArray[np.float64]

ROUNDS, MATERIAL, WIDER = 8, 0.1, 0.05
"""Rounds of the correction for the rule's own error, at most; it ends where estimates move by less
than these standard errors and variances grow by less than this share."""


VANISHING = 0.05
"""Ratio of the diffusion to its mean over the range that counts as vanishing."""


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
    return judged(problem, equations, equations.covariances(rough), plain)


def judged(problem: Problem, equations: Equations, v: Any, plain: Fit | None) -> Fit:
    """Choose kernels if there is a choice, solve with these covariances, and measure residuals."""
    if isinstance(equations, CellEquations) and equations.at_nodes is not None:
        problem = choose_kernels(problem, equations.rule, equations.at_nodes, v)
        statistics = equations.at_nodes.under(problem.kernels)
        equations = replace(equations, problem=problem, statistics=statistics, at_nodes=None)
    if isinstance(equations, CellEquations):
        equations = equations.with_double_step()
    solution = solve(problem, equations, v)
    residuals = equations.residuals(solution)
    noise_free = (
        tuple(sorted({*residuals.noise_free(), *problem.velocities}))
        if plain is None
        else plain.noise_free
    )
    drift = tuple(
        simplest_under(problem.of_drift(p), s, equations.of_drift(p, v), problem.library)
        if p in noise_free and p not in problem.velocities
        else s
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
        informative=problem.informative,
        scores=residuals.scores,
        noise_free=noise_free,
        choice=problem.choice,
        statistics=equations.statistics if isinstance(equations, CellEquations) else None,
        variance=v.drift if isinstance(equations, CellEquations) else None,
        sample=equations.sample if isinstance(equations, JointEquations) else None,
        equations=equations,
        covariances=v,
    )


def without_rule_errors(fit: Fit) -> Fit:
    """Repeat a fit of one variable without the trapezoid's own error, where that is material (M47).

    The error is that of the model of the round before, until neither estimates nor errors move.
    """
    equations, v = fit.equations, fit.covariances
    if fit.rule.name != TRAPEZOID.name or fit.raw[0].is_deterministic:
        return fit
    if _vanishes(equations, fit) and not is_too_coarse(fit):
        return fit
    model: Solution = fit
    before = _estimates(equations, v, model)
    for _ in range(ROUNDS):
        expecting = replace(equations, expected=model)
        after = _estimates(expecting, v, model)
        moved = any(map(_moved, before, after))
        if not moved and not any(map(_wider, before, after)):
            break
        equations, before = expecting, after
        if not moved:
            # The next model would be this one, and so would its error.
            break
        model = solve(equations.problem, equations, v, briefly=True)
    if equations.expected is None:
        return fit
    again = judged(equations.problem, equations, v, fit)
    return replace(again, coarse_step=is_too_coarse(fit), trajectories=fit.trajectories)


def _vanishes(equations: CellEquations, fit: Fit) -> bool:
    """Check whether the noise vanishes in the data's range, where 128 cells do not resolve it.

    The equations weight by 1/a² there: for the sine of a Brownian path the correction itself erred.
    """
    a = equations.problem.library.internal(equations.statistics.nodes) @ fit.tensor[0, 0]
    return bool(a.min() < VANISHING * a.mean())


def _estimates(equations: CellEquations, v: Any, model: Solution) -> list[Estimated | None]:
    """Estimate all coefficients of the drift, and of the diffusion given a model's drift."""
    b = [s.estimate for s in model.drift]
    both = equations.of_drift(0, v), equations.of_diffusion((0, 0), {(0, 0): 1.0}, b, v)[0]
    return [estimated(e, np.eye(len(e.score)), robust=False) for e in both]


def _moved(one: Estimated | None, other: Estimated | None) -> bool:
    """Check whether estimates differ by a tenth of a standard error."""
    if one is None or other is None:
        return False
    moved = _root(one) @ (other.values - one.values)
    return bool(moved @ moved > MATERIAL**2)


def _wider(one: Estimated | None, other: Estimated | None) -> bool:
    """Check whether a variance is larger by a twentieth."""
    if one is None or other is None:
        return False
    root = _root(one)
    return bool(np.linalg.eigvalsh(root @ (other.covariance - one.covariance) @ root.T)[-1] > WIDER)


def _root(estimate: Estimated) -> Floats:
    """Compute the inverse square root of an estimate's covariance; (rows, k)."""
    norms = np.sqrt(np.diag(estimate.covariance))
    return (
        inverse_square_root(estimate.covariance / np.outer(norms, norms), SMALLEST_EIGENVALUE)
        / norms
    )


def _noise_of(equations: Equations) -> Floats | None:
    """Return the covariance of the measurement noise that is corrected for; (d, d)."""
    if isinstance(equations, JointEquations):
        return None if equations.noise is None else equations.noise.covariance
    return None if equations.rule.noise is None else np.array([[equations.rule.noise.variance]])


def is_too_coarse(fit: Fit) -> bool:
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


def mean_diffusion_and_rate(
    problem: Problem, statistics: KernelStatistics, model: Solution
) -> tuple[float, float]:
    """Return ⟨a⟩ and the relaxation rate 2⟨b²⟩/⟨a⟩ = −⟨b′⟩, in internal units.

    The two forms are equal by integration by parts under the stationary distribution."""
    functions, time = problem.library.internal(statistics.nodes), float(statistics.time.sum())
    b = functions @ model.drift[0].estimate.internal
    a = functions @ model.diffusion[0, 0].estimate.internal
    diffusion = float(statistics.time @ a) / time
    return diffusion, 2 * float(statistics.time @ b**2) / time / diffusion if diffusion > 0 else 0.0
