"""No stationary law in the plane: an answer with the reason and the place, never a number."""

import numpy as np
import pytest

from contract.generator import ModelTerms
from worker.generator.analysis import analyse
from worker.generator.errors import (
    InvalidDomainError,
    NoFiniteRangeError,
    UnsupportedDimensionError,
)
from worker.generator.process import DiffusionProcess
from worker.generator.quantities.outcomes import Outcome
from worker.generator.quantities.report import GeneratorReport
from worker.jobs.parameters import process_of

pytestmark = pytest.mark.slow

Terms = dict[str, dict[str, float]]
WELLS: Terms = {"x": {"x": 1, "x^3": -1}, "y": {"y": -1}}
FAR_TERM = {"x": 1.0, "x^3": -1.0, "x^4": 0.02}
NOISE: Terms = {"x,x": {"1": 0.25}, "y,y": {"1": 0.25}}


def model(drift: Terms, diffusion: Terms, **more: object) -> DiffusionProcess:
    return process_of(ModelTerms.model_validate({"drift": drift, "diffusion": diffusion, **more}))


@pytest.mark.parametrize(
    ("drift", "diffusion", "why"),
    [
        ({"x": {"x": 1, "x^3": 1}, "y": {"y": -1}}, NOISE, Outcome.ESCAPES),
        ({"x": {"x": -1, "y^2": 1}, "y": {"y": 0.1, "x^2": -0.1}}, NOISE, Outcome.ESCAPES),
        ({"x": {}, "y": {"y": -1, "y^3": -1}}, NOISE, Outcome.UNCONFINED),
        (WELLS, {"x,x": {}, "y,y": {}}, Outcome.DETERMINISTIC),
        (WELLS, {"x,x": {"1": 0.25}, "y,y": {}}, Outcome.DEGENERATE),
        (WELLS, {"x,x": {"1": 0.25, "x^2": -0.3}, "y,y": {"1": 0.25}}, Outcome.NOT_POSITIVE),
        (WELLS, {"x,x": {"1": 0.25}, "x,y": {"1": 0.4}, "y,y": {"1": 0.25}}, Outcome.NOT_POSITIVE),
    ],
    ids=[
        "at once",
        "spiral",
        "free along a line",
        "no noise",
        "no noise on y",
        "negative",
        "too correlated",
    ],
)
def test_without_a_law_the_reason_is_given(drift: Terms, diffusion: Terms, why: Outcome) -> None:
    report = analyse(model(drift, diffusion), observed_range=((-1.8, 1.8), (-1.5, 1.5)))
    assert not report.ergodic
    assert report.spectrum is None
    assert report.stationary is None
    assert report.reason.outcome is why
    assert (why is Outcome.DEGENERATE) == ("direction +1·y" in report.reason.sentence)


def test_an_inward_term_in_the_same_place_is_no_trouble() -> None:
    report = analyse(
        model({"x": {"x": 1, "x^3": -1, "x^5": -0.02}, "y": {"y": -1}}, NOISE),
        observed_range=((-1.8, 1.8), (-1.5, 1.5)),
    )
    assert report.ergodic


@pytest.fixture(scope="module")
def seen_wells() -> GeneratorReport:
    return analyse(model(WELLS, NOISE), observed_range=((-1.8, 1.8), (-1.5, 1.5)))


def test_an_unseen_tail_does_not_decide_but_is_named(seen_wells: GeneratorReport) -> None:
    far = analyse(
        model({"x": FAR_TERM, "y": {"y": -1}}, NOISE), observed_range=((-1.8, 1.8), (-1.5, 1.5))
    )
    near = seen_wells
    assert not far.ergodic
    assert far.reason.outcome is Outcome.ESCAPES
    assert "beyond the observed ranges" in str(far.reason)
    assert "outside the range of the data" in str(far.approximation)
    assert far.spectrum is not None
    assert near.spectrum is not None
    # The term is 2 % of the others at the wells.
    assert far.spectrum.eigenvalues[0].real == pytest.approx(
        near.spectrum.eigenvalues[0].real, rel=0.1
    )
    assert near.approximation is None
    # Of a model without data, everything is asked.
    given = analyse(model({"x": FAR_TERM, "y": {"y": -1}}, NOISE))
    assert not given.ergodic
    assert given.spectrum is None


def test_what_lies_beyond_the_data_is_named_as_extrapolation(seen_wells: GeneratorReport) -> None:
    half_seen = analyse(model(WELLS, NOISE), observed_range=((-1.8, 0.3), (-1.5, 1.5)))
    assert half_seen.ergodic
    well, mass = half_seen.extrapolated
    assert well == "the well at (1, 0) lies outside the observed ranges: extrapolation"
    assert "stationary probability lies outside the range of the data" in mass
    assert seen_wells.extrapolated == ()


def test_reflecting_ends_give_the_range_that_was_seen() -> None:
    far = model({"x": FAR_TERM, "y": {"y": -1}}, NOISE)
    report = analyse(far, observed_range=((-1.8, 1.8), (-1.5, 1.5)), reflecting_ends=True)
    assert not report.ergodic
    assert report.boundaries == "reflecting"
    assert report.reason.outcome is Outcome.ESCAPES
    alone = analyse(model({"x": FAR_TERM}, {"x,x": {"1": 0.25}}, domain={"x": [-1.8, 1.8]}))
    assert report.spectrum is not None
    assert alone.spectrum is not None
    assert report.spectrum.eigenvalues[0] == pytest.approx(alone.spectrum.eigenvalues[0], rel=2e-3)
    with pytest.raises(NoFiniteRangeError, match="finite intervals"):
        analyse(far, reflecting_ends=True)


def test_bad_ranges_are_errors() -> None:
    with pytest.raises(InvalidDomainError, match="one for each"):
        analyse(model(WELLS, NOISE), observed_range=(-1.0, 1.0))
    with pytest.raises(InvalidDomainError, match="no length"):
        analyse(
            model(WELLS, NOISE, domain={"x": [0.0, None]}),
            observed_range=((-2.0, -1.0), (-1.0, 1.0)),
        )
    three = model(
        {"x": {"x": 1}, "y": {"y": -1}, "z": {"z": -1}},
        {f"{name},{name}": {"1": 1.0} for name in "xyz"},
    )
    with pytest.raises(UnsupportedDimensionError, match="one or two variables"):
        analyse(three, observed_range=((-1.0, 1.0),) * 3, reflecting_ends=True)


def test_oscillations_far_out_are_no_escape() -> None:
    # An inertial particle that starts far from a steep well swings a hundred times further before
    # it turns.
    steep = model({"x": {"y": 1}, "y": {"x^5": -1, "y": -0.5}}, {"y,y": {"1": 0.5}})
    report = analyse(steep)
    assert report.ergodic, report.reason
    assert report.stationary is not None
    assert report.stationary.covariance[1][1] == pytest.approx(0.5, rel=2e-3)
    assert np.isfinite(report.spectrum.eigenvalues).all() if report.spectrum else False
