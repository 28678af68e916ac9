"""The stationary distribution and the effective potential, from the log-density on panels."""

from collections.abc import Sequence

import numpy as np
from numpy.polynomial.legendre import legvander

from worker.generator.line.domain.boundaries import TOLERANCE
from worker.generator.line.domain.domain_scan import Window
from worker.generator.line.landscape import Landscape
from worker.generator.numerics.quadrature import (
    CUMULATIVE,
    ORDER,
    TO_LEGENDRE,
    WEIGHTS,
)
from worker.generator.process import FloatArray, read_only
from worker.generator.quantities.boundary import End
from worker.generator.quantities.outcomes import Outcome, Reason
from worker.generator.quantities.stationary import (
    EffectivePotential,
    StationaryDistribution,
)

OUTSIDE = 1e-6
"""Probability left out on each side of the density's grid."""
MOMENTS = ("mean", "variance", "skewness", "kurtosis")


def density_at(landscape: Landscape, x: FloatArray) -> FloatArray:
    """Return π at points (n,) [1/state]."""
    return np.exp(landscape.log_density_at(x) - log_total_mass(landscape))


def probability_below(landscape: Landscape, x: FloatArray) -> FloatArray:
    """Return the distribution function at points (n,)."""
    log_total = log_total_mass(landscape)
    masses = np.exp(_log_panel_masses(landscape) - log_total)
    below = np.exp(landscape.tails[0] - log_total) + np.concatenate([[0.0], np.cumsum(masses)])
    rows = landscape.panel_of(x)
    t = np.clip((x - landscape.base[rows] - landscape.low[rows]) / landscape.half[rows] - 1, -1, 1)
    _, psi, log_a = landscape.at_nodes
    density = np.exp(psi[rows] - log_a[rows] - log_total)
    up_to_node = landscape.half[rows][:, None] * (density @ CUMULATIVE.T)
    inside = np.einsum("nk,nk->n", legvander(t, ORDER - 1), up_to_node @ TO_LEGENDRE.T)
    probability = np.where(x >= landscape.edges[-1], 1.0, below[rows] + inside)
    return np.clip(np.where(x < landscape.edges[0], 0.0, probability), 0.0, 1.0)


def log_total_mass(landscape: Landscape) -> float:
    """Return log ∫π, tails included."""
    return float(np.logaddexp.reduce([*_log_panel_masses(landscape), *landscape.tails]))


def stationary_distribution(
    landscape: Landscape,
    window: Window,
    ends: tuple[End, End],
    points: int,
    observed: tuple[float, float] | None,
) -> StationaryDistribution:
    """Return the distribution of a model whose ends both allow one.

    The density is given on points that hold all but 2e-6 of the probability and the observed range.

    Parameters
    ----------
    landscape : panels that hold the distribution
    window : centre and scale of the domain
    ends : lower and upper end, classified
    points : number of points of the density's grid
    observed : where the data were [state]
    """
    log_total = log_total_mass(landscape)
    moments = moments_of(landscape, window, ends, log_total)
    grid = _grid(landscape, ends, points, observed, log_total)
    return distribution_on_grid(
        landscape, grid, log_total, moments, _missing_moments(moments, ends)
    )


def distribution_on_grid(
    landscape: Landscape,
    grid: FloatArray,
    log_total: float,
    moments: Sequence[float | None],
    reasons: tuple[Reason, ...],
) -> StationaryDistribution:
    """Return the distribution with its density on a grid.

    Parameters
    ----------
    landscape : panels that hold the distribution
    grid : (n,) points of the density [state]
    log_total : log ∫π
    moments : mean and central moments 2 to 4 [state^k]; None where they do not exist
    reasons : why some of them do not
    """
    mean, variance, third, fourth = moments
    standard = None if variance is None else np.sqrt(variance)
    with np.errstate(over="ignore"):
        density = np.exp(landscape.log_density_at(grid) - log_total)
    return StationaryDistribution(
        mean=(mean,),
        covariance=((variance,),),
        skewness=(None if third is None or standard is None else float(third / standard**3),),
        kurtosis=(None if fourth is None or variance is None else float(fourth / variance**2),),
        grid=(read_only(grid),),
        density=read_only(density),
        reasons=reasons,
    )


