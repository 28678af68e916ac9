"""The survey of random systems (`python -m benchmarks.survey`) knows the truth it judges by."""

from dataclasses import replace

import numpy as np
import pytest

from benchmarks.survey.answers import surveyed, true_terms
from benchmarks.survey.systems import Design, System, drawn, record_of, seeds_of, truth_of

CUBIC = System("cubic", {"x": {"x": 1.0, "x^2": 0.3, "x^3": -1.0}}, {"x,x": {"1": 0.5}})
PLAIN = Design(0.05, 500.0, 2, "clean", 0.0, (1.0,), 0.0, 1.0)


def test_halves_share_no_seed() -> None:
    opened, held = set(seeds_of("open")), set(seeds_of("held"))
    assert not opened & held


def test_the_terms_in_a_records_units_are_the_same_function() -> None:
    truth = truth_of(CUBIC)
    design = replace(PLAIN, units=(40.0,), origin=-3.0, clock=7.0)
    record = record_of(CUBIC, design, truth, 4)
    terms = true_terms(CUBIC, design, truth, record.states, "x")
    assert list(terms) == ["1", "x", "x^2", "x^3"]
    seen = 40.0 * (record.states[:5, 0] - 3.0 * truth.deviation[0])
    b = sum(value * seen**k for k, (value, _) in enumerate(terms.values()))
    exact = truth.process.drift(record.states[:5])[:, 0] * 40.0 * truth.time / 7.0
    np.testing.assert_allclose(b, exact, rtol=1e-9, atol=1e-9 * np.abs(exact).max())
    # The bound of the highest power does not depend on the origin, given all lower ones.
    whole = replace(CUBIC, drift={"x": {"1": 0.0, **CUBIC.drift["x"]}})
    plain = true_terms(whole, PLAIN, truth, record.states, "x")
    assert terms["x^3"][1] == pytest.approx(plain["x^3"][1], rel=1e-6)


@pytest.mark.slow
@pytest.mark.parametrize("seed", [14, 5])
def test_paths_have_the_law_of_the_true_process(seed: int) -> None:
    # A square-root process, drawn exactly, and a tilted well.
    system, _ = drawn(seed)
    truth = truth_of(system)
    design = replace(PLAIN, duration=20_000.0, dt=0.25, n_paths=50)
    states = record_of(system, design, truth, seed).data.states.reshape(50, -1)
    below = np.mean(states[:, :, None] <= truth.quantiles, axis=1)
    z = (below.mean(0) - (0.05, 0.25, 0.5, 0.75, 0.95)) / (below.std(0) / 7)
    assert np.abs(z).max() < 4


def test_a_record_depends_on_its_seed_alone() -> None:
    system, design = drawn(28)
    truth = truth_of(system)
    first, again = (record_of(system, design, truth, 28).data.states for _ in range(2))
    np.testing.assert_array_equal(first, again)
    assert not np.array_equal(first[:50], record_of(system, design, truth, 29).data.states[:50])


@pytest.mark.slow
@pytest.mark.parametrize("seed", [110, 229])
def test_models_drawn_beyond_all_numbers_end_no_job(seed: int) -> None:
    # A slope of 10^39004 along a passage, and noise that vanishes within rounding of a bound:
    # both ended the job with an internal error.
    assert "refused" not in surveyed(seed)
