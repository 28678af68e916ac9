"""Quasi-likelihood of positions: exact for linear forces, and maximal where it should be."""

import numpy as np
from scipy.linalg import expm

from tests.worker.identification.second_order.paths import harmonic, oscillators
from worker.identification.regression import solve
from worker.identification.second_order.filter import (
    PRIOR_VELOCITY_VARIANCE,
    Positions,
    Terms,
    likelihood,
    log_likelihood,
    monomials,
)
from worker.identification.second_order.scoring import force_equations, polished, scored

TEN = np.array([(j, d - j) for d in range(4) for j in range(d, -1, -1)])
LINEAR, CONSTANT = np.array([[1, 0], [0, 1]]), np.array([[0, 0]])
# Van der Pol's oscillator, μ = 2.
FORCE, A, NOISE, DT = np.array([0, -1, 2, 0, 0, 0, 0, -2, 0, 0.0]), 0.2, 1e-4, 0.04


def van_der_pol(n_records: int, n: int) -> np.ndarray:
    paths = oscillators(lambda x, v: 2 * (1 - x**2) * v - x, lambda *_: A, DT, n, n_records)
    noise = np.random.default_rng(0).standard_normal(paths.shape)
    return np.asarray(paths + np.sqrt(NOISE) * noise)


def record(*segments: np.ndarray, dt: float = DT, n_blocks: int = 1) -> Positions:
    stops = np.cumsum([len(s) for s in segments])
    n = int(stops[-1])
    return Positions(
        np.concatenate(segments),
        np.arange(n) * dt,
        np.stack([stops - [len(s) for s in segments], stops], axis=1),
        np.arange(n) * n_blocks // n,
    )


def exact(data: Positions, k: float, gamma: float, a: float, r: float) -> float:
    """Compute the log-likelihood of all but each segment's first two samples by Kalman's filter."""
    drift, noise, value = np.array([[0, 1.0], [-k, -gamma]]), np.diag([0, a]), 0.0
    for start, stop in data.segments:
        mean = np.array([data.positions[start], 0.0])
        covariance = np.diag([r, PRIOR_VELOCITY_VARIANCE])
        for i in range(start + 1, stop):
            dt = data.times[i] - data.times[i - 1]
            block = expm(np.block([[-drift, noise], [np.zeros((2, 2)), drift.T]]) * dt)
            step = block[2:, 2:].T
            mean = step @ mean
            covariance = step @ covariance @ step.T + step @ block[:2, 2:]
            e, s = data.positions[i] - mean[0], covariance[0, 0] + r
            if i > start + 1:
                value -= (np.log(2 * np.pi * s) + e**2 / s) / 2
            gain = covariance[:, 0] / s
            mean = mean + gain * e
            covariance = covariance - np.outer(gain, gain) * s
    return value


def test_the_likelihood_of_a_harmonic_oscillator_is_exact_at_uneven_steps_and_gaps() -> None:
    kept = np.random.default_rng(0).choice(3000, 300, replace=False)
    kept.sort()
    data = Positions(
        harmonic(4.0, 1.0, 1.0, 0.02, 3000, 0)[kept],
        0.02 * kept,
        np.array([[0, 120], [125, 300]]),
        np.zeros(300, dtype=np.int64),
    )
    for r in (0.0, 0.01):
        value = log_likelihood(data, monomials(LINEAR, CONSTANT, r), np.array([-4.0, -1.0, 0.8]))
        # Off by 0.013 for S of some 10⁻⁵; parameters one standard error away differ by 0.5.
        assert abs(value - exact(data, 4.0, 1.0, 0.8, r)) < 0.05


def test_friction_within_one_step_costs_no_bias_of_the_diffusion() -> None:
    # A step of 0.02 with friction 10, which is taken at once. Where variances are 1 % too small,
    # diffusion comes out 1 % too large, as it did by a rule of fourth order.
    n, k, gamma, a = 2000, 4.0, 10.0, 1.0
    data = Positions(
        harmonic(k, gamma, a, 0.02, n, 0),
        0.02 * np.arange(n),
        np.array([[0, n]]),
        np.zeros(n, dtype=np.int64),
    )
    found = log_likelihood(data, monomials(LINEAR, CONSTANT, 0.0), np.array([-k, -gamma, 0.5 * a]))
    # With half the diffusion, variances that are off by δ count n δ / 2.
    assert abs(found - exact(data, k, gamma, 0.5 * a, 0.0)) < 3e-4 * n / 2


