"""Measurement noise and coarse sampling: the drift and diffusion are those of the process."""

from dataclasses import replace

import numpy as np
import pytest
from scipy.signal import lfilter

from worker.identification.data.library import make_library
from worker.identification.data.trajectories import from_arrays, measure_scales
from worker.identification.findings.measurement import noise_not_excluded
from worker.identification.sums.measurement_noise import noise_correction


def _values(fitted) -> tuple[dict[str, tuple[float, float]], dict[str, tuple[float, float]], float]:
    identified, library, scales = fitted
    out = []
    for selected, factor in (
        (identified.drift[0], scales.unit / scales.time),
        (identified.diffusion[0, 0], scales.unit**2 / scales.time),
    ):
        e = selected.estimate
        out.append(
            {
                library.names[k]: (v * factor, s * factor)
                for k, v, s in zip(e.support, e.raw, e.std_error, strict=True)
            }
        )
    return out[0], out[1], identified.noise_variances[0] * scales.unit**2


@pytest.mark.slow
@pytest.mark.parametrize("deviation", [0.02, 0.05, 0.1])
def test_noise_is_found_and_corrected(deviation: float, paths, fit) -> None:
    x = paths("double-well", 20, 0.01, 10_000)
    y = x + deviation * np.random.default_rng(0).standard_normal(x.shape)
    drift, diffusion, variance = _values(fit(from_arrays(list(y), 0.01)))
    assert set(drift) == {"x", "x^3"}
    assert set(diffusion) == {"1"}
    for (value, error), true in ((drift["x"], 1.0), (drift["x^3"], -1.0), (diffusion["1"], 0.25)):
        assert abs(value - true) < 4 * error
    # 5 % at T = 24 000 is 17 % here, at T = 2 000; the error that is claimed must be as small.
    assert diffusion["1"][1] < 0.17 * 0.25
    assert variance == pytest.approx(deviation**2, rel=0.05 if deviation > 0.02 else 0.1)


def test_drift_behind_noise_is_known_as_well_as_the_samples_before_let_it(paths, fit) -> None:
    x = paths("double-well", 20, 0.01, 10_000)
    y = x + 0.2 * np.random.default_rng(0).standard_normal(x.shape)
    drift, _, _ = _values(fit(from_arrays(list(y), 0.01)))
    functions = np.stack([x.ravel(), x.ravel() ** 3])
    bounds = np.sqrt(np.diag(np.linalg.inv(functions @ functions.T * 0.01 / 0.25)))
    for bound, (term, true) in zip(bounds, (("x", 1.0), ("x^3", -1.0)), strict=True):
        value, error = drift[term]
        assert abs(value - true) < 4 * error
        # With the sample a stride before as instrument it is 1.49 and 1.64 bounds.
        assert error < 1.42 * bound


def test_a_diffusion_that_noise_hides_in_every_increment_is_found(fit) -> None:
    # A hundred and eighty times the variance of an increment; a is 12 errors, by its information.
    rho, generator = np.exp(-0.0005), np.random.default_rng(10)
    x = lfilter([np.sqrt((1 - rho**2) / 2)], [1, -rho], generator.standard_normal(200_000))
    y = x + 0.3 * generator.standard_normal(x.size)
    drift, diffusion, _ = _values(fit(from_arrays([y], 0.0005)))
    for (value, error), true in ((drift["x"], -1.0), (diffusion["1"], 1.0)):
        assert abs(value - true) < 4 * error
        assert error < 0.2


@pytest.mark.parametrize("deviation", [0.2, 0.0])
def test_noise_is_found_between_coarse_samples(deviation: float, fit) -> None:
    # At 0.4 relaxation times the slope that the trapezoid fits takes up most of the correlation.
    rho, generator = np.exp(-0.4), np.random.default_rng(9)
    x = lfilter([np.sqrt((1 - rho**2) / 2)], [1, -rho], generator.standard_normal(10_000))
    y = x + deviation * generator.standard_normal(x.size)
    _, diffusion, variance = _values(fit(from_arrays([y], 0.4)))
    value, error = diffusion["1"]
    assert abs(value - 1.0) < 4 * error
    assert (variance > 0) == (deviation > 0)
    plain, _, _ = fit(from_arrays([y], 0.4), noise="none")
    assert plain.raw[0].lag_one_z > -4


def test_noise_wider_than_the_first_kernels_is_found_in_short_records(fit) -> None:
    """s² of 1000 samples is known to a fifth. A third of the records lost it to narrow kernels."""
    rate, s = 0.15, 0.3
    for seed in range(8):
        random = np.random.default_rng(seed)
        steps = np.sqrt(1 - np.exp(-2 * rate)) * random.standard_normal((10, 300))
        x = lfilter([1], [1, -np.exp(-rate)], steps, axis=1)[:, 200:]
        y = x + s * random.standard_normal(x.shape)
        data = from_arrays(list(y), rate)
        _, _, variance = _values(fit(data, noise="corrected", library={"polynomial_degree": 1}))
        assert variance == pytest.approx(s**2, abs=4 * s**2 / 5)


