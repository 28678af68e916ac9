"""Random effects from scores and informations, against closed forms and dense matrices."""

import numpy as np
import pytest
from numpy.typing import NDArray
from scipy.optimize import brentq
from scipy.signal import lfilter
from scipy.stats import chi2

from worker.population.random_effects import (
    Scores,
    heterogeneity,
    outliers,
    own_estimates,
    random_effects,
    spread_of,
    student,
)

Floats = NDArray[np.float64]
CONFIDENCE = 0.95


def records(
    count: int, k: int, seed: int, between: float = 0.7, mean: float = 0.0
) -> tuple[Scores, Floats]:
    """Scores of records with informations of their own, and their coefficients."""
    rng = np.random.default_rng(seed)
    root = rng.normal(size=(count, k, k)) + 2 * np.eye(k)
    information = root @ root.swapaxes(1, 2)
    c = mean + between * rng.normal(size=(count, k))
    noise = np.einsum("nij,nj->ni", np.linalg.cholesky(information), rng.normal(size=(count, k)))
    return Scores.alone(information, np.einsum("nij,nj->ni", information, c) + noise), c


def balanced(count: int = 30, variance: float = 0.25, seed: int = 3) -> tuple[Scores, Floats]:
    """Records of one coefficient with equal errors, and their estimates."""
    y = 2 + 1.5 * np.random.default_rng(seed).normal(size=count)
    information = np.full((count, 1, 1), 1 / variance)
    return Scores.alone(information, y[:, None] / variance), y


def test_of_equal_records_everything_is_the_analysis_of_variance() -> None:
    scores, y = balanced()
    n, total = len(y), float(y.var(ddof=1))
    found = random_effects(scores)
    assert found.between[0, 0] == pytest.approx(total - 0.25, rel=1e-4)
    assert found.mean[0] == pytest.approx(y.mean(), rel=1e-9)
    # Knapp and Hartung: the scatter itself, whatever the variance between records is.
    assert found.covariance[0, 0] == pytest.approx(total / n, rel=1e-6)
    factor = 1 - 0.25 / total
    np.testing.assert_allclose(found.shrunken[:, 0], y.mean() + factor * (y - y.mean()), rtol=1e-4)
    q = heterogeneity(scores, np.ones(1))
    # Of equal records the generalised Q is Cochran's, and I² is 1 − (N − 1)/Q.
    assert q.statistic == pytest.approx((n - 1) * total / 0.25)
    assert (q.degrees, q.p_value) == (pytest.approx(n - 1), chi2.sf(q.statistic, q.degrees))
    share = spread_of(scores, np.ones(1), CONFIDENCE, q.p_value).share
    assert share == pytest.approx(1 - (n - 1) / q.statistic, rel=1e-3)
    values, variances = own_estimates(scores, np.ones(1))
    np.testing.assert_allclose(values, y)
    np.testing.assert_allclose(variances, 0.25)


def test_the_interval_of_the_standard_deviation_is_that_of_the_profile() -> None:
    scores, y = balanced()
    n, total = len(y), float(y.var(ddof=1))

    def deviance(sd: float) -> float:
        v = sd**2 + 0.25
        return (n - 1) * (np.log(v / total) + total / v - 1) - student(CONFIDENCE, n) ** 2

    best = np.sqrt(total - 0.25)
    found = spread_of(scores, np.ones(1), CONFIDENCE, 0.0)
    expected = (brentq(deviance, 0.1, best), brentq(deviance, best, 10.0))
    assert found.value == pytest.approx(best, rel=1e-4)
    assert found.interval == pytest.approx(expected, rel=5e-3)


def restricted(scores: Scores, between: Floats) -> float:
    """Restricted log-likelihood of the records' own estimates, with dense matrices."""
    count, k = scores.score.shape
    noise = np.linalg.inv(scores.information)
    y = np.concatenate([v @ s for v, s in zip(noise, scores.score, strict=True)])
    design = scores.design.reshape(count * k, -1)
    v = np.zeros((count * k, count * k))
    for n in range(count):
        v[n * k : (n + 1) * k, n * k : (n + 1) * k] = noise[n] + between
    inverse = np.linalg.inv(v)
    information = design.T @ inverse @ design
    left = y - design @ np.linalg.solve(information, design.T @ inverse @ y)
    dets = np.linalg.slogdet(v)[1] + np.linalg.slogdet(information)[1]
    return float(-0.5 * (dets + left @ inverse @ left))


