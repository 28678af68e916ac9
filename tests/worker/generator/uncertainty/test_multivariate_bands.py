"""Bands of density, autocorrelation and power spectrum in several coordinates."""

import numpy as np
import pytest
from scipy.linalg import expm

from contract.generator import ModelTerms
from worker.documents.generator import analysis_of
from worker.generator.analysis import Analysis, analysis
from worker.generator.linear.correlations import LinearCorrelations
from worker.generator.plane.analysis import analysed_in_the_plane
from worker.generator.plane.density_grid import interpolated, on_the_rectangle
from worker.generator.process import DiffusionProcess, FloatArray
from worker.generator.quantities.correlations import Correlations
from worker.generator.quantities.report import GeneratorReport
from worker.generator.quantities.stationary import MultivariateDistribution
from worker.generator.request import AnalysisRequest
from worker.generator.uncertainty.confidence_intervals import intervals_over
from worker.generator.uncertainty.intervals import Intervals
from worker.jobs.parameters import process_of

SHARES = [0.05, 0.95]
Terms = dict[str, dict[str, float]]


def model(drift: Terms, diffusion: Terms) -> DiffusionProcess:
    return process_of(ModelTerms.model_validate({"drift": drift, "diffusion": diffusion}))


def turning(turn: float) -> DiffusionProcess:
    """A = [[−1, t], [−t, −1]], a = 1: the covariance is ½, C(t) = e^−t cos(turn · t)."""
    drift = {"x": {"x": -1.0, "y": turn}, "y": {"x": -turn, "y": -1.0}}
    return model(drift, {"x,x": {"1": 1.0}, "y,y": {"1": 1.0}})


def sheared(shear: float) -> DiffusionProcess:
    drift = {"x": {"x": -1.0, "y": shear}, "y": {"y": -2.0}}
    return model(drift, {"x,x": {"1": 1.0}, "y,y": {"1": 0.5}, "x,y": {"1": 0.2}})


def coupled(cubic: float, pull: float = 2.0) -> DiffusionProcess:
    drift = {"x": {"x": -1, "x^3": -cubic, "y": pull}, "y": {"x": 2, "y": -2}}
    return model(drift, {"x,x": {"1": 0.5}, "y,y": {"1": 0.5}})


def correlations_of(report: GeneratorReport) -> Correlations:
    assert isinstance(report.correlations, Correlations)
    return report.correlations


def law_of(report: GeneratorReport) -> MultivariateDistribution:
    assert isinstance(report.stationary, MultivariateDistribution)
    return report.stationary


def density_band(found: Intervals) -> tuple[FloatArray, FloatArray]:
    band = found.band("stationary", "density")
    assert band is not None
    return band


def on_cells(process: DiffusionProcess) -> Analysis:
    """The analysis on cells, also of a linear process."""
    report, near = analysed_in_the_plane(process, AnalysisRequest())
    return Analysis(report, process, near)


def gaussian(covariance: FloatArray, grid: tuple[FloatArray, ...]) -> FloatArray:
    x, y = np.meshgrid(*grid, indexing="ij")
    inverse = np.linalg.inv(covariance)
    exponent = -(inverse[0, 0] * x**2 + 2 * inverse[0, 1] * x * y + inverse[1, 1] * y**2) / 2
    return np.asarray(np.exp(exponent) / (2 * np.pi * np.sqrt(np.linalg.det(covariance))))


def covariance_of(shear: float) -> FloatArray:
    """Of J S + S Jᵀ + a = 0, J = [[−1, s], [0, −2]], a = [[1, .2], [.2, .5]]."""
    mixed = (0.2 + shear * 0.125) / 3
    return np.array([[(1 + 2 * shear * mixed) / 2, mixed], [mixed, 0.125]])


