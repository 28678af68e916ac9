"""Velocities beside positions: which columns are some, in which unit, and which were computed."""

from collections.abc import Callable

import numpy as np
import pytest
from numpy.typing import NDArray
from scipy.signal import savgol_filter

from tests.worker.identification.second_order.paths import harmonic_states
from worker.identification.data.trajectories import Trajectories, from_arrays
from worker.identification.second_order.recorded_velocities import (
    RecordedVelocity,
    recorded_velocities,
)

Floats = NDArray[np.float64]

DT, N = 0.05, 4000
STATES = harmonic_states(4.0, 1.0, 1.0, DT, N, 1)


def found(states: Floats, dt: float = DT) -> tuple[RecordedVelocity, ...]:
    return recorded_velocities(from_arrays([states], dt), (None,) * states.shape[1])


def pairs(states: Floats, dt: float = DT) -> list[tuple[int, int, float, str]]:
    return [(p.position, p.velocity, p.factor, p.source) for p in found(states, dt)]


def simulated(
    drift: Callable[[Floats], Floats], noise: Floats, dt: float, n: int, seed: int, parts: int = 20
) -> Floats:
    """Simulate two variables by Euler's rule in `parts` steps a sample; (n, 2)."""
    rng, h = np.random.default_rng(seed), dt / parts
    x, out = np.array([0.3, 0.1]), np.empty((n, 2))
    kicks = rng.standard_normal((n, parts, 2)) * np.sqrt(h) * noise
    for i in range(n):
        out[i] = x
        for kick in kicks[i]:
            x = x + drift(x) * h + kick
    return out


@pytest.mark.parametrize("dt", [0.005, 0.05, 0.2])
def test_exact_samples_of_position_and_velocity_are_recognised(dt: float) -> None:
    assert pairs(harmonic_states(4.0, 1.0, 1.0, dt, 2000, 3), dt) == [(0, 1, 1.0, "instant")]


def test_what_the_trapezoid_misses_is_a_twelfth_of_the_kicks() -> None:
    # Var(∫v ds − trapezoid) = a Δt³/12, the area of a Brownian bridge; friction and spring change
    # it by (γΔt)². The square of n normal numbers has the relative error √(2/n).
    x, v = harmonic_states(4.0, 1.0, 1.0, 0.01, 20_000, 2).T
    left = np.diff(x) - (v[1:] + v[:-1]) / 2 * 0.01
    assert np.mean(left**2) / (0.01**3 / 12) == pytest.approx(1, abs=4 * np.sqrt(2 / 20_000))


def test_pairs_are_found_in_any_order_beside_other_variables() -> None:
    other = harmonic_states(3.0, 0.5, 1.0, DT, N, 5)
    x, v = STATES.T
    alone = np.cumsum(np.random.default_rng(0).standard_normal(N))
    mixed = np.column_stack([v, other[:, 0], alone, x, other[:, 1]])
    assert pairs(mixed) == [(1, 4, 1.0, "instant"), (3, 0, 1.0, "instant")]


@pytest.mark.parametrize(
    ("unit", "factor"), [(1000.0, 1e-3), (1e-6, 1e6), (-1.0, -1.0), (1 / 60, 60.0)]
)
def test_another_unit_is_a_constant_factor(unit: float, factor: float) -> None:
    (pair,) = found(STATES * [1, unit])
    assert (pair.factor, pair.error) == (pytest.approx(factor, rel=1e-12), 0.0)


def test_a_factor_that_is_no_unit_is_told_with_its_error() -> None:
    (pair,) = found(STATES * [1, 2.37])
    assert 0 < pair.error < 0.01
    assert abs(pair.factor - 1 / 2.37) < 4 * pair.error


@pytest.mark.parametrize("digits", [(3, 3), (2, 2), (4, 2), (2, 4)])
def test_rounded_columns_are_recognised(digits: tuple[int, int]) -> None:
    rounded = np.column_stack([s.round(n) for s, n in zip(STATES.T, digits, strict=True)])
    assert pairs(rounded) == [(0, 1, 1.0, "instant")]


@pytest.mark.parametrize("parts", [1, 4])
def test_records_that_were_simulated_step_by_step_are_recognised(parts: int) -> None:
    def duffing(x: Floats) -> Floats:
        return np.array([x[1], x[0] - x[0] ** 3 - 0.5 * x[1]])

    states = simulated(duffing, np.array([0.0, 0.6]), DT, N, 1, parts)
    assert pairs(states) == [(0, 1, 1.0, "instant")]


