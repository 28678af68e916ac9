"""Weak equations of the force, and of the diffusion of the velocities, from windows of positions.

Instruments are functions of samples before a window, so neither measurement noise nor the kicks
inside a window bias them (docs/method.md §16, equations S2–S6).
"""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from worker.identification.data.library import Library
from worker.identification.data.trajectories import Integers, Trajectories
from worker.identification.regression import NormalEquations, whitened_by, whitening_of
from worker.identification.second_order.phase_space import PhaseSpace
from worker.identification.second_order.windows import Kicks, Piece, Shape, pieces
from worker.identification.sums.kernel_statistics import WeakSystem

Floats = NDArray[np.float64]

SMALLEST_EIGENVALUE = 1e-12
"""Share of V's largest eigenvalue below which a direction of the instruments is left out."""


@dataclass(frozen=True, slots=True, eq=False)
class ForceSums:
    """Sums over all windows, in internal units.

    design      (n_blocks, K, J)   Σ z ∫wf ds of K instruments and J functions
    response    (n_blocks, K, d)   Σ z D
    kicks       (d, K, K)          Σ of the instruments' squares under the kicks, weighted by a
    noise       (K, K)             Σ of the instruments' squares under the noise of the samples
    n_windows   number of windows
    """

    design: Floats
    response: Floats
    kicks: Floats
    noise: Floats
    n_windows: int

    def covariance(self, coordinate: int, noise: float) -> Floats:
        """Compute V of the force along one coordinate; (K, K), equation (S4)."""
        return np.asarray(self.kicks[coordinate] + noise * self.noise)

    def equations(self, coordinate: int, noise: float) -> NormalEquations:
        """Whiten the equations of the force along one coordinate. Raises NoDataUnderKernels.

        noise   variance of the measurement noise
        """
        whitening = whitening_of(self.covariance(coordinate, noise), SMALLEST_EIGENVALUE)
        return whitened_by(WeakSystem(self.design, self.response[..., coordinate]), whitening)


@dataclass(frozen=True, slots=True, eq=False)
class ResidualSums:
    """Sums over the residuals r = D − Σ c ∫wf ds of a model, in internal units.

    products    (d, d)                Σ r_p r_q
    changes     (d,)                  Σ D²
    scales      (2,)                  Σ (h₋ + h₊)/3 and Σ of the noise's factor
    response    (n_blocks, K, d, d)   Σ z (r_p r_q − noise)
    squares     (d, d, K, K)          Σ z zᵀ of the expected squares of r_p r_q, pairs apart
    moments     (d, 5)                Σ u^p of u = r over its standard deviation
    lags        (d, n_lags, 3)        n, Σ r_i r_{i+l}, Σ (r_i r_{i+l})² at lags 1, 2, …
    """

    products: Floats
    changes: Floats
    scales: Floats
    response: Floats
    squares: Floats
    moments: Floats
    lags: Floats


def force_sums(
    data: Trajectories,
    space: PhaseSpace,
    library: Library,
    shape: Shape,
    kicks: Kicks,
    blocks: Integers,
    diffusion: Floats | None = None,
) -> ForceSums:
    """Sum the equations of the force over the record.

    Parameters
    ----------
    data, space, library, shape, kicks, blocks : see `windows.pieces`
    diffusion : (d, J) coefficients of the diffusion of each velocity; None: the same everywhere
    """
    n_blocks, size, d = len(blocks), library.internal_size, space.dimension
    design, response = np.zeros((n_blocks, size, size)), np.zeros((n_blocks, size, d))
    of_kicks, of_noise, n = np.zeros((d, size, size)), np.zeros((size, size)), 0
    least = 0.05 * np.diag(kicks.diffusion)
    for piece in pieces(data, space, library, shape, kicks, blocks):
        z = piece.instruments
        design[piece.block] += z.T @ piece.terms
        response[piece.block] += z.T @ piece.change
        n += int(piece.valid.sum())
        smoothed = _under_triangles(z, piece, shape.half)
        a = np.broadcast_to(np.diag(kicks.diffusion), (len(z), d))
        if diffusion is not None:
            a = np.maximum(library.internal(piece.state) @ diffusion.T, least)
        a = np.pad(a, ((shape.half, shape.half), (0, 0)), mode="edge")
        for c in range(d):
            weight = piece.intervals * (a[1:, c] + a[:-1, c]) / 12
            of_kicks[c] += _square(smoothed, weight)
        noise = _of_noise(z, piece, shape.half)
        of_noise += noise.T @ noise
    return ForceSums(design, response, of_kicks, of_noise, n)


