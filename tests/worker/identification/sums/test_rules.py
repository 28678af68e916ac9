"""Quadrature rules: exact where they must be, and how much of the data they use."""

import numpy as np
import pytest

from worker.identification.data.trajectories import from_arrays
from worker.identification.sums.rules import SIMPSON, TRAPEZOID


@pytest.mark.parametrize(("rule", "degree"), [(TRAPEZOID, 1), (SIMPSON, 3)])
def test_a_rule_integrates_polynomials_of_its_order_and_no_others(rule, degree: int) -> None:
    points = np.arange(len(rule.drift))
    for p in range(degree + 2):
        off = np.dot(rule.drift, points.astype(float) ** p) - rule.last ** (p + 1) / (p + 1)
        assert (abs(off) < 1e-12) == (p <= degree)


def test_one_step_uses_more_of_the_data_than_two_steps_do(paths, fit) -> None:
    data = from_arrays(list(paths("double-well", 20, 0.01, 10_000)[:, ::10]), 0.1)
    of_drift, of_diffusion = {}, {}
    for rule in ("trapezoid", "simpson", "auto"):
        identified, _, _ = fit(data, rule=rule)
        of_drift[rule], of_diffusion[rule] = (
            c.estimate.std_error[0] for c in (identified.drift[0], identified.diffusion[0, 0])
        )
    # Squares of overlapping increments over two steps have 3/2 the variance; each error is known to
    # √(1/400), some 5 %.
    assert of_diffusion["simpson"] / of_diffusion["trapezoid"] == pytest.approx(
        np.sqrt(1.5), rel=0.2
    )
    assert of_diffusion["auto"] / of_diffusion["trapezoid"] == pytest.approx(1.0, rel=0.15)
    assert of_drift["auto"] / of_drift["trapezoid"] == pytest.approx(1.0, rel=0.15)
