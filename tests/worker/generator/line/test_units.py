"""Laws: the answer does not depend on units, on the side, or on how the state is written."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from worker.generator.analysis import analyse
from worker.generator.process import FloatArray, ScalarFunction, ScalarProcess
from worker.generator.quantities.report import GeneratorReport

BASES: dict[str, tuple[ScalarFunction, ScalarFunction, ScalarFunction, tuple[float, float]]] = {
    "double well": (
        lambda x: x - x**3 + 0.1,
        lambda x: 0.25 + 0 * x,
        lambda x: 1 - 3 * x**2,
        (-np.inf, np.inf),
    ),
    "multiplicative": (
        lambda x: -2 * x,
        lambda x: 0.25 * (1 + x**2),
        lambda x: -2 + 0 * x,
        (-np.inf, np.inf),
    ),
    "Jacobi": (lambda x: -0.2 * x, lambda x: 0.5 * (1 - x**2), lambda x: -0.2 + 0 * x, (-1.0, 1.0)),
    "square root": (
        lambda x: 3 * (0.3 - x),
        lambda x: 0.4 * x,
        lambda x: -3 + 0 * x,
        (0.0, np.inf),
    ),
}
PASSAGE = (0.2, 0.75)


def in_units(name: str, length: float, origin: float, time: float) -> ScalarProcess:
    """The base model for y = length · x + origin, t' = time · t."""
    b, a, db, (low, high) = BASES[name]
    return ScalarProcess(
        lambda y: b((y - origin) / length) * length / time,
        lambda y: a((y - origin) / length) * length**2 / time,
        lambda y: db((y - origin) / length) / time,
        (low * length + origin, high * length + origin),
    )


def numbers(report: GeneratorReport, length: float, origin: float, time: float) -> np.ndarray:
    """The report's numbers, back in the base model's units."""
    assert report.ergodic, report.reason
    assert report.stationary is not None
    assert report.spectrum is not None
    mean, variance = report.stationary.mean[0], report.stationary.covariance[0][0]
    assert mean is not None
    assert variance is not None
    fixed = [(point.at[0] - origin) / length for point in report.fixed_points]
    times = [
        passage.mean_time.value / time
        for passage in report.passages
        if passage.mean_time.value is not None
    ]
    kramers = [
        passage.kramers.value / time
        for passage in report.passages
        if passage.kramers.value is not None
    ]
    heights = [barrier.height / length**2 * time for barrier in report.barriers]
    noise = [barrier.height_over_noise for barrier in report.barriers]
    rates = list(report.spectrum.eigenvalues.real[:3] * time)
    return np.array(
        [
            (mean - origin) / length,
            variance / length**2,
            *fixed,
            *times,
            *kramers,
            *heights,
            *noise,
            *rates,
        ]
    )


@pytest.mark.slow
@pytest.mark.parametrize("name", BASES)
@settings(max_examples=12, deadline=None, derandomize=True)
@given(
    length=st.floats(-12, 12).map(lambda p: 10.0**p),
    time=st.floats(-12, 12).map(lambda p: 10.0**p),
    shift=st.sampled_from([0.0, 0.0, 3.0, -1e3, 1e6]),
)
def test_units_and_origin_only_rescale_the_answer(
    name: str, length: float, time: float, shift: float
) -> None:
    origin = shift * length
    start, to = (x * length + origin for x in PASSAGE)
    there = numbers(
        analyse(in_units(name, length, origin, time), passages=[(start, to)]), length, origin, time
    )
    here = numbers(analyse(in_units(name, 1.0, 0.0, 1.0), passages=[PASSAGE]), 1.0, 0.0, 1.0)
    # Positions near `shift` carry a relative rounding error of 2^−53; it enters the drift magnified
    # by `shift`.
    np.testing.assert_allclose(
        there, here, rtol=1e-5 if shift else 2e-6, atol=1e-9 if shift else 1e-11
    )


@pytest.mark.parametrize("name", ["double well", "multiplicative"])
def test_mirror_image_of_a_model_gives_the_mirrored_answer(name: str) -> None:
    b, a, db, _ = BASES[name]
    mirrored = ScalarProcess(lambda x: -b(-x), lambda x: a(-x), lambda x: db(-x))
    here, there = (
        analyse(in_units(name, 1.0, 0.0, 1.0), passages=[(0.2, 0.75)]),
        analyse(mirrored, passages=[(-0.2, -0.75)]),
    )
    assert there.passages[0].mean_time.value == pytest.approx(
        here.passages[0].mean_time.value, rel=1e-8
    )
    assert here.spectrum is not None
    assert there.spectrum is not None
    np.testing.assert_allclose(there.spectrum.eigenvalues, here.spectrum.eigenvalues, rtol=1e-6)


def test_rates_and_escape_times_do_not_depend_on_how_the_state_is_written() -> None:
    # Y = sinh X by Itô's formula; wells, rates and passage times are the same events.
    plain = ScalarProcess(lambda x: x - x**3, lambda x: 0.25 + 0 * x, lambda x: 1 - 3 * x**2)

    def b(y: FloatArray) -> FloatArray:
        x = np.arcsinh(y)
        return np.asarray((x - x**3) * np.sqrt(1 + y**2) + 0.125 * y)

    bent = ScalarProcess(b, lambda y: 0.25 * (1 + y**2), lambda y: np.nan * y)
    here = analyse(plain, passages=[(-1.0, 1.0)])
    there = analyse(bent, passages=[(float(np.sinh(-1)), float(np.sinh(1)))])
    assert there.passages[0].mean_time.value == pytest.approx(
        here.passages[0].mean_time.value, rel=1e-8
    )
    assert here.spectrum is not None
    assert there.spectrum is not None
    np.testing.assert_allclose(there.spectrum.eigenvalues, here.spectrum.eigenvalues, rtol=1e-6)
    assert there.stationary is not None
    assert there.stationary.mean[0] == pytest.approx(0, abs=1e-9)
