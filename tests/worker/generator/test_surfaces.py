"""Intervals from few models that are analysed are those of all models that are drawn."""

from collections.abc import Callable

import numpy as np
import pytest

from worker.generator.analysis import analysis
from worker.generator.process import DiffusionProcess, FloatArray, ScalarProcess
from worker.generator.uncertainty import confidence_intervals as uncertainty
from worker.generator.uncertainty.confidence_intervals import (
    CHECKED,
    FIRST,
    LOOKS,
    LOOP,
    confidence_intervals,
    intervals_over,
    representative,
)
from worker.generator.uncertainty.intervals import Layout
from worker.generator.uncertainty.response_surface import (
    Directions,
    design,
    design_size,
    features,
    quadratic,
    regression,
)
from worker.identification.model_sampling import DrawnModels


def cubic(c: FloatArray) -> ScalarProcess:
    """Drift c₀ + c₁ x + c₂ x³, diffusion c₃."""
    return ScalarProcess(
        lambda x: c[0] + c[1] * x + c[2] * x**3,
        lambda x: c[3] + 0 * x,
        lambda x: c[1] + 3 * c[2] * x**2,
    )


def drawn(
    centre: list[float],
    deviations: list[float],
    count: int = 4000,
    make: Callable[[FloatArray], DiffusionProcess] = cubic,
) -> DrawnModels[DiffusionProcess]:
    normal = np.random.default_rng(3).standard_normal((count, len(centre)))
    return DrawnModels(
        np.array(centre) + normal * deviations, np.array(centre), np.zeros(count, np.int64), make
    )


def counted(monkeypatch: pytest.MonkeyPatch) -> list[DiffusionProcess]:
    """The models that are analysed, but for the reference itself."""
    seen: list[DiffusionProcess] = []
    call = uncertainty._PerturbedNumbers.__call__

    def counting(
        self: uncertainty._PerturbedNumbers, process: DiffusionProcess
    ) -> tuple[FloatArray, bool]:
        seen.append(process)
        return call(self, process)

    monkeypatch.setattr(uncertainty._PerturbedNumbers, "__call__", counting)
    return seen


def test_a_quadratic_function_is_found_from_its_values_on_the_design() -> None:
    random = np.random.default_rng(0)
    for count in (1, 2, 5):
        curvature, slope = random.standard_normal((count, count)), random.standard_normal(count)

        def value(
            z: FloatArray, curvature: FloatArray = curvature, slope: FloatArray = slope
        ) -> FloatArray:
            return np.asarray(2 + z @ slope + np.einsum("ni,ij,nj->n", z, curvature, z))

        steps, elsewhere = design(count), random.standard_normal((50, count))
        assert len(steps) == design_size(count)
        found = features(elsewhere) @ quadratic(value(steps)[:, None], count)
        assert found[:, 0] == pytest.approx(value(elsewhere), abs=1e-9)
        # Negative control: a cubic function is not.
        wrong = features(elsewhere) @ quadratic(steps[:, :1] ** 3, count)
        assert np.max(np.abs(wrong[:, 0] - elsewhere[:, 0] ** 3)) > 0.5


