"""Gaussian quasi-likelihood of positions under second-order dynamics in one coordinate.

    dx = v dt,   dv = F(x, v) dt + √a(x, v) dW,   y_i = x(t_i) + η_i,   Var η = r

Between samples the mean and the covariance of (x, v) follow their moment equations closed by the
normal law, under which E F, E ∂F and E a of monomials are finite sums; at a sample Kalman's update
is exact. For a linear F and constant a this is the exact likelihood. Tangents along all parameters
are carried in the same pass, so that its score and Fisher information are exact, too.

Internal units: positions in units of about their spread, and times in that unit over the root mean
square velocity, so that positions and velocities are of order one.
"""

from dataclasses import dataclass
from functools import cached_property

import numba as nb
import numpy as np
from numpy.typing import NDArray
from scipy.linalg import block_diag

Floats = NDArray[np.float64]
Integers = NDArray[np.int64]

PRIOR_VELOCITY_VARIANCE = 1.0
"""Variance of the velocity before a segment's first sample, in internal units."""

LARGEST = 1e3
"""Position, velocity or variance beyond which trial parameters count as explosive."""

SUBSTEP = 0.25
"""Step times rate of the force that a sub-step takes. Means are then off by 0.25⁵/120, or 10⁻⁵,
and S by 10⁻⁴ of itself, so that the likelihood hardly jumps where their number changes."""

HIGHEST_ORDER = 6
"""Order in a sub-step's length to which covariances are followed."""

FEW_SUBSTEPS, MOST_SUBSTEPS = 16, 64
"""Sub-steps up to which they are so short, and beyond which trial parameters count as explosive.
In between a sub-step times the rate is one: the state has relaxed during such a step."""

FEW_LENGTHS = 500
"""Different sampling intervals up to which each is taken as it is."""

# NaNs must compare as such here: they tell explosive parameters.
compiled = nb.njit(cache=True, nogil=True, error_model="numpy", fastmath={"contract"})


@compiled
def _moments(table: Floats, x: float, v: float, xx: float, xv: float, vv: float) -> None:
    """Fill E x^j v^k of the normal law with these means and covariances, j + k < len(table)."""
    order = len(table)
    table[0, 0] = 1.0
    for k in range(order):
        if k > 0:
            table[0, k] = v * table[0, k - 1]
            if k > 1:
                table[0, k] += (k - 1) * vv * table[0, k - 2]
        for j in range(1, order - k):
            value = x * table[j - 1, k]
            if j > 1:
                value += (j - 1) * xx * table[j - 2, k]
            if k > 0:
                value += k * xv * table[j - 1, k - 1]
            table[j, k] = value


@compiled
def _derivatives(out: Floats, coefficients: Floats, exponents: Integers, table: Floats) -> None:
    """Sum E f and its derivatives: f, x, v, xx, xv, vv, xxx, xxv, xvv, vvv."""
    out[:] = 0.0
    for i in range(len(coefficients)):
        c, j, k = coefficients[i], exponents[i, 0], exponents[i, 1]
        out[0] += c * table[j, k]
        if j > 0:
            out[1] += c * j * table[j - 1, k]
            if k > 0:
                out[4] += c * j * k * table[j - 1, k - 1]
                if k > 1:
                    out[8] += c * j * k * (k - 1) * table[j - 1, k - 2]
            if j > 1:
                d = c * j * (j - 1)
                out[3] += d * table[j - 2, k]
                if j > 2:
                    out[6] += d * (j - 2) * table[j - 3, k]
                if k > 0:
                    out[7] += d * k * table[j - 2, k - 1]
        if k > 0:
            out[2] += c * k * table[j, k - 1]
            if k > 1:
                d = c * k * (k - 1)
                out[5] += d * table[j, k - 2]
                if k > 2:
                    out[9] += d * (k - 2) * table[j, k - 3]