def test_linear_models_have_the_bands_of_their_matrix_exponentials_and_gaussians() -> None:
    shears, reference = np.linspace(0.5, 1.5, 41), analysis(sheared(1.0))
    found, correlations, grid = (
        intervals_over([sheared(s) for s in shears], reference, 0.9),
        correlations_of(reference.report),
        law_of(reference.report).grid,
    )
    curves = []
    for s in shears:
        covariance, jacobian = covariance_of(s), np.array([[-1, s], [0, -2]])
        curves.append(
            [
                np.diag(expm(jacobian * t) @ covariance) / np.diag(covariance)
                for t in correlations.lags
            ]
        )
    table = np.moveaxis(np.array(curves), 1, 2)
    densities = np.array([gaussian(covariance_of(s), grid) for s in shears])
    for band, of_all in (
        (found.band("correlations", "autocorrelation"), table),
        (density_band(found), densities),
    ):
        assert band is not None
        # Where the estimate's density is the highest of all, the band reaches it.
        low, high = np.quantile(of_all, SHARES, axis=0, method="nearest")
        hull = np.minimum(low, of_all[20]), np.maximum(high, of_all[20])
        np.testing.assert_allclose(band, hull, rtol=1e-9, atol=1e-12)
        # Negative control: at less confidence it is another.
        assert (
            np.max(
                np.abs(np.quantile(of_all, [0.2, 0.8], axis=0, method="nearest") - np.array(band))
            )
            > 5e-3
        )
    assert found.band("correlations", "power_spectrum") is not None
    # y is a process of its own: 4 · ⅛ · 2 / (ω² + 2²), whatever the shear.
    of_y = 1 / ((2 * np.pi * correlations.frequencies) ** 2 + 4)
    np.testing.assert_allclose(
        np.array(found.band("correlations", "power_spectrum"))[:, 1], [of_y, of_y], rtol=1e-9
    )


def test_on_cells_the_bands_are_those_of_the_closed_forms() -> None:
    turns, reference = np.linspace(1.85, 2.15, 21), on_cells(turning(2.0))
    found, correlations = (
        intervals_over([turning(t) for t in turns], reference, 0.9999),
        correlations_of(reference.report),
    )
    t, omega = turns[:, None], 2 * np.pi * correlations.frequencies
    curves = np.exp(-correlations.lags) * np.cos(t * correlations.lags)
    powers = 1 / (1 + (omega - t) ** 2) + 1 / (1 + (omega + t) ** 2)
    assert found.band("correlations", "autocorrelation") is not None
    assert found.band("correlations", "power_spectrum") is not None
    for axis in (0, 1):
        for band, of_all, allowed in (
            (found.band("correlations", "autocorrelation"), curves, 5e-4),
            (found.band("correlations", "power_spectrum"), np.log(powers), 2e-3),
        ):
            ends = np.array(band)[:, axis] if of_all is curves else np.log(np.array(band)[:, axis])
            np.testing.assert_allclose(ends, [of_all.min(axis=0), of_all.max(axis=0)], atol=allowed)
            # Negative control: the reference's own curve is far from both.
            assert np.max(np.abs(ends - of_all[10])) > 20 * allowed
    # However it turns, the density is the same.
    expected = gaussian(np.eye(2) / 2, law_of(reference.report).grid)
    np.testing.assert_allclose(
        density_band(found), [expected, expected], atol=2e-3 * expected.max()
    )