def _log_panel_masses(landscape: Landscape) -> FloatArray:
    _, psi, log_a = landscape.at_nodes
    height = psi - log_a
    level = height.max(axis=1)
    return np.asarray(level + np.log(landscape.half * (np.exp(height - level[:, None]) @ WEIGHTS)))


def moments_of(
    landscape: Landscape, window: Window, ends: tuple[End, End], log_total: float
) -> list[float | None]:
    """Return mean and central moments 2 to 4, (G3) [state^k]; None where a tail is too heavy.

    Parameters
    ----------
    landscape : panels that hold the distribution
    window : centre and scale of the domain
    ends : lower and upper end, classified
    log_total : log ∫π
    """
    x, psi, log_a = landscape.at_nodes
    weight = landscape.half[:, None] * WEIGHTS * np.exp(psi - log_a - log_total)
    z = (x - window.centre) / window.scale
    edges = (landscape.edges[[0, -1]] - window.centre) / window.scale
    centre, result = 0.0, []
    for k in (1, 2, 3, 4):
        total = float(np.sum(weight * (z - centre) ** k))
        exists = True
        for end, tail, edge in zip(ends, landscape.tails, edges, strict=True):
            if np.isinf(tail):
                continue
            share = np.exp(tail - log_total) * (edge - centre) ** k
            if np.isinf(end.at) and end.power is not None:
                exists &= end.power + 1 + k < -TOLERANCE
                share *= (end.power + 1) / (end.power + 1 + k) if exists else np.nan
            total += float(share)
        if k == 1:
            centre = total
            total += window.centre / window.scale
        result.append(total * window.scale**k if exists else None)
    return result


def _missing_moments(moments: list[float | None], ends: tuple[End, End]) -> tuple[Reason, ...]:
    missing = [name for name, moment in zip(MOMENTS, moments, strict=True) if moment is None]
    if not missing:
        return ()
    heaviest = max(end.power for end in ends if np.isinf(end.at) and end.power is not None)
    why = (
        f"{', '.join(missing)} undefined: the density falls only like |x|^{heaviest:.3g}, so the "
        "integral diverges"
    )
    return (Reason(Outcome.INFINITE, why),)


def _grid(
    landscape: Landscape,
    ends: tuple[End, End],
    points: int,
    observed: tuple[float, float] | None,
    log_total: float,
) -> FloatArray:
    low, high = _central_range(landscape, ends, log_total)
    for point in observed or ():
        inside = float(np.clip(point, ends[0].at, ends[1].at))
        low, high = min(low, inside), max(high, inside)
    # Where the density is infinite at an end, the grid stops half a step short of it.
    step = (high - low) / points
    singular = [end.power is not None and end.power < 0 and np.isfinite(end.at) for end in ends]
    low = max(low, ends[0].at + step / 2) if singular[0] else low
    high = min(high, ends[1].at - step / 2) if singular[1] else high
    return np.linspace(low, high, points)


def _central_range(
    landscape: Landscape, ends: tuple[End, End], log_total: float
) -> tuple[float, float]:
    """Return the quantiles OUTSIDE and 1 − OUTSIDE, or the wall that holds the process."""
    masses = np.exp(_log_panel_masses(landscape) - log_total)
    x, psi, log_a = landscape.at_nodes
    up_to_node = landscape.half[:, None] * (np.exp(psi - log_a - log_total) @ CUMULATIVE.T)
    from_node = masses[:, None] - up_to_node
    tails = np.exp(np.asarray(landscape.tails) - log_total)
    below = (tails[0] + np.cumsum(masses) - masses)[:, None] + up_to_node
    above = (tails[1] + np.cumsum(masses[::-1])[::-1] - masses)[:, None] + from_node
    low = float(x.ravel()[np.argmax(below.ravel() > OUTSIDE)])
    high = float(x.ravel()[::-1][np.argmax(above.ravel()[::-1] > OUTSIDE)])
    return ends[0].at if ends[0].wall else low, ends[1].at if ends[1].wall else high


def effective_potential(landscape: Landscape, grid: FloatArray) -> EffectivePotential:
    """Return Φ at the grid's points (n,); on a circle that is driven round it does not close."""
    values = -landscape.log_density_at(grid)
    return EffectivePotential(read_only(grid), read_only(values - np.min(values)))