@compiled
def _linearise(rows: Floats, f: Floats, a: Floats, xx: float, xv: float, vv: float) -> None:
    """Fill the derivatives of dv, dxv, dvv, E F_x and E F_v along x, v, xx, xv, vv; (5, 5)."""
    rows[0, 0], rows[0, 1], rows[0, 2], rows[0, 3], rows[0, 4] = (
        f[1],
        f[2],
        f[3] / 2,
        f[4],
        f[5] / 2,
    )
    rows[1, 0] = xx * f[3] + xv * f[4]
    rows[1, 1] = xx * f[4] + xv * f[5]
    rows[1, 2] = f[1] + (xx * f[6] + xv * f[7]) / 2
    rows[1, 3] = f[2] + xx * f[7] + xv * f[8]
    rows[1, 4] = 1.0 + (xx * f[8] + xv * f[9]) / 2
    rows[2, 0] = 2 * (xv * f[3] + vv * f[4]) + a[1]
    rows[2, 1] = 2 * (xv * f[4] + vv * f[5]) + a[2]
    rows[2, 2] = xv * f[6] + vv * f[7] + a[3] / 2
    rows[2, 3] = 2 * (f[1] + xv * f[7] + vv * f[8]) + a[4]
    rows[2, 4] = 2 * f[2] + xv * f[8] + vv * f[9] + a[5] / 2
    rows[3, 0], rows[3, 1], rows[3, 2], rows[3, 3], rows[3, 4] = (
        f[3],
        f[4],
        f[6] / 2,
        f[7],
        f[8] / 2,
    )
    rows[4, 0], rows[4, 1], rows[4, 2], rows[4, 3], rows[4, 4] = (
        f[4],
        f[5],
        f[7] / 2,
        f[8],
        f[9] / 2,
    )


@compiled
def _along_coefficients(
    source: Floats,
    force: Integers,
    diffusion: Integers,
    table: Floats,
    xx: float,
    xv: float,
    vv: float,
) -> None:
    """Fill the derivatives of dv, dxv, dvv, E F_x and E F_v along the coefficients; (5, n)."""
    for i in range(len(force)):
        j, k = force[i, 0], force[i, 1]
        by_x = j * table[j - 1, k] if j > 0 else 0.0
        by_v = k * table[j, k - 1] if k > 0 else 0.0
        source[0, i] = table[j, k]
        source[1, i] = xx * by_x + xv * by_v
        source[2, i] = 2 * (xv * by_x + vv * by_v)
        source[3, i], source[4, i] = by_x, by_v
    for i in range(len(diffusion)):
        source[2, len(force) + i] = table[diffusion[i, 0], diffusion[i, 1]]


@compiled
def _slopes(slope: Floats, stage: Floats, rows: Floats, source: Floats) -> None:
    """Compute the rates of the tangents; (5, n)."""
    for i in range(stage.shape[1]):
        x, v, xx, xv, vv = stage[0, i], stage[1, i], stage[2, i], stage[3, i], stage[4, i]
        slope[0, i] = v
        slope[2, i] = 2 * xv
        for q, into in enumerate((1, 3, 4)):
            row = rows[q]
            along = row[0] * x + row[1] * v + row[2] * xx + row[3] * xv + row[4] * vv
            slope[into, i] = source[q, i] + along


@compiled
def _along_start(out: Floats, slope: Floats, stage: Floats, rows: Floats, source: Floats) -> None:
    """Fill the derivatives of `start` in `_higher_orders` along all parameters; (5, n)."""
    for q in range(3):
        for i in range(out.shape[1]):
            out[q, i] = slope[2 + q, i]
    for q in (3, 4):
        row = rows[q]
        for i in range(out.shape[1]):
            along = row[0] * stage[0, i] + row[1] * stage[1, i] + row[2] * stage[2, i]
            out[q, i] = source[q, i] + along + row[3] * stage[3, i] + row[4] * stage[4, i]


