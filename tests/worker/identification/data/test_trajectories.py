"""Walking increments: none is lost, none crosses a segment, whatever the chunks and blocks."""

import tracemalloc
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from worker.identification.data import trajectories
from worker.identification.data.trajectories import (
    Trajectories,
    Windows,
    block_edges,
    chunks,
    from_arrays,
    measure_scales,
)
from worker.identification.errors import ConstantData, TooFewSamples


def _random(lengths: list[int], seed: int) -> Trajectories:
    generator = np.random.default_rng(seed)
    stops = np.cumsum(lengths)
    numbers = np.sort(generator.integers(0, max(1, len(lengths) // 2), len(lengths)))
    times = np.concatenate([np.cumsum(generator.uniform(0.5, 1.5, n)) for n in lengths])
    segments = np.stack([stops - lengths, stops, numbers], axis=1).astype(np.int64)
    return Trajectories(generator.standard_normal((int(stops[-1]), 1)), times, segments)


@given(
    st.lists(st.integers(1, 70), min_size=8, max_size=40),
    st.integers(1, 3),
    st.integers(1, 12),
    st.integers(0, 10**6),
)
@settings(max_examples=40, deadline=None)
def test_every_increment_inside_a_segment_is_walked_exactly_once(
    lengths: list[int], lag: int, blocks: int, seed: int
) -> None:
    data = _random(lengths, seed)
    if data.n_increments < trajectories.MINIMUM_INCREMENTS:
        return
    scales = measure_scales(data)
    walked = list(chunks(data, scales, block_edges(data, blocks), Windows(2, lag)))
    inside = [(i, i + lag) for start, stop, _ in data.segments for i in range(start, stop - lag)]
    left, right = np.array(inside, dtype=int).reshape(-1, 2).T
    got = np.concatenate([np.stack([c.left, c.right, c.step]) for c in walked], axis=1)
    expected_left = (data.states[left, 0] - scales.origin) / scales.unit
    order, expected_order = np.argsort(got[0]), np.argsort(expected_left)
    assert got.shape[1] == len(left)
    np.testing.assert_array_equal(got[0][order], expected_left[expected_order])
    np.testing.assert_allclose(
        (got[1] - got[0])[order] * scales.unit,
        (data.states[right, 0] - data.states[left, 0])[expected_order],
        atol=1e-12,
    )
    np.testing.assert_allclose(
        got[2][order] * scales.time, (data.times[right] - data.times[left])[expected_order]
    )


def test_follows_is_true_only_between_neighbours() -> None:
    data = from_arrays(
        [
            np.random.default_rng(0).standard_normal(40),
            np.random.default_rng(1).standard_normal(40),
        ],
        1.0,
    )
    walked = list(chunks(data, measure_scales(data), block_edges(data, 1)))
    assert sum(int(c.follows.sum()) for c in walked) == 2 * (39 - 1)


def test_a_periodic_coordinate_takes_the_shorter_way_round() -> None:
    phi = np.cumsum(np.random.default_rng(0).normal(0, 20, 500))
    wrapped = (phi + 180) % 360 - 180
    data = from_arrays([wrapped], 1.0)
    walked = list(chunks(data, measure_scales(data, 360.0), block_edges(data, 1), period=360.0))
    np.testing.assert_allclose(
        np.concatenate([c.right - c.left for c in walked]) * 180, np.diff(phi), atol=1e-9
    )
    assert max(abs(c.left).max() for c in walked) <= 1


@pytest.mark.parametrize("period", [None, 2.0])
def test_the_mean_of_the_samples_before_is_the_first_point(period: float | None) -> None:
    path = np.cumsum(0.1 * np.random.default_rng(3).standard_normal(400))
    seen = path if period is None else path % period
    data = from_arrays([seen[:150], seen[150:]], 1.0)
    scales, weights, stride = measure_scales(data, period), (0.5, 0.3, 0.2), 4
    windows = Windows(3, stride, even=True, past=weights)
    (chunk,) = chunks(data, scales, block_edges(data, 1), windows, period=period)
    starts = [n for part in ((3, 150), (153, 400)) for n in range(part[0], part[1] - 2 * stride)]
    assert chunk.size == len(starts)
    mean = np.array([sum(w * path[n - 1 - k] for k, w in enumerate(weights)) for n in starts])
    points = np.array([path[[n, n + stride, n + 2 * stride]] for n in starts])
    np.testing.assert_allclose(
        (chunk.states[1:] - chunk.states[0]).T, (points - mean[:, None]) / scales.unit, atol=1e-12
    )
    expected = (mean - scales.origin) / scales.unit
    if period is not None:
        expected -= 2 * np.round(expected / 2)
    np.testing.assert_allclose(chunk.states[0], expected, atol=1e-12)
    assert (chunk.steps == stride).all()


def test_few_samples_and_constant_data_are_refused_in_words() -> None:
    with pytest.raises(TooFewSamples, match="Too few samples: 6 increments"):
        measure_scales(from_arrays([np.arange(7.0)], 1.0))
    with pytest.raises(ConstantData, match="does not vary"):
        measure_scales(from_arrays([np.full(100, 3.25)], 1.0))


def test_one_wild_reading_does_not_stretch_the_bulk() -> None:
    x = np.random.default_rng(0).standard_normal(20_000)
    plain = measure_scales(from_arrays([x], 1.0))
    x[77] = 1e9
    wild = measure_scales(from_arrays([x], 1.0))
    assert wild.unit < 4 * plain.unit


@pytest.mark.slow
def test_memory_does_not_grow_with_the_data(tmp_path: Path) -> None:
    peaks = []
    for n in (400_000, 1_600_000):
        np.save(tmp_path / "states.npy", np.random.default_rng(0).standard_normal((n, 1)))
        np.save(tmp_path / "times.npy", np.arange(float(n)))
        states, times = (
            np.load(tmp_path / f"{name}.npy", mmap_mode="r") for name in ("states", "times")
        )
        data = Trajectories(states, times, np.array([[0, n, 0]]))
        tracemalloc.start()
        scales = measure_scales(data)
        for _ in chunks(data, scales, block_edges(data, 48)):
            pass
        peaks.append(tracemalloc.get_traced_memory()[1])
        tracemalloc.stop()
    # Samples of at most 200 000 values are drawn from both; all 1.6 million of them would be 13 MB.
    assert peaks[1] < 1.5 * peaks[0]
