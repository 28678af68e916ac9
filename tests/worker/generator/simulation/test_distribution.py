"""Moments of simulated paths of three coordinates against closed forms; escapes, rare passages."""

import numpy as np
import pytest
from scipy.linalg import solve_continuous_lyapunov

from contract.generator import ModelTerms
from worker.generator.analysis import analyse
from worker.generator.quantities.outcomes import Outcome
from worker.generator.quantities.stationary import Simulated, SimulatedLaw
from worker.generator.simulation.distribution import simulated_law
from worker.generator.simulation.paths import run, stepper_of
from worker.jobs.parameters import process_of

NAMES = "xyz"
J = np.array([[-1, 0.5, 0], [-0.3, -2, 0.4], [0, 0.2, -3]])
A = np.array([[1, 0.2, 0], [0.2, 0.8, 0], [0, 0, 0.5]])
QUIET = {f"{v},{v}": {"1": 0.2} for v in NAMES}


def model(drift, noise, domain=None):  # type: ignore[no-untyped-def]
    return process_of(
        ModelTerms.model_validate({"drift": drift, "diffusion": noise, "domain": domain or {}})
    )


def linear():  # type: ignore[no-untyped-def]
    drift = {v: {w: float(J[i, k]) for k, w in enumerate(NAMES)} for i, v in enumerate(NAMES)}
    return model(
        drift,
        {
            f"{v},{w}": {"1": float(A[i, k])}
            for i, v in enumerate(NAMES)
            for k, w in enumerate(NAMES)
        },
    )


def errors(number: Simulated | None, truth: float) -> float:
    assert number is not None
    return abs(number.value - truth) / number.std_error


def test_three_coupled_linear_coordinates_against_the_lyapunov_equation() -> None:
    covariance = solve_continuous_lyapunov(J, -A)
    # Started twice as wide as the law: the paths forget it.
    law = simulated_law(linear(), np.zeros((1, 3)), 4 * covariance[None], np.ones(3))
    assert law is not None
    found = law.estimates
    assert found is not None
    times = -np.diag(np.linalg.solve(J, covariance)) / np.diag(covariance)
    for p in range(3):
        assert errors(found.mean[p], 0) < 3
        assert errors(found.skewness[p], 0) < 3
        assert errors(found.kurtosis[p], 3) < 3
        assert errors(found.integrated_times[p], times[p]) < 3
        for q in range(3):
            assert errors(found.covariance[p][q], covariance[p, q]) < 3
    # The errors are small enough to tell: a variance 4 % off is outside.
    assert errors(found.covariance[0][0], 1.04 * covariance[0, 0]) > 3


def test_the_same_seed_gives_the_same_answer_and_another_seed_another() -> None:
    process, few = linear(), np.zeros((10, 3))
    stepper = stepper_of(process, few)

    def end(seed: int) -> float:
        paths = run(stepper, few.copy(), np.zeros(3), np.ones(3), step=0.01, steps=400, seed=seed)
        return float(paths.fine[-1].sum())

    assert end(1) == end(1)
    assert end(1) != end(2)


@pytest.mark.slow
def test_a_product_law_with_multiplicative_noise_against_one_dimension() -> None:
    drift = {"x": {"x": -1.0, "x^3": -1.0}, "y": {"y": 1.0, "y^3": -1.0}, "z": {"z": -1.0}}
    noise = {"x,x": {"1": 0.5}, "y,y": {"1": 1.0}, "z,z": {"1": 0.2, "z^2": 0.15}}
    report = analyse(model(drift, noise))
    assert report.simulated is not None
    found = report.simulated.estimates
    assert found is not None
    for i, name in enumerate(NAMES):
        alone = analyse(
            model(
                {"x": {t.replace(name, "x"): c for t, c in drift[name].items()}},
                {"x,x": {t.replace(name, "x"): c for t, c in noise[f"{name},{name}"].items()}},
            )
        ).stationary
        assert alone is not None
        variance, kurtosis = alone.covariance[0][0], alone.kurtosis[0]
        assert variance is not None
        assert kurtosis is not None
        assert errors(found.mean[i], 0) < 3
        assert errors(found.covariance[i][i], variance) < 3
        assert errors(found.kurtosis[i], kurtosis) < 3
        marginal = found.marginals[i]
        middle = (marginal.edges[1:] + marginal.edges[:-1]) / 2
        density = np.interp(middle, alone.grid[0], alone.density)
        z = (marginal.density - density)[density > 0.05] / marginal.std_error[density > 0.05]
        assert np.sqrt(np.mean(z**2)) < 1.5


@pytest.mark.slow
def test_reflecting_ends_hold_the_paths() -> None:
    drift = {"x": {"1": -1.0, "x*y": 0.001}, "y": {"y": -1.0}, "z": {"z": -1.0}}
    process = model(drift, {f"{v},{v}": {"1": 1.0} for v in NAMES}, {"x": (0.0, None)})
    law = simulated_law(process, np.array([[0.5, 0, 0]]), np.eye(3)[None] * 0.2, np.ones(3))
    assert law is not None
    assert law.estimates is not None
    # Exponential with rate 2|b|/a.
    assert errors(law.estimates.mean[0], 0.5) < 3
    assert law.estimates.marginals[0].edges[0] >= 0


@pytest.mark.slow
def test_paths_that_run_away_are_counted_and_named() -> None:
    report = analyse(
        model({"x": {"x": -1.0, "x^2": 1.0}, "y": {"y": -1.0}, "z": {"z": -1.0}}, QUIET)
    )
    assert not report.ergodic
    assert report.simulated is not None
    assert 0 < report.simulated.n_escaped <= report.simulated.n_paths
    assert "large positive values of coordinate 1" in str(report.reason)
    assert report.simulated.estimates is None


def test_paths_that_stay_in_their_wells_give_no_numbers() -> None:
    drift = {"x": {"x": 4.0, "x^3": -4.0}, "y": {"y": -1.0}, "z": {"z": -1.0}}
    law = analyse(model(drift, QUIET)).simulated
    assert isinstance(law, SimulatedLaw)
    assert law.estimates is None
    assert law.reason.outcome is Outcome.UNRESOLVED


@pytest.mark.slow
def test_chaos_without_a_stable_fixed_point_has_moments() -> None:
    drift = {
        "x": {"x": -10.0, "y": 10.0},
        "y": {"x": 28.0, "y": -1.0, "x*z": -1.0},
        "z": {"x*y": 1.0, "z": -8 / 3},
    }
    report = analyse(
        model(drift, {f"{v},{v}": {"1": 1.0} for v in NAMES}),
        observed_range=[(-20, 20), (-25, 25), (0, 50)],
    )
    assert report.ergodic
    assert "no stable fixed point" in str(report.approximation)
    assert report.simulated is not None
    assert report.simulated.estimates is not None
    mean = report.simulated.estimates.mean[2]
    assert mean is not None
    # ⟨dz/dt⟩ = 0: ⟨xy⟩ = (8/3)⟨z⟩.
    entry = report.simulated.estimates.covariance[0][1]
    means = [report.simulated.estimates.mean[k] for k in (0, 1)]
    assert entry is not None
    assert means[0] is not None
    assert means[1] is not None
    product, error = (
        entry.value + means[0].value * means[1].value,
        np.hypot(entry.std_error, 8 / 3 * mean.std_error),
    )
    assert product == pytest.approx(8 / 3 * mean.value, abs=3 * error)


def test_linear_processes_and_the_plane_are_not_simulated() -> None:
    assert analyse(linear()).simulated is None
