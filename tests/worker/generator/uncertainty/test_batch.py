"""Analysing many models on the reference's panels changes no number; what does not fit there is left alone."""

from collections.abc import Callable
from dataclasses import replace

import numpy as np
import pytest

from worker.generator.analysis import analyse
from worker.generator.process import ScalarProcess
from worker.generator.quantities.report import GeneratorReport
from worker.generator.uncertainty.batch import analysed_together
from worker.generator.uncertainty.confidence_intervals import spread
from worker.generator.uncertainty.single_model import analysed_alone


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


def pairs_of(reference: GeneratorReport) -> tuple[tuple[float, float], ...]:
    return tuple((passage.start, passage.to) for passage in reference.passages)


@pytest.mark.parametrize(
    ("family", "centre", "width"),
    [
        (double_well, (1.0, 0.02, 0.25), (0.05, 0.02, 0.01)),
        (multiplicative, (2.0, 0.25), (0.1, 0.01)),
        (between_walls, (0.5, 0.3), (0.1, 0.03)),
        (far_from_the_origin, (2.0, 1.0), (0.2, 0.1)),
    ],
)
def test_exits_and_correlation_times_together_are_those_of_the_own_analysis(
    family: Callable[..., ScalarProcess], centre: tuple[float, ...], width: tuple[float, ...]
) -> None:
    random = np.random.default_rng(6)
    law = analyse(family(*centre)).stationary
    assert law is not None
    middle, deviation = float(law.mean[0] or 0.0), float(law.covariance[0][0] or 0.0) ** 0.5
    reference = analyse(
        family(*centre), exits=[(middle, middle - 0.5 * deviation, middle + 0.7 * deviation)]
    )
    models = [
        family(*(np.array(centre) + np.array(width) * random.uniform(-1, 1, len(centre))))
        for _ in range(4)
    ]
    pairs = pairs_of(reference)
    for model, sample in zip(
        models, analysed_together(models, reference, pairs, None), strict=True
    ):
        assert sample is not None
        alone = analysed_alone(model, reference, pairs, None)
        (exit_together,), (exit_alone,) = sample.exits, alone.exits
        assert exit_together == pytest.approx(exit_alone, rel=1e-6)
        assert exit_together != pytest.approx(
            (reference.exits[0].probability_high, reference.exits[0].mean_time.log_value), rel=1e-6
        )
        assert sample.log_integrated_time == pytest.approx(alone.log_integrated_time, abs=1e-6)


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
def test_models_analysed_together_have_the_numbers_of_their_own_analysis(
    family: Callable[..., ScalarProcess], centre: tuple[float, ...], width: tuple[float, ...]
) -> None:
    random = np.random.default_rng(5)
    reference = analyse(family(*centre), passages=[(-0.5, 0.5)] if family is between_walls else ())
    models = [
        family(*(np.array(centre) + np.array(width) * random.uniform(-1, 1, len(centre))))
        for _ in range(8)
    ]
    together = analysed_together(models, reference, pairs_of(reference), None)
    for model, sample in zip(models, together, strict=True):
        assert sample is not None
        alone = analysed_alone(model, reference, pairs_of(reference), None)
        assert sample.rates == pytest.approx(alone.rates, rel=2e-4)
        assert sample.mean == pytest.approx(alone.mean, rel=1e-9, abs=1e-9)
        assert sample.variance == pytest.approx(alone.variance, rel=1e-6)
        assert sample.log_times == pytest.approx(alone.log_times, abs=1e-6)
        assert sample.log_kramers == pytest.approx(alone.log_kramers, abs=1e-6)


@pytest.mark.parametrize(
    "stranger",
    [
        double_well(-1.0),
        double_well(a=1e-4),
        ScalarProcess(lambda x: x + x**3, lambda x: 0.25 + 0 * x, lambda x: 1 + 3 * x**2),
        ScalarProcess(lambda x: x - x**3, lambda x: 0.25 - 0.1 * x, lambda x: 1 - 3 * x**2),
        ScalarProcess(
            lambda x: x - x**3 + 0.4 * np.sin(300 * x),
            lambda x: 0.25 + 0 * x,
            lambda x: 1 - 3 * x**2,
        ),
        ScalarProcess(
            lambda x: x - x**3, lambda x: 0.25 + 0 * x, lambda x: 1 - 3 * x**2, (-1.5, np.inf)
        ),
    ],
    ids=["one well", "far colder", "unstable", "noise not positive", "rough", "another domain"],
)
def test_a_model_unlike_the_reference_is_left_to_be_analysed_alone(stranger: ScalarProcess) -> None:
    reference = analyse(double_well())
    similar, strange = analysed_together(
        [double_well(1.01), stranger], reference, pairs_of(reference), None
    )
    assert similar is not None
    assert strange is None


