"""Supports along the lasso's path, judged on blocks of the data that were held out.

Everything is done with the J whitened equations that the normal equations keep of every block
(docs/method.md §5): there is no second pass over the data. The module is imported where it is used,
since scikit-learn takes longer to import than most jobs to run.
"""

import warnings
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from sklearn.exceptions import ConvergenceWarning
from sklearn.linear_model import lars_path_gram

from worker.identification.data.library import Library
from worker.identification.equations.regression import NormalEquations
from worker.identification.errors import TooFewSamples
from worker.identification.selection.best_subset import Candidate, Curve, raw_on
from worker.identification.selection.cross_validation import FEWEST_FOLDS, folds_of
from worker.identification.selection.log_likelihood_gains import Gains, Support
from worker.identification.selection.supports import support_basis

Floats = NDArray[np.float64]

FOLDS = 10
N_PENALTIES = 60

SMALLEST_PENALTY = 0.05
"""Penalty, in standard errors, at which the lasso keeps nearly every term."""

SMALLEST_Z = 0.1
"""Size of a coefficient, in standard errors, below which its weight grows no more."""


@dataclass(frozen=True, slots=True, eq=False)
class Equations:
    """Whitened equations of unit noise of some blocks, equation (M11b).

    They are response ≈ design · internal coefficients.

    design     (n_equations, n_functions)
    response   (n_equations,)
    share      share of the data's information that is in these blocks: the noise has this variance
    """

    design: Floats
    response: Floats
    share: float

    def __sub__(self, held_out: "Equations") -> "Equations":
        return Equations(
            self.design - held_out.design,
            self.response - held_out.response,
            self.share - held_out.share,
        )

    def as_of_all(self) -> "Equations":
        """Return what all data would give if they were like these, so that coefficients compare."""
        return Equations(self.design / self.share, self.response / self.share, 1.0)


def lasso_path(
    equations: NormalEquations, library: Library
) -> tuple[tuple[Candidate, ...], Support, Curve]:
    """List the lasso's supports by falling penalty, with the one chosen, and the curve; (M11c).

    At every penalty the estimate on the lasso's support is held against blocks that neither has
    seen. The largest penalty is taken whose error is within a standard error of the smallest.

    Raises TooFewSamples.
    """
    whole, folds = _folds(equations)
    columns = _columns(library)
    penalties = _penalties(whole, columns)
    supports = [_needed(active, library) for active in _active(whole, columns, penalties)]
    errors = np.array(
        [_held_out_errors(whole - fold, fold, columns, penalties, library) for fold in folds]
    )
    mean, std_error = errors.mean(axis=0), errors.std(axis=0, ddof=1) / np.sqrt(len(errors))
    lowest = int(np.argmin(mean))
    chosen = int(np.argmax(mean <= mean[lowest] + std_error[lowest]))
    curve = Curve(
        penalties, mean, std_error, np.array([len(s) for s in supports]), chosen, lowest, len(folds)
    )
    return tuple(_candidates(equations, library, supports, curve)), supports[chosen], curve


def _candidates(
    equations: NormalEquations, library: Library, supports: list[Support], curve: Curve
) -> list[Candidate]:
    """Make one candidate for every change of the support along the path.

    Its score is minus the smallest error at its penalties.
    """
    gains, path = Gains(equations, library), []
    changes = [i for i, s in enumerate(supports) if i == 0 or s != supports[i - 1]]
    for begin, end in zip(changes, [*changes[1:], len(supports)], strict=True):
        support = supports[begin]
        gain, error = gains.of([support])[0], float(curve.errors[begin:end].min())
        if np.isfinite(gain):
            raw = raw_on(equations, library, support)
            path.append(
                Candidate(support, gain, -error, raw, penalty=float(curve.penalties[begin]))
            )
    return path


def _folds(equations: NormalEquations) -> tuple[Equations, list[Equations]]:
    """Return the equations of all data, and of ten groups of blocks. Raise TooFewSamples."""
    scale = np.sqrt(np.diag(equations.information).clip(min=0))
    scale = np.where(scale > 0, scale, 1.0)
    values, vectors = np.linalg.eigh(equations.information / np.outer(scale, scale))
    keep = values > 1e-13 * len(values)
    # H^(−1/2), for which the score of all data has unit noise.
    root = (vectors[:, keep] / np.sqrt(values[keep])).T / scale
    designs, responses = (
        root @ folds_of(equations.block_information, FOLDS),
        folds_of(equations.block_score, FOLDS) @ root.T,
    )
    folds = [
        Equations(d, r, float(np.sum(d * root)) / len(root))
        for d, r in zip(designs, responses, strict=True)
    ]
    whole = Equations(root @ equations.information, root @ equations.score, 1.0)
    used = [fold for fold in folds if fold.share > 0.1 / len(folds)]
    if len(used) < FEWEST_FOLDS:
        raise TooFewSamples(
            f"Cross-validation needs at least {FEWEST_FOLDS} blocks of the data to hold out "
            f"in turn, and there are {len(used)}.",
            hints=("Use selection.method 'bic', or record a longer time series.",),
        )
    return whole, used


