"""Weak equations of the force, and of the diffusion of the velocities, from windows of positions.

Instruments are functions of samples before a window, so neither measurement noise nor the kicks
inside a window bias them (docs/method.md §16, equations S2–S6).
"""

from collections.abc import Sequence
from dataclasses import dataclass, fields, replace

import numpy as np
from numpy.typing import NDArray

from worker.identification.checks.residuals import ResidualMoments
from worker.identification.data.library import Library
from worker.identification.data.trajectories import Integers, Trajectories
from worker.identification.regression import (
    NormalEquations,
    WiderErrors,
    calibration,
    scaled,
    whitened_by,
    whitening_of,
)
from worker.identification.second_order.noise_of_residuals import noise_of_residuals
from worker.identification.second_order.phase_space import PhaseSpace
from worker.identification.second_order.windows import Kicks, Piece, Shape, pieces
from worker.identification.sums.block_sums import BlockSums, Summing, sums_here
from worker.identification.sums.kernel_statistics import WeakSystem

Floats = NDArray[np.float64]

SMALLEST_EIGENVALUE = 1e-12
"""Share of V's largest eigenvalue below which a direction of the instruments is left out."""


LARGEST_SHARE = 0.3
"""Share of the information that chance may have in a direction whose bias is taken out."""

LEAST_TOLD = 1e-8
"""Eigenvalue of the normalised information, over the largest, below which a bias is not known."""

FEWEST_BLOCKS = 8
"""Number of blocks below which that is not known."""


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

    def equations(
        self, coordinate: int, noise: float, force: Floats | None = None
    ) -> NormalEquations:
        """Whiten the equations of the force along one coordinate. Raises NoDataUnderKernels.

        Parameters
        ----------
        coordinate : number of the coordinate
        noise : variance of its measurement noise
        force : (J,) force near the answer, by which the instruments' bias is found; None to leave
            it in
        """
        whitening = whitening_of(self.covariance(coordinate, noise), SMALLEST_EIGENVALUE)
        system = WeakSystem(self.design, self.response[..., coordinate])
        found = whitened_by(system, whitening)
        if force is None or len(self.design) < FEWEST_BLOCKS:
            return found
        return _without_own_products(found, system, whitening, force)


def _without_own_products(
    equations: NormalEquations, system: WeakSystem, whitening: Floats, force: Floats
) -> NormalEquations:
    """Take the bias of many instruments out of the score, by the jackknife of blocks.

    Kicks move the velocity in their own window, so what chance does in a block's design has to do
    with that in its response. Of many instruments each adds a little of it to the score, and the
    estimate comes nearer to that of least squares. The products of each block with itself are
    taken out (Angrist, Imbens and Krueger 1999) in directions in which they are few: of those that
    the instruments hardly tell they are all there is.

    Parameters
    ----------
    equations, system, whitening : whitened equations, and what they are of
    force : (J,) force near the answer
    """
    n, information = len(system.design), equations.information
    blocks = whitening @ system.design
    left = (system.response - system.design @ force) @ whitening.T
    own = np.einsum("brj,br->bj", blocks, left) * n / (n - 1)
    square = (np.einsum("brj,brk->jk", blocks, blocks) * n - information) / (n - 1)
    norms = np.sqrt(np.diag(information))
    norms = np.where(norms > 0, norms, 1.0)
    values, vectors = np.linalg.eigh(information / np.outer(norms, norms))
    told = values > LEAST_TOLD * values[-1]
    root = vectors[:, told] / np.sqrt(values[told]) / norms[:, None]
    shares, axes = np.linalg.eigh(root.T @ square @ root)
    few = (shares > 0) & (shares < LARGEST_SHARE)
    along = root @ axes[:, few]
    of_axes = own @ along
    # By Cauchy and Schwarz chance does no more: what does is a force that is not near the answer.
    most = np.sqrt(shares[few] * len(whitening))
    of_axes *= np.minimum(1.0, most / np.maximum(np.abs(of_axes.sum(axis=0)), 1e-300))
    own = of_axes @ (information @ along).T
    return replace(
        equations,
        score=equations.score - own.sum(axis=0),
        block_score=equations.block_score - own,
    )