@pytest.mark.parametrize("dt", [0.05, 0.3])
def test_noise_that_instrument_and_increment_share_is_taken_off(dt: float, fit) -> None:
    """χ² of all coefficients at the truth, (M49), with the noisy sample itself as instrument."""
    drift, diffusion, without = [], [], []
    for seed in range(4):
        rho, generator = np.exp(-dt), np.random.default_rng([seed, 21])
        kicks = np.sqrt((1 - rho**2) / 2) * generator.standard_normal(10_000)
        y = lfilter([1.0], [1, -rho], kicks) + 0.2 * generator.standard_normal(10_000)
        fitted, library, scales = fit(from_arrays([y], dt), noise="corrected")
        assert fitted.rule.own > 0.5
        state = np.linspace(-1, 1, 99)
        functions = library.internal(state)
        b = -(scales.origin / scales.unit + state) * dt
        true = np.linalg.lstsq(functions, b, rcond=None)[0]
        a = np.linalg.lstsq(functions, np.full(99, dt / scales.unit**2), rcond=None)[0]
        equations, v = fitted.equations, fitted.covariances
        known = [fitted.drift[0].estimate]
        statistics = equations.statistics
        ignored = replace(
            equations,
            statistics=replace(statistics, derived=tuple(0 * d for d in statistics.derived)),
        )

        def square(found, coefficients) -> float:
            left = found.score - found.information @ coefficients
            return float(left @ np.linalg.solve(found.information, left)) / len(coefficients)

        drift.append(square(equations.of_drift(0, v), true))
        of_diffusion = equations.of_diffusion((0, 0), {(0, 0): 1.0}, known, v)[0]
        diffusion.append(square(of_diffusion, a))
        without.append(square(ignored.of_drift(0, v), true))
    # χ² of 20 degrees of freedom over their number.
    for found in (drift, diffusion):
        assert np.mean(found) < 1 + 4 * np.sqrt(2 / 20)
    # Negative control: as if they shared none.
    assert np.mean(without) > 1 + 4 * np.sqrt(2 / 20)


def test_a_noisy_sample_tells_more_of_coarse_increments_than_the_one_before(paths, fit) -> None:
    x = paths("double-well", 4, 0.3, 3_000, substeps=100)
    y = x + 0.05 * np.random.default_rng(0).standard_normal(x.shape)
    drift, _, _ = _values(fit(from_arrays(list(y), 0.3), noise="corrected"))
    functions = np.stack([x.ravel(), x.ravel() ** 3])
    bounds = np.sqrt(np.diag(np.linalg.inv(functions @ functions.T * 0.3 / 0.25)))
    for bound, term in zip(bounds, ("x", "x^3"), strict=True):
        # With the sample before as instrument it is 2.9 and 3.3.
        assert drift[term][1] < 2.4 * bound


def test_noise_that_is_not_excluded_is_said_between_coarse_samples(fit) -> None:
    above, warned = [], 0
    for seed in range(16):
        rho, generator = np.exp(-0.3), np.random.default_rng([seed, 22])
        kicks = np.sqrt((1 - rho**2) / 2) * generator.standard_normal(5_000)
        y = lfilter([1.0], [1, -rho], kicks) + 0.1 * generator.standard_normal(5_000)
        fitted, _, scales = fit(from_arrays([y], 0.3))
        if fitted.not_excluded:
            above.append(fitted.not_excluded * scales.unit**2 > 0.01)
            warned += bool(list(noise_not_excluded(fitted, fitted.equations.problem)))
    # The limit is one of 95 %.
    assert len(above) >= 8
    assert np.mean(above) > 0.95 - 3 * np.sqrt(0.05 / len(above))
    assert warned > len(above) / 2


def test_fine_records_without_noise_have_no_warning_of_it(paths, fit) -> None:
    for x in paths("ornstein-uhlenbeck", 8, 0.02, 10_000):
        fitted, _, _ = fit(from_arrays([x], 0.02))
        assert not list(noise_not_excluded(fitted, fitted.equations.problem))


def test_uncorrected_the_same_data_are_off_by_more_than_half(paths, fit) -> None:
    x = paths("double-well", 20, 0.01, 10_000)
    y = x + 0.1 * np.random.default_rng(0).standard_normal(x.shape)
    _, diffusion, _ = _values(fit(from_arrays(list(y), 0.01), noise="none"))
    assert diffusion["1"][0] > 1.5 * 0.25


def test_clean_data_are_left_alone(paths, fit) -> None:
    _, _, variance = _values(
        fit(from_arrays(list(paths("ornstein-uhlenbeck", 20, 0.01, 10_000)), 0.01))
    )
    assert variance == 0


