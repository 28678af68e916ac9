"""The part of the result document about fixed points, barriers and the potential."""

import math
from dataclasses import fields

from contract import results
from worker.documents.numbers import array, curves_of, interval_of, written
from worker.generator.quantities.fixed_points import Oscillation
from worker.generator.quantities.report import GeneratorReport
from worker.generator.uncertainty.intervals import Intervals, Path


def eigenvalue_of(
    value: complex, intervals: Intervals, path: Path, place: int
) -> results.Eigenvalue:
    """Write an eigenvalue with its period, where it is complex, and the intervals of both parts."""
    re, im = (intervals.range(*path, part, place) for part in ("re", "im"))
    period = 2 * math.pi / abs(value.imag) if value.imag else None
    return results.Eigenvalue(
        re=float(value.real), im=float(value.imag), ci=re, im_ci=im, period=period
    )


def fixed_points_of(
    report: GeneratorReport, intervals: Intervals
) -> tuple[results.FixedPoint, ...]:
    """With the intervals of where they are, and of the Jacobian's eigenvalues there."""
    return tuple(
        written(
            results.FixedPoint,
            point,
            at_ci=intervals.ranges("fixed_points", i, "at"),
            jacobian_eigenvalues=tuple(
                eigenvalue_of(rate, intervals, ("fixed_points", i, "rates"), k)
                for k, rate in enumerate(point.rates)
            ),
            oscillation=None
            if point.oscillation is None
            else _oscillation(point.oscillation, intervals, "fixed_points", i, "oscillation"),
        )
        for i, point in enumerate(report.fixed_points)
    )


def _oscillation(found: Oscillation, intervals: Intervals, *path: str | int) -> results.Oscillation:
    return results.Oscillation(
        **{
            place.name: results.Estimate(
                value=getattr(found, place.name),
                ci=interval_of(intervals.range(*path, place.name)),
            )
            for place in fields(found)
        }
    )


def barriers_of(report: GeneratorReport, intervals: Intervals) -> tuple[results.Barrier, ...]:
    """Write the barriers whose height a number can hold, with their intervals."""
    return tuple(
        written(
            results.Barrier,
            b,
            from_=b.start,
            height_ci=interval_of(intervals.range("barriers", i, "height")),
            height_over_noise_ci=interval_of(intervals.range("barriers", i, "height_over_noise")),
        )
        for i, b in enumerate(report.barriers)
        if math.isfinite(b.height_over_noise)
    )


def potential_of(
    report: GeneratorReport, intervals: Intervals
) -> results.EffectivePotential | None:
    """With its band."""
    potential = report.effective_potential
    if potential is None:
        return None
    band = curves_of(intervals.band("effective_potential", "values"))
    return results.EffectivePotential(
        grid=array(potential.grid), values=array(potential.values), values_ci=band
    )


def relaxation_of(report: GeneratorReport, intervals: Intervals) -> results.LocalRelaxation | None:
    """With its band."""
    found = report.local_relaxation
    if found is None:
        return None
    band = curves_of(intervals.band("local_relaxation", "slope"))
    return results.LocalRelaxation(grid=array(found.grid), rate=array(found.rate), rate_ci=band)
