"""Choice of kernels by cross-validation, in one pass over the data (docs/method.md §§6, 11).

The score is the held-out likelihood of the drift, equation (M28), the precision is (M29). For one
variable, count and bandwidth are chosen: cells fine enough for the narrowest candidate give the
sums of every candidate and of the score. For several, the number of kernels is chosen, with the
library's functions as further instruments.
"""

from collections.abc import Callable
from dataclasses import dataclass, replace
from itertools import pairwise

import numpy as np
from numpy.typing import NDArray

from worker.identification.data.library import Library
from worker.identification.equations.regression import inverse_square_root, noise_covariance
from worker.identification.equations.relative_efficiency import (
    local_variance,
    variance_over_bound,
    whitening,
)
from worker.identification.estimation.cell_equations import N_BLOCKS, Weights
from worker.identification.estimation.direct_equations import SMALLEST_EIGENVALUE, walk
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
from worker.identification.sums.instruments import Instruments
from worker.identification.sums.kernel_statistics import KernelStatistics, WeakSystem
from worker.identification.sums.kernels import Kernels
from worker.identification.sums.rules import TRAPEZOID, SamplingRule
from worker.identification.sums.window_products import WindowProducts
from worker.identification.sums.window_statistics import Sample, gather, take_sample

Floats = NDArray[np.float64]

COUNTS_OF_SEVERAL = (12, 25, 50, 100)
"""Kernel counts that are tried for several variables; 200 take three times as long as 50."""

SAMPLE_SIZE = 10_000
"""Windows from which variances are estimated."""

WINDOWS_FOR_SCORES = 200_000
"""Windows, in chunks of every block, from which kernels are scored.

More would not distinguish them better: scores are in units of their standard error."""


def choose_kernels(
    problem: Problem, rule: SamplingRule, at_nodes: KernelStatistics, weights: Weights
) -> Problem:
    """Replace the kernels by those of the grid that cross-validation of the drift prefers.

    The problem keeps its kernels where there are too few samples to choose.

    Parameters
    ----------
    problem : problem with a grid of kernels
    rule : sampling rule
    at_nodes : statistics without kernels
    weights : weights of the residuals, for all candidates
    """
    assert problem.grid is not None, "there are candidates to choose from"
    n_folds = min(N_FOLDS, len(at_nodes.sums))
    if n_folds < FEWEST_FOLDS:
        return replace(problem, choice=KernelChoice((), None, n_folds))
    choice = choice_among(judge(problem.grid, problem, rule, at_nodes, weights), n_folds)
    taken = problem.instruments if choice.chosen is None else problem.grid[choice.chosen]
    return replace(problem, instruments=taken, choice=choice)


def judge(
    kernels: tuple[Kernels, ...],
    problem: Problem,
    rule: SamplingRule,
    at_nodes: KernelStatistics,
    weights: Weights,
) -> list[Candidate]:
    """Return held-out scores and variances of each candidate.

    Parameters
    ----------
    kernels : candidates
    problem : library
    rule : sampling rule
    at_nodes : statistics without kernels
    weights : weights of the residuals, for all candidates
    """
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


