"""What the model expects of the state a time later, against closed forms."""

import numpy as np
import pytest

from worker.generator.analysis import analysis
from worker.generator.linear.process import LinearProcess, linear_view
from worker.generator.process import ScalarProcess
from worker.identification.symbolic_system import SymbolicSystem, field_from_terms
from worker.validation.conditional_moments import (
    BirthDeathChain,
    ChainPrediction,
    LinearPrediction,
    Observable,
    plane_prediction,
)
from worker.validation.conditional_moments import birth_death_chain as chain_or_none

OU = ScalarProcess(lambda x: -x, lambda x: 2.0 + 0 * x, lambda x: -1.0 + 0 * x)


def chain_of(process: ScalarProcess, low: float, high: float) -> BirthDeathChain:
    chain = chain_or_none(process, low, high)
    assert chain is not None
    return chain


STATES = np.linspace(-2, 2, 9)[:, None]


@pytest.mark.parametrize("time", [0.01, 0.3, 2.0])
def test_a_chain_on_the_line_against_the_ornstein_uhlenbeck_process(time: float) -> None:
    prediction = ChainPrediction(chain_of(OU, -6, 6), (Observable(0.5, 2.0),))
    change, x, fall = prediction.increments(0, STATES, time), STATES[:, 0], np.exp(-time)
    mean, square = fall * x, fall**2 * x**2 + 1 - fall**2
    z = np.stack([(mean - 0.5) / 2, (square - mean + 0.25) / 4], axis=1)
    assert np.allclose(change, z - Observable(0.5, 2.0).values(x), atol=2e-4 * np.sqrt(time))


def test_a_chain_halves_and_doubles_times_alike() -> None:
    chain = chain_of(OU, -5, 5)
    direct = chain_of(OU, -5, 5).transitions(0.4)
    chain.transitions(0.2)
    assert np.allclose(chain.transitions(0.4), direct, atol=1e-12)
    assert np.allclose(direct.sum(axis=1), 1)
    assert direct.min() > -1e-12


def test_a_circle_goes_round() -> None:
    # For Brownian motion with drift 1 and a = 0.5, E exp(ix) turns by the drift and shrinks by
    # exp(-a t / 2).
    circle = ScalarProcess(
        lambda x: 1.0 + 0 * x,
        lambda x: 0.5 + 0 * x,
        lambda x: 0 * x,
        bounds=(-np.pi, np.pi),
        period=2 * np.pi,
    )
    prediction = ChainPrediction(
        chain_of(circle, -np.pi, np.pi), (Observable(0.0, 1.0, 2 * np.pi),)
    )
    x = np.array([-3.0, 0.4, 9.0])
    ahead = prediction.increments(0, x[:, None], 0.7) + np.stack([np.cos(x), np.sin(x)], axis=1)
    assert ahead[:, 0] == pytest.approx(np.exp(-0.175) * np.cos(x + 0.7), abs=2e-3)
    assert ahead[:, 1] == pytest.approx(np.exp(-0.175) * np.sin(x + 0.7), abs=2e-3)


def test_through_noise_the_expectation_over_the_noise_is_the_change_of_the_state() -> None:
    chain, noise = chain_of(OU, -6, 6), 0.09
    clean, noisy = (
        ChainPrediction(chain, (Observable(0, 1),)),
        ChainPrediction(chain, (Observable(0, 1, noise=noise),)),
    )
    nodes, weights = np.polynomial.hermite_e.hermegauss(9)
    around = STATES + np.sqrt(noise) * nodes
    mean = sum(
        w * noisy.increments(0, around[:, [k]], 0.5) for k, w in enumerate(weights / weights.sum())
    )
    assert np.allclose(mean, clean.increments(0, STATES, 0.5), atol=1e-3)
    assert not np.allclose(
        noisy.increments(0, STATES, 0.5), clean.increments(0, STATES, 0.5), atol=1e-2
    )


def test_linear_processes_in_closed_form_agree_with_the_chain() -> None:
    linear = LinearProcess(np.array([[-1.0]]), np.array([[2.0]]), np.zeros(1), np.zeros(1))
    observable = Observable(0.3, 1.5, noise=0.04)
    closed = LinearPrediction(linear, np.array([[1.0]]), (observable,)).increments(0, STATES, 0.5)
    assert np.allclose(
        closed,
        ChainPrediction(chain_of(OU, -6, 6), (observable,)).increments(0, STATES, 0.5),
        atol=1e-3,
    )


def test_plane_cells_agree_with_the_closed_form_of_a_process_linear_but_for_a_trace() -> None:
    def process(trace: float) -> SymbolicSystem:
        fields = [
            field_from_terms(t, ("x", "y"), (None, None))
            for t in (
                {"x": -1.0, "y": 1.0, "x^3": trace},
                {"x": -1.0, "y": -1.0},
                {"1": 1.0},
                {"1": 0.0},
            )
        ]
        return SymbolicSystem(
            (fields[0], fields[1]),
            ((fields[2], fields[3]), (fields[3], fields[2])),
            ((-np.inf, np.inf),) * 2,
            (None, None),
        )

    observables = (Observable(0, 0.7), Observable(0, 0.7))
    linear = linear_view(process(0.0), np.zeros(2), np.ones(2))
    assert linear is not None
    assert linear.covariance is not None
    solution = analysis(process(-1e-6)).solution
    assert solution is not None
    cells, x = (
        plane_prediction(solution, observables),
        np.random.default_rng(0).uniform(-1, 1, (40, 2)),
    )
    assert cells.covers(x).all()
    assert not cells.covers(np.array([[50.0, 0.0]])).any()
    for variable in (0, 1):
        exact = LinearPrediction(linear, linear.covariance, observables).increments(
            variable, x, 0.4
        )
        assert np.allclose(cells.increments(variable, x, 0.4), exact, atol=0.02)


def test_a_coefficient_without_a_value_gives_no_chain() -> None:
    assert (
        chain_or_none(ScalarProcess(np.log, lambda x: 1 + 0 * x, lambda x: 1 / x), -1.0, 1.0)
        is None
    )
