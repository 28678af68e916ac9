"""Where the data were decides nothing: distribution, rates, times and correlations stay."""

import numpy as np
import pytest
from numpy.polynomial import polynomial
from scipy.linalg import eigh_tridiagonal

from worker.generator.analysis import analyse
from worker.generator.errors import UnresolvedLandscapeError
from worker.generator.line import analysis
from worker.generator.line.domain import domain_scan
from worker.generator.numerics.quadrature import NODES, WEIGHTS
from worker.generator.process import FloatArray, ScalarProcess
from worker.generator.quantities.correlations import Correlations
from worker.generator.quantities.outcomes import Outcome
from worker.generator.quantities.report import GeneratorReport, Range
from worker.generator.quantities.stationary import StationaryDistribution

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
    law, correlations = report.stationary, report.correlations
    assert isinstance(law, StationaryDistribution)
    assert isinstance(correlations, Correlations)
    assert report.spectrum is not None
    mean, variance = law.mean[0], law.covariance[0][0]
    assert mean is not None
    assert variance is not None
    rates = report.spectrum.eigenvalues.real
    found = [
        1 + (mean - AT) / np.sqrt(variance),
        variance,
        *rates,
        correlations.integrated_times[0].value,
    ]
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
    np.testing.assert_allclose(
        numbers(analyse(MODELS[name], eigenpairs=3, observed_range=observed)), alone, rtol=1e-6
    )


def test_a_linear_process_far_from_its_data_has_its_closed_form() -> None:
    found = numbers(analyse(MODELS["linear"], eigenpairs=3, observed_range=(0.1, 2.0)))
    np.testing.assert_allclose(found, [1, 0.1 / 1250, 625, 1250, 1875, 1 / 625], rtol=1e-6)


