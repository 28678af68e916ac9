"""Groups of records compared: what differs is found; trajectories that differ are allowed for."""

from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from worker.analysis import AnalysisSettings
from worker.comparison.comparison import Comparison, compare
from worker.comparison.permutations import arrangements
from worker.identification.data.forcing import Forcing
from worker.identification.data.trajectories import Trajectories, from_arrays
from worker.identification.errors import SecondOrderDynamics, TooFewSamples, ValuesOutOfRange
from worker.identification.estimation.setup import ComponentTerms, Settings

FIT = AnalysisSettings(model_only=True)
DT = 0.05


def relaxing(
    seed: int, rates: list[float], n: int = 1500, level: np.ndarray | float = 0.0
) -> Trajectories:
    """Tracks of dX = rate (level − X) dt + dW by their exact transitions."""
    generator, rate = np.random.default_rng(seed), np.array(rates)
    decay = np.exp(-rate * DT)
    spread = np.sqrt((1 - decay**2) / (2 * rate))
    x = generator.normal(size=len(rate)) / np.sqrt(2 * rate)
    seen = [x]
    for _ in range(n - 1):
        seen.append(decay * seen[-1] + spread * generator.normal(size=len(rate)))
    return from_arrays(list(np.array(seen).T + level), DT)


def compared(groups: dict[str, Trajectories], **how: Any) -> Comparison:
    return compare(groups, Settings(**how), FIT, lambda *_: None)


def test_a_rate_that_differs_is_found_and_a_diffusion_that_does_not_is_shared() -> None:
    found = compared({"a": relaxing(1, [1.0] * 4), "b": relaxing(2, [2.0] * 4)})
    drift, diffusion = found.components["x"], found.components["x,x"]
    assert (drift.terms, drift.found.sharing) == (("x",), ("separate",))
    assert (diffusion.terms, diffusion.found.sharing[0]) == (("1",), "shared")
    # The Cramér–Rao bound of a rate κ over a duration T is √(2κ/T).
    errors = np.sqrt(2 * np.array([1.0, 2.0]) / (4 * 1500 * DT))
    assert (np.abs(drift.found.values[:, 0] + [1, 2]) < 4 * errors).all()
    assert drift.found.equality.p_value < 1e-6
    # The 35 ways of putting eight tracks into two groups of four differ at least by 1/35.
    assert found.permuted.p_values["x"] < 0.06


def driven(seed: int, answer: float, mean: float, n_tracks: int = 4, n: int = 1500) -> Trajectories:
    """Tracks of dX = (answer u − X) dt + dW for a signal u that is a straight line in each step."""
    generator = np.random.default_rng(seed)
    decay, slow = np.exp(-DT), np.exp(-DT / 2)
    u, x = np.zeros((n, n_tracks)), np.zeros((n, n_tracks))
    for k in range(n - 1):
        kicks = generator.normal(size=(2, n_tracks))
        u[k + 1] = slow * u[k] + np.sqrt((1 - slow**2) / 2) * kicks[0]
        force = answer * (u[k : k + 2] + mean)
        late = (DT - 1 + decay) / DT
        pushed = (1 - decay - late) * force[0] + late * force[1]
        x[k + 1] = decay * x[k] + pushed + np.sqrt((1 - decay**2) / 2) * kicks[1]
    found = from_arrays(list(x.T), DT)
    return replace(found, inputs=(u + mean).T.reshape(-1, 1))


def test_an_answer_to_an_input_that_differs_is_found_at_common_inputs() -> None:
    found = compared({"a": driven(1, 0.8, 0.0), "b": driven(2, 0.0, 1.0)})
    drift = found.components["x"]
    assert (drift.terms, drift.found.sharing) == (("x", "u"), ("shared", "separate"))
    errors = np.sqrt(np.diagonal(drift.found.covariance, axis1=1, axis2=2))
    truth = np.array([[-1.0, 0.8], [-1.0, 0.0]])
    assert (np.abs(drift.found.values - truth) < 4 * errors).all()
    assert drift.by_term[1] < 1e-4 < 0.01 < drift.by_term[0]
    held = [model.driving.inputs["u"] for model in found.models.values() if model.driving]
    assert held == pytest.approx([0.5, 0.5], abs=0.1)
    assert held[0] == held[1]


def test_answers_to_a_season_are_compared() -> None:
    groups = {"a": relaxing(1, [1.0] * 4), "b": relaxing(2, [1.0] * 4)}
    omega = 2 * np.pi / 5
    for data, answer in zip(groups.values(), (1.0, 2.0), strict=True):
        # The mean that the force sin(2πt/5) leaves once it has settled.
        wave = np.imag(np.exp(1j * omega * data.times) / (1 + 1j * omega))
        data.states[:, 0] += answer * wave
    found = compared(groups, forcing=Forcing((5.0,)))
    drift = found.components["x"]
    assert drift.terms == ("x", "sin(2*pi*t/5)")
    assert drift.found.values[:, 1] == pytest.approx([1.0, 2.0], abs=0.4)
    assert drift.by_term[1] < 1e-4 < 0.01 < drift.by_term[0]


def test_rates_that_differ_are_no_difference_of_diffusions_by_permuted_labels() -> None:
    # Squared increments are shorter by the factor 1 − κ Δt: by 15 % more in b.
    p_values = [
        compared(
            {"a": relaxing(seed, [1.0] * 4), "b": relaxing(seed + 9, [4.0] * 4)}
        ).permuted.p_values["x,x"]
        for seed in (1, 2, 3)
    ]
    # With those they were 0.02, 0.08 and 0.05.
    assert max(p_values) > 0.1


