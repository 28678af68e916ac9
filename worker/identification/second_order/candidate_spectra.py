"""Spectra that the candidate models of a record's order predict.

Time is counted in sampling intervals. A component is the spectrum of the second differences of one
sampled process, their variance one; a candidate is a sum of components with weights ≥ 0. All are as
a tapered periodogram of n second differences shows them, its leakage included.
"""

from dataclasses import dataclass
from functools import lru_cache

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]
Integers = NDArray[np.int64]

ALIASES = np.arange(-6, 7)
"""Multiples of the sampling frequency that are summed; of a tail ω⁻⁴ less than 10⁻⁴ is left out."""

LOWEST = 2
"""First frequency used: the taper spreads the mean over those below."""

GROUPS_PER_OCTAVE = 6

RESOLVED = 2.0
"""Shortest memory of a velocity in the candidate of second order [sampling interval]."""


@dataclass(frozen=True, slots=True, eq=False)
class Frequencies:
    """Groups of the frequencies of a periodogram.

    n        number of values of a window
    starts   (n_groups,) first frequency of each group, as a number in the periodogram
    sizes    (n_groups,) number of frequencies of each group
    """

    n: int
    starts: Integers
    sizes: Integers

    def grouped(self, periodogram: Floats) -> Floats:
        """Average over the frequencies of each group; (…, n // 2 + 1) → (…, n_groups)."""
        used = periodogram[..., LOWEST : self.n // 2]
        return np.asarray(np.add.reduceat(used, self.starts - LOWEST, axis=-1) / self.sizes)


@lru_cache(maxsize=16)
def frequencies(n: int) -> Frequencies:
    """Group the frequencies of n values: single at first, then some to the octave."""
    last, starts = n // 2, [LOWEST]
    while (following := starts[-1] + max(1, starts[-1] // GROUPS_PER_OCTAVE)) < last:
        starts.append(following)
    return Frequencies(n, np.array(starts), np.diff([*starts, last]))


@lru_cache(maxsize=16)
def taper(n: int) -> Floats:
    """Compute Hann's taper with Σ w² = 1; (n,)."""
    w = np.sin(np.pi * (np.arange(n) + 0.5) / n) ** 2
    return np.asarray(w / np.sqrt(w @ w))


@lru_cache(maxsize=16)
def _correlation_of_taper(n: int) -> Floats:
    """Compute Σ w_i w_{i+k}, k = 0 … n − 1, the first halved for a sum over k ≥ 0."""
    found = np.fft.irfft(np.abs(np.fft.rfft(taper(n), 2 * n)) ** 2)[:n]
    return np.asarray(found * np.where(np.arange(n), 1.0, 0.5))


@lru_cache(maxsize=16)
def _angles(n: int) -> Floats:
    """Return the frequencies from 0 to π at which spectra are computed; (2n + 1,)."""
    return np.asarray(np.linspace(0, np.pi, 2 * n + 1))


@lru_cache(maxsize=16)
def _aliases(n: int) -> tuple[Floats, Floats]:
    """Compute ω = θ + 2πm, (13, 2n + 1), and (2 sin(θ/2)/ω)², which turns ω² into differences."""
    theta = _angles(n)
    omega = theta + 2 * np.pi * ALIASES[:, None]
    ratio = 2 * np.sin(theta / 2) / np.where(omega == 0, 1.0, omega)
    return omega, np.where(omega == 0, 1.0, ratio**2)


def _expected(covariance: Floats, n: int) -> Floats:
    """Compute the mean periodograms by groups of series with these covariances; (…, n) → (…, m)."""
    weighted = covariance * _correlation_of_taper(n)
    return frequencies(n).grouped(np.maximum(2 * np.fft.rfft(weighted, axis=-1).real, 1e-300))


def _components(increments: list[Floats], n: int) -> Floats:
    """Turn spectra of increments, each (2n + 1,), into components; (n_components, n_groups)."""
    second = np.stack(increments) * 4 * np.sin(_angles(n) / 2) ** 2
    covariance = np.fft.irfft(second, axis=-1)[:, :n]
    return _expected(covariance / covariance[:, :1], n)


def lines(angles: Floats, n: int) -> Floats:
    """Compute the components of sinusoids; (n_lines,) → (n_lines, n_groups)."""
    return _expected(np.cos(angles[:, None] * np.arange(n)), n)


def _white(n: int) -> Floats:
    """Return the spectrum of the increments of white noise."""
    return np.asarray(4 * np.sin(_angles(n) / 2) ** 2)


def _relaxing(rate: float, n: int) -> Floats:
    """Return the spectrum of the increments of a sampled Ornstein–Uhlenbeck process.

    A rate of 0 stands for Brownian motion.
    """
    memory = np.exp(-rate)
    if rate == 0:
        return np.ones(2 * n + 1)
    return np.asarray(_white(n) / (1 - 2 * memory * np.cos(_angles(n)) + memory**2))


@lru_cache(maxsize=16)
def first_order(n: int) -> Floats:
    """Compute components of a first-order process with noise: noise, Brownian, relaxing.

    A process of first order in one variable is reversible, so its covariance is a sum of decaying
    exponentials with weights ≥ 0 (the spectrum of its generator), whatever its drift and diffusion.
    """
    rates = [0.0, *np.geomspace(0.5 / n, 4.0, 12)]
    return _components([_white(n), *(_relaxing(rate, n) for rate in rates)], n)


@lru_cache(maxsize=32)
def second_order(n: int, shortest: float = RESOLVED) -> Floats:
    """Compute components of a second-order process with noise: noise, then positions.

    A velocity that forgets at a rate γ, free or on a spring ω₀², from overdamped to oscillating,
    each with the tail ω⁻⁴ of kicks to the velocity. Sums of them are motions in nonlinear forces.

    Parameters
    ----------
    n : number of values of a window
    shortest : shortest memory of a velocity [sampling interval]
    """
    slowest, fastest = 2 * np.pi / n, 1 / shortest
    pairs = [(0.0, rate) for rate in np.geomspace(slowest / 8, fastest, 12)]
    for spring in np.geomspace(slowest, 3 / shortest, 10):
        rates = np.geomspace(0.1, 20, 7) * spring
        pairs += [(spring, rate) for rate in rates if slowest <= rate <= fastest]
    omega, ratio = _aliases(n)
    square, spectra = omega**2, [_white(n)]
    for spring, rate in pairs:
        if spring:
            velocity = square / ((spring**2 - square) ** 2 + rate**2 * square)
        else:
            velocity = 1 / (square + rate**2)
        spectra.append((velocity * ratio).sum(axis=0))
    # Simulated at the sampling interval, the velocity is constant or linear within a step.
    theta = _angles(n)
    for rate in np.geomspace(slowest, fastest, 6):
        memory = np.exp(-rate)
        constant = 1 / (1 - 2 * memory * np.cos(theta) + memory**2)
        spectra += [constant, constant * np.cos(theta / 2) ** 2]
    return _components(spectra, n)


POLES = ("two poles", "four poles")
FINITE = ("exposure", "average", "Gaussian")
FILTERS = (*FINITE, *POLES)
"""Filters of a path: mean over an exposure; mean of several samples; Gaussian; Butterworth's
low-passes of order two and four. One pole is not among them: a first-order process behind one is a
process of second order."""


def _response(kind: str, width: float, omega: Floats) -> Floats:
    """Compute the squared response of a filter."""
    if kind == "exposure":
        return np.asarray(np.sinc(omega * width / (2 * np.pi)) ** 2)
    if kind == "Gaussian":
        return np.asarray(np.exp(-np.minimum((omega * width) ** 2, 600.0)))
    if kind == "two poles":
        return np.asarray(1 / (1 + (omega * width) ** 4))
    if kind == "four poles":
        return np.asarray(1 / (1 + (omega * width) ** 8))
    turn = np.maximum(np.sin(omega / 2), 1e-9)
    return np.asarray((np.sin(round(width) * omega / 2) / (round(width) * turn)) ** 2)


@lru_cache(maxsize=4096)
def filtered(kind: str, width: float, n: int) -> Floats:
    """Compute components of a filtered first-order process with noise.

    Noise after the filter, Brownian motion, relaxing processes, and noise before the filter. A
    filter with poles turns what is faster than itself, as noise is, into a process of second order:
    of these, only what is slower counts.

    Parameters
    ----------
    kind : one of FILTERS
    width : width of the filter [sampling interval]
    n : number of values of a window
    """
    rates = [0.0, *np.geomspace(2 / n, 2.0, 7)]
    if kind in POLES:
        rates = [rate for rate in rates if rate * width <= 1.5]
    if kind == "average":
        response = _response(kind, width, _angles(n))
        spectra = [_relaxing(rate, n) * response for rate in rates]
    else:
        omega, ratio = _aliases(n)
        response, square = _response(kind, width, omega), omega**2
        spectra = [
            (response * ratio * (square / (square + rate**2) if rate else 1.0)).sum(axis=0)
            for rate in rates
        ]
    if kind not in POLES:
        spectra.append(_white(n) * _response(kind, width, _angles(n)))
    return _components([_white(n), *spectra], n)


@lru_cache(maxsize=64)
def widths(kind: str, n: int) -> tuple[float, ...]:
    """List the widths of a filter that are tried first [sampling interval]."""
    if kind == "average":
        return tuple(np.unique(np.round(np.geomspace(2, max(n / 8, 4), 24))))
    first, last = (0.3, max(n / 8, 4)) if kind == "exposure" else (0.15, max(n / 16, 2))
    return tuple(np.geomspace(first, last, 16))
