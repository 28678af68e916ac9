"""Generalised least squares on the pooled weak equations (docs/method.md §§4, 10).

V_ij = Σ_n K_i K_j ω(y_n) Δt is the covariance of the noise in B, where ω is the local variance of
an increment's residual per unit of time (ω = a for the drift; 2a² and Δt² for the diffusion).
Whitened by V, the regression has unit noise. Several equations for the same coefficients, and for
the measurement noise, are solved jointly.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from worker.identification.errors import NoDataUnderKernels
from worker.identification.sums.kernel_statistics import WeakSystem

Floats = NDArray[np.float64]

SMALLEST_EIGENVALUE = 1e-10
"""Share of V's largest eigenvalue below which a direction carries rounding errors only."""


@dataclass(frozen=True, slots=True, eq=False)
class NormalEquations:
    """Whitened regression in the internal basis: information · coefficients = score.

    information         (n_functions, n_functions)             Aᵀ V⁻¹ A
    score               (n_functions,)                         Aᵀ V⁻¹ B
    block_information   (n_blocks, n_functions, n_functions)   each block's part of the information
    block_score         (n_blocks, n_functions)                each block's part of the score
    design              (rows, n_functions)                    the whitened design
    """

    information: Floats
    score: Floats
    block_information: Floats
    block_score: Floats
    design: Floats

    @property
    def condition(self) -> float:
        """Condition number of the column-normalised whitened design."""
        norms = np.linalg.norm(self.design, axis=0)
        singular = np.linalg.svd(self.design / np.where(norms > 0, norms, 1), compute_uv=False)
        return float(singular[0] / singular[-1]) if singular[-1] > 0 else float("inf")


def smooth_ratio(kernels_at_nodes: Floats, numerator: Floats, denominator: Floats) -> Floats:
    """Compute the local average Σ K numerator / Σ K denominator at every node; (n_nodes,).

    It is positive and smooth.

    Parameters
    ----------
    kernels_at_nodes : (n_kernels, n_nodes)
    numerator, denominator : (n_nodes,) quadrature weights of non-negative per-increment quantities
    """
    top, bottom = kernels_at_nodes @ numerator, kernels_at_nodes @ denominator
    mean = max(float(numerator.sum()), 0.0) / float(denominator.sum())
    # A trace of the overall mean keeps the ratio finite where no sample has been.
    prior = 1e-6 * float(np.abs(bottom).max())
    ratio = (
        kernels_at_nodes.T
        @ (top.clip(min=0) + prior * mean)
        / (kernels_at_nodes.T @ (bottom.clip(min=0) + prior))
    )
    return np.asarray(ratio.clip(min=1e-12 * max(mean, np.finfo(float).tiny)))


def noise_covariance(kernels_at_nodes: Floats, variance: Floats) -> Floats:
    """Compute V, equation (M8); (n_kernels, n_kernels).

    variance   (n_nodes,) quadrature weights of the residuals' variance
    """
    return np.asarray((kernels_at_nodes * variance) @ kernels_at_nodes.T)


def whitening_of(covariance: Floats, smallest: float = SMALLEST_EIGENVALUE) -> Floats:
    """Compute V^(−1/2) without the directions of small eigenvalues; (rows, n_kernels).

    smallest   share of the largest eigenvalue below which a direction is left out

    Raises NoDataUnderKernels.
    """
    scale = np.sqrt(np.diag(covariance).clip(min=0))
    if not scale.max() > 0:
        raise no_data_under_kernels()
    return inverse_square_root(covariance, smallest)


def no_data_under_kernels() -> NoDataUnderKernels:
    """Make the error for kernels that no sample lies under."""
    hint = "Choose kernels.range inside the data's range, or leave it to 'auto'."
    return NoDataUnderKernels("No sample lies under any kernel.", hints=(hint,))


