"""Supports and coefficients of every component, from equations of either kind."""

from collections.abc import Sequence
from dataclasses import replace
from typing import Any, Protocol, Self

import numpy as np
from numpy.typing import NDArray

from worker.identification.checks.residuals import Residuals
from worker.identification.data.library import Library
from worker.identification.estimation.fit import Coarse, Solution
from worker.identification.estimation.joint.regression import NoiseLine
from worker.identification.estimation.problem import (
    Problem,
    Shares,
    completed,
    components_of,
    velocity_of,
)
from worker.identification.regression import NormalEquations
from worker.identification.selection.best_subset import Estimate
from worker.identification.selection.constraints import choose_under, estimate_under
from worker.identification.selection.support_selection import Selected
from worker.identification.sums.rules import SamplingRule, other_rule
from worker.identification.sums.window_products import Pair

Floats = NDArray[np.float64]


class Equations(Protocol):
    """Equations of all components by one sampling rule.

    There are two kinds: from sums over cells of one variable, and from direct sums of several.
    V, the covariance of the equations' noise, is opaque to everyone but the equations that made it.
    """

    @property
    def rule(self) -> SamplingRule:
        """Sampling rule."""
        ...

    @property
    def n_windows(self) -> int:
        """Number of windows."""
        ...

    def first_covariances(self) -> Any:
        """Return V from the local second moments of the increments, before anything is fitted."""
        ...

    def covariances(self, model: Solution) -> Any:
        """Return V from the residuals of a model."""
        ...

    def of_drift(self, p: int, v: Any, rule: SamplingRule | None = None) -> NormalEquations:
        """Return the equations of b_p. Raises NoDataUnderKernels.

        Parameters
        ----------
        p : number of the variable
        v : covariances of the equations' noise
        rule : sampling rule, if another one
        """
        ...

    def of_diffusion(
        self,
        pair: Pair,
        shares: Shares,
        drift: Sequence[Estimate],
        v: Any,
        rule: SamplingRule | None = None,
    ) -> tuple[NormalEquations, NoiseLine | None]:
        """Return the equations of a component of the tensor. Raises NoDataUnderKernels.

        Where the variance of the measurement noise is an unknown, its line is returned, too.

        Parameters
        ----------
        pair : numbers of the variables
        shares : component as a mean of pairs
        drift : estimates of the drift, by variable
        v : covariances of the equations' noise
        rule : sampling rule, if another one
        """
        ...

    def residuals(self, model: Solution) -> Residuals:
        """Measure the residuals of a model in windows spread over the record."""
        ...

    def kernel_weights(self, residuals: Residuals) -> Floats:
        """Return Σ K_j(z_n) over all windows; (n_kernels,)."""
        ...

    def blocks_at_double_step(self) -> int:
        """Return k where each k-th block shows the effect of doubling the step."""
        ...

    def at_double_step(self, every: int) -> Self | None:
        """Return the equations at twice the step from each k-th block; None without windows."""
        ...

    def of_blocks(self, every: int) -> Self:
        """Return the equations of each k-th block only."""
        ...