@compiled
def _higher_orders(out: Floats, now: Floats, start: Floats, h: float, gradient: bool) -> None:
    """Fill what orders five and six in h add to xx, xv and vv, and its derivatives along `start`.

    The rule of fourth order lacks them, and xx begins as a h³/3: without them S was 1 % too small
    at a friction of 0.14 per step, 2 % at 0.2, and a as much too large. With them S is off by 10⁻⁴.

    Parameters
    ----------
    out : (6, 3) addition to xx, xv and vv, and its derivatives
    now : (6, 3) room for derivatives in time
    start : (5,) dxx, dxv, dvv, E F_x and E F_v at the beginning of the step
    h : length of the step
    gradient : whether to fill the derivatives
    """
    along_x, along_v, factor = start[3], start[4], h
    n = 6 if gradient else 1
    for q in range(n):
        for p in range(3):
            now[q, p] = start[p] if q == 0 else 1.0 if q == p + 1 else 0.0
            out[q, p] = 0.0
    for order in range(2, HIGHEST_ORDER + 1):
        factor *= h / order
        before_xx, before_xv, before_vv = now[0, 0], now[0, 1], now[0, 2]
        for q in range(n):
            xx, xv, vv = now[q, 0], now[q, 1], now[q, 2]
            now[q, 0] = 2 * xv
            now[q, 1] = vv + along_x * xx + along_v * xv
            now[q, 2] = 2 * (along_x * xv + along_v * vv)
        if gradient:
            now[4, 1] += before_xx
            now[4, 2] += 2 * before_xv
            now[5, 1] += before_xv
            now[5, 2] += 2 * before_vv
        if order > 4:
            for q in range(n):
                for p in range(3):
                    out[q, p] += factor * now[q, p]


@compiled
def _add_products(tangent: Floats, factors: Floats, along: Floats) -> None:
    """Add the sums of factors (5, 3) times rows of `along` (5, n) to the tangents of xx, xv, vv."""
    for q in range(3):
        for i in range(tangent.shape[1]):
            total = factors[0, q] * along[0, i] + factors[1, q] * along[1, i]
            total += factors[2, q] * along[2, i] + factors[3, q] * along[3, i]
            tangent[2 + q, i] += total + factors[4, q] * along[4, i]


@compiled
def _update(
    tangent: Floats,
    d_innovation: Floats,
    d_variance: Floats,
    innovation: float,
    variance: float,
    xx: float,
    xv: float,
    noise: float,
    free_noise: bool,
) -> None:
    """Carry the tangents through Kalman's update, after which xx is r·xx/S and xv is r·xv/S."""
    n = tangent.shape[1]
    gain_x, gain_v = xx / variance, xv / variance
    for i in range(n):
        d_gain_x = (tangent[2, i] - gain_x * d_variance[i]) / variance
        d_gain_v = (tangent[3, i] - gain_v * d_variance[i]) / variance
        tangent[4, i] -= d_gain_v * xv + gain_v * tangent[3, i]
        tangent[0, i] += d_gain_x * innovation + gain_x * d_innovation[i]
        tangent[1, i] += d_gain_v * innovation + gain_v * d_innovation[i]
        tangent[2, i] = d_gain_x * noise
        tangent[3, i] = d_gain_v * noise
    if free_noise:
        tangent[2, n - 1] += gain_x
        tangent[3, n - 1] += gain_v


