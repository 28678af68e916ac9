"""The generator on the Fourier modes of a circle, equation (G18)."""

import numpy as np
from numpy.typing import NDArray
from scipy.linalg import eig, eigvals, lu_factor, lu_solve
from scipy.sparse.linalg import ArpackError, LinearOperator, eigs

from worker.generator.process import FloatArray, ScalarProcess, values

ComplexArray = NDArray[np.complex128]

MODES = (16, 32, 64, 128, 256)
"""Highest Fourier mode, raised until the answer settles."""
ROUNDING = 1e-9
"""Relative imaginary part of a rate below which it is rounding error."""

EXTRA = 5
"""Rates beyond those asked for where the slowest alone are computed, and the relative residual
at which they are found."""
SETTLED = 1e-8


def fourier_generator(model: ScalarProcess, low: float, period: float, modes: int) -> ComplexArray:
    """Return L of the functions exp(2πik(x − low)/period): (2 modes + 1, 2 modes + 1) [1/time].

    Parameters
    ----------
    model : process on a circle
    low : where the turn starts [state]
    period : of the circle [state]
    modes : k goes from −modes to modes
    """
    x = low + period * np.arange(4 * modes) / (4 * modes)
    b, a = (np.fft.fft(values(f, x)) / len(x) for f in (model.b, model.a))
    k = np.arange(-modes, modes + 1)
    shift = k[:, None] - k[None, :]
    wave = 2 * np.pi * k / period
    return np.asarray(b[shift] * (1j * wave) - 0.5 * a[shift] * wave**2)


def fourier_rates(model: ScalarProcess, low: float, period: float, modes: int) -> ComplexArray:
    """Return (2 modes,) all rates, the slowest first, equation (G18) [1/time].

    Parameters
    ----------
    model : process on a circle
    low : where the turn starts [state]
    period : of the circle [state]
    modes : highest Fourier mode
    """
    found = eigvals(-in_real_functions(fourier_generator(model, low, period, modes)))
    return slowest_first(found.astype(np.complex128))[1:]


def fourier_eigenvectors(generator: ComplexArray) -> tuple[ComplexArray, ComplexArray]:
    """Return eigenvalues (n,) and eigenvectors, as columns (n, n), of −L from its matrix (n, n)."""
    rates, vectors = (array.astype(np.complex128) for array in eig(-in_real_functions(generator)))
    modes = len(generator) // 2
    cosines, sines = vectors[1 : modes + 1] / np.sqrt(2), 1j * vectors[modes + 1 :] / np.sqrt(2)
    return rates, np.concatenate([(cosines + sines)[::-1], vectors[:1], cosines - sines])


def perturbed_fourier_rates(
    model: ScalarProcess, low: float, period: float, modes: int, reference: ComplexArray
) -> tuple[ComplexArray, float]:
    """Return the slowest rates of a model near a reference, and the last Fourier coefficient.

    The coefficient is that of the densities that decay at the k + 1 slowest rates, over their
    largest: where it is below 1e-3 the rates are right to 1e-4. No rates, and inf, where they are
    not found.

    Parameters
    ----------
    model : process on a circle
    low : where the turn starts [state]
    period : of the circle [state]
    modes : highest Fourier mode
    reference : (k,) rates of the reference [1/time]
    """
    matrix = in_real_functions(fourier_generator(model, low, period, modes))
    # Not below the rate at which the first wave spreads, as a reference may know but one very slow
    # rate.
    shift, count = max(float(np.abs(reference).max()), abs(float(matrix[1, 1]))), len(reference)
    factors = lu_factor(shift * np.eye(len(matrix)) - matrix)
    # The transposed matrix moves densities, which are narrower than functions.
    inverse = LinearOperator(
        matrix.shape, matvec=lambda x: lu_solve(factors, x, trans=1), dtype=np.float64
    )
    wanted = min(count + EXTRA, len(matrix) - 2)
    try:
        values, vectors = eigs(
            inverse,
            k=wanted,
            ncv=min(2 * wanted + 6, len(matrix)),
            v0=np.ones(len(matrix)),
            tol=SETTLED,
        )
    except ArpackError:
        return np.zeros(0, np.complex128), np.inf
    rates = (1 / values - shift).astype(np.complex128)
    sizes = np.abs(vectors[:, np.argsort(rates.real)[: count + 1]])
    last = np.maximum(sizes[modes], sizes[2 * modes]) / sizes.max(axis=0)
    return slowest_first(rates)[1:], float(last.max())


def slowest_first(rates: ComplexArray) -> ComplexArray:
    """Return (n,) eigenvalues of −L in order; of a pair, the positive frequency is first.

    The eigenvalue of the constant is first, as it is zero.
    """
    rates = rates[np.lexsort((-rates.imag, np.round(rates.real / np.abs(rates).max(), 12)))]
    return np.where(np.abs(rates.imag) < ROUNDING * np.abs(rates), rates.real, rates).astype(
        np.complex128
    )


def in_real_functions(generator: ComplexArray) -> FloatArray:
    """Return (n, n) the generator's matrix of the functions 1, √2 cos kωx, √2 sin kωx, k from 1.

    It is real: its eigenvalues take a third of the time.
    """
    modes = len(generator) // 2
    ahead, behind = generator[modes + 1 :, modes + 1 :], generator[modes + 1 :, modes - 1 :: -1]
    cosines, sines = ahead + behind, ahead - behind
    # The constant has no derivative: its column is zero.
    first = np.sqrt(2) * generator[modes, modes + 1 :]
    below = np.zeros((2 * modes, 1))
    rows = np.block([[cosines.real, sines.imag], [-cosines.imag, sines.real]])
    return np.block([[np.zeros((1, 1)), first.real, first.imag], [below, rows]])
