"""Intervals on a circle: of a free rotation in closed form, of others the samples' own analysis."""

import numpy as np
import pytest

from worker.documents.generator import analysis_of
from worker.generator.analysis import analyse, analysis
from worker.generator.circle.correlations import CircleCorrelations
from worker.generator.process import FloatArray, ScalarProcess
from worker.generator.quantities.correlations import Correlations
from worker.generator.quantities.passages import PassageCurve
from worker.generator.quantities.report import GeneratorReport
from worker.generator.uncertainty.confidence_intervals import intervals_over

SHARES = [0.05, 0.95]


def driven(push: float, pull: float = 0.0, twice: float = 0.0, a: float = 2.0) -> ScalarProcess:
    return ScalarProcess(
        lambda x: push - pull * np.sin(x) - twice * np.sin(2 * x),
        lambda x: a + 0 * x,
        lambda x: -pull * np.cos(x) - 2 * twice * np.cos(2 * x),
        (-np.pi, np.pi),
        2 * np.pi,
    )


def correlations_of(report: GeneratorReport) -> Correlations:
    assert isinstance(report.correlations, Correlations)
    return report.correlations


def decay(push: FloatArray, lags: FloatArray) -> FloatArray:
    """e^ix of a free rotation turns with the push and decays at the rate a/2."""
    return np.exp(-lags) * np.cos(push * lags)


def power(push: FloatArray, frequencies: FloatArray) -> FloatArray:
    omega = 2 * np.pi * frequencies
    return 2 / (1 + (omega - push) ** 2) + 2 / (1 + (omega + push) ** 2)


def test_the_memory_of_a_free_rotation_has_the_bands_of_its_closed_form() -> None:
    pushes, reference = np.linspace(0.5, 1.5, 41), analysis(driven(1.0))
    found, correlations = (
        intervals_over([driven(push) for push in pushes], reference, 0.9),
        correlations_of(reference.report),
    )
    for band, curves in (
        (found.band("correlations", "autocorrelation"), decay(pushes[:, None], correlations.lags)),
        (
            found.band("correlations", "power_spectrum"),
            power(pushes[:, None], correlations.frequencies),
        ),
    ):
        assert band is not None
        # Where the estimate's curve is the lowest or highest of all, the band reaches it.
        low, high = np.quantile(curves, SHARES, axis=0, method="nearest")
        hull = np.minimum(low, curves[20]), np.maximum(high, curves[20])
        np.testing.assert_allclose(np.array(band)[:, 0], hull, atol=1e-9)
        # Negative control: at less confidence it is another.
        assert (
            np.max(
                np.abs(
                    np.quantile(curves, [0.2, 0.8], axis=0, method="nearest") - np.array(band)[:, 0]
                )
            )
            > 1e-2
        )
    low, high = np.quantile(pushes, SHARES, method="nearest")
    assert found.range("correlations", "integrated_times", 0) == pytest.approx(
        (1 / (1 + high**2), 1 / (1 + low**2)), rel=1e-9
    )
    assert found.ranges("spectrum", "eigenvalues", "im")[:2] == (
        pytest.approx((low, high), rel=1e-9),
        pytest.approx((-high, -low), rel=1e-9),
    )


def test_a_band_of_memories_holds_the_share_of_samples_at_a_lag_that_it_says() -> None:
    random = np.random.default_rng(5)
    pushes, reference = 1 + 0.1 * random.standard_normal(70), analysis(driven(1.0))
    found, lags = (
        intervals_over([driven(push) for push in pushes], reference, 0.8),
        correlations_of(reference.report).lags,
    )
    band = found.band("correlations", "autocorrelation")
    assert band is not None
    fresh = decay(1 + 0.1 * random.standard_normal((4000, 1)), lags)
    inside = np.mean((fresh >= band[0][0]) & (fresh <= band[1][0]), axis=0)
    width = (band[1][0] - band[0][0]) > 1e-3
    # Four standard errors of both draws.
    assert np.max(np.abs(inside[width] - 0.8)) < 4 * np.sqrt(0.16 / 70 + 0.16 / 4000)