def solve(problem: Problem, equations: Equations, v: Any, *, briefly: bool = False) -> Solution:
    """Select and estimate the drift, then the diffusion with the drift's part removed.

    Raises NoDataUnderKernels.

    Parameters
    ----------
    problem : library, criterion and structure of the tensor
    equations : equations by one sampling rule
    v : covariances of the noise of `equations`
    briefly : fit the model alone; terms need not be significant by the other sampling rule too
    """
    library, n_windows, criterion = problem.library, equations.n_windows, problem.selection
    other = None if briefly else other_rule(equations.rule)
    names = problem.names
    condition = 0.0
    drift = []
    for p, name in enumerate(names):
        if p in problem.velocities:
            drift.append(velocity_of(problem, p))
            continue
        problem.tell(f"choosing the terms of the drift of {name}")
        found = equations.of_drift(p, v)
        by_other = None if other is None else equations.of_drift(p, v, other)
        drift.append(
            choose_under(
                problem.of_drift(p),
                found,
                by_other,
                library,
                n_windows,
                criterion,
                ends=problem.ends,
                briefly=briefly,
            )
        )
        condition = max(condition, found.condition)
    b, diffusion = [s.estimate for s in drift], {}
    noise: Floats | None = None
    noise_error = 0.0
    for pair, shares in components_of(problem).items():
        problem.tell(f"choosing the terms of the diffusion {names[pair[0]]},{names[pair[1]]}")
        found, line = equations.of_diffusion(pair, shares, b, v)
        by_other = None if other is None else equations.of_diffusion(pair, shares, b, v, other)[0]
        selected = choose_under(
            problem.of_diffusion(pair),
            found,
            by_other,
            library,
            n_windows,
            criterion,
            briefly=briefly,
        )
        if line is not None:
            noise = np.array([[line.at(selected.estimate.internal)]])
            noise_error = line.error(selected.estimate.internal_factor)
        diffusion[pair] = selected
    if problem.ends and not any(library.degrees[k] == 0 for k in diffusion[0, 0].estimate.support):
        scales = problem.scales
        held = problem.ends.held_by_zero(scales.low, scales.high, scales.mean, scales.deviation)
        if held != problem.ends:
            return solve(replace(problem, ends=held), equations, v, briefly=briefly)
    return Solution(
        equations.rule,
        tuple(drift),
        completed(problem, diffusion, ()),
        condition,
        noise,
        noise_error,
    )


Estimates = tuple[tuple[Estimate | None, ...], dict[Pair, Estimate | None]]
"""Estimates by variable and by pair; None where the data do not determine a component."""


def re_estimated(problem: Problem, equations: Equations, v: Any, model: Solution) -> Estimates:
    """Estimate drift and diffusion on the supports of a model, from other equations.

    Parameters
    ----------
    problem : library and structure of the tensor
    equations : other equations
    v : covariances of the noise of `equations`
    model : model whose supports are kept
    """
    undetermined: Estimates = (None,) * len(model.drift), {}
    if not equations.n_windows:
        return undetermined
    drift = [
        s.estimate
        if p in problem.velocities
        else estimate_under(
            problem.of_drift(p), equations.of_drift(p, v), problem.library, s.estimate.support
        )
        for p, s in enumerate(model.drift)
    ]
    known = [estimate for estimate in drift if estimate is not None]
    if len(known) < len(drift):
        return undetermined
    return tuple(drift), {
        pair: estimate_under(
            problem.of_diffusion(pair),
            equations.of_diffusion(pair, shares, known, v)[0],
            problem.library,
            model.diffusion[pair].estimate.support,
        )
        for pair, shares in components_of(problem).items()
    }


def coarse_coefficients(problem: Problem, equations: Equations, v: Any, model: Solution) -> Coarse:
    """Estimate raw coefficients on the model's supports at twice the step.

    In a long record some blocks tell how far doubling the step moves the coefficients; the
    model's own are moved as far.

    Parameters
    ----------
    problem : library and structure of the tensor
    equations : equations at the sampling interval
    v : covariances of the noise of `equations`
    model : model whose supports are kept
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


def step_errors(
    selected: Selected, coarse: Floats | None, order: int, library: Library
) -> dict[str, float]:
    """Estimate each term's relative error from the sampling interval.

    The error is the term's change on doubling the interval, over 2^order − 1.

    Parameters
    ----------
    selected : estimate of the component
    coarse : raw coefficients at twice the interval; None: no errors
    order : order of the sampling rule
    library : terms
    """
    if coarse is None:
        return {}
    pairs = zip(selected.estimate.support, selected.estimate.raw, coarse, strict=True)
    return {
        library.names[k]: float((far - near) / (2**order - 1) / near)
        for k, near, far in pairs
        if near
    }
