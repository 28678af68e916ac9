"""Relaxation rates: the non-zero eigenvalues of −L, with small relative errors at any size.

The finite-volume generator of the cells is a product CᵀC with C bidiagonal and made of the cells'
positive numbers, so its eigenvalues are squared singular values of C. The entries of C determine
these to full *relative* accuracy (Demmel and Kahan 1990), and bisection on the Golub–Kahan form
finds them so. Halving the cells twice and extrapolating gives the digits.
"""

from itertools import pairwise

import numpy as np
from numpy.typing import NDArray
from scipy.linalg import eigh_tridiagonal, solve_banded
from scipy.optimize import linear_sum_assignment

from worker.generator.line.finite_volumes import Cells, cut_into_cells
from worker.generator.line.landscape import Landscape
from worker.generator.numerics.quadrature import DERIVATIVE, WEIGHTS
from worker.generator.process import FloatArray, read_only
from worker.generator.quantities.boundary import End
from worker.generator.quantities.outcomes import (
    CONTINUOUS_TO_ZERO,
    RATES_TOO_SMALL,
    Outcome,
    Reason,
)
from worker.generator.quantities.spectrum import Spectrum

PHASE = 0.4
"""Length of a cell of the coarsest level, in radians of the fastest eigenfunction asked for."""
DECAY = 14.0
"""Fall of an eigenfunction, in its symmetric form, beyond which the cells end: e^−28 in its
norm."""
MAX_PARTS = 64
SIX_DIGITS = 2e-7
"""Error of the square root of a rate, relative to that of the slowest, where six digits are
enough."""
FAR_BELOW = 0.1
"""Square root of a rate, relative to that of its guess, below which the guess is not used."""
TINY = 1e-300
"""Rate below which no floating number holds the relaxation time."""
CLOSE = 1e-3
"""Relative distance to the continuous spectrum below which a rate counts as part of it."""


def spectrum_of(
    landscape: Landscape,
    ends: tuple[End, End],
    count: int,
    *,
    levels: int = 3,
    fastest: float | None = None,
    least: float = 0.0,
    grid: FloatArray | None = None,
) -> Spectrum:
    """Return the `count` slowest rates of the model on this landscape.

    Parameters
    ----------
    landscape : the part of the panels that the distribution inhabits
    ends : lower and upper end, classified
    count : number of rates
    levels : number of halvings of the cells that are extrapolated, 1 to 3
    fastest : guess of the fastest of the rates [1/time]; without it a coarse solution gives one
    least : about the slowest rate, see `rates_on` [1/time]
    grid : (n,) points at which to give the eigenfunctions; without it there are none
    """
    threshold = min(end.threshold for end in ends)
    if fastest is None:
        fastest = coarse_rates(landscape, count)[-1]
    fastest = min(fastest, threshold)
    cells = cut_into_cells(landscape, *mesh(landscape, fastest, 2 ** (levels - 1)))
    ladder = [rates_on(finer := cells, count, least)]
    for _ in range(levels - 1):
        finer = finer.halved()
        ladder.insert(0, rates_on(finer, count, least))
    rates, error = _extrapolated(ladder)
    reasons: tuple[Reason, ...] = ()
    if not np.all(rates > TINY):
        rates, error = rates[rates > TINY], error[rates > TINY]
        reasons = (RATES_TOO_SMALL,)
    isolated = rates < threshold * (1 - CLOSE)
    if not isolated.all():
        rates, error = rates[isolated], error[isolated]
        why = (
            f"only {len(rates)} of {count} rates are isolated: the spectrum is continuous above "
            f"{threshold:.6g}"
        )
        reasons = (Reason(Outcome.CONTINUOUS, why) if threshold else CONTINUOUS_TO_ZERO,)
    functions = None if grid is None else read_only(eigenfunctions_on(cells, rates, grid))
    return Spectrum(
        read_only(rates.astype(np.complex128)),
        functions,
        read_only(error),
        reasons,
    )


def coarse_rates(landscape: Landscape, count: int) -> list[float]:
    """Return the slowest rates with one cell a panel, right to some ten per cent [1/time]."""
    return [float(rate) for rate in rates_on(cut_into_cells(landscape), count)]


def rates_on(cells: Cells, count: int, least: float = 0.0) -> FloatArray:
    """Return the slowest rates on the given cells, (count,) [1/time], to all digits.

    Parameters
    ----------
    cells : finite volumes
    count : number of rates
    least : about the slowest rate [1/time]; where it is given, rates are right to six digits
    """
    diagonal, off_diagonal = (
        np.zeros(2 * len(cells.log_resistance) + 1),
        np.empty(2 * len(cells.log_resistance)),
    )
    node_mass = cells.log_node_mass
    off_diagonal[0::2] = -0.5 * (cells.log_resistance + node_mass[:-1])
    off_diagonal[1::2] = -0.5 * (cells.log_resistance + node_mass[1:])
    # Times in units of the typical cell's, so that squares neither overflow nor vanish.
    unit = float(np.median(off_diagonal))
    n = len(cells.log_resistance)
    last = min(count, n)
    # Zero lies in the middle of the spectrum of the Golub–Kahan form; the rates are the squares
    # just above it.
    singular = eigh_tridiagonal(
        diagonal,
        np.exp(off_diagonal - unit),
        eigvals_only=True,
        select="i",
        select_range=(n + 1, n + last),
        lapack_driver="stebz",
        tol=max(1e-300, SIX_DIGITS * np.sqrt(least) * np.exp(-unit)),
    )
    if least and singular[0] < FAR_BELOW * np.sqrt(least) * np.exp(-unit):
        # The guess was none: of wells 25 times colder, a rate of 9e-23 came out as 4e-17.
        return rates_on(cells, count)
    return np.asarray(singular**2 * np.exp(2 * unit))


