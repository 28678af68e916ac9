"""The range of data that an answer rests on, and how much probability lies beyond it."""

from dataclasses import replace

import numpy as np

from worker.generator.line.landscape import Landscape
from worker.generator.line.stationary import probability_below
from worker.generator.quantities.report import GeneratorReport, Range
from worker.generator.quantities.stationary import MultivariateDistribution, StationaryDistribution

MUCH = 0.05
"""Stationary probability beyond the data from which on distribution and rates are extrapolated."""


def with_support(
    report: GeneratorReport, ranges: tuple[Range, ...] | None, landscape: Landscape | None
) -> GeneratorReport:
    """Return the report with the ranges of the data and the probability beyond them.

    Parameters
    ----------
    report : of any number of coordinates
    ranges : (low, high) of each coordinate [state]; None without data
    landscape : what the distribution of one coordinate was read from; None for others
    """
    if ranges is None:
        return report
    mass = (
        unseen_mass(report.stationary, ranges)
        if landscape is None
        else _beyond(landscape, ranges[0])
    )
    said = report.extrapolated
    if mass is not None and mass > MUCH:
        said = (
            *said,
            f"{100 * mass:.3g} % of the model's stationary probability lies outside the range of "
            "the data: its distribution, "
            "rates and times are extrapolated; record longer, or start trajectories further out",
        )
    return replace(report, observed_ranges=ranges, unseen_mass=mass, extrapolated=said)


def _beyond(landscape: Landscape, observed: Range) -> float:
    below = probability_below(landscape, np.array(observed))
    return float(1 - below[1] + below[0])


def unseen_mass(
    law: StationaryDistribution | MultivariateDistribution | None, ranges: tuple[Range, ...]
) -> float | None:
    """Return the probability outside of the ranges; None without a density on a plane."""
    if (
        not isinstance(law, MultivariateDistribution)
        or len(law.grid) != len(ranges)
        or not law.density.size
    ):
        return None
    density, total = law.density, law.density.sum()
    for axis, (grid, (low, high)) in enumerate(zip(law.grid, ranges, strict=True)):
        # A point stands for a cell, of which the end of a range may cut off a part.
        step = grid[1] - grid[0]
        inside = np.clip(
            (np.minimum(high, grid + step / 2) - np.maximum(low, grid - step / 2)) / step, 0, 1
        )
        density = density * np.expand_dims(inside, [k for k in range(len(ranges)) if k != axis])
    return float(1 - density.sum() / total)
