"""What of a record is compared."""

import numpy as np

from worker.generator.quantities.stationary import MultivariateDistribution
from worker.identification.data.trajectories import Trajectories, from_arrays
from worker.validation.sample_blocks import gather
from worker.validation.validation import total_variation_in_the_plane


def test_pairs_never_cross_gaps_or_trajectories() -> None:
    times = np.concatenate([np.arange(10.0), np.arange(12.0, 20.0), np.arange(5.0)])
    data = Trajectories(np.arange(23.0)[:, None], times, np.array([[0, 18, 0], [18, 23, 1]]))
    found = gather(data, 1.0, 3)
    assert found.runs.tolist() == [[0, 10], [10, 18], [18, 23]]
    pairs = (found.runs[:, 1] - found.runs[:, 0] - 4).clip(min=0)
    assert pairs.sum() == 6 + 4 + 1
    assert found.longest == 9
    assert found.even == 20 / 21


def test_a_long_record_is_sampled_evenly_and_the_same_every_time() -> None:
    data = from_arrays([np.arange(40_000.0) + 1e6 * k for k in range(5)], 1.0)
    found, again = gather(data, 1.0, 20, most=10_000), gather(data, 1.0, 20, most=10_000)
    assert found.share == 0.05
    assert np.array_equal(found.states, again.states)
    # From every trajectory, in stretches of 400 and more.
    assert set(np.unique(found.states // 1e6)) == {0, 1, 2, 3, 4}
    assert (np.diff(found.runs, axis=1) >= 400).all()
    for start, stop in found.runs:
        assert np.all(np.diff(found.states[start:stop, 0]) == 1)


def test_total_variation_in_the_plane() -> None:
    grid = np.linspace(-5, 5, 61)
    bell = np.exp(-(grid**2) / 2) / np.sqrt(2 * np.pi)
    law = MultivariateDistribution(
        (0.0, 0.0),
        ((1.0, 0.0), (0.0, 1.0)),
        (0.0,) * 2,
        (3.0,) * 2,
        (grid, grid),
        np.outer(bell, bell),
    )
    x = np.random.default_rng(0).standard_normal((100_000, 2))
    same, moved = (
        total_variation_in_the_plane(x, (None, None), law),
        total_variation_in_the_plane(x + np.array([1.0, 0.0]), (None, None), law),
    )
    assert same is not None
    assert moved is not None
    assert same < 0.02
    # Of two unit Gaussians one apart: 2 Φ(1/2) − 1 = 0.383, and a little less in bins of 0.6.
    assert 0.36 < moved < 0.39
    assert total_variation_in_the_plane(x + 100.0, (None, None), law) == 1.0
    assert total_variation_in_the_plane(x, (None, None), None) is None
