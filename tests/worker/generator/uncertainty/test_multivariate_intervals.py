"""Intervals in several coordinates hold the extreme models' numbers, on coarse cells."""

import numpy as np
import pytest

from contract.generator import ModelTerms
from worker.documents.generator import analysis_of
from worker.generator.analysis import Analysis, analyse, analysis
from worker.generator.plane.analysis import analysed_in_the_plane
from worker.generator.process import DiffusionProcess
from worker.generator.request import AnalysisRequest
from worker.generator.uncertainty.confidence_intervals import intervals_over
from worker.jobs.parameters import process_of

pytestmark = pytest.mark.slow

Terms = dict[str, dict[str, float]]


def model(drift: Terms, diffusion: Terms) -> DiffusionProcess:
    return process_of(ModelTerms.model_validate({"drift": drift, "diffusion": diffusion}))


def on_cells(process: DiffusionProcess) -> Analysis:
    """The analysis on cells, also of a linear process."""
    report, near = analysed_in_the_plane(process, AnalysisRequest())
    return Analysis(report, process, near)


def coupled(cubic: float) -> DiffusionProcess:
    return model(
        {"x": {"x": -1, "x^3": -cubic, "y": 2}, "y": {"x": 2, "y": -2}},
        {"x,x": {"1": 0.5}, "y,y": {"1": 0.5}},
    )


def rotating(pull: float, turn: float = 2.0) -> DiffusionProcess:
    drift = {"x": {"x": -pull, "y": turn}, "y": {"x": -turn, "y": -pull}}
    return model(drift, {"x,x": {"1": 1.0}, "y,y": {"1": 0.5}})


def test_intervals_in_the_plane_hold_the_extreme_models_numbers() -> None:
    strengths = np.linspace(0.85, 1.15, 21)
    result = intervals_over([coupled(k) for k in strengths], analysis(coupled(1.0)), 0.9999)
    weak, strong = analyse(coupled(0.85)), analyse(coupled(1.15))
    for report, end in ((weak, 0), (strong, 1)):
        assert report.spectrum is not None
        assert report.stationary is not None
        for k in range(3):
            interval = result.range("spectrum", "eigenvalues", "re", k)
            assert interval is not None
            # The sample's coarse cells are off by 1 %, of which most cancels against the
            # reference's.
            assert interval[end] == pytest.approx(report.spectrum.eigenvalues[k].real, rel=3e-3)
        for i, j in ((0, 0), (0, 1), (1, 1)):
            spreads = result.range("stationary", "covariance", i, j)
            assert spreads is not None
            assert spreads[1 - end] == pytest.approx(report.stationary.covariance[i][j], rel=3e-3)
    assert result.ergodic_share == 1
    assert result.ranges("spectrum", "eigenvalues", "im") == ()


def test_linear_samples_are_exact_and_have_intervals_of_the_frequency() -> None:
    turns = np.linspace(1.8, 2.2, 41)
    result = intervals_over(
        [rotating(1.0, turn) for turn in turns], analysis(rotating(1.0), eigenpairs=2), 0.9
    )
    low, high = np.quantile(turns, [0.05, 0.95], method="nearest")
    # Of A = −1 + turn ⊥ the eigenvalues are 1 ± turn i.
    assert result.range("spectrum", "eigenvalues", "im", 0) == pytest.approx((low, high))
    assert result.range("spectrum", "eigenvalues", "im", 1) == pytest.approx((-high, -low))
    assert result.range("spectrum", "eigenvalues", "re", 0) == pytest.approx((1, 1))


def test_on_cells_memory_current_and_entropy_have_intervals_too() -> None:
    """Closed forms for A = [[−1, t], [−t, −1]], a = 1.

    ∫C = 1/(1 + t²), circulation −t/2, entropy production 2t².
    """
    turns = np.linspace(1.8, 2.2, 21)

    def turning(turn: float) -> DiffusionProcess:
        drift = {"x": {"x": -1.0, "y": turn}, "y": {"x": -turn, "y": -1.0}}
        return model(drift, {"x,x": {"1": 1.0}, "y,y": {"1": 1.0}})

    result = intervals_over([turning(turn) for turn in turns], on_cells(turning(2.0)), 0.9999)
    for time in (result.range("correlations", "integrated_times", i) for i in (0, 1)):
        assert time == pytest.approx((1 / (1 + 2.2**2), 1 / (1 + 1.8**2)), rel=2e-3)
    assert result.range("stationary", "circulation") == pytest.approx((-1.1, -0.9), rel=2e-3)
    assert result.range("stationary", "entropy_production") == pytest.approx(
        (2 * 1.8**2, 2 * 2.2**2), rel=2e-3
    )
    assert result.ranges("stationary", "skewness") == (pytest.approx((0, 0), abs=1e-3),) * 2
    assert result.ranges("stationary", "kurtosis") == (pytest.approx((3, 3), rel=1e-3),) * 2


def test_linear_samples_have_them_in_closed_form() -> None:
    turns = np.linspace(1.8, 2.2, 21)
    result = intervals_over(
        [rotating(1.0, turn) for turn in turns], analysis(rotating(1.0)), 0.9999
    )
    for interval, of in (
        (result.range("stationary", "circulation"), "circulation"),
        (result.range("stationary", "entropy_production"), "entropy_production"),
    ):
        ends = [getattr(analyse(rotating(1.0, turn)).stationary, of) for turn in (1.8, 2.2)]
        assert interval == pytest.approx(sorted(ends))
    assert result.ranges("stationary", "skewness") == (None, None)