@dataclass(frozen=True, slots=True, eq=False)
class ResidualSums:
    """Sums over the residuals r = D − Σ c ∫wf ds of a model, in internal units.

    products    (d, d)                Σ r_p r_q
    changes     (d,)                  Σ D²
    spans       (1,)                  Σ (h₋ + h₊)/3
    noise       (d, d)                Σ of what the noise of the samples adds to r_p r_q
    response    (n_blocks, K, d, d)   Σ z (r_p r_q − noise)
    squares     (d, d, K, K)          Σ z zᵀ of the variances of r_p r_q, pairs apart
    slopes      (d, K, J)             Σ z r_p ∫wf ds, the slope of Σ z r_p r_q in the force along q
                                      with its sign changed
    moments     (d, 5)                Σ u^p of u = r over its standard deviation
    lags        (d, n_lags, 3)        n, Σ r_i r_{i+l}, Σ (r_i r_{i+l})² at lags 1, 2, …
    pairs       (J + d, J + d)        Σ of products of ∫wf ds and D, from which the products of the
                                      residuals of any force follow; zero where not asked for
    """

    products: Floats
    changes: Floats
    spans: Floats
    noise: Floats
    response: Floats
    squares: Floats
    slopes: Floats
    moments: Floats
    lags: Floats
    pairs: Floats

    def apart(self, coordinate: int, lag: int) -> ResidualMoments:
        """Return the residuals of windows that do not overlap; (S7).

        Windows at every sample count as often as they tell something new.

        Parameters
        ----------
        coordinate : number of the velocity
        lag : windows up to which they overlap
        """
        lags = self.lags[coordinate, lag : lag + 2].ravel()
        squares = [self.products[coordinate, coordinate], self.changes[coordinate], lags[0]]
        times = overlap(self) if lag else 1.0
        moments = ResidualMoments(self.moments[coordinate] / times, lags, np.array(squares), 0.0)
        return moments.repeated(times)

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
        units = self.space.velocity_units
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
            noise = noise_of_residuals(
                piece, shape.half, self.kicks.noise, self.library, self.force, units
            )
            _add_residuals(residuals, piece, self.kicks, self.force, noise, squared)
            if self.pairs:
                _add_pairs(residuals, piece, self.kicks)
        share = n / max(n_squared, 1)
        residuals.squares[:] *= share
        residuals.slopes[:] *= share
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
        np.zeros(1),
        np.zeros((d, d)),
        np.zeros((size, d, d)),
        np.zeros((d, d, size, size)),
        np.zeros((d, size, size)),
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
    sums: ResidualSums, piece: Piece, kicks: Kicks, force: Floats, noise: Floats, squared: bool
) -> None:
    """Add a piece's residuals to the sums; squares of the instruments only where `squared`."""
    d, z, valid = len(force), piece.instruments, piece.valid[:, None]
    r = (piece.change - piece.terms @ force.T) * valid
    span = piece.steps.sum(axis=1) / 3
    variance = _variances(span, piece, kicks) + noise
    sums.products[:] += r.T @ r
    sums.changes[:] += ((piece.change * valid) ** 2).sum(axis=0)
    sums.spans[:] += span[piece.valid].sum()
    sums.noise[:] += noise[piece.valid].sum(axis=0)
    # Before anything is known about kicks the residuals are counted alone.
    own = np.einsum("npp->np", variance)
    u = r / np.sqrt(np.where(own > 0, own, np.inf))
    squares = u * u
    sums.moments[:, 0] += float(piece.valid.sum())
    for p, power in enumerate((u, squares, squares * u, squares * squares), start=1):
        sums.moments[:, p] += power.sum(axis=0)
    later = np.zeros_like(r)
    if kicks.smoothed:
        later[:-1] = r[1:]
    for p in range(d):
        for q in range(p, d):
            both = r[:, p] * r[:, q] - noise[:, p, q]
            both += r[:, p] * later[:, q] + r[:, q] * later[:, p]
            sums.response[:, p, q] += z.T @ both
            if squared:
                expected = own[:, p] * own[:, q] + variance[:, p, q] ** 2
                sums.squares[p, q] += (z * expected[:, None]).T @ z
        if squared:
            sums.slopes[p] += z.T @ _slopes(piece.terms * valid, r[:, p], later[:, p], kicks)
    for lag in range(1, sums.lags.shape[1] + 1):
        pair = r[lag:] * r[:-lag]
        sums.lags[:, lag - 1, 0] += float((piece.valid[lag:] & piece.valid[:-lag]).sum())
        sums.lags[:, lag - 1, 1] += pair.sum(axis=0)
        sums.lags[:, lag - 1, 2] += (pair**2).sum(axis=0)


