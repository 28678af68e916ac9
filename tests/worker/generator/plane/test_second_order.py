"""Processes of second order, dx = v dt, dv = F(x, v) dt + σ dW, on the cells of the plane."""

import numpy as np
import pytest
from numpy.typing import NDArray
from scipy.sparse import csc_array, eye_array, kron
from scipy.sparse.linalg import LinearOperator, eigs, splu

from contract.generator import ModelTerms
from worker.generator.analysis import analyse
from worker.generator.plane.analysis import analysed_in_the_plane
from worker.generator.process import DiffusionProcess, velocities
from worker.generator.quantities.report import GeneratorReport
from worker.generator.quantities.stationary import MultivariateDistribution
from worker.generator.request import AnalysisRequest
from worker.jobs.parameters import process_of

TEMPERATURE = 0.1


def second_order(force: dict[str, float], noise: float) -> DiffusionProcess:
    """dx = y dt, dy = force dt + √noise dW."""
    return process_of(
        ModelTerms.model_validate(
            {"drift": {"x": {"y": 1.0}, "y": force}, "diffusion": {"y,y": {"1": noise}}}
        )
    )


def double_well(friction: float) -> DiffusionProcess:
    return second_order({"x": 1, "x^3": -1, "y": -friction}, 2 * friction * TEMPERATURE)


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
