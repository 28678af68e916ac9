"""Where the law is not where the data are, a warning says so; where it is, none does."""

import numpy as np
import pytest

from contract.identification import IdentificationParameters
from worker.comparison.compare import Comparison, compare
from worker.generator.analysis import analyse
from worker.identification.data.trajectories import from_arrays
from worker.jobs.parameters import settings_of
from worker.pipeline import identify


def compared(start: float, n_steps: int) -> Comparison:
    """Compare 200 exact paths of −x + y/2, −y + x/2 (a = 1 each) that start near (start, start)."""
    rng = np.random.default_rng(4)
    dt, jacobian = 0.02, np.array([[-1.0, 0.5], [0.5, -1.0]])
    values, vectors = np.linalg.eigh(jacobian)
    step = vectors @ np.diag(np.exp(values * dt)) @ vectors.T
    kick = vectors @ np.diag(np.sqrt((np.exp(2 * values * dt) - 1) / (2 * values)))
    x = np.empty((200, n_steps + 1, 2))
    x[:, 0] = start + rng.normal(size=(200, 2)) @ (vectors @ np.diag(np.sqrt(-0.5 / values))).T
    for k in range(n_steps):
        x[:, k + 1] = x[:, k] @ step.T + rng.normal(size=(200, 2)) @ kick.T
    data = from_arrays(list(x), dt)
    quiet = lambda *_: None  # noqa: E731
    answer = identify(data, settings_of(IdentificationParameters()), quiet)
    return compare(data, answer, analyse(answer.process, observed_range=answer.observed))


@pytest.mark.parametrize(("start", "warned"), [(12.0, True), (0.0, False)])
def test_a_record_on_its_way_to_the_law_is_warned_of_and_a_settled_one_is_not(
    start: float, warned: bool
) -> None:
    found = compared(start, 40)
    assert found.total_variation is not None
    assert (found.total_variation > 0.5) == warned
    assert ("stationary-density" in [finding.code for finding in found.findings]) == warned
