"""Fixed points and scales of models near an analysed one, in several coordinates."""

import numpy as np

from worker.generator.linear.fixed_points import followed, jacobian_rates
from worker.generator.process import DiffusionProcess, FloatArray
from worker.generator.quantities.fixed_points import FixedPoint
from worker.generator.quantities.report import GeneratorReport
from worker.generator.quantities.stationary import MultivariateDistribution

FARTHEST = 3.0
"""Largest distance of a fixed point from the reference's, in standard deviations."""
NOWHERE = complex(np.nan, np.nan)


def fixed_points_followed(
    process: DiffusionProcess, report: GeneratorReport
) -> tuple[FixedPoint, ...]:
    """Return the fixed points of a process that correspond to those of a report.

    A correspondence holds where Newton's method finds one of the same kind, nearer than half way to
    the report's next one. A fixed point without a counterpart is nan.
    """
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
    """Return each coordinate's standard deviation (d,) [state]; for an angle, its period / 2π."""
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
    """Return the report of a process that has no stationary distribution to compare."""
    return GeneratorReport(
        ergodic,
        None,
        report.domain,
        "natural",
        domains=process.domain,
        fixed_points=fixed_points_followed(process, report),
    )


def _reach(at: FloatArray, k: int, scale: FloatArray) -> FloatArray:
    """Return half the distance to the next fixed point in each coordinate: (d,) [state].

    A few typical lengths stand for it where there is no other fixed point.
    """
    apart = np.max(np.abs(np.delete(at, k, axis=0) - at[k]) / scale, axis=1)
    return np.asarray(scale * min(apart.min(initial=np.inf) / 2, FARTHEST))