@pytest.mark.parametrize("states", [0, 2])
def test_the_covariance_between_records_is_that_of_the_largest_restricted_likelihood(
    states: int,
) -> None:
    scores, _ = records(25, 2, seed=5)
    first = np.random.default_rng(6).normal(size=(25, states))
    scores = Scores(scores.information, scores.score, first, np.array([1.0, 0.5]))
    found = random_effects(scores)
    top = restricted(scores, found.between)
    rng, root = np.random.default_rng(0), np.linalg.cholesky(found.between)
    for _ in range(40):
        other = root + rng.normal(size=(2, 2)) * 0.1
        assert restricted(scores, other @ other.T) < top + 1e-6
    if states:
        return
    # The constant between both likelihoods is the same at any covariance.
    wide = np.diag([2.0, 0.5])
    from_scores = found.log_likelihood - random_effects_value(scores, wide)
    assert from_scores == pytest.approx(top - restricted(scores, wide), abs=1e-6)


def random_effects_value(scores: Scores, between: Floats) -> float:
    """Restricted log-likelihood of the scores themselves, by (M62), one record after the other."""
    k = scores.score.shape[1]
    pairs = list(zip(scores.information, scores.score, strict=True))
    shrink = [np.linalg.inv(np.eye(k) + p @ between) for p, _ in pairs]
    total = sum(w @ p for w, (p, _) in zip(shrink, pairs, strict=True))
    mean = np.linalg.solve(total, sum(w @ s for w, (_, s) in zip(shrink, pairs, strict=True)))
    value = -0.5 * np.linalg.slogdet(total)[1] + 0.5 * np.linalg.slogdet(_mean(scores))[1]
    for w, (p, s) in zip(shrink, pairs, strict=True):
        left = s - p @ mean
        value += 0.5 * (np.linalg.slogdet(w)[1] + left @ between @ w @ left)
        value += mean @ s - 0.5 * mean @ p @ mean
    return float(value)


def _mean(scores: Scores) -> Floats:
    """Mean information: the coordinates in which it is 1 shift the likelihood by its size."""
    return np.asarray(scores.information.mean(axis=0))


def test_the_order_of_records_and_the_coordinates_do_not_matter() -> None:
    scores, _ = records(20, 3, seed=1)
    order = np.random.default_rng(2).permutation(20)
    basis = np.array([[1e3, 0.2, 0.0], [0.0, 1.0, 0.3], [0.1, 0.0, 1e-3]])
    one, other = (
        random_effects(scores),
        random_effects(Scores.alone(scores.information[order], scores.score[order]).along(basis)),
    )
    np.testing.assert_allclose(basis @ other.mean, one.mean, rtol=1e-3, atol=1e-3)
    np.testing.assert_allclose(basis @ other.between @ basis.T, one.between, rtol=0.01, atol=2e-3)
    np.testing.assert_allclose(other.shrunken @ basis.T, one.shrunken[order], rtol=0.02, atol=2e-3)


def test_a_record_that_knows_nothing_changes_nothing() -> None:
    scores, _ = records(20, 2, seed=7)
    with_empty = Scores.alone(
        np.concatenate([scores.information, np.zeros((5, 2, 2))]),
        np.concatenate([scores.score, np.zeros((5, 2))]),
    )
    one, other = random_effects(scores), random_effects(with_empty)
    np.testing.assert_allclose(other.mean, one.mean, rtol=1e-3)
    np.testing.assert_allclose(other.between, one.between, rtol=1e-2)
    np.testing.assert_allclose(other.shrunken[-1], one.mean, rtol=1e-2)
    tests = [heterogeneity(each, np.array([1.0, 0.0])) for each in (scores, with_empty)]
    assert tests[1].statistic == pytest.approx(tests[0].statistic, rel=1e-3)
    assert tests[1].degrees == pytest.approx(tests[0].degrees, rel=1e-3)
    assert np.isnan(own_estimates(with_empty, np.array([1.0, 0.0]))[0][-1])