@compiled
def _filter(
    positions: Floats,
    times: Floats,
    segments: Integers,
    blocks: Integers,
    force: Integers,
    diffusion: Integers,
    parameters: Floats,
    noise: float,
    free_noise: bool,
    gradient: bool,
    substeps: Integers,
    block_score: Floats,
    block_information: Floats,
) -> float:
    """Run the filter; return the log-likelihood, −inf for explosive parameters.

    Scores and informations are added to their arrays by the block of each sample. Sub-steps of each
    sample are chosen, and noted, where their number is 0.
    """
    n_force, n_diffusion = len(force), len(diffusion)
    c, alpha = parameters[:n_force], parameters[n_force : n_force + n_diffusion]
    n = n_force + n_diffusion + (1 if free_noise else 0)
    size = n if gradient else 0
    order = 2
    for i in range(n_force):
        order = max(order, force[i, 0] + force[i, 1] + 1)
    for i in range(n_diffusion):
        order = max(order, diffusion[i, 0] + diffusion[i, 1] + 1)
    table = np.zeros((order, order))
    f, a = np.zeros(10), np.zeros(10)
    # Tangents of x, v, xx, xv, vv.
    tangent, stage, slope = np.zeros((5, size)), np.zeros((5, size)), np.zeros((5, size))
    total, source = np.zeros((5, size)), np.zeros((5, size))
    d_innovation, d_variance = np.zeros(size), np.zeros(size)
    rows = np.zeros((5, 5))
    start, along_start = np.zeros(5), np.zeros((5, size))
    more, room = np.zeros((6, 3)), np.zeros((6, 3))
    value = 0.0
    for segment in range(len(segments)):
        first, stop = segments[segment, 0], segments[segment, 1]
        x, v = positions[first], 0.0
        xx, xv, vv = noise, 0.0, PRIOR_VELOCITY_VARIANCE
        tangent[:] = 0.0
        if gradient and free_noise:
            tangent[2, n - 1] = 1.0
        for sample in range(first + 1, stop):
            step = times[sample] - times[sample - 1]
            left = substeps[sample]
            h = step / max(left, 1)
            while True:
                sx, sv, sxx, sxv, svv = 0.0, 0.0, 0.0, 0.0, 0.0
                x1, v1, xx1, xv1, vv1 = x, v, xx, xv, vv
                stage[:] = tangent
                for part in range(4):
                    _moments(table, x1, v1, xx1, xv1, vv1)
                    _derivatives(f, c, force, table)
                    _derivatives(a, alpha, diffusion, table)
                    if left == 0:
                        rate = abs(f[2]) + np.sqrt(abs(f[1]))
                        if not rate * step < MOST_SUBSTEPS:
                            return -np.inf
                        fine = min(FEW_SUBSTEPS, np.ceil(rate * step / SUBSTEP))
                        left = int(max(1.0, fine, np.ceil(rate * step)))
                        substeps[sample] = left
                        h = step / left
                    if not a[0] > 0:
                        return -np.inf
                    dx, dv, dxx = v1, f[0], 2 * xv1
                    dxv = vv1 + f[1] * xx1 + f[2] * xv1
                    dvv = 2 * (f[1] * xv1 + f[2] * vv1) + a[0]
                    if part == 0:
                        start[0], start[1], start[2] = dxx, dxv, dvv
                        start[3], start[4] = f[1], f[2]
                    weight = h / 6 if part == 0 or part == 3 else h / 3
                    sx += weight * dx
                    sv += weight * dv
                    sxx += weight * dxx
                    sxv += weight * dxv
                    svv += weight * dvv
                    ahead = h if part == 2 else 0.5 * h
                    if gradient:
                        _linearise(rows, f, a, xx1, xv1, vv1)
                        _along_coefficients(source, force, diffusion, table, xx1, xv1, vv1)
                        _slopes(slope, stage, rows, source)
                        if part == 0:
                            _along_start(along_start, slope, stage, rows, source)
                        for q in range(5):
                            for i in range(n):
                                if part == 0:
                                    total[q, i] = tangent[q, i] + weight * slope[q, i]
                                else:
                                    total[q, i] += weight * slope[q, i]
                                stage[q, i] = tangent[q, i] + ahead * slope[q, i]
                    x1, v1 = x + ahead * dx, v + ahead * dv
                    xx1, xv1, vv1 = xx + ahead * dxx, xv + ahead * dxv, vv + ahead * dvv
                x, v = x + sx, v + sv
                _higher_orders(more, room, start, h, gradient)
                xx, xv, vv = xx + sxx + more[0, 0], xv + sxv + more[0, 1], vv + svv + more[0, 2]
                tangent[:] = total
                if gradient:
                    _add_products(tangent, more[1:], along_start)
                if not (abs(x) < LARGEST and abs(v) < LARGEST and 0 < vv < LARGEST**2 and xx > 0):
                    return -np.inf
                left -= 1
                if left == 0:
                    break
            variance = xx + noise
            innovation = positions[sample] - x
            counts = sample > first + 1
            gain_x, gain_v = xx / variance, xv / variance
            if counts:
                value -= 0.5 * (np.log(2 * np.pi * variance) + innovation**2 / variance)
            if gradient:
                for i in range(n):
                    d_innovation[i] = -tangent[0, i]
                    d_variance[i] = tangent[2, i]
                if free_noise:
                    d_variance[n - 1] += 1.0
                if counts:
                    excess = 0.5 * (innovation**2 / variance - 1) / variance
                    of_innovation, of_variance = 1 / variance, 0.5 / variance**2
                    score = block_score[blocks[sample]]
                    information = block_information[blocks[sample]]
                    for i in range(n):
                        di, ds = d_innovation[i], d_variance[i]
                        score[i] += excess * ds - of_innovation * innovation * di
                        di *= of_innovation
                        ds *= of_variance
                        for j in range(i + 1):
                            information[i, j] += di * d_innovation[j] + ds * d_variance[j]
                _update(
                    tangent,
                    d_innovation,
                    d_variance,
                    innovation,
                    variance,
                    xx,
                    xv,
                    noise,
                    free_noise,
                )
            x += gain_x * innovation
            v += gain_v * innovation
            vv -= gain_v * xv
            xx, xv = gain_x * noise, gain_v * noise
            if not vv > 0:
                return -np.inf
    return value