def test_samples_without_a_law_count_in_the_share() -> None:
    result = intervals_over(
        [rotating(pull) for pull in np.linspace(-0.1, 0.3, 40)], analysis(rotating(0.2)), 0.95
    )
    assert result.ergodic_share == pytest.approx(30 / 40)
    far = [coupled(1.0)] * 3 + [
        model({"x": {"x": 1, "x^3": 1}, "y": {"y": -1}}, {"x,x": {"1": 0.5}, "y,y": {"1": 0.5}})
    ]
    assert intervals_over(far, analysis(coupled(1.0)), 0.95).ergodic_share == 0.75


def test_three_coordinates_have_the_intervals_of_their_linear_process() -> None:
    def cubic(rate: float) -> DiffusionProcess:
        drift: Terms = {"x": {"x": -rate, "x^3": -1}, "y": {"y": -2}, "z": {"z": -3}}
        return model(drift, {f"{name},{name}": {"1": 0.01} for name in "xyz"})

    rates = np.linspace(0.9, 1.1, 41)
    result = intervals_over(
        [cubic(rate) for rate in rates], analysis(cubic(1.0), eigenpairs=1), 0.9
    )
    assert result.range("spectrum", "eigenvalues", "re", 0) == pytest.approx(
        tuple(np.quantile(rates, [0.05, 0.95], method="nearest"))
    )


def test_fixed_points_of_coupled_wells_are_where_the_coefficients_say() -> None:
    """y = x, x² = 1/k: wells at ±k^−½.

    The Jacobian there is [[−4, 2], [2, −2]] whatever k, and [[−1, 2], [2, −2]] on the top.
    """
    strengths = np.linspace(0.85, 1.15, 21)
    reference = analysis(coupled(1.0))
    result = intervals_over([coupled(k) for k in strengths], reference, 0.9999)
    points = [result.ranges("fixed_points", i, "at") for i in range(3)]
    rates = [result.ranges("fixed_points", i, "rates", "re") for i in range(3)]
    near, far = 1.15**-0.5, 0.85**-0.5
    for place, expected in zip(points, ((-far, -near), (0, 0), (near, far)), strict=True):
        for interval in place:
            assert interval == pytest.approx(expected, abs=1e-9)
    wells = sorted(np.linalg.eigvalsh([[-4, 2], [2, -2]]))[::-1]
    for rate, expected in zip(rates[0], wells, strict=True):
        assert rate == pytest.approx((expected, expected))
    # Negative control: the Jacobian on the top is another.
    assert rates[1][0] != pytest.approx(rates[0][0])
    document = analysis_of(reference.report, result)
    assert document.fixed_points[2].at_ci == points[2]
    assert document.fixed_points[2].jacobian_eigenvalues[0].ci == rates[2][0]


def test_a_focus_turns_as_fast_as_its_jacobian_says() -> None:
    """A = [[−1, t], [−t, −1]] has the eigenvalues −1 ± ti."""
    turns, reference = np.linspace(1.8, 2.2, 41), analysis(rotating(1.0))
    result = intervals_over([rotating(1.0, turn) for turn in turns], reference, 0.9)
    low, high = np.quantile(turns, [0.05, 0.95], method="nearest")
    first, second = result.ranges("fixed_points", 0, "rates", "im")
    assert first == pytest.approx((low, high), rel=1e-9)
    assert second == pytest.approx((-high, -low), rel=1e-9)
    assert (
        result.ranges("fixed_points", 0, "rates", "re") == (pytest.approx((-1, -1), rel=1e-9),) * 2
    )
    (point,) = analysis_of(reference.report, result).fixed_points
    assert [value.im_ci for value in point.jacobian_eigenvalues] == [first, second]
    # Negative control: a node does not turn.
    node = intervals_over(
        [rotating(1.0, turn) for turn in turns], analysis(rotating(1.0, 0.0)), 0.9
    )
    assert node.ranges("fixed_points", 0, "rates", "im") == ()


def test_eigenvalues_keep_their_partner_where_a_real_one_overtakes_a_pair() -> None:
    """The largest real part of diag(−r) and a pair −1 ± 2i is that of one or of the other."""

    def crossing(rate: float) -> DiffusionProcess:
        drift: Terms = {
            "x": {"x": -1, "y": 2},
            "y": {"x": -2, "y": -1},
            "z": {"z": -rate, "z^3": -1},
        }
        return model(drift, {f"{name},{name}": {"1": 0.01} for name in "xyz"})

    rates = np.linspace(0.8, 1.18, 39)
    result = intervals_over([crossing(rate) for rate in rates], analysis(crossing(0.95)), 0.9)
    low, high = np.quantile(rates, [0.05, 0.95], method="nearest")
    assert result.range("fixed_points", 0, "rates", "re", 0) == pytest.approx((-high, -low))
    assert result.ranges("fixed_points", 0, "rates", "im") == (
        None,
        pytest.approx((2, 2)),
        pytest.approx((-2, -2)),
    )


def test_a_fixed_point_that_most_samples_have_lost_has_no_interval() -> None:
    lost = intervals_over(
        [coupled(-k) for k in np.linspace(0.85, 1.15, 21)], analysis(coupled(1.0)), 0.9999
    )
    assert lost.ranges("fixed_points", 0, "at") == (None, None)
    # None of them has a law.
    assert lost.ergodic_share == 0
    assert lost.band("committors", 0, "found", "values") is None
