"""The covariance of windows that overlap: written out window by window, and seen over records."""

from dataclasses import replace

import numpy as np
import pytest
from scipy.signal import lfilter

from worker.identification.sums.kernels import Kernels
from worker.identification.sums.overlapping_windows import Overlaps, Runs

KERNELS = Kernels(np.linspace(-1.2, 1.2, 4), 0.5)


def residual_covariance(lag: int, m: int, a: float, h: float, s2: float, rate: float) -> float:
    """Return ⟨r_n r_{n+lag}⟩ of y₂ − y₀ + (rate h/3)(y₀ + 4y₁ + y₂), factor by factor."""
    steps = max(0, 2 * m - lag) * a * h / m
    factor = {0: -1 + rate * h / 3, m: 4 * rate * h / 3, 2 * m: 1 + rate * h / 3}
    return steps + s2 * sum(w * factor.get(at - lag, 0.0) for at, w in factor.items())


@pytest.mark.parametrize("s2", [0.3, -0.01])
@pytest.mark.parametrize("m", [1, 3])
def test_every_pair_of_windows_of_a_run_counts(m: int, s2: float) -> None:
    random = np.random.default_rng(m)
    run = np.repeat([4, 5, 6], [9, 1, 20])
    z, a, h, rate = random.normal(size=30), 0.8, 0.1, 0.7
    expected = np.zeros((4, 4))
    k = KERNELS.at(z)
    for i in range(30):
        for j in range(30):
            if run[i] == run[j]:
                c = residual_covariance(abs(i - j), m, a, h, s2, rate)
                expected += c * np.outer(k[:, i], k[:, j])
    overlaps = Overlaps(Runs(z, k, np.full(30, h), run), m, np.full(30, a), np.full(30, s2), rate)
    assert overlaps.covariance(k.T) == pytest.approx(expected, rel=1e-9, abs=1e-12)
    assert overlaps.alone(k.T) == pytest.approx(a * h * k @ k.T, rel=1e-9)


def test_sums_scatter_over_records_as_it_says() -> None:
    dt, n, s, records = 0.1, 2000, 0.15, 400
    random, phi = np.random.default_rng(3), np.exp(-0.1)
    sums, expected, alone = np.zeros((records, 4)), np.zeros((4, 4)), np.zeros((4, 4))
    for record in range(records):
        kicks = np.sqrt((1 - phi**2) / 2) * random.standard_normal(n)
        kicks[0] = np.sqrt(0.5) * random.standard_normal()
        y = lfilter([1.0], [1.0, -phi], kicks) + s * random.standard_normal(n)
        # The instrument is one sample earlier, and shares no noise with the window.
        z, y0, y1, y2 = y[:-3], y[1:-2], y[2:-1], y[3:]
        sums[record] = KERNELS.at(z) @ (y2 - y0 + dt / 3 * (y0 + 4 * y1 + y2))
        one = np.ones(len(z))
        k = KERNELS.at(z)
        runs = Runs(z, k, dt * one, np.zeros(len(z), dtype=int))
        apart = replace(runs, run=np.arange(len(z)))
        for out, of in ((expected, runs), (alone, apart)):
            out += Overlaps(of, 1, one, s**2 * one, 1.0).covariance(k.T) / records
    ratio, without = (
        np.einsum("ri,ij,rj->r", sums, np.linalg.inv(v), sums) / 4 for v in (expected, alone)
    )
    error = ratio.std() / np.sqrt(records)
    assert abs(ratio.mean() - 1) < 4 * error
    # Windows taken for independent ones are found out.
    assert abs(without.mean() - 1) > 10 * error
    each = sums.var(axis=0) / np.diag(expected)
    assert np.abs(each - 1).max() < 4 * np.sqrt(2 / records)
