"""Models without a stationary law get a reason, never a crash and never a made-up density."""

import numpy as np
import pytest

from worker.generator.analysis import analyse, analysis
from worker.generator.errors import (
    InvalidDomainError,
    NoFiniteRangeError,
    UndefinedCoefficientsError,
)
from worker.generator.line.domain.positive_diffusion import narrowed_to_positive
from worker.generator.process import ScalarFunction, ScalarProcess
from worker.generator.quantities.outcomes import NO_NOISE, Outcome
from worker.generator.uncertainty.confidence_intervals import intervals_over

INF = np.inf


def model(
    b: ScalarFunction,
    a: ScalarFunction,
    db: ScalarFunction,
    bounds: tuple[float, float] = (-INF, INF),
) -> ScalarProcess:
    return ScalarProcess(b, a, db, bounds)


def zero(x: np.ndarray) -> np.ndarray:
    return np.zeros_like(x)


def one(x: np.ndarray) -> np.ndarray:
    return np.ones_like(x)


def test_outward_drift_has_no_stationary_law() -> None:
    report = analyse(model(lambda x: x, one, one))
    assert not report.ergodic
    assert report.spectrum is None
    assert report.stationary is None
    assert report.reason.outcome is Outcome.ESCAPES
    assert [point.stable for point in report.fixed_points] == [False]
    assert report.local_relaxation is not None


def test_brownian_motion_has_no_stationary_law() -> None:
    report = analyse(model(zero, one, zero))
    assert not report.ergodic
    assert report.reason.outcome is Outcome.UNCONFINED


@pytest.mark.parametrize(
    ("b", "a", "bounds", "why"),
    [
        (
            lambda x: x**3,
            lambda x: 1 + x**4,
            (-INF, INF),
            Outcome.ESCAPES,
        ),  # normalisable density, but the process explodes
        (
            zero,
            lambda x: x * (1 - x),
            (0.0, 1.0),
            Outcome.ABSORBED,
        ),  # genetic drift without mutation: both ends are traps
        (lambda x: x, lambda x: x**2, (0.0, INF), Outcome.ESCAPES),  # geometric Brownian motion
        (lambda x: -x, lambda x: 4 * x, (0.0, INF), Outcome.ABSORBED),  # branching: zero is a trap
        (
            lambda x: -0.4 * x,
            lambda x: 1 + x**2,
            (-INF, INF),
            None,
        ),  # π ~ |x|^−2.8: still normalisable
        (lambda x: 0.6 * x, lambda x: 1 + x**2, (-INF, INF), Outcome.ESCAPES),  # π ~ |x|^−0.8: not
        (
            lambda x: -x,
            lambda x: 1 / (1 + x**2) ** 2,
            (-INF, INF),
            None,
        ),  # noise that vanishes at infinity
    ],
)
def test_normalisability_is_decided_at_the_ends(
    b: ScalarFunction, a: ScalarFunction, bounds: tuple[float, float], why: Outcome | None
) -> None:
    report = analyse(model(b, a, zero, bounds))
    assert report.ergodic == (why is None)
    assert (report.reason and report.reason.outcome) is why


def test_negative_diffusion_inside_the_domain_is_named_with_its_place() -> None:
    report = analyse(model(lambda x: -x, lambda x: 1 - x**2, lambda x: -one(x)))
    assert not report.ergodic
    assert report.reason.outcome is Outcome.NOT_POSITIVE
    assert "from x = -1 and x = 1 on" in str(report.reason)


def test_the_same_coefficients_on_their_own_domain_are_the_jacobi_process() -> None:
    report = analyse(model(lambda x: -x, lambda x: 1 - x**2, lambda x: -one(x), (-1.0, 1.0)))
    assert report.ergodic
    assert report.spectrum is not None
    assert report.spectrum.eigenvalues[0].real == pytest.approx(1, rel=1e-6)


@pytest.mark.parametrize("touching", [0.0, 0.37, 12.3])
def test_diffusion_that_touches_zero_inside_the_domain_is_found(touching: float) -> None:
    report = analyse(model(lambda x: -x, lambda x: (x - touching) ** 2, lambda x: -one(x)))
    assert not report.ergodic
    assert f"x = {touching:g}"[:6] in str(report.reason)


def test_deterministic_process_has_fixed_points_and_no_law() -> None:
    report = analyse(model(lambda x: x - x**3, zero, lambda x: 1 - 3 * x**2))
    assert not report.ergodic
    assert report.reason == NO_NOISE
    assert len(report.fixed_points) == 3
    assert report.local_relaxation is None


