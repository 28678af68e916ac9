"""Random effects from scores and informations, against closed forms and dense matrices."""

import numpy as np
import pytest
from numpy.typing import NDArray
from scipy.optimize import brentq
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
    return Scores(information, np.einsum("nij,nj->ni", information, c) + noise), c


def balanced(count: int = 30, variance: float = 0.25, seed: int = 3) -> tuple[Scores, Floats]:
    """Records of one coefficient with equal errors, and their estimates."""
    y = 2 + 1.5 * np.random.default_rng(seed).normal(size=count)
    information = np.full((count, 1, 1), 1 / variance)
    return Scores(information, y[:, None] / variance), y


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
    assert q.statistic == pytest.approx((n - 1) * total / 0.25)
    assert (q.degrees, q.p_value) == (n - 1, pytest.approx(chi2.sf(q.statistic, n - 1)))
    assert q.share == pytest.approx(1 - 0.25 / total)
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
    found = spread_of(scores, np.ones(1), CONFIDENCE)
    expected = (brentq(deviance, 0.1, best), brentq(deviance, best, 10.0))
    assert found.value == pytest.approx(best, rel=1e-4)
    assert found.interval == pytest.approx(expected, rel=5e-3)


def restricted(scores: Scores, between: Floats) -> float:
    """Restricted log-likelihood of the records' own estimates, with dense matrices."""
    count, k = scores.score.shape
    noise = np.linalg.inv(scores.information)
    y = np.concatenate([v @ s for v, s in zip(noise, scores.score, strict=True)])
    design = np.tile(np.eye(k), (count, 1))
    v = np.zeros((count * k, count * k))
    for n in range(count):
        v[n * k : (n + 1) * k, n * k : (n + 1) * k] = noise[n] + between
    inverse = np.linalg.inv(v)
    information = design.T @ inverse @ design
    left = y - design @ np.linalg.solve(information, design.T @ inverse @ y)
    dets = np.linalg.slogdet(v)[1] + np.linalg.slogdet(information)[1]
    return float(-0.5 * (dets + left @ inverse @ left))


def test_the_covariance_between_records_is_that_of_the_largest_restricted_likelihood() -> None:
    scores, _ = records(25, 2, seed=5)
    found = random_effects(scores)
    top = restricted(scores, found.between)
    rng = np.random.default_rng(0)
    for _ in range(40):
        change = rng.normal(size=(2, 2)) * 0.1
        assert restricted(scores, found.between + change + change.T) < top + 1e-6
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
        random_effects(Scores(scores.information[order], scores.score[order]).along(basis)),
    )
    np.testing.assert_allclose(basis @ other.mean, one.mean, rtol=1e-3, atol=1e-3)
    np.testing.assert_allclose(basis @ other.between @ basis.T, one.between, rtol=0.01, atol=2e-3)
    np.testing.assert_allclose(other.shrunken @ basis.T, one.shrunken[order], rtol=0.02, atol=2e-3)


def test_a_record_that_knows_nothing_changes_nothing() -> None:
    scores, _ = records(20, 2, seed=7)
    with_empty = Scores(
        np.concatenate([scores.information, np.zeros((5, 2, 2))]),
        np.concatenate([scores.score, np.zeros((5, 2))]),
    )
    one, other = random_effects(scores), random_effects(with_empty)
    np.testing.assert_allclose(other.mean, one.mean, rtol=1e-3)
    np.testing.assert_allclose(other.between, one.between, rtol=1e-2)
    np.testing.assert_allclose(other.shrunken[-1], one.mean, rtol=1e-2)
    assert heterogeneity(with_empty, np.array([1.0, 0.0])).degrees == 19
    assert np.isnan(own_estimates(with_empty, np.array([1.0, 0.0]))[0][-1])


def test_a_record_that_stands_apart_is_named_and_others_seldom() -> None:
    named = 0
    for seed in range(40):
        scores, _ = records(40, 2, seed=seed)
        named += outliers(scores) != ()
        shifted = scores.score.copy()
        shifted[17] += scores.information[17] @ np.array([30.0, 30.0])
        found = outliers(Scores(scores.information, shifted))
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
        low, high = spread_of(scores, direction, CONFIDENCE).interval
        held_spread += low <= between <= high
    # 57 of 60: 50 or fewer are once in 1 300, if the level is right.
    assert held_mean > 50
    assert held_spread > 50
