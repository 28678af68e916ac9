"""Rounded samples: the law of the rounding's error, and a model that does not depend on it."""

import numpy as np
import pytest
from scipy.signal import lfilter

from worker.identification.data.trajectories import from_arrays
from worker.identification.sums.rounding import own_variance, quantum_of, shared_error


def _ou(n: int, dt: float, seed: int) -> np.ndarray:
    """Samples of dX = −X dt + dW, exact; rms step √dt."""
    rho = np.exp(-dt)
    noise = np.random.default_rng(seed).standard_normal(n)
    return np.asarray(lfilter([np.sqrt((1 - rho**2) / 2)], [1, -rho], noise))


@pytest.mark.parametrize("steps", [0.02, 0.1, 0.5, 1.0, 2.0, 5.0, 20.0])
def test_the_law_of_the_rounding_is_that_of_rounded_walks(steps: float) -> None:
    quantum, n = steps, 400_000
    left = 50 * quantum * np.random.default_rng(1).random(n)
    right = left + np.random.default_rng(2).standard_normal(n)
    errors = [quantum * np.round(x / quantum) - x for x in (left, right)]
    product = errors[0] * errors[1] / (quantum**2 / 12)
    assert abs(product.mean() - shared_error(1.0, quantum)) < 4 * product.std() / np.sqrt(n)
    squares = (right + errors[1] - left - errors[0]) ** 2
    error = squares.std() / np.sqrt(n) / squares.mean()
    # Where hardly a step crosses a boundary the mean square goes with the root of the variance.
    assert own_variance(squares.mean(), quantum) == pytest.approx(1, abs=8 * error + 0.01)


@pytest.mark.parametrize("offset", [0.0, 0.37, 1e4])
@pytest.mark.parametrize("quantum", [0.3, 0.01, 2**-7])
def test_the_quantum_is_read_off_the_values(offset: float, quantum: float) -> None:
    x = offset + np.round(_ou(5_000, 0.05, 0) / quantum) * quantum
    assert quantum_of(from_arrays([x], 0.05)) == pytest.approx(quantum, rel=1e-6)


@pytest.mark.parametrize("quantum", [0.1, 0.02])
def test_the_quantum_of_an_angle_is_read_off_its_wrapped_values(quantum: float) -> None:
    period, generator = 2 * np.pi, np.random.default_rng(3)
    # Several turns; each trajectory has a grid of its own.
    turning = np.cumsum(0.01 + 0.1 * generator.standard_normal((3, 5_000)), axis=1)
    rounded = np.round(turning / quantum) * quantum + generator.random((3, 1))
    wrapped = from_arrays(list(np.mod(rounded, period)), 0.05)
    assert quantum_of(wrapped, period) == pytest.approx(quantum, rel=1e-6)
    # Negative control: the values themselves lie on no grid.
    assert quantum_of(wrapped) == 0


def test_values_that_are_not_rounded_have_no_quantum() -> None:
    x = _ou(5_000, 0.05, 0)
    assert quantum_of(from_arrays([x], 0.05)) == 0
    # One reading between the levels is enough.
    x = np.round(x, 1)
    x[17] += 0.03
    assert quantum_of(from_arrays([x], 0.05)) == 0


@pytest.mark.parametrize("steps", [0.02, 0.3, 1.0, 2.0])
def test_rounding_leaves_the_diffusion_alone(steps: float, fit) -> None:
    quantum, pulls = steps * np.sqrt(0.05), []
    for seed in range(4):
        x = np.round(_ou(10_000, 0.05, seed) / quantum) * quantum
        identified, library, scales = fit(from_arrays([x], 0.05))
        drift, diffusion = identified.drift[0].estimate, identified.diffusion[0, 0].estimate
        assert [library.names[k] for k in drift.support] == ["x"]
        assert [library.names[k] for k in diffusion.support] == ["1"]
        unit = scales.unit**2 / scales.time
        pulls.append((diffusion.raw[0] * unit - 1) / (diffusion.std_error[0] * unit))
    # χ² of four.
    assert (np.array(pulls) ** 2).sum() < 23.5


@pytest.mark.parametrize("steps", [1.15, 1.7])
def test_a_double_well_in_steps_of_a_quantum_keeps_both_wells(steps: float, paths, fit) -> None:
    x = paths("double-well", 20, 0.05, 1_000)
    quantum = steps * np.sqrt((np.diff(x) ** 2).mean())
    rounded = from_arrays(list(np.round(x / quantum) * quantum), 0.05)
    identified, library, scales = fit(rounded)
    estimate = identified.drift[0].estimate
    assert [library.names[k] for k in estimate.support] == ["x", "x^3"]
    for value, error, true in zip(estimate.raw, estimate.std_error, (1.0, -1.0), strict=True):
        factor = scales.unit / scales.time
        assert abs(value * factor - true) < 4 * error * factor
    assert identified.rule.windows.stride == 1
    plain, _, _ = fit(rounded, noise="none")
    unit = scales.unit**2 / scales.time
    assert plain.diffusion[0, 0].estimate.internal[0] * unit > 1.1 * 0.25


def test_noise_beyond_the_rounding_is_found(fit) -> None:
    x = _ou(20_000, 0.05, 5) + 0.2 * np.random.default_rng(6).standard_normal(20_000)
    identified, _, scales = fit(from_arrays([np.round(x, 1)], 0.05))
    assert identified.rounding is None
    variance = identified.noise_variances[0]
    error = identified.noise_error
    assert abs(variance - (0.04 + 0.01 / 12) / scales.unit**2) < 4 * error
    assert error < 0.1 * variance


def test_counts_on_a_grid_are_not_rounded_values(fit) -> None:
    # Jumps of ± q at rates that make b = −x and a = 1.
    quantum, dt, generator = 0.2, 0.05, np.random.default_rng(7)
    x = np.zeros(20_000)
    for n in range(1, x.size):
        up, down = dt / 2 * (1 / quantum**2 + np.array([-1, 1]) * x[n - 1] / quantum)
        x[n] = x[n - 1] + quantum * (generator.poisson(up) - generator.poisson(down))
    identified, _, scales = fit(from_arrays([np.round(x, 6)], dt))
    assert identified.noise_variances[0] == 0
    unit, e = scales.unit**2 / scales.time, identified.diffusion[0, 0].estimate
    # By the law of rounding it would be a tenth smaller, six of these errors.
    assert abs(e.raw[0] * unit - 1) < 4 * e.std_error[0] * unit
