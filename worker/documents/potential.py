"""The part of the result document about fixed points, barriers and the potential."""

import math

from contract import results
from worker.documents.numbers import array, curves_of, ends_about, interval_of, written
from worker.generator.quantities.report import GeneratorReport
from worker.generator.uncertainty.intervals import Intervals, Path


def eigenvalue_of(
    value: complex, intervals: Intervals, path: Path, place: int
) -> results.Eigenvalue:
    """Write an eigenvalue with its period, where it is complex, and the intervals of both parts."""
    ends = [intervals.range(*path, part, place) for part in ("re", "im")]
    re, im = (ends_about(v, e) for v, e in zip((value.real, value.imag), ends, strict=True))
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
            at_ci=tuple(
                ends_about(place, ends)
                for place, ends in zip(
                    point.at, intervals.ranges("fixed_points", i, "at"), strict=False
                )
            ),
            jacobian_eigenvalues=tuple(
                eigenvalue_of(rate, intervals, ("fixed_points", i, "rates"), k)
                for k, rate in enumerate(point.rates)
            ),
        )
        for i, point in enumerate(report.fixed_points)
    )


def barriers_of(report: GeneratorReport, intervals: Intervals) -> tuple[results.Barrier, ...]:
    """Write the barriers whose height a number can hold, with their intervals."""
    return tuple(
        written(
            results.Barrier,
            b,
            from_=b.start,
            height_ci=interval_of(ends_about(b.height, intervals.range("barriers", i, "height"))),
            height_over_noise_ci=interval_of(
                ends_about(b.height_over_noise, intervals.range("barriers", i, "height_over_noise"))
            ),
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
