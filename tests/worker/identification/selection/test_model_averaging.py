"""Models drawn over all likely supports hold the truth when the selected support may not."""

from itertools import combinations

import numpy as np
import pytest
from numpy.typing import NDArray

from worker.identification.data.library import Library, make_library
from worker.identification.data.trajectories import from_arrays, measure_scales
from worker.identification.model_sampling import draw_models
from worker.identification.regression import NormalEquations
from worker.identification.selection.model_averaging import cost_of_a_term
from worker.identification.selection.support_selection import BIC, Selected, choose

Floats = NDArray[np.float64]

GRID = np.linspace(-4, 4, 2001)
N_INCREMENTS = 80_000
SHARES = (0.05, 0.25, 0.5, 0.75, 0.95)


class System:
    """A random polynomial drift of one variable, and its equations in the limit of long records."""

    def __init__(self, random: np.random.Generator, library: Library) -> None:
        self.drift = np.array(
            [
                random.uniform(-0.5, 0.5),
                random.uniform(-1, 1),
                random.uniform(-0.5, 0.5),
                -random.uniform(0.2, 1),
                0.0,
            ]
        )
        a = random.uniform(0.5, 2)
        b = np.polynomial.polynomial.polyval(GRID, self.drift)
        exponent = np.cumsum(2 * b / a) * (GRID[1] - GRID[0])
        density = np.exp(exponent - exponent.max())
        density /= density.sum()
        functions = library.internal(GRID)
        self.coefficients = np.linalg.lstsq(functions, b, rcond=None)[0]
        duration = 10 ** random.uniform(1.5, 4) * a / (2 * density @ b**2)
        information = duration / a * (functions.T * density) @ functions
        noise = np.linalg.cholesky(information) @ random.standard_normal(len(information))
        score = information @ self.coefficients + noise
        self.equations = NormalEquations(
            information,
            score,
            information[None],
            score[None],
            np.linalg.cholesky(information).T,
        )
        self.at = library.internal(np.interp(SHARES, np.cumsum(density), GRID))


@pytest.fixture(scope="module")
def library() -> Library:
    """Polynomials to degree four of a variable whose internal units are its own."""
    scales = measure_scales(from_arrays([np.linspace(-1, 1, 101)], 1.0))
    made = make_library((scales,), polynomial_degree=4)
    assert made.internal(np.array([0.5])) @ made.scaled_terms.T == pytest.approx(
        [[1, 0.5, 0.25, 0.125, 0.0625]] / made.term_scales
    )
    return made


def held(selected: Selected, system: System, library: Library) -> Floats:
    """Return at which quantiles of the state the drift lies in its band."""
    drawn = draw_models([selected], 2_000, seed=0)[0][:, 0] @ system.at.T
    low, high = np.quantile(drawn, [0.025, 0.975], axis=0)
    truth = system.at @ system.coefficients
    return np.asarray((low <= truth) & (truth <= high), dtype=float)


def test_bands_hold_the_truth_whether_the_selected_terms_are_right_or_not(library: Library) -> None:
    random = np.random.default_rng(1)
    averaged, alone = [], []
    for _ in range(150):
        system = System(random, library)
        selected = choose(system.equations, None, library, N_INCREMENTS, BIC)
        averaged.append(held(selected, system, library))
        own = Selected(selected.estimate, (), ())
        alone.append(held(own, system, library))
    error = np.std(np.mean(averaged, axis=1)) / np.sqrt(len(averaged))
    assert np.mean(averaged) > 0.92 - 3 * error
    # Negative control: models of the selected terms alone.
    assert np.mean(alone) < 0.75


def test_probabilities_are_those_of_every_set_of_terms(library: Library) -> None:
    """Plain transcription of (M35)."""
    system = System(np.random.default_rng(3), library)
    selected = choose(system.equations, None, library, N_INCREMENTS, BIC)
    terms, h, g = library.scaled_terms, system.equations.information, system.equations.score
    gains = {}
    for size in range(6):
        for support in combinations(range(5), size):
            rows = terms[list(support)]
            gains[support] = 0.5 * (rows @ g) @ np.linalg.solve(rows @ h @ rows.T, rows @ g)
    cost = min(cost_of_a_term(max(gains.values()), 5), 0.5 * np.log(N_INCREMENTS))
    weights = {s: np.exp(gain - cost * len(s)) for s, gain in gains.items()}
    total = sum(weights.values())
    assert len(selected.alternatives) > 3
    for alternative in selected.alternatives:
        expected = weights[alternative.estimate.support] / total
        # Supports that are too rare to be drawn have less than 3 % together.
        assert expected <= alternative.weight * (1 + 1e-9) < expected / 0.97


def test_a_term_costs_as_much_as_the_record_is_long() -> None:
    # A linear drift over T relaxation times gains T/4.
    assert cost_of_a_term(1_000 / 4, 0) == pytest.approx(np.log(1_000) - 3)
    assert cost_of_a_term(1.0, 5) == 0.5
