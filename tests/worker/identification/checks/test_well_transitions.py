"""Counting what escape times rest on."""

import numpy as np

from worker.identification.checks.visited_states import count_crossings
from worker.identification.data.trajectories import from_arrays


def test_each_passage_between_the_wells_counts_once() -> None:
    x = np.array([-1, -0.5, 0.5, -1, 0.2, 1.1, 0.9, 1.0, -0.3, -1.2, -1.0])
    assert count_crossings(from_arrays([x], 1.0), -1.0, 1.0) == 2


def test_nothing_crosses_from_one_trajectory_to_the_next() -> None:
    assert count_crossings(from_arrays([np.full(5, -1.0), np.full(5, 1.0)], 1.0), -0.9, 0.9) == 0
