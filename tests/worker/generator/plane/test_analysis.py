"""Cells in the plane against closed forms, quadrature, and the analysis of one coordinate."""

import numpy as np
import pytest
from scipy.integrate import quad

from contract.generator import ModelTerms
from worker.generator.analysis import analyse
from worker.generator.errors import UndefinedCoefficientsError
from worker.generator.linear.process import linear_view
from worker.generator.plane.analysis import analysed_in_the_plane
from worker.generator.plane.box.box import first_box
from worker.generator.plane.box.box_search import settled_box
from worker.generator.plane.box.initial_rectangle import first_rectangle
from worker.generator.plane.grid_refinement import solve
from worker.generator.process import DiffusionProcess
from worker.generator.quantities.report import GeneratorReport
from worker.generator.quantities.stationary import MultivariateDistribution
from worker.generator.request import AnalysisRequest
from worker.jobs.parameters import process_of

pytestmark = pytest.mark.slow

Terms = dict[str, dict[str, float]]


def model(drift: Terms, diffusion: Terms, **more: object) -> DiffusionProcess:
    return process_of(ModelTerms.model_validate({"drift": drift, "diffusion": diffusion, **more}))


def on_the_line(drift: dict[str, float], a: float, **more: object) -> GeneratorReport:
    return analyse(model({"x": drift}, {"x,x": {"1": a}}, **more), eigenpairs=6)


def rates_of(report: GeneratorReport) -> np.ndarray:
    assert report.ergodic, report.reason
    assert report.spectrum is not None
    return report.spectrum.eigenvalues


def law_of(report: GeneratorReport) -> MultivariateDistribution:
    assert isinstance(report.stationary, MultivariateDistribution), report.reason
    return report.stationary


def sums(first: np.ndarray, second: np.ndarray, count: int) -> np.ndarray:
    """The slowest rates of two independent processes together."""
    pairs = np.add.outer(np.append(0, first), np.append(0, second)).ravel()[1:]
    return np.asarray(pairs[np.lexsort((-pairs.imag, np.round(pairs.real, 9)))][:count])


def total(law: MultivariateDistribution) -> float:
    return float(np.trapezoid(np.trapezoid(law.density, law.grid[1], axis=1), law.grid[0]))


ROTATING = model(
    {"x": {"x": -1, "y": 2}, "y": {"x": -2, "y": -1}},
    {"x,x": {"1": 1.0}, "x,y": {"1": 0.6}, "y,y": {"1": 0.5}},
)
COUPLED = model(
    {"x": {"x": -1, "x^3": -1, "y": 2}, "y": {"x": 2, "y": -2}},
    {"x,x": {"1": 0.5}, "y,y": {"1": 0.5}},
)
UNDERDAMPED = model({"x": {"y": 1}, "y": {"x": 1, "x^3": -1, "y": -1}}, {"y,y": {"1": 0.6}})


def test_cells_give_the_closed_form_of_a_rotating_process_with_correlated_noise() -> None:
    report = analysed_in_the_plane(ROTATING, AnalysisRequest())[0]
    linear = linear_view(ROTATING, np.zeros(2), np.ones(2))
    assert linear is not None
    covariance = linear.covariance
    assert covariance is not None
    law = law_of(report)
    # Bars of the analysis: 1e-3 of a rate, 1e-4 of the covariance's scale.
    assert rates_of(report)[:2] == pytest.approx([1 + 2j, 1 - 2j], rel=1e-3)
    assert sorted(rates_of(report), key=lambda v: (round(v.real, 2), v.imag)) == pytest.approx(
        [1 - 2j, 1 + 2j, 2 - 4j, 2, 2 + 4j], rel=1e-3
    )
    assert np.array(law.covariance) == pytest.approx(covariance, abs=1e-4 * 0.52)
    assert law.circulation == pytest.approx(linear.circulation(covariance), rel=1e-3)
    assert law.entropy_production == pytest.approx(linear.entropy_production(covariance), rel=1e-3)
    assert np.array(law.kurtosis) == pytest.approx(3, abs=0.02)


@pytest.mark.parametrize("a", [0.25, 0.05, 0.025], ids=["2 kT", "10 kT", "20 kT"])
def test_independent_coordinates_have_the_sums_of_their_rates(a: float) -> None:
    report = analyse(
        model({"x": {"x": 1, "x^3": -1}, "y": {"y": -2}}, {"x,x": {"1": a}, "y,y": {"1": a}})
    )
    alone = on_the_line({"x": 1, "x^3": -1}, a)
    expected = sums(rates_of(alone).real, 2.0 * np.arange(1, 4), 5)
    assert rates_of(report)[0].real == pytest.approx(expected[0], rel=1e-3)
    assert rates_of(report)[:3] == pytest.approx(expected[:3], rel=5e-3)
    law = law_of(report)
    assert alone.stationary is not None
    assert law.covariance[0][0] == pytest.approx(alone.stationary.covariance[0][0], rel=1e-3)
    assert law.covariance[1][1] == pytest.approx(a / 4, rel=1e-3)
    assert law.entropy_production == pytest.approx(0, abs=1e-3)
    assert [point.stable for point in report.fixed_points] == [True, False, True]


