"""Finely integrated paths of processes given by their terms: millions of steps a second."""

from collections.abc import Mapping, Sequence

import numpy as np
from numpy.typing import NDArray

from grammar.terms import parse, variable_name
from worker.identification.data.compiled import compiled
from worker.identification.data.terms import monomial_exponents

Floats = NDArray[np.float64]
Integers = NDArray[np.int64]
Terms = Mapping[str, float]

FINE = 0.002
"""Longest step of the integration, where no other is given [time]."""

OTHERS = (
    "cos(x)",
    "sin(x)",
    "cos(2*x)",
    "sin(2*x)",
    "tanh(2*x)",
    "x/(1+x^2)",
    "x^2/(1+x^2)",
)
"""Terms of one variable that are no powers, in the order in which `_value` knows them."""


def paths_of(
    drift: Terms, diffusion: Terms, start: Floats, *, n_samples: int, dt: float, seed: int
) -> Floats:
    """Return (len(start), n_samples) [state] at equal intervals dt; see `paths_at`."""
    # Rounded steps: the longest is a little above FINE where dt is no multiple of it.
    substeps = max(1, round(dt / FINE))
    times = np.arange(n_samples, dtype=np.float64) * dt
    return paths_at(drift, diffusion, start, times, 1.000001 * dt / substeps, seed)


def paths_at(
    drift: Terms, diffusion: Terms, start: Floats, times: Floats, longest: float, seed: int
) -> Floats:
    """Integrate paths of one variable by Platen's explicit steps of weak order two.

    A square-root process, a ∝ x, is drawn from its exact transition law instead.

    Parameters
    ----------
    drift, diffusion : coefficients of powers of x and of `OTHERS`
    start : (n_paths,) states at the first time [state]
    times : (n_samples,) increasing [time]
    longest : longest step of the integration [time]
    seed : seed of the random numbers

    Returns
    -------
    (n_paths, n_samples) [state]
    """
    steps = np.diff(times)
    if list(diffusion) == ["x"]:
        rate, spread = -drift["x"], diffusion["x"]
        return np.asarray(_square_root(rate, drift["1"], spread, start, steps, seed))
    b, a = _coefficients(drift), _coefficients(diffusion)
    return np.asarray(_integrated(*b, *a, start, steps, longest, seed))


def paths_in_space(
    drift: Sequence[Terms],
    diffusion: Sequence[Sequence[Terms]],
    start: Floats,
    times: Floats,
    longest: float,
    seed: int,
) -> Floats:
    """Integrate paths of several variables by Heun's steps for the drift, Euler's for the noise.

    For constant noise the steps are of weak order two.

    Parameters
    ----------
    drift : (d,) terms of each component
    diffusion : (d, d) terms of each pair
    start : (n_paths, d) states at the first time [state]
    times : (n_samples,) increasing [time]
    longest : longest step of the integration [time]
    seed : seed of the random numbers

    Returns
    -------
    (n_paths, n_samples, d) [state]
    """
    d = len(drift)
    names = [variable_name(i) for i in range(d)]
    rows = [*drift, *(terms for row in diffusion for terms in row)]
    monomials = sorted({exponents_of(term, names) for terms in rows for term in terms})
    table = np.zeros((len(rows), len(monomials)))
    for row, terms in zip(table, rows, strict=True):
        for term, value in terms.items():
            row[monomials.index(exponents_of(term, names))] = value
    exponents = np.array(monomials, dtype=np.int64)
    return np.asarray(_integrated_in_space(table, exponents, start, np.diff(times), longest, seed))


def exponents_of(term: str, names: Sequence[str]) -> tuple[int, ...]:
    """Return the exponents of a monomial's variables."""
    exponents = monomial_exponents(parse(term, tuple(names)), tuple(names))
    assert exponents is not None
    return exponents


def _coefficients(terms: Terms) -> tuple[Floats, Floats]:
    """Return the coefficients of powers, highest first, and of `OTHERS`, empty without these."""
    powers, others = {0: 0.0}, np.zeros(len(OTHERS))
    for name, value in terms.items():
        if name in OTHERS:
            others[OTHERS.index(name)] = value
        else:
            powers[exponents_of(name, "x")[0]] = value
    highest = np.array([powers.get(n, 0.0) for n in range(max(powers), -1, -1)])
    return highest, others if others.any() else others[:0]


