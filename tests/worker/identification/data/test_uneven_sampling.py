"""Uneven sampling with steps far longer than the process remembers."""

import numpy as np

from worker.identification.data.trajectories import Trajectories


def _poisson_sampled_ou(n: int, mean_step: float, seed: int) -> Trajectories:
    generator = np.random.default_rng(seed)
    steps = generator.exponential(mean_step, n)
    x = np.zeros(n + 1)
    for i, (step, z) in enumerate(zip(steps, generator.standard_normal(n), strict=True)):
        rho = np.exp(-step)
        x[i + 1] = rho * x[i] + np.sqrt(1 - rho**2) * z
    return Trajectories(
        x[:, None], np.concatenate([[0], np.cumsum(steps)]), np.array([[0, n + 1, 0]])
    )


def test_steps_longer_than_half_a_relaxation_time_are_left_out_and_the_rest_is_unbiased(
    fit,
) -> None:
    identified, library, scales = fit(_poisson_sampled_ou(20_000, 0.5, 3))
    drift, diffusion = identified.drift[0].estimate, identified.diffusion[0, 0].estimate
    assert 0.3 < identified.longest_step < 0.8
    assert [library.names[k] for k in drift.support] == ["x"]
    rate, error = (v[0] * scales.unit / scales.time for v in (drift.raw, drift.std_error))
    # The trapezoid's own error, (θΔ)²/12 at most, is below 2 % on the steps that are left.
    assert abs(rate + 1) < 4 * error + 0.02
    assert abs(diffusion.raw[0] * scales.unit**2 / scales.time - 2) < 0.1


def test_an_even_record_keeps_all_its_steps(fit, paths) -> None:
    x = paths("ornstein-uhlenbeck", 20, 0.01, 10_000)[:, ::100]
    data = Trajectories(
        x.reshape(-1, 1),
        np.tile(np.arange(101.0), 20),
        np.array([[101 * r, 101 * r + 101, r] for r in range(20)]),
    )
    identified, _, _ = fit(data)
    assert np.isinf(identified.longest_step)
