"""An interval holds its estimate, whatever the models drawn around it are."""

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from contract.generator import ModelTerms
from worker.generator.analysis import analysis
from worker.generator.process import DiffusionProcess, ScalarProcess
from worker.generator.quantities.regions import Region
from worker.generator.quantities.report import Range
from worker.generator.uncertainty.confidence_intervals import intervals_over
from worker.generator.uncertainty.intervals import leaves
from worker.jobs.parameters import process_of


def linear(theta: float) -> ScalarProcess:
    return ScalarProcess(lambda x: -theta * x, lambda x: 1.0 + 0 * x, lambda x: -theta + 0 * x)


def linear_in_the_plane(theta: float) -> DiffusionProcess:
    return process_of(
        ModelTerms.model_validate(
            {
                "drift": {"x": {"x": -theta, "y": 1.0}, "y": {"x": -1.0, "y": -theta}},
                "diffusion": {"x,x": {"1": 1.0}, "x,y": {"1": 0.3}, "y,y": {"1": theta}},
            }
        )
    )


def double_well_in_the_plane(theta: float) -> DiffusionProcess:
    return process_of(
        ModelTerms.model_validate(
            {
                "drift": {"x": {"x": theta, "x^3": -1.0, "y": 0.5}, "y": {"y": -theta}},
                "diffusion": {"x,x": {"1": 0.5}, "y,y": {"1": 0.5}},
            }
        )
    )


def double_well(theta: float) -> ScalarProcess:
    return ScalarProcess(
        lambda x: 0.1 + theta * x - x**3,
        lambda x: 0.4 + 0.1 * theta * x**2,
        lambda x: theta - 3 * x**2,
    )


def around_a_circle(theta: float) -> ScalarProcess:
    return ScalarProcess(
        lambda x: theta + 0.5 * np.sin(x),
        lambda x: theta + 0 * x,
        lambda x: 0.5 * np.cos(x),
        period=2 * np.pi,
    )


ALL = (-np.inf, np.inf)
NEITHER: dict[str, Any] = {}
IN_ONE = {"passages": [(-0.5, 0.5)], "committors": [(-0.5, 0.5)]}
BETWEEN_REGIONS = {
    kind: [(Region(((-np.inf, -0.5), ALL)), Region(((0.5, np.inf), ALL)))]
    for kind in ("passages", "committors")
}


@pytest.mark.parametrize(
    ("make", "asked"),
    [
        (linear, {**IN_ONE, "exits": [(0.0, -0.5, 0.5)]}),
        (double_well, {**IN_ONE, "exits": [(0.0, -0.5, 0.5)]}),
        (around_a_circle, IN_ONE),
        (linear_in_the_plane, NEITHER),
        (double_well_in_the_plane, BETWEEN_REGIONS),
    ],
)
@pytest.mark.parametrize("others", [(0.7, 0.95), (1.05, 1.3)])
def test_every_interval_holds_its_estimate_wherever_the_other_models_are(
    make: Callable[[float], DiffusionProcess], asked: dict[str, Any], others: Range
) -> None:
    """The selected terms may be the least likely of all that the models drawn have."""
    reference = analysis(make(1.0), **asked)
    found = intervals_over([make(t) for t in np.linspace(*others, 21)], reference, 0.95)
    outside, known = 0, 0
    for leaf in leaves(reference.report):
        if leaf.path not in found.ends:
            continue
        low, high = found.ends[leaf.path]
        has = np.isfinite(leaf.value) & ~np.isnan(low)
        assert not np.any(~np.isnan(low) & ~np.isfinite(leaf.value)), leaf.path
        assert np.all((low[has] <= leaf.given[has]) & (leaf.given[has] <= high[has])), leaf.path
        # Negative control: the models alone lie elsewhere.
        outside += int(np.sum((low[has] == leaf.given[has]) ^ (high[has] == leaf.given[has])))
        known += int(has.sum())
    assert known > 100
    assert outside > 0.3 * known
