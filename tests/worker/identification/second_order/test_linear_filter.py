"""Likelihood of linear dynamics: that of the normal law of all samples together."""

import numpy as np
import pytest
from scipy.linalg import expm, solve_continuous_lyapunov
from scipy.stats import multivariate_normal

from worker.identification.second_order.filter import PRIOR_VELOCITY_VARIANCE, Positions
from worker.identification.second_order.linear.filter import LinearTerms, pairs_of

FORCE = np.array([[0.1, -2.0, 0.3, -1.0, 0.2], [0.2, -0.1, -3.0, -0.4, -0.5]])
TENSOR, NOISE = np.array([[1.0, 0.3], [0.3, 0.4]]), np.array([0.02, 0.05])


def parameters(force: np.ndarray, tensor: np.ndarray, noise: np.ndarray) -> np.ndarray:
    return np.concatenate([force.ravel(), [tensor[pair] for pair in pairs_of(len(noise))], noise])


def all_terms(order: int, exposure: float = 0.0, d: int = 2) -> LinearTerms:
    size = d * (1 + order * d) + d * (d + 1) // 2 + d
    return LinearTerms(order, d, np.eye(size), (), exposure)


def record(times: np.ndarray, d: int = 2) -> Positions:
    # More than one value of everything, equal steps for a while, and one sample for each block.
    states = np.random.default_rng(3).standard_normal((len(times), d)).cumsum(axis=0) / 3
    n = len(times)
    return Positions(states, times, np.array([[0, n]]), np.arange(n) // 4)


UNEVEN = np.array([0, 0.1, 0.2, 0.3, 0.4, 0.45, 0.8, 0.9, 3.9, 4.0, 4.7, 5.9])


def joint(
    data: Positions, matrix: np.ndarray, tensor: np.ndarray, prior: np.ndarray
) -> tuple[np.ndarray, np.ndarray]:
    """Compute mean and covariance of all states after the first, without noise of samples."""
    n, m = len(data.times) - 1, len(tensor)
    start = np.zeros(m)
    start[:2] = data.positions[0]
    mean, covariance = np.empty((n, m)), np.empty((n, m, n, m))
    rates = matrix[:m, :m]
    law = solve_continuous_lyapunov(rates, -tensor)
    for i, t in enumerate(data.times[1:] - data.times[0]):
        mean[i] = (expm(matrix * t) @ np.append(start, 1))[:m]
        for j, s in enumerate(data.times[1 : i + 2] - data.times[0]):
            # Cov z(t) z(s) = Φ(t − s) Var z(s), which goes from the prior to the stationary law.
            step = expm(rates * s)
            here = expm(rates * (t - s)) @ (law + step @ (prior - law) @ step.T)
            covariance[i, :, j], covariance[j, :, i] = here, here.T
    return mean, covariance


@pytest.mark.parametrize("order", [1, 2])
def test_the_likelihood_is_that_of_all_samples_together(order: int) -> None:
    data, m = record(UNEVEN), 2 * order
    force = FORCE if order == 2 else FORCE[:, :3]
    matrix, tensor, prior = np.zeros((m + 1, m + 1)), np.zeros((m, m)), np.zeros((m, m))
    matrix[: m - 2, 2:m] = np.eye(m - 2)
    matrix[m - 2 : m, m], matrix[m - 2 : m, :m] = force[:, 0], force[:, 1:]
    tensor[m - 2 :, m - 2 :] = TENSOR
    prior[range(m), range(m)] = [*NOISE, PRIOR_VELOCITY_VARIANCE, PRIOR_VELOCITY_VARIANCE][:m]
    mean, covariance = joint(data, matrix, tensor, prior)
    n = len(UNEVEN) - 1
    of_samples = covariance[:, :2, :, :2].reshape(2 * n, 2 * n) + np.diag(np.tile(NOISE, n))
    y, centre = data.positions[1:].ravel(), mean[:, :2].ravel()
    every = multivariate_normal(centre, of_samples).logpdf(y)
    # The second sample only tells the velocity.
    first = multivariate_normal(centre[:2], of_samples[:2, :2]).logpdf(y[:2])
    terms = all_terms(order)
    found = terms.log_likelihood(data, parameters(force, TENSOR, NOISE))
    assert found == pytest.approx(every - first, rel=1e-9)
    other = terms.log_likelihood(data, parameters(1.01 * force, TENSOR, NOISE))
    assert abs(other - found) > 1e-4


def test_means_over_an_exposure_have_the_covariances_of_averaged_brownian_motion() -> None:
    data, exposure, a, r = record(1.0 * np.array([0, 1, 2, 3, 5, 6]), 1), 0.6, 0.7, 0.05
    ends = data.times[1:]
    earlier = np.minimum(ends[:, None], ends)
    # x(0) has variance one; two means share what comes before the middle of the first.
    covariance = 1 + a * (earlier - exposure / 2)
    covariance[np.diag_indices(5)] = 1 + a * (ends - exposure + exposure / 3) + r
    y = data.positions[1:]
    every = multivariate_normal(np.zeros(5), covariance).logpdf(y.ravel())
    first = multivariate_normal(0, covariance[0, 0]).logpdf(y[0])
    along = np.array([0, 0, 0, a, r])
    found = all_terms(2, exposure, 1).log_likelihood(data, along)
    assert found == pytest.approx(every - first, rel=1e-9)


@pytest.mark.parametrize(("order", "exposure"), [(1, 0.0), (2, 0.0), (2, 0.08)])
def test_the_score_is_the_derivative_of_the_likelihood(order: int, exposure: float) -> None:
    # Four hundred equal steps and some others: the covariance settles, and begins anew.
    steps = np.where(np.arange(430) < 400, 0.1, np.random.default_rng(0).random(430))
    data, terms = record(np.cumsum(steps)), all_terms(order, exposure)
    force = FORCE[:, : 1 + 2 * order].copy()
    if exposure:
        # What moves stands in place of the velocities, and nothing depends on the integral.
        force[:, 1:3] = 0.0
    at = parameters(force, TENSOR, NOISE)
    found = terms.likelihood(data, at)
    assert found.value == terms.log_likelihood(data, at)
    differences = np.empty(terms.size)
    for i, step in enumerate(1e-5 * np.eye(terms.size) * np.abs(at).clip(min=0.01)):
        values = [terms.log_likelihood(data, at + sign * step) for sign in (1, -1)]
        differences[i] = (values[0] - values[1]) / (2 * step[i])
    # Central differences err by 10⁻⁵ squared, and by rounding of 10⁻¹³ over the step.
    assert found.score == pytest.approx(differences, rel=1e-4, abs=1e-3)


def test_the_information_is_the_scatter_of_the_score() -> None:
    rng, h, n_records, n = np.random.default_rng(1), 0.5, 300, 12
    force, a, r = np.array([0.0, -1.0, -1.5]), 0.8, 0.05
    rates, tensor = np.array([[0, 1.0], force[1:]]), np.diag([0, a])
    block = expm(np.block([[-rates, tensor], [np.zeros((2, 2)), rates.T]]) * h)
    step = block[2:, 2:].T
    root = np.linalg.cholesky(step @ block[:2, 2:])
    scores, terms, at = [], all_terms(2, d=1), np.array([*force, a, r])
    for _ in range(n_records):
        z, y = np.array([0.0, rng.standard_normal()]), np.empty(n)
        for i in range(n):
            y[i] = z[0] + np.sqrt(r) * rng.standard_normal()
            z = step @ z + root @ rng.standard_normal(2)
        data = Positions(y, h * np.arange(n), np.array([[0, n]]), np.zeros(n, dtype=np.int64))
        found = terms.likelihood(data, at)
        scores.append(found.score / np.sqrt(np.diag(found.information)))
    squares = np.square(scores)
    error = squares.std(axis=0) / np.sqrt(n_records)
    assert np.all(np.abs(squares.mean(axis=0) - 1) < 4 * error + 0.02)


def test_steps_are_told_apart_by_a_ten_millionth() -> None:
    data = record(np.array([0, 1, 2 + 1e-9, 3, 5, 6.0]))
    kinds, lengths = data.steps
    assert kinds.tolist() == [0, 0, 0, 0, 1, 0]
    assert lengths == pytest.approx([1, 2])


def test_many_lengths_of_steps_are_rounded_without_harm() -> None:
    rng, rates = np.random.default_rng(0), np.array([[0, 1.0], [-2.0, -1.0]])
    law = solve_continuous_lyapunov(rates, -np.diag([0, 1.0]))
    # Without noise and at a tenth of the velocity's memory each step's length counts most.
    times, z, y = np.cumsum(rng.uniform(0.05, 0.15, 1500)), rng.standard_normal(2), np.zeros(1500)
    for i in range(1, 1500):
        step = expm(rates * (times[i] - times[i - 1]))
        root = np.linalg.cholesky(law - step @ law @ step.T)
        z = step @ z + root @ rng.standard_normal(2)
        y[i] = z[0]
    cut = np.array([[first, min(first + 400, 1500)] for first in range(0, 1500, 400)])
    blocks, terms = np.zeros(1500, dtype=np.int64), all_terms(2, d=1)
    whole = Positions(y, times, cut, blocks)
    assert 500 < len(whole.steps[1]) <= 1001
    at, exact = np.array([0, -2.0, -1.0, 1.0, 0.0]), np.zeros(5)
    for first, stop in cut.tolist():
        part = slice(first, stop)
        one = Positions(y[part], times[part], np.array([[0, stop - first]]), blocks[part])
        assert len(one.steps[1]) < 500
        exact += terms.likelihood(one, at).score
    found = terms.likelihood(whole, at)
    errors = np.sqrt(np.diag(found.information))[:4]
    # The maximum moves by so many standard errors.
    assert np.abs((found.score - exact)[:4] / errors).max() < 0.05