@pytest.mark.parametrize("asked", [(-1.0, 1.0), (2.0, 1.0), (1.0, -2.0)])
def test_curves_and_quantiles_of_a_sample_are_those_of_its_own_analysis(
    asked: tuple[float, float],
) -> None:
    reference = analysis(driven(0.1, 0.3, 0.8, 0.5), passages=[asked])
    known, correlations = reference.report.passages[0].law, correlations_of(reference.report)
    assert reference.perturbed is not None
    assert isinstance(known, PassageCurve)
    for model in (driven(0.12, 0.28, 0.85, 0.47), driven(0.07, 0.33, 0.77, 0.52)):
        sample, own = reference.perturbed(model), analyse(model, passages=[asked])
        law, own_correlations = own.passages[0].law, correlations_of(own)
        assert isinstance(law, PassageCurve)
        # A law is given to a thousandth of its peak, the early times of it to as much.
        assert np.log(sample.passages[0].quantiles) == pytest.approx(
            np.log(law.quantiles), abs=1e-3
        )
        curve = own_correlations.functions.autocorrelation(correlations.lags)[0]
        spectrum = own_correlations.functions.power_spectrum(correlations.frequencies)[0]
        assert correlations_of(sample).autocorrelation[0] == pytest.approx(curve, abs=1e-6)
        assert correlations_of(sample).power_spectrum[0] == pytest.approx(spectrum, rel=1e-5)
        assert own.spectrum is not None
        assert sample.spectrum is not None
        assert sample.spectrum.eigenvalues.real == pytest.approx(
            own.spectrum.eigenvalues.real, rel=1e-5
        )
        # Negative control: they are not the reference's.
        assert np.max(np.abs(np.log(known.quantiles) - np.log(law.quantiles))) > 5e-3
        assert np.max(np.abs(curve - correlations.autocorrelation[0])) > 1e-2


def test_a_law_much_narrower_than_the_references_is_not_had_from_as_few_modes() -> None:
    """Two wells, so steep that their law has higher modes."""
    reference = analysis(driven(0.0, 0.0, 0.8, 0.8))
    model = driven(0.0, 0.0, 2.3, 0.3)
    assert reference.perturbed is not None
    sample, own, correlations = (
        reference.perturbed(model),
        correlations_of(analyse(model)),
        correlations_of(reference.report),
    )
    curve = own.functions.autocorrelation(correlations.lags)[0]
    assert correlations_of(sample).autocorrelation[0] == pytest.approx(curve, abs=1e-5)
    # Negative control: on the modes that are enough for the reference it is not.
    assert isinstance(correlations.functions, CircleCorrelations)
    assert correlations.functions.few is not None
    coarse = CircleCorrelations.of(
        model, -np.pi, 2 * np.pi, correlations.functions.few
    ).autocorrelation(correlations.lags)[0]
    assert np.max(np.abs(coarse - curve)) > 0.01


@pytest.mark.slow
def test_weak_noise_has_no_memory_and_no_band_but_settled_rates() -> None:
    reference = analysis(driven(0.1, 1.0, 0.5, 0.02))
    assert not isinstance(reference.report.correlations, Correlations)
    noises = np.linspace(0.018, 0.022, 20)
    found = intervals_over([driven(0.1, 1.0, 0.5, a) for a in noises], reference, 0.9999)
    assert found.band("correlations", "autocorrelation") is None
    assert found.range("correlations", "integrated_times", 0) is None
    assert found.range("probability_current") is not None
    fastest, interval = (
        analyse(driven(0.1, 1.0, 0.5, 0.018)).spectrum,
        found.range("spectrum", "eigenvalues", "re", 4),
    )
    assert fastest is not None
    assert interval is not None
    # On 32 modes, which are enough for most models, it is 40 % away.
    assert interval[0] == pytest.approx(fastest.eigenvalues[4].real, rel=1e-4)


def test_the_document_has_them() -> None:
    reference = analysis(driven(1.0), passages=[(0.0, 1.0)])
    found = intervals_over([driven(push) for push in np.linspace(0.9, 1.1, 25)], reference, 0.9)
    document = analysis_of(reference.report, found)
    assert document.autocorrelation is not None
    assert document.power_spectrum is not None
    assert document.spectrum is not None
    for values_ci, band in (
        (document.autocorrelation.values_ci, found.band("correlations", "autocorrelation")),
        (document.power_spectrum.values_ci, found.band("correlations", "power_spectrum")),
    ):
        assert band is not None
        np.testing.assert_array_equal(np.array(values_ci["x"]), np.array(band)[:, 0])
    assert [value.im_ci for value in document.spectrum.eigenvalues[:2]] == list(
        found.ranges("spectrum", "eigenvalues", "im")[:2]
    )
    assert [quantile.ci for quantile in document.passages[0].quantiles] == list(
        found.ranges("passages", 0, "quantiles")
    )
    assert None not in found.ranges("passages", 0, "quantiles")
    assert document.autocorrelation.integrated_time["x"].ci == found.range(
        "correlations", "integrated_times", 0
    )
    assert analysis_of(reference.report, None).autocorrelation.values_ci == {}
