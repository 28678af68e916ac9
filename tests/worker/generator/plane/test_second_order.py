"""Processes of second order, dx = v dt, dv = F(x, v) dt + σ dW, in closed form and on cells."""

import numpy as np
import pytest
from numpy.typing import NDArray
from scipy.integrate import quad
from scipy.sparse import csc_array, eye_array, kron
from scipy.sparse.linalg import LinearOperator, eigs, splu

from contract.generator import ModelTerms
from worker.generator.analysis import analyse
from worker.generator.linear.process import LinearProcess
from worker.generator.plane.analysis import analysed_in_the_plane
from worker.generator.process import DiffusionProcess, velocities
from worker.generator.quantities.fixed_points import FixedPoint
from worker.generator.quantities.outcomes import NO_PARABOLA, ONE_BARRIER, ONE_WAY
from worker.generator.quantities.passages import SpatialPassage, Timing
from worker.generator.quantities.regions import Region
from worker.generator.quantities.report import GeneratorReport
from worker.generator.quantities.second_order import kramers_time
from worker.generator.quantities.stationary import MultivariateDistribution
from worker.generator.request import AnalysisRequest
from worker.jobs.parameters import process_of

TEMPERATURE = 0.1
INF = np.inf


def second_order(force: dict[str, float], noise: float | dict[str, float]) -> DiffusionProcess:
    """dx = y dt, dy = force dt + √noise dW."""
    noise = noise if isinstance(noise, dict) else {"1": noise}
    return process_of(
        ModelTerms.model_validate(
            {"drift": {"x": {"y": 1.0}, "y": force}, "diffusion": {"y,y": noise}}
        )
    )


def double_well(friction: float, temperature: float = TEMPERATURE) -> DiffusionProcess:
    return second_order({"x": 1, "x^3": -1, "y": -friction}, 2 * friction * temperature)


def law_of(report: GeneratorReport) -> MultivariateDistribution:
    assert isinstance(report.stationary, MultivariateDistribution)
    return report.stationary


@pytest.mark.parametrize(("stiffness", "friction"), [(4.0, 1.0), (1.0, 3.0)])
def test_a_harmonic_oscillator_has_its_rates_and_its_law(stiffness: float, friction: float) -> None:
    process = second_order({"x": -stiffness, "y": -friction}, 1.0)
    report, _ = analysed_in_the_plane(process, AnalysisRequest(eigenpairs=4))
    roots = np.roots([1, -friction, stiffness])
    sums = np.array([n * roots[0] + m * roots[1] for n in range(9) for m in range(9) if n + m])
    assert report.spectrum is not None
    for rate in report.spectrum.eigenvalues:
        assert np.min(np.abs(sums - rate)) < 1e-4 * abs(rate)
    slowest = np.min(sums.real)
    assert report.spectrum.eigenvalues[0].real == pytest.approx(slowest, rel=1e-5)
    expected = np.diag([1 / (2 * friction * stiffness), 1 / (2 * friction)])
    assert np.array(law_of(report).covariance, float) == pytest.approx(expected, rel=1e-5, abs=1e-8)


def hermite_rate(friction: float, positions: int = 90, speeds: int = 70) -> float:
    """Slowest rate of the double well, in the basis of Hermite functions of both coordinates."""

    def operators(n: int, scale: float) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        k = np.sqrt(np.arange(1, n) / 2)
        return scale * (np.diag(k, 1) + np.diag(k, -1)), (np.diag(k, 1) - np.diag(k, -1)) / scale

    x, dx = operators(positions + 8, 0.3)
    v, dv = operators(speeds + 8, 0.33)

    def product(first: NDArray[np.float64], second: NDArray[np.float64]) -> csc_array:
        return csc_array(kron(first[:positions, :positions], second[:speeds, :speeds]))

    one, force = np.eye(positions + 8), x - x @ x @ x
    matrix = -product(dx, v) - product(force, dv) + friction * product(one, dv @ v)
    matrix += friction * TEMPERATURE * product(one, dv @ dv)
    solver = splu(csc_array(0.05 * eye_array(matrix.shape[0]) - matrix))
    inverse = eigs(
        LinearOperator(matrix.shape, matvec=solver.solve, dtype=np.float64),
        k=2,
        v0=np.ones(matrix.shape[0]),
        return_eigenvectors=False,
    )
    return float(np.sort(np.abs(1 / inverse - 0.05))[1])


