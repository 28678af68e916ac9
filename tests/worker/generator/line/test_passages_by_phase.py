"""First-passage times under periodic forcing: limits, symmetry, simulation, and what is refused."""

import numpy as np
import pytest

from worker.generator.analysis import analysis
from worker.generator.line.passages.by_phase import ForcedLine, passage_times_by_phase
from worker.generator.process import ScalarProcess
from worker.generator.quantities.outcomes import Outcome, Reason

Floats = np.ndarray
STEPS = 48


def double_well(force: float, period: float) -> ForcedLine:
    """The process dX = (X − X³ + force sin(2πt/T)) dt + √0.4 dW."""
    return ForcedLine(
        lambda x, t: x - x**3 + force * np.sin(2 * np.pi * t / period)[:, None],
        lambda x, t: np.full((len(t), len(x)), 0.4),
        (-np.inf, np.inf),
        period,
    )


def exact(tilt: float, start: float, to: float) -> float:
    """The mean time in the double well with a constant force."""
    process = ScalarProcess(
        lambda x: x - x**3 + tilt, lambda x: np.full_like(x, 0.4), lambda x: 1 - 3 * x**2
    )
    (found, *_) = analysis(process, passages=[(start, to)]).report.passages
    assert found.mean_time.value is not None
    return found.mean_time.value


def times(line: ForcedLine, start: float, to: float, n_steps: int = STEPS) -> Floats:
    """Mean times by starting phase."""
    found = passage_times_by_phase(line, start, to, n_steps)
    assert not isinstance(found, Reason), found
    return found


@pytest.mark.parametrize(("start", "to"), [(-1.0, 1.0), (1.0, -0.5), (0.2, 2.0)])
def test_without_forcing_times_are_exact_at_every_phase(start: float, to: float) -> None:
    assert times(double_well(0.0, 7.0), start, to) == pytest.approx(exact(0.0, start, to), rel=1e-9)


def test_under_slow_forcing_times_are_those_of_the_frozen_process() -> None:
    period = 1e6
    found = times(double_well(0.3, period), -1.0, 1.0)
    for k in (0, 12, 36):
        tilt = 0.3 * np.sin(2 * np.pi * k / STEPS)
        assert found[k] == pytest.approx(exact(tilt, -1.0, 1.0), rel=3e-4)


def test_under_fast_forcing_times_are_those_of_the_mean_drift() -> None:
    found = times(double_well(0.3, 1e-3), -1.0, 1.0)
    assert found == pytest.approx(exact(0.0, -1.0, 1.0), rel=1e-4)


def test_the_way_down_is_the_way_up_half_a_period_later() -> None:
    line = double_well(0.3, 20.0)
    up, down = times(line, -1.0, 1.0), times(line, 1.0, -1.0)
    assert down == pytest.approx(np.roll(up, -STEPS // 2), rel=1e-9)
    assert np.ptp(up) > 0.3 * up.mean()


def test_the_error_of_the_steps_is_a_ten_thousandth() -> None:
    line = double_well(0.3, 20.0)
    fine = times(line, -1.0, 1.0, 8 * STEPS)[::8]
    assert times(line, -1.0, 1.0) == pytest.approx(fine, rel=1e-4)


@pytest.mark.parametrize("phase", [0, 24])
def test_simulated_passages_take_these_times(phase: int) -> None:
    period, to, paths, step = 5.0, 1.0, 20_000, 0.004
    line = ForcedLine(
        lambda x, t: -x + 2 * np.sin(2 * np.pi * t / period)[:, None],
        lambda x, t: 0.5 + 0.5 * np.tile(x**2, (len(t), 1)),
        (-np.inf, np.inf),
        period,
    )
    rng = np.random.default_rng(phase)
    start = period * phase / STEPS
    x, arrival = np.zeros(paths), np.full(paths, np.nan)
    left, n = np.arange(paths), 0
    while len(left):
        z = x[left]
        a, noise = 0.5 + 0.5 * z**2, rng.normal(size=len(left))
        force = 2 * np.sin(2 * np.pi * (start + n * step) / period)
        # Milstein's scheme, and a Brownian bridge for arrivals between two steps.
        moved = z + (force - z) * step + np.sqrt(a * step) * noise
        moved += 0.25 * z * step * (noise**2 - 1)
        between = np.exp(-2 * np.clip(to - z, 0, None) * np.clip(to - moved, 0, None) / (a * step))
        there = rng.random(len(left)) < between
        n += 1
        arrival[left[there]] = (n - 0.5) * step
        x[left] = moved
        left = left[~there]
    mean, error = arrival.mean(), arrival.std() / np.sqrt(paths)
    found = times(line, 0.0, to)
    assert abs(found[phase] - mean) < 4 * error
    # Half a period later the times are others.
    assert abs(found[phase - STEPS // 2] - mean) > 20 * error


def test_a_wall_holds_the_process_back() -> None:
    free = ForcedLine(
        lambda x, t: np.zeros((len(t), len(x))),
        lambda x, t: np.full((len(t), len(x)), 2.0),
        (0.0, np.inf),
        1.0,
    )
    # From a reflecting wall, Brownian motion of a = 2 takes (l² − x²)/2 to l.
    assert times(free, 0.5, 1.5) == pytest.approx((1.5**2 - 0.5**2) / 2, rel=1e-6)


@pytest.mark.parametrize(
    ("line", "to", "outcome"),
    [
        (
            ForcedLine(
                lambda x, t: x * np.sin(t)[:, None],
                lambda x, t: np.ones((len(t), len(x))),
                (-np.inf, np.inf),
                2 * np.pi,
            ),
            1.0,
            Outcome.ESCAPES,
        ),
        (
            ForcedLine(
                lambda x, t: -np.tile(x, (len(t), 1)),
                lambda x, t: np.sin(t)[:, None] * np.ones(len(x)),
                (-np.inf, np.inf),
                2 * np.pi,
            ),
            1.0,
            Outcome.NOT_POSITIVE,
        ),
        (double_well(0.1, 1.0), 4.0, Outcome.UNRESOLVED),
        (double_well(0.1, 1.0), np.inf, Outcome.OUTSIDE),
    ],
)
def test_times_that_are_not_given_have_a_reason(
    line: ForcedLine, to: float, outcome: Outcome
) -> None:
    found = passage_times_by_phase(line, 0.0, to, STEPS)
    assert isinstance(found, Reason)
    assert found.outcome is outcome
