"""Slowest eigenvalues of a generator matrix, and its stationary vector, from one factorisation."""

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csc_array, eye_array
from scipy.sparse.linalg import ArpackError, ArpackNoConvergence, LinearOperator, eigs, splu

from worker.generator.errors import UnresolvedLandscapeError
from worker.generator.process import FloatArray

ComplexArray = NDArray[np.complex128]
RESTARTS = 30
"""Restarts of Arnoldi's method; ordinary spectra take fewer than five."""
NOT_ZERO = 1e-5
"""Size of the zero eigenvalue, in typical rates, above which the factorisation is inaccurate."""
UNSOLVED = (
    "the cells' matrix could not be solved: drift or noise vary too much across the domain; "
    "narrow the domain, or check the model's terms"
)
TOLERANCE = 1e-8
"""Relative residual of an eigenvector at which the search ends."""
EXTRA = 8
"""Eigenvalues beyond those asked for: the slowest are sought among those nearest to zero."""


@dataclass(frozen=True, slots=True, eq=False)
class Modes:
    """Nonzero eigenvalues of −L, slowest first, and the stationary distribution.

    rates   (k,) complex; of a conjugate pair the positive frequency comes first [1/time]
    masses  (n,) masses of the cells, adding up to 1
    sum     (n,) sum of all modes found, each of norm 1: a start for the search of a similar matrix
    """

    rates: ComplexArray
    masses: FloatArray
    sum: FloatArray


def stationary_masses(matrix: csc_array, start: int) -> FloatArray:
    """Return the stationary masses of the cells (n,), given a cell `start` that has some of it.

    They are nan where none can be found.
    """
    keep = np.delete(np.arange(matrix.shape[0]), start)
    masses = np.ones(matrix.shape[0])
    try:
        masses[keep] = factorised(csc_array(matrix[keep][:, keep])).solve(
            -matrix[keep][:, [start]].toarray()[:, 0]
        )
    except RuntimeError:
        return np.full(len(masses), np.nan)
    with np.errstate(all="ignore"):
        return np.asarray(masses / masses.sum())


def slow_modes(
    matrix: csc_array,
    count: int,
    rate: float,
    start: FloatArray,
    extra: int = EXTRA,
    tolerance: float = TOLERANCE,
) -> Modes:
    """Return the slowest nonzero eigenvalues and the stationary masses.

    Parameters
    ----------
    matrix : (n, n) rate of change of the cells' masses [1/time]
    count : number of eigenvalues
    rate : typical rate of the process; the eigenvalues nearest to −rate are sought [1/time]
    start : (n,) vector with which the search begins
    extra : number of further eigenvalues among which the slowest are chosen
    tolerance : relative residual at which the search ends

    Raises
    ------
    UnresolvedLandscapeError : the matrix cannot be solved
    """
    try:
        solver = factorised(csc_array(rate * eye_array(matrix.shape[0]) - matrix))
    except RuntimeError as error:
        raise UnresolvedLandscapeError(UNSOLVED) from error
    wanted = min(count + 1 + extra, matrix.shape[0] - 2)
    operator = LinearOperator(matrix.shape, matvec=solver.solve, dtype=np.float64)
    try:
        inverse, vectors = eigs(
            operator,
            k=wanted,
            v0=start,
            ncv=min(2 * wanted + 6, matrix.shape[0]),
            tol=tolerance,
            maxiter=RESTARTS,
        )
    except ArpackNoConvergence as partly:
        # Only the slowest eigenvalues are needed, and those of a crowded spectrum have settled.
        inverse, vectors = (
            partly.eigenvalues.astype(np.complex128),
            partly.eigenvectors.astype(np.complex128),
        )
    except ArpackError as error:
        raise UnresolvedLandscapeError(UNSOLVED) from error
    if not len(inverse) or np.abs(1 / inverse - rate).min() > NOT_ZERO * rate:
        raise UnresolvedLandscapeError(UNSOLVED)
    eigenvalues = 1 / inverse - rate
    zero = int(np.argmin(np.abs(eigenvalues)))
    law = np.real(vectors[:, zero] / vectors[:, zero].sum())
    rates = np.delete(eigenvalues, zero)
    rates = rates[np.lexsort((-rates.imag, np.round(rates.real / rate, 7)))]
    return Modes(
        rates[: _whole_pairs(rates, count)],
        law,
        np.real(vectors / np.linalg.norm(vectors, axis=0)).sum(axis=1),
    )


def factorised(matrix: csc_array) -> Any:  # a SuperLU, whose stubs lack `trans`
    """Factorise a generator matrix.

    It is nearly symmetric in structure, with a large diagonal: no pivoting, and little fill.
    """
    return splu(
        matrix, permc_spec="MMD_AT_PLUS_A", diag_pivot_thresh=0.01, options={"SymmetricMode": True}
    )


def _whole_pairs(rates: ComplexArray, count: int) -> int:
    """Return `count`, or one more where it would cut a conjugate pair."""
    if (
        0 < count < len(rates)
        and rates[count - 1].imag > 0
        and np.isclose(rates[count], np.conj(rates[count - 1]), rtol=1e-6)
    ):
        return count + 1
    return count