def test_coupled_double_well_has_the_boltzmann_law_of_its_potential() -> None:
    # V = x⁴/4 + x²/2 + y² − 2xy, a = ½: integrating y out leaves exp(−4 (x⁴/4 − x²/2)), and y − x
    # is Gaussian of variance 1/8.
    report = analyse(COUPLED)
    weight, second = (quad(lambda x, k=k: x**k * np.exp(2 * x**2 - x**4), -6, 6)[0] for k in (0, 2))
    law = law_of(report)
    assert law.covariance[0][0] == pytest.approx(second / weight, rel=2e-4)
    assert law.covariance[1][1] == pytest.approx(second / weight + 0.125, rel=2e-4)
    assert law.entropy_production == pytest.approx(0, abs=1e-4)
    # By an independent finite-volume computation.
    assert rates_of(report)[0] == pytest.approx(0.0971187, rel=5e-4)
    x, y = np.meshgrid(*law.grid, indexing="ij")
    boltzmann = np.exp(-4 * (x**4 / 4 + x**2 / 2 + y**2 - 2 * x * y))
    norm = np.trapezoid(np.trapezoid(boltzmann, law.grid[1], axis=1), law.grid[0])
    assert np.max(np.abs(law.density - boltzmann / norm)) < 3e-3 * law.density.max()


def test_oscillator_without_noise_on_its_place_keeps_equipartition() -> None:
    report = analyse(UNDERDAMPED)
    # dv noise 0.6 at friction 1: kT = 0.3, law exp(−(x⁴/4 − x²/2 + v²/2) / kT).
    weight, second = (
        quad(lambda x, k=k: x**k * np.exp((x**2 / 2 - x**4 / 4) / 0.3), -5, 5)[0] for k in (0, 2)
    )
    law = law_of(report)
    assert law.covariance[0][0] == pytest.approx(second / weight, rel=5e-4)
    assert law.covariance[1][1] == pytest.approx(0.3, rel=5e-4)
    assert law.covariance[0][1] == pytest.approx(0, abs=1e-4)
    assert law.reasons == ()
    slow, turning = rates_of(report)[:2]
    assert slow.imag == 0
    assert turning.imag > 1


def test_an_oscillator_that_weak_friction_holds_is_held() -> None:
    """Friction 0.1 in a double well, which exponential fitting on coarse cells would heat."""
    drift = {"x": {"y": 1.0}, "y": {"x": 1.0, "x^3": -1.0, "y": -0.1}}
    process = model(drift, {"y,y": {"1": 0.05}})
    box = settled_box(first_box(process, first_rectangle(process, None)))
    assert box.open_towards is None
    covariance = solve(box, 1).numbers.moments[2:6]
    # Boltzmann's law at kT = 1/4.
    weight = [quad(lambda x, k=k: x**k * np.exp(2 * x**2 - x**4), -5, 5)[0] for k in (0, 2)]
    assert covariance[[0, 3]] == pytest.approx([weight[1] / weight[0], 0.25], rel=1e-3)
    # Without friction nothing does.
    free = model(drift | {"y": {"x": 1.0, "x^3": -1.0}}, {"y,y": {"1": 0.05}})
    assert not analyse(free).ergodic


def test_where_a_coefficient_has_no_value_is_named() -> None:
    process = model(
        {"x": {"log(x)": -1.0}, "y": {"y": -1.0}}, {"x,x": {"1": 1.0}, "y,y": {"1": 1.0}}
    )
    with pytest.raises(UndefinedCoefficientsError, match=r"near \(-[0-9.]+, .*give a domain"):
        analyse(process)


def test_harmonic_oscillator_on_cells_has_its_complex_pair() -> None:
    process = model({"x": {"y": 1}, "y": {"x": -1, "y": -1}}, {"y,y": {"1": 2.0}})
    report = analysed_in_the_plane(process, AnalysisRequest())[0]
    assert rates_of(report)[0] == pytest.approx(0.5 + np.sqrt(0.75) * 1j, rel=1e-3)
    assert np.array(law_of(report).covariance) == pytest.approx(np.eye(2), abs=1e-3)


