"""The slow end of the spectrum of a generator matrix, and its stationary vector, from one sparse factorisation."""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csc_array, eye_array
from scipy.sparse.linalg import ArpackError, ArpackNoConvergence, LinearOperator, eigs, splu

from worker.generator.errors import UnresolvedLandscapeError
from worker.generator.process import FloatArray

ComplexArray = NDArray[np.complex128]
RESTARTS = 30
"""Of Arnoldi's method; ordinary spectra take fewer than five."""
NOT_ZERO = 1e-5
"""Size of the eigenvalue that should be zero, in typical rates, above which the factorisation has lost its digits."""
UNSOLVED = (
    "the cells' matrix could not be solved: drift or noise vary too much across the domain; narrow the domain, or check the "
    "model's terms"
)
TOLERANCE = 1e-8
"""Relative residual of an eigenvector at which the search ends."""
EXTRA = 8
"""Eigenvalues beyond those asked for: the slowest are sought among those nearest to zero."""


@dataclass(frozen=True, slots=True, eq=False)
class Modes:
    """Eigenvalues of −L that are not zero, slowest first, and the masses of the stationary law.

    rates      (k,) complex; of a conjugate pair the one with the positive frequency comes first [1/time]
    masses     (n,) of the cells, adding up to 1
    sum        (n,) of all the modes found, each of norm 1: where the search for those of a similar matrix begins
    """

    rates: ComplexArray
    masses: FloatArray
    sum: FloatArray


def stationary_masses(matrix: csc_array, start: int) -> FloatArray:
    """(n,) the stationary law of the cells, given one cell that has some of it; nan where there is none to be found."""
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
    """The `count` slowest eigenvalues that are not zero, of `extra` more that are nearest to −rate, a typical rate of the process
    [1/time]. The search begins with `start` (n,) and ends at relative residuals of `tolerance`.

    Raises UnresolvedLandscapeError where the matrix cannot be solved.
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
        # Of a crowded spectrum the slowest have settled, and only they are needed.
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


def factorised(matrix: csc_array):  # type: ignore[no-untyped-def]
    # The matrices are nearly symmetric in structure and their diagonal is large: no pivoting, and little fill.
    return splu(
        matrix, permc_spec="MMD_AT_PLUS_A", diag_pivot_thresh=0.01, options={"SymmetricMode": True}
    )


def _whole_pairs(rates: ComplexArray, count: int) -> int:
    """`count`, or one more where it would cut a conjugate pair."""
    if (
        0 < count < len(rates)
        and rates[count - 1].imag > 0
        and np.isclose(rates[count], np.conj(rates[count - 1]), rtol=1e-6)
    ):
        return count + 1
    return count