def inverse_square_root(covariance: Floats, smallest: float) -> Floats:
    """Compute V^(−1/2), (rows, n_instruments), without directions of small eigenvalues."""
    values, vectors = np.linalg.eigh(covariance)
    keep = values > smallest * max(values[-1], np.finfo(float).tiny)
    return np.asarray((vectors[:, keep] / np.sqrt(values[keep])).T)


def whitened(
    system: WeakSystem, covariance: Floats, smallest: float = SMALLEST_EIGENVALUE
) -> NormalEquations:
    """Whiten a weak system whose noise has this covariance into normal equations.

    Parameters
    ----------
    system : weak equations
    covariance : (n_kernels, n_kernels) V
    smallest : share of the largest eigenvalue below which a direction is dropped

    Raises
    ------
    NoDataUnderKernels : the covariance is zero
    """
    return whitened_by(system, whitening_of(covariance, smallest))


def whitened_by(system: WeakSystem, whitening: Floats) -> NormalEquations:
    """Whiten a weak system by V^(−1/2) (rows, n_kernels) into normal equations."""
    pooled = whitening @ system.design.sum(axis=0)
    # V⁻¹A, so that blocks need not be whitened one by one.
    instruments = whitening.T @ pooled
    return NormalEquations(
        information=pooled.T @ pooled,
        score=system.response.sum(axis=0) @ instruments,
        block_information=instruments.T @ system.design,
        block_score=system.response @ instruments,
        design=pooled,
    )


def calibrated(equations: NormalEquations) -> NormalEquations:
    """Scale V by the number that the scatter of the blocks' scores gives, equation (M33).

    Residuals of windows that share increments are correlated, and V knows only their variance.
    """
    inverse = np.linalg.pinv(equations.information, 1e-12, hermitian=True)
    residuals = equations.block_score - equations.block_information @ (inverse @ equations.score)
    left = _degrees_of_freedom(equations.block_information @ inverse)
    if not left > 0:
        return equations
    factor = left / float(np.einsum("bj,jk,bk->", residuals, inverse, residuals))
    return NormalEquations(
        information=factor * equations.information,
        score=factor * equations.score,
        block_information=factor * equations.block_information,
        block_score=factor * equations.block_score,
        design=equations.design,
    )


def _degrees_of_freedom(leverage: Floats) -> float:
    """Count the degrees of freedom that residuals of blocks with these leverages have.

    The unit is a block; the leverages H_β H⁻¹ are (n_blocks, k, k).
    """
    return float(np.trace(leverage.sum(axis=0)) - np.einsum("bij,bji->", leverage, leverage))


def with_block_errors(
    equations: NormalEquations, *, at_least_model: bool = False
) -> NormalEquations:
    """Replace V's covariance of the coefficients by that from the scatter of the blocks' scores.

    The estimate of all coefficients is unchanged. For residuals that are correlated between windows
    V knows only the diagonal; the blocks know all of it. Restricted to a support, the new equations
    are generalised least squares on ĉ ~ N(c, Cov_robust).

    at_least_model   whether no direction may have a smaller variance than V's: a far excursion in a
                     single block has hardly any scatter
    """
    everything = np.eye(len(equations.score))
    solution = solve(equations, everything)
    n_blocks = len(equations.block_score)
    if solution is None or solution.robust_covariance is None or n_blocks < 2 * len(everything):
        return equations
    norms = np.sqrt(np.diag(solution.robust_covariance))
    if not (norms > 0).all():
        return equations
    # The inverse of a covariance from n scores is too large by this factor on average.
    shrink = (n_blocks - len(everything) - 2) / (n_blocks - 1)
    robust = solution.robust_covariance / np.outer(norms, norms)
    if at_least_model:
        model = solution.covariance / np.outer(norms, norms)
        root = np.linalg.cholesky(model + 1e-12 * np.diag(np.diag(model)))
        whitened_by_model = np.linalg.solve(root, np.linalg.solve(root, robust).T)
        values, vectors = np.linalg.eigh((whitened_by_model + whitened_by_model.T) / 2)
        robust = root @ (vectors * values.clip(min=1)) @ vectors.T @ root.T
    information = shrink * np.linalg.pinv(robust, 1e-12) / np.outer(norms, norms)
    change = information @ np.linalg.pinv(equations.information, 1e-14)
    return NormalEquations(
        information=information,
        score=information @ solution.values,
        block_information=change @ equations.block_information,
        block_score=equations.block_score @ change.T,
        design=equations.design,
    )


