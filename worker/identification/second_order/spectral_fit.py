"""Whittle's likelihood of sums of components, on the mean periodogram of many windows."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import nnls

from worker.identification.second_order.candidate_spectra import (
    filtered,
    frequencies,
    lines,
    taper,
    widths,
)

Floats = NDArray[np.float64]
Integers = NDArray[np.int64]

MOST_LINES = 16
PEAK = 4.0
"""Height over its surroundings from which a peak of the periodogram is taken for a line."""

ITERATIONS = 12

POOR, STEPS = 2.0, 200
"""Deviance by group from which a fit is improved by small steps, and their number."""


@dataclass(frozen=True, slots=True, eq=False)
class Spectrum:
    """Mean periodogram of the windows of one variable.

    n         number of values of a window
    scale     root mean square of the values, which are one in what follows
    windows   (n_windows, n_groups) periodograms by groups of frequencies
    mean      (n_groups,) their mean
    weights   (n_groups,) half the degrees of freedom of the mean: overlapping windows count half,
              less where windows vary more than those of Gaussian noise
    lines     (n_lines, n_groups) components of the periodic part
    """

    n: int
    scale: float
    windows: Floats
    mean: Floats
    weights: Floats
    lines: Floats


@dataclass(frozen=True, slots=True, eq=False)
class Fitted:
    """Sum of components that fits a spectrum.

    deviance   log-likelihood that is missing to a perfect fit
    weights    (n_components,) weights, those of lines last
    spectrum   (n_groups,) sum of the components
    """

    deviance: float
    weights: Floats
    spectrum: Floats


@dataclass(frozen=True, slots=True, eq=False)
class Smoothed:
    """Filter of a first-order process that fits a spectrum best, and its width [step]."""

    kind: str
    width: float
    fitted: Fitted

    @property
    def extent(self) -> float:
        """Length of the exposure with the same effect at long lags [step]."""
        return self.width * {"exposure": 1.0, "average": 1.0, "Gaussian": 12**0.5}.get(
            self.kind, 2.5
        )


def measure(series: Floats) -> Spectrum:
    """Measure the mean periodogram of windows that overlap by half; (n_windows, n)."""
    n = series.shape[1]
    scale = float(np.sqrt(np.mean(series**2)))
    periodograms = np.abs(np.fft.rfft(series * (taper(n) / scale))) ** 2
    groups, raw = frequencies(n), periodograms.mean(axis=0)
    # Of an exact period nothing is left at other frequencies.
    windows = groups.grouped(periodograms) + 1e-30
    degrees = np.asarray(groups.sizes * (0.5 * len(series) / _dispersion(windows, groups.sizes)))
    return Spectrum(n, scale, windows, windows.mean(axis=0), degrees, lines(_peaks(raw, n), n))


def _dispersion(windows: Floats, sizes: Integers) -> float:
    """Compute how many times more than of Gaussian noise periodograms vary from window to window.

    Where the noise depends on the state, its strength in a window is common to all frequencies.
    """
    # Neighbouring frequencies share 4/9 of their variance behind Hann's taper, the next 1/36.
    shared = 1 + 2 * (4 / 9 * (1 - 1 / sizes) + 1 / 36 * np.maximum(1 - 2 / sizes, 0))
    ratio = windows.var(axis=0) / windows.mean(axis=0) ** 2 * sizes / shared
    return max(1.0, float(np.median(ratio)))


def _peaks(raw: Floats, n: int) -> Floats:
    """Find frequencies of lines: narrow peaks, at whole and half numbers."""
    around = np.lib.stride_tricks.sliding_window_view(np.pad(raw, 8, mode="reflect"), 17)
    near = np.lib.stride_tricks.sliding_window_view(np.pad(raw, 2, mode="reflect"), 5)
    peaks = (raw == near.max(axis=1)) & (raw > PEAK * np.median(around, axis=1))
    peaks[:2] = False
    peaks[n // 2 :] = False
    numbers = np.flatnonzero(peaks)
    numbers = numbers[np.argsort(-raw[numbers])][:MOST_LINES]
    return np.asarray(2 * np.pi / n * (numbers[:, None] + [-0.5, 0, 0.5]).ravel())


def fit(components: Floats, spectrum: Spectrum, *, patient: bool = True) -> Fitted:
    """Maximise Whittle's likelihood over weights ≥ 0, by scoring.

    Parameters
    ----------
    components : (n_components, n_groups)
    spectrum : what they are fitted to, with its lines
    patient : whether a poor fit is improved further
    """
    matrix = np.concatenate([components, spectrum.lines]).T
    mean, degrees = spectrum.mean, spectrum.weights
    best: Fitted | None = None
    model = mean
    for _ in range(ITERATIONS):
        row = np.sqrt(degrees) / model
        try:
            weights, _ = nnls(matrix * row[:, None], mean * row)
        except RuntimeError:
            break
        found = _fitted(matrix, weights, mean, degrees)
        step = 1.0
        while best is not None and found.deviance > best.deviance and step > 0.05:
            step /= 2
            between = best.weights + step * (weights - best.weights)
            found = _fitted(matrix, between, mean, degrees)
        if best is not None and found.deviance > best.deviance - 1e-3:
            break
        best, model = found, found.spectrum
    best = best or _fitted(matrix, np.ones(matrix.shape[1]), mean, degrees)
    if patient and best.deviance > POOR * len(mean):
        best = _ascended(matrix, best, mean, degrees)
    return best


def _ascended(matrix: Floats, best: Fitted, mean: Floats, degrees: Floats) -> Fitted:
    """Improve a fit by steps that never lose (Févotte & Idier 2011), where scoring goes astray."""
    # No weight may start at zero: steps multiply.
    weights = np.maximum(best.weights, 1e-4 * np.min(mean[:, None] / matrix, axis=0))
    for _ in range(STEPS):
        model = matrix @ weights
        ratio = (degrees * mean / model**2) @ matrix / ((degrees / model) @ matrix)
        weights = weights * np.sqrt(ratio)
    found = _fitted(matrix, weights, mean, degrees)
    return found if found.deviance < best.deviance else best


def _fitted(matrix: Floats, weights: Floats, mean: Floats, degrees: Floats) -> Fitted:
    # A group without a component would have likelihood zero; rounding leaves 10⁻¹² of it.
    model = np.maximum(matrix @ weights, 1e-12 * mean)
    ratio = mean / model
    return Fitted(float(degrees @ (ratio - 1 - np.log(ratio))), weights, model)


def fit_smoothed(spectrum: Spectrum, kinds: Sequence[str], *, noise: bool = True) -> Smoothed:
    """Fit a filtered first-order process: the narrowest of the best filters.

    Parameters
    ----------
    spectrum : what it is fitted to
    kinds : kinds of filters
    noise : whether there may be noise after the filter
    """
    tried = [
        _filtered(spectrum, kind, w, noise) for kind in kinds for w in widths(kind, spectrum.n)
    ]
    leading: dict[str, Smoothed] = {}
    for one in sorted(tried, key=lambda one: one.fitted.deviance):
        leading.setdefault(one.kind, one)
    refined = [_refined(spectrum, one, noise) for one in list(leading.values())[:3]]
    best = min(one.fitted.deviance for one in refined)
    near = [one for one in (*tried, *refined) if one.fitted.deviance < best + 2]
    return min(near, key=lambda one: one.extent)


def _filtered(spectrum: Spectrum, kind: str, width: float, noise: bool) -> Smoothed:
    components = filtered(kind, width, spectrum.n)[0 if noise else 1 :]
    return Smoothed(kind, width, fit(components, spectrum, patient=False))


def _refined(spectrum: Spectrum, best: Smoothed, noise: bool) -> Smoothed:
    """Refine the width of a filter between its neighbours."""
    tried = widths(best.kind, spectrum.n)
    ratio = (tried[-1] / tried[0]) ** (0.5 / (len(tried) - 1))
    for _ in range(5):
        near = [best.width / ratio, best.width * ratio]
        if best.kind == "average":
            near = [max(2.0, float(np.round(w))) for w in near]
        others = [_filtered(spectrum, best.kind, round(w, 6), noise) for w in near]
        best = min([best, *others], key=lambda one: one.fitted.deviance)
        ratio = ratio**0.5
    return best


def score(spectrum: Spectrum, better: Fitted, worse: Fitted) -> Floats:
    """Compute the log-likelihood that one model gains over another in each window (Vuong 1989)."""
    return surprise(spectrum, worse) - surprise(spectrum, better)


def surprise(spectrum: Spectrum, fitted: Fitted) -> Floats:
    """Compute Whittle's log-likelihood of each window, less a constant and with its sign changed.

    It is that of the values themselves, so models of different series of as many values compare.
    """
    f, sizes = fitted.spectrum, frequencies(spectrum.n).sizes
    return np.asarray((spectrum.windows / f + np.log(f * spectrum.scale**2)) @ sizes)


def misfit(spectrum: Spectrum, fitted: Fitted) -> float:
    """Compute the rms of the logarithm of measured over fitted spectrum, beyond chance."""
    error = np.log(spectrum.mean / fitted.spectrum)
    excess = np.average(error**2 - 1 / spectrum.weights)
    return float(np.sqrt(max(excess, 0.0)))
