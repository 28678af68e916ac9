"""The number of kernels in several variables, by cross-validation."""

from dataclasses import replace

import numpy as np
import pytest

from benchmarks.simulation import simulate_system
from worker.identification.data.library import make_library
from worker.identification.data.trajectories import Trajectories, from_arrays
from worker.identification.data.windows import measure_space
from worker.identification.estimation.kernel_choice import choose_instruments
from worker.identification.estimation.problem import Problem
from worker.identification.sums.instruments import Instruments, make_instruments

PLANE = (None, None)


def _problem(data: Trajectories) -> tuple[Problem, np.ndarray]:
    space = measure_space(data, PLANE)
    library = make_library(space.scales, polynomial_degree=3, periods=PLANE)
    y = space.internal(data.states[::10])
    return Problem(data, space, library, make_instruments(y, library, PLANE, count=50)), y


@pytest.fixture(scope="module")
def coupled() -> Trajectories:
    paths = simulate_system(
        lambda x: np.stack(
            [x[:, 0] - x[:, 0] ** 3 + 0.5 * x[:, 1], 0.5 * x[:, 0] - x[:, 1]], axis=1
        ),
        lambda x: np.broadcast_to(0.5 * np.eye(2), (len(x), 2, 2)),
        np.random.default_rng(0).normal(0, 0.5, (24, 2)),
        dt=0.02, n_steps=1_000, substeps=2, burn_in=50, seed=3,
    )  # fmt: skip
    return from_arrays(list(paths), 0.02)


def test_whatever_their_number_kernels_beside_the_librarys_functions_are_at_the_bound(
    coupled: Trajectories,
) -> None:
    problem, y = _problem(coupled)
    chosen = choose_instruments(
        problem, lambda n: make_instruments(y, problem.library, PLANE, count=n)
    )
    choice = chosen.choice
    assert choice.n_folds == 12
    for candidate, behind in zip(choice.candidates, choice.shortfalls(), strict=True):
        # The cut of V at 10⁻⁵ of its largest eigenvalue loses some directions; the rest is
        # Cauchy–Schwarz.
        assert 1 - 1e-6 < candidate.drift_variance < 1.05
        assert 1 - 1e-6 < candidate.diffusion_variance < 1.05
        # A paired difference of efficient estimators on eleven degrees of freedom: one in 300 is
        # beyond 3.5 errors.
        assert behind[0] <= max(3.5 * behind[1], 0.1)
    taken = choice.candidates[choice.chosen]
    assert (taken.count, taken.bandwidth) == (
        chosen.instruments.n_kernels,
        chosen.instruments.bandwidth,
    )


def test_kernels_away_from_the_data_are_told(coupled: Trajectories) -> None:
    problem, y = _problem(coupled)

    def make(count: int) -> Instruments:
        made = make_instruments(y, problem.library, PLANE, count=count)
        # The library's functions are tapered where no kernel is: these see an edge of the data
        # only.
        return (
            made
            if count == 50
            else replace(made, centres=made.centres + 2.5, bandwidth=made.bandwidth / 4)
        )

    chosen = choose_instruments(problem, make)
    choice = chosen.choice
    assert chosen.instruments.n_kernels == problem.instruments.n_kernels
    bad = [c for c in choice.candidates if c.count != problem.instruments.n_kernels]
    assert all(c.score is None or c.drift_variance > 1.5 for c in bad)


def test_units_and_the_order_of_variables_change_no_choice(coupled: Trajectories) -> None:
    changed = from_arrays(
        [coupled.states[a:b, ::-1] * [1e-6, 3.0] + [0, 5] for a, b, _ in coupled.segments], 72.0
    )
    choices = []
    for data in (coupled, changed):
        problem, y = _problem(data)
        choices.append(
            choose_instruments(
                problem, lambda n, p=problem, y=y: make_instruments(y, p.library, PLANE, count=n)
            ).choice
        )
    one, other = choices
    assert one.chosen == other.chosen
    for before, after in zip(one.candidates, other.candidates, strict=True):
        assert after.count == before.count
        # Kernels are of single precision, and directions near the cut of V may be kept in one unit
        # only.
        assert after.score == pytest.approx(before.score, abs=0.1)


def test_a_record_of_two_blocks_leaves_the_default(coupled: Trajectories) -> None:
    first = Trajectories(coupled.states[:140], coupled.times[:140], np.array([[0, 140, 0]]))
    problem, y = _problem(first)
    same = choose_instruments(
        problem, lambda n: make_instruments(y, problem.library, PLANE, count=n)
    )
    assert same.instruments is problem.instruments
    assert same.choice.chosen is None