def test_the_score_is_the_derivative_of_the_likelihood() -> None:
    rng = np.random.default_rng(0)
    y = van_der_pol(1, 300)[0]
    basis = np.eye(10) + 0.1 * rng.standard_normal((10, 10))
    terms = Terms(TEN, basis, np.array([[0, 0], [1, 1], [0, 2]]), np.eye(3), None)
    at = np.concatenate([np.linalg.solve(basis.T, FORCE), [0.3, 0.01, 0.02, 2e-4]])
    found = likelihood(record(y[:140], y[140:], n_blocks=5), terms, at)
    for i in range(terms.size):
        step = np.zeros(terms.size)
        step[i] = 1e-5 * max(abs(at[i]), 0.1) if i < terms.size - 1 else 1e-8
        data = record(y[:140], y[140:])
        ahead, behind = (log_likelihood(data, terms, at + s, found.substeps) for s in (step, -step))
        assert abs((ahead - behind) / (2 * step[i]) - found.score[i]) < 1e-6 * max(
            abs(found.score[i]), 100
        )


def test_explosive_parameters_have_no_likelihood() -> None:
    data, terms = record(van_der_pol(1, 300)[0]), monomials(TEN, CONSTANT, 0.0)
    rng = np.random.default_rng(0)
    for scale in (1e1, 1e3, 1e6, 1e200):
        at = np.append(scale * rng.standard_normal(10), 1.0)
        at[9] = abs(at[9])  # v^3 drives v to infinity
        assert log_likelihood(data, terms, at) == -np.inf
        found = likelihood(data, terms, at)
        assert found.value == -np.inf
        assert not found.score.any()
        # The scoring says so, and stays where it is.
        assert not scored(data, terms, at).converged
    assert log_likelihood(data, terms, np.append(FORCE, -1.0)) == -np.inf
    unknown = monomials(TEN, CONSTANT, None)
    assert log_likelihood(data, unknown, np.array([*FORCE, 1.0, -1e-3])) == -np.inf


def test_blind_estimates_of_van_der_pol_are_unbiased_and_their_errors_right() -> None:
    z = []
    terms = monomials(TEN, CONSTANT, None)
    for y in van_der_pol(24, 1000):
        found = polished(record(y), terms)
        assert found.converged
        errors = np.sqrt(np.diag(np.linalg.inv(found.likelihood.information)))
        z.append((found.parameters - [*FORCE, A, NOISE]) / errors)
    # Means of 24 standard normals, and their mean squares, within four of their standard errors.
    assert np.abs(np.mean(z, axis=0)).max() < 4 / np.sqrt(24)
    assert np.abs(np.mean(np.square(z), axis=0) - 1).max() < 4 * np.sqrt(2 / 24)


def test_normal_equations_have_diffusion_and_noise_profiled_out() -> None:
    data = record(van_der_pol(1, 1000)[0], n_blocks=10)
    found = polished(data, monomials(TEN, CONSTANT, None))
    equations = force_equations(found)
    solution = solve(equations, np.eye(10))
    assert solution is not None
    whole = np.linalg.inv(found.likelihood.information)[:10, :10]
    errors = np.sqrt(np.diag(whole))
    np.testing.assert_allclose(solution.covariance / whole, 1, rtol=1e-6)
    # Scoring stops within a few hundredths of a standard error.
    assert np.abs((solution.values - found.force) / errors).max() < 0.05
    np.testing.assert_allclose(equations.block_score.sum(axis=0), equations.score)
    np.testing.assert_allclose(equations.block_information.sum(axis=0), equations.information)
    np.testing.assert_allclose(equations.design.T @ equations.design, equations.information)
    # The truth costs hardly more than the maximum: 2 Δ log L is χ² of as many terms.
    off = solution.values - FORCE
    assert off @ equations.information @ off < 10 + 4 * np.sqrt(20)
