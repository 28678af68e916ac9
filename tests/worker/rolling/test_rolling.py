"""Windows along a record whose barrier falls, against the exact gap of each moment's process."""

from functools import cache

import numpy as np
import pytest
from numpy.typing import NDArray

from contract.identification import IdentificationParameters
from contract.rolling import RollingWindows
from worker.generator.analysis import analyse
from worker.generator.process import ScalarProcess
from worker.identification.data.trajectories import Trajectories, from_arrays
from worker.identification.errors import DimensionNotSupported, InvalidWindows
from worker.jobs.rolling import roll_along
from worker.rolling.rolling import Rolling

Floats = NDArray[np.float64]
DT, STEPS, SUBSTEPS = 0.05, 20_000, 2
NOISE = 0.25


def records(begin: float, end: float, count: int, seed: int) -> Floats:
    """dX = (μ X − X³) dt + ½ dW with μ going straight from `begin` to `end`; (count, STEPS + 1)."""
    generator = np.random.default_rng(seed)
    step = DT / SUBSTEPS
    kicks = np.sqrt(NOISE * step) * generator.standard_normal((STEPS * SUBSTEPS + 1, count))
    grows = 1 + step * np.linspace(begin, end, len(kicks))
    x, out = np.ones(count), np.empty_like(kicks)
    for n, kick in enumerate(kicks):
        out[n] = x
        x = x * (grows[n] - step * x * x) + kick
    return np.ascontiguousarray(out[::SUBSTEPS].T)


@cache
def log_gap(mu: float) -> float:
    """Of the process at one moment, exact."""
    process = ScalarProcess(
        lambda x: mu * x - x**3, lambda x: np.full_like(x, NOISE), lambda x: mu - 3 * x**2
    )
    spectrum = analyse(process, eigenpairs=1).spectrum
    assert spectrum is not None
    return float(np.log(spectrum.eigenvalues[0].real))


def rolled(x: Floats, dt: float = DT, **windows: float) -> Rolling:
    asked = RollingWindows.model_validate(windows)
    return roll_along(from_arrays([x], dt), IdentificationParameters(), asked, lambda *_: None)


@pytest.fixture(scope="module")
def falling() -> list[Rolling]:
    """Fit 5 disjoint windows of 200 time units each; the barrier falls from 2 kT to half a kT."""
    return [rolled(x, count=5, share=0.2) for x in records(1.0, 0.5, 20, seed=1)]


@pytest.fixture(scope="module")
def stationary() -> list[Rolling]:
    return [rolled(x, count=5, share=0.2) for x in records(0.8, 0.8, 16, seed=2)]


def errors_of_log_gap(found: list[Rolling], begin: float, end: float) -> tuple[Floats, Floats]:
    """Return each window's estimate less the truth at its middle, and its standard error."""
    length, errors, claimed = STEPS * DT, [], []
    for rolling in found:
        for window in rolling.windows:
            middle = (window.begin + window.end) / 2 / length
            assert window.gap.log_rate is not None, window.gap.reason
            assert window.gap.std_error is not None
            errors.append(window.gap.log_rate - log_gap(round(begin + (end - begin) * middle, 3)))
            claimed.append(window.gap.std_error)
    return np.array(errors), np.array(claimed)


@pytest.mark.slow
def test_the_gap_of_a_falling_barrier_is_within_its_interval_in_nine_windows_of_ten(
    falling: list[Rolling],
) -> None:
    error, claimed = errors_of_log_gap(falling, 1.0, 0.5)
    assert np.mean(np.abs(error) < 1.96 * claimed) >= 0.9
    # A check that can fail: half as wide they hold 67 %, plus or minus five.
    assert np.mean(np.abs(error) < 0.98 * claimed) < 0.8


@pytest.mark.slow
def test_a_falling_barrier_opens_the_gap_and_a_constant_one_does_not(
    falling: list[Rolling], stationary: list[Rolling]
) -> None:
    trends = [rolling.trend for rolling in falling]
    slopes = np.array([trend.slope for trend in trends if trend is not None])
    truth = (log_gap(0.55) - log_gap(0.95)) / (0.8 * STEPS * DT)
    error = np.mean([trend.std_error for trend in trends if trend is not None]) / np.sqrt(
        len(slopes)
    )
    # The logarithm of the gap is not quite straight in time; 5 % of the slope is for that.
    assert abs(slopes.mean() - truth) < 4 * error + 0.05 * truth
    assert sum(any(f.code == "gap-opening" for f in rolling.findings) for rolling in falling) > 13
    z = np.array([rolling.trend.z for rolling in stationary if rolling.trend is not None])
    assert len(z) == 16
    # 16 standard normal numbers have a standard deviation within 1 ± 3/√32, and one is beyond 3 in
    # one run of 23.
    assert abs(z.std() - 1) < 0.53
    assert sum(any("gap" in f.code for f in rolling.findings) for rolling in stationary) <= 1


