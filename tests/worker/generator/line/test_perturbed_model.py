"""A model near one that was analysed has the numbers of its own analysis, on any panels."""

from collections.abc import Callable
from dataclasses import replace

import numpy as np
import pytest

from worker.generator.analysis import Analysis, GeneratorReport, analyse, analysis
from worker.generator.process import ScalarProcess
from worker.generator.uncertainty.confidence_intervals import intervals_over


def double_well(slope: float = 1.0, tilt: float = 0.0, a: float = 0.25) -> ScalarProcess:
    return ScalarProcess(
        lambda x: tilt + slope * x - x**3, lambda x: a + 0 * x, lambda x: slope - 3 * x**2
    )


def multiplicative(theta: float, growth: float) -> ScalarProcess:
    return ScalarProcess(
        lambda x: -theta * x, lambda x: 0.25 + growth * x**2, lambda x: -theta + 0 * x
    )


def between_walls(push: float, a: float) -> ScalarProcess:
    return ScalarProcess(lambda x: push - x, lambda x: a + 0 * x, lambda x: -1 + 0 * x, (-1.0, 2.0))


def far_from_the_origin(theta: float, a: float) -> ScalarProcess:
    return ScalarProcess(
        lambda x: -theta * (x - 1e6), lambda x: a + 0 * x, lambda x: -theta + 0 * x
    )


def near(reference: Analysis, model: ScalarProcess) -> GeneratorReport:
    assert reference.perturbed is not None
    return reference.perturbed(model)


def rates_of(report: GeneratorReport) -> np.ndarray:
    return np.zeros(0) if report.spectrum is None else report.spectrum.eigenvalues.real


def moments_of(report: GeneratorReport) -> tuple[float | None, float | None]:
    assert report.stationary is not None
    return report.stationary.mean[0], report.stationary.covariance[0][0]


def log_times_of(report: GeneratorReport) -> list[float | None]:
    return [passage.mean_time.log_value for passage in report.passages]


def pairs_of(report: GeneratorReport) -> list[tuple[float, float]]:
    return [(passage.start, passage.to) for passage in report.passages]


@pytest.mark.parametrize(
    ("family", "centre", "width"),
    [
        (double_well, (1.0, 0.02, 0.25), (0.05, 0.02, 0.01)),
        (double_well, (1.0, 0.0, 0.5 / 40), (0.02, 0.005, 0.0003)),
        (multiplicative, (2.0, 0.25), (0.1, 0.01)),
        (between_walls, (0.5, 0.3), (0.1, 0.03)),
        (far_from_the_origin, (2.0, 1.0), (0.2, 0.1)),
    ],
    ids=["two wells", "wells of 40 kT", "heavy tails", "walls", "far from the origin"],
)
def test_models_near_another_have_the_numbers_of_their_own_analysis(
    family: Callable[..., ScalarProcess], centre: tuple[float, ...], width: tuple[float, ...]
) -> None:
    random = np.random.default_rng(5)
    middle, variance = moments_of(analyse(family(*centre)))
    x, deviation = float(middle or 0.0), float(variance or 0.0) ** 0.5
    exits = [(x, x - 0.5 * deviation, x + 0.7 * deviation)]
    reference = analysis(
        family(*centre), passages=[(-0.5, 0.5)] if family is between_walls else (), exits=exits
    )
    itself = near(reference, family(*centre))
    for _ in range(4):
        model = family(*(np.array(centre) + np.array(width) * random.uniform(-1, 1, len(centre))))
        sample, own = (
            near(reference, model),
            analyse(model, passages=pairs_of(reference.report), exits=exits),
        )
        # What the cells miss of the reference they miss of the model.
        rates = rates_of(sample) * rates_of(reference.report) / rates_of(itself)
        assert rates == pytest.approx(rates_of(own), rel=2e-4)
        assert moments_of(sample)[0] == pytest.approx(moments_of(own)[0], rel=1e-9, abs=1e-9)
        assert moments_of(sample)[1] == pytest.approx(moments_of(own)[1], rel=1e-6)
        count = len(reference.report.passages)
        assert log_times_of(sample) == pytest.approx(log_times_of(own)[:count], abs=1e-6)
        kramers = [
            [passage.kramers.log_value for passage in report.passages] for report in (sample, own)
        ]
        assert kramers[0] == pytest.approx(kramers[1][:count], abs=1e-6)
        (here,), (there,), (other,) = sample.exits, own.exits, reference.report.exits
        assert here.probability_high == pytest.approx(there.probability_high, rel=1e-6)
        assert here.mean_time.log_value == pytest.approx(there.mean_time.log_value, abs=1e-6)
        assert here.mean_time.log_value != pytest.approx(other.mean_time.log_value, abs=1e-6)
        memories = [report.correlations.integrated_times[0].log_value for report in (sample, own)]  # type: ignore[union-attr]
        assert memories[0] == pytest.approx(memories[1], abs=1e-6)


