"""Intervals of densities, potentials, fixed points, barriers and currents against the samples' own closed forms."""

import numpy as np
import pytest

from worker.documents.generator import analysis_of
from worker.generator.analysis import analyse
from worker.generator.line.stationary import StationaryLaw
from worker.generator.process import FloatArray, ScalarProcess
from worker.generator.quantities.report import GeneratorReport
from worker.generator.uncertainty.batch import analysed_together
from worker.generator.uncertainty.confidence_intervals import spread
from worker.generator.uncertainty.intervals import GeneratorSpread, TopographySpread
from worker.generator.uncertainty.single_model import analysed_alone

SHARES = [0.05, 0.95]


def linear(theta: float, a: float = 1.0) -> ScalarProcess:
    return ScalarProcess(lambda x: -theta * x, lambda x: a + 0 * x, lambda x: -theta + 0 * x)


def double_well(a: float, slope: float = 1.0, tilt: float = 0.0) -> ScalarProcess:
    return ScalarProcess(
        lambda x: tilt + slope * x - x**3, lambda x: a + 0 * x, lambda x: slope - 3 * x**2
    )


def driven(push: float, a: float = 2.0, pull: float = 0.0) -> ScalarProcess:
    """On a circle."""
    return ScalarProcess(
        lambda x: push - pull * np.sin(x),
        lambda x: a + 0 * x,
        lambda x: -pull * np.cos(x),
        (-np.pi, np.pi),
        2 * np.pi,
    )


def landscape(found: GeneratorSpread) -> TopographySpread:
    assert found.topography is not None
    return found.topography


def grid_of(reference: GeneratorReport) -> FloatArray:
    assert isinstance(reference.stationary, StationaryLaw)
    return reference.stationary.grid[0]


def test_curves_of_linear_models_have_the_bands_of_their_gaussians() -> None:
    thetas, reference = np.linspace(0.8, 1.2, 41), analyse(linear(1.0))
    found, x = landscape(spread([linear(t) for t in thetas], reference, 0.9)), grid_of(reference)
    lowest = np.min(x**2)
    for band, curves in (
        (found.density, [np.sqrt(t / np.pi) * np.exp(-t * x**2) for t in thetas]),
        (found.potential, [t * (x**2 - lowest) for t in thetas]),
        (found.relaxation, [t + 0 * x for t in thetas]),
    ):
        assert band is not None
        np.testing.assert_allclose(
            band, np.quantile(curves, SHARES, axis=0, method="nearest"), rtol=1e-7, atol=1e-9
        )
        # Negative control: at less confidence it is another.
        assert (
            np.max(np.abs(np.quantile(curves, [0.2, 0.8], axis=0, method="nearest") - band)) > 1e-2
        )


def test_a_band_of_densities_holds_the_share_of_samples_at_a_point_that_it_says() -> None:
    random = np.random.default_rng(3)
    thetas, reference = 1 + 0.1 * random.standard_normal(400), analyse(linear(1.0))
    x, band = (
        grid_of(reference),
        landscape(spread([linear(t) for t in thetas], reference, 0.9)).density,
    )
    assert band is not None
    fresh = 1 + 0.1 * random.standard_normal((4000, 1))
    inside = np.mean(
        (densities := np.sqrt(fresh / np.pi) * np.exp(-fresh * x**2)) >= band[0], axis=0
    )
    inside -= np.mean(densities > band[1], axis=0)
    # Five standard errors of both draws; where all densities are equal the band has no width.
    width = (band[1] - band[0]) > 0.02 * band[1]
    assert np.max(np.abs(inside[width] - 0.9)) < 5 * np.sqrt(0.09 / 400 + 0.09 / 4000)


def test_wells_and_barriers_of_a_double_well_are_where_its_coefficients_say() -> None:
    slopes = np.linspace(0.9, 1.1, 41)
    found = landscape(
        spread([double_well(0.25, s) for s in slopes], analyse(double_well(0.25)), 0.9)
    )
    low, high = np.quantile(slopes, SHARES, method="nearest")
    (left,), (top,), (right,) = found.fixed_points
    assert left == pytest.approx((-np.sqrt(high), -np.sqrt(low)), rel=1e-9)
    assert top == pytest.approx((0, 0), abs=1e-12)
    assert right == pytest.approx((np.sqrt(low), np.sqrt(high)), rel=1e-9)
    for height, over_noise in found.barriers:
        # V = x⁴/4 − s x²/2 is s²/4 deep, and Φ = 2V/a.
        assert height == pytest.approx((low**2 / 4, high**2 / 4), rel=1e-8)
        assert over_noise == pytest.approx((2 * low**2, 2 * high**2), rel=1e-8)
    # Negative control: noise changes the height in kT alone.
    noisy = landscape(
        spread([double_well(a) for a in np.linspace(0.2, 0.3, 41)], analyse(double_well(0.25)), 0.9)
    )
    height, over_noise = noisy.barriers[0]
    assert height == pytest.approx((0.25, 0.25), rel=1e-8)
    assert over_noise is not None
    assert over_noise[1] - over_noise[0] > 0.5