def test_a_regression_on_few_models_has_the_percentiles_of_all() -> None:
    # One model in ten has some of five further terms; the quantity is a logarithm of their sum.
    random = np.random.default_rng(2)
    steps = random.standard_normal((1000, 7))
    steps[:900, 2:] = 0.0
    steps[900:, 2:] = np.where(random.random((100, 5)) < 0.3, 2 + steps[900:, 2:] / 2, 0.0)

    def value(z: FloatArray) -> FloatArray:
        rate = 1 + z @ [0.1, 0.05, 0.1, 0.1, -0.1, 0.05, 0.05] + 0.02 * z[:, 2] * z[:, 4]
        return np.column_stack([np.log(rate), rate**2 + 0.1 * z[:, 6]])

    analysed = np.concatenate([np.pad(design(2), ((0, 0), (0, 5))), steps[900::5]])
    found = regression(analysed, value(analysed), steps, scattered=False)
    exact = value(steps)
    spread = exact.std(axis=0)

    def missed(values: FloatArray) -> float:
        """Return the largest distance of percentiles, in standard deviations."""
        return float(
            np.max(
                np.abs(
                    np.diff(np.quantile([values, exact], [0.025, 0.975], axis=1), axis=1)[:, 0]
                    / spread
                )
            )
        )

    assert missed(found) < 0.1
    assert missed(regression(analysed, value(analysed), steps, scattered=True)) < 0.2
    for scattered in (False, True):
        own = regression(analysed, value(analysed), analysed, scattered=scattered)
        assert own == pytest.approx(value(analysed))
    # Negative control: those of the nearest models are further away.
    nearest = np.argmin(((steps[:, None] - analysed) ** 2).sum(axis=2), axis=1)
    assert missed(value(analysed)[nearest]) > 0.3
    # What the nearest model has not, no model has.
    lacking = value(analysed)
    lacking[3, 1] = np.inf
    found = regression(analysed, lacking, steps, scattered=True)
    assert np.array_equal(np.isinf(found[:, 1]), nearest == 3)


def test_few_models_in_many_directions_scatter_as_all_do() -> None:
    # A quantity of 300 directions, and 60 models of them: a regression knows a fifth of it.
    random = np.random.default_rng(5)
    along = random.standard_normal(300)
    analysed, steps = random.standard_normal((60, 300)), random.standard_normal((3000, 300))

    def value(z: FloatArray) -> FloatArray:
        return (z @ along / np.sqrt(300))[:, None]

    spread = {
        scattered: regression(analysed, value(analysed), steps, scattered=scattered).std()
        for scattered in (False, True)
    }
    # Sixty values have a standard deviation to 1/√120; the quantity's own is 1.
    assert spread[True] == pytest.approx(1.0, abs=2 / np.sqrt(120))
    # Negative control: what the regression itself says.
    assert spread[False] < 0.6


def test_directions_are_those_in_which_models_differ() -> None:
    random = np.random.default_rng(1)
    steps = random.standard_normal((2000, 2))
    factor = np.array([[1e6, 0.0], [0.0, 0.0], [0.0, 1e-6], [2e6, 3e-6]])
    models = np.array([1.0, 2.0, 3.0, 4.0]) + steps @ factor.T
    found = Directions.of(models, np.array([1.0, 2.0, 3.0, 4.0]))
    assert found.count == 2
    own = found.steps(models)
    assert own.T @ own / len(own) == pytest.approx(np.eye(2), abs=1e-6)
    assert found.at(own) == pytest.approx(models, rel=1e-9)


