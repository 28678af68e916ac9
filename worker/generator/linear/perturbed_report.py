"""What the reports of models of several coordinates near one that was analysed have in common."""

import numpy as np

from worker.generator.linear.fixed_points import followed, jacobian_rates
from worker.generator.process import DiffusionProcess, FloatArray
from worker.generator.quantities.fixed_points import FixedPoint
from worker.generator.quantities.report import GeneratorReport
from worker.generator.quantities.stationary import MultivariateDistribution

FARTHEST = 3.0
"""Standard deviations that a fixed point may be away from the reference's."""
NOWHERE = complex(np.nan, np.nan)


def fixed_points_followed(
    process: DiffusionProcess, report: GeneratorReport
) -> tuple[FixedPoint, ...]:
    """The fixed points of a process that stand for those of a report: each where Newton's method finds one of the same kind,
    nearer than half way to the report's next one; nan where there is none."""
    points = report.fixed_points
    if not points or not isinstance(report.stationary, MultivariateDistribution):
        return points
    at = np.array([point.at for point in points])
    scale = lengths_of(report.stationary, process.periods)
    reach = np.array([_reach(at, k, scale) for k in range(len(points))])
    found = []
    for point, place in zip(points, followed(process, at, reach), strict=True):
        rates = np.full(len(place), NOWHERE)
        if np.isfinite(place).all():
            rates = jacobian_rates(process, place, np.array(point.rates))
            if (rates.real.max() < 0) != point.stable:
                place, rates = np.full(len(place), np.nan), np.full(len(place), NOWHERE)
        found.append(
            FixedPoint(tuple(place.tolist()), point.stable, point.slope, tuple(rates.tolist()))
        )
    return tuple(found)


def lengths_of(law: MultivariateDistribution, periods: tuple[float | None, ...]) -> FloatArray:
    """(d,) standard deviation of each coordinate; of an angle, its period over 2π [state]."""
    variances = (row[i] for i, row in enumerate(law.covariance))
    return np.array(
        [
            period / (2 * np.pi) if period is not None else np.sqrt(variance or 1.0)
            for variance, period in zip(variances, periods, strict=True)
        ]
    )


def without_law_near(
    process: DiffusionProcess, report: GeneratorReport, *, ergodic: bool = False
) -> GeneratorReport:
    """The report of a process that has no law to compare."""
    return GeneratorReport(
        ergodic,
        None,
        report.domain,
        "natural",
        domains=process.domain,
        fixed_points=fixed_points_followed(process, report),
    )


def _reach(at: FloatArray, k: int, scale: FloatArray) -> FloatArray:
    """(d,) half the way to the next fixed point, in every direction; a few typical lengths where there is none."""
    apart = np.max(np.abs(np.delete(at, k, axis=0) - at[k]) / scale, axis=1)
    return np.asarray(scale * min(apart.min(initial=np.inf) / 2, FARTHEST))