def test_without_the_cut_modes_behind_the_law_are_among_its_rates(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    alone = numbers(analyse(MODELS["growth from a wall"], eigenpairs=3))
    monkeypatch.setattr(analysis, "inhabited", lambda landscape, count: (None, None))
    found = numbers(analyse(MODELS["growth from a wall"], eigenpairs=3, observed_range=(0.1, 2.0)))
    assert found[2] < 0.99 * alone[2]


# Found by drawing polynomials at random: the drift's factors, its sign and size, the noise, and a
# range of data.
HARD: dict[str, tuple[list[float], list[float], Range]] = {
    "a deeper well, which the data do not show": (
        [48686.1718, -332.3949, -9438.8705, -519.8721, 526.1743, 44.3607, -8.5061, -0.8725],
        [27.075731537111487],
        (-12, -9),
    ),
    "a well that is never visited": (
        [115.186, -38.6538, -90.2623, -21.4852],
        [0.17828409959420063],
        (-12, -9),
    ),
    "slow drift in the law's far tail": (
        [7685.959, -2001.2935, -166.4983, 44.1981, 0.847, -0.2498],
        [23.99995040074209, 5.872393119952129, 0.43982055102681294],
        (8, 11),
    ),
    "a shallow well up a slope of 450 000 kT": (
        [-13045.4175, -53.9266, 4658.8506, 163.5892, -374.6957, -48.3413],
        [0.05250645151049897],
        (8, 11),
    ),
    "two more wells than a coarse scan shows": (
        [1509.8853, -4545.9083, 5426.5606, -3413.5972, 1769.6459, -1108.4699, 436.7328, -58.0025],
        [0.19833502031844916, 0.05902298983509082, 0.006562780609826387],
        (-12, -9),
    ),
}


def hard(name: str, *, observed: bool) -> GeneratorReport:
    b, a, data = HARD[name]
    return analyse(
        polynomial_process(b, a), eigenpairs=3, observed_range=data if observed else None
    )


@pytest.mark.slow
@pytest.mark.parametrize("name", HARD)
def test_models_drawn_at_random_are_the_same_for_any_data(name: str) -> None:
    alone, found = hard(name, observed=False), hard(name, observed=True)
    roots = polynomial.polyroots(HARD[name][0])
    real = np.sort(roots[np.abs(roots.imag) < 1e-7].real)
    for report in (alone, found):
        np.testing.assert_allclose([point.at[0] for point in report.fixed_points], real, rtol=1e-6)
    np.testing.assert_allclose(numbers(found), numbers(alone), rtol=1e-6)
    times = [
        [passage.mean_time.log_value for passage in report.passages] for report in (found, alone)
    ]
    np.testing.assert_allclose(
        np.array(times[0], float), np.array(times[1], float), rtol=1e-6, atol=1e-5
    )


@pytest.mark.parametrize(
    "name", ["a deeper well, which the data do not show", "a well that is never visited"]
)
def test_rates_are_those_of_the_well_that_holds_the_law(name: str) -> None:
    report = hard(name, observed=True)
    law = report.stationary
    assert isinstance(law, StationaryDistribution)
    assert report.spectrum is not None
    assert law.covariance[0][0] is not None
    b, a, _ = HARD[name]
    reach = 14 * np.sqrt(law.covariance[0][0])
    truth = rates_on_a_grid(np.array(b), a[0], law.grid[0][np.argmax(law.density)], reach)
    np.testing.assert_allclose(report.spectrum.eigenvalues.real, truth, rtol=1e-5)


def rates_on_a_grid(b: FloatArray, a: float, centre: float, reach: float) -> FloatArray:
    """Three rates from two even grids with jumps that balance, extrapolated."""
    found = []
    for n in (1000, 2000):
        x, h = np.linspace(centre - reach, centre + reach, n, retstep=True)
        half = np.diff(polynomial.polyval(x, polynomial.polyint(2 * b / a))) / 2
        up, down = np.exp(half) * a / (2 * h * h), np.exp(-half) * a / (2 * h * h)
        diagonal = np.append(up, 0) + np.append(0, down)
        found.append(
            eigh_tridiagonal(
                diagonal, -np.sqrt(up * down), eigvals_only=True, select="i", select_range=(1, 3)
            )
        )
    return np.asarray((4 * found[1] - found[0]) / 3)


def test_the_way_down_a_steep_slope_takes_the_drifts_time() -> None:
    name = "a shallow well up a slope of 450 000 kT"
    b, a, _ = HARD[name]
    passage = hard(name, observed=True).passages[0]

    # The time per length is 2M/(aπ) = ∫_0^∞ (2/a) exp(ψ(s − y) − ψ(s)) dy; panels are graded
    # towards both ends and y = 0.
    way = passage.to - passage.start
    graded = np.append(0.0, np.geomspace(1e-4, way / 2, 60))
    s, weight = gauss(np.union1d(graded, way - graded))
    y, weight_y = gauss(np.append(0.0, np.geomspace(1e-8, 1, 60)))
    psi = polynomial.polyint(2 * np.array(b) / a[0])
    rise = [polynomial.polyval(x - y, psi) - polynomial.polyval(x, psi) for x in passage.start + s]
    truth = weight @ np.array([2 / a[0] * (weight_y @ np.exp(np.minimum(row, 50))) for row in rise])
    assert passage.mean_time.value == pytest.approx(truth, rel=1e-5)


def gauss(edges: FloatArray) -> tuple[FloatArray, FloatArray]:
    """Nodes and weights on panels between the edges."""
    half = np.diff(edges) / 2
    return (edges[:-1, None] + half[:, None] * (NODES + 1)).ravel(), (
        half[:, None] * WEIGHTS
    ).ravel()


@pytest.mark.slow
def test_without_points_between_close_zeros_wells_are_missed(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(domain_scan, "separators", lambda function, breaks: np.empty(0))
    name = "two more wells than a coarse scan shows"
    assert len(hard(name, observed=True).fixed_points) < len(
        hard(name, observed=False).fixed_points
    )


def test_without_the_cut_a_well_that_is_never_visited_has_the_slowest_rate(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(analysis, "inhabited", lambda landscape, count: (None, None))
    report = hard("a well that is never visited", observed=True)
    assert report.spectrum is not None
    assert report.spectrum.eigenvalues[0].real < 1e-6


def test_noise_too_weak_for_any_number_of_panels_is_refused() -> None:
    with pytest.raises(UnresolvedLandscapeError):
        analyse(polynomial_process([625 * AT, -625], [1e-40]), observed_range=(0.1, 2.0))


def test_a_well_that_holds_next_to_nothing_is_named_beside_the_rates() -> None:
    def tilted(a: float) -> ScalarProcess:
        return polynomial_process([0.2, 1, 0, -1], [a])

    spectrum = analyse(tilted(0.004)).spectrum
    assert spectrum is not None
    assert [why.outcome for why in spectrum.reasons] == [Outcome.LEFT_OUT]
    assert "well at x = -0.87" in str(spectrum.reasons[0])
    # Negative control: with more noise it holds more, and its rate is the slowest.
    milder = analyse(tilted(0.05)).spectrum
    assert milder is not None
    assert milder.reasons == ()
