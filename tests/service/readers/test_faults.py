"""Stuck sensors, glitches and codes beside trends are found; what only looks like them is not."""

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

RNG = np.random.default_rng(5)
N = 4000
Reads = Callable[..., Any]


def walk(step: float = 1.0, pull: float = 0.02) -> np.ndarray:
    path = np.zeros(N)
    for k in range(1, N):
        path[k] = (1 - pull) * path[k - 1] + step * RNG.normal()
    return path


def read(values: Any, read_data: Reads, digits: int = 6) -> Any:
    return read_data("t,x\n" + "\n".join(f"{k},{x:.{digits}f}" for k, x in enumerate(values)))


def resting() -> np.ndarray:
    """A process that rests again and again, for times that vary by two decades."""
    lasts = np.round(np.exp(RNG.uniform(0, np.log(100), N))).astype(int)
    return np.repeat(RNG.normal(size=N), lasts)[:N]


HARMLESS = {
    "coarse scale": np.round(walk(0.3)),
    "very coarse scale": np.round(walk(0.05) * 2) / 2,
    "values held for a day": np.repeat(walk()[: N // 24], 24),
    "weekends": np.repeat(walk()[: N // 2], np.tile([1, 1, 1, 1, 3], N // 10)[: N // 2]),
    "clipped below": np.maximum(walk(), -1.0),
    "counts that are often zero": RNG.poisson(0.05, N).astype(float),
    "resting": resting(),
    "two states": np.repeat(np.arange(N) % 2, RNG.geometric(0.05, N))[:N] + 0.0,
    "jumps that stay": walk() + 300.0 * (np.arange(N) > 1000),
    "heavy tails": walk() + np.cumsum(RNG.standard_t(2.5, N)),
    "spikes of a neuron": walk(0.1) + 30 * (RNG.random(N) < 0.01),
}


@pytest.mark.parametrize("name", HARMLESS)
def test_what_only_looks_like_a_fault_is_kept(name: str, read_data: Reads) -> None:
    found = read(HARMLESS[name], read_data)
    assert found.codes.isdisjoint({"stuck-values", "glitch", "missing-code"})
    assert len(found.states) == len(HARMLESS[name])


@pytest.mark.parametrize("quantum", [0.0, 0.5])
def test_a_stuck_sensor_is_found_on_a_fine_and_a_coarse_scale(
    quantum: float, read_data: Reads
) -> None:
    values = walk()
    values = np.round(values / quantum) * quantum if quantum else values
    values[1000:1200] = values[1000]
    values[3000:3300] = values[3000]
    found = read(values, read_data)
    assert "stuck-values" in found.codes
    assert N - len(found.states) == pytest.approx(199 + 299, abs=4)  # the run may begin earlier
    assert found.report.n_segments == 3


def test_a_stuck_sensor_in_one_of_several_trajectories(read_data: Reads) -> None:
    values = walk()
    values[1100:1200] = values[1100]
    rows = (f"{k // 1000},{k % 1000},{x:.6f}" for k, x in enumerate(values))
    found = read_data("track,t,x\n" + "\n".join(rows))
    assert "stuck-values" in found.codes
    assert len(found.states) == N - 99
    assert "row 1102" in next(w for w in found.report.warnings if w.code == "stuck-values").message


def test_a_glitch_is_named_by_its_row_and_kept(read_data: Reads) -> None:
    values = walk()
    values[77] = 500.0
    found = read(values, read_data)
    message = next(w.message for w in found.report.warnings if w.code == "glitch")
    assert message.startswith("Row 79: 'x' jumps to 500 in a single sample and back")
    assert len(found.states) == N


def test_values_near_a_code_in_a_trend_stay(read_data: Reads) -> None:
    falling = -1.0 * np.arange(N)
    assert -999.0 in read(falling, read_data, 1).states
