"""The order of a record: exact paths of both kinds, and what an instrument or a signal adds."""

from dataclasses import replace

import numpy as np
import pytest
from numpy.typing import NDArray
from scipy.ndimage import gaussian_filter1d
from scipy.signal import butter, lfilter

from tests.worker.identification.second_order.paths import harmonic, oscillators
from worker.identification.data.trajectories import Trajectories, from_arrays
from worker.identification.second_order.candidate_spectra import (
    filtered,
    first_order,
    frequencies,
    second_order,
)
from worker.identification.second_order.order import Order, decide_order

Floats = NDArray[np.float64]

N = 6_000
RNG = np.random.default_rng(18)


def relaxing(rate: float, n: int = N, seed: int = 0) -> Floats:
    """Exact path of an Ornstein–Uhlenbeck process with deviation one, rate per sample."""
    memory = np.exp(-rate)
    kicks = np.random.default_rng(seed).standard_normal(n + 500) * np.sqrt(1 - memory**2)
    return np.asarray(lfilter([1.0], [1.0, -memory], kicks)[500:])


def averaged(path: Floats, m: int) -> Floats:
    return np.convolve(path, np.ones(m) / m, "valid")


def told(*paths: Floats, dt: float = 0.1) -> Order:
    return decide_order(from_arrays(list(paths), dt))


OU = relaxing(0.05)
FINE = relaxing(0.005, 20 * N, seed=1)
SPRING = harmonic(4.0, 1.0, 1.0, 0.05, N, 2)
NOISE = RNG.standard_normal(N)
TIME = np.linspace(0, 1, N)

OF_FIRST_ORDER = {
    "clean": OU,
    "noisy": OU + 0.5 * NOISE,
    "coarse": relaxing(1.2, seed=3),
    "blurred": FINE[: 10 * N].reshape(N, 10).mean(axis=1),
    "rounded": np.round(OU / 0.5) * 0.5,
    "random walk": np.cumsum(NOISE),
    "fast and slow": OU + relaxing(1.0, seed=4),
    "seasonal": OU + np.sin(2 * np.pi * 40 * TIME),
}
OF_NEITHER = {
    "moving average": averaged(OU, 6),
    "long moving average": averaged(OU, 300),
    "noisy moving average": averaged(OU, 8) + 0.02 * NOISE[: N - 7],
    "low-pass": lfilter(*butter(2, 0.1), OU),
    "interpolated": np.interp(np.arange(N) / 4, np.arange(N), OU),
    "white noise": NOISE,
    "sine and noise": np.sin(2 * np.pi * 70.3 * TIME) + 0.1 * NOISE,
    "curve": np.exp(-3 * TIME) + 0.2 * np.sin(9 * TIME),
    "curve and noise": np.exp(-3 * TIME) + 0.01 * NOISE,
    "ramp and noise": 30 * TIME + 0.1 * NOISE,
    "velocity and diffusion": np.cumsum(relaxing(0.1, seed=5) + NOISE),
}
OF_SECOND_ORDER = {
    "oscillating": SPRING,
    "coarse": harmonic(4.0, 1.0, 1.0, 0.3, N, 6),
    "overdamped": harmonic(10.0, 10.0, 50.0, 0.02, N, 7),
    "rounded": np.round(SPRING / 0.02) * 0.02,
    "short": SPRING[:1_000],
    "behind one pole": lfilter([0.02], [1, -0.98], FINE)[::10],
}


@pytest.mark.parametrize("name", OF_FIRST_ORDER)
def test_diffusing_positions_are_of_first_order(name: str) -> None:
    assert told(OF_FIRST_ORDER[name]).order == 1


@pytest.mark.parametrize("name", OF_NEITHER)
def test_what_is_smooth_without_kicks_or_is_noise_is_undecided(name: str) -> None:
    found = told(OF_NEITHER[name])
    assert found.order is None
    assert found.reason.endswith(".")


@pytest.mark.parametrize("name", OF_SECOND_ORDER)
def test_kicked_velocities_are_of_second_order(name: str) -> None:
    assert told(OF_SECOND_ORDER[name]).order == 2


def test_noise_a_thousand_times_the_kick_does_not_hide_inertia() -> None:
    # Mean squares of the second differences: 6 ε² of noise, 2 σ² Δt³ / 3 of kicks.
    dt, noise = 0.02, 0.03
    assert 6 * noise**2 / (2 / 3 * dt**3) > 1_000
    path = harmonic(4.0, 1.0, 1.0, dt, 3 * N, 8)
    found = told(path + noise * np.random.default_rng(9).standard_normal(3 * N), dt=dt)
    assert found.order == 2
    assert found.noise


def test_a_force_tells_a_noisy_limit_cycle_from_a_filtered_process() -> None:
    """Both have spectra that fall off as behind a filter, and noise that hides the kicks."""
    rng = np.random.default_rng(12)
    [path] = oscillators(
        lambda x, v: 3 * (1 - x**2) * v - x, lambda x, v: np.full_like(x, 0.1), 0.02, 2_000, 1
    )
    cycle = told(path + 0.01 * rng.standard_normal(2_000), dt=0.02)
    assert (cycle.order, cycle.evidence, cycle.noise) == (2, "force-resolved", True)
    # Between two wells, behind a filter of the same width, with noise of the same share.
    smooth = gaussian_filter1d(np.tanh(2 * relaxing(0.02, 2_000, 13)), 8)
    well = told(smooth + 0.02 * rng.standard_normal(2_000), dt=0.02)
    assert (well.order, well.evidence) == (None, "smoothed")


