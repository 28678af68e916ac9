"""The data's autocorrelation against the exact one, its band and its bias."""

import numpy as np
import pytest

from worker.identification.data.trajectories import from_arrays
from worker.validation.autocorrelation import Autocorrelation, compare_autocorrelation
from worker.validation.conditional_moments import Observable
from worker.validation.sample_blocks import EvenSamples, gather, thinned


class Exponential:
    """exp(−rate t)."""

    def __init__(self, rate: float) -> None:
        self.rate = rate

    def autocorrelation(self, lags: np.ndarray) -> np.ndarray:
        return np.exp(-self.rate * lags)[None]

    def power_spectrum(self, frequencies: np.ndarray) -> np.ndarray:
        raise NotImplementedError


def record(n: int, seed: int, dt: float = 0.1) -> np.ndarray:
    generator, fall = np.random.default_rng(seed), np.exp(-dt)
    kicks, x = generator.standard_normal(n), np.empty(n)
    x[0] = kicks[0]
    for k in range(1, n):
        x[k] = fall * x[k - 1] + np.sqrt(1 - fall**2) * kicks[k]
    return x


def found(x: np.ndarray, rate: float = 1.0, noise: float = 0.0, dt: float = 0.1) -> Autocorrelation:
    data = gather(from_arrays([x], dt), dt, int(5 / dt))
    observable = Observable(float(x.mean()), float(x.std()), noise=noise)
    return compare_autocorrelation(data, observable, 0, Exponential(rate), 1.0, x.size * dt)


def test_the_band_holds_the_truth_nineteen_times_in_twenty_and_the_estimate_is_not_biased() -> None:
    records = [found(record(2_000, seed)) for seed in range(60)]
    inside = np.array([(a.band[:, 0] <= a.model) & (a.model <= a.band[:, 1]) for a in records])[
        :, 1:
    ]
    # Neighbouring lags say the same: about 60 · 5 independent ones.
    assert abs(inside.mean() - 0.95) < 3 * np.sqrt(0.05 * 0.95 / 300)
    estimates = np.array([a.data for a in records])
    error = estimates.std(axis=0) / np.sqrt(len(records))
    z = (estimates.mean(axis=0) - records[0].model)[1:] / error[1:]
    assert np.abs(z).max() < 3
    # Without the jackknife the mean's own error, 2τ/T = 0.01, would show at long lags.
    assert error[-1] < 0.01


def test_a_wrong_rate_is_found_and_a_right_one_is_not() -> None:
    x = record(20_000, 7)
    right, wrong = found(x), found(x, rate=1.3)
    assert right.p_value is not None
    assert wrong.p_value is not None
    assert right.p_value > 0.01
    assert wrong.p_value < 1e-4


def test_measurement_noise_is_taken_out_at_lag_zero() -> None:
    x = record(20_000, 8)
    noisy = x + 0.5 * np.random.default_rng(0).standard_normal(x.size)
    corrected, plain = found(noisy, noise=0.25), found(noisy)
    assert corrected.p_value is not None
    assert plain.p_value is not None
    assert corrected.p_value > 0.01
    assert plain.p_value < 1e-6
    assert plain.data[1] == pytest.approx(corrected.data[1] / 1.25, rel=0.03)


def test_a_long_record_is_judged_by_itself_and_not_by_the_stretches_that_are_read() -> None:
    dt, most = 0.005, 12_000
    x = record(120_000, 11, dt)
    data, observable = from_arrays([x], dt), Observable(float(x.mean()), float(x.std()))

    def validated(samples: EvenSamples) -> Autocorrelation:
        return compare_autocorrelation(samples, observable, 0, Exponential(1.0), 1.0, x.size * dt)

    # 600 relaxation times of 200 samples: every third sample, in stretches of 20 relaxation times.
    slow = thinned(data, dt, 1.0, most)
    assert slow.step == pytest.approx(3 * dt)
    assert slow.longest * slow.step > 19.9
    found, whole = validated(slow), validated(gather(data, dt, 200))
    assert found.reason is None
    assert found.p_value is not None
    assert found.p_value > 0.01
    at = np.interp(found.lags, whole.lags, whole.data)
    # A third of the record is read, so its band is √3 times as wide as that of the whole.
    assert np.all(np.abs(found.data - at) <= found.band[:, 1] - found.data + 1e-12)
    # The samples of the test at short lags hold too few relaxation times.
    assert validated(gather(data, dt, 200, most)).reason is not None
    # A record that is itself in short pieces is refused, and the reason is its pieces.
    cut = [x[k : k + 600] for k in range(0, len(x), 600)]
    pieces = thinned(from_arrays(cut, dt), dt, 1.0, most)
    assert "without a gap" in str(validated(pieces).reason)


def test_a_record_of_few_relaxation_times_says_why_there_is_nothing() -> None:
    short = found(record(300, 9))
    assert short.lags.size == 0
    assert "too short" in str(short.reason)
