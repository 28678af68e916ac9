"""Bands of autocorrelation, power spectrum and eigenfunctions: closed forms, and own curves."""

from collections.abc import Callable

import numpy as np
import pytest

from worker.documents.generator import analysis_of
from worker.generator.analysis import Analysis, analyse, analysis
from worker.generator.process import FloatArray, ScalarProcess
from worker.generator.quantities.correlations import Correlations
from worker.generator.quantities.report import GeneratorReport
from worker.generator.quantities.spectrum import Spectrum
from worker.generator.uncertainty.confidence_intervals import intervals_over

THETAS = np.linspace(0.8, 1.2, 41)


def linear(theta: float, a: float = 0.5) -> ScalarProcess:
    return ScalarProcess(lambda x: -theta * x, lambda x: a + 0 * x, lambda x: -theta + 0 * x)


def double_well(a: float, slope: float = 1.0, tilt: float = 0.0) -> ScalarProcess:
    return ScalarProcess(
        lambda x: tilt + slope * x - x**3, lambda x: a + 0 * x, lambda x: slope - 3 * x**2
    )


def multiplicative(theta: float, growth: float) -> ScalarProcess:
    return ScalarProcess(
        lambda x: -theta * x, lambda x: 0.25 + growth * x**2, lambda x: -theta + 0 * x
    )


def correlations_of(report: GeneratorReport) -> Correlations:
    assert isinstance(report.correlations, Correlations)
    return report.correlations


def near(reference: Analysis, model: ScalarProcess) -> GeneratorReport:
    assert reference.perturbed is not None
    return reference.perturbed(model)


def central(rows: list[FloatArray]) -> FloatArray:
    return np.quantile(rows, [0.05, 0.95], axis=0, method="nearest")


def test_linear_processes_have_the_closed_forms_percentiles() -> None:
    reference = analysis(linear(1.0))
    correlations, found = (
        correlations_of(reference.report),
        intervals_over([linear(t) for t in THETAS], reference, 0.9),
    )
    assert found.band("correlations", "autocorrelation") is not None
    assert found.band("correlations", "power_spectrum") is not None
    decays = [np.exp(-t * correlations.lags) for t in THETAS]
    omega = 2 * np.pi * correlations.frequencies
    lorentzians = [2 * 0.5 / (t**2 + omega**2) for t in THETAS]
    np.testing.assert_allclose(
        np.array(found.band("correlations", "autocorrelation"))[:, 0], central(decays), atol=1e-3
    )
    np.testing.assert_allclose(
        np.array(found.band("correlations", "power_spectrum"))[:, 0],
        central(lorentzians),
        rtol=3e-3,
    )
    # Negative control: a tenth of the band's width would be seen.
    assert np.max(np.diff(central(decays), axis=0)) > 0.1


@pytest.mark.parametrize(
    ("family", "centre", "other"),
    [
        (double_well, (0.25, 1.0, 0.0), (0.26, 1.04, 0.02)),
        (multiplicative, (2.0, 0.25), (1.8, 0.22)),
        (double_well, (0.02, 1.0, 0.0), (0.021, 1.0, 0.0005)),
        (double_well, (0.01, 1.0, 0.0), (0.0104, 1.0, 0.0)),
    ],
    ids=["double well", "multiplicative", "25 kT", "50 kT"],
)
def test_near_another_model_they_are_the_models_own(
    family: Callable[..., ScalarProcess], centre: tuple[float, ...], other: tuple[float, ...]
) -> None:
    reference, model = analysis(family(*centre)), family(*other)
    correlations, own = correlations_of(reference.report), correlations_of(analyse(model)).functions
    exact_c, exact_s = (
        own.autocorrelation(correlations.lags)[0],
        own.power_spectrum(correlations.frequencies)[0],
    )
    sample, itself = (
        correlations_of(near(reference, model)),
        correlations_of(near(reference, reference.process)),
    )
    # What the cells miss of the reference they miss of the model.
    np.testing.assert_allclose(
        correlations.autocorrelation[0] + sample.autocorrelation[0] - itself.autocorrelation[0],
        exact_c,
        atol=1e-3,
    )
    ratio = sample.power_spectrum[0] / itself.power_spectrum[0]
    # Over a barrier of 50 kT models share no panels with each other.
    np.testing.assert_allclose(
        correlations.power_spectrum[0] * ratio, exact_s, rtol=5e-2 if centre[0] == 0.01 else 2e-2
    )
    # Negative control: they are not the reference's.
    assert np.max(np.abs(correlations.autocorrelation[0] - exact_c)) > 5e-3
    assert np.max(np.abs(np.log(correlations.power_spectrum[0] / exact_s))) > 0.05