def _exposed(share: float, seed: int) -> np.ndarray:
    """20 000 samples of an Ornstein–Uhlenbeck process (rate 1, a = 2) every 0.05.

    Each is the mean over this share of the interval.
    """
    noise, rho = np.random.default_rng(seed).standard_normal(20_000 * 20), np.exp(-0.05 / 20)
    fine = lfilter([np.sqrt(1 - rho**2)], [1, -rho], noise).reshape(20_000, 20)
    return np.asarray(fine[:, : max(1, round(20 * share))].mean(axis=1))


@pytest.mark.slow
@pytest.mark.parametrize("share", [1.0, 0.5])
def test_motion_blur_is_found_and_corrected(share: float, fit) -> None:
    fitted = fit(from_arrays([_exposed(share, 3)], 0.05))
    drift, diffusion, variance = _values(fitted)
    for (value, error), true in ((drift["x"], -1.0), (diffusion["1"], 2.0)):
        assert abs(value - true) < 4 * error
    assert fitted[0].exposure == pytest.approx(share, abs=0.3)
    assert variance == 0
    # What is not corrected is too small by more than the error that is claimed.
    _, plain, _ = _values(fit(from_arrays([_exposed(share, 3)], 0.05), noise="none"))
    assert plain["1"][0] < 2.0 - 4 * diffusion["1"][1]


def test_samples_of_an_instant_and_smooth_paths_are_not_called_blurred(fit) -> None:
    assert fit(from_arrays([_exposed(0.0, 4)], 0.05))[0].exposure == 0
    filtered = lfilter([0.7], [1, -0.3], _exposed(0.0, 5))
    assert fit(from_arrays([filtered], 0.05))[0].exposure == 0


def test_noise_and_coarse_sampling_together(paths, fit) -> None:
    x = paths("double-well", 20, 0.01, 10_000)[:, ::5]
    y = x + 0.1 * np.random.default_rng(1).standard_normal(x.shape)
    drift, diffusion, variance = _values(fit(from_arrays(list(y), 0.05)))
    assert set(drift) == {"x", "x^3"}
    for (value, error), true in ((drift["x"], 1.0), (drift["x^3"], -1.0), (diffusion["1"], 0.25)):
        assert abs(value - true) < 4 * error + 0.01 * abs(true)
    assert variance == pytest.approx(0.01, rel=0.1)


@pytest.mark.slow
def test_how_the_diffusion_varies_is_known_through_noise_as_well_as_the_instrument_lets_it(
    paths, fit
) -> None:
    x = paths("multiplicative", 40, 0.05, 2_000)
    y = x + 0.1 * np.random.default_rng(2).standard_normal(x.shape)
    drift, diffusion, _ = _values(fit(from_arrays(list(y), 0.05)))
    assert set(drift) == {"x"}
    assert set(diffusion) == {"1", "x^2"}
    for (value, error), true in (
        (drift["x"], -2.0),
        (diffusion["1"], 0.25),
        (diffusion["x^2"], 0.25),
    ):
        assert abs(value - true) < 4 * error
    # The Cramér–Rao bound of x^2 is 11 % here and the instrument, a noisy sample before, knows 0.7
    # of the state's square; by differences in which the noise cancels it is 31 %.
    assert diffusion["x^2"][1] < 0.23 * 0.25


def test_corrected_functions_average_to_the_functions() -> None:
    x = np.random.default_rng(0).normal(0, 0.6, 1000)
    library = make_library((measure_scales(from_arrays([x], 1.0)),))
    generator, variance = np.random.default_rng(1), 0.04
    y = 0.3 + np.sqrt(variance) * generator.standard_normal(400_000)
    corrected = library.internal(y) @ noise_correction(library, variance).T
    error = corrected.std(axis=0) / np.sqrt(len(y))
    assert np.all(
        np.abs(corrected.mean(axis=0) - library.internal(np.array([0.3]))[0]) < 4.5 * error + 1e-12
    )


def test_heavy_tailed_increments_that_persist_are_not_called_blurred(fit) -> None:
    jumps = np.random.default_rng(7).standard_t(3, 20_000)
    persisting = lfilter([1, 0.2], [1], jumps)
    assert fit(from_arrays([lfilter([1], [1, -0.99], persisting)], 0.01))[0].exposure == 0


def test_values_rounded_to_three_steps_keep_their_diffusion(fit) -> None:
    noise, rho = np.random.default_rng(8).standard_normal(60_000), np.exp(-0.001)
    x = lfilter([np.sqrt((1 - rho**2) / 2)], [1, -rho], noise)  # rate 1, a = 1, rms step 0.032
    _, diffusion, _ = _values(fit(from_arrays([np.round(x, 1)], 0.001)))
    assert abs(diffusion["1"][0] - 1.0) < 4 * diffusion["1"][1]
    _, plain, _ = _values(fit(from_arrays([np.round(x, 1)], 0.001), noise="none"))
    assert plain["1"][0] > 2