def mesh(landscape: Landscape, fastest: float, multiple: int) -> tuple[NDArray[np.int64], slice]:
    """Return the cells per panel, and the panels on which eigenfunctions up to `fastest` matter.

    Parameters
    ----------
    landscape : panels
    fastest : rate [1/time]
    multiple : factor of the number of cells
    """
    _, psi, log_a = landscape.at_nodes
    half = landscape.half[:, None]
    with np.errstate(over="ignore", invalid="ignore"):
        uniform = half * np.exp(-0.5 * log_a)  # d(uniform-noise coordinate) per reference length
        slope = ((psi - 0.5 * log_a) @ DERIVATIVE.T) / uniform
        decay = (np.sqrt(np.maximum(slope**2 / 4 - 2 * fastest, 0.0)) * uniform) @ WEIGHTS
        phase = np.sqrt(2 * fastest) * (uniform @ WEIGHTS)
    from_left, from_right = np.cumsum(decay), np.cumsum(decay[::-1])[::-1]
    allowed = np.flatnonzero(decay < np.maximum(phase, 1e-12))
    first, last = (int(allowed[0]), int(allowed[-1])) if len(allowed) else (0, len(psi) - 1)
    first = int(np.searchsorted(from_left, from_left[first] - DECAY))
    last = len(psi) - 1 - int(np.searchsorted(from_right[::-1], from_right[last] - DECAY))
    parts = parts_for(phase[first : last + 1]) * multiple
    return parts, slice(first, last + 1)


def parts_for(turned: FloatArray, phase: float = PHASE) -> NDArray[np.int64]:
    """Return the number of cells of panels, powers of 2.

    The fastest eigenfunction turns by `turned` (P,) radians over each panel, and by `phase` over a
    cell.
    """
    return np.asarray(2 ** np.ceil(np.log2(np.clip(turned / phase, 1, MAX_PARTS))).astype(np.int64))


def _extrapolated(ladder: list[FloatArray]) -> tuple[FloatArray, FloatArray]:
    """Extrapolate by Romberg's rule: the error is a series in even powers of the cell's length."""
    column, previous, power = ladder, ladder[-1], 4.0
    while len(column) > 1:
        previous = column[-1]
        column = [(power * fine - coarse) / (power - 1) for coarse, fine in pairwise(column)]
        power *= 4
    order = np.argsort(column[-1])
    with np.errstate(invalid="ignore"):
        error = np.abs(column[-1] - previous) / column[-1]
    return column[-1][order], error[order]


def eigenfunctions_on(cells: Cells, rates: FloatArray, grid: FloatArray) -> FloatArray:
    """Return (k, n) right eigenfunctions at the grid, of unit norm, positive at the upper end.

    Inverse iteration in the symmetric form, kept orthogonal to the constant and to slower
    eigenfunctions.

    Parameters
    ----------
    cells : finite volumes
    rates : (k,) rates of the cells [1/time]
    grid : (n,) points [state]
    """
    node_mass = cells.log_node_mass
    conductance_left = np.exp(-cells.log_resistance - node_mass[:-1])
    conductance_right = np.exp(-cells.log_resistance - node_mass[1:])
    off_diagonal = -np.sqrt(conductance_left * conductance_right)
    diagonal = np.append(conductance_left, 0.0) + np.append(0.0, conductance_right)
    root = np.exp(0.5 * (node_mass - np.logaddexp.reduce(node_mass)))
    basis = [root]
    result = np.empty((len(rates), len(grid)))
    for k, rate in enumerate(rates):
        banded = np.vstack(
            [
                np.append(0.0, off_diagonal),
                diagonal - rate * (1 + 1e-10),
                np.append(off_diagonal, 0.0),
            ]
        )
        vector = root * np.cos(np.pi * (k + 1) * np.linspace(0, 1, len(root)))
        for _ in range(3):
            vector = solve_banded((1, 1), banded, vector)
            for other in basis:
                vector = vector - other * (other @ vector)
            vector = vector / np.linalg.norm(vector)
        basis.append(vector)
        values = vector / root
        result[k] = np.interp(grid, cells.edges, values * np.sign(values[-1]))
    return result


def matched(
    rates: NDArray[np.complex128], reference: NDArray[np.complex128]
) -> NDArray[np.complex128]:
    """Return (k,) the rate nearest to each of the reference's, used once; else nan."""
    cost = np.abs(rates[None, :] - reference[:, None]) / np.abs(reference[:, None])
    rows, columns = linear_sum_assignment(cost)
    result = np.full(len(reference), np.nan, dtype=np.complex128)
    result[rows] = rates[columns]
    return result
