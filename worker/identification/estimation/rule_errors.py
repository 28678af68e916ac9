"""What a model of one variable expects of the trapezoid's windows (docs/method.md §3).

A quadrature over two samples errs by a power of the step. What it leaves of the drift's and the
diffusion's equation is known for any model: with P_t the semigroup of its generator L,

    β_b = Q b,   β_a = Q (2 y b + a) − 2x Q b at y = x,   Q = ∫ P_t dt − ½ h (1 + P_h)      (M47)

The residuals less these means have mean zero. What the equations say of the coefficients, and what
they carry of the other component's errors, is how the mean of the residuals as functions f of X_h
depends on the generator: with its change δL = δb ∂ + ½ δa ∂²,

    δE[f(X_h) | x] = ∫ P_(h−s) δL P_s f ds                                                  (M48)
"""

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy.interpolate import CubicSpline
from scipy.linalg import expm

from worker.identification.sums.kernel_statistics import KernelStatistics

Floats = NDArray[np.float64]

POINTS = 128
"""Cells of the generator; their width is a twentieth of a standard deviation or less."""

MARGIN = 0.1
"""Range beyond the data that paths may visit, on each side, as a share of the data's."""


@dataclass(frozen=True, slots=True, eq=False)
class Expectations:
    """What a model expects of the windows, summed over those at the nodes.

    drift, diffusion   (n_blocks, n_nodes) mean residuals of both equations
    correlation        (n_nodes,) correlation of both residuals
    drift_slope        (n_nodes, n_functions) slope of the drift's mean residual in its coefficients
    mixed_slope        (n_nodes, n_functions) slope of the diffusion's in the drift's coefficients
    diffusion_slope    (n_nodes, n_functions) slope of the diffusion's in its own coefficients
    """

    drift: Floats
    diffusion: Floats
    correlation: Floats
    drift_slope: Floats
    mixed_slope: Floats
    diffusion_slope: Floats


def expectations(
    drift: Floats,
    diffusion: Floats,
    functions: Callable[[Floats], Floats],
    statistics: KernelStatistics,
    steps: Floats,
    *,
    circle: bool,
) -> Expectations:
    """Compute what a model expects of the trapezoid's windows.

    Parameters
    ----------
    drift, diffusion : (n_functions,) coefficients of the model, internal units
    functions : internal functions, (n,) → (n, n_functions)
    statistics : sums over the windows
    steps : (n,) sampling intervals, internal units
    circle : whether the coordinate is an angle, of period 2
    """
    cells, nodes = statistics.cells, statistics.nodes
    low, high = cells.low, cells.low + cells.width * cells.count
    # On a circle a path moves less than half a turn between samples.
    margin = 1.0 if circle else MARGIN * (high - low)
    width = (high - low + 2 * margin) / POINTS
    y = np.asarray(low - margin + width * (np.arange(POINTS) + 0.5), dtype=np.float64)
    g = functions(y)
    b, a = np.asarray(g @ drift), np.asarray(g @ diffusion).clip(min=0)
    generator = chain_of_cells(b, a, width)
    each = (
        share * residuals_of_step(generator, y, b, a, g, width, h) for h, share in _typical(steps)
    )
    table = np.asarray(sum(each))
    squares = np.sqrt(np.maximum(table[:, 3:5], np.finfo(float).tiny)).prod(axis=1)
    table[:, 2] /= np.maximum(squares, np.finfo(float).tiny)
    at_nodes = CubicSpline(y, table)(nodes)
    # The error goes with a power of the step: squared steps know better than counts where it is.
    windows = statistics.time_squared * (statistics.n_windows / statistics.time_squared.sum())
    slopes = np.split(windows.sum(axis=0)[:, None] * at_nodes[:, 5:], 3, axis=1)
    mean = windows * at_nodes[:, 0], windows * at_nodes[:, 1]
    return Expectations(*mean, at_nodes[:, 2].clip(-1, 1), *slopes)


def chain_of_cells(b: Floats, a: Floats, width: float) -> Floats:
    """Make a chain of cells whose steps have the mean b and the variance a; (n, n).

    Its ends reflect. Where a is below |b| times the width, rates stay positive as for that a: where
    noise vanishes, every excess counts, since the equations weight by 1/a².
    """
    both = np.maximum(a, np.abs(b) * width) / (2 * width**2)
    up, down = both + b / (2 * width), both - b / (2 * width)
    up[-1] = down[0] = 0.0
    return np.asarray(np.diag(up[:-1], 1) + np.diag(down[1:], -1) - np.diag(up + down))


def residuals_of_step(
    generator: Floats, y: Floats, b: Floats, a: Floats, g: Floats, width: float, h: float
) -> Floats:
    """Compute all expectations for a step h at the cells y; (n, 5 + 3 n_functions)."""
    n = len(y)
    block = np.zeros((n + 2, n + 2))
    known = np.stack([b, 2 * y * b + a], axis=1)
    block[:n, :n], block[:n, n:] = h / 2 * generator, h / 2 * known
    once = expm(block)
    half, to_half = once[:n, :n], once[:n, n:]
    whole = half @ half
    missed = to_half + half @ to_half - h / 2 * (known + whole @ known)
    mean, mean_of_square = missed[:, 0], missed[:, 1] - 2 * y * missed[:, 0]
    apart = y - y[:, None]
    r = apart - h / 2 * (b[:, None] + b) - mean[:, None]
    s = apart**2 - h * apart * b - h / 2 * (a[:, None] + a) - mean_of_square[:, None]
    products = [(whole * one * other).sum(axis=1) for one, other in ((r, s), (r, r), (s, s))]
    # The residuals are these functions of X_h, the second less x times the first, and halved.
    residuals = np.stack([2 * y - h * b, y**2 - h * y * b - h / 2 * a], axis=1)
    slopes = []
    for order in (1, 2):
        first, middle, last = (
            (g[:, :, None] * _derivative(half_way, width, order)[:, None] / order).reshape(n, -1)
            for half_way in (residuals, half @ residuals, whole @ residuals)
        )
        # Simpson's rule for the integral over s.
        found = h / 6 * (last + half @ (4 * middle + half @ first))
        of_first, of_square = found.reshape(n, -1, 2).transpose(2, 0, 1)
        slopes += [of_first / 2, of_square - y[:, None] * of_first]
    # How the diffusion's error shifts the mean increment is left out: by less than a percent.
    return np.column_stack([mean, mean_of_square, *products, slopes[0], slopes[1], slopes[3]])


def _derivative(f: Floats, width: float, order: int) -> Floats:
    first = np.gradient(f, width, axis=0)
    return first if order == 1 else np.gradient(first, width, axis=0)


def _typical(steps: Floats) -> list[tuple[float, float]]:
    """List up to three steps and shares with the first moments of all (Golub and Welsch)."""
    mean = float(steps.mean())
    if steps.max() < 1.001 * steps.min():
        return [(mean, 1.0)]
    basis, diagonal, beside = [np.ones_like(steps)], [], []
    for k in range(3):
        times = steps * basis[-1]
        diagonal.append(float(np.mean(times * basis[-1])))
        rest = times - sum(float(np.mean(times * f)) * f for f in basis)
        size = float(np.sqrt(np.mean(rest**2)))
        if size < 1e-3 * mean or k == 2:
            break
        beside.append(size)
        basis.append(rest / size)
    values, vectors = np.linalg.eigh(np.diag(diagonal) + np.diag(beside, 1) + np.diag(beside, -1))
    return [(float(v), float(w)) for v, w in zip(values, vectors[0] ** 2, strict=True)]
