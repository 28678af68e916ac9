"""Where the law is not where the data are, a warning says so; where it is, none does."""

import numpy as np
import pytest

from contract.identification import IdentificationParameters
from worker.generator.analysis import analyse
from worker.identification.data.trajectories import from_arrays
from worker.identification.identified_model import Histogram
from worker.identification.symbolic_process import SymbolicProcess, from_terms
from worker.jobs.parameters import settings_of
from worker.pipeline import identify
from worker.validation.validation import (
    Validation,
    between_levels,
    total_variation_on_the_line,
    validate,
)


def validated(start: float, n_steps: int) -> Validation:
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
    return validate(data, answer, analyse(answer.process, observed_range=answer.observed))


@pytest.mark.parametrize(("start", "warned"), [(12.0, True), (0.0, False)])
def test_a_record_on_its_way_to_the_law_is_warned_of_and_a_settled_one_is_not(
    start: float, warned: bool
) -> None:
    found = validated(start, 40)
    assert found.total_variation is not None
    assert (found.total_variation > 0.5) == warned
    assert ("stationary-density" in [finding.code for finding in found.findings]) == warned


def _normal_on_levels(spacing: float, shift: float = 0.0) -> tuple[Histogram, Histogram]:
    """Round normal numbers; their histogram in 120 bins, and that on their levels."""
    x = np.round((np.random.default_rng(1).standard_normal(50_000) + shift) / spacing) * spacing
    counts, fine = np.histogram(x, 120)
    edges = between_levels(x, 120)
    assert edges is not None
    return Histogram(counts.astype(float), fine), Histogram(
        np.histogram(x, edges)[0].astype(float), edges
    )


@pytest.mark.parametrize("spacing", [0.3, 0.1, 0.03, 0.011])
def test_values_on_a_grid_are_compared_on_their_levels(spacing: float) -> None:
    process = SymbolicProcess(from_terms({"x": -1.0}), from_terms({"1": 2.0}))
    law = analyse(process).stationary
    fine, on_levels = _normal_on_levels(spacing)
    distance = total_variation_on_the_line(on_levels, law)
    assert distance is not None
    assert distance < 0.03
    if spacing == 0.1:
        false_alarm = total_variation_on_the_line(fine, law)
        assert false_alarm is not None
        assert false_alarm > 0.3
    # A density elsewhere is still seen: 2 Φ(1/2) − 1 = 0.383.
    moved = total_variation_on_the_line(_normal_on_levels(spacing, 1.0)[1], law)
    assert moved == pytest.approx(0.383, abs=0.02)


def test_values_without_a_grid_keep_their_bins() -> None:
    assert between_levels(np.random.default_rng(2).standard_normal(10_000), 120) is None
