"""Equations of the drifts of all variables as one set of equations."""

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray
from scipy.linalg import block_diag

from worker.identification.estimation.fit import Fit
from worker.identification.estimation.problem import Problem
from worker.identification.regression import NormalEquations, with_scores

Floats = NDArray[np.float64]

MOST_STATES = 20_000

CORRELATED = 1e-3
"""Correlation of the noise of two variables below which their equations are independent."""


def correlations(fit: Fit, problem: Problem) -> Floats:
    """Return the correlations of the noise of the variables, averaged over the data; (d, d)."""
    states = problem.data.states[:: max(1, len(problem.data.states) // MOST_STATES)]
    g = problem.library.internal(problem.space.internal(np.array(states, dtype=np.float64)))
    g = g.mean(axis=0)
    tensor = fit.tensor @ g
    size = np.sqrt(np.diag(tensor).clip(min=0))
    size = np.where(size > 0, size, np.inf)
    out = (tensor / np.outer(size, size)).clip(-0.99, 0.99)
    out[np.abs(out) < CORRELATED] = 0.0
    np.fill_diagonal(out, 1.0)
    return np.asarray(out)


def symmetric_root(matrix: Floats, power: float = 0.5) -> Floats:
    """Compute the symmetric power of a positive semi-definite matrix, without its null space."""
    values, vectors = np.linalg.eigh(matrix)
    kept = values > 1e-13 * values[-1]
    return np.asarray((vectors[:, kept] * values[kept] ** power) @ vectors[:, kept].T)


def joint_drift_equations(
    equations: Sequence[NormalEquations], shared: Floats, to_components: Sequence[Floats]
) -> NormalEquations:
    """Combine the equations of all drifts into those of common coefficients, equation (M76).

    Parameters
    ----------
    equations : normal equations of each drift
    shared : (d, d) correlations of the variables' noise
    to_components : (n_functions, k) each drift's internal coefficients from the common ones
    """
    d = len(equations)
    whole = np.concatenate(list(to_components))
    independent = not (shared - np.eye(d)).any()

    def combined(parts: Sequence[NormalEquations]) -> tuple[NormalEquations, Floats]:
        information = [e.information for e in parts]
        if independent:
            change = np.eye(len(whole))
        else:
            weight = np.linalg.inv(shared)
            roots = [symmetric_root(h) for h in information]
            inverse = [symmetric_root(h, -0.5) for h in information]
            change = np.block(
                [[weight[p, q] * roots[p] @ inverse[q] for q in range(d)] for p in range(d)]
            )
        left = whole.T @ change
        pooled = left @ block_diag(*information) @ whole
        sizes = np.cumsum([0, *(len(h) for h in information)])
        of_blocks = sum(
            left[:, sizes[p] : sizes[p + 1]] @ e.block_information @ to_components[p]
            for p, e in enumerate(parts)
        )
        return NormalEquations(
            information=(pooled + pooled.T) / 2,
            score=left @ np.concatenate([e.score for e in parts]),
            block_information=np.asarray(of_blocks),
            block_score=np.concatenate([e.block_score for e in parts], axis=1) @ left.T,
            design=np.concatenate(
                [e.design @ m for e, m in zip(parts, to_components, strict=True)]
            ),
        ), left

    if all(e.errors is None for e in equations):
        return combined(equations)[0]
    weighted, left = combined([e if e.errors is None else e.errors.weighted for e in equations])
    noises = [e.information if e.errors is None else e.errors.noise for e in equations]
    slopes = [e.information if e.errors is None else e.errors.slope for e in equations]
    if independent:
        noise = block_diag(*noises)
    else:
        roots = [symmetric_root(n) for n in noises]
        noise = np.block([[shared[p, q] * roots[p] @ roots[q] for q in range(d)] for p in range(d)])
    return with_scores(weighted, left @ block_diag(*slopes) @ whole, left @ noise @ left.T)
