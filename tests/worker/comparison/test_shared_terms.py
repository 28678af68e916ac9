"""Joint models of groups are least squares: against a plain transcription, and by their laws."""

from itertools import product

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from worker.comparison.quantities import GroupQuantity, compared
from worker.comparison.ratios import holm, ratio_interval
from worker.comparison.shared_terms import GroupEstimate, JointComponent, joint_component

TERMS = np.array([[1.0, 0.0, 0.0, 0.0], [0.5, 1.0, 0.0, 0.0], [0.0, 0.3, 1.0, 0.0]])
"""Three terms along four functions."""


def groups(seed: int, n: int, truth: np.ndarray) -> list[GroupEstimate]:
    """Estimates on the span of the terms, with errors about a tenth."""
    generator = np.random.default_rng(seed)
    found = []
    for _ in range(n):
        factor = 0.1 * generator.normal(size=(3, 3))
        drawn = truth + factor @ generator.normal(size=3)
        found.append(GroupEstimate(drawn @ TERMS, TERMS.T @ factor, 1000))
    return found


def transcribed(estimates: list[GroupEstimate]) -> tuple[tuple[str, ...], float]:
    """The best sharing and the χ² of equality, by inverses of full covariances."""
    back = np.linalg.pinv(TERMS)
    values = np.concatenate([e.values @ back for e in estimates])
    blocks = [back.T @ e.factor @ e.factor.T @ back for e in estimates]
    n, k = len(estimates), len(TERMS)
    weight = np.zeros((n * k, n * k))
    for g, block in enumerate(blocks):
        weight[g * k : (g + 1) * k, g * k : (g + 1) * k] = np.linalg.inv(block)

    def misfit(sharing: tuple[str, ...]) -> tuple[float, int]:
        columns = []
        for j, how in enumerate(sharing):
            if how == "shared":
                columns.append(np.tile(np.eye(k)[j], n))
            elif how == "separate":
                columns += [np.kron(np.eye(n)[g], np.eye(k)[j]) for g in range(n)]
        if not columns:
            return float(values @ weight @ values), 0
        design = np.array(columns).T
        c = np.linalg.solve(design.T @ weight @ design, design.T @ weight @ values)
        left = values - design @ c
        return float(left @ weight @ left), design.shape[1]

    cost = 0.5 * np.log(1000 * n)

    def score(sharing: tuple[str, ...]) -> float:
        square, parameters = misfit(sharing)
        return -square / 2 - cost * parameters

    best = max(product(("absent", "shared", "separate"), repeat=k), key=score)
    restricted = tuple("absent" if s == "absent" else "shared" for s in best)
    return best, misfit(restricted)[0] - misfit(
        tuple("absent" if s == "absent" else "separate" for s in best)
    )[0]


@pytest.mark.parametrize("seed", range(5))
@pytest.mark.parametrize("n", [2, 3])
def test_the_joint_model_is_that_of_a_plain_transcription(seed: int, n: int) -> None:
    estimates = groups(seed, n, np.array([1.0, 0.0, -1.0]))
    estimates[0] = GroupEstimate(
        estimates[0].values + 3 * TERMS[0], estimates[0].factor, estimates[0].increments
    )
    found = joint_component(TERMS, estimates)
    sharing, statistic = transcribed(estimates)
    assert found.sharing == sharing
    assert found.sharing[0] == "separate"
    assert found.equality.statistic == pytest.approx(statistic, rel=1e-8)


@given(st.integers(0, 10_000), st.permutations(range(3)), st.floats(1e-6, 1e6))
@settings(max_examples=25, deadline=None)
def test_neither_units_nor_the_order_of_groups_changes_a_test(
    seed: int, order: list[int], unit: float
) -> None:
    estimates = groups(seed, 3, np.array([1.0, 0.5, -1.0]))
    moved = [
        GroupEstimate(unit * estimates[g].values, unit * estimates[g].factor, 1000) for g in order
    ]
    one, other = joint_component(TERMS, estimates), joint_component(TERMS, moved)
    assert one.sharing == other.sharing
    assert other.equality.p_value == pytest.approx(one.equality.p_value, rel=1e-6, abs=1e-12)
    np.testing.assert_allclose(other.values, unit * one.values[order], rtol=1e-7, atol=1e-9 * unit)


def test_statistics_of_equal_groups_are_chi_squared() -> None:
    def statistics(found: JointComponent) -> tuple[float, float]:
        return found.equality.p_value, found.by_term[0].p_value

    p = np.array(
        [
            statistics(joint_component(TERMS, groups(s, 2, np.array([5.0, 5.0, 5.0]))))
            for s in range(400)
        ]
    )
    # Shares of 400 have a standard error of 1.1 % at 5 %, and of 2.5 % at one half.
    assert (np.abs((p < 0.05).mean(axis=0) - 0.05) < 4 * 0.011).all()
    assert (np.abs((p < 0.5).mean(axis=0) - 0.5) < 4 * 0.025).all()


def test_fiellers_interval_ends_where_the_difference_is_z_errors() -> None:
    low, high = ratio_interval(2.0, 0.1, 1.0, 0.2, 0.95) or (0.0, 0.0)
    for r in (low, high):
        assert (2.0 - r) ** 2 == pytest.approx(1.959964**2 * (0.1**2 + (r * 0.2) ** 2), rel=1e-6)
    assert low < 2.0 < high
    assert ratio_interval(2.0, 0.1, 0.3, 0.2, 0.95) is None


def test_holm_multiplies_the_least_by_the_number_and_never_decreases() -> None:
    assert holm((0.01, 0.04, 0.03)) == pytest.approx((0.03, 0.06, 0.06))
    assert holm(()) == ()
    assert holm((0.6, 0.7)) == (1.0, 1.0)


def test_ratios_of_quantities_are_those_of_logarithms() -> None:
    def quantity(value: float) -> GroupQuantity:
        return GroupQuantity(value, (value / 1.2, value * 1.2))

    found = compared({"a": quantity(1.0), "b": quantity(2.0)}, 0.95, logarithm=True)
    assert found is not None
    ratio = found.contrasts["b"]
    reach = np.sqrt(2) * np.log(1.2)
    assert np.log(ratio.interval) == pytest.approx((np.log(2) - reach, np.log(2) + reach))
    back = compared({"b": quantity(2.0), "a": quantity(1.0)}, 0.95, logarithm=True)
    assert back is not None
    assert back.p_value == pytest.approx(found.p_value)
    assert back.contrasts["a"].value == pytest.approx(1 / ratio.value)
    assert compared({"a": quantity(1.0)}, 0.95, logarithm=True) is None
