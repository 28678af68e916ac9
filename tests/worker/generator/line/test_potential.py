"""Intervals of densities, potentials, fixed points, barriers and currents against closed forms."""

import numpy as np
import pytest

from worker.documents.generator import analysis_of
from worker.generator.analysis import analyse, analysis
from worker.generator.process import FloatArray, ScalarProcess
from worker.generator.quantities.report import GeneratorReport
from worker.generator.quantities.stationary import StationaryDistribution
from worker.generator.uncertainty.confidence_intervals import intervals_over
from worker.generator.uncertainty.intervals import Intervals, Range

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


def places(found: Intervals, count: int) -> list[Range | None]:
    """Where the fixed points are."""
    return [found.range("fixed_points", i, "at", 0) for i in range(count)]


def heights(found: Intervals, count: int) -> list[tuple[Range | None, Range | None]]:
    """Of the barriers, ΔV and ΔΦ."""
    return [
        (found.range("barriers", i, "height"), found.range("barriers", i, "height_over_noise"))
        for i in range(count)
    ]


def grid_of(reference: GeneratorReport) -> FloatArray:
    assert isinstance(reference.stationary, StationaryDistribution)
    return reference.stationary.grid[0]


def test_curves_of_linear_models_have_the_bands_of_their_gaussians() -> None:
    thetas, reference = np.linspace(0.8, 1.2, 41), analysis(linear(1.0))
    found, x = (
        intervals_over([linear(t) for t in thetas], reference, 0.9),
        grid_of(reference.report),
    )
    lowest = np.min(x**2)
    for band, curves in (
        (
            found.band("stationary", "density"),
            [np.sqrt(t / np.pi) * np.exp(-t * x**2) for t in thetas],
        ),
        (found.band("effective_potential", "values"), [t * (x**2 - lowest) for t in thetas]),
        (found.band("local_relaxation", "slope"), [t + 0 * x for t in thetas]),
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
    thetas, reference = 1 + 0.1 * random.standard_normal(400), analysis(linear(1.0))
    x, band = (
        grid_of(reference.report),
        intervals_over([linear(t) for t in thetas], reference, 0.9).band("stationary", "density"),
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
    found = intervals_over([double_well(0.25, s) for s in slopes], analysis(double_well(0.25)), 0.9)
    low, high = np.quantile(slopes, SHARES, method="nearest")
    left, top, right = places(found, 3)
    assert left == pytest.approx((-np.sqrt(high), -np.sqrt(low)), rel=1e-9)
    assert top == pytest.approx((0, 0), abs=1e-12)
    assert right == pytest.approx((np.sqrt(low), np.sqrt(high)), rel=1e-9)
    for height, over_noise in heights(found, 2):
        # V = x⁴/4 − s x²/2 is s²/4 deep, and Φ = 2V/a.
        assert height == pytest.approx((low**2 / 4, high**2 / 4), rel=1e-8)
        assert over_noise == pytest.approx((2 * low**2, 2 * high**2), rel=1e-8)
    # Negative control: noise changes the height in kT alone.
    noisy = intervals_over(
        [double_well(a) for a in np.linspace(0.2, 0.3, 41)], analysis(double_well(0.25)), 0.9
    )
    height, over_noise = heights(noisy, 1)[0]
    assert height == pytest.approx((0.25, 0.25), rel=1e-8)
    assert over_noise is not None
    assert over_noise[1] - over_noise[0] > 0.5


@pytest.mark.slow
def test_where_most_samples_have_one_well_the_other_has_no_interval() -> None:
    """s < 0 leaves the middle alone."""
    reference = analysis(double_well(0.25, 0.1))
    lost = intervals_over(
        [double_well(0.25, s) for s in np.linspace(-0.3, 0.1, 41)], reference, 0.9
    )
    assert places(lost, 3) == [None] * 3
    assert heights(lost, 2) == [(None, None)] * 2
    assert lost.band("stationary", "density") is not None
    kept = intervals_over(
        [double_well(0.25, s) for s in np.linspace(0.02, 0.2, 41)], reference, 0.9
    )
    assert None not in places(kept, 3)


def test_a_drift_round_the_circle_has_its_own_velocity_and_a_flat_density() -> None:
    pushes, reference = np.linspace(0.5, 1.5, 41), analysis(driven(1.0))
    found = intervals_over([driven(push) for push in pushes], reference, 0.9)
    low, high = np.quantile(pushes, SHARES, method="nearest")
    assert found.range("probability_current") == pytest.approx(
        (low / (2 * np.pi), high / (2 * np.pi)), rel=1e-9
    )
    band = found.band("stationary", "density")
    assert band is not None
    np.testing.assert_allclose(band, 1 / (2 * np.pi), rtol=1e-9)
    law = analysis_of(reference.report, found).stationary
    assert law is not None
    assert law.mean_velocity_ci == pytest.approx((low, high), rel=1e-9)


def test_the_well_of_a_circle_is_followed_across_the_cut() -> None:
    """The well asin(push) moves little; its barriers differ by the work of a turn, 2π push."""
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
    reference = analysis(turned[12])
    found = intervals_over(turned, reference, 0.9999)
    points = reference.report.fixed_points
    for point, place in zip(points, places(found, len(points)), strict=True):
        assert place is not None
        assert place == pytest.approx(
            (point.at[0] - np.arcsin(0.1), point.at[0] + np.arcsin(0.1)), abs=1e-9
        )
    highest = max(b.height for p in (turned[0], turned[-1]) for b in analyse(p).barriers)
    lowest = min(b.height for p in (turned[0], turned[-1]) for b in analyse(p).barriers)
    assert len(reference.report.barriers) == 2
    for height, _ in heights(found, 2):
        assert height == pytest.approx((lowest, highest), rel=1e-9)


def test_the_document_has_them() -> None:
    reference = analysis(double_well(0.25))
    found = intervals_over(
        [double_well(a, a + 0.75) for a in np.linspace(0.24, 0.26, 25)], reference, 0.9
    )
    document = analysis_of(reference.report, found)
    assert [point.at_ci[0] for point in document.fixed_points] == places(found, 3)
    assert [(b.height_ci, b.height_over_noise_ci) for b in document.barriers] == heights(found, 2)
    assert document.stationary is not None
    assert document.effective_potential is not None
    assert document.local_relaxation is not None
    for ci, band in (
        (document.stationary.density.values_ci, found.band("stationary", "density")),
        (document.effective_potential.values_ci, found.band("effective_potential", "values")),
        (document.local_relaxation.rate_ci, found.band("local_relaxation", "slope")),
    ):
        assert ci is not None
        np.testing.assert_array_equal(np.array(ci), np.array(band))
    without = analysis_of(reference.report, None)
    assert without.barriers[0].height_ci is None
    assert without.fixed_points[0].at_ci == ()