@pytest.mark.parametrize(
    "stranger",
    [
        double_well(-1.0),
        double_well(a=1e-2),
        ScalarProcess(
            lambda x: x - x**3 + 0.4 * np.sin(300 * x),
            lambda x: 0.25 + 0 * x,
            lambda x: 1 - 3 * x**2,
        ),
        ScalarProcess(
            lambda x: x - x**3, lambda x: 0.25 + 0 * x, lambda x: 1 - 3 * x**2, (-1.5, np.inf)
        ),
    ],
    ids=["one well", "far colder", "rough", "another domain"],
)
def test_a_model_unlike_the_reference_has_the_numbers_of_its_own_analysis(
    stranger: ScalarProcess,
) -> None:
    reference = analysis(double_well())
    sample, own = near(reference, stranger), analyse(stranger, passages=pairs_of(reference.report))
    assert sample.ergodic
    assert rates_of(sample) == pytest.approx(rates_of(own), rel=1e-3, abs=0)
    assert moments_of(sample)[1] == pytest.approx(moments_of(own)[1], rel=1e-6)


@pytest.mark.parametrize(
    "stranger",
    [
        ScalarProcess(lambda x: x + x**3, lambda x: 0.25 + 0 * x, lambda x: 1 + 3 * x**2),
        ScalarProcess(lambda x: x - x**3, lambda x: 0.25 - 0.1 * x, lambda x: 1 - 3 * x**2),
    ],
    ids=["unstable", "noise not positive"],
)
def test_a_model_without_a_law_has_none(stranger: ScalarProcess) -> None:
    sample = near(analysis(double_well()), stranger)
    assert not sample.ergodic
    assert sample.stationary is None
    assert not len(rates_of(sample))


def test_models_without_any_fixed_point_are_sampled_too() -> None:
    # No drift, and noise that grows outwards: ergodic, with nowhere to rest.
    process = ScalarProcess(np.zeros_like, lambda x: 1 + x**4, np.zeros_like)
    reference = analysis(process)
    assert reference.report.ergodic
    assert not reference.report.fixed_points
    assert intervals_over([process] * 20, reference, 0.95).ergodic_share == 1


def with_tail(x4: float, a4: float = 0.0) -> ScalarProcess:
    return ScalarProcess(
        lambda x: x - x**3 + x4 * x**4,
        lambda x: 0.25 + a4 * x**4,
        lambda x: 1 - 3 * x**2 + 4 * x4 * x**3,
    )


OBSERVED = (-1.8, 1.8)


@pytest.mark.parametrize(
    ("x4", "a4"),
    [(0.02, 0.0), (-0.02, 0.0), (0.3, 0.0), (0.0, -0.006)],
    ids=["above", "below", "nearer", "no noise"],
)
def test_a_model_that_turns_outward_beyond_the_data_is_held_there(x4: float, a4: float) -> None:
    reference = analysis(double_well(), observed_range=OBSERVED)
    sample = near(reference, with_tail(x4, a4))
    # The noise's zero is no way out: the drift points back there.
    assert sample.ergodic == (x4 == 0)
    held = replace(with_tail(x4, a4), bounds=(-2.2, 2.2))
    alone = analyse(held, passages=pairs_of(reference.report), observed_range=OBSERVED)
    assert rates_of(sample)[0] == pytest.approx(rates_of(alone)[0], rel=3e-3)
    assert log_times_of(sample) == pytest.approx(log_times_of(alone)[:2], abs=3e-3)


def test_a_model_that_turns_outward_where_the_data_were_is_not_held() -> None:
    reference = analysis(double_well(), observed_range=OBSERVED)
    stranger = ScalarProcess(
        lambda x: x - x**3 + 0.7 * x**4, lambda x: 0.25 + 0 * x, lambda x: 1 - 3 * x**2 + 2.8 * x**3
    )
    assert near(reference, stranger).stationary is None
    # Without a range that was observed, nothing is unseen, and nothing is held: it runs away, and
    # may never come back.
    away = near(analysis(double_well()), with_tail(0.02))
    assert away.stationary is None
    assert None in log_times_of(away)


