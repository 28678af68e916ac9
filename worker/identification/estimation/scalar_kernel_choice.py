"""Bandwidth and count of the kernels by cross-validation, from one pass over the data (docs/method.md §6).

Sums over cells fine enough for the narrowest candidate give every candidate's sums, and the held-out score's.
"""

from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from worker.identification.equations.relative_efficiency import (
    local_variance,
    variance_over_bound,
    whitening,
)
from worker.identification.estimation.cell_equations import Weights
from worker.identification.estimation.problem import Problem
from worker.identification.selection.cross_validation import (
    FEWEST_FOLDS,
    N_FOLDS,
    Candidate,
    KernelChoice,
    choice_among,
    folds_of,
    held_out,
    make_held_out_score,
)
from worker.identification.sums.cell_rules import drift_system
from worker.identification.sums.kernel_statistics import KernelStatistics, WeakSystem
from worker.identification.sums.kernels import Kernels
from worker.identification.sums.rules import SamplingRule

Floats = NDArray[np.float64]


def choose_kernels(
    problem: Problem, rule: SamplingRule, at_nodes: KernelStatistics, weights: Weights
) -> tuple[Problem, KernelChoice]:
    """The problem with the kernels that cross-validation of the drift prefers among its grid's; its own where there are too few
    samples to choose.

    at_nodes   statistics without kernels
    weights    of the residuals, the same for all candidates
    """
    assert problem.grid is not None, "there are candidates to choose from"
    n_folds = min(N_FOLDS, len(at_nodes.sums))
    if n_folds < FEWEST_FOLDS:
        return problem, KernelChoice((), None, n_folds)
    choice = choice_among(judge(problem.grid.candidates, problem, rule, at_nodes, weights), n_folds)
    return problem if choice.chosen is None else replace(
        problem, instruments=problem.grid.candidates[choice.chosen]
    ), choice


def judge(
    kernels: tuple[Kernels, ...],
    problem: Problem,
    rule: SamplingRule,
    at_nodes: KernelStatistics,
    weights: Weights,
) -> list[Candidate]:
    """Held-out scores and variances of each of these kernels."""
    functions, time = problem.library.internal(at_nodes.nodes), at_nodes.time
    system = drift_system(rule, at_nodes, problem.library)
    folds = WeakSystem(folds_of(system.design), folds_of(system.response))
    instruments = functions / local_variance(time, weights.drift)[:, None]
    held_out_score = make_held_out_score(
        design=instruments.T @ folds.design,
        response=folds.response @ instruments,
        information=(instruments * time[:, None]).T @ functions,
    )

    def candidate(k: Kernels) -> Candidate:
        at = k.at(at_nodes.nodes)
        by_drift, by_diffusion = whitening(at, weights.drift), whitening(at, weights.diffusion)
        variances = (
            variance_over_bound(by_drift, functions, time, weights.drift),
            variance_over_bound(by_diffusion, functions, time, weights.diffusion),
        )
        scores = (
            None
            if None in variances
            else held_out(by_drift @ folds.design, folds.response @ by_drift.T, held_out_score)
        )
        return Candidate(len(k.centres), k.bandwidth, scores, *variances)

    return [candidate(k) for k in kernels]
