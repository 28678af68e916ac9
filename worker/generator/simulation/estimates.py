"""Moments, marginals and correlation times from simulated paths, each with its standard error; equations (G41) and (G42)."""

from collections.abc import Callable

import numpy as np

from worker.generator.process import DiffusionProcess, FloatArray, read_only
from worker.generator.quantities.stationary import Estimates, Marginal, Simulated
from worker.generator.simulation.runs import Run

GROUPS = 40
"""Groups of paths; leaving out one at a time gives the standard errors."""
BINS = 60
WINDOW = 5.0
"""The autocorrelation is summed up to this many correlation times (Sokal 1997)."""


def estimated(
    paths: Run, centre: FloatArray, scale: FloatArray, process: DiffusionProcess, order: int
) -> Estimates:
    """Of paths none of which ran away; `order` is that of the step's weak convergence."""
    d = len(scale)
    fine, coarse = _raw_moments(paths.fine), _raw_moments(paths.coarse)
    extrapolated = fine + (fine - coarse) / (2**order - 1)

    def numbers(read: Callable[[FloatArray], FloatArray]) -> tuple[FloatArray, FloatArray]:
        return _jackknife(extrapolated, read)

    def kept(values: FloatArray, errors: FloatArray) -> tuple[Simulated | None, ...]:
        return tuple(
            None if turn is not None else Simulated(float(v), float(e))
            for v, e, turn in zip(values, errors, process.periods, strict=True)
        )

    mean, mean_error = numbers(lambda raw: centre + scale * raw[:, :d])
    covariance, covariance_error = numbers(
        lambda raw: _covariance(raw, d) * np.outer(scale, scale).ravel()
    )
    skewness, kurtosis = (
        numbers(lambda raw: _standardised(raw, d, 3)),
        numbers(lambda raw: _standardised(raw, d, 4)),
    )
    angles = [turn is not None for turn in process.periods]
    table = tuple(
        tuple(
            None
            if angles[p] or angles[q]
            else Simulated(float(covariance[p * d + q]), float(covariance_error[p * d + q]))
            for q in range(d)
        )
        for p in range(d)
    )
    return Estimates(
        mean=kept(mean, mean_error),
        covariance=table,
        skewness=kept(*skewness),
        kurtosis=kept(*kurtosis),
        integrated_times=_integrated_times(paths, angles),
        marginals=tuple(
            _marginal(paths.fine[:, :, k], centre[k], scale[k], process.periods[k])
            for k in range(d)
        ),
        step_error=_step_error(
            fine.mean(axis=0)[None], extrapolated.mean(axis=0)[None], np.array(angles)
        ),
    )


def _raw_moments(z: FloatArray) -> FloatArray:
    """(GROUPS, 4 d + d²) means of z, z³, z⁴, and z_p z_q, by group; z³ and z⁴ after z, then the products."""
    n = z.shape[1] // GROUPS
    out = []
    for g in range(GROUPS):
        own = z[:, g * n : (g + 1) * n].reshape(-1, z.shape[2])
        square = own * own
        out.append(
            np.concatenate(
                [
                    own.mean(axis=0),
                    (square * own).mean(axis=0),
                    (square * square).mean(axis=0),
                    (own.T @ own).ravel() / len(own),
                ]
            )
        )
    return np.array(out)


def _covariance(raw: FloatArray, d: int) -> FloatArray:
    """(n, d²) central second moments."""
    mean = raw[:, :d]
    return np.asarray(raw[:, 3 * d :] - np.einsum("np,nq->npq", mean, mean).reshape(len(raw), -1))


def _standardised(raw: FloatArray, d: int, power: int) -> FloatArray:
    """(n, d) third or fourth central moment over that power of the standard deviation."""
    mean, third, fourth = raw[:, :d], raw[:, d : 2 * d], raw[:, 2 * d : 3 * d]
    second = raw[:, 3 * d :: d + 1]
    variance = second - mean**2
    if power == 3:
        return np.asarray((third - 3 * mean * second + 2 * mean**3) / variance**1.5)
    return np.asarray(
        (fourth - 4 * mean * third + 6 * mean**2 * second - 3 * mean**4) / variance**2
    )


