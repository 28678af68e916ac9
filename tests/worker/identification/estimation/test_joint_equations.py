"""Equations that share noise, and windows that share increments: their weights and their errors."""

from collections.abc import Sequence
from dataclasses import replace

import numpy as np
import pytest

from worker.identification.estimation.joint.regression import NoiseLine, joint_equations
from worker.identification.regression import Solution, calibrated, solve, whitened
from worker.identification.sums.kernel_statistics import WeakSystem

N_BLOCKS, N_KERNELS = 100, 12
KERNELS = np.random.default_rng(0).normal(size=(N_KERNELS, 3))
KERNELS[:, 0] = 1.0  # as for the constant function, which one equation cannot tell from the noise
COVARIANCE = np.diag(np.linspace(0.5, 2.0, N_KERNELS))
TOGETHER = np.array([[1.0, 0.6], [0.6, 9.0]])
SLOPE = 4 * KERNELS  # of the response in the drift's coefficients
TRUE, VARIANCE = np.array([1.0, -2.0, 0.5]), 0.7


def _systems(seed: int) -> tuple[WeakSystem, WeakSystem]:
    """Two equations whose errors have V times `TOGETHER` as covariance.

    The noise's variance enters both alike.
    """
    generator, root = (
        np.random.default_rng(seed),
        np.linalg.cholesky(np.kron(TOGETHER, COVARIANCE / N_BLOCKS)),
    )
    errors = (generator.standard_normal((N_BLOCKS, 2 * N_KERNELS)) @ root.T).reshape(
        N_BLOCKS, 2, N_KERNELS
    )
    noise = np.full((N_BLOCKS, N_KERNELS), 2 / N_BLOCKS)
    designs = [
        np.broadcast_to(steps * KERNELS / N_BLOCKS, (N_BLOCKS, N_KERNELS, 3)) for steps in (1, 3)
    ]
    one, three = (
        WeakSystem(design, design @ TRUE + VARIANCE * noise + errors[:, e], noise, SLOPE)
        for e, design in enumerate(designs)
    )
    return one, three


def _joint(systems: Sequence[WeakSystem], drift_error: float = 0.0) -> tuple[Solution, NoiseLine]:
    equations, line = joint_equations(systems, COVARIANCE, drift_error * np.eye(3))
    solution = solve(equations, np.eye(3))
    assert solution is not None
    assert line is not None
    return solution, line


def test_two_equations_are_as_exact_as_least_squares_that_knows_their_covariance() -> None:
    design = np.concatenate(
        [
            np.concatenate([steps * KERNELS, np.full((N_KERNELS, 1), 2.0)], axis=1)
            for steps in (1, 3)
        ]
    )
    known = np.linalg.inv(design.T @ np.linalg.solve(np.kron(TOGETHER, COVARIANCE), design))
    found, claimed, variances = [], [], []
    for seed in range(200):
        solution, line = _joint(_systems(seed))
        found.append(solution.values)
        claimed.append(np.diag(solution.covariance))
        variances.append(line.at(solution.values))
    # A standard deviation from 200 is known to 5 %; instruments of three functions in place of all
    # kernels lose a little.
    for got in (np.std(found, axis=0), np.sqrt(np.mean(claimed, axis=0))):
        assert got == pytest.approx(np.sqrt(np.diag(known))[:3], rel=0.2)
    assert np.all(np.abs(np.mean(found, axis=0) - TRUE) < 4 * np.std(found, axis=0) / np.sqrt(200))
    assert abs(np.mean(variances) - VARIANCE) < 4 * np.std(variances) / np.sqrt(200)


def test_one_equation_alone_knows_less() -> None:
    # Negative control: the same measure tells the joint estimate from that of the equation over
    # three steps.
    joint, alone = [], []
    for seed in range(50):
        systems = _systems(seed)
        for found, chosen in ((joint, systems), (alone, systems[1:])):
            equations, _ = joint_equations(chosen, COVARIANCE, np.zeros((3, 3)))
            solution = solve(equations, np.eye(3)[1:])
            assert solution is not None
            found.append(solution.values)
    assert np.std(alone, axis=0).sum() > 1.2 * np.std(joint, axis=0).sum()


@pytest.mark.parametrize("carried", [True, False])
def test_the_error_of_the_drift_is_in_the_errors_of_the_diffusion(carried: bool) -> None:
    generator, deviation, found, claimed = np.random.default_rng(4), 0.5, [], []
    for seed in range(200):
        off = deviation * generator.standard_normal(3)
        systems = [replace(s, response=s.response + SLOPE @ off / N_BLOCKS) for s in _systems(seed)]
        solution, line = _joint(systems, deviation if carried else 0.0)
        found.append([*solution.values, line.at(solution.values)])
        root = np.linalg.cholesky(solution.covariance)
        claimed.append([*np.sqrt(np.diag(solution.covariance)), line.error(root)])
    ratio = np.std(found, axis=0) / np.mean(claimed, axis=0)
    # The negative control does not carry it.
    assert np.all(ratio < 1.2) == carried


@pytest.mark.parametrize("seen", [1, 2])
def test_windows_that_are_seen_twice_count_once(seen: int) -> None:
    system = _systems(3)[0]
    assert system.noise is not None
    twice = WeakSystem(seen * system.design, seen * (system.response - VARIANCE * system.noise))
    before, after = (
        solve(e, np.eye(3))
        for e in (
            whitened(twice, seen * COVARIANCE),
            calibrated(whitened(twice, seen * COVARIANCE)),
        )
    )
    assert before is not None
    assert after is not None
    np.testing.assert_allclose(after.values, before.values, rtol=1e-9)
    # A factor from 300 scores is known to √(2/300) = 8 %.
    assert after.covariance[0, 0] / before.covariance[0, 0] == pytest.approx(seen, rel=0.33)
