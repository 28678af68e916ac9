"""Second-order dynamics from positions, against exact paths of the harmonic oscillator."""

import numpy as np
import pytest

from tests.worker.identification.second_order.paths import harmonic
from worker.identification.data.trajectories import Trajectories, from_arrays
from worker.identification.data.windows import measure_space
from worker.identification.second_order import estimator
from worker.identification.second_order.estimator import (
    SecondOrderFit,
    SecondOrderProblem,
    first_kicks,
    fit,
)
from worker.identification.second_order.phase_space import (
    PhaseSpace,
    force_library,
    measure_phase_space,
)
from worker.identification.selection.support_selection import BIC

K, GAMMA, A = 4.0, 1.0, 1.0


def fitted(
    records: list[np.ndarray], dt: float, degree: int = 3
) -> tuple[SecondOrderFit, tuple[str, ...], PhaseSpace]:
    data = from_arrays(records, dt)
    space = measure_phase_space(data, measure_space(data, (None,) * data.dimension))
    library = force_library(space, degree)
    return fit(SecondOrderProblem(data, space, library, BIC)), library.names, space


def test_coefficients_of_a_harmonic_oscillator_are_unbiased_and_their_errors_right() -> None:
    z = []
    for seed in range(24):
        found, names, space = fitted([harmonic(K, GAMMA, A, 0.05, 4000, seed)], 0.05)
        estimate = found.force[0].estimate
        assert [names[k] for k in estimate.support] == ["x", "v"]
        factor = space.to_force[0]
        z.append((estimate.raw * factor + [K, GAMMA]) / (estimate.std_error * factor))
        diffusion = found.diffusion[0, 0].estimate
        assert [names[k] for k in diffusion.support] == ["1"]
        z[-1] = np.append(
            z[-1],
            (diffusion.raw[0] * space.to_diffusion[0, 0] - A)
            / (diffusion.std_error[0] * space.to_diffusion[0, 0]),
        )
    # Means of 24 standard normals, and their mean squares, within four of their standard errors.
    assert np.abs(np.mean(z, axis=0)).max() < 4 / np.sqrt(24)
    assert np.abs(np.mean(np.square(z), axis=0) - 1).max() < 4 * np.sqrt(2 / 24)


def test_tracks_of_many_particles_are_pooled() -> None:
    tracks = [harmonic(K, GAMMA, A, 0.05, 60, seed) for seed in range(200)]
    found, names, space = fitted(tracks, 0.05)
    estimate = found.force[0].estimate
    assert [names[k] for k in estimate.support] == ["x", "v"]
    error = (estimate.raw * space.to_force[0] + [K, GAMMA]) / (
        estimate.std_error * space.to_force[0]
    )
    assert np.abs(error).max() < 4


def test_noise_of_the_samples_is_found_and_does_not_bias() -> None:
    rng = np.random.default_rng(7)
    records = [
        harmonic(K, GAMMA, A, 0.02, 2500, seed) + 0.01 * rng.standard_normal(2500)
        for seed in range(40)
    ]
    found, names, space = fitted(records, 0.02)
    variance = found.kicks.noise[0] * space.positions.units[0] ** 2
    assert abs(variance - 1e-4) < 4 * 1e-4 * np.sqrt(2 / 1e5) * 3
    estimate = found.force[0].estimate
    assert [names[k] for k in estimate.support] == ["x", "v"]
    error = (estimate.raw * space.to_force[0] + [K, GAMMA]) / (
        estimate.std_error * space.to_force[0]
    )
    assert np.abs(error).max() < 4


def test_diffusion_that_depends_on_position_and_velocity_is_found() -> None:
    """Euler's scheme at a tenth of the sampling interval; its error is far below the others."""
    rng, records, dt, fine = np.random.default_rng(1), 40, 0.05, 0.005
    x, v = np.zeros(records), np.zeros(records)
    samples = np.empty((2500, records))
    for n in range(-500, len(samples)):
        for _ in range(10):
            kick = np.sqrt((0.4 + 0.6 * x**2 + 0.3 * v**2) * fine) * rng.standard_normal(records)
            v = v + (-2 * x - v) * fine + kick
            x = x + v * fine
        if n >= 0:
            samples[n] = x
    found, names, space = fitted(list(samples.T), dt)
    estimate = found.diffusion[0, 0].estimate
    assert [names[k] for k in estimate.support] == ["1", "x^2", "v^2"]
    factor = space.to_diffusion[0, 0]
    error = (estimate.raw * factor - [0.4, 0.6, 0.3]) / (estimate.std_error * factor)
    assert np.abs(error).max() < 4
    force = found.force[0].estimate
    assert [names[k] for k in force.support] == ["x", "v"]