def test_reflecting_ends_give_the_range_an_analysis_that_stays_labelled() -> None:
    report = analyse(model(zero, one, zero), observed_range=(0.0, 2.0), reflecting_ends=True)
    assert not report.ergodic
    assert report.boundaries == "reflecting"
    assert report.domain == (0.0, 2.0)
    assert report.reason.outcome is Outcome.UNCONFINED
    assert report.spectrum is not None
    assert report.spectrum.eigenvalues[0].real == pytest.approx(np.pi**2 / 8, rel=1e-6)


def test_reflecting_ends_change_nothing_where_there_is_a_law() -> None:
    report = analyse(
        model(lambda x: -x, one, lambda x: -one(x)),
        observed_range=(-2.0, 2.0),
        reflecting_ends=True,
    )
    assert report.ergodic
    assert report.boundaries == "natural"
    assert report.domain == (-INF, INF)


def test_reflecting_ends_without_a_place_to_stand_are_an_error_that_says_so() -> None:
    with pytest.raises(NoFiniteRangeError, match="give a finite domain"):
        analyse(model(zero, one, zero), reflecting_ends=True)


def test_fitted_tail_that_turns_outward_beyond_the_data_is_called_extrapolation() -> None:
    runaway = model(lambda x: -x + 0.1 * x**3, lambda x: 0.2 + zero(x), lambda x: -1 + 0.3 * x**2)
    report = analyse(runaway, observed_range=(-1.5, 1.5))
    assert not report.ergodic
    assert "beyond the observed range" in str(report.reason)
    assert "extrapolation" in str(report.reason)
    seen = analyse(runaway, observed_range=(-4.0, 4.0))
    assert "extrapolation" not in str(seen.reason)


def quartic_tail(strength: float) -> ScalarProcess:
    """The double well b = x − x³ with a tail that turns outward at x ≈ 1/strength.

    The barrier there is about 2/strength⁴ kT high.
    """
    return model(
        lambda x: x - x**3 + strength * x**4,
        lambda x: 0.25 + zero(x),
        lambda x: 1 - 3 * x**2 + 4 * strength * x**3,
        (-INF, INF),
    )


@pytest.mark.parametrize("strength", [0.2, 0.02, 0.0002])
def test_escape_over_a_barrier_of_any_height_is_a_verdict_and_no_failure(strength: float) -> None:
    report = analyse(quartic_tail(strength), passages=[(-1.0, 1.0)])
    assert not report.ergodic
    assert report.spectrum is None
    assert f"it turns outward at x = {report.fixed_points[-1].at[0]:.6g}" in str(report.reason)
    # Upwards the process never sees the tail; downwards it may be lost.
    assert report.passages[0].mean_time.value == pytest.approx(41.03, rel=0.5)


def test_unseen_tail_that_turns_outward_leaves_the_law_before_the_escape_labelled() -> None:
    report = analyse(quartic_tail(0.0002), observed_range=(-1.8, 1.8))
    assert not report.ergodic
    assert "beyond the observed range" in str(report.reason)
    assert "outside the range of the data" in str(report.approximation)
    assert report.spectrum is not None
    assert report.spectrum.eigenvalues[0].real == pytest.approx(
        0.0568183, rel=1e-3
    )  # that of x − x³
    assert len(report.fixed_points) == 4


def test_data_that_ran_away_or_nothing_holds_leave_no_law() -> None:
    assert analyse(quartic_tail(0.2), observed_range=(-1.8, 20.0)).stationary is None
    flat = model(lambda x: -x + 0.2 * x**3, one, lambda x: -1 + 0.6 * x**2)  # 2.5 kT
    assert analyse(flat, observed_range=(-1.5, 1.5)).stationary is None


def test_models_drawn_around_one_held_before_its_escape_are_held_at_the_same_place() -> None:
    reference = analysis(quartic_tail(0.0002), observed_range=(-1.8, 1.8))
    drawn = [quartic_tail(strength) for strength in np.linspace(-0.0002, 0.0006, 40)]
    found = intervals_over(drawn, reference, 0.95)
    assert found.range("spectrum", "eigenvalues", "re", 0) is not None
    low, high = found.range("spectrum", "eigenvalues", "re", 0)
    assert 0.05675 < low <= high < 0.0569
    assert found.ergodic_share == 0