def test_a_clock_may_be_uneven_and_trajectories_short() -> None:
    fine = harmonic_states(4.0, 1.0, 1.0, 0.005, 20_000, 4)
    at = np.unique(np.random.default_rng(0).integers(0, 20_000, 4000))
    ends = np.arange(0, len(at) - 50, 50)
    segments = np.column_stack([ends, ends + 50, np.arange(len(ends))])
    record = Trajectories(fine[at], at * 0.005, segments)
    assert [p.factor for p in recorded_velocities(record, (None, None))] == [1.0]
    tracks = from_arrays([STATES[i : i + 5] for i in range(0, N, 5)], DT)
    assert [p.factor for p in recorded_velocities(tracks, (None, None))] == [1.0]
    slopes = np.column_stack([fine[at, 0], np.gradient(fine[at, 0], at * 0.005)])
    whole = Trajectories(slopes, at * 0.005, np.array([[0, len(at), 0]]))
    assert [p.source for p in recorded_velocities(whole, (None, None))] == ["secants"]


def test_a_position_on_a_circle_has_a_velocity_too() -> None:
    x, v = STATES.T
    turned = np.column_stack([np.mod(x + 2.0 * DT * np.arange(N), 1.5), v + 2.0])
    (pair,) = recorded_velocities(from_arrays([turned], DT), (1.5, None))
    assert (pair.position, pair.factor) == (0, 1.0)


@pytest.mark.parametrize(
    "computed",
    [
        lambda x: np.gradient(x, DT),
        lambda x: np.append(np.diff(x), 0.0) / DT,
        lambda x: np.append(0.0, np.diff(x)) / DT,
        lambda x: np.gradient(x, DT).round(3),
        lambda x: savgol_filter(x, 7, 2, deriv=1, delta=DT),
    ],
    ids=["central", "forward", "backward", "rounded", "smoothed"],
)
@pytest.mark.parametrize("noise", [0.0, 0.01])
def test_velocities_that_were_computed_from_positions_are_told(
    computed: Callable[[Floats], Floats], noise: float
) -> None:
    x = STATES[:, 0] + noise * np.random.default_rng(1).standard_normal(N)
    assert [p[3] for p in pairs(np.column_stack([x, computed(x)])[1:-1])] == ["secants"]


def rotation(rng: np.random.Generator) -> tuple[Callable[[Floats], Floats], Floats]:
    turn = rng.uniform(0.5, 3)
    matrix = np.array([[-0.3, turn], [-turn, -0.3]])
    return lambda x: matrix @ x, np.array([0.0, 1.0])


def linear(rng: np.random.Generator) -> tuple[Callable[[Floats], Floats], Floats]:
    matrix = rng.normal(size=(2, 2))
    matrix -= (max(0, np.linalg.eigvals(matrix).real.max()) + 0.3) * np.eye(2)
    return lambda x: matrix @ x, np.array([rng.choice([0.0, 1.0]), 1.0])


def neuron(rng: np.random.Generator) -> tuple[Callable[[Floats], Floats], Floats]:
    slow = rng.uniform(0.02, 0.3)
    return (
        lambda x: np.array([x[0] - x[0] ** 3 / 3 - x[1], slow * (x[0] + 0.7 - 0.8 * x[1])]),
        np.array([0.2, 0.0]),
    )


def bent(rng: np.random.Generator) -> tuple[Callable[[Floats], Floats], Floats]:
    bend = rng.uniform(0.2, 1)
    return lambda x: np.array([x[1] + bend * x[1] ** 3, -x[0] - x[1]]), np.array([0.0, 1.0])


@pytest.mark.parametrize("kind", [rotation, linear, neuron, bent])
def test_no_other_process_of_first_order_is_taken_for_one(
    kind: Callable[[np.random.Generator], tuple[Callable[[Floats], Floats], Floats]],
) -> None:
    # 300 such records of 500 to 4000 samples, Δt 0.01 to 0.3, had none either.
    for seed in range(3):
        drift, noise = kind(np.random.default_rng(seed))
        assert found(simulated(drift, noise, DT, 1500, seed, 10)) == ()


def test_a_column_that_is_late_is_no_velocity() -> None:
    assert found(np.column_stack([STATES[1:, 0], STATES[:-1, 0]])) == ()
