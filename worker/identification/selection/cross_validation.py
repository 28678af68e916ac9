"""Cross-validation of the instruments: what is fitted on all folds but one is judged on that one (docs/method.md §6).

The held-out score does not know the instruments that are judged. It is the likelihood of the held-out increments, in sums of the
library's own functions; with Euler's rule it is Girsanov's.
"""

from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from worker.identification.equations.relative_efficiency import inverse_root

Floats = NDArray[np.float64]

N_FOLDS = 12

FEWEST_FOLDS = 4
"""With fewer there is no standard error to speak of."""

CHANCE = 2.0
"""Standard errors by which a held-out score may lie behind the best for nothing."""

AS_PRECISE = 0.005
"""Relative difference of variances up to which instruments are equally precise."""


@dataclass(frozen=True, slots=True, eq=False)
class HeldOutScore:
    """ℓ_f(c) = cᵀ s_f − ½ cᵀ C_f c of every fold, equation (M28), in coordinates in which Σ_f C_f is the identity.

    basis       (n_functions, r)   coefficients are basis @ coordinates
    score       (n_folds, r)       s_f
    curvature   (n_folds, r, r)    C_f
    """

    basis: Floats
    score: Floats
    curvature: Floats

    def of(self, coordinates: Floats) -> Floats:
        """Log-likelihood of each fold with its own coordinates (n_folds, r), above that of no drift; (n_folds,)."""
        quadratic = np.einsum("fi,fij,fj->f", coordinates, self.curvature, coordinates)
        return np.asarray((coordinates * self.score).sum(axis=1) - quadratic / 2)


def make_held_out_score(design: Floats, response: Floats, information: Floats) -> HeldOutScore:
    """From the weak equations whose instruments are the library's functions over the residuals' variance, g/ω.

    design        (n_folds, n_functions, n_functions)   J_f = Σ (g/ω)(z_n) × the design of window n
    response      (n_folds, n_functions)                Σ (g/ω)(z_n) × the response of window n
    information   (n_functions, n_functions)            I = Σ g gᵀ/ω Δt over all folds
    """
    # JᵀI⁻¹ is taken from all folds together: each fold's own J knows the noise of its later points.
    root = inverse_root(information)
    pooled, folds, scores = root.T @ design.sum(axis=0), root.T @ design, response @ root
    basis = inverse_root(pooled.T @ pooled)
    left = (pooled @ basis).T
    curvature = left @ (folds @ basis)
    return HeldOutScore(basis, scores @ left.T, (curvature + curvature.transpose(0, 2, 1)) / 2)


def held_out(design: Floats, response: Floats, held_out_score: HeldOutScore) -> Floats:
    """Log-likelihood of every fold with the coefficients of all others; (n_folds,).

    design, response   whitened equations of the drift, (n_folds, n_rows, n_functions) and (n_folds, n_rows)
    """
    others, targets = (
        (design.sum(axis=0) - design) @ held_out_score.basis,
        response.sum(axis=0) - response,
    )
    information = others.transpose(0, 2, 1) @ others
    coordinates = np.linalg.pinv(information, 1e-10, hermitian=True) @ (
        others.transpose(0, 2, 1) @ targets[..., None]
    )
    return held_out_score.of(coordinates[..., 0])


def folds_of(values: Floats, n_folds: int = N_FOLDS) -> Floats:
    """Sums over consecutive blocks (n_blocks, …), in at most so many groups."""
    groups = np.array_split(np.arange(len(values)), min(n_folds, len(values)))
    return np.stack([values[group].sum(axis=0) for group in groups])


@dataclass(frozen=True, slots=True, eq=False)
class Candidate:
    """Kernels that were tried.

    count, bandwidth     how many, and h
    scores               (n_folds,) held-out log-likelihood, summed over the variables; None where the kernels do not tell the
                         library's terms apart
    drift_variance       of the coefficients over the bound, equation (M29), likewise
    diffusion_variance   likewise
    """

    count: int
    bandwidth: float
    scores: Floats | None
    drift_variance: float | None
    diffusion_variance: float | None

    @property
    def score(self) -> float | None:
        return None if self.scores is None else float(self.scores.sum())


@dataclass(frozen=True, slots=True, eq=False)
class KernelChoice:
    """All candidates, and what was taken.

    candidates   the surface of scores
    chosen       number of the one that was taken; None where there is none to choose
    n_folds      of the cross-validation
    """

    candidates: tuple[Candidate, ...]
    chosen: int | None
    n_folds: int

    def shortfalls(self) -> list[tuple[float, float] | None]:
        """How far each candidate's score is behind the best, and the standard error of that."""
        known = [c.scores for c in self.candidates if c.scores is not None]
        if not known:
            return [None] * len(self.candidates)
        best = max(known, key=lambda scores: float(scores.sum()))
        return [
            None if c.scores is None else _sum_and_error(best - c.scores) for c in self.candidates
        ]

    def in_units(self, unit: float) -> "KernelChoice":
        """With bandwidths times this."""
        candidates = tuple(replace(c, bandwidth=c.bandwidth * unit) for c in self.candidates)
        return KernelChoice(candidates, self.chosen, self.n_folds)


def choice_among(candidates: list[Candidate], n_folds: int) -> KernelChoice:
    """Of those within two standard errors of the best score the most precise by (M29); of equally precise ones that with the
    fewest kernels.

    The score's noise is larger than what it tells of good kernels: to take the best score, or the fewest kernels of those within
    its error, costs precision (docs/decisions/0005-kernels-by-cross-validation.md).
    """
    undecided = KernelChoice(tuple(candidates), None, n_folds)
    tied = [
        (c.drift_variance + c.diffusion_variance, c.count, behind[0], i)
        for i, (c, behind) in enumerate(zip(candidates, undecided.shortfalls(), strict=True))
        if behind is not None and c.drift_variance is not None and c.diffusion_variance is not None
        if behind[0] <= CHANCE * behind[1]
    ]
    if not tied:
        return undecided
    enough = min(tied)[0] * (1 + AS_PRECISE)
    chosen = min((count, behind, i) for variance, count, behind, i in tied if variance <= enough)[2]
    return replace(undecided, chosen=chosen)


def _sum_and_error(values: Floats) -> tuple[float, float]:
    return float(values.sum()), float(np.sqrt(len(values)) * values.std(ddof=1))
