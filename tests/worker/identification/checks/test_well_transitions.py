"""Counting what escape times rest on."""

import numpy as np

from worker.generator.quantities.regions import Region
from worker.identification.checks.transitions import beyond, count_round, count_transitions
from worker.identification.data.trajectories import from_arrays


def test_each_passage_between_the_wells_counts_once() -> None:
    x = np.array([-1, -0.5, 0.5, -1, 0.2, 1.1, 0.9, 1.0, -0.3, -1.2, -1.0])
    assert count_transitions(from_arrays([x], 1.0), beyond(-1.0, 1.0)) == (1, 1)


def test_nothing_crosses_from_one_trajectory_to_the_next() -> None:
    data = from_arrays([np.full(5, -1.0), np.full(5, 1.0)], 1.0)
    assert count_transitions(data, beyond(-0.9, 0.9)) == (0, 0)


def test_on_a_circle_both_ways_round_count_and_turning_back_does_not() -> None:
    # From 0° up to 90° and back below 0°, down to 90° − 360°, and up past 0° again.
    path = np.array([-10.0, 10, 80, 100, 50, 95, -20, 20, -100, -260, -300, -200, -100, 5])
    for wrapped in (path, np.mod(path, 360), np.mod(path + 180, 360) - 180):
        data = from_arrays([wrapped], 1.0)
        assert count_round(data, 0.0, 90.0, 360.0) == (2, 2)
        assert count_round(data, 90.0, 0.0, 360.0) == (2, 2)
    turning = np.mod(np.arange(0.5, 3600.0, 7.0), 360)
    assert count_round(from_arrays([turning], 1.0), 0.0, 90.0, 360.0) == (9, 9)


def test_regions_open_in_velocities_count_in_a_record_of_positions() -> None:
    anywhere = (-np.inf, np.inf)
    low, high = Region(((-np.inf, -0.9), anywhere)), Region(((0.9, np.inf), anywhere))
    x = np.array([-1, -0.5, 0.5, -1, 0.2, 1.1, 0.9, 1.0, -0.3, -1.2, -1.0])

    def sides(states: np.ndarray) -> np.ndarray:
        return high.holds(states).astype(np.int8) - low.holds(states).astype(np.int8)

    assert count_transitions(from_arrays([x], 1.0), sides) == (1, 1)
    assert (low.bounded, Region((anywhere, (0.0, 1.0))).bounded) == (1, 2)