def residual_sums(
    data: Trajectories,
    space: PhaseSpace,
    library: Library,
    shape: Shape,
    kicks: Kicks,
    blocks: Integers,
    force: Floats,
    n_lags: int,
    every: int = 1,
) -> ResidualSums:
    """Sum the residuals of a force over the record.

    Parameters
    ----------
    data, space, library, shape, kicks, blocks, every : see `windows.pieces`
    force : (d, J) coefficients of the force
    n_lags : number of lags
    """
    n_blocks, size, d = len(blocks), library.internal_size, space.dimension
    products, scales, moments = np.zeros((d, d)), np.zeros(2), np.zeros((d, 5))
    response, squares = np.zeros((n_blocks, size, d, d)), np.zeros((d, d, size, size))
    lags, changes = np.zeros((d, n_lags, 3)), np.zeros(d)
    # Neighbouring windows overlap: squares of their residuals are correlated by ρ².
    for piece in pieces(data, space, library, shape, kicks, blocks, every):
        r = (piece.change - piece.terms @ force.T) * piece.valid[:, None]
        z = piece.instruments
        span = piece.steps.sum(axis=1) / 3
        behind, ahead = 1 / piece.steps.T
        factor = ahead**2 + behind**2 + (ahead + behind) ** 2
        variance = span[:, None] * np.diag(kicks.diffusion) + factor[:, None] * kicks.noise
        products += r.T @ r
        changes += (piece.change[piece.valid] ** 2).sum(axis=0)
        scales += [span[piece.valid].sum(), factor[piece.valid].sum()]
        # Before anything is known about kicks the residuals are counted alone.
        u = r / np.sqrt(np.where(variance > 0, variance, np.inf))
        moments += np.stack([(u**p)[piece.valid].sum(axis=0) for p in range(5)], axis=1)
        for p in range(d):
            for q in range(p, d):
                both = r[:, p] * r[:, q] - (factor * kicks.noise[p] if p == q else 0.0)
                response[piece.block, :, p, q] += z.T @ both
                expected = variance[:, p] * variance[:, q] * (2 if p == q else 1)
                squares[p, q] += (z * expected[:, None]).T @ z
        for lag in range(1, n_lags + 1):
            pair = r[lag:] * r[:-lag]
            lags[:, lag - 1, 0] += float((piece.valid[lag:] & piece.valid[:-lag]).sum())
            lags[:, lag - 1, 1] += pair.sum(axis=0)
            lags[:, lag - 1, 2] += (pair**2).sum(axis=0)
    return ResidualSums(products, changes, scales, response, squares, moments, lags)


def diffusion_equations(
    forces: ForceSums, residuals: ResidualSums, pair: tuple[int, int], overlap: float
) -> NormalEquations:
    """Whiten the equations of a component of the diffusion. Raises NoDataUnderKernels.

    Over a window E r² = ⅔ of ∫w a ds, so the sums of the force serve again, equation (S6).

    Parameters
    ----------
    forces, residuals : sums
    pair : numbers of the velocities
    overlap : 1 + 2 Σ ρ², by which windows that overlap repeat each other
    """
    p, q = pair
    whitening = whitening_of(residuals.squares[p, q] * overlap, SMALLEST_EIGENVALUE)
    return whitened_by(WeakSystem(forces.design / 1.5, residuals.response[..., p, q]), whitening)


def _under_triangles(z: Floats, piece: Piece, half: int) -> Floats:
    """Sum the instruments of the windows at each sample, by the height of their triangles there.

    Between samples the sum is linear: kicks of one interval count by what its ends say.
    """
    n = len(z)
    out = np.zeros((n + 2 * half, z.shape[1]))
    out[half : half + n] += z
    if half == 1:
        return out
    elapsed = np.concatenate([[0.0], np.cumsum(piece.intervals)])
    centre = elapsed[half : half + n]
    for lag in range(1, half):
        ahead = 1 - (elapsed[half + lag : half + lag + n] - centre) / piece.steps[:, 1]
        behind = 1 - (centre - elapsed[half - lag : half - lag + n]) / piece.steps[:, 0]
        out[half + lag : half + lag + n] += z * ahead[:, None]
        out[half - lag : half - lag + n] += z * behind[:, None]
    return out


def _square(values: Floats, weight: Floats) -> Floats:
    """Integrate a v vᵀ of values that are linear between samples; weight is a Δt / 6."""
    both = values[1:] + values[:-1]
    return np.asarray(
        (values[1:] * weight[:, None]).T @ values[1:]
        + (values[:-1] * weight[:, None]).T @ values[:-1]
        + (both * weight[:, None]).T @ both
    )


def _of_noise(z: Floats, piece: Piece, half: int) -> Floats:
    """Sum the factors of each sample's noise in all windows; (n + 2m, K)."""
    n = len(z)
    behind, ahead = (1 / piece.steps.T)[:, :, None]
    out = np.zeros((n + 2 * half, z.shape[1]))
    out[2 * half :] += z * ahead
    out[half : half + n] -= z * (ahead + behind)
    out[:n] += z * behind
    return out
