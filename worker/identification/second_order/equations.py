"""Weak equations of the force, and of the diffusion of the velocities, from windows of positions.

Instruments are functions of samples before a window, so neither measurement noise nor the kicks
inside a window bias them (docs/method.md §16, equations S2–S6).
"""

from dataclasses import dataclass, fields

import numpy as np
from numpy.typing import NDArray

from worker.identification.checks.residuals import ResidualMoments
from worker.identification.data.library import Library
from worker.identification.data.trajectories import Integers, Trajectories
from worker.identification.regression import (
    NormalEquations,
    calibrated,
    whitened_by,
    whitening_of,
)
from worker.identification.second_order.phase_space import PhaseSpace
from worker.identification.second_order.windows import Kicks, Piece, Shape, pieces
from worker.identification.sums.block_sums import BlockSums, Summing, sums_here
from worker.identification.sums.kernel_statistics import WeakSystem

Floats = NDArray[np.float64]

SMALLEST_EIGENVALUE = 1e-12
"""Share of V's largest eigenvalue below which a direction of the instruments is left out."""


@dataclass(frozen=True, slots=True, eq=False)
class ForceSums:
    """Sums over all windows, in internal units.

    design      (n_blocks, K, J)   Σ z ∫wf ds of K instruments and J functions
    response    (n_blocks, K, d)   Σ z D
    kicks       (d, K, K)          Σ of the instruments' squares under the kicks, times their a
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
    pairs       (J + d, J + d)        Σ of products of ∫wf ds and D, from which the products of the
                                      residuals of any force follow; zero where not asked for
    """

    products: Floats
    changes: Floats
    scales: Floats
    response: Floats
    squares: Floats
    moments: Floats
    lags: Floats
    pairs: Floats

    def apart(self, coordinate: int, lag: int) -> ResidualMoments:
        """Return the residuals of windows that do not overlap; (S7).

        Parameters
        ----------
        coordinate : number of the velocity
        lag : windows up to which they overlap
        """
        lags = self.lags[coordinate, lag : lag + 2].ravel()
        squares = [self.products[coordinate, coordinate], self.changes[coordinate], lags[0]]
        return ResidualMoments(self.moments[coordinate], lags, np.array(squares), 0.0)

    def squares_of(self, force: Floats) -> float:
        """Compute Σ r² of a force (J,) in one coordinate, or Σ r (r + 2r₊) in smoothed records."""
        along = np.append(-force, 1.0)
        return float(along @ self.pairs @ along)


@dataclass(frozen=True, slots=True, eq=False)
class SecondOrderPass:
    """Pass over the windows of a record that sums equations, and residuals of a force.

    data, blocks, space, library, shape, kicks, every   see `windows.pieces`
    force          (d, J) coefficients of the force
    n_lags         number of lags of the residuals
    every_square   k, to sum squares of instruments over each k-th piece of a block only; V needs no
                   more
    pairs          whether to sum products of terms and changes, too
    """

    data: Trajectories
    blocks: Integers
    space: PhaseSpace
    library: Library
    shape: Shape
    kicks: Kicks
    force: Floats
    n_lags: int
    every: int = 1
    every_square: int = 1
    pairs: bool = False

    def sums(self) -> BlockSums:
        """Take the sums of all blocks."""
        found = [self._of_block(block) for block in self.blocks]
        return BlockSums(
            np.array([count for count, _ in found], dtype=np.int64),
            tuple(np.stack(arrays) for arrays in zip(*(sums for _, sums in found), strict=True)),
        )

    def _of_block(self, block: Integers) -> tuple[int, tuple[Floats, ...]]:
        size, d, shape = self.library.internal_size, self.space.dimension, self.shape
        design, response = np.zeros((size, size)), np.zeros((size, d))
        of_kicks, of_noise, n = np.zeros((d, size, size)), np.zeros((size, size)), 0
        n_squared = 0
        residuals = _nothing(size, d, self.n_lags)
        walk = pieces(
            self.data, self.space, self.library, shape, self.kicks, block[None], self.every
        )
        for number, piece in enumerate(walk):
            z, count = piece.instruments, int(piece.valid.sum())
            design += z.T @ piece.terms
            response += z.T @ piece.change
            n += count
            squared = number % self.every_square == 0
            if squared:
                n_squared += count
                _add_squares(of_kicks, of_noise, piece, shape, self.kicks)
            _add_residuals(residuals, piece, self.kicks, self.force, squared)
            if self.pairs:
                _add_pairs(residuals, piece, self.kicks)
        share = n / max(n_squared, 1)
        residuals.squares[:] *= share
        return n, (
            design,
            response,
            of_kicks * share,
            of_noise * share,
            *(getattr(residuals, field.name) for field in fields(residuals)),
        )


def window_sums(
    work: SecondOrderPass, summing: Summing = sums_here
) -> tuple[ForceSums, ResidualSums]:
    """Sum equations and residuals over the record, here or in several processes."""
    found = summing(work)
    assert found is not None, "every record has windows, if none that count"
    return sums_of(found, slice(None))


def sums_of(found: BlockSums, blocks: slice) -> tuple[ForceSums, ResidualSums]:
    """Put the sums of some blocks together."""
    design, response, of_kicks, of_noise, *of_residuals = (a[blocks] for a in found.sums)
    # The equations of the diffusion are kept by block, as those of the force are.
    residuals = dict(zip([f.name for f in fields(ResidualSums)], of_residuals, strict=True))
    count = int(found.counts[blocks].sum())
    return (
        ForceSums(design, response, of_kicks.sum(axis=0), of_noise.sum(axis=0), count),
        ResidualSums(**{k: v if k == "response" else v.sum(axis=0) for k, v in residuals.items()}),
    )