def test_noise_is_told_from_none() -> None:
    assert not told(OU).noise
    assert told(OU + 0.3 * NOISE).noise
    assert not told(SPRING).noise


def test_a_velocity_forgotten_within_a_step_is_not_called_second_order() -> None:
    assert told(harmonic(1.0, 20.0, 400.0, 0.1, N, 10)).order != 2


def test_a_moving_average_is_named_with_its_width() -> None:
    found = told(averaged(OU, 6))
    assert found.evidence == "smoothed"
    assert found.statistics is not None
    assert found.statistics.smoothing == ("average", 6.0)
    assert "about 6 sampling intervals" in found.reason


def uneven(path: Floats, steps: Floats) -> Trajectories:
    """Every tenth sample on the mean of a fine path, at uneven steps."""
    index = np.cumsum(steps)
    index = index[index < len(path)]
    return replace(from_arrays([path[index]], 1.0), times=index * 0.01)


def test_uneven_steps() -> None:
    steps = np.random.default_rng(11).integers(5, 16, 12_000)
    assert decide_order(uneven(FINE, steps)).order != 2
    assert decide_order(uneven(averaged(FINE, 60), steps)).order != 2
    fine = harmonic(4.0, 1.0, 1.0, 0.005, 20 * N, 12)
    assert decide_order(uneven(fine, steps)).order == 2


def test_tracks_of_twenty_four_samples() -> None:
    assert told(*OU.reshape(-1, 24)).order == 1
    assert told(*SPRING.reshape(-1, 24)).order == 2
    smooth = averaged(relaxing(0.05, N + 5, seed=13), 6)
    assert told(*smooth.reshape(-1, 24)).order is None


def test_too_short_tracks_tell_nothing() -> None:
    found = told(*SPRING.reshape(-1, 6))
    assert (found.order, found.evidence, found.statistics) == (None, "too-short", None)


def test_several_variables() -> None:
    other = harmonic(4.0, 1.0, 1.0, 0.05, N, 14)
    assert told(np.stack([SPRING, other], axis=1)).order == 2
    found = told(np.stack([SPRING, OU], axis=1))
    assert (found.order, found.evidence) == (None, "variables-differ")
    assert "y diffuses" in found.reason


def test_rotation_seen_in_both_variables_is_no_inertia() -> None:
    # dz = −(1 − 3i) z dt + dW, exactly: each coordinate alone has positively correlated increments.
    step = np.exp((-1 + 3j) * 0.05)
    kicks = RNG.standard_normal((N, 2)) @ [1, 1j] * np.sqrt((1 - abs(step) ** 2) / 2)
    z = lfilter([1.0], [1.0, -step], kicks)
    assert told(np.stack([z.real, z.imag], axis=1)).order == 1


def test_a_recorded_velocity_makes_it_first_order() -> None:
    rng = np.random.default_rng(15)
    x, v = np.zeros(N), np.zeros(N)
    for i in range(1, N):
        v[i] = 0.95 * v[i - 1] - 0.1 * x[i - 1] + 0.1 * rng.standard_normal()
        x[i] = x[i - 1] + 0.05 * (v[i] + v[i - 1])
    found = told(np.stack([x, v], axis=1))
    assert (found.order, found.evidence) == (1, "velocity-recorded")


def test_an_angle_is_unwrapped() -> None:
    free = np.cumsum(relaxing(0.05, seed=16)) * 0.1
    wrapped = (free + np.pi) % (2 * np.pi) - np.pi
    data = from_arrays([wrapped], 0.1)
    assert decide_order(data, [2 * np.pi]).order == 2
    diffusing = np.cumsum(0.3 * NOISE + 0.1) % (2 * np.pi)
    assert decide_order(from_arrays([diffusing], 0.1), [2 * np.pi]).order == 1


def test_the_unit_of_the_state_and_its_origin_do_not_matter() -> None:
    a, b = told(SPRING), told(1e6 + 1e-3 * SPRING)
    assert a.statistics is not None
    assert b.statistics is not None
    assert a.order == b.order
    assert b.statistics.gain == pytest.approx(a.statistics.gain, rel=1e-3)


def test_structure_functions_grow_as_the_lag_and_as_its_square() -> None:
    first, second = told(relaxing(1e-3, seed=17)), told(harmonic(0.2, 0.1, 1.0, 0.05, N, 18))
    assert first.statistics is not None
    assert second.statistics is not None
    assert first.statistics.slopes[0, 0] == pytest.approx(1, abs=0.05)
    assert second.statistics.slopes[0, 0] == pytest.approx(2, abs=0.01)


def shape(component: Floats, n: int) -> Floats:
    """Spectrum at the upper half of the frequencies, where tapering leaks least, mean one."""
    upper = component[frequencies(n).starts >= n // 4]
    return np.asarray(upper / upper.mean())


def test_components_have_the_spectra_of_closed_forms() -> None:
    n = 512
    groups = frequencies(n)
    theta = 2 * np.pi / n * (groups.starts + (groups.sizes - 1) / 2)
    noise, brownian = first_order(n)[:2]
    kicked = second_order(n)[1]
    for component, expected in (
        (noise, 16 * np.sin(theta / 2) ** 4),
        (brownian, 4 * np.sin(theta / 2) ** 2),
        # The slowest velocity is a random walk: ⅔ + ⅓ cos θ.
        (kicked, (2 + np.cos(theta)) / 3),
        # Exposed for the whole interval, Brownian motion has its increments' spectrum.
        (filtered("exposure", 1.0, n)[1], 4 * np.sin(theta / 2) ** 2 * (2 + np.cos(theta)) / 3),
    ):
        assert shape(component, n) == pytest.approx(shape(expected, n), rel=0.02)
