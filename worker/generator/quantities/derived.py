"""Quantities that follow from others of a report and from the process, in every geometry alike.

A geometry computes what it alone can. What is a function of that and of the process is computed
here: once for the report, and by the same call for each model drawn around the estimate, so that a
field with a kind has an interval.
"""

from dataclasses import replace
from typing import Any

import numpy as np

from worker.generator.process import DiffusionProcess, FloatArray, read_only, scalar_view, values
from worker.generator.quantities.report import GeneratorReport
from worker.generator.quantities.second_order import (
    is_in_one_coordinate,
    kramers_time,
    oscillation_at,
)
from worker.generator.quantities.stationary import LocalRelaxation


def with_derived(report: GeneratorReport, process: DiffusionProcess) -> GeneratorReport:
    """Return the report of a process with all that follows from it."""
    return replace(
        report,
        local_relaxation=_local_relaxation(report, process),
        mean_velocity=_mean_velocity(report, process),
        **_of_second_order(report, process),
    )


def _local_relaxation(report: GeneratorReport, process: DiffusionProcess) -> LocalRelaxation | None:
    return None if report.grid is None else local_relaxation(process, report.grid)


def local_relaxation(process: DiffusionProcess, grid: FloatArray) -> LocalRelaxation:
    """Return γ of a process in one coordinate at the points of the grid (n,), (G16)."""
    model = scalar_view(process)
    a = values(model.a, grid)
    with np.errstate(all="ignore"):
        slope = np.where(a > 0, values(model.db, grid) / a, np.nan)
    return LocalRelaxation(read_only(grid), read_only(slope))


def _of_second_order(report: GeneratorReport, process: DiffusionProcess) -> dict[str, Any]:
    """Return what only a process of second order in one coordinate has."""
    if not is_in_one_coordinate(process):
        return {}
    law = report.stationary
    return {
        "fixed_points": tuple(
            replace(point, oscillation=oscillation_at(point)) for point in report.fixed_points
        ),
        "between": tuple(
            replace(passage, kramers=kramers_time(process, passage, report.fixed_points))
            for passage in report.between
        ),
        "kinetic_temperature": None
        if law is None or law.mean[1] is None or law.covariance[1][1] is None
        else law.covariance[1][1] + law.mean[1] ** 2,
    }


def _mean_velocity(report: GeneratorReport, process: DiffusionProcess) -> float | None:
    current, period = report.probability_current, process.periods[0]
    return None if current is None or period is None else current * period