@pytest.mark.slow
def test_a_samples_curves_and_density_are_those_of_its_own_analysis() -> None:
    cubic, pull = 0.93, 2.05
    reference, own = analysis(coupled(1.0)), analysis(coupled(cubic, pull))
    assert reference.perturbed is not None
    assert own.solution is not None
    correlations, law = correlations_of(reference.report), law_of(reference.report)
    sample, itself = reference.perturbed(coupled(cubic, pull)), reference.perturbed(coupled(1.0))
    curve = correlations_of(own.report).functions.autocorrelation(correlations.lags)
    power = correlations_of(own.report).functions.power_spectrum(correlations.frequencies)
    u, _ = on_the_rectangle(own.solution, law.grid)
    finest = own.solution.finest
    jacobian = abs(np.linalg.det(own.solution.box.chart.matrix))
    density = jacobian * interpolated(finest.grid.axes, finest.density, u, 3).reshape(
        law.density.shape
    )
    here, there = correlations_of(sample), correlations_of(itself)
    moved = law_of(sample).density - law_of(itself).density
    for change, its, known, allowed in (
        (here.autocorrelation - there.autocorrelation, curve, correlations.autocorrelation, 1e-3),
        (
            np.log(here.power_spectrum / there.power_spectrum),
            np.log(power),
            np.log(correlations.power_spectrum),
            5e-3,
        ),
        (moved / density.max(), density / density.max(), law.density / density.max(), 5e-3),
    ):
        # What the cells miss of the reference they miss of the model.
        np.testing.assert_allclose(known + change, its, atol=allowed)
        # Negative control: they are not the reference's.
        assert np.max(np.abs(known - its)) > 8 * allowed


def test_a_band_of_memories_holds_the_share_of_samples_at_a_lag_that_it_says() -> None:
    random = np.random.default_rng(7)
    reference = analysis(turning(2.0))
    found = intervals_over(
        [turning(t) for t in 2 + 0.2 * random.standard_normal(100)], reference, 0.8
    )
    band = found.band("correlations", "autocorrelation")
    assert band is not None
    lags = correlations_of(reference.report).lags
    fresh = np.exp(-lags) * np.cos((2 + 0.2 * random.standard_normal((4000, 1))) * lags)
    inside = np.mean((fresh >= band[0][0]) & (fresh <= band[1][0]), axis=0)
    width = (band[1][0] - band[0][0]) > 1e-3
    # Four standard errors of both draws.
    assert np.max(np.abs(inside[width] - 0.8)) < 4 * np.sqrt(0.16 / 100 + 0.16 / 4000)


@pytest.mark.slow
def test_three_coordinates_have_the_memory_of_their_linear_process() -> None:
    def cubic(rate: float) -> DiffusionProcess:
        drift: Terms = {"x": {"x": -rate, "x^3": -1}, "y": {"y": -2}, "z": {"z": -3}}
        return model(drift, {f"{name},{name}": {"1": 0.01} for name in "xyz"})

    rates, reference = np.linspace(0.9, 1.1, 41), analysis(cubic(1.0), eigenpairs=1)
    found, correlations = (
        intervals_over([cubic(rate) for rate in rates], reference, 0.9),
        correlations_of(reference.report),
    )
    assert isinstance(correlations.functions, LinearCorrelations)
    low, high = np.quantile(rates, SHARES, method="nearest")
    assert found.band("correlations", "autocorrelation") is not None
    np.testing.assert_allclose(
        np.array(found.band("correlations", "autocorrelation"))[:, 0],
        np.exp(-np.outer([high, low], correlations.lags)),
        atol=1e-9,
    )
    assert found.band("stationary", "density") is None


def test_the_document_has_them() -> None:
    reference = analysis(sheared(1.0))
    found = intervals_over([sheared(s) for s in np.linspace(0.5, 1.5, 25)], reference, 0.9)
    document = analysis_of(reference.report, found)
    assert document.stationary is not None
    assert document.autocorrelation is not None
    assert document.power_spectrum is not None
    assert document.stationary.density.values_ci is not None
    assert found.band("correlations", "autocorrelation") is not None
    assert (
        set(document.autocorrelation.values_ci)
        == set(document.power_spectrum.values_ci)
        == {"x", "y"}
    )
    np.testing.assert_array_equal(
        np.array(document.autocorrelation.values_ci["y"]),
        np.array(found.band("correlations", "autocorrelation"))[:, 1],
    )
    without = analysis_of(reference.report, None)
    assert without.stationary is not None
    assert without.stationary.density.values_ci is None
