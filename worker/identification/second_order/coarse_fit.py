"""Second order from samples that are too coarse for any window: a linear force by its likelihood.

A velocity that is forgotten within about a sampling interval still correlates mean velocities of
neighbouring intervals. The exact likelihood of a linear force has its memory from them; no other
force is found at such intervals.
"""

from collections.abc import Sequence
from dataclasses import replace
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.special import fdtrc

from worker.identification.second_order.equations import ResidualSums
from worker.identification.second_order.estimator import (
    SIGNIFICANT,
    SecondOrderFit,
    SecondOrderProblem,
)
from worker.identification.second_order.linear.filter import LinearTerms, pairs_of
from worker.identification.second_order.linear.fit import LinearChoice, chosen_from
from worker.identification.second_order.linear.frame import (
    Linear,
    LinearFrame,
    Parameters,
    linear_frame,
    most_likely,
    without_noise,
)
from worker.identification.second_order.polishing import ROUNDS, error_of, in_units_of
from worker.identification.second_order.scoring import scored
from worker.identification.second_order.windows import Kicks, shape_of
from worker.identification.selection.constraints import (
    CONSTANT,
    Constraint,
    choose_under,
    estimate_under,
)
from worker.identification.selection.support_selection import Selected
from worker.identification.selection.supports import Support

Floats = NDArray[np.float64]

MEMORIES = (0.1, 0.3, 1.0, 3.0, 10.0)
"""Memories of the velocity that the scoring starts from [median sampling interval]."""

NOISES = (1e-4, 0.3)
"""Noise that it starts from, as a share of the mean square of the increments."""

FIRST_RATE = 0.1
"""Relaxation rate that first order begins with, in internal units."""

SAME = 1e-3
"""Probability from which coordinates are taken to differ by chance."""


class CoarseFit(NamedTuple):
    """Fit of second order to samples that are too coarse for its velocities.

    fit            fit; its residuals are innovations
    p_isotropic    probability that coordinates with one force and diffusion differ as much; all
                   were given the same where it is at least `SAME`
    gain           log-likelihood that it gains over first order with noise
    over_exposed   the same over means of first order, over an exposure of a sampling interval
    noise          (d,) variances of the noise that a fit with noise finds significant, where this
                   one has none; internal
    """

    fit: SecondOrderFit
    p_isotropic: float
    gain: float
    over_exposed: float
    noise: Floats


def fit_coarse(problem: SecondOrderProblem) -> CoarseFit | None:
    """Fit a linear force by its likelihood from several starts; None where it has no maximum.

    Where coordinates differ by no more than chance, all have one force and one diffusion.

    Parameters
    ----------
    problem : problem for which `linear_frame.may_fit_linear`
    """
    problem.tell("maximising the likelihood of a linear force")
    frame = linear_frame(problem)
    found = _with_or_without_noise(frame)
    if found is None:
        return None
    best, frame, hidden = found
    rivals = [_of_first_order(frame, exposure) for exposure in (0.0, frame.interval)]
    p = _p_isotropic(frame, best) if frame.d > 1 else 0.0
    chosen = _isotropic(frame, best) if p >= SAME else chosen_from(frame, best)
    if chosen is None:
        return None
    at = frame.parameters(chosen.maximum)
    fit = SecondOrderFit(
        force=chosen.force,
        diffusion=chosen.diffusion,
        kicks=Kicks(at.tensor, at.noise),
        # Innovations are of one sample each.
        shape=replace(shape_of(1, noisy=False, powers=False), half=0),
        residuals=_innovations(frame, chosen.maximum),
        condition=chosen.condition,
        n_windows=problem.data.n_increments,
        equations=chosen.equations,
    )
    gains = [best.likelihood.value - rival for rival in rivals]
    return CoarseFit(fit, p, gains[0], gains[1], hidden)


