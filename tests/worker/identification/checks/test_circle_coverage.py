"""A wide part of a circle without a sample is named, in the samples' own numbers."""

import numpy as np
import pytest

from worker.identification.checks.visited_states import empty_arc
from worker.identification.data.trajectories import from_arrays
from worker.identification.findings.domain import unvisited_arcs


@pytest.mark.parametrize(("low", "high"), [(-20.0, 147.0), (100.0, 250.0), (-170.0, -60.0)])
@pytest.mark.parametrize("turn", [-180.0, 0.0])
def test_the_arc_is_found_to_a_bin(low: float, high: float, turn: float) -> None:
    angles = np.random.default_rng(0).uniform(high, low + 360, 20_000)
    wrapped = (angles - turn) % 360 + turn
    found = empty_arc(from_arrays([np.column_stack([np.zeros(20_000), wrapped])], 1.0), 1, 360.0)
    assert found is not None
    assert np.cos(np.radians(found[0] - low)) > np.cos(np.radians(1.5))
    assert found[1] - found[0] == pytest.approx(high - low, abs=3)
    assert turn - 1.5 < found[0] < turn + 361.5
    # The opposite: with samples everywhere there is none to name.
    everywhere = np.random.default_rng(1).uniform(turn, turn + 360, 20_000)
    assert empty_arc(from_arrays([everywhere], 1.0), 0, 360.0) is None


def test_a_warning_names_variable_and_ends_and_a_line_has_none() -> None:
    data = from_arrays([np.random.default_rng(0).uniform([-100, -100], [40, 40], (5_000, 2))], 1.0)
    [finding] = unvisited_arcs(data, (None, 360.0))
    assert finding.code == "unvisited"
    assert "angle y was never between 40 and 260" in finding.message
