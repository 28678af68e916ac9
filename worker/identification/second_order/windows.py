"""Windows of positions: integrals of the library's terms under a triangle, and instruments.

A window has m sampling intervals on each side of its centre. With the triangle
w(s) = 1 − |s|/h± of height one, the difference of the two secants of the path is

    D = (ξ₊ − ξ₀)/h₊ − (ξ₀ − ξ₋)/h₋ = ∫ w F ds + martingale + noise                        (S2)

and the integral of a term with an antiderivative A along the path is, by parts,
(1/h₊) ∫₊ (A − A₀) ds + (1/h₋) ∫₋ (A₀ − A) ds. No velocity is estimated for terms g(x) v, whose
antiderivative is G(x) with G′ = g; all others are integrated from their values at the samples.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from functools import lru_cache
from math import comb

import numpy as np
from numpy.typing import NDArray

from worker.identification.data.compiled import compiled
from worker.identification.data.library import Library
from worker.identification.data.trajectories import Integers, Trajectories
from worker.identification.second_order.phase_space import PhaseSpace, unwrapped

Floats = NDArray[np.float64]

PIECE = 8_192
"""Windows per piece, whose working arrays stay near the processor."""


LEAST_DIFFUSION = 0.05
"""Least diffusion at a state that errors are computed with, as a share of the mean."""

EVEN = 0.02
"""Share of a sampling interval by which even steps may differ."""


@dataclass(frozen=True, slots=True)
class Shape:
    """Shape of the windows, in samples.

    half      m, half of a window
    secant    p, half of the secants that powers of a velocity are computed from
    lag       distance of the instruments' sample from the window's centre
    backward  samples that the instruments' velocity reaches back from there
    """

    half: int
    secant: int
    lag: int
    backward: int

    @property
    def before(self) -> int:
        """Samples that are needed before the centre."""
        return max(self.lag + self.backward, self.half + self.secant)

    @property
    def after(self) -> int:
        """Samples that are needed after the centre."""
        return self.half + self.secant


def shape_of(half: int, *, noisy: bool, powers: bool) -> Shape:
    """Return the windows of this half-width.

    Parameters
    ----------
    half : m
    noisy : whether samples hold measurement noise, which instruments must not share with a window
    powers : whether some term has two velocities or more as factors
    """
    secant = max(1, half // 2)
    return Shape(half, secant, half + (secant if powers else 0) + int(noisy), half)


@dataclass(frozen=True, slots=True)
class Kicks:
    """What a velocity and the samples hold at random, in internal units.

    diffusion   (d, d) mean diffusion of the velocities
    noise       (d,) variances of the measurement noise
    local       (d, J) coefficients of the diffusion of each velocity along the internal functions;
                None: the same everywhere
    smoothed    whether neighbouring second differences are not correlated as those of a sampled
                path; the diffusion is then that of their sums, which smoothing leaves alone
    """

    diffusion: Floats
    noise: Floats
    local: Floats | None = None
    smoothed: bool = False


@dataclass(frozen=True, slots=True, eq=False)
class Piece:
    """Windows at consecutive samples of one block; those that count nothing have no instruments.

    block         number of the block
    valid         (n,) whether the window lies inside a segment
    terms         (n, J) integrals of the internal functions under each window's triangle
    change        (n, d) D, change of the velocities
    states        (n, 2d) position and velocity at the sample before the window
    instruments   (n, J) internal functions there
    steps         (n, 2) h₋ and h₊
    diffusion     (n, d) diffusion of the velocities at that sample
    intervals     (n + 2m − 1,) sampling intervals from the first window's start to the last's end
    """

    block: int
    valid: NDArray[np.bool_]
    terms: Floats
    change: Floats
    states: Floats
    instruments: Floats
    steps: Floats
    diffusion: Floats
    intervals: Floats


def pieces(
    data: Trajectories,
    space: PhaseSpace,
    library: Library,
    shape: Shape,
    kicks: Kicks,
    blocks: Integers,
    every: int = 1,
) -> Iterator[Piece]:
    """Walk all windows inside segments, block by block.

    Parameters
    ----------
    data : positions
    space : internal units
    library : terms
    shape : shape of the windows
    kicks : kicks and noise, whose share of powers is taken out
    blocks : (n_blocks, 2) first sample and one past the last
    every : k, to walk only every k-th piece
    """
    first_of, last_of = data.segments[:, 0], data.segments[:, 1]
    for block, (start, end) in enumerate(blocks.tolist()):
        for begin in range(start, end, every * PIECE):
            centres = np.arange(begin, min(begin + PIECE, end))
            segment = np.searchsorted(last_of, centres, side="right").clip(max=len(last_of) - 1)
            inside = (centres - shape.before >= first_of[segment]) & (
                centres + shape.after < last_of[segment]
            )
            if not inside.any():
                continue
            # Windows that reach beyond a segment are computed, too, and count nothing.
            rows = np.arange(begin - shape.before, int(centres[-1]) + shape.after + 1)
            within = (rows >= 0) & (rows < len(data.states))
            kept = rows.clip(0, len(data.states) - 1)
            states = np.asarray(data.states[kept[0] : kept[-1] + 1], dtype=np.float64)[
                kept - kept[0]
            ]
            times = np.asarray(data.times[kept[0] : kept[-1] + 1], dtype=np.float64)[kept - kept[0]]
            y = (unwrapped(states, space.positions.periods) - space.positions.origins) / (
                space.positions.units
            )
            steps = np.diff(times) / space.positions.time
            broken = ~(steps > 0) | ~within[1:] | np.isin(rows[1:], first_of)
            tau = np.concatenate([[0.0], np.cumsum(np.where(broken, 1.0, steps))])
            yield _piece(block, y, tau, inside, space, library, shape, kicks)


def _piece(
    block: int,
    y: Floats,
    tau: Floats,
    valid: NDArray[np.bool_],
    space: PhaseSpace,
    library: Library,
    shape: Shape,
    kicks: Kicks,
) -> Piece:
    m, n = shape.half, len(y) - shape.before - shape.after
    centre = slice(shape.before, shape.before + n)
    plus, minus = (
        slice(centre.start + m, centre.stop + m),
        slice(centre.start - m, centre.stop - m),
    )
    ahead, behind = tau[plus] - tau[centre], tau[centre] - tau[minus]

    def second(values: Floats) -> Floats:
        """Compute (f₊ − f₀)/h₊ − (f₀ − f₋)/h₋."""
        out = values[:, plus] - values[:, centre]
        out /= ahead
        out -= (values[:, centre] - values[:, minus]) / behind
        return np.asarray(out.T)

    terms = second(_integrals(y, tau, space, library, shape, kicks))
    at = slice(centre.start - shape.lag, centre.stop - shape.lag)
    back = slice(at.start - shape.backward, at.stop - shape.backward)
    rates = (y[at] - y[back]) / (tau[at] - tau[back])[:, None] / space.velocity_units
    before = np.column_stack([y[at], rates])
    functions = library.internal(before)
    mean = np.diag(kicks.diffusion)
    diffusion = (
        np.broadcast_to(mean, (n, len(mean)))
        if kicks.local is None
        else np.maximum(functions @ kicks.local.T, LEAST_DIFFUSION * mean)
    )
    return Piece(
        block,
        valid,
        terms,
        second(y.T),
        before,
        functions * valid[:, None],
        np.stack([behind, ahead], axis=1),
        diffusion,
        np.diff(tau[minus.start : plus.stop]),
    )


def _integrals(
    y: Floats, tau: Floats, space: PhaseSpace, library: Library, shape: Shape, kicks: Kicks
) -> Floats:
    """Integrate the antiderivatives of the internal functions along the path; (J, n).

    The second difference of these is the integral under the triangle.
    """
    d, p = space.dimension, shape.secant
    steps = np.diff(tau)
    even = float(steps.mean()) if np.ptp(steps) <= EVEN * steps.mean() else 0.0
    velocities = np.zeros_like(y)
    span = tau[2 * p :] - tau[: -2 * p]
    velocities[p:-p] = (y[2 * p :] - y[: -2 * p]) / span[:, None]
    # E v² given the past is that of the secant and this, less the noise's (equation S3).
    spans = np.ones(len(y))
    spans[p:-p] = span
    missing = spans[:, None, None] * kicks.diffusion / 6
    missing = missing - (2 * np.diag(kicks.noise) / spans[:, None, None] ** 2)
    exponents = np.array(library.internal_exponents, dtype=np.int64)
    products, which = np.unique(exponents[:, d:], axis=0, return_inverse=True)
    factors = [tuple(i for i, power in enumerate(k) for _ in range(power)) for k in products]
    linear = np.array([f[0] if len(f) == 1 else -1 for f in factors], dtype=np.int64)
    columns = _integrated(
        _hermite_powers(y, library, kicks.noise),
        np.stack([_power(velocities, missing, f) for f in factors]),
        exponents[:, :d],
        which.ravel(),
        linear,
        np.ascontiguousarray(y.T),
        steps,
        even,
    )
    columns /= np.prod(space.velocity_units ** exponents[:, d:], axis=1)[:, None]
    internal = library.powers_of_internal.T @ columns
    if not library.other:
        return np.asarray(internal)
    state = np.column_stack([y, velocities / space.velocity_units])
    values = np.ascontiguousarray(library.internal(state)[:, len(exponents) :].T)
    others = np.arange(len(values))
    none = np.zeros((d, 1, len(y)))
    none[:, 0] = 1.0
    return np.concatenate(
        [
            internal,
            _integrated(
                none,
                values,
                np.zeros((len(values), d), dtype=np.int64),
                others,
                np.full(len(values), -1),
                np.ascontiguousarray(y.T),
                steps,
                even,
            ),
        ]
    )


@compiled
def _integrated(
    powers: Floats,
    products: Floats,
    positions: Integers,
    which: Integers,
    linear: Integers,
    y: Floats,
    steps: Floats,
    even: float,
) -> Floats:
    """Integrate the antiderivative of each term along the path, from zero; (E, n).

    The trapezoid's error is taken out by the slope of what is integrated (Euler and Maclaurin).

    Parameters
    ----------
    powers : (d, top + 1, n) powers of the positions
    products : (q, n) products of velocities
    positions : (E, d) exponents of the positions in each term
    which : (E,) product of velocities in each term
    linear : (q,) coordinate of a product that is a velocity alone; −1 of others
    y : (d, n) positions
    steps : (n − 1,) sampling intervals
    even : the sampling interval where it is always the same; else 0
    """
    n, d = y.shape[1], y.shape[0]
    out = np.empty((positions.shape[0], n))
    position = np.empty(n)
    for e in range(positions.shape[0]):
        position[:] = 1.0
        for i in range(d):
            if positions[e, i]:
                power = powers[i, positions[e, i]]
                for t in range(n):
                    position[t] *= power[t]
        product, along = products[which[e]], linear[which[e]]
        alone = along >= 0
        for i in range(d):
            if i != along and positions[e, i]:
                alone = False
        total, before, path = 0.0, position[0] * product[0], 0.0
        if alone:
            top = positions[e, along] + 1
            path = powers[along, top, 0] / top
        out[e, 0] = -before * even**2 / 12 if along < 0 else 0.0
        for t in range(1, n):
            step, rate, last = steps[t - 1], position[t] * product[t], path
            if alone:
                path = powers[along, top, t] / top
            elif along >= 0:
                # A path that has a velocity is smooth: the line integral is a trapezoid's.
                path += (position[t] + position[t - 1]) / 2 * (y[along, t] - y[along, t - 1])
            else:
                path += (rate + before) / 2 * step
            total += (path + last) / 2 * step - (rate - before) * step**2 / 12
            # With even steps the error of the first integral is that of second differences.
            out[e, t] = total - (rate * even**2 / 12 if along < 0 else 0.0)
            before = rate
    return out


def _hermite_powers(y: Floats, library: Library, noise: Floats) -> Floats:
    """Compute powers of the positions less the noise's share, to one above the library's.

    The array is (d, top + 1, n).

    E (ξ + η)² = ξ² + Var η: Hermite polynomials of the samples have the powers of the positions as
    their expectations.
    """
    d = y.shape[1]
    top = max(max(e[:d]) for e in library.internal_exponents) + 1
    plain = np.ones((d, top + 1, len(y)))
    for q in range(1, top + 1):
        np.multiply(plain[:, q - 1], y.T, out=plain[:, q])
    powers = plain.copy() if noise.any() else plain
    for i in np.flatnonzero(noise):
        for q in range(2, top + 1):
            for even in range(2, q + 1, 2):
                factor = comb(q, even) * _odd_factorial(even) * float(-noise[i]) ** (even // 2)
                powers[i, q] += factor * plain[i, q - even]
    return powers


@lru_cache
def _odd_factorial(even: int) -> int:
    """Return (even − 1)!! = 1 · 3 · 5 ⋯, a Gaussian's moment."""
    return 1 if even == 0 else (even - 1) * _odd_factorial(even - 2)


def _power(velocities: Floats, missing: Floats, factors: tuple[int, ...]) -> Floats:
    """Compute a product of velocities from secants: what is missing is added pair by pair."""
    if not factors:
        return np.ones(len(velocities))
    first, *rest = factors
    total = velocities[:, first] * _power(velocities, missing, tuple(rest))
    for k, other in enumerate(rest):
        left = tuple(rest[:k] + rest[k + 1 :])
        total = total + missing[:, first, other] * _power(velocities, missing, left)
    return total
