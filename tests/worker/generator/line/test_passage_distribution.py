"""The law of a passage time as a curve, against the closed forms that there are."""

from collections.abc import Callable

import numpy as np
import pytest
from scipy.special import erfc, log_ndtr, ndtr

from worker.generator.analysis import analyse
from worker.generator.process import FloatArray, ScalarProcess
from worker.generator.quantities.outcomes import TOO_SHORT, TOO_STEEP_ON_THE_WAY, Outcome, Reason
from worker.generator.quantities.passages import PassageCurve

Law = Callable[[FloatArray], tuple[FloatArray, FloatArray]]


def curve(model: ScalarProcess, start: float, to: float) -> PassageCurve:
    law = analyse(model, passages=[(start, to)]).passages[0].law
    assert isinstance(law, PassageCurve)
    return law


def linear(a: float) -> ScalarProcess:
    return ScalarProcess(lambda x: -x, lambda x: a + 0 * x, lambda x: -1 + 0 * x)


def straight(speed: float, a: float, low: float = -np.inf) -> ScalarProcess:
    return ScalarProcess(
        lambda x: speed + 0 * x, lambda x: a + 0 * x, lambda x: 0 * x, (low, np.inf)
    )


def linear_law(times: FloatArray, start: float, a: float) -> tuple[FloatArray, FloatArray]:
    """From start to 0 of dX = −X dt + √a dW, by reflection: P(T < t) = 2 P(X_t < 0)."""
    decay = np.exp(-times)
    y = start * decay / np.sqrt(a * (1 - decay**2))
    return 2 / np.sqrt(np.pi) * np.exp(-(y**2)) * y / (1 - decay**2), erfc(y)


def inverse_gaussian(
    times: FloatArray, distance: float, speed: float, a: float
) -> tuple[FloatArray, FloatArray]:
    density = (
        distance
        / np.sqrt(2 * np.pi * a * times**3)
        * np.exp(-((distance - speed * times) ** 2) / (2 * a * times))
    )
    scale = np.sqrt(a * times)
    late = np.exp(2 * speed * distance / a + log_ndtr(-(speed * times + distance) / scale))
    return density, ndtr((speed * times - distance) / scale) + late


CASES: dict[str, tuple[ScalarProcess, float, float, Law]] = {
    **{
        f"linear from {x:g}": (linear(0.49), x, 0.0, lambda t, x=x: linear_law(t, x, 0.49))
        for x in (0.02, 0.5, 2.0)
    },
    "linear from below": (linear(0.49), -1.0, 0.0, lambda t: linear_law(t, 1.0, 0.49)),
    # So rare a start that the law is had from a Fourier series.
    "linear from 20 standard deviations": (
        linear(0.02),
        2.0,
        0.0,
        lambda t: linear_law(t, 2.0, 0.02),
    ),
    "slow drift": (straight(0.2, 1.0), 0.0, 1.0, lambda t: inverse_gaussian(t, 1.0, 0.2, 1.0)),
    "fast drift": (straight(1.0, 0.01), 0.0, 1.0, lambda t: inverse_gaussian(t, 1.0, 1.0, 0.01)),
    "hardly any noise": (
        straight(1.0, 1e-4, -0.01),
        0.0,
        0.05,
        lambda t: inverse_gaussian(t, 0.05, 1.0, 1e-4),
    ),
}


@pytest.mark.parametrize("name", CASES)
def test_curve_is_the_closed_form_to_a_thousandth_of_its_peak(name: str) -> None:
    model, start, to, law = CASES[name]
    found = curve(model, start, to)
    density, cumulative = law(found.times)
    assert 80 <= len(found.times) <= 110
    assert cumulative[[0, -1]] == pytest.approx([1e-3, 1 - 1e-3], abs=3e-4)
    assert np.max(np.abs(found.density - density)) < 1e-3 * np.max(density)
    np.testing.assert_allclose(found.cumulative, cumulative, atol=2e-4)
    for p, time in zip((0.05, 0.25, 0.5, 0.75, 0.95), found.quantiles, strict=True):
        assert law(np.array([time]))[1][0] == pytest.approx(p, abs=2e-4)
    # The tolerance tells a process that is a hundredth slower.
    assert np.max(np.abs(found.density - law(found.times * 1.01)[0] * 1.01)) > 2e-3 * np.max(
        density
    )


