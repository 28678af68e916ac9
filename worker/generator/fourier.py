"""The generator on the Fourier modes of a circle, equation (G18)."""

import numpy as np
from numpy.typing import NDArray

from worker.generator.process import ScalarProcess, values

ComplexArray = NDArray[np.complex128]

MODES = (32, 64, 128, 256)
"""Highest Fourier mode, raised until the answer settles."""


def fourier_generator(model: ScalarProcess, low: float, period: float, modes: int) -> ComplexArray:
    """(2 modes + 1, 2 modes + 1): L of the functions exp(2πik(x − low)/period), k from −modes to modes [1/time]."""
    x = low + period * np.arange(4 * modes) / (4 * modes)
    b, a = (np.fft.fft(values(f, x)) / len(x) for f in (model.b, model.a))
    k = np.arange(-modes, modes + 1)
    shift = k[:, None] - k[None, :]
    wave = 2 * np.pi * k / period
    return np.asarray(b[shift] * (1j * wave) - 0.5 * a[shift] * wave**2)