def _with_or_without_noise(frame: LinearFrame) -> tuple[Linear, LinearFrame, Floats] | None:
    """Maximise the likelihood along all terms, with noise where there is any.

    Where innovations have heavy tails, as those of an animal that walks and rests, what a linear
    force leaves looks like noise: then there is none, and the one that was found is returned
    beside.
    """
    nothing, noisy = np.zeros(frame.d), range(frame.d)
    if frame.problem.noise == "corrected":
        found = most_likely(frame, frame.all_terms(noisy), _starts(frame))
        return None if found is None else (found, _by_blocks(frame, found), nothing)
    plain = most_likely(frame, frame.all_terms(()), _starts(frame))
    if frame.problem.noise == "none":
        return None if plain is None else (plain, _by_blocks(frame, plain), nothing)
    starts = _starts(frame)
    if plain is not None:
        small = NOISES[0] * frame.mean_squares()
        starts = [frame.parameters(plain)._replace(noise=small)]
    found = most_likely(frame, frame.all_terms(noisy), starts)
    if found is None:
        return None if plain is None else (plain, _by_blocks(frame, plain), nothing)
    hidden, widened = _significant_noise(frame, found), _by_blocks(frame, found)
    if plain is None or (hidden.any() and not widened.by_blocks):
        return without_noise(frame, found), widened, nothing
    return plain, widened, hidden


def _by_blocks(frame: LinearFrame, best: Linear) -> LinearFrame:
    """Take errors from the scatter of the blocks, too, where innovations have heavy tails."""
    innovations = _innovations(frame, best)
    heavy = any(innovations.apart(i, 0).is_heavy_tailed for i in range(frame.d))
    return replace(frame, by_blocks=heavy)


def _starts(frame: LinearFrame) -> list[Parameters]:
    """List free motions with different memories, which move as far in an interval as the record."""
    d, squares, starts = frame.d, frame.mean_squares(), []
    for memory in MEMORIES:
        # E Δx² = a (γh − 1 + e^−γh)/γ³
        rate, x = 1 / (memory * frame.interval), 1 / memory
        force = np.zeros((d, frame.width))
        force[:, 1 + d :] = -rate * np.eye(d)
        for share in NOISES:
            tensor = np.diag((1 - share) * squares * rate**3 / (x - 1 + np.exp(-x)))
            starts.append(
                Parameters(force / frame.to_force, tensor / frame.to_tensor, share / 2 * squares)
            )
    return starts


def _of_first_order(frame: LinearFrame, exposure: float) -> float:
    """Maximise the likelihood of linear first-order dynamics with noise; return the maximum.

    With noise, means over an interval have the covariances of those over any shorter exposure.

    Parameters
    ----------
    frame : record
    exposure : time over which samples are means; 0 for none
    """
    d, order, pairs = frame.d, 2 if exposure else 1, pairs_of(frame.d)
    width = 1 + order * d
    count = d * width + len(pairs) + d
    # With an exposure, what moves stands in place of the velocities.
    states = [0, *range(width - d, width)]
    force = [c * width + k for c in range(d) for k in states]
    scales = [len(force) + i for i, (p, q) in enumerate(pairs) if p == q]
    scales += range(len(force) + len(pairs), len(force) + len(pairs) + d)
    rows = np.eye(count)[[*force, *range(d * width, count)]]
    terms = LinearTerms(order, d, rows, tuple(scales), exposure)
    squares, best = frame.mean_squares(), -np.inf
    for share in NOISES:
        start = np.zeros(terms.size)
        for c in range(d):
            start[c * (1 + d) + 1 + c] = -FIRST_RATE
        for i, (p, q) in enumerate(pairs):
            if p == q:
                start[len(force) + i] = (1 - share) * squares[p] / frame.interval
        start[len(force) + len(pairs) :] = share / 2 * squares
        best = max(best, scored(frame.record, terms, start).likelihood.value)
    return best