def test_together_they_are_those_of_the_own_analysis() -> None:
    reference = analyse(double_well(0.25))
    models = [double_well(0.24, 1.03, 0.01), double_well(0.255, 0.98, -0.01)]
    pairs = tuple((passage.start, passage.to) for passage in reference.passages)
    for model, sample in zip(
        models, analysed_together(models, reference, pairs, None), strict=True
    ):
        assert sample is not None
        here, there = sample.topography, analysed_alone(model, reference, pairs, None).topography
        assert here is not None
        assert there is not None
        for name in ("density", "potential", "relaxation", "fixed_points", "barriers"):
            np.testing.assert_allclose(
                getattr(here, name), getattr(there, name), rtol=1e-8, atol=1e-9
            )
        other = analysed_alone(double_well(0.26), reference, pairs, None).topography
        assert other is not None
        assert np.max(np.abs(other.potential - there.potential)) > 0.1


@pytest.mark.slow
def test_where_most_samples_have_one_well_the_other_has_no_interval() -> None:
    """s < 0 leaves the middle alone."""
    reference = analyse(double_well(0.25, 0.1))
    lost = landscape(
        spread([double_well(0.25, s) for s in np.linspace(-0.3, 0.1, 41)], reference, 0.9)
    )
    assert lost.fixed_points == ((None,),) * 3
    assert lost.barriers == ((None, None),) * 2
    assert lost.density is not None
    kept = landscape(
        spread([double_well(0.25, s) for s in np.linspace(0.02, 0.2, 41)], reference, 0.9)
    )
    assert all(place is not None for (place,) in kept.fixed_points)


def test_a_drift_round_the_circle_has_its_own_velocity_and_a_flat_density() -> None:
    pushes, reference = np.linspace(0.5, 1.5, 41), analyse(driven(1.0))
    found = spread([driven(push) for push in pushes], reference, 0.9)
    low, high = np.quantile(pushes, SHARES, method="nearest")
    assert found.current == pytest.approx((low / (2 * np.pi), high / (2 * np.pi)), rel=1e-9)
    band = landscape(found).density
    assert band is not None
    np.testing.assert_allclose(band, 1 / (2 * np.pi), rtol=1e-9)
    law = analysis_of(reference, found).stationary
    assert law is not None
    assert law.mean_velocity_ci == pytest.approx((low, high), rel=1e-9)


def test_the_well_of_a_circle_is_followed_across_the_cut() -> None:
    """The well asin(push) moves by little; its two barriers are unequal by the work of a turn, 2π push."""
    turned = [
        ScalarProcess(
            lambda x, p=p: p + np.sin(x),
            lambda x: 1 + 0 * x,
            lambda x: np.cos(x),
            (-np.pi, np.pi),
            2 * np.pi,
        )
        for p in np.linspace(-0.1, 0.1, 25)
    ]
    reference = analyse(turned[12])
    found = landscape(spread(turned, reference, 0.9999))
    for point, (place,) in zip(reference.fixed_points, found.fixed_points, strict=True):
        assert place is not None
        assert place == pytest.approx(
            (point.at[0] - np.arcsin(0.1), point.at[0] + np.arcsin(0.1)), abs=1e-9
        )
    highest = max(b.height for p in (turned[0], turned[-1]) for b in analyse(p).barriers)
    lowest = min(b.height for p in (turned[0], turned[-1]) for b in analyse(p).barriers)
    assert len(found.barriers) == 2
    for height, _ in found.barriers:
        assert height == pytest.approx((lowest, highest), rel=1e-9)


def test_the_document_has_them() -> None:
    reference = analyse(double_well(0.25))
    found = spread([double_well(a, a + 0.75) for a in np.linspace(0.24, 0.26, 25)], reference, 0.9)
    document = analysis_of(reference, found)
    expected = landscape(found)
    assert [point.at_ci for point in document.fixed_points] == list(expected.fixed_points)
    assert [(b.height_ci, b.height_over_noise_ci) for b in document.barriers] == list(
        expected.barriers
    )
    assert document.stationary is not None
    assert document.effective_potential is not None
    assert document.local_relaxation is not None
    for ci, band in (
        (document.stationary.density.values_ci, expected.density),
        (document.effective_potential.values_ci, expected.potential),
        (document.local_relaxation.rate_ci, expected.relaxation),
    ):
        assert ci is not None
        np.testing.assert_array_equal(np.array(ci), np.array(band))
    without = analysis_of(reference, None)
    assert without.barriers[0].height_ci is None
    assert without.fixed_points[0].at_ci == ()