def test_a_rising_barrier_closes_the_gap_and_the_warning_says_so() -> None:
    found = rolled(records(0.4, 1.1, 1, seed=3)[0], count=5, share=0.2)
    (warning,) = [f for f in found.findings if f.code == "gap-closing"]
    assert "more and more slowly" in warning.message


@pytest.mark.slow
def test_wells_move_with_the_barrier_and_stay_within_their_errors(falling: list[Rolling]) -> None:
    z = []
    for rolling in falling:
        for window in rolling.windows:
            mu = 1.0 - 0.5 * (window.begin + window.end) / 2 / (STEPS * DT)
            wells = [place for place in window.fixed_points if place.stable]
            if len(wells) == 2:
                z += [(abs(well.at) - np.sqrt(mu)) / well.std_error for well in wells]
    assert len(z) > 180
    # Both wells of one window are mirror images: about 100 independent numbers.
    assert abs(np.std(z) - 1) < 0.25
    assert abs(np.mean(z)) < 0.4


def linear(seed: int) -> Floats:
    """Simulate dX = −k X dt + 0.3 dW with k falling linearly from 1 to 0.2.

    The record as a whole has a cubic term, and no window has.
    """
    generator = np.random.default_rng(seed)
    kicks = 0.3 * np.sqrt(DT) * generator.standard_normal(80_000)
    kept = 1 - DT * np.linspace(1, 0.2, len(kicks))
    x = np.zeros(len(kicks))
    for n in range(1, len(x)):
        x[n] = x[n - 1] * kept[n] + kicks[n]
    return x


@pytest.mark.slow
def test_windows_whose_models_push_outward_beyond_the_data_have_a_gap_all_the_same() -> None:
    z, outward = [], 0
    for seed in range(6):
        found = rolled(linear(seed), count=8, share=0.125)
        assert [c.term for c in found.windows[0].drift] == ["x", "x^3"]
        outward += sum((window.drift[1].value or 0) > 0 for window in found.windows)
        for window in found.windows:
            assert window.gap.log_rate is not None, window.gap.reason
            assert window.gap.std_error is not None
            truth = np.log(1 - 0.8 * (window.begin + window.end) / 2 / (80_000 * DT))
            z.append((window.gap.log_rate - truth) / window.gap.std_error)
        assert any(f.code == "gap-closing" for f in found.findings)
    assert outward > 10, "no model pushes outward: the claim is not tested"
    # The bounds are three standard errors of the coverage of 48 intervals of 95 %, and of the
    # standard deviation of 48 normal numbers.
    assert np.mean(np.abs(z) < 1.96) > 0.85
    assert abs(np.std(z) - 1) < 3 / np.sqrt(2 * len(z))


def test_a_window_says_what_its_samples_alone_say() -> None:
    x = records(0.8, 0.8, 1, seed=4)[0]
    found = rolled(x, count=4, share=0.25)
    first = found.windows[0]
    alone = rolled(x[: first.n_increments + 1], count=1, share=0.99)
    for all_instruments, own in zip(first.drift, alone.windows[0].drift, strict=True):
        assert all_instruments.term == own.term
        # Its own kernels and weights: equal up to a small part of the error.
        assert all_instruments.value == pytest.approx(own.value, abs=0.3 * (own.std_error or 0))


def test_the_error_of_a_linear_process_s_gap_is_that_of_its_coefficient() -> None:
    generator, x = np.random.default_rng(5), np.empty(20_001)
    x[0] = 0.0
    for n, kick in enumerate(generator.standard_normal(20_000)):
        x[n + 1] = np.exp(-0.1) * x[n] + np.sqrt((1 - np.exp(-0.2)) / 2) * kick
    for window in rolled(x, dt=0.1, count=6, share=0.2).windows:
        (coefficient,) = window.drift
        assert coefficient.term == "x"
        assert coefficient.value is not None
        assert coefficient.std_error is not None
        assert window.gap.log_rate == pytest.approx(np.log(-coefficient.value), abs=1e-3)
        # λ = −c, so the error of log λ is that of c over c; the covariance may be the blocks' where
        # that is larger.
        assert window.gap.std_error == pytest.approx(
            -coefficient.std_error / coefficient.value, rel=0.3
        )


