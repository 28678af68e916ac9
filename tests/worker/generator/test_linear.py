"""Linear processes of several coordinates, in closed form, with and without a distribution."""

from itertools import combinations_with_replacement

import numpy as np
import pytest
from scipy.stats import multivariate_normal

from contract.generator import ModelTerms
from worker.generator.analysis import analyse, analysis
from worker.generator.linear.process import linear_view
from worker.generator.process import DiffusionProcess
from worker.generator.quantities.outcomes import (
    BROWNIAN,
    NO_DENSITY,
    NO_STATES,
    NOISE_NEGATIVE,
    UNDAMPED,
    Outcome,
    Reason,
)
from worker.generator.quantities.stationary import MultivariateDistribution, StationaryDistribution
from worker.jobs.parameters import process_of

NAMES = "xyz"


def linear(
    matrix: list[list[float]], noise: list[list[float]], push: list[float] | None = None
) -> DiffusionProcess:
    d = len(matrix)
    drift = {
        NAMES[i]: {NAMES[j]: matrix[i][j] for j in range(d)} | {"1": (push or [0.0] * d)[i]}
        for i in range(d)
    }
    diffusion = {
        f"{NAMES[i]},{NAMES[j]}": {"1": noise[i][j]} for i in range(d) for j in range(i, d)
    }
    return process_of(ModelTerms.model_validate({"drift": drift, "diffusion": diffusion}))


def test_rotating_process_with_correlated_noise() -> None:
    report = analyse(
        linear([[-1, 2], [-2, -1]], [[1, 0.6], [0.6, 0.5]], push=[1.0, 3.0]), eigenpairs=5
    )
    assert report.spectrum is not None
    assert report.spectrum.eigenvalues == pytest.approx(
        [1 + 2j, 1 - 2j, 2, 2 + 4j, 2 - 4j], rel=1e-12
    )
    law = report.stationary
    assert isinstance(law, MultivariateDistribution)
    assert law.mean == pytest.approx((1.4, 0.2), rel=1e-12)
    assert np.array(law.covariance) == pytest.approx(
        np.array([[0.52, 0.01], [0.01, 0.23]]), rel=1e-12
    )
    # ½⟨x b_y − y b_x⟩ about the mean = (−2·0.52 − 0.01 + 0.01 − 2·0.23) / 2.
    assert law.circulation == pytest.approx(-0.75, rel=1e-12)
    gaussian = multivariate_normal([1.4, 0.2], [[0.52, 0.01], [0.01, 0.23]])
    assert law.density[30, 20] == pytest.approx(
        gaussian.pdf([law.grid[0][30], law.grid[1][20]]), rel=1e-9
    )
    (rest,) = report.fixed_points
    assert rest.at == pytest.approx((1.4, 0.2))
    assert rest.stable
    assert rest.rates == pytest.approx((-1 + 2j, -1 - 2j))


def test_entropy_production_of_a_turning_force_is_its_closed_form() -> None:
    # dX = (−k + ω×) X dt + √a dW: 2 ω² / k for any isotropic noise.
    law = analyse(linear([[-2, 3], [-3, -2]], [[0.7, 0], [0, 0.7]])).stationary
    assert isinstance(law, MultivariateDistribution)
    assert law.entropy_production == pytest.approx(2 * 3**2 / 2, rel=1e-12)
    still = analyse(linear([[-2, 1], [1, -3]], [[0.7, 0], [0, 0.7]])).stationary
    assert isinstance(still, MultivariateDistribution)
    assert still.entropy_production == pytest.approx(0, abs=1e-12)


def test_a_mean_of_zero_is_zero_wherever_the_process_is_looked_at() -> None:
    spring = linear([[0, 1], [-4.0614, -0.9516]], [[0, 0], [0, 1]])
    for middle in np.random.default_rng(0).normal(size=(20, 2)):
        seen = linear_view(spring, middle, np.ones(2))
        assert seen is not None
        assert not seen.mean.any()
    # Negative control: a small push is no rounding error.
    pushed = linear_view(
        linear([[0, 1], [-4, -1]], [[0, 0], [0, 1]], [0.0, 1e-9]), np.ones(2), np.ones(2)
    )
    assert pushed is not None
    assert pushed.mean[0] == pytest.approx(2.5e-10, rel=1e-4)


def test_rates_are_all_sums_of_the_jacobians() -> None:
    report = analyse(
        linear([[-1, 0, 0], [0, -2.5, 0], [0, 0, -4.2]], np.eye(3).tolist()), eigenpairs=12
    )
    basic = (1.0, 2.5, 4.2)
    sums = sorted(
        sum(chosen) for n in range(1, 13) for chosen in combinations_with_replacement(basic, n)
    )
    assert report.spectrum is not None
    assert report.spectrum.eigenvalues.real == pytest.approx(sums[:12])
    assert report.approximation is None


