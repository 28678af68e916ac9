"""Clocks that depend on the state: copying agents recorded at events, and clocks of their own.

Fifty agents have one of two opinions, change it at the rate 0.01, and copy another's at the rate 1.
Their mean m is a diffusion to order 1/N, with drift −0.02 m, exact for every N (Jhawar et al.,
Nature Physics 16, 2020).
"""

from random import Random

import numpy as np
import pytest

from worker.identification.checks.state_dependent_steps import steps_depend_on_state
from worker.identification.data.trajectories import Trajectories
from worker.identification.data.windows import measure_space
from worker.identification.findings.measurement import state_dependent_steps
from worker.identification.sums.rules import SIMPSON, TRAPEZOID

AGENTS, OWN, COPIED = 50, 0.01, 1.0


def _at_events(n: int, seed: int) -> Trajectories:
    """Record the state after the first event that is at least one unit after the last record."""
    random = Random(seed)
    up, now, last = AGENTS // 2, 0.0, -1.0
    states, times = [], []
    while len(states) < n:
        copied = COPIED * up * (AGENTS - up) / (AGENTS - 1)
        rate_up, rate = OWN * (AGENTS - up) + copied, OWN * AGENTS + 2 * copied
        now += random.expovariate(rate)
        up += 1 if random.random() * rate < rate_up else -1
        if now >= last + 1:
            states.append(2 * up / AGENTS - 1)
            times.append(now)
            last = now
    return _record(np.array(states), np.array(times))


def _record(states, times) -> Trajectories:
    return Trajectories(states.reshape(len(times), -1), times, np.array([[0, len(times), 0]]))


def _depend(data: Trajectories, *periods: float | None) -> bool:
    return steps_depend_on_state(data, measure_space(data, periods or (None,)))


def _clocks(random: np.random.Generator, n: int):
    """Yield steps of clocks that know nothing of the state; the process relaxes in one unit."""
    yield random.gamma(2, 0.05, n)
    yield random.exponential(0.02, n)
    yield 0.05 * np.where(random.random(n) < 0.05, random.integers(2, 10, n), 1)
    yield 0.05 * np.where(random.random(n) < 0.005, 50, 1)
    yield 0.1 * np.repeat(random.choice([0.5, 1, 2], n // 250), 250)
    yield 0.1 * np.exp(np.linspace(-0.5, 0.5, n) + 0.3 * random.normal(size=n))
    yield 0.1 * np.where(np.arange(n) < n // 2, 1, 2)
    yield 0.02 * (random.pareto(1.2, n) + 0.1)


def _ou(steps, random: np.random.Generator):
    x = np.empty(len(steps) + 1)
    x[0] = random.normal()
    kept, noise = np.exp(-steps), random.normal(size=len(steps))
    for i, (r, z) in enumerate(zip(kept.tolist(), noise.tolist(), strict=True)):
        x[i + 1] = r * x[i] + np.sqrt(1 - r * r) * z
    return x


def test_a_few_thousand_samples_at_events_show_that_their_clock_depends_on_the_state() -> None:
    found = sum(_depend(_at_events(3_000, seed)) for seed in range(40))
    # Power of 99 % at 2 000 samples: 38 of 40 or more, but for one run of this test in 10⁴.
    assert found >= 38


def test_clocks_of_their_own_are_not_found_to_depend_on_the_state() -> None:
    false = n = 0
    for seed in range(30):
        random = np.random.default_rng(seed)
        for steps in _clocks(random, 1_500):
            times = np.concatenate([[0], np.cumsum(steps)])
            false += _depend(_record(_ou(steps, random), times))
            n += 1
    # At a level of 0.001 there is one false alarm in four runs of 240 records, and four in 6 000.
    assert n == 240
    assert false <= 3


def test_the_same_states_and_steps_in_another_order_are_independent() -> None:
    data = _at_events(5_000, 1)
    steps = np.random.default_rng(1).permutation(np.diff(data.times))
    shuffled = _record(data.states, np.concatenate([[0], np.cumsum(steps)]))
    assert _depend(data)
    assert not _depend(shuffled)


def test_a_schedule_that_all_trajectories_share_is_no_dependence_on_their_states() -> None:
    random = np.random.default_rng(2)
    steps = 0.01 * 1.1 ** np.arange(50)
    x = 3 * np.exp(-np.cumsum(np.append(0, steps))) + 0.1 * random.normal(size=(60, 51))
    times = np.tile(np.cumsum(np.append(0, steps)), 60)
    ends = 51 * np.arange(61)
    data = Trajectories(
        x.reshape(-1, 1), times, np.stack([ends[:-1], ends[1:], np.arange(60)], axis=1)
    )
    assert not _depend(data)
    # With the pieces' own order lost, steps are seen to follow the state.
    assert _depend(_record(data.states, np.cumsum(np.tile(np.append(steps, 1), 60))))


def test_an_even_clock_is_not_tested(paths) -> None:
    x = paths("ornstein-uhlenbeck", 1, 0.01, 5_000)[0]
    jitter = np.random.default_rng(1).uniform(-1e-6, 1e-6, len(x))
    assert not _depend(_record(x, np.arange(len(x)) * 0.01 + jitter))


def test_an_instrument_that_adapts_to_an_angle_or_to_one_of_two_variables_is_found() -> None:
    random = np.random.default_rng(4)
    phase = np.cumsum(0.3 * random.normal(size=5_000))
    steps = 1 + 0.3 * (np.cos(phase[:-1]) > 0)
    times = np.concatenate([[0], np.cumsum(steps)])
    turns = phase % (2 * np.pi)
    assert _depend(_record(turns, times), 2 * np.pi)
    two = np.stack([_ou(np.full(4_999, 0.1), random), _ou(np.full(4_999, 0.1), random)], axis=1)
    assert _depend(
        _record(two, np.concatenate([[0], np.cumsum(1 + (two[:-1, 1] > 0))])), None, None
    )
    assert not _depend(_record(two, times), None, None)


@pytest.mark.parametrize("noise", ["auto", "corrected"])
def test_the_drift_of_samples_at_events_is_that_of_the_agents(noise: str, fit) -> None:
    identified, library, scales = fit(_at_events(30_000, 2), noise=noise)
    drift = identified.drift[0].estimate
    assert identified.rule.name == TRAPEZOID.name
    assert [library.names[k] for k in drift.support] == ["x"]
    rate, error = (float(v[0]) / scales.time for v in (drift.raw, drift.std_error))
    # Windows of equal steps gave −0.15 (through noise that is rounding in appearance only).
    assert abs(rate + 0.02) < 4 * error
    (finding,) = state_dependent_steps(identified)
    assert "were not used" in finding.message


def test_simpsons_rule_is_used_if_asked_for_and_said_to_be_biased(fit) -> None:
    identified, _, _ = fit(_at_events(5_000, 1), rule="simpson")
    assert identified.rule.name == SIMPSON.name
    (finding,) = state_dependent_steps(identified)
    assert "biased" in finding.message