@pytest.mark.slow
def test_models_without_any_fixed_point_are_sampled_too() -> None:
    # No drift, and noise that grows outwards: ergodic, with nowhere to rest.
    process = ScalarProcess(np.zeros_like, lambda x: 1 + x**4, np.zeros_like)
    reference = analyse(process)
    assert reference.ergodic
    assert not reference.fixed_points
    assert spread([process] * 20, reference, 0.95).ergodic_share == 1


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
    reference = analyse(double_well(), observed_range=OBSERVED)
    (sample,) = analysed_together([with_tail(x4, a4)], reference, pairs_of(reference), OBSERVED)
    assert sample is not None
    assert sample.settled
    # The noise's zero is no way out: the drift points back there.
    assert sample.ergodic == (x4 == 0)
    held = replace(with_tail(x4, a4), bounds=(-2.2, 2.2))
    alone = analyse(held, passages=pairs_of(reference), observed_range=OBSERVED)
    assert alone.spectrum is not None
    assert sample.rates[0] == pytest.approx(alone.spectrum.eigenvalues[0].real, rel=3e-3)
    assert sample.log_times == pytest.approx(
        [p.mean_time.log_value for p in alone.passages[:2]], abs=3e-3
    )


def test_a_model_that_turns_outward_where_the_data_were_is_not_held() -> None:
    reference = analyse(double_well(), observed_range=OBSERVED)
    stranger = ScalarProcess(
        lambda x: x - x**3 + 0.7 * x**4, lambda x: 0.25 + 0 * x, lambda x: 1 - 3 * x**2 + 2.8 * x**3
    )
    assert analysed_together([stranger], reference, pairs_of(reference), OBSERVED) == [None]
    # Without a range that was observed, nothing is unseen, and nothing is held.
    assert analysed_together([with_tail(0.02)], reference, pairs_of(reference), None) == [None]


@pytest.mark.parametrize(
    ("x3", "a4", "a2"),
    [(-0.2, 0.0, 0.0), (0.0, -0.003, 0.0), (0.0, 0.0, -0.11)],
    ids=["steeper by thousands", "weak noise outside", "noise that vanishes outside"],
)
def test_a_rival_far_steeper_or_with_noise_that_fades_beyond_the_data_has_its_own_rates(
    x3: float, a4: float, a2: float
) -> None:
    # Where such a model was held, a gentle slope with weak noise relaxed slower than the model: 0.3 in place of 1.
    def rival(x3: float = 0.0, a4: float = 0.0, a2: float = 0.0) -> ScalarProcess:
        return ScalarProcess(
            lambda x: -0.9 * x + x3 * x**3,
            lambda x: 2 + a2 * x**2 + a4 * x**4,
            lambda x: -0.9 + 3 * x3 * x**2,
        )

    observed = (-3.05, 3.2)
    reference = analyse(rival(), observed_range=observed)
    (sample,) = analysed_together([rival(x3, a4, a2)], reference, (), observed)
    assert sample is not None
    alone = analysed_alone(rival(x3, a4, a2), reference, (), observed)
    assert sample.rates == pytest.approx(alone.rates, rel=5e-3)
    assert sample.variance == pytest.approx(alone.variance, rel=2e-3)


@pytest.mark.parametrize("x4", [0.02, -0.02])
def test_alone_too_a_model_that_turns_outward_beyond_the_data_is_held(x4: float) -> None:
    reference = analyse(double_well(), observed_range=OBSERVED)
    pairs = pairs_of(reference)
    (together,) = analysed_together([with_tail(x4)], reference, pairs, OBSERVED)
    alone = analysed_alone(with_tail(x4), reference, pairs, OBSERVED)
    assert together is not None
    assert (alone.ergodic, alone.settled) == (False, True)
    assert alone.log_times == pytest.approx(together.log_times, abs=3e-3)
    assert alone.rates[0] == pytest.approx(together.rates[0], rel=3e-3)
    # Negative control: where nothing was observed, it runs away, and may never come back.
    away = analysed_alone(with_tail(x4), reference, pairs, None)
    assert not away.settled
    assert np.inf in away.log_times


def curved(x3: float, growth: float = 0.25) -> ScalarProcess:
    return ScalarProcess(
        lambda x: -2 * x + x3 * x**3, lambda x: 0.25 + growth * x**2, lambda x: -2 + 3 * x3 * x**2
    )


@pytest.mark.parametrize(
    ("x3", "growth"), [(0.4, 0.25), (0.0, 0.0), (-0.5, 0.0)], ids=["turns outward", "even", "steep"]
)
def test_beside_a_reference_with_heavy_tails_light_ones_find_room(x3: float, growth: float) -> None:
    # The reference's panels reach to x = 1 000; a density that falls like a Gaussian's is e^−1000000 there.
    observed = (-1.6, 1.6)
    reference = analyse(curved(0.0), observed_range=observed, passages=[(-0.5, 0.5)])
    assert reference.stationary is not None
    assert reference.stationary.landscape.edges[-1] > 100
    pairs = pairs_of(reference)
    (sample,) = analysed_together([curved(x3, growth)], reference, pairs, observed)
    assert sample is not None
    alone = analysed_alone(curved(x3, growth), reference, pairs, observed)
    assert sample.ergodic == alone.ergodic == (x3 <= 0)
    assert sample.rates[0] == pytest.approx(alone.rates[0], rel=2e-3)
    assert sample.variance == pytest.approx(alone.variance, rel=2e-3)
    assert sample.log_times == pytest.approx(alone.log_times, abs=2e-3)
    # Negative control: the reference's own are others.
    assert sample.log_times != pytest.approx([reference.passages[0].mean_time.log_value], abs=2e-3)