def test_an_angle_beside_a_line_has_the_sums_of_their_rates() -> None:
    circle = {"periodic": {"x": 2 * np.pi}}
    report = analyse(
        model(
            {"x": {"1": 0.3, "sin(x)": -1}, "y": {"y": -1}},
            {"x,x": {"1": 0.5}, "y,y": {"1": 0.5}},
            **circle,
        )
    )
    turning = analyse(model({"x": {"1": 0.3, "sin(x)": -1}}, {"x,x": {"1": 0.5}}, **circle))
    assert rates_of(report)[:5] == pytest.approx(
        sums(rates_of(turning), np.array([1.0, 2.0]), 5), rel=1e-3
    )
    law = law_of(report)
    assert law.mean[0] is None
    assert law.mean[1] == pytest.approx(0, abs=1e-6)
    assert law.covariance[1][1] == pytest.approx(0.25, rel=1e-3)
    assert law.grid[0][-1] - law.grid[0][0] == pytest.approx(2 * np.pi)
    assert turning.stationary is not None
    marginal = np.trapezoid(law.density, law.grid[1], axis=1)
    expected = np.interp(law.grid[0], turning.stationary.grid[0], turning.stationary.density)
    assert marginal == pytest.approx(expected, abs=2e-3 * expected.max())


def test_two_angles_turn_independently() -> None:
    both = {"periodic": {"x": 2 * np.pi, "y": 2 * np.pi}}
    report = analyse(
        model(
            {"x": {"1": 1.0}, "y": {"sin(y)": -1}}, {"x,x": {"1": 0.5}, "y,y": {"1": 1.0}}, **both
        )
    )
    # Free turning at speed 1: n² a / 2 − i n.
    assert rates_of(report)[:2] == pytest.approx([0.25 + 1j, 0.25 - 1j], rel=1e-3)


def test_declared_ends_reflect() -> None:
    between = {"domain": {"x": [-1.0, 2.0]}}
    report = analyse(
        model(
            {"x": {"1": 0.5, "x": -1}, "y": {"y": -1}},
            {"x,x": {"1": 0.6}, "y,y": {"1": 0.5}},
            **between,
        )
    )
    alone = on_the_line({"1": 0.5, "x": -1}, 0.6, **between)
    assert report.boundaries == "reflecting"
    assert rates_of(report)[:4] == pytest.approx(
        sums(rates_of(alone).real, np.array([1.0, 2.0]), 4), rel=2e-3
    )
    assert alone.stationary is not None
    law = law_of(report)
    assert law.mean[0] == pytest.approx(alone.stationary.mean[0], rel=2e-3)
    assert law.covariance[0][0] == pytest.approx(alone.stationary.covariance[0][0], rel=2e-3)
    assert (law.grid[0][0], law.grid[0][-1]) == (-1, 2)


def test_limit_cycle_has_a_decay_rate_and_a_period() -> None:
    # Hopf normal form in polar coordinates: r settles at 1, the angle turns at 3 and diffuses;
    # slowest pair ≈ a/2 + 3i.
    a = 0.05
    radial: Terms = {
        "x": {"x": 1, "x^3": -1, "x*y^2": -1, "y": -3},
        "y": {"y": 1, "y^3": -1, "x^2*y": -1, "x": 3},
    }
    report = analyse(model(radial, {"x,x": {"1": a}, "y,y": {"1": a}}))
    slowest = rates_of(report)[0]
    # ⟨1/r²⟩ corrects the phase's diffusion by a relative a/2 or so.
    assert slowest.real == pytest.approx(a / 2, rel=0.1)
    assert slowest.imag == pytest.approx(3, rel=1e-3)
    assert report.spectrum is not None
    assert not report.spectrum.overtones[:2].any()
    assert report.spectrum.overtones[2:4].all()
    law = law_of(report)
    assert law.circulation == pytest.approx(1.5 * (law.covariance[0][0] or 0) * 2, rel=1e-3)
    assert total(law) == pytest.approx(1, abs=1e-3)


def test_noise_that_depends_on_the_place_and_is_correlated() -> None:
    # In the coordinate w = y − x the process is two independent ones; a_xy is not constant.
    process = model(
        {"x": {"x": -2}, "y": {"x": -1, "y": -1}},
        {
            "x,x": {"1": 0.25, "x^2": 0.25},
            "x,y": {"1": 0.25, "x^2": 0.25},
            "y,y": {"1": 0.65, "x^2": 0.25},
        },
    )
    report = analyse(process)
    # x alone: rates 2n − n(n − 1)/8; w alone: dw = −w dt + √0.4 dW.
    assert rates_of(report)[:4] == pytest.approx([1, 2, 2, 3], rel=2e-3)
    law = law_of(report)
    variance = 0.25 / 3.75
    assert np.array(law.covariance) == pytest.approx(
        np.array([[variance, variance], [variance, variance + 0.2]]), rel=2e-3
    )
    dropped = analyse(
        model(
            {"x": {"x": -2}, "y": {"x": -1, "y": -1}},
            {"x,x": {"1": 0.25, "x^2": 0.25}, "y,y": {"1": 0.65, "x^2": 0.25}},
        )
    )
    assert law_of(dropped).covariance[0][1] == pytest.approx(-variance / 3, rel=2e-2)