def test_eigenfunctions_of_linear_processes_are_hermite_polynomials() -> None:
    reference = analysis(linear(1.0), eigenfunctions=True, eigenpairs=2)
    assert reference.report.stationary is not None
    found = intervals_over([linear(t) for t in THETAS], reference, 0.9)
    x = reference.report.stationary.grid[0]
    inside = np.abs(x) < 2
    for k, power in enumerate((1, 2)):
        band = found.band("spectrum", "eigenfunctions", k)
        assert band is not None
        scaled = [x / np.sqrt(0.5 / (2 * t)) for t in THETAS]
        exact = central([z if power == 1 else (z**2 - 1) / np.sqrt(2) for z in scaled])
        np.testing.assert_allclose(np.array(band)[:, inside], exact[:, inside], atol=0.01)
        # Negative control: the models differ by much more than that.
        assert np.max(np.diff(exact[:, inside], axis=0)) > 0.3


def test_models_near_another_have_their_own_eigenfunctions() -> None:
    reference = analysis(double_well(0.25), eigenfunctions=True, eigenpairs=3)
    model = double_well(0.27, 1.05, 0.02)
    assert reference.report.stationary is not None
    own = analyse(model, eigenpairs=3, eigenfunctions=True)
    assert own.stationary is not None
    assert isinstance(own.spectrum, Spectrum)
    assert own.spectrum.eigenfunctions is not None
    sample = near(reference, model).spectrum
    assert sample is not None
    assert sample.eigenfunctions is not None
    x = np.linspace(-1.4, 1.4, 50)
    for found, exact in zip(sample.eigenfunctions, own.spectrum.eigenfunctions.real, strict=True):
        at, here = (
            np.interp(x, own.stationary.grid[0], exact),
            np.interp(x, reference.report.stationary.grid[0], found),
        )
        np.testing.assert_allclose(here, at, atol=0.02)


def test_the_document_gives_them_where_they_are_asked_for() -> None:
    models = [linear(t) for t in THETAS]
    for asked in (True, False):
        reference = analysis(linear(1.0), eigenfunctions=asked, eigenpairs=2)
        document = analysis_of(reference.report, intervals_over(models, reference, 0.9))
        assert document.autocorrelation is not None
        assert document.power_spectrum is not None
        assert document.spectrum is not None
        low, high = (np.array(end, dtype=float) for end in document.autocorrelation.values_ci["x"])
        middle = np.array(document.autocorrelation.values["x"], dtype=float)
        assert np.all((low <= middle + 1e-9) & (middle <= high + 1e-9))
        assert set(document.power_spectrum.values_ci) == {"x"}
        assert len(document.spectrum.eigenfunctions_ci) == (2 if asked else 0)


def test_too_few_models_with_a_variance_give_no_band() -> None:
    heavy = [multiplicative(0.1, 0.25 + 0.001 * k) for k in range(30)]
    found = intervals_over(
        [multiplicative(2.0, 0.25), *heavy], analysis(multiplicative(2.0, 0.25)), 0.9
    )
    assert found.band("correlations", "autocorrelation") is None
