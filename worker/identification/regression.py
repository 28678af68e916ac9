"""Generalised least squares on the pooled weak equations (docs/method.md §§4, 10).

V_ij = Σ_n K_i K_j ω(y_n) Δt is the covariance of the noise in B, where ω is the local variance of
an increment's residual per unit of time (ω = a for the drift; 2a² and Δt² for the diffusion).
Whitened by V, the regression has unit noise. Several equations for the same coefficients are solved
in estimation/joint/regression.py.
"""

from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from worker.identification.errors import NoDataUnderKernels
from worker.identification.sums.kernel_statistics import WeakSystem

Floats = NDArray[np.float64]

SMALLEST_EIGENVALUE = 1e-10
"""Share of V's largest eigenvalue below which a direction carries rounding errors only."""


LEAST_SHARE = 1e-3
"""Least ratio of what some windows show of a direction to what they show of the best one."""


@dataclass(frozen=True, slots=True, eq=False)
class NormalEquations:
    """Whitened regression in the internal basis: information · coefficients = score.

    information         (n_functions, n_functions)             Aᵀ V⁻¹ A
    score               (n_functions,)                         Aᵀ V⁻¹ B
    block_information   (n_blocks, n_functions, n_functions)   each block's part of the information
    block_score         (n_blocks, n_functions)                each block's part of the score
    design              (rows, n_functions)                    the whitened design
    errors              errors that are wider than V's, or None
    """

    information: Floats
    score: Floats
    block_information: Floats
    block_score: Floats
    design: Floats
    errors: "WiderErrors | None" = None

    @property
    def condition(self) -> float:
        """Condition number of the column-normalised whitened design."""
        norms = np.linalg.norm(self.design, axis=0)
        singular = np.linalg.svd(self.design / np.where(norms > 0, norms, 1), compute_uv=False)
        return float(singular[0] / singular[-1]) if singular[-1] > 0 else float("inf")


@dataclass(frozen=True, slots=True, eq=False)
class WiderErrors:
    """Errors wider than V's, of estimates that V weights.

    weighted   equations by V
    noise      (n_functions, n_functions) covariance of the scores
    slope      (n_functions, n_functions) slope of the scores' expectation in the coefficients
    """

    weighted: NormalEquations
    noise: Floats
    slope: Floats

    def on(self, functions: NDArray[np.int_]) -> "WiderErrors":
        """Return the errors where the other functions are left out."""
        both = np.ix_(functions, functions)
        return WiderErrors(on(self.weighted, functions), self.noise[both], self.slope[both])

    def covariance(self, basis: Floats) -> Floats:
        """Compute the covariance of the coefficients along the rows of a basis; (k, k)."""
        inverse = self.inverse_slope(basis)
        return np.asarray(inverse @ basis @ self.noise @ basis.T @ inverse.T)

    def inverse_slope(self, basis: Floats) -> Floats:
        """Compute what turns scores into coefficients along the rows of a basis; (k, k)."""
        return np.asarray(np.linalg.pinv(basis @ self.slope @ basis.T, 1e-14))


def without_part(equations: NormalEquations, part: Floats) -> NormalEquations:
    """Take what known coefficients (n_functions,) explain out of the scores."""
    errors = equations.errors
    return replace(
        equations,
        score=equations.score - equations.information @ part,
        block_score=equations.block_score - equations.block_information @ part,
        errors=None
        if errors is None
        else replace(errors, weighted=without_part(errors.weighted, part)),
    )


def on(equations: NormalEquations, functions: NDArray[np.int_]) -> NormalEquations:
    """Restrict equations to the span of some of the internal functions."""
    return NormalEquations(
        information=equations.information[np.ix_(functions, functions)],
        score=equations.score[functions],
        block_information=equations.block_information[:, functions[:, None], functions],
        block_score=equations.block_score[:, functions],
        design=equations.design,
        errors=None if equations.errors is None else equations.errors.on(functions),
    )


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
    return scaled(equations, calibration(equations))


def calibration(equations: NormalEquations) -> float:
    """Compute by what to divide V for the scatter of the blocks' scores, equation (M33)."""
    inverse = np.linalg.pinv(equations.information, 1e-12, hermitian=True)
    residuals = equations.block_score - equations.block_information @ (inverse @ equations.score)
    left = degrees_of_freedom(equations.block_information @ inverse)
    if not left > 0:
        return 1.0
    return left / float(np.einsum("bj,jk,bk->", residuals, inverse, residuals))


def scaled(equations: NormalEquations, factor: float) -> NormalEquations:
    """Divide V by a factor."""
    return _changed(equations, factor * np.eye(len(equations.score)))


def _changed(equations: NormalEquations, change: Floats) -> NormalEquations:
    """Multiply scores by a matrix that leaves the information symmetric."""
    return NormalEquations(
        information=change @ equations.information,
        score=change @ equations.score,
        block_information=change @ equations.block_information,
        block_score=equations.block_score @ change.T,
        design=equations.design,
    )


