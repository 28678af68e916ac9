"""Diffusion tensors that are negative only where the process hardly ever is."""

import numpy as np
import pytest

from contract.generator import ModelTerms
from worker.generator.analysis import Analysis, analyse, analysis
from worker.generator.process import DiffusionProcess
from worker.generator.quantities.outcomes import Outcome
from worker.generator.uncertainty.confidence_intervals import intervals_over
from worker.jobs.parameters import process_of

Terms = dict[str, dict[str, float]]
LINEAR: Terms = {"x": {"x": -1}, "y": {"y": -1.5}}
SEEN = ((-2.0, 2.0), (-1.7, 1.7))


def model(diffusion: Terms, drift: Terms = LINEAR) -> DiffusionProcess:
    return process_of(ModelTerms.model_validate({"drift": drift, "diffusion": diffusion}))


def noise(mixed: float) -> Terms:
    """a_xy = mixed·xy; with mixed = 0.32 negative where |xy| > 1.56, in the corners of the data."""
    return {"x,x": {"1": 0.5}, "x,y": {"x*y": mixed}, "y,y": {"1": 0.5}}


@pytest.fixture(scope="module")
def cut_in_the_corners() -> Analysis:
    return analysis(model(noise(0.32)), observed_range=SEEN)


@pytest.mark.slow
def test_rates_and_law_are_those_of_moment_equations(cut_in_the_corners: Analysis) -> None:
    report = cut_in_the_corners.report
    assert report.ergodic
    assert report.boundaries == "reflecting"
    assert "not positive" in str(report.approximation)
    assert len(report.cut) == 1
    assert report.domains == SEEN
    assert report.spectrum is not None
    assert report.stationary is not None
    # Moments of first and second degree close: rates 1 and 1.5, variances a / 2k; between walls
    # three deviations away or more they are a little faster and smaller.
    assert report.spectrum.eigenvalues.real[:2] == pytest.approx([1.0, 1.5], rel=0.02)
    covariance = np.array(report.stationary.covariance, dtype=float)
    assert np.diag(covariance) == pytest.approx([0.25, 1 / 6], rel=0.02)
    # ⟨xy⟩: −2.5⟨xy⟩ + 0.32⟨xy⟩ = 0.
    assert covariance[0, 1] == pytest.approx(0, abs=1e-3)


@pytest.mark.slow
def test_a_tensor_that_is_positive_everywhere_is_not_cut() -> None:
    report = analyse(
        model({"x,x": {"1": 0.5, "y^2": 0.1}, "x,y": {"x*y": 0.05}, "y,y": {"1": 0.5, "x^2": 0.1}}),
        observed_range=SEEN,
    )
    assert report.ergodic
    assert report.cut == ()
    assert report.approximation is None


@pytest.mark.parametrize(
    ("diffusion", "drift"),
    [
        (
            {"x,x": {"1": 0.25, "x^2": -0.3}, "y,y": {"1": 0.25}},
            {"x": {"x": 1, "x^3": -1}, "y": {"y": -1}},
        ),
        (
            {"x,x": {"1": 0.5}, "x,y": {"1": 0.6}, "y,y": {"1": 0.5}},
            LINEAR | {"x": {"x": -1, "x^3": -0.01}},
        ),
        (
            {"x,x": {"1": 0.5, "y": 0.34}, "y,y": {"1": 0.5}},
            {"x": {}, "y": {"y": -1.5, "y^3": -0.01}},
        ),
    ],
    ids=["negative among the data", "negative everywhere", "nothing holds x"],
)
def test_where_the_process_would_not_stay_there_is_no_answer(
    diffusion: Terms, drift: Terms
) -> None:
    report = analyse(model(diffusion, drift), observed_range=SEEN)
    assert not report.ergodic
    assert report.spectrum is None
    assert report.cut == ()


def test_a_coordinate_that_nothing_holds_is_named() -> None:
    # The buffalo has such a model: no drift in x, and noise in x that falls with y, to zero among
    # the data.
    free = model({"x,x": {"1": 0.5, "y": 0.6}, "y,y": {"1": 0.5}}, {"x": {}, "y": {"y": -1.5}})
    report = analyse(free, observed_range=SEEN)
    assert "nothing holds the process back along x within the observed range" in str(report.reason)


def test_without_data_nothing_says_where_to_cut() -> None:
    reason = analyse(model(noise(0.7))).reason
    assert reason.outcome is Outcome.NOT_POSITIVE


def test_samples_are_cut_too(cut_in_the_corners: Analysis) -> None:
    found = intervals_over(
        [model(noise(mixed)) for mixed in np.linspace(0.28, 0.36, 21)], cut_in_the_corners, 0.9
    )
    assert found.ergodic_share == 1
    assert found.range("spectrum", "eigenvalues", "re", 0) is not None
    spectrum = cut_in_the_corners.report.spectrum
    assert spectrum is not None
    assert found.range("spectrum", "eigenvalues", "re", 0) == pytest.approx(
        (spectrum.eigenvalues[0].real,) * 2, rel=0.01
    )