@dataclass(frozen=True, slots=True, eq=False)
class Solution:
    """Coefficients along the rows of a basis of a support's span.

    values              (k,)
    covariance          (k, k)   model-based, the inverse information
    robust_covariance   (k, k)   from the scatter of the blocks' scores, or None with fewer than 8
                                 blocks
    """

    values: Floats
    covariance: Floats
    robust_covariance: Floats | None


def solve(equations: NormalEquations, basis: Floats, *, robust: bool = True) -> Solution | None:
    """Solve least squares in the span of a basis, (M9) and (M10); None where it is singular.

    Parameters
    ----------
    equations : normal equations
    basis : (k, n_functions) rows that span the space
    robust : whether to compute the covariance from the blocks, too
    """
    k = len(basis)
    if k == 0:
        return Solution(np.zeros(0), np.zeros((0, 0)), None)
    information = basis @ equations.information @ basis.T
    norms = np.sqrt(np.diag(information).clip(min=0))
    if not (norms > 0).all():
        return None
    normalised = information / np.outer(norms, norms)
    values, vectors = np.linalg.eigh(normalised)
    if values[0] < 1e-13 * k:
        return None
    covariance = (vectors / values) @ vectors.T / np.outer(norms, norms)
    solution = covariance @ (basis @ equations.score)
    return Solution(
        solution, covariance, _robust(equations, basis, solution, covariance) if robust else None
    )


def _robust(
    equations: NormalEquations, basis: Floats, values: Floats, covariance: Floats
) -> Floats | None:
    n_blocks = len(equations.block_score)
    if n_blocks < 8:
        return None
    residual = equations.block_score - equations.block_information @ (basis.T @ values)
    scores = residual @ basis.T
    scatter = scores.T @ scores * n_blocks / (n_blocks - 1)
    return np.asarray(covariance @ scatter @ covariance)


def wider_root(model: Floats, robust: Floats | None, n_blocks: int) -> Floats:
    """Compute the lower triangular root (k, k) of the wider of two covariances, equation (M36).

    It is that of the model's covariance, and that of the blocks' in directions in which theirs is
    larger beyond chance.

    Parameters
    ----------
    model : (k, k) covariance by the model
    robust : (k, k) covariance from the blocks, or None
    n_blocks : number of blocks
    """
    norms = np.sqrt(np.diag(model).clip(min=np.finfo(float).tiny))
    values, vectors = np.linalg.eigh(model / np.outer(norms, norms))
    root = norms[:, None] * vectors * np.sqrt(values.clip(min=0))
    if robust is None or not values[0] > 0:
        return lower_root(root)
    inverse = (vectors / np.sqrt(values)).T / norms
    larger, directions = np.linalg.eigh(inverse @ robust @ inverse.T)
    chance = (1 + (np.sqrt(len(model)) + 1) / np.sqrt(n_blocks)) ** 2
    return lower_root(root @ (directions * np.sqrt(np.where(larger > chance, larger, 1.0))))


def lower_root(root: Floats) -> Floats:
    """Compute the lower triangular L with L Lᵀ = F Fᵀ.

    Eigenvectors have a sign that depends on the machine and its threads, and so would the
    models drawn with them.
    """
    triangle = np.linalg.qr(root.T)[1].T
    return np.asarray(triangle * np.where(np.diag(triangle) < 0, -1.0, 1.0))


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
        left.append(_degrees_of_freedom(of_blocks @ inverse_root @ inverse_root))
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