def test_curve_has_the_mean_and_spread_that_are_found_without_it() -> None:
    model = ScalarProcess(lambda x: x - x**3, lambda x: 0.25 + 0 * x, lambda x: 1 - 3 * x**2)
    passage = analyse(model, passages=[(-1.0, 1.0)]).passages[0]
    law = passage.law
    assert isinstance(law, PassageCurve)
    # Beyond the last time the law is exponential.
    rate = law.density[-1] / (1 - law.cumulative[-1])
    left = 1 - law.cumulative[-1]
    mean = np.trapezoid(1 - law.cumulative, law.times) + law.times[0] + left / rate
    second = 2 * np.trapezoid((1 - law.cumulative) * law.times, law.times) + law.times[0] ** 2
    second += 2 * left * (law.times[-1] / rate + 1 / rate**2)
    assert mean == pytest.approx(passage.mean_time.value, rel=2e-3)
    assert np.sqrt(second - mean**2) == pytest.approx(passage.deviation.value, rel=5e-3)


def test_free_angle_reaches_its_goal_either_way_round() -> None:
    # Brownian motion out of an interval of length 1 from a third of it.
    model = ScalarProcess(lambda x: 0 * x, lambda x: 1 + 0 * x, lambda x: 0 * x, period=1.0)
    passage = analyse(model, passages=[(1 / 3, 0.0)]).passages[0]
    assert passage.mean_time.value == pytest.approx(1 / 3 * 2 / 3, rel=1e-9)
    law = passage.law
    assert isinstance(law, PassageCurve)
    k = 2 * np.arange(100)[:, None] + 1
    modes = np.sin(k * np.pi / 3) * np.exp(-(k**2) * np.pi**2 / 2 * law.times)
    density = 2 * np.pi * np.sum(k * modes, axis=0)
    assert np.max(np.abs(law.density - density)) < 1e-3 * np.max(density)
    np.testing.assert_allclose(law.cumulative, 1 - 4 / np.pi * np.sum(modes / k, axis=0), atol=2e-4)


def test_without_a_mean_there_is_no_curve_but_a_reason() -> None:
    model = ScalarProcess(lambda x: 0 * x, lambda x: 1 + 0 * x, lambda x: 0 * x)
    law = analyse(model, passages=[(0.0, 1.0)]).passages[0].law
    assert isinstance(law, Reason)
    assert law.outcome is Outcome.INFINITE


def test_a_passage_too_short_for_the_cells_has_a_reason_and_no_wrong_curve() -> None:
    law = analyse(linear(0.49), passages=[(1e-4, 0.0)]).passages[0].law
    assert law == TOO_SHORT


def test_from_a_rare_state_into_the_well_and_out_again_the_time_is_exponential() -> None:
    # 50 kT up the side of the well: it is found at once, and then left over 60 kT on the other
    # side.
    passage = analyse(linear(0.02), passages=[(-0.7, 0.8)]).passages[0]
    assert isinstance(passage.law, PassageCurve)
    mean = passage.mean_time.value
    np.testing.assert_allclose(
        passage.law.cumulative, -np.expm1(-passage.law.times / mean), atol=2e-4
    )


def test_start_on_the_top_of_a_barrier_has_a_law_of_two_time_scales() -> None:
    # From near the top of the barrier to the right well: half the paths go there at once, half fall
    # back and wait 20 kT.
    model = ScalarProcess(lambda x: x - x**3, lambda x: 0.025 + 0 * x, lambda x: 1 - 3 * x**2)
    report = analyse(model, passages=[(0.0, 1.0)])
    law, slow = report.passages[0].law, report.passages[0].mean_time.value
    assert isinstance(law, PassageCurve)
    early = law.cumulative[law.times < 1e-3 * slow]
    assert len(early) > 20
    assert early[-1] == pytest.approx(0.5, abs=2e-3)
    assert law.times[0] < 10
    assert law.cumulative[-1] == pytest.approx(0.999, abs=1e-4)


def test_too_steep_a_way_has_no_curve() -> None:
    # A cubic drift found in one well far from the origin, with a second one far beyond the data.
    process = ScalarProcess(
        lambda x: 5192.143743 + 1241.38871867 * x - 10.431875468 * x**3,
        lambda x: 2.4588 + 0 * x,
        lambda x: 1241.38871867 - 3 * 10.431875468 * x**2,
    )
    passage = analyse(process, passages=((-6.6152, 12.5909),)).passages[0]
    assert passage.law == TOO_STEEP_ON_THE_WAY