def test_tracks_that_differ_among_themselves_are_no_difference_between_groups() -> None:
    # Rates of the tracks are drawn once; the halves differ by the draw alone.
    rates = [0.5, 0.6, 2.5, 0.5, 2.6, 0.7, 0.6, 2.5]
    found = compared({"a": relaxing(1, rates[:4]), "b": relaxing(2, rates[4:])})
    assert found.permuted.p_values["x"] > 0.1


def test_units_change_no_test() -> None:
    groups = {"a": relaxing(1, [1.0] * 2), "b": relaxing(2, [1.5] * 2)}

    def scaled(data: Trajectories) -> Trajectories:
        return Trajectories(1e-9 * data.states, 1e3 * data.times, data.segments)

    one = compared(groups)
    other = compared({name: scaled(data) for name, data in groups.items()})
    for key in ("x", "x,x"):
        assert other.components[key].found.equality.p_value == pytest.approx(
            one.components[key].found.equality.p_value, rel=1e-3
        )


def test_a_known_term_is_neither_compared_nor_fitted() -> None:
    groups = {"a": relaxing(1, [1.0] * 2, level=1.0), "b": relaxing(2, [1.0] * 2, level=2.0)}
    found = compared(groups, constraints={"x": ComponentTerms(known={"x": -1.0})})
    assert found.components["x"].terms == ("1",)
    # The error of the level times the rate is 1/√T.
    assert found.components["x"].found.values[:, 0] == pytest.approx(
        [1.0, 2.0], abs=4 / np.sqrt(2 * 1500 * DT)
    )


def test_what_a_group_cannot_answer_names_the_group() -> None:
    good, short = relaxing(1, [1.0]), relaxing(2, [1.0], n=20)
    with pytest.raises(TooFewSamples, match="Group short: Too few samples: 19 increments"):
        compared({"good": good, "short": short})
    smooth = np.cumsum(good.states[:, 0]) * DT
    with pytest.raises(SecondOrderDynamics, match=r"Group inert: .*first order"):
        compared({"good": good, "inert": from_arrays([smooth], DT)})


@pytest.mark.parametrize(("unit", "level"), [(1e-4, 0.0), (1e6, 0.0), (1.0, 100.0)])
def test_groups_in_other_units_or_far_apart_are_refused(unit: float, level: float) -> None:
    one, other = relaxing(1, [1.0]), relaxing(2, [1.0])
    moved = from_arrays([unit * other.states[:, 0] + level], DT)
    with pytest.raises(ValuesOutOfRange, match=r"Group (a|b): x lies between .* told apart"):
        compared({"a": one, "b": moved})
    near = from_arrays([2 * other.states[:, 0] + 5.0], DT)
    assert compared({"a": one, "b": near}).components["x"].terms == ("1", "x")


def test_few_trajectories_are_not_permuted() -> None:
    assert arrangements([3, 3]) == pytest.approx(20)
    assert arrangements([2, 2, 2]) == pytest.approx(90)
    found = compared({"a": relaxing(1, [1.0]), "b": relaxing(2, [1.0])})
    assert found.permuted.p_values == {}
    assert "in only 2 ways" in found.permuted.reason


def turning(seed: int, turns: float, n: int = 8000) -> Trajectories:
    """dX = −X dt + turns J X dt + dW in the plane, by its exact transitions."""
    generator, decay = np.random.default_rng(seed), np.exp(-DT)
    cos, sin = decay * np.cos(turns * DT), decay * np.sin(turns * DT)
    step, x, seen = np.array([[cos, -sin], [sin, cos]]), np.zeros(2), []
    for kick in generator.normal(0, np.sqrt((1 - decay**2) / 2), (n, 2)):
        x = step @ x + kick
        seen.append(x)
    return from_arrays([np.array(seen)], DT)


def test_periods_of_oscillations_are_compared() -> None:
    groups = {"slow": turning(1, 1.0), "fast": turning(2, 2.0)}
    settings = Settings(dynamics="first-order", measurement_noise="none")
    found = compare(groups, settings, AnalysisSettings(), lambda *_: None)
    (period,) = (q for what, q in found.quantities.items() if what.kind == "period")
    # The frequency's error is √(2/T) for a rotation that loses its phase at rate 1.
    errors = np.sqrt(2 / (8000 * DT)) / np.array([1.0, 2.0])
    log = np.log(period.contrasts["fast"].value / 0.5)
    assert abs(log) < 4 * np.hypot(*errors)
    assert period.p_value < 1e-6
    for name, value in zip(("slow", "fast"), (2 * np.pi, np.pi), strict=True):
        assert np.log(period.groups[name].value / value) == pytest.approx(0.0, abs=4 * max(errors))
    assert found.components["x"].adjusted >= found.components["x"].found.equality.p_value


def test_mean_velocities_of_an_angle_are_compared() -> None:
    groups = {}
    for seed, (name, speed) in enumerate((("slow", 0.5), ("fast", 1.0))):
        kicks = np.sqrt(DT) * np.random.default_rng(seed).normal(size=8000)
        groups[name] = from_arrays([np.cumsum(speed * DT + kicks) % (2 * np.pi)], DT)
    settings = Settings(dynamics="first-order", measurement_noise="none", periods={"x": 2 * np.pi})
    found = compare(groups, settings, AnalysisSettings(), lambda *_: None)
    (velocity,) = (q for what, q in found.quantities.items() if what.kind == "mean-velocity")
    error = np.sqrt(2 / (8000 * DT))  # each mean velocity has 1/√T
    assert velocity.contrasts["fast"].value == pytest.approx(0.5, abs=4 * error)
    low, high = velocity.contrasts["fast"].interval
    assert high - low == pytest.approx(2 * 1.96 * error, rel=0.2)