def _p_isotropic(frame: LinearFrame, best: Linear) -> float:
    """Test by the blocks' scatter whether all coordinates have one and the same force and a.

    Returned is the probability of differences as large as these.

    The model's own errors are too narrow where tails are heavy: by half for the buffaloes, who
    stand and walk.
    """
    d, size, space, rows = frame.d, best.terms.size, frame.problem.space, []
    units = space.positions.units
    in_units = np.concatenate([np.ones(d), 1 / space.velocity_units])
    for first in (0, d):
        for c in range(d):
            for k in range(d):
                row = np.zeros(size)
                row[c * frame.width + 1 + first + k] = in_units[first + k] * units[c] / units[k]
                if c == k:
                    row[1 + first] -= in_units[first]
                rows += [row] if c > 0 or k > 0 else []
    of_tensor = d * frame.width
    for i, (p, q) in enumerate(pairs_of(d)):
        row = np.zeros(size)
        row[of_tensor + i] = units[p] * units[q]
        if p == q:
            row[of_tensor] -= units[0] ** 2
        rows += [row] if q > 0 else []
    differences, n = np.array(rows), len(best.likelihood.block_score)
    along = differences @ best.parameters
    covariance = differences @ _robust_covariance(best) @ differences.T
    scale = np.sqrt(np.diag(covariance).clip(min=np.finfo(float).tiny))
    inverse = np.linalg.pinv(covariance / np.outer(scale, scale), 1e-10, hermitian=True)
    square, q = float((along / scale) @ inverse @ (along / scale)), len(rows)
    # Hotelling's T² of as many blocks.
    return float(fdtrc(q, n - q, square * (n - q) / (q * (n - 1)))) if n > q else 0.0


def _robust_covariance(best: Linear) -> Floats:
    """Compute the covariance of the parameters from the scatter of the blocks' scores."""
    information, scores = best.likelihood.information, best.likelihood.block_score
    norms = np.sqrt(np.diag(information).clip(min=np.finfo(float).tiny))
    inverse = np.linalg.pinv(information / np.outer(norms, norms), 1e-10, hermitian=True)
    scattered = (scores - scores.mean(axis=0)) @ (inverse / np.outer(norms, norms))
    return np.asarray(scattered.T @ scattered)


def _significant_noise(frame: LinearFrame, found: Linear) -> Floats:
    """Return the variances of noise that is significant by the blocks' scatter, too; (d,)."""
    robust, out = np.sqrt(np.diag(_robust_covariance(found))), np.zeros(frame.d)
    for i, k in enumerate(range(found.terms.size - frame.d, found.terms.size)):
        if found.parameters[k] > SIGNIFICANT * max(robust[k], error_of(found, k)):
            out[i] = found.parameters[k]
    return out


def _isotropic(frame: LinearFrame, best: Linear) -> LinearChoice | None:
    """Choose among the terms of one force F_i = c_i + A x_i + B v_i and one diffusion for all."""
    problem, d = frame.problem, frame.d
    library, n = problem.library, problem.data.n_increments
    axes = np.eye(2 * d, dtype=int).tolist()
    own: list[Support] = [
        tuple(
            sorted(library.exponents.index(tuple(e)) for e in ([0] * 2 * d, axes[c], axes[d + c]))
        )
        for c in range(d)
    ]
    supports, reached, noisy = own, None, bool(frame.noisy(best.terms))
    for _ in range(ROUNDS):
        terms = _isotropic_terms(frame, supports, noisy=noisy)
        found = scored(frame.record, terms, frame.along(terms, frame.parameters(best)))
        if not found.converged:
            break
        best = found
        whole = frame.at(_isotropic_terms(frame, own, noisy=noisy), best)
        unit, ratios = np.eye(whole.terms.size), problem.space.velocity_units
        forces = tuple(
            in_units_of(
                frame.equations(whole, kept, np.delete(unit, kept, axis=0)),
                np.array([1, 1, ratios[c]]),
            )
            for c, kept in enumerate([i, d, d + 1] for i in range(d))
        )
        of_kicks = frame.equations(whole, [d + 2], np.delete(unit, d + 2, axis=0))
        units = problem.space.positions.units
        diffusion = {}
        for p, q in pairs_of(d):
            e = in_units_of(of_kicks, np.array([units[0] ** 2 / units[p] ** 2]))
            nothing = estimate_under(CONSTANT, e, library, ())
            assert nothing is not None
            diffusion[p, q] = (
                choose_under(CONSTANT, e, None, library, n, problem.selection)
                if p == q
                else Selected(nothing, (), ())
            )
        chosen = [
            choose_under(Constraint(candidates=those), e, None, library, n, problem.selection)
            for those, e in zip(own, forces, strict=True)
        ]
        positions = [library.exponents.index(tuple(axes[c])) for c in range(d)]
        reached = LinearChoice(_alike(chosen, positions), diffusion, forces, best)
        before, supports = supports, [s.estimate.support for s in reached.force]
        if supports == before:
            break
    return reached


