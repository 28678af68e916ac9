"""How much the answer depends on the sampling interval: the same supports from windows of twice the step."""

from collections.abc import Mapping
from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from worker.identification.estimation.direct_equations import JointEquations
from worker.identification.estimation.fit import Covariances, statistics_of
from worker.identification.estimation.problem import JointProblem, components_of
from worker.identification.selection.best_subset import estimate_on
from worker.identification.selection.diffusion_terms import estimate_up_to
from worker.identification.selection.log_likelihood_gains import Support
from worker.identification.selection.support_selection import Selected
from worker.identification.sums.window_products import Pair

Floats = NDArray[np.float64]

WINDOWS_FOR_STEP_ERRORS = 200_000
"""About so many, in blocks spread over the record, tell what doubling the step changes."""

Raw = tuple[tuple[Floats | None, ...], dict[Pair, Floats | None]]
"""Coefficients of the raw terms on given supports, of the drift by variable and of the diffusion by pair."""


def at_double_step(
    problem: JointProblem,
    equations: JointEquations,
    v: Covariances,
    drift: tuple[Selected, ...],
    diffusion: Mapping[Pair, Selected],
) -> Raw:
    """The same supports from windows of twice the step: how much the answer depends on the sampling interval.

    Of a long record some blocks do: the change from step to double step in them is added to what the whole record gives.
    """
    every = max(1, min(6, problem.data.n_increments // WINDOWS_FOR_STEP_ERRORS))
    coarse = statistics_of(problem, equations.rule.at_stride(2 * equations.rule.stride), every)
    if coarse is None:
        return (None,) * len(drift), {}
    supports = (
        [s.estimate.support for s in drift],
        {pair: s.estimate.support for pair, s in diffusion.items()},
    )
    far = _refitted(problem, replace(equations, statistics=coarse), v, *supports)
    near = _refitted(
        problem, replace(equations, statistics=equations.statistics.of_blocks(every)), v, *supports
    )

    def moved(selected: Selected, there: Floats | None, here: Floats | None) -> Floats | None:
        return None if there is None or here is None else selected.estimate.raw + there - here

    return (
        tuple(moved(s, there, here) for s, there, here in zip(drift, far[0], near[0], strict=True)),
        {pair: moved(s, far[1].get(pair), near[1].get(pair)) for pair, s in diffusion.items()},
    )


def _refitted(
    problem: JointProblem,
    equations: JointEquations,
    v: Covariances,
    drift: list[Support],
    diffusion: Mapping[Pair, Support],
) -> Raw:
    found = [
        estimate_on(equations.of_drift(p, v.drift[p]), problem.library, support)
        for p, support in enumerate(drift)
    ]
    estimates = [e for e in found if e is not None]
    if len(estimates) < len(drift):
        return (None,) * len(drift), {}
    b = np.stack([e.internal for e in estimates])
    raw: dict[Pair, Floats | None] = {}
    for pair, shares in components_of(problem).items():
        estimate = estimate_up_to(
            problem.diffusion_degree,
            equations.of_diffusion(shares, b, v.diffusion[pair]),
            problem.library,
            diffusion[pair],
        )
        raw[pair] = None if estimate is None else estimate.raw
    return tuple(e.raw for e in estimates), raw