def test_a_linear_process_has_the_percentiles_of_its_closed_form(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    seen, draws = counted(monkeypatch), drawn([0.0, -1.0, 0.0, 0.5], [0.0, 0.1, 0.0, 0.02])
    found = confidence_intervals(analysis(cubic(draws.centre)), draws, 0.95)
    assert len(seen) == design_size(2) + len(CHECKED)
    rate, noise = -draws.coefficients[:, 1], draws.coefficients[:, 3]
    for path, values in (
        (("spectrum", "eigenvalues", "re", 0), rate),
        (("stationary", "covariance", 0, 0), noise / (2 * rate)),
        (("correlations", "integrated_times", 0), 1 / rate),
    ):
        low, high = np.quantile(values, [0.025, 0.975], method="nearest")
        # The tolerance is a hundredth of the width, the error of a quadratic function at two
        # standard deviations of 10 %.
        assert found.range(*path) == pytest.approx((low, high), abs=1e-2 * (high - low))
    assert found.ergodic_share == 1


def test_an_escape_time_and_its_curves_are_those_of_models_analysed_one_by_one() -> None:
    draws = drawn([0.0, 1.0, -1.0, 0.25], [0.01, 0.05, 0.05, 0.01], 300)
    reference = analysis(cubic(draws.centre))
    found = confidence_intervals(reference, draws, 0.95)
    direct = intervals_over([draws[k] for k in range(300)], reference, 0.95)
    time, exact = found.range("passages", 0, "mean_time"), direct.range("passages", 0, "mean_time")
    assert time == pytest.approx(exact, rel=2e-2)
    for path in (
        ("stationary", "density"),
        ("effective_potential", "values"),
        ("correlations", "autocorrelation", 0),
    ):
        here, there = found.band(*path), direct.band(*path)
        assert here is not None
        assert there is not None
        width = np.max(there[1] - there[0])
        assert np.max(np.abs(np.array(here) - np.array(there))) < 0.05 * width
    # Negative control: of other models they are others.
    other = confidence_intervals(
        reference, drawn([0.0, 1.0, -1.0, 0.25], [0.01, 0.05, 0.05, 0.02], 300), 0.95
    )
    assert other.range("passages", 0, "mean_time") != pytest.approx(exact, rel=0.1)


def test_they_are_the_same_each_time() -> None:
    draws = drawn([0.0, 1.0, -1.0, 0.25], [0.01, 0.05, 0.05, 0.01], 200)
    first, second = (
        confidence_intervals(analysis(cubic(draws.centre)), draws, 0.95) for _ in range(2)
    )
    assert first.ends.keys() == second.ends.keys()
    for path, ends in first.ends.items():
        np.testing.assert_array_equal(ends, second.ends[path])


def test_where_a_well_vanishes_more_models_are_analysed(monkeypatch: pytest.MonkeyPatch) -> None:
    draws = drawn([0.0, 0.3, -1.0, 0.25], [0.0, 0.25, 0.0, 0.0])
    reference = analysis(cubic(draws.centre))
    seen = counted(monkeypatch)
    found = confidence_intervals(reference, draws, 0.9)
    assert design_size(1) + len(CHECKED) < len(seen) <= design_size(1) + len(CHECKED) + LOOP
    place = found.range("fixed_points", 2, "at", 0)
    # One model in nine has but one fixed point, and none like it.
    slopes = draws.coefficients[:, 1]
    low, high = np.sqrt(np.quantile(slopes[slopes > 0], [0.05, 0.95], method="nearest"))
    # A root has its kink at the lower end.
    assert place == pytest.approx((low, high), abs=0.05 * (high - low))
    # What has no kink there needs no such models.
    variance = found.range("stationary", "covariance", 0, 0)
    exact = intervals_over([draws[k] for k in range(400)], reference, 0.9).range(
        "stationary", "covariance", 0, 0
    )
    assert variance == pytest.approx(exact, rel=0.05)


def test_too_many_directions_for_a_quadratic_are_analysed_one_by_one(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    def waves(c: FloatArray) -> ScalarProcess:
        k = np.arange(1, len(c) + 1)
        return ScalarProcess(
            lambda x: -x + np.sin(np.multiply.outer(x, k)) @ c,
            lambda x: 1 + 0 * x,
            lambda x: -1 + np.cos(np.multiply.outer(x, k)) @ (k * c),
        )

    draws = drawn([0.0] * 13, [0.01] * 13, 200, waves)
    assert design_size(13) + len(CHECKED) >= LOOP
    seen = counted(monkeypatch)
    assert (
        confidence_intervals(analysis(waves(draws.centre)), draws, 0.95).range(
            "spectrum", "eigenvalues", "re", 0
        )
        is not None
    )
    assert len(seen) == LOOP


def test_supports_of_few_models_count_as_much_as_they_should(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    draws = drawn([0.0, -1.0, 0.0, 0.5], [0.0, 0.01, 0.0, 0.01])
    # One model in ten relaxes twice as fast.
    draws.coefficients[::10, 1] *= 2
    draws.support[::10] = 1
    seen = counted(monkeypatch)
    found = confidence_intervals(analysis(cubic(draws.centre)), draws, 0.95)
    # They are doubled once, to no effect.
    assert len(seen) == design_size(2) + len(CHECKED) + 2 * FIRST // 10
    rate = found.range("spectrum", "eigenvalues", "re", 0)
    assert rate is not None
    assert rate[1] == pytest.approx(np.quantile(-draws.coefficients[:, 1], 0.975), rel=0.02)
    assert rate[0] == pytest.approx(np.quantile(-draws.coefficients[:, 1], 0.025), rel=0.005)


def test_ends_agree_with_those_of_all_models_where_a_tenth_have_other_terms(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    def make(c: FloatArray) -> ScalarProcess:
        return ScalarProcess(
            lambda x: c[0] + c[1] * x + c[2] * x**2 + c[3] * x**3,
            lambda x: c[4] + c[5] * x**2,
            lambda x: c[1] + 2 * c[2] * x + 3 * c[3] * x**2,
        )

    draws = drawn([0.0, -1.0, 0.0, 0.0, 0.5, 0.0], [0.0, 0.12, 0.0, 0.0, 0.02, 0.0], 600, make)
    random = np.random.default_rng(4)
    # Terms of two standard errors, each with a change of the slope that goes with it.
    for number, (term, size, slope) in enumerate(
        ((0, 0.1, 0.0), (2, 0.08, 0.0), (3, -0.12, 0.2), (5, 0.1, -0.1)), start=1
    ):
        own = slice(15 * number, 15 * number + 15)
        draws.coefficients[own, term] = size * (1 + random.standard_normal(15) / 2)
        draws.coefficients[own, 1] += slope
        draws.support[own] = number
    reference = analysis(
        make(draws.centre), density_points=60, eigenpairs=3, lags=15, frequencies=15
    )
    exact = intervals_over([draws[k] for k in range(600)], reference, 0.95)

    def agreeing() -> float:
        """Return the share of ends within 0.2 standard deviations of the quantity."""
        found, close = confidence_intervals(reference, draws, 0.95), []
        for path, (low, high) in exact.ends.items():
            # The interval of a normal quantity is 3.92 standard deviations wide.
            limit = 0.2 * (high - low) / 3.92 + 1e-9 * np.abs(high)
            known = np.isfinite(limit)
            for end, other in zip((low, high), found.ends[path], strict=True):
                close.append((np.abs(other - end) <= limit)[known])
        return float(np.concatenate(close, axis=None).mean())

    assert agreeing() >= 0.92
    # Negative control: with one of the models that have other terms, far fewer do.
    monkeypatch.setattr(uncertainty, "LOOP", 1)
    assert agreeing() < 0.85


def test_models_that_run_away_are_a_share_of_all(monkeypatch: pytest.MonkeyPatch) -> None:
    # The cubic term is positive in one model of six.
    draws = drawn([0.0, -1.0, -0.02, 0.5], [0.0, 0.05, 0.02, 0.0])
    seen = counted(monkeypatch)
    found = confidence_intervals(
        analysis(cubic(draws.centre), observed_range=(-1.5, 1.5)), draws, 0.95
    )
    looked = representative(draws, LOOKS)
    has_distribution = np.mean(draws.coefficients[looked, 2] < 0)
    assert found.ergodic_share == pytest.approx(has_distribution)
    assert 0.7 < has_distribution < 0.95
    # Then all are analysed as they are.
    assert len(seen) == LOOP


def test_the_share_without_a_distribution_is_that_of_the_estimates_own_terms() -> None:
    draws = drawn([0.0, -1.0, 0.0, 0.5], [0.0, 0.01, 0.0, 0.01])
    # One model in twenty has a cubic term that carries it away, which counts if it is the
    # estimate's own; they come last, or first.
    for rare in (slice(3800, None), slice(0, 200)):
        coefficients, support = draws.coefficients.copy(), draws.support.copy()
        coefficients[rare, 2] = 0.02
        for number, share in ((0, 0.95), (1, 1.0)):
            support[rare] = number
            found = confidence_intervals(
                analysis(cubic(draws.centre)),
                DrawnModels(coefficients, draws.centre, support, cubic),
                0.95,
            )
            assert found.ergodic_share == pytest.approx(share, abs=0.03)


def test_a_curve_that_no_model_has_is_no_reason_to_fail() -> None:
    """The T-bill record, without drift, has a potential that no drawn model could be moved by."""
    layout = Layout(analysis(cubic(np.array([0.0, -1.0, 0.0, 0.5]))).report)
    everything = layout.sampled(20)
    layout.known[:] = False
    assert len(everything)
    assert not len(layout.sampled(20))