def _nothing(size: int, d: int, n_lags: int) -> ResidualSums:
    return ResidualSums(
        np.zeros((d, d)),
        np.zeros(d),
        np.zeros(2),
        np.zeros((size, d, d)),
        np.zeros((d, d, size, size)),
        np.zeros((d, 5)),
        np.zeros((d, n_lags, 3)),
        np.zeros((size + d, size + d)),
    )


def _add_squares(
    of_kicks: Floats, of_noise: Floats, piece: Piece, shape: Shape, kicks: Kicks
) -> None:
    """Add the instruments' squares under kicks and noise, equation (S4)."""
    z, half = piece.instruments, shape.half
    smoothed = _under_triangles(z, piece, half)
    if kicks.local is None:
        alike = _square(smoothed, piece.intervals / 6)
        of_kicks += np.diag(kicks.diffusion)[:, None, None] * alike
    else:
        a = np.pad(piece.diffusion, ((half, half), (0, 0)), mode="edge")
        for c, middle in enumerate(((a[1:] + a[:-1]) / 2).T):
            of_kicks[c] += _square(smoothed, middle * piece.intervals / 6)
    if kicks.noise.any():
        noise = _of_noise(z, piece, half)
        of_noise += noise.T @ noise


def _add_residuals(
    sums: ResidualSums, piece: Piece, kicks: Kicks, force: Floats, squared: bool
) -> None:
    """Add a piece's residuals to the sums; squares of the instruments only where `squared`."""
    d, z = len(force), piece.instruments
    r = (piece.change - piece.terms @ force.T) * piece.valid[:, None]
    span = piece.steps.sum(axis=1) / 3
    behind, ahead = 1 / piece.steps.T
    factor = ahead**2 + behind**2 + (ahead + behind) ** 2
    variance = span[:, None] * piece.diffusion + factor[:, None] * kicks.noise
    sums.products[:] += r.T @ r
    sums.changes[:] += ((piece.change * piece.valid[:, None]) ** 2).sum(axis=0)
    sums.scales[:] += [span[piece.valid].sum(), factor[piece.valid].sum()]
    # Before anything is known about kicks the residuals are counted alone.
    u = r / np.sqrt(np.where(variance > 0, variance, np.inf))
    squares = u * u
    sums.moments[:, 0] += float(piece.valid.sum())
    for p, power in enumerate((u, squares, squares * u, squares * squares), start=1):
        sums.moments[:, p] += power.sum(axis=0)
    later = np.zeros_like(r)
    if kicks.smoothed:
        later[:-1] = r[1:]
    for p in range(d):
        for q in range(p, d):
            both = r[:, p] * r[:, q] - (factor * kicks.noise[p] if p == q else 0.0)
            both += r[:, p] * later[:, q] + r[:, q] * later[:, p]
            sums.response[:, p, q] += z.T @ both
            if squared:
                expected = variance[:, p] * variance[:, q] * (2 if p == q else 1)
                sums.squares[p, q] += (z * expected[:, None]).T @ z
    for lag in range(1, sums.lags.shape[1] + 1):
        pair = r[lag:] * r[:-lag]
        sums.lags[:, lag - 1, 0] += float((piece.valid[lag:] & piece.valid[:-lag]).sum())
        sums.lags[:, lag - 1, 1] += pair.sum(axis=0)
        sums.lags[:, lag - 1, 2] += (pair**2).sum(axis=0)


def _add_pairs(sums: ResidualSums, piece: Piece, kicks: Kicks) -> None:
    """Add products of a piece's terms and changes, with their neighbours in smoothed records."""
    both = np.column_stack([piece.terms, piece.change]) * piece.valid[:, None]
    sums.pairs[:] += both.T @ both
    if kicks.smoothed:
        neighbours = both[:-1].T @ both[1:]
        sums.pairs[:] += neighbours + neighbours.T


def diffusion_equations(
    forces: ForceSums, residuals: ResidualSums, pair: tuple[int, int], kicks: Kicks
) -> NormalEquations:
    """Whiten the equations of a component of the diffusion. Raises NoDataUnderKernels.

    Over a window E r² = ⅔ of ∫w a ds, so the sums of the force serve again, equation (S6).

    Parameters
    ----------
    forces, residuals : sums
    pair : numbers of the velocities
    kicks : kicks and noise
    """
    p, q = pair
    variance = residuals.squares[p, q] * overlap(residuals)
    whitening = whitening_of(variance, SMALLEST_EIGENVALUE)
    # The second difference and the next one have together the variance of one whole interval.
    share = 1.0 if kicks.smoothed else 1.5
    found = whitened_by(WeakSystem(forces.design / share, residuals.response[..., p, q]), whitening)
    return calibrated(found) if kicks.smoothed else found


def overlap(residuals: ResidualSums) -> float:
    """Compute 1 + 2 Σ ρ² over the lags at which windows share anything."""
    lags = residuals.lags[:, :-2, 1] / residuals.lags[:, :-2, 0].clip(min=1)
    zero = np.diag(residuals.products) / max(residuals.moments[0, 0], 1.0)
    rho = lags / zero[:, None]
    return float(1 + 2 * (rho**2).sum(axis=1).max())


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
