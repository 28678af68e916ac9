"""Comparison of simulated paths with the linear approximation, for three coordinates and more."""

from dataclasses import replace

import numpy as np

from worker.generator.linear.fixed_points import gaussian_covariance
from worker.generator.process import DiffusionProcess, FloatArray
from worker.generator.quantities.report import GeneratorReport
from worker.generator.simulation.distribution import simulated_law

PART_OF_RECTANGLE = 0.25
"""Standard deviation of the starts, over half the rectangle, where there is no stable fixed point.
"""


def with_simulation(
    process: DiffusionProcess, report: GeneratorReport, rectangle: FloatArray
) -> GeneratorReport:
    """Add to a report what simulated paths show.

    The paths start at the stable fixed points, or else around the middle of the rectangle.

    Parameters
    ----------
    process : process
    report : report of its linear approximation
    rectangle : (d, 2) range of the data [state]
    """
    middle, half = rectangle.mean(axis=1), np.diff(rectangle, axis=1)[:, 0] / 2
    starts, spreads = _starts(process, report)
    if not starts:
        starts, spreads = [middle], [np.diag((PART_OF_RECTANGLE * half) ** 2)]
    law = simulated_law(process, np.array(starts), np.array(spreads), half)
    if law is None:
        return report
    if law.n_escaped:
        beside = (
            "distribution and rates are those near the stable fixed point, before paths escape"
            if report.ergodic
            else None
        )
        return replace(
            report, simulated=law, ergodic=False, reason=law.reason, approximation=beside
        )
    if law.reason is not None or report.stationary is not None:
        return replace(report, simulated=law)
    if report.ergodic:
        return replace(
            report,
            simulated=law,
            approximation=f"{report.approximation}; simulated paths went between them",
        )
    if not any(point.stable for point in report.fixed_points):
        shown = "no stable fixed point was found: only the moments of simulated paths are known"
        return replace(report, simulated=law, ergodic=True, reason=None, approximation=shown)
    return replace(report, simulated=law)


def _starts(
    process: DiffusionProcess, report: GeneratorReport
) -> tuple[list[FloatArray], list[FloatArray]]:
    """Return the stable fixed points and the covariances of the linear approximations at them."""
    starts, spreads = [], []
    for point in report.fixed_points:
        if not point.stable:
            continue
        at = np.array(point.at)
        covariance = gaussian_covariance(
            process.drift_jacobian(at[None])[0], process.diffusion(at[None])[0]
        )
        if covariance is not None and np.all(np.diag(covariance) >= 0):
            starts.append(at)
            spreads.append(covariance)
    return starts, spreads