@dataclass(frozen=True, eq=False)
class Positions:
    """Record of positions in internal units.

    positions   (n_samples,) of one coordinate, (n_samples, d) of several
    times       (n_samples,)      increasing inside each segment
    segments    (n_segments, 2+)  first sample and one past the last
    blocks      (n_samples,)      number of each sample's block, from 0
    """

    positions: Floats
    times: Floats
    segments: Integers
    blocks: Integers

    @property
    def n_blocks(self) -> int:
        """Number of blocks."""
        return int(self.blocks.max()) + 1

    @cached_property
    def columns(self) -> Floats:
        """Positions by coordinate; (n_samples, d)."""
        return np.ascontiguousarray(self.positions.reshape(len(self.times), -1))

    @cached_property
    def steps(self) -> tuple[Integers, Floats]:
        """Number of the length of the step to each sample (n_samples,), and lengths by number.

        The most frequent come first. Lengths that differ by less than 10⁻⁷ of the median are one;
        where that leaves many, those that differ by less than 10⁻³. It makes the variance of an
        innovation wrong by 10⁻⁷ times the memory of the velocity over the step.
        """
        lengths = np.diff(self.times, prepend=self.times[0])
        inside = np.ones(len(lengths), dtype=np.bool_)
        inside[self.segments[:, 0]] = False
        median = float(np.median(lengths[inside])) if inside.any() else 1.0
        for unit in (1e-7 * median, 1e-3 * median):
            found, numbers, counts = np.unique(
                np.round(lengths[inside] / unit).clip(min=1),
                return_inverse=True,
                return_counts=True,
            )
            if len(found) <= FEW_LENGTHS:
                break
        ranks = np.argsort(-counts, kind="stable")
        kinds = np.zeros(len(lengths), dtype=np.int64)
        kinds[inside] = np.argsort(ranks, kind="stable")[numbers]
        return kinds, found[ranks] * unit


@dataclass(frozen=True)
class Terms:
    """Functions that F and a are sums of, and the noise.

    Parameters are ordered: coefficients of F, coefficients of a, and r where it is fitted.

    force             (n, 2) exponents j, k of monomials x^j v^k
    force_basis       (K, n) functions of F along them
    diffusion         (m, 2) exponents for a
    diffusion_basis   (L, m) functions of a along them
    noise             variance r of the measurement noise; None to fit it
    """

    force: Integers
    force_basis: Floats
    diffusion: Integers
    diffusion_basis: Floats
    noise: float | None

    @property
    def n_force(self) -> int:
        """Number of functions of F, K."""
        return len(self.force_basis)

    @property
    def n_diffusion(self) -> int:
        """Number of functions of a, L."""
        return len(self.diffusion_basis)

    @property
    def size(self) -> int:
        """Number of parameters."""
        return self.n_force + self.n_diffusion + (self.noise is None)

    @property
    def scales(self) -> tuple[int, ...]:
        """Positions of the parameters that are positive: r, and a where it is constant."""
        noise = (self.size - 1,) if self.noise is None else ()
        return ((self.n_force,) if self.n_diffusion == 1 else ()) + noise

    @cached_property
    def basis(self) -> Floats:
        """Parameters along coefficients of the monomials; (size, n + m + 0 or 1)."""
        noise = [np.eye(1)] if self.noise is None else []
        return np.asarray(block_diag(self.force_basis, self.diffusion_basis, *noise))

    def likelihood(self, record: "Positions", parameters: Floats) -> "Likelihood":
        """Compute the log-likelihood with its score and information."""
        return likelihood(record, self, parameters)

    def log_likelihood(
        self, record: "Positions", parameters: Floats, substeps: Integers | None = None
    ) -> float:
        """Compute the log-likelihood alone."""
        return log_likelihood(record, self, parameters, substeps)


