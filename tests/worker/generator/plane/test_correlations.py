"""Autocorrelations and power spectra of the plane against closed forms and the analysis of one coordinate."""

import numpy as np
import pytest
from scipy.integrate import trapezoid

from contract.generator import ModelTerms
from worker.generator.analysis import analyse
from worker.generator.plane.analysis import analysed_in_the_plane
from worker.generator.process import DiffusionProcess
from worker.generator.quantities.correlations import Correlations
from worker.generator.quantities.report import GeneratorReport
from worker.generator.request import AnalysisRequest
from worker.jobs.parameters import process_of

Terms = dict[str, dict[str, float]]


def model(drift: Terms, diffusion: Terms, **more: object) -> DiffusionProcess:
    return process_of(ModelTerms.model_validate({"drift": drift, "diffusion": diffusion, **more}))


def correlations_of(report: GeneratorReport) -> Correlations:
    assert isinstance(report.correlations, Correlations), report.correlations
    return report.correlations


def integrated(correlations: Correlations) -> list[float | None]:
    return [time.value for time in correlations.integrated_times]


TURN = {"x": {"x": -1.0, "y": 2.0}, "y": {"x": -2.0, "y": -1.0}}
ROTATING = model(TURN, {"x,x": {"1": 1.0}, "y,y": {"1": 1.0}})


def is_rotating(correlations: Correlations, accuracy: float) -> None:
    expected = np.exp(-correlations.lags) * np.cos(2 * correlations.lags)
    assert correlations.autocorrelation == pytest.approx(
        np.stack([expected, expected]), abs=accuracy
    )
    # ∫ e^−t cos 2t dt = 1/5.
    assert integrated(correlations) == pytest.approx([0.2, 0.2], rel=accuracy)
    s = 1 + 2j * np.pi * correlations.frequencies
    assert correlations.power_spectrum[0] == pytest.approx(
        2 * np.real(s / (s**2 + 4)), rel=10 * accuracy
    )


def test_rotating_process_in_closed_form() -> None:
    is_rotating(correlations_of(analyse(ROTATING)), 1e-9)


@pytest.mark.slow
def test_rotating_process_on_cells() -> None:
    is_rotating(correlations_of(analysed_in_the_plane(ROTATING, AnalysisRequest())[0]), 1e-4)
    with pytest.raises(AssertionError):
        is_rotating(
            correlations_of(
                analyse(
                    model(
                        TURN | {"y": {"x": -2.0, "y": -1.01}},
                        {"x,x": {"1": 1.0}, "y,y": {"1": 1.0}},
                    )
                )
            ),
            1e-4,
        )


@pytest.mark.slow
def test_independent_coordinates_have_their_own() -> None:
    report = analyse(
        model({"x": {"x": 1, "x^3": -1}, "y": {"y": -2}}, {"x,x": {"1": 0.25}, "y,y": {"1": 0.25}})
    )
    alone = correlations_of(analyse(model({"x": {"x": 1, "x^3": -1}}, {"x,x": {"1": 0.25}})))
    correlations = correlations_of(report)
    assert correlations.autocorrelation[0] == pytest.approx(
        alone.functions.autocorrelation(correlations.lags)[0], abs=1e-4
    )
    assert correlations.autocorrelation[1] == pytest.approx(
        np.exp(-2 * correlations.lags), abs=1e-4
    )
    assert correlations.power_spectrum[0] == pytest.approx(
        alone.functions.power_spectrum(correlations.frequencies)[0], rel=1e-3
    )
    assert integrated(correlations) == pytest.approx(
        [alone.integrated_times[0].value, 0.5], rel=1e-4
    )


def test_an_angle_is_remembered_by_its_cosine_and_sine() -> None:
    circle = {"periodic": {"x": 2 * np.pi}}
    correlations = correlations_of(
        analyse(
            model(
                {"x": {"1": 1.0}, "y": {"y": -1}}, {"x,x": {"1": 0.5}, "y,y": {"1": 0.5}}, **circle
            )
        )
    )
    # Free turning at speed 1: e^(−t a/2) cos t.
    assert correlations.autocorrelation[0] == pytest.approx(
        np.exp(-correlations.lags / 4) * np.cos(correlations.lags), abs=1e-3
    )
    assert correlations.autocorrelation[1] == pytest.approx(np.exp(-correlations.lags), abs=1e-3)


@pytest.mark.slow
def test_the_spectrum_of_an_oscillator_holds_its_variance_and_peaks_at_its_turn() -> None:
    report = analyse(
        model({"x": {"y": 1}, "y": {"x": -1, "x^3": -0.5, "y": -0.4}}, {"y,y": {"1": 0.5}})
    )
    correlations = correlations_of(report)
    assert report.stationary is not None
    assert report.spectrum is not None
    frequencies = np.linspace(1e-4, 8, 6_000)
    power = correlations.functions.power_spectrum(frequencies)[0]
    assert trapezoid(power, frequencies) == pytest.approx(
        report.stationary.covariance[0][0], rel=2e-3
    )
    # A velocity is a derivative: what it adds up to over all times is nothing.
    assert integrated(correlations)[1] == pytest.approx(0, abs=1e-3)
    assert 2 * np.pi * frequencies[np.argmax(power)] == pytest.approx(
        abs(report.spectrum.eigenvalues[0].imag), rel=0.1
    )


def test_three_linear_coordinates_have_them_in_closed_form() -> None:
    noise = {f"{name},{name}": {"1": 1.0} for name in "xyz"}
    correlations = correlations_of(
        analyse(model({"x": {"x": -1}, "y": {"y": -2}, "z": {"z": -3, "x": 1}}, noise))
    )
    assert correlations.autocorrelation[1] == pytest.approx(np.exp(-2 * correlations.lags))
    assert integrated(correlations)[:2] == pytest.approx([1, 0.5])