@pytest.mark.parametrize("friction", [0.3, 3.0])
def test_an_inertial_double_well_has_boltzmann_s_law_and_its_rate(friction: float) -> None:
    report = analyse(double_well(friction), eigenpairs=2)
    law = law_of(report)
    x, v = law.grid
    energy = (x**4 / 4 - x**2 / 2)[:, None] + v**2 / 2
    expected = np.exp(-energy / TEMPERATURE)
    expected /= np.trapezoid(np.trapezoid(expected, v), x)
    assert np.max(np.abs(law.density - expected)) < 2e-3 * expected.max()
    assert law.covariance[1][1] == pytest.approx(TEMPERATURE, rel=1e-4)
    assert report.spectrum is not None
    assert report.spectrum.eigenvalues[0] == pytest.approx(hermite_rate(friction), rel=5e-4)


def test_a_limit_cycle_in_weak_noise_keeps_its_phase() -> None:
    # Exponential fitting and parabolas add noise enough to lose the rate, 0.7 % of the frequency.
    report = analyse(second_order({"x": -1, "y": 1, "x^2*y": -1}, 0.1), eigenpairs=2)
    assert report.spectrum is not None
    # From 130² Hermite functions.
    assert report.spectrum.eigenvalues[0] == pytest.approx(0.007467 + 0.936249j, rel=1e-3)


def test_velocities_are_recognised_by_their_equations() -> None:
    assert velocities(double_well(1.0)) == (1,)
    with_noise = {"drift": {"x": {"y": 1.0}, "y": {"x": -1.0, "y": -1.0}}}
    with_noise |= {"diffusion": {"x,x": {"1": 1e-6}, "y,y": {"1": 1.0}}}
    assert velocities(process_of(ModelTerms.model_validate(with_noise))) == ()


SIMULATED = {0.1: (114.42, 0.77), 1.0: (98.71, 0.38)}
"""Time between the wells of the double well by friction, and its standard error, of 20 000 and
60 000 paths by the BAOAB scheme with steps of 0.04 and 0.01."""


@pytest.mark.parametrize("friction", SIMULATED)
def test_wells_are_left_in_the_time_of_simulated_paths(friction: float) -> None:
    there, back = analyse(double_well(friction), eigenpairs=1).between
    mean, error = SIMULATED[friction]
    assert there.mean_time.value == pytest.approx(mean, abs=3 * error)
    assert back.mean_time.value == pytest.approx(there.mean_time.value, rel=1e-6)
    # The position alone counts: one standard deviation around the wells.
    reach = np.sqrt(TEMPERATURE / 2)
    assert isinstance(there.to, Region)
    assert there.to.intervals[0] == pytest.approx((1 - reach, 1 + reach))
    assert there.to.intervals[1] == (-INF, INF)


def test_over_a_high_barrier_the_time_is_that_of_the_slowest_rate() -> None:
    # 8 kT: what a well loses before it is in equilibrium is e^-8 of the whole.
    report = analyse(double_well(1.0, 1 / 32), eigenpairs=1)
    assert report.spectrum is not None
    slowest = report.spectrum.eigenvalues[0].real
    assert report.between[0].mean_time.value == pytest.approx(2 / slowest, rel=5e-3)


def test_kramers_formula_with_its_turnover_and_where_it_does_not_apply() -> None:
    (well, top), depth, action = (np.sqrt(2), 1.0), 0.25, 4 / 3

    def formula(friction: float, temperature: float) -> float:
        growth = np.sqrt(friction**2 / 4 + top**2) - friction / 2
        time = 2 * np.pi * top / (well * growth) * np.exp(depth / temperature)
        loss = friction * action / temperature

        def depleted(u: float) -> float:
            return float(np.log1p(-np.exp(-loss * (u**2 + 0.25))) / (u**2 + 0.25))

        return float(time * np.exp(-quad(depleted, -INF, INF)[0] / (2 * np.pi)))

    # Energy lost in a turn: 1.3, 43 and 133 T. Without the turnover the first ratio is 2.0.
    for friction, temperature, close in ((0.1, 0.1, 0.06), (1.0, 1 / 32, 0.05), (5.0, 0.05, 0.1)):
        passage = analyse(double_well(friction, temperature), eigenpairs=1).between[0]
        assert passage.kramers is not None
        assert passage.kramers.value == pytest.approx(formula(friction, temperature), rel=1e-4)
        assert passage.mean_time.value == pytest.approx(passage.kramers.value, rel=close)

    fixed = tuple(FixedPoint((x, 0.0), x != 0, 0.0) for x in (-1.0, 0.0, 1.0))
    goal = Region(((0.8, 1.2), (-INF, INF)))
    asked = SpatialPassage((-1.0, 0.0), goal, Timing(None))
    uneven = second_order({"x": 1, "x^3": -1, "y": -1, "x^2*y": -0.5}, 0.2)
    assert "friction or noise change by" in str(kramers_time(uneven, asked, fixed).reason)
    fast = SpatialPassage((-1.0, 0.0), Region(((0.8, 1.2), (-0.1, 0.1))), Timing(None))
    assert kramers_time(double_well(1.0), fast, fixed).reason is ONE_BARRIER
    assert kramers_time(double_well(1.0, 0.3), asked, fixed).reason is NO_PARABOLA


