"""Variables that cannot be taken as they are."""

import numpy as np
import pytest

from worker.identification.data.preconditions import check_independent, check_unwrapped
from worker.identification.data.trajectories import from_arrays
from worker.identification.data.windows import measure_space
from worker.identification.errors import (
    CollinearVariables,
    IndependentSamples,
    ValuesOutOfRange,
    WrappedVariable,
)
from worker.identification.estimation.setup import Settings, problem_of


def _walk(n: int = 4_000, step: float = 12.0, seed: int = 0) -> np.ndarray:
    return np.cumsum(np.random.default_rng(seed).normal(0, step, n))


def _check(*paths: np.ndarray) -> None:
    data = from_arrays(list(paths), 1.0)
    check_unwrapped(data, measure_space(data, (None,)))


def test_dependent_columns_are_refused_in_any_order_and_unit() -> None:
    x = np.random.default_rng(0).standard_normal((500, 2))
    combined = np.stack([x[:, 0], x[:, 1] * 1e-6, 3 * x[:, 0] + x[:, 1]], axis=1)
    with pytest.raises(CollinearVariables, match="of x, y, z one is a linear") as refused:
        check_independent(from_arrays([combined], 1.0))
    assert "Leave z out" in refused.value.hints[0]
    beside = np.stack([x[:, 0], x[:, 1], 2 * x[:, 1] + 5], axis=1)
    with pytest.raises(CollinearVariables, match="of y, z one is a linear"):
        check_independent(from_arrays([beside], 1.0))
    with pytest.raises(CollinearVariables, match="y does not vary"):
        check_independent(from_arrays([np.stack([x[:, 0], np.full(500, 7.0)], axis=1)], 1.0))
    check_independent(from_arrays([x], 1.0))


def test_columns_that_cannot_be_states_are_named_and_the_advice_works() -> None:
    """A logged temperature beside a position: the message gave no name, and advice for one."""
    generator = np.random.default_rng(5)
    position = np.zeros(4_000)
    for n in range(1, len(position)):
        position[n] = 0.9 * position[n - 1] + generator.standard_normal()
    noise = 21 + 0.01 * generator.standard_normal((4_000, 2))
    columns = np.column_stack([noise[:, 0], position, noise[:, 1]])

    def tried(x: np.ndarray) -> None:
        problem_of(from_arrays([x], 0.1), Settings(), lambda *_: None)

    with pytest.raises(IndependentSamples, match="of variable x are independent") as one:
        tried(columns[:, :2])
    assert "Leave variable x out" in one.value.hints[0]
    with pytest.raises(IndependentSamples, match="The same holds of z") as two:
        tried(columns)
    assert "Leave variables x, z out" in two.value.hints[0]
    # Of columns that are all such, none is to be left out.
    with pytest.raises(IndependentSamples) as every:
        tried(noise)
    assert every.value.hints == ("Sample several times within one relaxation time.",)
    tried(columns[:, 1:2])
    huge = np.column_stack([position, 1e60 * position[::-1]])
    with pytest.raises(ValuesOutOfRange, match="values of variable y"):
        tried(huge)


@pytest.mark.slow
@pytest.mark.parametrize(("period", "named"), [(360.0, "360"), (2 * np.pi, "6.28319")])
def test_an_undeclared_angle_is_refused_and_its_period_named(period: float, named: str) -> None:
    angle = (_walk() * period / 360 + period / 2) % period - period / 2
    data = from_arrays([np.stack([_walk(seed=1), angle], axis=1)], 1.0)
    with pytest.raises(WrappedVariable, match="y jumps") as refused:
        check_unwrapped(data, measure_space(data, (None, None)))
    assert f'"y": {named}' in refused.value.hints[0]
    check_unwrapped(data, measure_space(data, (None, period)))


def test_a_diffusion_that_crosses_its_range_is_no_angle() -> None:
    # Sampled so coarsely that steps of any size up to the whole range occur.
    x = np.random.default_rng(3).uniform(-1, 1, (5_000, 1))
    _check(x)
    _check(_walk())


def test_the_seam_between_two_trajectories_is_no_jump() -> None:
    low, high = np.full((50, 1), -1.0), np.full((50, 1), 1.0)
    noise = 0.01 * np.random.default_rng(0).standard_normal((50, 1))
    _check(*[low + noise, high + noise] * 5)


def test_wild_readings_and_a_switch_between_two_values_are_no_angle() -> None:
    x = np.sin(_walk(step=0.05))
    wild = x.copy()
    wild[[100, 300, 500, 700]] += 40
    _check(wild)
    switching = np.where(
        np.cumsum(np.random.default_rng(3).random(5_000) < 0.01) % 2 == 0, 1.0, -1.0
    )
    _check(switching)


def test_a_missing_code_is_no_end_of_an_angle() -> None:
    x = np.sin(_walk(step=0.05))
    x[200:260], x[400:420], x[600:650] = -999, -999, -999
    _check(x)
