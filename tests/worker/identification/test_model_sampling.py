"""Drawn models cover the uncertainty of coefficients, sampling rule and support."""

import numpy as np
import pytest

from worker.identification.model_sampling import (
    CoefficientEstimate,
    confidence_interval,
    draw_models,
)
from worker.identification.regression import wider_root
from worker.identification.selection.best_subset import Estimate
from worker.identification.selection.support_selection import (
    AlternativeSupport,
    RuleShift,
    Selected,
)


def estimate(*internal: float) -> Estimate:
    factor = np.diag((np.array(internal) != 0).astype(float))
    return Estimate(
        (), np.array(internal), factor, np.zeros(0), np.zeros(0), None, np.zeros((0, 0))
    )


@pytest.mark.parametrize("distance", [0.0, 1.0, 5.0])
def test_percentiles_over_both_sampling_rules_are_the_interval_that_holds_whichever_is_right(
    distance: float,
) -> None:
    shift = RuleShift(np.array([distance]), np.array([distance]))
    drawn = draw_models([Selected(estimate(3.0), (), (), shift)], 200_000, seed=1)[0][:, 0, 0]
    assert np.quantile(drawn, [0.025, 0.975]) == pytest.approx(
        confidence_interval([CoefficientEstimate(1.0, 3.0, 1.0, distance)], 0.95, 3.0), abs=0.03
    )


def test_drift_and_diffusion_move_to_the_other_rule_together() -> None:
    shift = RuleShift(np.array([1e3]), np.array([1e3]))
    drawn = draw_models([Selected(estimate(1.0), (), (), shift)] * 2, 100, seed=0)[0][:, :, 0] > 500
    assert (drawn[:, 0] == drawn[:, 1]).all()
    assert drawn.mean() == 0.5


def test_a_rival_support_has_as_many_models_as_its_weight_says() -> None:
    selected = Selected(
        estimate(1.0, 0.0),
        (),
        (),
        alternatives=(AlternativeSupport(estimate(1.0, 2.0), 0.25, None),),
    )
    drawn = draw_models([selected], 400, seed=3)[0][:, 0]
    assert np.count_nonzero(drawn[:, 1]) == 100
    # Negative control: without an alternative the term is in no model.
    assert not draw_models([Selected(estimate(1.0, 0.0), (), ())], 400, seed=3)[0][:, 0, 1].any()


def test_the_blocks_covariance_counts_where_it_is_larger_beyond_chance() -> None:
    random = np.random.default_rng(0)
    model = np.array([[2.0, 0.6], [0.6, 1.0]])
    root = np.linalg.cholesky(model)
    longer = root @ np.diag([9.0, 1.1]) @ root.T
    found = wider_root(model, longer, 48)
    assert found @ found.T == pytest.approx(root @ np.diag([9.0, 1.0]) @ root.T, rel=1e-6)
    unchanged = wider_root(model, None, 0)
    # There is one such root: models drawn by it are the same on every machine.
    assert unchanged == pytest.approx(root)
    assert found == pytest.approx(np.linalg.cholesky(found @ found.T))
    # Of blocks that agree with the model, their chance scatter widens one in twenty at most.
    blocks = [np.cov(root @ random.standard_normal((2, 48))) for _ in range(200)]
    assert (
        np.mean(
            [
                np.linalg.det(wider_root(model, b, 48)) ** 2 > 1.01 * np.linalg.det(model)
                for b in blocks
            ]
        )
        < 0.05
    )