def _alike(chosen: Sequence[Selected], positions: Sequence[int]) -> tuple[Selected, ...]:
    """Choose, for all coordinates or for none, supports with the position.

    Parameters
    ----------
    chosen : components, each with its likely supports
    positions : number of each coordinate's position among the terms
    """
    pairs = list(zip(chosen, positions, strict=True))
    shares = [
        sum(a.weight for a in one.supports if term in a.estimate.support) for one, term in pairs
    ]
    bound = float(np.prod(shares)) > float(np.prod(1 - np.array(shares)))
    return tuple(_with_first(one, term, bound) for one, term in pairs)


def _with_first(selected: Selected, term: int, wanted: bool) -> Selected:
    """Put the likeliest support first that has a term, or has it not; if there is one."""
    fitting = [a for a in selected.supports if (term in a.estimate.support) == wanted]
    if not fitting or (term in selected.estimate.support) == wanted:
        return selected
    first = max(fitting, key=lambda a: a.weight)
    others = tuple(a for a in selected.supports if a is not first)
    return replace(selected, estimate=first.estimate, alternatives=others)


def _isotropic_terms(
    frame: LinearFrame, supports: Sequence[Support], *, noisy: bool
) -> LinearTerms:
    """Return the terms c_i of each coordinate, A, B, a, and the noise, where there is any."""
    d, width, space, library = frame.d, frame.width, frame.problem.space, frame.problem.library
    unit, pairs, first = np.eye(frame.size), pairs_of(d), d * width
    constants, of_x, of_v = [], np.zeros(frame.size), np.zeros(frame.size)
    for c, support in enumerate(supports):
        own = unit[c * width : (c + 1) * width] * np.append(frame.to_force, 1)[:width, None]
        degrees = {library.exponents[k] for k in support}
        constant = (0,) * 2 * d in degrees
        constants += [own[0]] if constant else []
        for exponents in degrees:
            if exponents and 1 in exponents[:d]:
                # x = origin + unit · T_1
                shift = 0.0 if constant else library.origins[c] / library.units[c]
                of_x += own[1 + c] + shift * own[0]
            elif exponents and 1 in exponents[d:]:
                of_v += own[1 + d + c] * space.velocity_units[c]
    forces = [*constants, *(row for row in (of_x, of_v) if row.any())]
    ratios = space.positions.units[0] ** 2 / space.positions.units**2
    of_tensor = sum(
        frame.to_tensor * ratios[c] * unit[first + pairs.index((c, c))] for c in range(d)
    )
    noise = [ratios @ unit[-d:]] if noisy else []
    rows = np.array([*forces, of_tensor, *noise])
    return LinearTerms(2, d, rows, tuple(range(len(forces), len(rows))))


def _innovations(frame: LinearFrame, best: Linear) -> ResidualSums:
    """Sum the innovations over their standard deviations."""
    record, d = frame.record, frame.d
    u, valid = best.terms.innovations(record, best.parameters), np.ones(len(record.times), bool)
    # A segment's velocity is known from its third sample on.
    first = record.segments[:, 0]
    valid[np.concatenate([first, first + 1]).clip(max=len(valid) - 1)] = False
    lags = np.zeros((d, 2, 3))
    for lag in (1, 2):
        products = (u[lag:] * u[:-lag])[valid[lag:] & valid[:-lag]]
        lags[:, lag - 1] = [[len(p), p.sum(), (p**2).sum()] for p in products.T]
    u, none = u[valid], np.zeros(0)
    powers = np.array([[(column**p).sum() for p in range(5)] for column in u.T])
    squares = u.T @ u
    return ResidualSums(
        squares, np.diag(squares), np.ones(1), none, none, none, none, powers, lags, none
    )