def _columns(library: Library) -> Floats:
    """Return what is penalised, along the internal functions; (n_columns, n_functions).

    These are the terms. Far from the origin the terms agree to twelve digits, and the internal
    functions themselves are penalised.
    """
    return library.scaled_terms if library.near_origin else np.eye(library.internal_size)


def _needed(active: Support, library: Library) -> Support:
    """Find the terms of which these columns are sums."""
    if library.near_origin:
        return active
    n, needed = len(library.internal_exponents), set()
    for j in active:
        if j >= n:
            needed.add(library.other[j - n])
            continue
        for k, exponents in enumerate(library.exponents):
            if exponents is not None and all(
                a <= b for a, b in zip(exponents, library.internal_exponents[j], strict=True)
            ):
                needed.add(k)
    return tuple(sorted(needed))


def _standardised(equations: Equations, columns: Floats) -> tuple[Floats, Floats]:
    """Scale the design's columns to unit norm (n_equations, n_columns), with |z| of each.

    z is that of the fit of all columns, and at least a tenth.
    """
    design = equations.design @ columns.T
    norms = np.linalg.norm(design, axis=0)
    design = design / np.where(norms > 0, norms, 1.0)
    covariance = np.linalg.pinv(design.T @ design, rcond=1e-12, hermitian=True)
    std_error = np.sqrt(np.diag(covariance).clip(min=0))
    z = np.abs(covariance @ (design.T @ equations.response)) / np.where(
        std_error > 0, std_error, np.inf
    )
    return design, z.clip(min=SMALLEST_Z)


def _penalties(whole: Equations, columns: Floats) -> Floats:
    """Space the penalties evenly in the logarithm [standard errors].

    They reach from where the lasso keeps nothing to where it keeps nearly everything.
    """
    design, z = _standardised(whole, columns)
    largest = float(np.max(z**2 * np.abs(design.T @ whole.response))) ** (1 / 3)
    return np.geomspace(max(1.2 * largest, 2 * SMALLEST_PENALTY), SMALLEST_PENALTY, N_PENALTIES)


def _active(equations: Equations, columns: Floats, penalties: Floats) -> list[Support]:
    """Find the columns that the lasso keeps at each penalty."""
    design, z = _standardised(equations, columns)
    # Columns times z² under one penalty for all are columns under penalties over z².
    weighted = design * z**2
    with warnings.catch_warnings():
        # Where columns cannot be told apart one of them is dropped, as it should be.
        warnings.simplefilter("ignore", ConvergenceWarning)
        knots, _, coefficients = lars_path_gram(
            weighted.T @ equations.response,
            weighted.T @ weighted,
            n_samples=1,
            method="lasso",
            alpha_min=penalties[-1] ** 3,
        )
    at = np.array(
        [np.interp(penalties[::-1] ** 3, knots[::-1], c[::-1])[::-1] for c in coefficients]
    )
    # A term that has left the path leaves a rounding error behind.
    kept = np.abs(at) > 1e-9 * np.abs(coefficients).max(axis=1, keepdims=True)
    return [tuple(int(k) for k in np.flatnonzero(column)) for column in kept.T]


def _held_out_errors(
    training: Equations, held_out: Equations, columns: Floats, penalties: Floats, library: Library
) -> Floats:
    """Compute the mean squared error of the held-out equations at each penalty.

    It is that of the estimate on the penalty's support, in units of the equations' noise.
    """
    known: dict[Support, float] = {}
    errors = []
    for active in _active(training.as_of_all(), columns, penalties):
        support = _needed(active, library)
        if support not in known:
            rows = support_basis(library, support).rows
            values = _least_squares(training.design @ rows.T, training.response)
            residual = held_out.response - held_out.design @ (rows.T @ values)
            known[support] = float(residual @ residual) / (held_out.share * len(residual))
        errors.append(known[support])
    return np.array(errors)


def _least_squares(design: Floats, response: Floats) -> Floats:
    norms = np.linalg.norm(design, axis=0)
    norms = np.where(norms > 0, norms, 1.0)
    return np.asarray(np.linalg.lstsq(design / norms, response, rcond=1e-12)[0] / norms)
