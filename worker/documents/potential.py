"""Fixed points, barriers, potential and local relaxation rate → their part of the result document."""

import math
from itertools import zip_longest

from contract import results
from worker.documents.arrays import array, curves_of, interval_of
from worker.documents.numbers import number
from worker.generator.quantities.report import GeneratorReport
from worker.generator.uncertainty.intervals import TopographySpread


def eigenvalue_of(
    value: complex, ci: tuple[float, float] | None = None, im_ci: tuple[float, float] | None = None
) -> results.Eigenvalue:
    """With its period where it is complex."""
    period = 2 * math.pi / abs(value.imag) if value.imag else None
    return results.Eigenvalue(
        re=float(value.real), im=float(value.imag), ci=ci, im_ci=im_ci, period=period
    )


def fixed_points_of(
    report: GeneratorReport, spread: TopographySpread | None
) -> tuple[results.FixedPoint, ...]:
    """With the intervals of where they are, and of the Jacobian's eigenvalues there."""
    points = report.fixed_points
    places = spread.fixed_points if spread is not None else ((),) * len(points)
    rates = spread.rates if spread is not None and spread.rates else ((),) * len(points)
    frequencies = (
        spread.frequencies if spread is not None and spread.frequencies else ((),) * len(points)
    )
    return tuple(
        results.FixedPoint(
            at=point.at,
            at_ci=place,
            stable=point.stable,
            jacobian_eigenvalues=tuple(
                eigenvalue_of(*numbers)
                for numbers in zip_longest(point.rates, of_decay, of_turning)
            ),
        )
        for point, place, of_decay, of_turning in zip(
            points, places, rates, frequencies, strict=True
        )
    )


def barriers_of(
    report: GeneratorReport, spread: TopographySpread | None
) -> tuple[results.Barrier, ...]:
    """Those of a height that a number holds."""
    heights = (
        spread.barriers
        if spread is not None and spread.barriers
        else ((None, None),) * len(report.barriers)
    )
    return tuple(
        results.Barrier(
            from_=b.start,
            over=b.over,
            to=b.to,
            height=number(b.height),
            height_ci=interval_of(height),
            height_over_noise=b.height_over_noise,
            height_over_noise_ci=interval_of(over_noise),
        )
        for b, (height, over_noise) in zip(report.barriers, heights, strict=True)
        if math.isfinite(b.height_over_noise)
    )


def potential_of(
    report: GeneratorReport, spread: TopographySpread | None
) -> results.EffectivePotential | None:
    """With its band."""
    potential = report.effective_potential
    if potential is None:
        return None
    band = None if spread is None else curves_of(spread.potential)
    return results.EffectivePotential(
        grid=array(potential.grid), values=array(potential.values), values_ci=band
    )


def relaxation_of(
    report: GeneratorReport, spread: TopographySpread | None
) -> results.LocalRelaxation | None:
    """With its band."""
    found = report.local_relaxation
    if found is None:
        return None
    band = None if spread is None else curves_of(spread.relaxation)
    return results.LocalRelaxation(grid=array(found.grid), rate=array(found.rate), rate_ci=band)
