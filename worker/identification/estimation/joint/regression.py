"""Several equations for the same coefficients and the measurement noise (docs/method.md §10)."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from worker.identification.regression import (
    NormalEquations,
    degrees_of_freedom,
    whitened,
    whitening_of,
)
from worker.identification.sums.kernel_statistics import WeakSystem

Floats = NDArray[np.float64]


@dataclass(frozen=True, slots=True, eq=False)
class NoiseLine:
    """Measurement noise's variance that goes with given coefficients, internal units.

    It is at_zero − slope · coefficients.

    variance   squared standard error of at_zero
    blocks     (n_blocks, n_functions + 2) each block's part of the equation at_zero = slope ·
               coefficients + variance: its left side, and what multiplies these unknowns
    """

    at_zero: float
    slope: Floats
    variance: float
    blocks: Floats

    def at(self, coefficients: Floats) -> float:
        """Compute the variance that goes with these coefficients."""
        return self.at_zero - float(self.slope @ coefficients)

    def error(self, factor: Floats) -> float:
        """Compute the standard error for coefficients of covariance factor · factorᵀ."""
        return float(np.sqrt(self.variance + ((self.slope @ factor) ** 2).sum()))


@dataclass(frozen=True, slots=True, eq=False)
class _Scores:
    """Scores A_eᵀV⁻¹B_e ≈ A_eᵀV⁻¹(A_e, n_e) · unknowns of all systems e, one below the other.

    n_e is what multiplies the noise's variance, where that is an unknown.

    design     (n_blocks, n_scores, n_unknowns)
    response   (n_blocks, n_scores)
    drift      (n_scores, n_functions) slope of the response in the drift's coefficients
    """

    design: Floats
    response: Floats
    drift: Floats


def joint_equations(
    systems: Sequence[WeakSystem], covariance: Floats, drift_factor: Floats
) -> tuple[NormalEquations, NoiseLine | None]:
    """Solve generalised least squares on the scores of all systems, equation (M33).

    Residuals of different equations share noise: neither one equation nor their sum is best. All
    share the error of the drift. A variance of the noise that is an unknown is eliminated at the
    end.

    Parameters
    ----------
    systems : weak equations for the same coefficients
    covariance : (n_kernels, n_kernels) V of each system but for a factor, as if windows were
        independent
    drift_factor : (n_functions, n_functions) square root F of the drift's covariance F Fᵀ

    Raises
    ------
    NoDataUnderKernels : the covariance is zero
    """
    scores = _scores_of(systems, whitening_of(covariance))
    design, response = scores.design.sum(axis=0), scores.response.sum(axis=0)
    n_functions = systems[0].design.shape[2]
    rows = [slice(k, k + n_functions) for k in range(0, len(response), n_functions)]
    weight = np.zeros((len(response), len(response)))
    for row in rows:
        weight[row, row] = np.linalg.pinv(design[row, :n_functions], 1e-12, hermitian=True)
    for _ in range(2):
        weighted = design.T @ weight
        unknowns = np.linalg.lstsq(weighted @ design, weighted @ response, rcond=None)[0]
        residuals = scores.response - scores.design @ unknowns
        weight = _with_common_error(
            _inverse_covariance(scores, residuals, rows), scores.drift @ drift_factor
        )
    weighted = design.T @ weight
    blocks, of_blocks = weighted @ scores.design, scores.response @ weighted.T
    whitened_design = whitened(systems[-1], covariance).design
    if systems[0].noise is not None:
        return _without_noise(blocks, of_blocks, whitened_design)
    return _normal_equations(blocks, of_blocks, whitened_design), None


def _scores_of(systems: Sequence[WeakSystem], whitening: Floats) -> _Scores:
    designs, responses, drifts = [], [], []
    for system in systems:
        assert system.drift is not None, "the equations depend on the drift"
        design, n_functions = system.design, system.design.shape[2]
        if system.noise is not None:
            design = np.concatenate([design, system.noise[..., None]], axis=2)
        columns = whitening @ design
        instruments = columns[..., :n_functions].sum(axis=0)
        designs.append(np.einsum("mj,bmk->bjk", instruments, columns, optimize=True))
        responses.append(system.response @ whitening.T @ instruments)
        drifts.append(instruments.T @ whitening @ system.drift)
    return _Scores(
        np.concatenate(designs, axis=1), np.concatenate(responses, axis=1), np.concatenate(drifts)
    )


def _with_common_error(weight: Floats, error: Floats) -> Floats:
    """Compute (weight⁻¹ + error · errorᵀ)⁻¹ by Woodbury's identity.

    error   (n_scores, n_functions) square root of the covariance that is added
    """
    known = weight @ error
    return np.asarray(
        weight - known @ np.linalg.solve(np.eye(error.shape[1]) + error.T @ known, known.T)
    )


def _inverse_covariance(scores: _Scores, residuals: Floats, rows: Sequence[slice]) -> Floats:
    """Invert the covariance of all scores, estimated from the scatter of the blocks.

    The covariance of each system is known but for a factor. The scatter of the blocks gives these
    factors and the correlations between systems.
    """
    roots, unit, left = [], [], []
    for row in rows:
        of_blocks = scores.design[:, row, : row.stop - row.start]
        values, vectors = np.linalg.eigh(of_blocks.sum(axis=0))
        # The root is symmetric, so that functions of one system stand beside the same functions
        # of the others.
        inverse_root = (
            vectors / np.sqrt(np.where(values > 1e-12 * values[-1], values, np.inf)) @ vectors.T
        )
        roots.append(inverse_root)
        unit.append(residuals[:, row] @ inverse_root)
        left.append(degrees_of_freedom(of_blocks @ inverse_root @ inverse_root))
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
    line = NoiseLine(
        float(pooled_response[-1] / own),
        pooled[-1, :-1] / own,
        float(1 / own),
        np.column_stack([response[:, -1], design[:, -1]]) / own,
    )
    share = pooled[:-1, -1] / own
    # First what the noise explains leaves each response and column, then the noise's own equation
    # leaves the others.
    without = design[..., :-1] - design[..., -1:] * line.slope
    left = response - design[..., -1] * line.at_zero
    block_information = without[:, :-1] - share[:, None] * without[:, -1:]
    block_score = left[:, :-1] - share * left[:, -1:]
    return _normal_equations(block_information, block_score, whitened_design), line


def _normal_equations(
    block_information: Floats, block_score: Floats, whitened_design: Floats
) -> NormalEquations:
    information = block_information.sum(axis=0)
    return NormalEquations(
        information=(information + information.T) / 2,
        score=block_score.sum(axis=0),
        block_information=block_information,
        block_score=block_score,
        design=whitened_design,
    )
