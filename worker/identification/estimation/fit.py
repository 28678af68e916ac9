"""One fit by one sampling rule: sums, weights, supports and coefficients of every component."""

from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from functools import partial

import numpy as np
from numpy.typing import NDArray

from worker.identification.data.trajectories import Integers, Windows, block_edges
from worker.identification.data.windows import Stretch, stretches
from worker.identification.equations.regression import NormalEquations
from worker.identification.equations.weak_system import JointEquations, Model
from worker.identification.estimation.problem import (
    JointProblem,
    completed,
    components_of,
    drift_of,
    tensor_of,
)
from worker.identification.estimation.scalar_fit import N_BLOCKS, N_BLOCKS_FOR_ERRORS
from worker.identification.selection.diffusion_terms import choose_up_to, functions_of, terms_up_to
from worker.identification.selection.support_selection import Selected
from worker.identification.sums.block_sums import blocks_between
from worker.identification.sums.rules import JointRule, other_rule
from worker.identification.sums.window_products import Pair
from worker.identification.sums.window_statistics import (
    JointPass,
    JointStatistics,
    joint_statistics,
    take_sample,
)

Floats = NDArray[np.float64]

SAMPLE_SIZE = 25_000
"""Windows from which the residuals' local variance is read."""


def walk(problem: JointProblem, rule: JointRule, n_blocks: int, **some: int) -> Iterator[Stretch]:
    """The rule's windows: all, or those that `stretches` is told to."""
    edges, windows = _edges_and_windows(problem, rule, n_blocks)
    return stretches(problem.data, problem.space, edges, windows, **some)


def statistics_of(
    problem: JointProblem, rule: JointRule, every_block: int = 1
) -> JointStatistics | None:
    edges, windows = _edges_and_windows(
        problem, rule, N_BLOCKS_FOR_ERRORS if rule.errors_from_blocks else N_BLOCKS
    )
    blocks = blocks_between(edges, every_block)
    found = problem.summing(
        JointPass(problem.data, blocks, problem.space, windows, problem.instruments, rule)
    )
    assert found is not None, "windows fit any data"
    return joint_statistics(found, problem.space, problem.instruments, rule)


def _edges_and_windows(
    problem: JointProblem, rule: JointRule, n_blocks: int
) -> tuple[Integers, Windows]:
    edges = block_edges(problem.data, n_blocks, whole=not (rule.overlapping or rule.persistent))
    return edges, replace(rule.windows, longest_step=problem.longest_step * rule.stride)


def equations_of(problem: JointProblem, rule: JointRule) -> JointEquations:
    only = max(1, round(problem.data.n_increments / SAMPLE_SIZE))
    run = 1 + rule.lags
    windows = walk(problem, rule, 1, only=only, run=run)
    sample = take_sample(
        windows, problem.space, problem.instruments, rule, run if only > run else np.inf
    )
    statistics = statistics_of(problem, rule)
    assert statistics is not None, "the sample has windows, so the record has"
    degree, library = problem.diffusion_degree, problem.library
    functions = None if degree is None else functions_of(terms_up_to(degree, library)[1], library)
    return JointEquations(
        rule,
        statistics,
        sample,
        problem.instruments,
        additive=degree == 0,
        diffusion_functions=functions,
    )


@dataclass(frozen=True, slots=True, eq=False)
class Covariances:
    """V of every component."""

    drift: list[Floats]
    diffusion: dict[Pair, Floats]


def first_model(problem: JointProblem, equations: JointEquations) -> Model:
    """Selected and estimated before anything is known about the residuals' variance but its local average."""
    rough = equations.rough_drift()
    of_diffusion = {
        pair: equations.first_diffusion_covariance(shares, rough)
        for pair, shares in components_of(problem).items()
    }
    v = Covariances(equations.first_drift_covariances(rough), of_diffusion)
    drift, diffusion, _ = select(problem, equations, v, doubt=False, briefly=True)
    return drift_of(drift), tensor_of(problem, completed(problem, diffusion, ()))


def covariances(problem: JointProblem, equations: JointEquations, model: Model) -> Covariances:
    """From the residuals of a model."""
    of_diffusion = {
        pair: equations.diffusion_covariance(shares, model)
        for pair, shares in components_of(problem).items()
    }
    return Covariances(equations.drift_covariances(model), of_diffusion)


def select(
    problem: JointProblem,
    equations: JointEquations,
    v: Covariances,
    *,
    doubt: bool = True,
    briefly: bool = False,
) -> tuple[tuple[Selected, ...], dict[Pair, Selected], float]:
    """Drift, then the components of the diffusion that are to be estimated; and the drift's condition number.

    doubt     leave out terms that hang on the sampling rule
    briefly   the estimates alone, without the coefficients along the path
    """
    other, n = other_rule(equations.rule) if doubt else None, equations.statistics.n_windows

    def chosen(
        what: str, of: Callable[[JointRule], NormalEquations], degree: int | None = None
    ) -> tuple[Selected, float]:
        problem.tell(f"choosing the terms of the {what}")
        found = of(equations.rule)
        doubting = None if other is None else of(other)
        return choose_up_to(
            degree, found, doubting, problem.library, n, problem.selection, briefly=briefly
        ), found.condition

    names = problem.library.variables
    drift = [
        chosen(f"drift of {names[p]}", partial(equations.of_drift, p, covariance))
        for p, covariance in enumerate(v.drift)
    ]
    b = drift_of([selected for selected, _ in drift])
    diffusion = {
        (p, q): chosen(
            f"diffusion {names[p]},{names[q]}",
            partial(equations.of_diffusion, shares, b, v.diffusion[p, q]),
            problem.diffusion_degree,
        )[0]
        for (p, q), shares in components_of(problem).items()
    }
    return (
        tuple(selected for selected, _ in drift),
        diffusion,
        max(condition for _, condition in drift),
    )
