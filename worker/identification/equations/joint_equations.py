"""Joint weak equations for the coefficients and for the measurement noise (docs/method.md §10)."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from worker.identification.equations.regression import (
    NormalEquations,
    left_over,
    whitened,
    whitening_of,
)
from worker.identification.sums.kernel_statistics import WeakSystem

Floats = NDArray[np.float64]


@dataclass(frozen=True, slots=True, eq=False)
class NoiseLine:
    """Measurement noise's variance that goes with given coefficients, internal units.

    It is at_zero − slope · coefficients.
    """

    at_zero: float
    slope: Floats

    def at(self, coefficients: Floats) -> float:
        """Compute the variance that goes with these coefficients."""
        return self.at_zero - float(self.slope @ coefficients)


@dataclass(frozen=True, slots=True, eq=False)
class _Scores:
    """Scores A_eᵀV⁻¹B_e ≈ A_eᵀV⁻¹(A_e, n_e) · unknowns of all systems e, one below the other.

    n_e is what multiplies the noise's variance.

    design     (n_blocks, n_scores, n_functions + 1)
    response   (n_blocks, n_scores)
    """

    design: Floats
    response: Floats


def joint_equations(
    systems: Sequence[WeakSystem], covariance: Floats
) -> tuple[NormalEquations, NoiseLine]:
    """Solve generalised least squares on the scores of all systems, equation (M33).

    Residuals of different equations share noise: neither one equation nor their sum is best. The
    noise's variance is one more unknown, eliminated at the end.

    covariance   V of each system but for a factor, as if windows were independent

    Raises NoDataUnderKernels.
    """
    scores = _scores_of(systems, whitening_of(covariance))
    design, response = scores.design.sum(axis=0), scores.response.sum(axis=0)
    n_functions = design.shape[1] - 1
    rows = [slice(k, k + n_functions) for k in range(0, len(response), n_functions)]
    weight = np.zeros((len(response), len(response)))
    for row in rows:
        weight[row, row] = np.linalg.pinv(design[row, :n_functions], 1e-12, hermitian=True)
    for _ in range(2):
        weighted = design.T @ weight
        unknowns = np.linalg.lstsq(weighted @ design, weighted @ response, rcond=None)[0]
        weight = _inverse_covariance(scores, scores.response - scores.design @ unknowns, rows)
    weighted = design.T @ weight
    whitened_design = whitened(systems[-1], covariance).design
    return _without_noise(weighted @ scores.design, scores.response @ weighted.T, whitened_design)


def _scores_of(systems: Sequence[WeakSystem], whitening: Floats) -> _Scores:
    designs, responses = [], []
    for system in systems:
        assert system.noise is not None, "the noise's variance is an unknown"
        columns = whitening @ np.concatenate([system.design, system.noise[..., None]], axis=2)
        instruments = columns[..., :-1].sum(axis=0)
        designs.append(np.einsum("mj,bmk->bjk", instruments, columns, optimize=True))
        responses.append(system.response @ whitening.T @ instruments)
    return _Scores(np.concatenate(designs, axis=1), np.concatenate(responses, axis=1))


def _inverse_covariance(scores: _Scores, residuals: Floats, rows: Sequence[slice]) -> Floats:
    """Invert the covariance of all scores, estimated from the scatter of the blocks.

    The covariance of each system is known but for a factor. The scatter of the blocks gives these
    factors and the correlations between systems.
    """
    n_functions = scores.design.shape[2] - 1
    roots, unit, left = [], [], []
    for row in rows:
        of_blocks = scores.design[:, row, :n_functions]
        values, vectors = np.linalg.eigh(of_blocks.sum(axis=0))
        # The root is symmetric, so that functions of one system stand beside the same functions
        # of the others.
        inverse_root = (
            vectors / np.sqrt(np.where(values > 1e-12 * values[-1], values, np.inf)) @ vectors.T
        )
        roots.append(inverse_root)
        unit.append(residuals[:, row] @ inverse_root)
        left.append(left_over(of_blocks @ inverse_root @ inverse_root))
    # A single block leaves no scatter.
    known = min(left) > 0
    shared = (
        np.einsum("ebj,fbj->ef", unit, unit) / np.sqrt(np.outer(left, left))
        if known
        else np.eye(len(rows))
    )
    weight = np.linalg.inv(shared)
    return np.block(
        [
            [w * one @ other for w, other in zip(line, roots, strict=True)]
            for line, one in zip(weight, roots, strict=True)
        ]
    )


def _without_noise(
    design: Floats, response: Floats, whitened_design: Floats
) -> tuple[NormalEquations, NoiseLine]:
    """Eliminate the noise's variance, the last unknown, from the equations of the blocks."""
    pooled, pooled_response = design.sum(axis=0), response.sum(axis=0)
    own = pooled[-1, -1]
    line = NoiseLine(float(pooled_response[-1] / own), pooled[-1, :-1] / own)
    share = pooled[:-1, -1] / own
    # First what the noise explains leaves each response and column, then the noise's own equation
    # leaves the others.
    without = design[..., :-1] - design[..., -1:] * line.slope
    left = response - design[..., -1] * line.at_zero
    block_information = without[:, :-1] - share[:, None] * without[:, -1:]
    block_score = left[:, :-1] - share * left[:, -1:]
    information = block_information.sum(axis=0)
    return NormalEquations(
        information=(information + information.T) / 2,
        score=block_score.sum(axis=0),
        block_information=block_information,
        block_score=block_score,
        design=whitened_design,
    ), line