def test_noise_is_measured_right_on_an_uneven_clock() -> None:
    fine = harmonic(K, GAMMA, A, 0.005, 200_000, 5)
    rng = np.random.default_rng(3)
    index = np.cumsum(rng.integers(4, 21, 16_000))
    index = index[index < len(fine)]
    data = Trajectories(
        (fine[index] + 0.01 * rng.standard_normal(len(index)))[:, None],
        0.005 * index,
        np.array([[0, len(index), 0]], dtype=np.int64),
    )
    space = measure_phase_space(data, measure_space(data, (None,)))
    problem = SecondOrderProblem(data, space, force_library(space, 3), BIC)
    kicks, errors = first_kicks(problem)
    unit = space.positions.units[0] ** 2
    assert abs(kicks.noise[0] * unit - 1e-4) < 4 * errors[0] * unit
    assert errors[0] * unit < 2e-5


def test_steps_of_an_integrator_are_no_noise() -> None:
    rng, steps = np.random.default_rng(1), np.empty(20_000)
    x, v = 0.5, 0.0
    for i, kick in enumerate(np.sqrt(0.4 * 0.05) * rng.standard_normal(20_000)):
        steps[i] = x
        x, v = x + v * 0.05, v + (x - x**3 - 0.5 * v) * 0.05 + kick
    found, _, space = fitted([steps], 0.05)
    assert not found.kicks.noise.any()
    assert found.kicks.smoothed
    a = found.kicks.diffusion[0, 0] * space.to_diffusion[0, 0]
    # Sums of neighbours have √(6/n) of the diffusion for an error.
    assert abs(a / 0.4 - 1) < 4 * np.sqrt(6 / 20_000) + 0.01
    # Noise of the same c₀ is still noise.
    positions = harmonic(K, GAMMA, A, 0.05, 20_000, 1)
    positions += np.sqrt(A * 0.05**3 / 24) * rng.standard_normal(20_000)
    assert fitted([positions], 0.05)[0].kicks.noise.any()


def test_the_window_is_that_of_the_sums_where_rounds_end_before_it_settles(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(estimator, "ROUNDS", 1)
    record = harmonic(K, GAMMA, A, 0.02, 5000, 3)
    noisy = record + 0.02 * np.random.default_rng(1).standard_normal(5000)
    found, _, _ = fitted([noisy], 0.02)
    assert found.kicks.noise[0] > 0
    # Residuals are summed up to two lags beyond the whole window.
    assert found.residuals.lags.shape[1] == 2 * found.shape.half + 2


def test_overlapping_windows_do_not_make_residuals_remember_each_other() -> None:
    """Windows at every sample are no new ones: some twenty together say what one does."""
    z = []
    for seed in range(8):
        noise = 0.05 * np.random.default_rng([seed, 1]).standard_normal(2500)
        found, _, _ = fitted([harmonic(K, GAMMA, A, 0.02, 2500, seed) + noise], 0.02)
        assert found.shape.half > 10
        z.append(found.residuals.apart(0, 2 * found.shape.half).lag_one_z)
    assert 0.1 < np.mean(np.square(z)) < 1 + 4 * np.sqrt(2 / 8)


def test_a_short_record_of_two_coordinates_has_no_diffusion_of_many_terms() -> None:
    # 70 terms, 2000 samples: errors of the force that entered the choice gave some 60 terms.
    pair = np.column_stack([harmonic(2.0, 1.0, 1.0, 0.25, 2000, s) for s in (1, 2)])
    found, _, _ = fitted([pair], 0.25, degree=4)
    for (p, q), selected in found.diffusion.items():
        assert selected.estimate.support == ((0,) if p == q else ())