def test_fitted_diffusion_is_narrowed_to_where_it_is_positive_and_analysed_there() -> None:
    fitted = model(lambda x: -0.5 * x + 0.01, lambda x: 0.3 - 0.29 * x**2, lambda x: -0.5 * one(x))
    narrowed = narrowed_to_positive(fitted, (-0.9, 0.9))
    edge = np.sqrt(0.3 / 0.29)
    assert narrowed.cut_below == pytest.approx(-edge, rel=1e-12)
    assert narrowed.cut_above == pytest.approx(edge, rel=1e-12)
    assert len(narrowed.sentences) == 2
    report = analyse(narrowed.process, observed_range=(-0.9, 0.9))
    assert report.ergodic
    # Linear drift: the slowest rate is its slope, whatever the ends.
    assert report.spectrum is not None
    assert report.spectrum.eigenvalues[0].real == pytest.approx(0.5, rel=1e-5)


def test_narrowing_leaves_a_positive_model_alone_and_refuses_a_negative_one() -> None:
    untouched = narrowed_to_positive(model(lambda x: -x, one, lambda x: -one(x)), (-1.0, 1.0))
    assert untouched.process.bounds == (-INF, INF)
    assert untouched.sentences == ()
    with pytest.raises(InvalidDomainError, match="not positive"):
        narrowed_to_positive(
            model(lambda x: -x, lambda x: x**2 - 1, lambda x: -one(x)), (-0.5, 0.5)
        )


def test_unseen_wells_barriers_and_passages_are_named() -> None:
    well = model(lambda x: x - x**3, lambda x: 0.25 + zero(x), lambda x: 1 - 3 * x**2)
    report = analyse(well, observed_range=(-1.4, -0.2))
    assert [sentence.split(" at ")[0] for sentence in report.extrapolated[:2]] == [
        "the well",
        "the barrier",
    ]
    assert sum(sentence.startswith("the passage") for sentence in report.extrapolated) == 2
    assert analyse(well, observed_range=(-1.4, 1.4)).extrapolated == ()


def test_bad_domains_and_undefined_coefficients_are_errors() -> None:
    with pytest.raises(InvalidDomainError, match="empty"):
        analyse(model(lambda x: -x, one, zero, (1.0, -1.0)))
    with pytest.raises(InvalidDomainError, match="no length"):
        analyse(model(lambda x: -x, one, zero, (0.0, 1.0)), observed_range=(2.0, 3.0))
    with pytest.raises(UndefinedCoefficientsError, match="give the domain"):
        analyse(model(lambda x: 1 - np.sqrt(x), one, zero), observed_range=(-1.0, 1.0))


def cubic(down: float, up: float, a: float = 0.49) -> ScalarProcess:
    return model(
        lambda x: -down * x + up * x**3, lambda x: a * one(x), lambda x: -down + 3 * up * x**2
    )


@pytest.mark.parametrize("observed", [(-1.6, 1.78), (-2.3, 2.1)])
def test_drift_that_turns_outward_about_where_the_data_end_has_the_law_inside(
    observed: tuple[float, float],
) -> None:
    """A cubic fitted to −tanh(3x) turns outward at 1.65: before, it had no variance and no rate."""
    turning = np.sqrt(2.17 / 0.793)
    found = analysis(cubic(2.17, 0.793), observed_range=observed)
    report = found.report
    assert report.ergodic is False
    assert report.boundaries == "reflecting"
    assert report.approximation is not None
    assert "ends of the observed range" in report.approximation
    assert report.stationary is not None
    assert report.spectrum is not None
    x = np.linspace(max(-turning, observed[0]), min(turning, observed[1]), 4001)
    density = np.exp(2 / 0.49 * (-2.17 * x**2 / 2 + 0.793 * x**4 / 4))
    density /= density.sum()
    variance = (density * x**2).sum() - (density * x).sum() ** 2
    assert report.stationary.covariance[0][0] == pytest.approx(variance, rel=2e-3)
    # No mode of the far side of a turning point, where a few samples were.
    assert 1.2 < report.spectrum.eigenvalues[0].real < 2.17
    # Models drawn around it are held between the same ends.
    assert found.perturbed is not None
    near = found.perturbed(cubic(2.0, 0.75))
    assert near.ergodic is False
    assert near.stationary is not None
    assert near.domain == report.domain


@pytest.mark.parametrize(
    ("process", "observed"),
    [
        (model(zero, one, zero), (-3.0, 3.0)),
        (model(lambda x: 0.1 * x, one, lambda x: 0.1 * one(x)), (-3.0, 3.0)),
        (cubic(0.2, 0.793), (-1.6, 1.6)),
    ],
    ids=["random walk", "growth", "no barrier"],
)
def test_what_nothing_holds_among_the_data_has_no_law_there(
    process: ScalarProcess, observed: tuple[float, float]
) -> None:
    report = analyse(process, observed_range=observed)
    assert report.ergodic is False
    assert report.stationary is None
    assert report.approximation is None