def _variances(span: Floats, piece: Piece, kicks: Kicks) -> Floats:
    """Compute the covariances of the residuals by the kicks; (n, d, d).

    Velocities are correlated as in the mean.
    """
    mean = np.diag(kicks.diffusion)
    scale = np.sqrt(np.outer(mean, mean))
    correlation = kicks.diffusion / np.where(scale > 0, scale, 1.0)
    root = np.sqrt(piece.diffusion * span[:, None])
    return np.asarray(root[:, :, None] * root[:, None, :] * correlation)


def _slopes(terms: Floats, r: Floats, later: Floats, kicks: Kicks) -> Floats:
    """Compute r ∫wf ds by window, with the neighbours' in smoothed records; (n, J)."""
    out = terms * (r + later)[:, None]
    if kicks.smoothed:
        out[:-1] += terms[1:] * r[:-1, None]
    return np.asarray(out)


def _add_pairs(sums: ResidualSums, piece: Piece, kicks: Kicks) -> None:
    """Add products of a piece's terms and changes, with their neighbours in smoothed records."""
    both = np.column_stack([piece.terms, piece.change]) * piece.valid[:, None]
    sums.pairs[:] += both.T @ both
    if kicks.smoothed:
        neighbours = both[:-1].T @ both[1:]
        sums.pairs[:] += neighbours + neighbours.T


def diffusion_equations(
    forces: ForceSums,
    residuals: ResidualSums,
    pair: tuple[int, int],
    kicks: Kicks,
    errors: Sequence[Floats],
) -> NormalEquations:
    """Whiten the equations of a component of the diffusion. Raises NoDataUnderKernels.

    Over a window E r² = ⅔ of ∫w a ds, so the sums of the force serve again, equation (S6). The
    force's own error moves all windows together.

    Parameters
    ----------
    forces, residuals : sums
    pair : numbers of the velocities
    kicks : kicks and noise
    errors : by coordinate a square root (J, k) of the covariance of the force's coefficients
    """
    p, q = pair
    variance = residuals.squares[p, q] * overlap(residuals)
    whitening = whitening_of(variance, SMALLEST_EIGENVALUE)
    # The second difference and the next one have together the variance of one whole interval.
    share = 1.0 if kicks.smoothed else 1.5
    system = WeakSystem(forces.design / share, residuals.response[..., p, q])
    found = whitened_by(system, whitening)
    factor = calibration(found) if kicks.smoothed else 1.0
    found = scaled(found, factor)
    along = [residuals.slopes[p] @ errors[q], residuals.slopes[q] @ errors[p]]
    # A force's own square changes twice as much as a product with another's.
    moved = 2 * along[0] if p == q else np.column_stack(along)
    shift = factor * found.design.T @ whitening @ moved
    # It widens errors and not the choice of terms: of 70 terms and 2000 samples the inverse of the
    # wider covariance was rounding, and diffusions of 60 terms were chosen.
    noise = found.information + shift @ shift.T
    return replace(found, errors=WiderErrors(found, noise, found.information))


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