def _jackknife(
    groups: FloatArray, read: Callable[[FloatArray], FloatArray]
) -> tuple[FloatArray, FloatArray]:
    """What is read from the groups' mean, and its standard error from leaving out one group at a time.

    groups   (n, k)      read   (m, k) → (m, r)
    """
    n = len(groups)
    whole = groups.mean(axis=0)
    without = read((n * whole - groups) / (n - 1))
    return read(whole[None])[0], np.sqrt(
        (n - 1) * np.mean((without - without.mean(axis=0)) ** 2, axis=0)
    )


def _step_error(fine: FloatArray, extrapolated: FloatArray, angles: FloatArray) -> float:
    d = len(angles)
    before, after = (np.sqrt(_covariance(raw, d)[0, :: d + 1]) for raw in (fine, extrapolated))
    shift = np.abs(extrapolated - fine)[0, :d] / after
    return float(np.max(np.where(angles, 0.0, np.maximum(shift, np.abs(before / after - 1)))))


def _integrated_times(paths: Run, angles: list[bool]) -> tuple[Simulated | None, ...]:
    """From the averages over the records' intervals, whose covariances add up to the integral however long the intervals are."""
    records, n, d = paths.averages.shape
    size = n // GROUPS
    away = paths.averages[:, : size * GROUPS] - paths.averages.mean(axis=(0, 1))
    power = np.abs(np.fft.rfft(away, 2 * records, axis=0)) ** 2
    lagged = (
        np.fft.irfft(power, 2 * records, axis=0)[:records]
        / (records - np.arange(records))[:, None, None]
    )
    grouped = lagged.reshape(records, GROUPS, size, d).mean(axis=2)
    state = paths.fine[:, : size * GROUPS]
    variances = (
        ((state - state.mean(axis=(0, 1))) ** 2).reshape(records, GROUPS, size, d).mean(axis=(0, 2))
    )
    found: list[Simulated | None] = []
    for k in range(d):
        summed = (
            np.cumsum(grouped[:, :, k].mean(axis=1)) - grouped[0, :, k].mean() / 2
        ) / variances[:, k].mean()
        enough = np.flatnonzero(np.arange(1, records + 1) >= WINDOW * summed)
        if angles[k] or not enough.size or enough[0] > records // 3:
            found.append(None)
            continue
        last = int(enough[0]) + 1
        integral = grouped[:last, :, k].sum(axis=0) - grouped[0, :, k] / 2
        value, error = _jackknife(
            np.stack([integral, variances[:, k]], axis=1), lambda raw: raw[:, :1] / raw[:, 1:]
        )
        found.append(Simulated(float(value[0]) * paths.interval, float(error[0]) * paths.interval))
    return tuple(found)


def _marginal(z: FloatArray, centre: float, scale: float, period: float | None) -> Marginal:
    """Of one coordinate; z (records, R)."""
    x = centre + scale * z
    if period is not None:
        low = centre - period / 2
        x, high = low + np.mod(x - low, period), low + period
    else:
        low, high = float(x.min()), float(x.max())
    edges = np.linspace(low, high, BINS + 1)
    size = x.shape[1] // GROUPS
    counts = np.array(
        [np.histogram(x[:, g * size : (g + 1) * size], edges)[0] for g in range(GROUPS)],
        dtype=float,
    )
    density = counts / counts.sum(axis=1, keepdims=True) / np.diff(edges)
    return Marginal(
        read_only(edges),
        read_only(density.mean(axis=0)),
        read_only(density.std(axis=0, ddof=1) / np.sqrt(GROUPS)),
    )