def monomials(force: Integers, diffusion: Integers, noise: float | None) -> Terms:
    """Make the terms of F and a that are monomials with these exponents; (K, 2) and (L, 2)."""
    return Terms(force, np.eye(len(force)), diffusion, np.eye(len(diffusion)), noise)


@dataclass(frozen=True, slots=True, eq=False)
class Likelihood:
    """Log-likelihood with its derivatives along the parameters of `Terms`.

    value               log-likelihood, −inf where the parameters are explosive
    block_score         (n_blocks, size) each block's part of the score
    block_information   (n_blocks, size, size) each block's part of Fisher's information
    substeps            (n_samples,) sub-steps that were taken to each sample
    """

    value: float
    block_score: Floats
    block_information: Floats
    substeps: Integers

    @property
    def score(self) -> Floats:
        """Derivative of the log-likelihood; (size,)."""
        return np.asarray(self.block_score.sum(axis=0))

    @property
    def information(self) -> Floats:
        """Fisher's information; (size, size)."""
        return np.asarray(self.block_information.sum(axis=0))


def likelihood(record: Positions, terms: Terms, parameters: Floats) -> Likelihood:
    """Compute the log-likelihood with its score and information: Σ ∂e∂eᵀ/S + ½ ∂S∂Sᵀ/S²."""
    basis, n_blocks = terms.basis, record.n_blocks
    n = basis.shape[1]
    score, information = np.zeros((n_blocks, n)), np.zeros((n_blocks, n, n))
    substeps = np.zeros(len(record.positions), dtype=np.int64)
    value = _run(record, terms, parameters, True, substeps, score, information)
    if value == -np.inf:
        score[:], information[:] = 0.0, 0.0
    lower = np.tril(information)
    information = lower + np.tril(information, -1).transpose(0, 2, 1)
    return Likelihood(value, score @ basis.T, basis @ information @ basis.T, substeps)


def log_likelihood(
    record: Positions, terms: Terms, parameters: Floats, substeps: Integers | None = None
) -> float:
    """Compute the log-likelihood alone, in a third of the time.

    Parameters
    ----------
    record, terms : record, and the terms of the model
    parameters : (size,) parameters
    substeps : (n_samples,) sub-steps to each sample, chosen for parameters nearby; None to choose
    """
    if substeps is None:
        substeps = np.zeros(len(record.positions), dtype=np.int64)
    nothing = np.zeros((1, 0)), np.zeros((1, 0, 0))
    return _run(record, terms, parameters, False, substeps, *nothing)


def _run(
    record: Positions,
    terms: Terms,
    parameters: Floats,
    gradient: bool,
    substeps: Integers,
    score: Floats,
    information: Floats,
) -> float:
    noise = float(parameters[-1]) if terms.noise is None else terms.noise
    if not noise >= 0:
        return -np.inf
    value = _filter(
        record.positions,
        record.times,
        record.segments,
        record.blocks,
        terms.force,
        terms.diffusion,
        np.ascontiguousarray(parameters @ terms.basis),
        noise,
        terms.noise is None,
        gradient,
        substeps,
        score,
        information,
    )
    return float(value) if np.isfinite(value) else -np.inf
