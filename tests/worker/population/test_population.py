"""Populations of simulated records: means, differences, and the record that stands apart."""

from functools import cache

import numpy as np
import pytest
from numpy.typing import NDArray
from scipy.signal import lfilter

from worker.identification.data.trajectories import Trajectories, from_arrays
from worker.identification.errors import TooFewSamples
from worker.identification.estimation.setup import Settings
from worker.population.population import Population, population

Floats = NDArray[np.float64]
DT, LEVEL, DEVIATION = 0.1, 2.0, 0.2


def records(rates: Floats, durations: Floats, seed: int, unit: float = 1.0) -> Trajectories:
    """Ornstein–Uhlenbeck records with these rates, a = 1, exactly sampled; in a unit of state."""
    rng = np.random.default_rng(seed)
    made = []
    for rate, duration in zip(rates, durations, strict=True):
        keep, variance = np.exp(-rate * DT), 0.5 / rate
        kicks = rng.normal(size=int(duration / DT) + 1) * np.sqrt(variance * (1 - keep**2))
        kicks[0] = rng.normal() * np.sqrt(variance)
        made.append(unit * (LEVEL + lfilter([1.0], [1.0, -keep], kicks)))
    return from_arrays(made, DT)


def of_one() -> list[Floats]:
    """A record alone."""
    return [records(np.ones(1), np.full(1, 30.0), 4).states[:, 0] - LEVEL]


def found(data: Trajectories, names: tuple[str, ...] = ()) -> Population:
    settings = Settings(polynomial_degree=1, measurement_noise="none")
    return population(data, settings, lambda *_: None, names=names)


@cache
def of_fifty(unit: float = 1.0) -> tuple[Population, Floats]:
    rng = np.random.default_rng(4)
    rates = 1 + DEVIATION * rng.normal(size=50)
    rates[20] = 4.0
    names = tuple(f"cell {n}" for n in range(50))
    return found(records(rates, rng.uniform(50, 150, 50), 5, unit), names), rates


def test_a_record_of_another_rate_is_named() -> None:
    population, _ = of_fifty()
    assert {each.record for each in population.apart} == {20}
    [warning] = [each for each in population.findings if each.code == "records-apart"]
    assert "cell 20 (drift x, x:" in warning.message


def test_shrunken_estimates_are_nearer_to_the_truth_than_those_of_single_records() -> None:
    population, rates = of_fifty()
    assert population.rate is not None
    others = np.arange(50) != 20
    away = population.rate.shrunken - rates
    alone = population.rate.own - rates
    assert np.mean(away[others] ** 2) < 0.8 * np.mean(alone[others] ** 2)
    # 49 records: the root of their mean square is 1 within three standard errors of 0.1.
    assert np.sqrt(np.mean((away / population.rate.errors)[others] ** 2)) == pytest.approx(
        1, abs=0.3
    )


def test_the_unit_of_the_state_does_not_matter() -> None:
    one, other = of_fifty()[0], of_fifty(1e-6)[0]
    assert one.rate is not None
    assert other.rate is not None
    assert other.rate.mean == pytest.approx(one.rate.mean, rel=1e-3)
    assert other.rate.spread.value == pytest.approx(one.rate.spread.value, rel=1e-2)
    assert other.components["x,x"][0].mean == pytest.approx(
        1e-12 * one.components["x,x"][0].mean, rel=1e-3
    )


def test_the_mean_rate_of_tracks_too_short_to_tell_it_has_no_bias() -> None:
    n = 800
    rates = 1 + DEVIATION * np.random.default_rng(8).normal(size=n)
    population = found(records(rates, np.full(n, 5.0), 9))
    assert population.rate is not None
    rate = population.rate
    assert abs(rate.mean - 1) < 3.5 * rate.std_error
    # The mean of single fits, each of five relaxation times, is the negative control.
    assert np.nanmean(rate.own) > 1.4


def test_two_records_are_no_population() -> None:
    with pytest.raises(TooFewSamples, match="needs 3 trajectories or more, and there are 2"):
        found(records(np.ones(2), np.full(2, 20.0), 1))


@pytest.mark.parametrize(
    ("data", "told"),
    [
        (
            records(np.ones(400), np.full(400, DT), 3),
            "Fewer than 3 of 400 records tell of the drift x",
        ),
        (
            from_arrays([*[np.zeros(300)] * 20, *of_one()], DT),
            "Fewer than 3 of 21 records tell of the drift x",
        ),
    ],
)
def test_records_that_tell_nothing_are_refused(data: Trajectories, told: str) -> None:
    with pytest.raises(TooFewSamples, match=told):
        found(data)


def test_the_level_of_records_is_estimated_where_the_pooled_drift_has_none() -> None:
    """Its mean is that of the records, and not 0 because no term 1 was selected."""
    made = records(np.ones(40), np.full(40, 60.0), 12)
    shift = 0.01 - float(made.states.mean())
    made = from_arrays([made.states[a:b, 0] + shift for a, b, _ in made.segments], DT)
    population = found(made)
    assert "1" not in [t.name for t in population.model.drift["x"].terms if t.active]
    level, _ = population.components["x"]
    assert 0.1 * level.std_error < level.mean < 1.5 * level.std_error


def test_of_equal_records_no_difference_is_found() -> None:
    population = found(records(np.ones(30), np.full(30, 60.0), 12))
    for terms in population.components.values():
        for term in terms:
            assert term.spread.interval[0] == 0
            assert term.heterogeneity.p_value > 0.001
    assert population.apart == ()
