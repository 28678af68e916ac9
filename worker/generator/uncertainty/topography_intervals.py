"""Intervals of densities, potentials, fixed points and barriers over models drawn around a reference."""

from collections.abc import Sequence

import numpy as np

from worker.generator.linear.fixed_points import followed, jacobian_rates
from worker.generator.process import DiffusionProcess, FloatArray
from worker.generator.quantities.report import GeneratorReport
from worker.generator.uncertainty.intervals import TopographySpread, band_of_rows, column_intervals
from worker.generator.uncertainty.topography import Topography

FARTHEST = 3.0
"""Standard deviations that a fixed point may be away from the reference's."""
NOWHERE = complex(np.nan, np.nan)


def topography_spread(
    found: Sequence[Topography | None], reference: GeneratorReport, confidence: float
) -> TopographySpread | None:
    """Of the samples' topographies on the line or on a circle; None where no sample has one. As for all intervals, half of the
    samples have to have the quantity."""
    known = [topography for topography in found if topography is not None]
    if not known:
        return None

    places = np.array([topography.fixed_points for topography in known])
    heights = np.array([topography.barriers for topography in known])
    return TopographySpread(
        fixed_points=tuple((interval,) for interval in column_intervals(places, confidence)),
        barriers=tuple(
            zip(
                column_intervals(heights[..., 0], confidence),
                column_intervals(heights[..., 1], confidence),
                strict=True,
            )
        ),
        density=band_of_rows([topography.density for topography in known], confidence)
        if reference.stationary is not None
        else None,
        potential=band_of_rows([topography.potential for topography in known], confidence),
        relaxation=band_of_rows([topography.relaxation for topography in known], confidence),
    )


def fixed_points_spread(
    samples: Sequence[DiffusionProcess],
    reference: GeneratorReport,
    scale: FloatArray,
    confidence: float,
) -> TopographySpread | None:
    """Of where each sample's drift has the reference's fixed points, and of its Jacobian's eigenvalues there, in several
    coordinates; None where the reference has none. A sample has a fixed point where Newton's method finds one of the same kind
    nearer than half way to the reference's next one.

    scale  (d,) typical length of each coordinate [state]
    """
    points = reference.fixed_points
    if not points or not samples:
        return None
    at = np.array([point.at for point in points])
    reach = np.array([_reach(at, k, scale) for k in range(len(points))])
    stable = np.array([point.stable for point in points])
    wanted = np.array([point.rates for point in points])
    found, rates = (
        np.full((len(samples), *at.shape), np.nan),
        np.full((len(samples), *at.shape), NOWHERE),
    )
    for places, own, process in zip(found, rates, samples, strict=True):
        places[:] = followed(process, at, reach)
        for k in np.flatnonzero(np.isfinite(places).all(axis=1)):
            own[k] = jacobian_rates(process, places[k], wanted[k])
            if (own[k].real.max() < 0) != stable[k]:
                places[k], own[k] = np.nan, NOWHERE
    turning = wanted.imag != 0
    return TopographySpread(
        fixed_points=tuple(column_intervals(found[:, k], confidence) for k in range(len(points))),
        rates=tuple(column_intervals(rates[:, k].real, confidence) for k in range(len(points))),
        frequencies=tuple(
            tuple(
                interval if turns else None
                for interval, turns in zip(
                    column_intervals(rates[:, k].imag, confidence), turning[k], strict=True
                )
            )
            for k in range(len(points))
        ),
    )


def _reach(at: FloatArray, k: int, scale: FloatArray) -> FloatArray:
    """(d,) half the way to the next fixed point, in every direction; a few typical lengths where there is none."""
    apart = np.max(np.abs(np.delete(at, k, axis=0) - at[k]) / scale, axis=1)
    return np.asarray(scale * min(apart.min(initial=np.inf) / 2, FARTHEST))