@compiled
def _value(powers: Floats, others: Floats, x: float) -> float:
    total = 0.0
    for coefficient in powers:
        total = total * x + coefficient
    if len(others):
        if others[4] != 0.0:
            total += others[4] * np.tanh(2 * x)
        total += (others[5] * x + others[6] * x * x) / (1 + x * x)
        if others[0] != 0.0 or others[1] != 0.0 or others[2] != 0.0 or others[3] != 0.0:
            c, s = np.cos(x), np.sin(x)
            total += others[0] * c + others[1] * s
            total += others[2] * (c * c - s * s) + others[3] * 2 * c * s
    return total


@compiled
def _integrated(
    b: Floats,
    b_others: Floats,
    a: Floats,
    a_others: Floats,
    start: Floats,
    steps: Floats,
    longest: float,
    seed: int,
) -> Floats:
    np.random.seed(seed)
    additive = len(a) == 1 and len(a_others) == 0
    out = np.empty((len(start), len(steps) + 1))
    for path in range(len(start)):
        x = start[path]
        out[path, 0] = x
        for n in range(len(steps)):
            substeps = int(np.ceil(steps[n] / longest))
            step = steps[n] / substeps
            root = np.sqrt(step)
            for _ in range(substeps):
                dw = root * np.random.standard_normal()
                drift, sigma = _value(b, b_others, x), np.sqrt(_value(a, a_others, x))
                ahead = x + drift * step
                noise = sigma * dw
                if not additive:
                    up, down = (
                        np.sqrt(_value(a, a_others, ahead + sigma * root)),
                        np.sqrt(_value(a, a_others, ahead - sigma * root)),
                    )
                    noise = (up + down + 2 * sigma) * dw / 4 + (up - down) * (dw * dw - step) / (
                        4 * root
                    )
                x = x + (_value(b, b_others, ahead + sigma * dw) + drift) * step / 2 + noise
            out[path, n + 1] = x
    return out


@compiled
def _square_root(
    rate: float, inflow: float, spread: float, start: Floats, steps: Floats, seed: int
) -> Floats:
    """Draw dX = (inflow − rate X) dt + √(spread X) dW exactly: noncentral χ² as Poisson mixture."""
    np.random.seed(seed)
    out = np.empty((len(start), len(steps) + 1))
    for path in range(len(start)):
        out[path, 0] = start[path]
        for n in range(len(steps)):
            decay = np.exp(-rate * steps[n])
            scale = spread * (1 - decay) / (2 * rate)
            jumps = np.random.poisson(out[path, n] * decay / scale)
            out[path, n + 1] = scale * np.random.gamma(2 * inflow / spread + jumps, 1.0)
    return out


@compiled
def _fields(table: Floats, exponents: Integers, x: Floats, out: Floats) -> None:
    """Evaluate every row of the table of polynomials at one state."""
    out[:] = 0.0
    for k in range(len(exponents)):
        monomial = 1.0
        for i in range(len(x)):
            for _ in range(exponents[k, i]):
                monomial *= x[i]
        for row in range(len(table)):
            out[row] += table[row, k] * monomial


@compiled
def _integrated_in_space(
    table: Floats, exponents: Integers, start: Floats, steps: Floats, longest: float, seed: int
) -> Floats:
    np.random.seed(seed)
    n_paths, d = start.shape
    out = np.empty((n_paths, len(steps) + 1, d))
    here, there = np.empty(len(table)), np.empty(d)
    x, ahead, root = np.empty(d), np.empty(d), np.empty((d, d))
    for path in range(n_paths):
        x[:] = start[path]
        out[path, 0] = x
        for n in range(len(steps)):
            substeps = int(np.ceil(steps[n] / longest))
            step = steps[n] / substeps
            for _ in range(substeps):
                _fields(table, exponents, x, here)
                # Cholesky's root of the diffusion at the state.
                for i in range(d):
                    for j in range(i + 1):
                        rest = here[d + i * d + j]
                        for k in range(j):
                            rest -= root[i, k] * root[j, k]
                        root[i, j] = np.sqrt(rest) if i == j else rest / root[j, j]
                ahead[:] = x
                for j in range(d):
                    dw = np.sqrt(step) * np.random.standard_normal()
                    for i in range(j, d):
                        ahead[i] += root[i, j] * dw
                for i in range(d):
                    ahead[i] += here[i] * step
                _fields(table[:d], exponents, ahead, there)
                for i in range(d):
                    x[i] = ahead[i] + (there[i] - here[i]) * step / 2
            out[path, n + 1] = x
    return out
