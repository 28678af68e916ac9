"""Second order from samples further apart than the velocity remembers."""

import numpy as np
import pytest

from tests.worker.identification.second_order.paths import harmonic
from worker.identification.data.trajectories import Trajectories
from worker.identification.data.windows import measure_space
from worker.identification.findings.second_order import is_of_second_order
from worker.identification.second_order.coarse_fit import SAME, CoarseFit, fit_coarse
from worker.identification.second_order.estimator import SecondOrderProblem
from worker.identification.second_order.phase_space import force_library, measure_phase_space
from worker.identification.selection.support_selection import BIC

# A velocity that remembers 0.7 sampling intervals, and a position that relaxes in 200.
FRICTION, STIFFNESS, A = 1 / 0.7, 1 / (0.7 * 200), 1.0


def problem_of(
    states: np.ndarray, times: np.ndarray | None = None, noise: str = "auto"
) -> SecondOrderProblem:
    times = np.arange(len(states)) * 1.0 if times is None else times
    data = Trajectories(states, times, np.array([[0, len(times), 0]]))
    space = measure_phase_space(data, measure_space(data, (None,) * data.dimension))
    return SecondOrderProblem(data, space, force_library(space, 2), BIC, noise=noise)


def walk(seed: int, n: int = 2200, frictions: tuple[float, float] = (FRICTION,) * 2) -> np.ndarray:
    return np.column_stack(
        [harmonic(STIFFNESS, f, A, 1.0, n, 100 * i + seed) for i, f in enumerate(frictions)]
    )


def of_friction(
    problem: SecondOrderProblem, found: CoarseFit | None, c: int
) -> tuple[float, float]:
    """Return the friction of a coordinate, and its standard error."""
    assert found is not None
    estimate, name = found.fit.force[c].estimate, problem.space.names[problem.space.dimension + c]
    i = estimate.support.index(problem.library.names.index(name))
    factor = problem.space.to_force[c]
    return float(-estimate.raw[i] * factor), float(estimate.std_error[i] * factor)


def test_the_memory_is_found_where_a_tenth_of_the_samples_is_missing() -> None:
    z = []
    for seed in range(3):
        kept = np.sort(np.random.default_rng(seed).permutation(2200)[:2000])
        times = kept + 500.0 * (kept > 1000)
        # In millimetres and hours, say, and far from the origin.
        problem = problem_of(1e5 + 1000 * walk(seed)[kept], times / 60)
        found = fit_coarse(problem)
        assert found is not None
        assert found.p_isotropic >= SAME
        assert is_of_second_order(found, np.ones(2), strict=True)
        (value, error), other = (of_friction(problem, found, c) for c in range(2))
        # Each coordinate has the force that both told.
        assert other[0] == pytest.approx(value, rel=0.01)
        z.append((value / 60 - FRICTION) / error * 60)
    assert np.abs(z).max() < 4
    assert np.mean(np.square(z)) < 1 + 4 * np.sqrt(2 / 3)


def test_coordinates_that_differ_have_forces_of_their_own() -> None:
    frictions = (FRICTION, 2 * FRICTION)
    problem = problem_of(walk(1, 4000, frictions))
    found = fit_coarse(problem)
    assert found is not None
    assert found.p_isotropic < SAME
    for c, friction in enumerate(frictions):
        value, error = of_friction(problem, found, c)
        assert abs(value - friction) < 4 * error


def test_noise_is_fitted_where_it_shows() -> None:
    states, noise = walk(2, 4000), 0.2
    problem = problem_of(states + noise * np.random.default_rng(0).standard_normal(states.shape))
    found = fit_coarse(problem)
    assert found is not None
    value, error = of_friction(problem, found, 0)
    assert abs(value - FRICTION) < 4 * error
    # Without noise the friction would be 3.7.
    assert error < 0.2
    told = np.sqrt(found.fit.kicks.noise) * problem.space.positions.units
    # The variance is significant by eight standard errors.
    assert told == pytest.approx([noise, noise], rel=4 / 8 / 2)


@pytest.mark.parametrize("kind", ["clean", "noisy", "exposed"])
def test_first_order_is_not_taken_for_second(kind: str) -> None:
    rng, fine = np.random.default_rng(0), 10
    path = np.zeros((3000 * fine, 2))
    for i in range(1, len(path)):
        path[i] = 0.99 * path[i - 1] + rng.standard_normal(2)
    states = path[::fine]
    if kind == "noisy":
        states = states + states.std() / 3 * rng.standard_normal(states.shape)
    elif kind == "exposed":
        states = path.reshape(3000, fine, 2).mean(axis=1)
    found = fit_coarse(problem_of(states))
    if found is not None:
        assert not is_of_second_order(found, np.ones(2), strict=False)
        assert not is_of_second_order(found, np.ones(2), strict=True)
    if kind == "exposed":
        # It is the exposure that tells: against first order alone they would pass.
        assert found is not None
        assert found.gain > 100