def choose_instruments(problem: Problem, make: Callable[[int], Instruments]) -> Problem:
    """Replace the instruments by those that cross-validation prefers, and record the choice.

    The problem keeps its instruments where there are too few samples to choose.

    make   function of the largest number of kernels that makes instruments
    """
    by_count = {made.n_kernels: made for made in map(make, COUNTS_OF_SEVERAL)}
    candidates, n = tuple(by_count.values()), problem.data.n_increments
    sample = take_sample(
        walk(problem, TRAPEZOID, 1, only=max(1, round(n / SAMPLE_SIZE))),
        problem.space,
        problem.joint_instruments,
        TRAPEZOID,
        1,
    )
    variance = LocalVariance.of_sample(sample, problem.joint_instruments)
    all_instruments = _AllInstruments(candidates, variance, problem.library)
    windows = walk(problem, TRAPEZOID, N_BLOCKS, every_chunk=max(1, n // WINDOWS_FOR_SCORES))
    statistics = gather(windows, problem.space, all_instruments, TRAPEZOID)
    assert statistics is not None, "the sample has windows, so the record has"
    folds = folds_of(statistics.products.columns)
    if len(folds) < FEWEST_FOLDS:
        return replace(problem, choice=KernelChoice((), None, len(folds)))
    parts = [
        WindowProducts(folds[:, a:b], statistics.products.layout)
        for a, b in pairwise(all_instruments.ends)
    ]
    d = problem.space.dimension
    judged = [
        _judge(c, part, parts[-d:], sample, variance)
        for c, part in zip(candidates, parts[:-d], strict=True)
    ]
    choice = choice_among(judged, len(folds))
    taken = problem.instruments if choice.chosen is None else candidates[choice.chosen]
    return replace(problem, instruments=taken, choice=choice)


@dataclass(frozen=True, slots=True, eq=False)
class LocalVariance:
    """Local variance ω_p(y): squared increments per time, averaged over reference kernels.

    top      (n_kernels, d) sums of squares, with a trace of the mean
    bottom   (n_kernels, 1) sums of time, with a trace of the mean
    """

    reference: Instruments
    top: Floats
    bottom: Floats

    @classmethod
    def of_sample(cls, sample: Sample, reference: Instruments) -> "LocalVariance":
        """Estimate the local variance from a sample of windows."""
        squares, step = sample.products.displacements[:, -1] ** 2, sample.step[:, None]
        kernels, mean = reference.kernels(sample.instrument).T, squares.sum(axis=0) / step.sum()
        bottom = kernels @ step
        prior = 1e-6 * float(bottom.max())
        return cls(reference, kernels @ squares + prior * mean, bottom + prior)

    def at(self, y: Floats) -> Floats:
        """Return ω at the internal states y (n, d); (n, d)."""
        # Away from all kernels this gives the mean over them.
        kernels = self.reference.kernels(y) + 1e-9
        return np.asarray((kernels @ self.top) / (kernels @ self.bottom))


@dataclass(frozen=True, slots=True, eq=False)
class _AllInstruments:
    """Instruments of all candidates, and g/ω_p of the held-out score of every variable."""

    candidates: tuple[Instruments, ...]
    variance: LocalVariance
    library: Library

    def at(self, y: Floats) -> tuple[Floats, ...]:
        functions, omega = self.library.internal(y), self.variance.at(y)
        return (
            *(part for c in self.candidates for part in c.at(y)),
            *(functions / w[:, None] for w in omega.T),
        )

    @property
    def ends(self) -> list[int]:
        """Column at which each candidate's instruments begin, then each variable's g/ω_p."""
        size, d = self.library.internal_size, self.variance.top.shape[1]
        return [
            0,
            *np.cumsum([*(c.n_kernels + size for c in self.candidates), *[size] * d]).tolist(),
        ]


def _judge(
    instruments: Instruments,
    folds: WindowProducts,
    likelihoods: list[WindowProducts],
    sample: Sample,
    variance: LocalVariance,
) -> Candidate:
    """Score one candidate.

    folds         columns (n_folds, n_instruments, n_columns) of the candidate's instruments
    likelihoods   columns of g/ω_p, by variable
    """
    at_sample = np.concatenate(instruments.at(sample.instrument), axis=1).T
    step, functions, omega = sample.step, sample.functions, variance.at(sample.instrument)
    scores: list[Floats] = []
    variances: list[tuple[float | None, float | None]] = []
    for p, likelihood in enumerate(likelihoods):
        expected, of_square = omega[:, p] * step, 2 * omega[:, p] ** 2 * step**2
        root = _root(at_sample, expected)
        by_drift, by_diffusion = root @ at_sample, _root(at_sample, of_square) @ at_sample
        variances.append(
            (
                variance_over_bound(by_drift, functions, step, expected),
                variance_over_bound(by_diffusion, functions, step, of_square),
            )
        )
        held_out_score = make_held_out_score(
            likelihood.drift_design(TRAPEZOID),
            likelihood.drift_response(p),
            likelihood.functions[..., 0, :].sum(axis=0),
        )
        scores.append(
            held_out(
                root @ folds.drift_design(TRAPEZOID),
                folds.drift_response(p) @ root.T,
                held_out_score,
            )
        )
    of_drift, of_diffusion = (_mean(values) for values in zip(*variances, strict=True))
    total = None if of_drift is None or of_diffusion is None else np.sum(scores, axis=0)
    return Candidate(instruments.n_kernels, instruments.bandwidth, total, of_drift, of_diffusion)


def _root(at_sample: Floats, variance: Floats) -> Floats:
    """Return V^(−1/2), with all instruments scaled to the same size."""
    v = noise_covariance(at_sample, variance)
    scale = np.sqrt(np.diag(v))
    scale = np.where(scale > 0, scale, np.inf)
    return inverse_square_root(v / np.outer(scale, scale), SMALLEST_EIGENVALUE) / scale


def _mean(values: tuple[float | None, ...]) -> float | None:
    known = [v for v in values if v is not None]
    return float(np.mean(known)) if len(known) == len(values) else None