def with_covariance_of_scores(
    equations: NormalEquations, alone: Floats, covariance: Floats, common: Floats
) -> NormalEquations:
    """Weight equations with the covariance that windows which overlap give their scores.

    Equations that V weights as if windows were independent have the scores' covariance
    H = F Fᵀ. Of some of the windows both are known, H₁ = F M Fᵀ as if they were, and Ω₁ as they
    are; that of all is Ω = F M^(−1/2) F⁻¹ Ω₁ F⁻ᵀ M^(−1/2) Fᵀ + c cᵀ, and the information H Ω⁻¹ H.

    Parameters
    ----------
    equations : equations that V weights
    alone, covariance : (n_functions, n_functions) H₁ and Ω₁
    common : (n_functions,) an error c that all scores share
    """
    values, vectors = np.linalg.eigh(equations.information)
    kept = values > 1e-12 * values[-1]
    root = vectors[:, kept] * np.sqrt(values[kept])
    inverse = (vectors[:, kept] / np.sqrt(values[kept])).T
    shares, along = np.linalg.eigh(inverse @ alone @ inverse.T)
    if not shares[-1] > 0:
        return equations
    to_all = (along / np.sqrt(shares.clip(min=LEAST_SHARE * shares[-1]))) @ along.T @ inverse
    error = inverse @ common
    whole = to_all @ covariance @ to_all.T + np.outer(error, error)
    changed = _changed(equations, root @ np.linalg.pinv(whole, 1e-6, hermitian=True) @ inverse)
    return replace(changed, information=(changed.information + changed.information.T) / 2)


def degrees_of_freedom(leverage: Floats) -> float:
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
        robust = _wider(solution.covariance / np.outer(norms, norms), robust)
    return _with_covariance(equations, solution.values, robust, norms, shrink)


def at_least(
    equations: NormalEquations, covariance: Floats, *, of_terms: bool = False
) -> NormalEquations:
    """Widen V's covariance of the coefficients to another one in directions in which that is wider.

    The estimate of all coefficients is unchanged, and so are those on supports: V weights them.

    Parameters
    ----------
    equations : normal equations
    covariance : (n_functions, n_functions) of all coefficients
    of_terms : whether it counts in the choice of terms only, and not in their errors
    """
    solution = solve(equations, np.eye(len(equations.score)), robust=False)
    if solution is None:
        return equations
    norms = np.sqrt(np.diag(solution.covariance))
    scale = np.outer(norms, norms)
    wider = _wider(solution.covariance / scale, covariance / scale)
    information = equations.information
    known = equations.errors or WiderErrors(equations, information, information)
    noise = known.slope @ (wider * scale) @ known.slope.T
    return replace(
        _with_covariance(equations, solution.values, wider, norms),
        errors=known if of_terms else replace(known, noise=noise),
    )


def with_scores(equations: NormalEquations, slope: Floats, noise: Floats) -> NormalEquations:
    """Give equations other errors than V's, where they are positive; estimates are unchanged.

    Parameters
    ----------
    equations : normal equations
    slope : (n_functions, n_functions) slope of the scores' expectation in the coefficients
    noise : (n_functions, n_functions) covariance of the scores
    """
    everything, errors = np.eye(len(equations.score)), WiderErrors(equations, noise, slope)
    solution = solve(equations, everything, robust=False)
    if solution is None:
        return equations
    covariance = errors.covariance(everything)
    if not (np.diag(covariance) > 0).all():
        return equations
    norms = np.sqrt(np.diag(covariance))
    scaled = covariance / np.outer(norms, norms)
    return replace(_with_covariance(equations, solution.values, scaled, norms), errors=errors)


def _wider(model: Floats, robust: Floats) -> Floats:
    """Compute the covariance that is the robust one where wider than the model's, which it has."""
    root = np.linalg.cholesky(model + 1e-12 * np.diag(np.diag(model)))
    whitened_by_model = np.linalg.solve(root, np.linalg.solve(root, robust).T)
    values, vectors = np.linalg.eigh((whitened_by_model + whitened_by_model.T) / 2)
    return np.asarray(root @ (vectors * values.clip(min=1)) @ vectors.T @ root.T)


def _with_covariance(
    equations: NormalEquations,
    values: Floats,
    covariance: Floats,
    norms: Floats,
    shrink: float = 1.0,
) -> NormalEquations:
    """Make equations of the same solution with another covariance of the coefficients.

    Parameters
    ----------
    equations : normal equations
    values : (n_functions,) their solution
    covariance : (n_functions, n_functions) of the coefficients over their norms
    norms : (n_functions,)
    shrink : factor of the information
    """
    information = shrink * np.linalg.pinv(covariance, 1e-12) / np.outer(norms, norms)
    change = information @ np.linalg.pinv(equations.information, 1e-14)
    return NormalEquations(
        information=information,
        score=information @ values,
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


def estimated(equations: NormalEquations, basis: Floats, *, robust: bool = True) -> Solution | None:
    """Solve as V weights the equations, with their own errors; None where it is singular.

    Parameters
    ----------
    equations : normal equations
    basis : (k, n_functions) rows that span the space
    robust : whether to compute the covariance from the blocks, too
    """
    errors = equations.errors
    if errors is None:
        return solve(equations, basis, robust=robust)
    found = solve(errors.weighted, basis, robust=robust)
    if found is None:
        return None
    robust_covariance = found.robust_covariance
    if robust_covariance is not None:
        change = errors.inverse_slope(basis) @ basis @ errors.weighted.information @ basis.T
        robust_covariance = change @ robust_covariance @ change.T
    return Solution(found.values, errors.covariance(basis), robust_covariance)


def estimated_values(equations: NormalEquations, basis: Floats) -> Floats | None:
    """Compute the values of `estimated` alone; (k,), None where it is singular.

    Parameters
    ----------
    equations : normal equations
    basis : (k, n_functions) rows that span the space
    """
    weighted = equations if equations.errors is None else equations.errors.weighted
    found = solve(weighted, basis, robust=False)
    return None if found is None else found.values


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
