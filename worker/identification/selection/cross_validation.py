"""Cross-validation of the instruments: a fit on all folds but one is judged on that one.

The held-out score does not know the instruments that are judged (docs/method.md §6). It is the
likelihood of the held-out increments, in sums of the library's own functions; with Euler's rule it
is Girsanov's.
"""

from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from worker.identification.equations.relative_efficiency import inverse_root

Floats = NDArray[np.float64]

N_FOLDS = 12

FEWEST_FOLDS = 4
"""Number of folds below which the standard error means nothing."""

CHANCE = 2.0
"""Standard errors by which a held-out score may lie behind the best by chance."""

AS_PRECISE = 0.005
"""Relative difference of variances up to which instruments are equally precise."""


@dataclass(frozen=True, slots=True, eq=False)
class HeldOutScore:
    """Score ℓ_f(c) = cᵀ s_f − ½ cᵀ C_f c of every fold, equation (M28).

    The coordinates are those in which Σ_f C_f is the identity.

    basis       (n_functions, r)   coefficients are basis @ coordinates
    score       (n_folds, r)       s_f
    curvature   (n_folds, r, r)    C_f
    """

    basis: Floats
    score: Floats
    curvature: Floats

    def of(self, coordinates: Floats) -> Floats:
        """Compute the log-likelihood of each fold above that of no drift; (n_folds,).

        coordinates   (n_folds, r) those of each fold
        """
        quadratic = np.einsum("fi,fij,fj->f", coordinates, self.curvature, coordinates)
        return np.asarray((coordinates * self.score).sum(axis=1) - quadratic / 2)


def make_held_out_score(design: Floats, response: Floats, information: Floats) -> HeldOutScore:
    """Make the score from weak equations whose instruments are g/ω.

    They are the library's functions over the residuals' variance.

    Parameters
    ----------
    design : (n_folds, n_functions, n_functions) J_f = Σ (g/ω)(z_n) × the design of window n
    response : (n_folds, n_functions) Σ (g/ω)(z_n) × the response of window n
    information : (n_functions, n_functions) I = Σ g gᵀ/ω Δt over all folds
    """
    # JᵀI⁻¹ is taken from all folds together, since each fold's own J depends on the noise of its
    # later points.
    root = inverse_root(information)
    pooled, folds, scores = root.T @ design.sum(axis=0), root.T @ design, response @ root
    basis = inverse_root(pooled.T @ pooled)
    left = (pooled @ basis).T
    curvature = left @ (folds @ basis)
    return HeldOutScore(basis, scores @ left.T, (curvature + curvature.transpose(0, 2, 1)) / 2)


def held_out(design: Floats, response: Floats, held_out_score: HeldOutScore) -> Floats:
    """Compute the log-likelihood of every fold with the coefficients of all others; (n_folds,).

    Parameters
    ----------
    design : (n_folds, n_rows, n_functions) whitened design of the drift's equations
    response : (n_folds, n_rows) whitened response
    held_out_score : score of the folds
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
    """Sum over consecutive blocks (n_blocks, …), in `n_folds` groups at most."""
    groups = np.array_split(np.arange(len(values)), min(n_folds, len(values)))
    return np.stack([values[group].sum(axis=0) for group in groups])


@dataclass(frozen=True, slots=True, eq=False)
class Candidate:
    """Kernels that were tried.

    count, bandwidth     number of kernels, and h
    scores               (n_folds,) held-out log-likelihood, summed over the variables; None where
                         the kernels do not distinguish the library's terms
    drift_variance       variance of the drift's coefficients over the bound, equation (M29), or
                         None
    diffusion_variance   variance of the diffusion's coefficients over the bound, or None
    """

    count: int
    bandwidth: float
    scores: Floats | None
    drift_variance: float | None
    diffusion_variance: float | None

    @property
    def score(self) -> float | None:
        """Held-out log-likelihood of all folds."""
        return None if self.scores is None else float(self.scores.sum())


@dataclass(frozen=True, slots=True, eq=False)
class KernelChoice:
    """Kernels that were tried, and those that were taken.

    candidates   all candidates, with their scores
    chosen       number of the candidate that was taken; None where there is none to choose
    n_folds      number of folds of the cross-validation
    """

    candidates: tuple[Candidate, ...]
    chosen: int | None
    n_folds: int

    def shortfalls(self) -> list[tuple[float, float] | None]:
        """Compute by how much each candidate's score is behind the best, and its standard error."""
        known = [c.scores for c in self.candidates if c.scores is not None]
        if not known:
            return [None] * len(self.candidates)
        best = max(known, key=lambda scores: float(scores.sum()))
        return [
            None if c.scores is None else _sum_and_error(best - c.scores) for c in self.candidates
        ]

    def in_units(self, unit: float) -> "KernelChoice":
        """Multiply the bandwidths by a unit."""
        candidates = tuple(replace(c, bandwidth=c.bandwidth * unit) for c in self.candidates)
        return KernelChoice(candidates, self.chosen, self.n_folds)


def choice_among(candidates: list[Candidate], n_folds: int) -> KernelChoice:
    """Choose the most precise kernels by (M29) within two standard errors of the best score.

    Of equally precise candidates the one with the fewest kernels is taken. The score's noise is
    larger than what it tells of good kernels: to take the best score, or the fewest kernels of
    those within its error, costs precision (docs/decisions/0005-kernels-by-cross-validation.md).
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