def test_where_the_record_has_a_hole_the_window_says_that_it_is_empty() -> None:
    x = records(0.8, 0.8, 1, seed=6)[0]
    times = np.arange(len(x)) * DT
    keep = (times < 300) | (times > 600)
    data = Trajectories(
        x[keep, None],
        times[keep],
        np.array(
            [[0, int((times < 300).sum()), 0], [int((times < 300).sum()), int(keep.sum()), 0]]
        ),
    )
    found = roll_along(
        data, IdentificationParameters(), RollingWindows(count=10, share=0.1), lambda *_: None
    )
    empty = [window for window in found.windows if window.gap.log_rate is None]
    assert {round(window.begin) for window in empty} == {300, 400, 500}
    assert all("too few increments" in (window.gap.reason or "") for window in empty)
    assert [f.code for f in found.findings].count("windows-without-gap") == 1


def test_windows_that_do_not_fit_the_record_are_refused_with_what_to_try() -> None:
    x = records(0.8, 0.8, 1, seed=7)[0]
    with pytest.raises(
        InvalidWindows, match=r"windows\.length is 5000, but the time series is only 1000 long"
    ):
        rolled(x, length=5000.0)
    with pytest.raises(DimensionNotSupported, match="2 trajectories"):
        roll_along(
            from_arrays([x, x], DT), IdentificationParameters(), RollingWindows(), lambda *_: None
        )
    with pytest.raises(DimensionNotSupported, match="single variable"):
        roll_along(
            from_arrays([np.stack([x, x**2], axis=1)], DT),
            IdentificationParameters(),
            RollingWindows(),
            lambda *_: None,
        )


def test_a_level_that_moves_is_a_trend_of_the_record_and_a_falling_barrier_is_none(
    falling: list[Rolling], stationary: list[Rolling]
) -> None:
    """Before, every window had a spectral gap of 0.06 in place of 1, and nothing was said."""
    generator = np.random.default_rng(3)
    x, kicks = np.zeros(8_000), np.sqrt(2 * DT) * generator.standard_normal(8_000)
    for n in range(1, len(x)):
        x[n] = x[n - 1] * (1 - DT) + kicks[n]
    moving = rolled(x + np.linspace(0, 10, len(x)), count=10, share=0.25)
    assert "trend" in {f.code for f in moving.findings}
    assert "trend" not in {f.code for f in rolled(x, count=10, share=0.25).findings}
    for record in (*falling, *stationary):
        assert "trend" not in {f.code for f in record.findings}


def driven(push: Floats, noise: Floats, seed: int) -> Floats:
    """Simulate dX = (push − X) dt + noise dW at steps of DT."""
    kicks = np.sqrt(DT) * np.random.default_rng(seed).standard_normal(len(push))
    x = np.zeros(len(push))
    for n in range(1, len(x)):
        x[n] = x[n - 1] * (1 - DT) + push[n - 1] * DT + noise[n - 1] * kicks[n]
    return x


def codes(x: Floats, **windows: float) -> set[str]:
    return {f.code for f in rolled(x, **windows).findings}


def test_the_record_and_its_windows_are_checked_as_an_identification_is() -> None:
    n = 20_000
    still, even = np.zeros(n), np.full(n, 0.8)
    slow, kicks = np.zeros(n), 0.1 * np.sqrt(DT) * np.random.default_rng(1).standard_normal(n)
    for k in range(1, n):
        slow[k] = slow[k - 1] * (1 - DT / 8) + kicks[k]
    season = 0.8 * np.sin(2 * np.pi * DT * np.arange(n) / 60)
    windows = {"count": 20, "share": 0.1}
    assert codes(driven(still, even, 10), **windows) == set()
    assert "memory" in codes(driven(season, 0.6 * even, 11), **windows)
    assert "memory" in codes(driven(4 * slow, even, 12), **windows)
    assert "trend" in codes(driven(np.linspace(0, 4, n), even, 13), **windows)


def test_a_change_of_regime_is_said_of_the_window_in_which_it_is() -> None:
    """Windows that each have a noise of their own are what rolling is for."""
    n = 20_000
    half = np.where(np.arange(n) < 0.55 * n, 0.6, 1.0)
    found = rolled(driven(np.zeros(n), half, 14), count=10, share=0.1)
    (warning,) = [f for f in found.findings if f.code == "noise-changes"]
    begin = 0.5 * n * DT
    assert warning.details["begins"] == [pytest.approx(begin, rel=1e-3)]
    assert "In 1 of 10 windows" in warning.message
    # The same change between two windows is no fault of either.
    apart = np.where(np.arange(n) < 0.5 * n, 0.6, 1.0)
    assert "noise-changes" not in codes(driven(np.zeros(n), apart, 14), count=10, share=0.1)


@pytest.mark.slow
def test_checks_of_windows_are_silent_on_stationary_records_and_on_a_falling_barrier(
    falling: list[Rolling], stationary: list[Rolling]
) -> None:
    said = [f.code for rolling in (*falling, *stationary) for f in rolling.findings]
    assert not {"memory", "trend", "noise-changes"} & set(said)