@pytest.mark.parametrize(
    ("x3", "a4", "a2"),
    [(-0.2, 0.0, 0.0), (0.0, -0.003, 0.0), (0.0, 0.0, -0.11)],
    ids=["steeper by thousands", "weak noise outside", "noise that vanishes outside"],
)
def test_a_rival_far_steeper_or_with_noise_that_fades_beyond_the_data_has_its_own_rates(
    x3: float, a4: float, a2: float
) -> None:
    # Where such a model was held, a gentle slope with weak noise relaxed slower than the model: 0.3
    # in place of 1.
    def rival(x3: float = 0.0, a4: float = 0.0, a2: float = 0.0) -> ScalarProcess:
        return ScalarProcess(
            lambda x: -0.9 * x + x3 * x**3,
            lambda x: 2 + a2 * x**2 + a4 * x**4,
            lambda x: -0.9 + 3 * x3 * x**2,
        )

    observed = (-3.05, 3.2)
    sample = near(analysis(rival(), observed_range=observed), rival(x3, a4, a2))
    zero = np.roots([a4, 0, a2, 0, 2.0])
    bounds = (-float(zero.real.max()), float(zero.real.max())) if a2 or a4 else (-np.inf, np.inf)
    alone = analyse(replace(rival(x3, a4, a2), bounds=bounds), observed_range=observed)
    assert rates_of(sample) == pytest.approx(rates_of(alone), rel=5e-3)
    assert moments_of(sample)[1] == pytest.approx(moments_of(alone)[1], rel=2e-3)


def curved(x3: float, growth: float = 0.25) -> ScalarProcess:
    return ScalarProcess(
        lambda x: -2 * x + x3 * x**3, lambda x: 0.25 + growth * x**2, lambda x: -2 + 3 * x3 * x**2
    )


@pytest.mark.parametrize(
    ("x3", "growth"),
    [(0.4, 0.25), (0.0, 0.0), (-0.5, 0.0)],
    ids=["turns outward", "even", "steep"],
)
def test_beside_a_reference_with_heavy_tails_light_ones_find_room(x3: float, growth: float) -> None:
    # The reference's panels reach to x = 1 000; a density that falls like a Gaussian's is
    # e^−1000000 there.
    observed = (-1.6, 1.6)
    reference = analysis(curved(0.0), observed_range=observed, passages=[(-0.5, 0.5)])
    sample = near(reference, curved(x3, growth))
    alone = analyse(curved(x3, growth), observed_range=observed, passages=[(-0.5, 0.5)])
    assert sample.ergodic == alone.ergodic == (x3 <= 0)
    assert rates_of(sample)[0] == pytest.approx(rates_of(alone)[0], rel=2e-3)
    assert moments_of(sample)[1] == pytest.approx(moments_of(alone)[1], rel=2e-3)
    assert log_times_of(sample) == pytest.approx(log_times_of(alone), abs=2e-3)
    # Negative control: the reference's own are others.
    assert log_times_of(sample) != pytest.approx(log_times_of(reference.report), abs=2e-3)


@pytest.mark.parametrize("at", [0.5, 0.0, -0.5])
def test_models_are_judged_at_the_open_end_wherever_the_other_end_is(at: float) -> None:
    """The side of an end is not the sign of its place."""

    def pulled(theta: float) -> ScalarProcess:
        return ScalarProcess(
            lambda x: -theta * (x - 2), lambda x: 1 + 0 * x, lambda x: -theta + 0 * x, (at, np.inf)
        )

    reference = analysis(pulled(1.0), observed_range=(at + 0.1, 4.0))
    assert reference.perturbed is not None
    assert reference.perturbed.has_distribution([pulled(0.9), pulled(-1.0)]).tolist() == [
        True,
        False,
    ]


@pytest.mark.parametrize("a", [0.5, 0.25])
def test_the_time_between_a_model_s_own_wells_is_that_of_its_own_analysis(a: float) -> None:
    reference = analysis(double_well(1.0, 0.02, a))
    moved = double_well(0.9, -0.01, a)
    there = near(reference, moved).passages[0]
    own = analysis(moved).report.passages[0]
    assert there.between_wells is not None
    assert own.mean_time.log_value is not None
    # Between the edges of the cells times are interpolated.
    assert there.between_wells.log_value == pytest.approx(own.mean_time.log_value, abs=1e-3)
    # From and to the reference's wells it takes another time.
    assert abs((there.mean_time.log_value or 0.0) - own.mean_time.log_value) > 0.01
    exact = reference.report.passages[0]
    assert exact.between_wells == exact.mean_time
