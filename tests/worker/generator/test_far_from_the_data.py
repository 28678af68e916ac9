"""Where the data were decides nothing that the model alone says: law, rates, times and memory are the same for any range."""

import numpy as np
import pytest
from numpy.polynomial import polynomial

from worker.generator import integrated_time, spectrum
from worker.generator.analysis import analyse
from worker.generator.correlations import Memory
from worker.generator.errors import UnresolvedLandscapeError
from worker.generator.process import FloatArray, ScalarProcess
from worker.generator.report import GeneratorReport, Range
from worker.generator.stationary import StationaryLaw

AT = 7.48


def polynomial_process(b: list[float], a: list[float], low: float = -np.inf) -> ScalarProcess:
    drift, noise, slope = np.array(b), np.array(a), polynomial.polyder(np.array(b))
    return ScalarProcess(
        lambda x: polynomial.polyval(x, drift),
        lambda x: polynomial.polyval(x, noise) + 0 * x,
        lambda x: np.asarray(polynomial.polyval(x, slope), dtype=np.float64),
        (low, np.inf),
    )


def numbers(report: GeneratorReport) -> FloatArray:
    """Mean over its deviation, variance, three rates and the integrated time."""
    law, memory = report.stationary, report.memory
    assert isinstance(law, StationaryLaw)
    assert isinstance(memory, Memory)
    assert report.spectrum is not None
    mean, variance = law.mean[0], law.covariance[0][0]
    assert mean is not None
    assert variance is not None
    rates = report.spectrum.eigenvalues.real
    found = [1 + (mean - AT) / np.sqrt(variance), variance, *rates, memory.integrated_times[0].value]
    return np.array(found, dtype=np.float64)


MODELS = {
    "linear": polynomial_process([625 * AT, -625], [0.1]),
    "linear, weak noise": polynomial_process([625 * AT, -625], [1e-3]),
    "cubic": polynomial_process([AT**3, 0, 0, -1], [1.0]),
    "growth from a wall": polynomial_process([0, 10 * AT, -10], [1.0], 0.0),
    "growth, noise in proportion": polynomial_process([0, 10 * AT, -10], [0, 0, 1e-3], 0.0),
}
RANGES: tuple[Range, ...] = ((0.1, 2.0), (7.0, 8.0), (20.0, 25.0))


@pytest.mark.parametrize("name", MODELS)
@pytest.mark.parametrize("observed", RANGES)
def test_data_far_from_the_law_change_nothing(name: str, observed: Range) -> None:
    alone = numbers(analyse(MODELS[name], eigenpairs=3))
    np.testing.assert_allclose(numbers(analyse(MODELS[name], eigenpairs=3, observed_range=observed)), alone, rtol=1e-6)


def test_a_linear_process_far_from_its_data_has_its_closed_form() -> None:
    found = numbers(analyse(MODELS["linear"], eigenpairs=3, observed_range=(0.1, 2.0)))
    np.testing.assert_allclose(found, [1, 0.1 / 1250, 625, 1250, 1875, 1 / 625], rtol=1e-6)


def test_without_care_for_steep_panels_the_integrated_time_is_wrong(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(integrated_time, "MAX_RISE", np.inf)
    assert numbers(analyse(MODELS["cubic"], eigenpairs=3, observed_range=(0.1, 2.0)))[-1] > 1


def test_without_the_cut_modes_behind_the_law_are_among_its_rates(monkeypatch: pytest.MonkeyPatch) -> None:
    alone = numbers(analyse(MODELS["growth from a wall"], eigenpairs=3))
    monkeypatch.setattr(spectrum, "inhabited", lambda landscape, count: slice(0, len(landscape.base)))
    found = numbers(analyse(MODELS["growth from a wall"], eigenpairs=3, observed_range=(0.1, 2.0)))
    assert found[2] < 0.99 * alone[2]


def test_noise_too_weak_for_any_number_of_panels_is_refused() -> None:
    with pytest.raises(UnresolvedLandscapeError):
        analyse(polynomial_process([625 * AT, -625], [1e-40]), observed_range=(0.1, 2.0))
