"""Echoes of second differences, which a moving average leaves and inertia does not."""

import numpy as np
from numpy.typing import NDArray

from worker.identification.data.trajectories import Trajectories, shorter

Floats = NDArray[np.float64]

MOST_SEGMENTS, LONGEST = 64, 2**15
"""Segments that are looked at, the longest ones, and samples of each."""

SPANS = (1, 2, 4, 8, 16, 32)

LOUD, LOUDEST, CLEAR = 0.25, 0.65, 4.5
"""Range of −correlation of an echo, which is ½ without noise, and its standard errors."""

NOISY = -0.2
"""Correlation of neighbouring second differences, −⅔ for noise and ¼ for kicks, that is noise."""

QUIET = 0.12
"""Correlation just beyond their own span up to which kicks dominate second differences."""


def find_echo(data: Trajectories, variable: int, period: float | None) -> int | None:
    """Find after how many samples second differences of a variable repeat with the other sign.

    A mean over m samples moves by what enters less what leaves, so its second differences do after
    m samples, whatever the times. Those of a process of second order are kicks, new at all times.

    Parameters
    ----------
    data : record
    variable : number of the variable
    period : its period, or None [state]
    """
    lengths = data.segments[:, 1] - data.segments[:, 0]
    longest = np.argsort(-lengths, kind="stable")[:MOST_SEGMENTS]
    paths = []
    for start, length in zip(data.segments[longest, 0], lengths[longest], strict=True):
        values = np.asarray(data.states[start : start + min(length, LONGEST), variable])
        paths.append(np.append(0.0, np.cumsum(shorter(np.diff(values), period))))
    looked = 0
    for span in SPANS:
        noisy, lag = _echo([path for path in paths if len(path) > 16 * span], span)
        if lag is not None:
            return lag
        # An echo is at all spans beyond those of noise; at one alone it is of a force's pulses.
        looked += not noisy
        if looked == 2:
            break
    return None


def _echo(paths: list[Floats], span: int) -> tuple[bool, int | None]:
    """Say whether second differences over spans are noise, and find the lag of their one echo."""
    if not paths:
        return True, None
    last = max(len(path) for path in paths) // 2
    products, pairs, total = np.zeros(last), np.zeros(last), 0
    for path in paths:
        d = path[2 * span :] - 2 * path[span:-span] + path[: -2 * span]
        # One wild kick would be its own echo.
        size = float(np.median(np.abs(d))) / 0.6745
        d = np.clip(d, -5 * size, 5 * size) if size > 0 else d
        n = min(last, len(d) // 2)
        spectrum = np.abs(np.fft.rfft(d, 2 * len(d))) ** 2
        products[:n] += np.fft.irfft(spectrum)[:n]
        pairs[:n] += len(d) - np.arange(n)
        total += len(d)
    if not products[0] > 0:
        return True, None
    rho = products / np.maximum(pairs, 1.0) / (products[0] / pairs[0])
    noisy = bool(rho[span] < NOISY)
    if np.abs(rho[2 * span : 4 * span]).mean() > QUIET + 2 * np.sqrt(span / total):
        return noisy, None
    width = 2 * span
    lags = np.arange(2 * width, last - width)
    lags = lags[pairs[lags + width] > 0]
    if not len(lags):
        return noisy, None
    isolated = rho[lags] - (rho[lags - width] + rho[lags + width]) / 2
    error = np.sqrt(1.5 * (1 + 2 * np.sum(rho[1:width] ** 2)) / pairs[lags])
    loudest = int(np.argmax(-isolated / error))
    loud = -isolated[loudest]
    others = isolated[np.abs(lags - lags[loudest]) > 2 * width]
    # The pulses of a limit cycle repeat time and again.
    alone = not len(others) or np.abs(others).max() < 0.7 * loud
    if alone and max(LOUD, CLEAR * error[loudest]) < loud < LOUDEST:
        return noisy, int(lags[loudest])
    return noisy, None
