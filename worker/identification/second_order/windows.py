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
from itertools import pairwise
from math import comb

import numpy as np
from numpy.typing import NDArray

from worker.identification.data.library import Library
from worker.identification.data.trajectories import Integers, Trajectories
from worker.identification.second_order.phase_space import PhaseSpace, unwrapped

Floats = NDArray[np.float64]

PIECE = 8_192
"""Windows per piece, whose working arrays stay near the processor."""


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
    """

    diffusion: Floats
    noise: Floats


@dataclass(frozen=True, slots=True, eq=False)
class Piece:
    """Windows at consecutive samples of one block; those that count nothing have no instruments.

    block         number of the block
    valid         (n,) whether the window lies inside a segment
    terms         (n, K, ) integrals of the internal functions under each window's triangle
    change        (n, d) D, change of the velocities
    instruments   (n, K) internal functions at the sample before the window
    steps         (n, 2) h₋ and h₊
    state         (n, 2d) position and secant velocity at that sample, as the library takes them
    intervals     (n + 2m − 1,) sampling intervals from the first window's start to the last's end
    """

    block: int
    valid: NDArray[np.bool_]
    terms: Floats
    change: Floats
    instruments: Floats
    steps: Floats
    state: Floats
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
        shaped = (slice(None),) + (None,) * (values.ndim - 1)
        return np.asarray(
            (values[plus] - values[centre]) / ahead[shaped]
            - (values[centre] - values[minus]) / behind[shaped]
        )

    terms = second(_integrals(y, tau, space, library, shape, kicks))
    at = slice(centre.start - shape.lag, centre.stop - shape.lag)
    back = slice(at.start - shape.backward, at.stop - shape.backward)
    rates = (y[at] - y[back]) / (tau[at] - tau[back])[:, None] / space.velocity_units
    state = np.column_stack([y[at], rates])
    return Piece(
        block,
        valid,
        terms,
        second(y),
        library.internal(state) * valid[:, None],
        np.stack([behind, ahead], axis=1),
        state,
        np.diff(tau[minus.start : plus.stop]),
    )


def _integrals(
    y: Floats, tau: Floats, space: PhaseSpace, library: Library, shape: Shape, kicks: Kicks
) -> Floats:
    """Integrate the antiderivatives of the internal functions along the path; (n, J).

    The second difference of these is the integral under the triangle. The trapezoid's error is
    taken out by the slope of what is integrated (Euler and Maclaurin).
    """
    d, p = space.dimension, shape.secant
    steps = np.diff(tau)
    velocities = np.zeros_like(y)
    span = tau[2 * p :] - tau[: -2 * p]
    velocities[p:-p] = (y[2 * p :] - y[: -2 * p]) / span[:, None]
    # E v² given the past is that of the secant and this, less the noise's (equation S3).
    spans = np.ones(len(y))
    spans[p:-p] = span
    missing = spans[:, None, None] * kicks.diffusion / 6
    missing = missing - (2 * np.diag(kicks.noise) / spans[:, None, None] ** 2)
    powers = _hermite_powers(y, library, kicks.noise)

    def cumulative(values: Floats) -> Floats:
        out = np.zeros_like(values)
        np.cumsum((values[1:] + values[:-1]) / 2 * steps, axis=0, out=out[1:])
        return out

    def integrated(antiderivative: Floats, values: Floats) -> Floats:
        slope = np.diff(values) * steps**2 / 12
        out = cumulative(antiderivative)
        out[1:] -= np.cumsum(slope)
        return out

    even = float(steps.mean()) if np.ptp(steps) <= EVEN * steps.mean() else 0.0

    def integrated_twice(values: Floats) -> Floats:
        # With even steps the error of the first integral is that of the values' second differences.
        return integrated(cumulative(values), values) - values * even**2 / 12

    columns = []
    for exponents in library.internal_exponents:
        j, k = exponents[:d], exponents[d:]
        position = np.ones(len(y))
        for i, power in enumerate(j):
            if power:
                position = position * powers[i][power]
        of_velocity = tuple(i for i, power in enumerate(k) for _ in range(power))
        if len(of_velocity) == 1:
            (i,) = of_velocity
            rate = position * velocities[:, i]
            if any(power for c, power in enumerate(j) if c != i):
                path = np.zeros(len(y))
                np.cumsum((position[1:] + position[:-1]) / 2 * np.diff(y[:, i]), out=path[1:])
            else:
                path = powers[i][j[i] + 1] / (j[i] + 1)
            column = integrated(path, rate)
        else:
            rate = position * _power(velocities, missing, of_velocity)
            column = integrated_twice(rate)
        columns.append(column / np.prod(space.velocity_units ** np.array(k)))
    n = len(library.internal_exponents)
    out = np.empty((len(y), library.internal_size))
    out[:, :n] = np.stack(columns, axis=1) @ library.powers_of_internal
    if library.other:
        state = np.column_stack([y, velocities / space.velocity_units])
        values = library.internal(state)[:, n:]
        for place, rate in enumerate(values.T, start=n):
            out[:, place] = integrated_twice(rate)
    return out


def _hermite_powers(y: Floats, library: Library, noise: Floats) -> list[list[Floats]]:
    """Compute powers of the positions without the noise's share, up to one above the library's.

    E (ξ + η)² = ξ² + Var η: Hermite polynomials of the samples have the powers of the positions as
    their expectations.
    """
    d = y.shape[1]
    highest = [max(e[i] for e in library.internal_exponents) + 1 for i in range(d)]
    out = []
    for i, top in enumerate(highest):
        plain = [np.ones(len(y))]
        for _ in range(top):
            plain.append(plain[-1] * y[:, i])
        powers = []
        for q in range(top + 1):
            total = plain[q]
            for even in range(2, q + 1, 2) if noise[i] else ():
                factor = comb(q, even) * _odd_factorial(even) * float(-noise[i]) ** (even // 2)
                total = total + factor * plain[q - even]
            powers.append(total)
        out.append(powers)
    return out


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


def edges_as_blocks(edges: Integers) -> Integers:
    """Return edges (n_blocks + 1,) as blocks (n_blocks, 2)."""
    return np.array(list(pairwise(edges.tolist())), dtype=np.int64)