def test_a_region_with_all_velocities_holds_positions_alone() -> None:
    region = Region(((-1.0, 1.0), (-INF, INF)))
    assert region.holds(np.array([[0.5], [1.5]])).tolist() == [True, False]


def test_a_well_has_its_frequency_friction_and_period_and_a_temperature() -> None:
    report = analyse(double_well(0.5), eigenpairs=1)
    left, top, right = report.fixed_points
    assert top.oscillation is None
    for found in (left.oscillation, right.oscillation):
        assert found is not None
        assert found.angular_frequency == pytest.approx(np.sqrt(2))
        assert found.friction == pytest.approx(0.5)
        assert found.quality_factor == pytest.approx(np.sqrt(8))
        assert found.damped_period == pytest.approx(2 * np.pi / np.sqrt(2 - 1 / 16))
    assert report.kinetic_temperature == pytest.approx(TEMPERATURE, rel=1e-4)
    (still,) = analyse(second_order({"x": -1, "y": -3}, 1.0)).fixed_points
    assert still.oscillation is not None
    assert still.oscillation.damped_period is None


@pytest.mark.parametrize(
    ("force", "noise"),
    [
        ({"x": -2, "y": -0.7}, {"1": 0.3}),
        ({"x": 1, "x^3": -1, "y": -1}, {"1": 0.4}),
        ({"x": 1, "x^3": -1, "y": -1, "x^2*y": -0.5}, {"1": 0.4, "x^2": 0.2}),
    ],
)
def test_under_boltzmann_s_law_no_entropy_is_produced(
    force: dict[str, float], noise: dict[str, float]
) -> None:
    law = law_of(analyse(second_order(force, noise), eigenpairs=1))
    assert law.entropy_production == 0.0
    # The area swept in the plane of x and v is no sign of irreversibility: it is ⟨v²⟩.
    assert law.circulation is None


def rotor(force: dict[str, float], noise: dict[str, float]) -> DiffusionProcess:
    terms = {
        "drift": {"x": {"y": 1.0}, "y": force},
        "diffusion": {"y,y": noise},
        "periodic": {"x": 2 * np.pi},
    }
    return process_of(ModelTerms.model_validate(terms))


def test_a_driven_rotor_produces_the_entropy_of_its_heat() -> None:
    torque, friction, temperature = 0.6, 0.8, 0.5
    process = rotor({"1": torque, "y": -friction}, {"1": 2 * friction * temperature})
    expected = torque**2 / friction / temperature
    law = law_of(analyse(process, eigenpairs=1))
    assert law.entropy_production == pytest.approx(expected, rel=1e-5)


@pytest.mark.parametrize("noise", [{"1": 1.0}, {"1": 1.0, "y^2": 1.0}])
def test_a_free_rotor_with_any_friction_and_noise_is_reversible(noise: dict[str, float]) -> None:
    law = law_of(analyse(rotor({"y": -1.0, "y^3": -1.0}, noise), eigenpairs=1))
    assert law.entropy_production == pytest.approx(0.0, abs=1e-5)


def test_noise_that_depends_on_the_direction_has_no_entropy_production() -> None:
    process = second_order({"x": -1, "x^3": -0.1, "y": -1}, {"1": 0.4, "y": 0.02, "y^2": 0.1})
    law = law_of(analyse(process, eigenpairs=1))
    assert law.entropy_production is None
    assert law.reasons == (ONE_WAY,)


def test_heat_between_two_oscillators_produces_entropy() -> None:
    # The current through a bond of two: c²γ(T₁ − T₂) / (2(c² + γ²(k + c))).
    k, c, friction, hot, cold = 1.0, 0.5, 0.4, 2.0, 1.0
    jacobian = np.zeros((4, 4))
    jacobian[:2, 2:] = np.eye(2)
    jacobian[2:, :2] = [[-k - c, c], [c, -k - c]]
    jacobian[2:, 2:] = -friction * np.eye(2)
    noise = np.diag([0.0, 0.0, 2 * friction * hot, 2 * friction * cold])
    linear = LinearProcess(jacobian, noise, np.zeros(4), np.zeros(4))
    covariance = linear.covariance
    assert covariance is not None
    current = c**2 * friction * (hot - cold) / (2 * (c**2 + friction**2 * (k + c)))
    expected = current * (1 / cold - 1 / hot)
    assert linear.entropy_production(covariance) == pytest.approx(expected, rel=1e-9)