def test_a_record_that_stands_apart_is_named_and_others_seldom() -> None:
    named = 0
    for seed in range(40):
        scores, _ = records(40, 2, seed=seed)
        named += outliers(scores) != ()
        shifted = scores.score.copy()
        shifted[17] += scores.information[17] @ np.array([30.0, 30.0])
        found = outliers(Scores.alone(scores.information, shifted))
        assert found[0].record == 17
        assert found[0].p_value < 0.05
    # By chance in one set of 20: of 40 sets more than seven are once in a thousand.
    assert named <= 7


@pytest.mark.parametrize("between", [0.0, 0.7])
def test_intervals_hold_the_truth_as_often_as_they_say(between: float) -> None:
    held_mean = held_spread = 0
    direction = np.ones(1)
    for seed in range(60):
        scores, _ = records(12, 1, seed=100 + seed, between=between, mean=1.0)
        found = random_effects(scores)
        reach = student(CONFIDENCE, 12) * float(np.sqrt(found.covariance[0, 0]))
        held_mean += abs(float(found.mean[0]) - 1) < reach
        p_value = heterogeneity(scores, direction).p_value
        low, high = spread_of(scores, direction, CONFIDENCE, p_value).interval
        held_spread += low <= between <= high
    # 57 of 60: 50 or fewer are once in 1 300, if the level is right.
    assert held_mean > 50
    assert held_spread > 50


def paths(count: int, seed: int, level: float = 0.0, relaxation_times: float = 5.0) -> Scores:
    """Scores about −x of the drift 1, x of Ornstein–Uhlenbeck paths, whose levels may differ."""
    rng, dt = np.random.default_rng(seed), 0.05
    keep = np.exp(-dt)
    kicks = np.sqrt(0.5 * (1 - keep**2)) * rng.normal(size=(round(relaxation_times / dt), count))
    kicks[0] *= 1 / np.sqrt(1 - keep**2)
    x = level * rng.normal(size=count) + lfilter([1.0], [1.0, -keep], kicks, axis=0)
    f = np.stack([np.ones_like(x[:-1]), x[:-1]], axis=-1) * np.sqrt((1 - keep) / dt)
    residual = np.diff(x, axis=0) + (1 - keep) * x[:-1]
    first = (x[0] - x[0].mean()) / x[0].std()
    return Scores(
        np.einsum("tni,tnj->nij", f, f) * dt,
        np.einsum("tni,tn->ni", f, residual) / np.sqrt((1 - keep**2) / (2 * dt)),
        first[:, None],
        np.array([1.0, 0.0]),
    )


def cochran(scores: Scores, direction: Floats) -> float:
    """Probability of a larger Q of the records' own estimates, weighted by their errors."""
    values, variances = own_estimates(scores, direction)
    weights = 1 / variances
    middle = weights @ values / weights.sum()
    return float(chi2.sf(weights @ (values - middle) ** 2, len(values) - 1))


def test_the_level_of_q_is_right_for_records_of_five_relaxation_times() -> None:
    slope = np.array([0.0, 1.0])
    made = [paths(200, seed) for seed in range(100)]
    found = [heterogeneity(each, slope).p_value < 0.05 for each in made]
    # Of 100 populations 13 or more are once in 700, if the level is right.
    assert sum(found) < 13
    # Cochran's Q, whose weights depend on the estimates, is the negative control.
    assert sum(cochran(each, slope) < 0.05 for each in made) > 50


def test_levels_that_differ_do_not_bias_the_mean_rate_of_short_records() -> None:
    slope = np.array([0.0, 1.0])
    found, alone = [], []
    for seed in range(12):
        scores = paths(400, seed, level=0.5)
        found.append(float(slope @ random_effects(scores).mean))
        alone.append(float(slope @ random_effects(scores.without_first()).mean))
    assert abs(np.mean(found)) < 3.5 * np.std(found) / np.sqrt(11)
    # A record that begins high has a high level: without this the mean rate is too slow.
    assert np.mean(alone) > 0.07


def test_the_error_of_the_mean_is_that_of_short_records() -> None:
    """Information that depends on the scores makes the mean depend on the covariance between."""
    slope = np.array([0.0, 1.0])
    away = []
    for seed in range(60):
        found = random_effects(paths(200, 1000 + seed, level=0.3))
        away.append(float(slope @ found.mean / np.sqrt(slope @ found.covariance @ slope)))
    # The root mean square of 60 has a standard error of 0.09.
    assert 0.7 < np.sqrt(np.mean(np.square(away))) < 1.3
