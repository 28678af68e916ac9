"""Supports and coefficients of every component, from equations of either kind."""

from typing import Any, Protocol, Self

import numpy as np
from numpy.typing import NDArray

from worker.identification.checks.scalar_residuals import Residuals
from worker.identification.estimation.fit import Coarse, Solution
from worker.identification.estimation.problem import (
    Problem,
    Shares,
    completed,
    components_of,
)
from worker.identification.regression import NoiseLine, NormalEquations
from worker.identification.selection.best_subset import Estimate, estimate_on
from worker.identification.selection.diffusion_terms import choose_up_to, estimate_up_to
from worker.identification.selection.support_selection import choose
from worker.identification.sums.rules import SamplingRule, other_rule
from worker.identification.sums.window_products import Pair

Floats = NDArray[np.float64]


class Equations(Protocol):
    """The equations of all components by one sampling rule.

    There are two kinds: from sums over cells of one variable, and from direct sums of several.

    V, the covariance of the equations' noise, is made and read by the same kind of equations; no
    one else looks into it.
    """

    @property
    def rule(self) -> SamplingRule: ...

    @property
    def n_windows(self) -> int: ...

    def first_covariances(self) -> Any:
        """Give V before anything is known but the increments' local second moments."""
        ...

    def covariances(self, model: Solution) -> Any:
        """Give V from the residuals of a model."""
        ...

    def of_drift(self, p: int, v: Any, rule: SamplingRule | None = None) -> NormalEquations:
        """Give the equations of b_p, by `rule` if given. Raises NoDataUnderKernels."""
        ...

    def of_diffusion(
        self, pair: Pair, shares: Shares, drift: Floats, v: Any, rule: SamplingRule | None = None
    ) -> tuple[NormalEquations, NoiseLine | None]:
        """Give the equations of a component of the tensor. Raises NoDataUnderKernels.

        Where the measurement noise is an unknown of them, its line is given, too.

        drift   (d, n_functions) internal coefficients"""
        ...

    def residuals(self, model: Solution) -> Residuals:
        """Measure the residuals of a model in windows spread over the record."""
        ...

    def kernel_weights(self, residuals: Residuals) -> Floats:
        """Give Σ K_j(z_n) over all windows; (n_kernels,)."""
        ...

    def blocks_at_double_step(self) -> int:
        """Say every how many blocks are enough to see what doubling the step changes."""
        ...

    def at_double_step(self, every: int) -> Self | None:
        """Give the equations at twice the step from every k-th block; None without windows."""
        ...

    def of_blocks(self, every: int) -> Self:
        """Give the equations of every k-th block only."""
        ...


def solve(problem: Problem, equations: Equations, v: Any, *, briefly: bool = False) -> Solution:
    """Select and estimate the drift, then the diffusion with the drift's part removed.

    Raises NoDataUnderKernels.

    v         covariances of the equations' noise, of `equations`
    briefly   the model alone, for what needs no more: terms need not hold by the other sampling
              rule too
    """
    library, n_windows, criterion = problem.library, equations.n_windows, problem.selection
    other, names, condition = (
        None if briefly else other_rule(equations.rule),
        library.variables,
        0.0,
    )
    drift = []
    for p, name in enumerate(names):
        problem.tell(f"choosing the terms of the drift of {name}")
        found = equations.of_drift(p, v)
        by_other = None if other is None else equations.of_drift(p, v, other)
        drift.append(choose(found, by_other, library, n_windows, criterion, briefly=briefly))
        condition = max(condition, found.condition)
    b, noise, diffusion = np.stack([s.estimate.internal for s in drift]), None, {}
    for pair, shares in components_of(problem).items():
        problem.tell(f"choosing the terms of the diffusion {names[pair[0]]},{names[pair[1]]}")
        found, line = equations.of_diffusion(pair, shares, b, v)
        by_other = None if other is None else equations.of_diffusion(pair, shares, b, v, other)[0]
        degree = problem.diffusion_degree
        selected = choose_up_to(
            degree, found, by_other, library, n_windows, criterion, briefly=briefly
        )
        noise = None if line is None else np.array([[line.at(selected.estimate.internal)]])
        diffusion[pair] = selected
    return Solution(
        equations.rule, tuple(drift), completed(problem, diffusion, ()), condition, noise
    )


Estimates = tuple[tuple[Estimate | None, ...], dict[Pair, Estimate | None]]
"""By variable and by pair; None where the data do not tell a component's terms."""


def re_estimated(problem: Problem, equations: Equations, v: Any, model: Solution) -> Estimates:
    """Estimate drift and diffusion on the supports of a model, from other equations."""
    undetermined: Estimates = (None,) * len(model.drift), {}
    if not equations.n_windows:
        return undetermined
    drift = [
        estimate_on(equations.of_drift(p, v), problem.library, s.estimate.support)
        for p, s in enumerate(model.drift)
    ]
    known = [estimate.internal for estimate in drift if estimate is not None]
    if len(known) < len(drift):
        return undetermined
    return tuple(drift), {
        pair: estimate_up_to(
            problem.diffusion_degree,
            equations.of_diffusion(pair, shares, np.stack(known), v)[0],
            problem.library,
            model.diffusion[pair].estimate.support,
        )
        for pair, shares in components_of(problem).items()
    }


def coarse_coefficients(problem: Problem, equations: Equations, v: Any, model: Solution) -> Coarse:
    """Estimate raw coefficients on the model's supports at twice the step.

    Of a long record they are the model's, moved as far as doubling the step moves those of some of
    its blocks.
    """
    every = equations.blocks_at_double_step()
    coarse = equations.at_double_step(every)
    if coarse is None:
        return (None,) * len(model.drift), {}
    far = re_estimated(problem, coarse, v, model)
    near = None if every == 1 else re_estimated(problem, equations.of_blocks(every), v, model)

    def moved(here: Floats, there: Estimate | None, of_blocks: Estimate | None) -> Floats | None:
        if there is None or near is None:
            return None if there is None else there.raw
        return None if of_blocks is None else here + there.raw - of_blocks.raw

    return (
        tuple(
            moved(s.estimate.raw, far[0][p], near and near[0][p]) for p, s in enumerate(model.drift)
        ),
        {
            pair: moved(model.diffusion[pair].estimate.raw, e, near and near[1].get(pair))
            for pair, e in far[1].items()
        },
    )
