"""Sums over residuals, against differences of windows one sample or coefficient apart."""

from dataclasses import replace

import numpy as np
import pytest

from tests.worker.identification.second_order.paths import harmonic
from worker.identification.data.trajectories import from_arrays
from worker.identification.data.windows import measure_space
from worker.identification.second_order.estimator import SecondOrderProblem
from worker.identification.second_order.noise_of_residuals import noise_of_residuals
from worker.identification.second_order.phase_space import force_library, measure_phase_space
from worker.identification.second_order.windows import Kicks, pieces, shape_of
from worker.identification.selection.support_selection import BIC

PLANE = np.stack([harmonic(4.0, 1.0, 1.0, 0.05, 300, seed) for seed in (1, 2)], axis=1)
CORRELATED = Kicks(np.array([[2.0, 1.2], [1.2, 1.0]]), np.zeros(2))


def problem_of(states: np.ndarray) -> SecondOrderProblem:
    data = from_arrays([states], 1.0)
    space = measure_phase_space(data, measure_space(data, (None, None)))
    return SecondOrderProblem(data, space, force_library(space, 1), BIC)


def linear_force(problem: SecondOrderProblem) -> np.ndarray:
    """Return coefficients of a force that has all slopes, as large as these windows see."""
    slopes = 0.05 * np.random.default_rng(0).standard_normal((2, 5))
    slopes[:, 3:] *= problem.space.velocity_units
    return np.asarray(slopes)


@pytest.mark.parametrize("half", [1, 2, 5])
def test_noise_of_residuals_is_what_the_samples_noise_makes_of_a_linear_force(half: int) -> None:
    """r is linear in the samples then: its slopes are differences with one sample moved."""
    problem, noise = problem_of(PLANE), np.array([0.3, 1.1])
    space, library = problem.space, problem.library
    force, shape = linear_force(problem), shape_of(half, noisy=True, powers=False)
    block, centre = np.array([[0, 300]]), 150

    def residual(states: np.ndarray) -> np.ndarray:
        data = from_arrays([states], 1.0)
        (piece,) = pieces(data, space, library, shape, replace(CORRELATED, noise=noise), block)
        return np.asarray((piece.change - piece.terms @ force.T)[centre])

    covariance = np.zeros((2, 2))
    for sample in range(centre - half - 3, centre + half + 4):
        for k in range(2):
            moved = PLANE.copy()
            moved[sample, k] += space.positions.units[k]
            slope = residual(moved) - residual(PLANE)
            covariance += noise[k] * np.outer(slope, slope)
    (piece,) = pieces(problem.data, space, library, shape, CORRELATED, block)
    arguments = piece, half, noise, library
    found = noise_of_residuals(*arguments, force, space.velocity_units)[centre]
    of_change = noise_of_residuals(*arguments, 0 * force, space.velocity_units)[centre]
    # The integral of squared weights is a triangle's, not that of its samples.
    assert found == pytest.approx(covariance, rel=0.002 + 0.02 / half, abs=1e-3 * found.max())
    assert np.abs(of_change - covariance).max() > 5 * np.abs(found - covariance).max()


def test_slopes_are_those_of_the_products_of_residuals_in_the_force() -> None:
    problem = problem_of(PLANE)
    force, shape = linear_force(problem), shape_of(1, noisy=False, powers=False)
    for smoothed in (False, True):
        kicks = replace(CORRELATED, smoothed=smoothed)
        _, here = problem.sums(shape, kicks, force)
        for j in range(5):
            ahead, behind = (force + step * np.eye(5)[[j, j]] * [[1], [0]] for step in (1.0, -1.0))
            change = [
                problem.sums(shape, kicks, f)[1].response.sum(axis=0) for f in (ahead, behind)
            ]
            along = (change[0] - change[1]) / 2
            assert along[:, 0, 0] == pytest.approx(-2 * here.slopes[0, :, j], rel=1e-9)
            assert along[:, 0, 1] == pytest.approx(-here.slopes[1, :, j], rel=1e-9)


def test_products_of_two_correlated_residuals_vary_as_normal_ones() -> None:
    problem, shape = problem_of(PLANE), shape_of(1, noisy=False, powers=False)
    _, together = problem.sums(shape, CORRELATED)
    _, apart = problem.sums(shape, replace(CORRELATED, diffusion=np.diag([2.0, 1.0])))
    # Var r_p r_q = v_p v_q (1 + ρ²)
    assert together.squares[0, 1] == pytest.approx(1.72 * apart.squares[0, 1])
    assert together.squares[0, 0] == pytest.approx(apart.squares[0, 0])