def test_damped_oscillator_driven_through_its_velocity() -> None:
    report = analyse(linear([[0, 1], [-1, -1]], [[0, 0], [0, 2]]), eigenpairs=2)
    assert report.spectrum is not None
    assert report.spectrum.eigenvalues == pytest.approx(
        [0.5 + np.sqrt(0.75) * 1j, 0.5 - np.sqrt(0.75) * 1j]
    )
    law = report.stationary
    assert isinstance(law, MultivariateDistribution)
    assert np.array(law.covariance) == pytest.approx(np.eye(2), abs=1e-12)
    # Its velocity is odd under time reversal. A variable that is no velocity is even.
    assert law.entropy_production == 0.0
    other = analyse(linear([[0, 2], [-1, -1]], [[0, 0], [0, 2]])).stationary
    assert isinstance(other, MultivariateDistribution)
    assert other.entropy_production is None


@pytest.mark.parametrize(
    ("matrix", "noise", "why"),
    [
        ([[0, 0], [0, -1]], [[1, 0], [0, 1]], BROWNIAN),
        ([[0, 0], [0, 0]], [[1, 0], [0, 1]], BROWNIAN),
        ([[0, 1], [-1, 0]], [[1, 0], [0, 1]], UNDAMPED),
        ([[-1, 0], [0, -1]], [[1, 0.6], [0.6, 0.2]], NOISE_NEGATIVE),
        ([[-1, 0], [0, -2]], [[1, 0], [0, 0]], NO_DENSITY),
    ],
    ids=["free along a line", "free", "undamped", "no noise", "deterministic"],
)
def test_without_a_law_the_reason_is_given(
    matrix: list[list[float]], noise: list[list[float]], why: Reason
) -> None:
    report = analyse(linear(matrix, noise))
    assert not report.ergodic
    assert report.spectrum is None
    assert report.reason == why


def test_a_linear_drift_outward_is_named_with_its_rate() -> None:
    reason = analyse(linear([[0.5, 0], [0, -1]], [[1, 0], [0, 1]])).reason
    assert reason.outcome is Outcome.ESCAPES
    assert "at rate 0.5" in reason.sentence


def test_three_nonlinear_coordinates_are_answered_next_to_their_fixed_point_and_say_so() -> None:
    drift = {"x": {"x": -1, "x^3": -1, "y": 0.5}, "y": {"y": -2, "x*z": 0.1}, "z": {"z": -3}}
    noise = {f"{name},{name}": {"1": 0.01} for name in NAMES}
    report = analyse(
        process_of(ModelTerms.model_validate({"drift": drift, "diffusion": noise})), eigenpairs=3
    )
    assert report.ergodic
    assert report.spectrum is not None
    assert report.spectrum.eigenvalues.real == pytest.approx([1, 2, 2])
    assert "linearised at the stable fixed point (0, 0, 0)" in str(report.approximation)
    assert report.stationary is not None
    assert report.stationary.covariance[2][2] == pytest.approx(0.01 / 6)
    assert report.stationary.grid == ()


def test_a_passage_between_numbers_is_refused_with_a_reason() -> None:
    report = analyse(linear([[-1, 0], [0, -1]], [[1, 0], [0, 1]]), passages=[(-1.0, 1.0)])
    assert report.passages[0].mean_time.value is None
    assert report.passages[0].mean_time.reason == NO_STATES


@pytest.mark.parametrize("strength", [0.01, 0.02])
def test_a_nonlinear_model_near_a_linear_one_is_right_to_first_order(strength: float) -> None:
    """Two coordinates that know nothing of each other, against each by itself."""

    def model(cubic: float, several: bool) -> DiffusionProcess:
        drift = {"x": {"x": -1.0, "x^2": cubic, "x^3": -cubic}, "y": {"y": -2.0}}
        diffusion = {"x,x": {"1": 1.0, "x^2": cubic}, "y,y": {"1": 0.5}, "x,y": {"1": 0.0}}
        terms = {"drift": drift, "diffusion": diffusion}
        one = {"drift": {"x": drift["x"]}, "diffusion": {"x,x": diffusion["x,x"]}}
        return process_of(ModelTerms.model_validate(terms if several else one))

    reference = analysis(model(0.0, several=True))
    assert reference.perturbed is not None
    near = reference.perturbed(model(strength, several=True))
    exact = analyse(model(strength, several=False))
    law, true = near.stationary, exact.stationary
    assert isinstance(law, MultivariateDistribution)
    assert isinstance(true, StationaryDistribution)
    assert near.spectrum is not None
    assert exact.spectrum is not None
    # Mean, variance and rate move by about the strength, and what is left is of second order.
    for found, expected, before in (
        (law.mean[0], true.mean[0], 0.0),
        (law.covariance[0][0], true.covariance[0][0], 0.5),
        (near.spectrum.eigenvalues[0].real, exact.spectrum.eigenvalues[0].real, 1.0),
    ):
        assert abs(expected - before) > 0.4 * strength
        assert found == pytest.approx(expected, abs=8 * strength**2)
    assert law.covariance[1] == pytest.approx((0.0, 0.125))
