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
from worker.identification.selection.support_selection import simplest
from worker.identification.sums.kernel_statistics import KernelStatistics
from worker.identification.sums.rules import SamplingRule

Floats = NDArray[np.float64]


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
