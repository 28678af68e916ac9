"""Curves, fields and data to be drawn of a model, and the intervals on which they are drawn."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from worker.generator.process import DiffusionProcess
from worker.generator.quantities.report import GeneratorReport
from worker.identification.data.trajectories import Scales, Trajectories
from worker.identification.identified_model import IdentifiedModel
from worker.identification.model_sampling import DrawnModels
from worker.validation.empirical import Observed, observe

Floats = NDArray[np.float64]
Range = tuple[float, float]

POINTS = 121
ARROWS = 17
"""Number of arrows along each of two coordinates."""
MOST = 1000
"""Number of sampled models from which a band is taken."""
STEP = 1e-3
"""Velocities between which the friction is a difference, in ends of their range."""
MARGIN = 0.05
"""Margin on each side, as a share of the data's range."""
MASS = 1e-4
"""Share of its largest value below which a stationary density is not drawn."""


@dataclass(frozen=True, slots=True, eq=False)
class Curve:
    """Function on a grid.

    values   (n,)
    band     (2, n) lower and upper end of its confidence interval; None without drawn models
    """

    values: Floats
    band: Floats | None


@dataclass(frozen=True, slots=True, eq=False)
class Curves:
    """Drift and diffusion of one coordinate, or on a section of the phase plane.

    grid        (n,) [state]
    drift       [state/time]; on a section the force [state/time²]
    diffusion   [state²/time]; on a section that of the velocity [state²/time³]
    friction    on a section [1/time]; None without velocity
    """

    grid: Floats
    drift: Curve
    diffusion: Curve
    friction: Curve | None = None


@dataclass(frozen=True, slots=True, eq=False)
class DriftField:
    """Drift of two coordinates.

    grid     two (ARROWS,) [state]
    values   (ARROWS, ARROWS, 2) [state/time]
    """

    grid: tuple[Floats, Floats]
    values: Floats


@dataclass(frozen=True, slots=True, eq=False)
class Picture:
    """Curves of one variable or arrows of two, and the data's points where there are data."""

    curves: Curves | None = None
    field: DriftField | None = None
    observed: Observed | None = None


def curves_of(
    process: DiffusionProcess,
    draws: DrawnModels[Any] | None,
    where: Range,
    confidence: float = 0.95,
) -> Curves:
    """Evaluate drift and diffusion of a process of one coordinate over an interval.

    Parameters
    ----------
    process : process of one coordinate
    draws : models drawn around the estimate; None where there are none
    where : interval [state]
    confidence : share of the draws that the band holds at each point
    """
    grid = np.linspace(*where, POINTS)
    x = grid[:, None]

    def tables(of: DiffusionProcess) -> tuple[Floats, ...]:
        return of.drift(x)[:, 0], of.diffusion(x)[:, 0, 0]

    return Curves(grid, *_with_bands(process, draws, tables, confidence))


def section_of(
    process: DiffusionProcess,
    draws: DrawnModels[Any] | None,
    where: Sequence[Range],
    confidence: float = 0.95,
) -> Curves:
    """Evaluate force, diffusion and friction of one position at rest, over an interval.

    Parameters
    ----------
    process : process of a position and its velocity
    draws : models drawn around the estimate; None where there are none
    where : interval of the position [state], and of the velocity [state/time]
    confidence : share of the draws that the band holds at each point
    """
    grid = np.linspace(*where[0], POINTS)
    at_rest = np.column_stack([grid, np.zeros(POINTS)])
    # Of a force v³ that is as large as friction at the range's end, the difference errs by 1e-6.
    moving = np.array([0.0, STEP * max(map(abs, where[1]))])

    def tables(of: DiffusionProcess) -> tuple[Floats, ...]:
        slowed = of.drift(at_rest - moving) - of.drift(at_rest + moving)
        return (
            of.drift(at_rest)[:, 1],
            of.diffusion(at_rest)[:, 1, 1],
            slowed[:, 1] / (2 * moving[1]),
        )

    return Curves(grid, *_with_bands(process, draws, tables, confidence))


def drift_field(process: DiffusionProcess, where: Sequence[Range]) -> DriftField:
    """Evaluate the drift of a process of two coordinates over a rectangle."""
    first, second = (np.linspace(*ends, ARROWS) for ends in where)
    at = np.stack(np.meshgrid(first, second, indexing="ij"), axis=-1)
    with np.errstate(all="ignore"):
        values = process.drift(at.reshape(-1, 2)).reshape(at.shape)
    return DriftField((first, second), values)


def _with_bands(
    process: DiffusionProcess,
    draws: DrawnModels[Any] | None,
    tables: Callable[[DiffusionProcess], tuple[Floats, ...]],
    confidence: float,
) -> tuple[Curve, ...]:
    """Return functions of a process on a grid, with central intervals widened to them.

    tables   takes the functions (n,) of a process, which are linear in the coefficients
    """
    with np.errstate(all="ignore"):
        curves = tables(process)
        if draws is None or not len(draws):
            return tuple(Curve(curve, None) for curve in curves)
        units = [tables(draws.process_at(unit)) for unit in np.eye(len(draws.centre))]
    tail = (1 - confidence) / 2
    found = []
    for curve, table in zip(curves, zip(*units, strict=True), strict=True):
        drawn = draws.coefficients[:MOST] @ np.array(table)
        low, high = np.quantile(drawn, [tail, 1 - tail], axis=0)
        found.append(Curve(curve, np.stack([np.minimum(low, curve), np.maximum(high, curve)])))
    return tuple(found)


def of_answer(
    answer: IdentifiedModel,
    data: Trajectories,
    generator: GeneratorReport | None,
    confidence: float,
) -> Picture:
    """Return the drawing of an identified model beside its data.

    Parameters
    ----------
    answer : identified model
    data : record from which it was identified
    generator : its analysis, which says where a circle is cut; None where it was not analysed
    confidence : share of the draws that a band holds
    """
    scales = answer.space.scales
    process = answer.process
    ends = [
        _around(s, bounds, period)
        for s, bounds, period in zip(scales, process.domain, process.periods, strict=True)
    ]
    circle = None if generator is None else _finite_domain(generator)
    if circle is not None and process.periods[0] is not None:
        ends[0] = circle
    variances = answer.noise_variances or {}
    noise = [max(variances.get(name, 0.0), 0.0) for name in answer.drift]
    observed = observe(
        data,
        process,
        ends,
        scales[0].time,
        noise=noise,
        order=answer.order,
        recorded=answer.n_recorded,
    )
    drawn = _model(process, ends, answer.draws, confidence, answer.order)
    return replace(drawn, observed=observed)


def of_terms(process: DiffusionProcess, generator: GeneratorReport, order: int = 1) -> Picture:
    """Draw a model given by its terms where its stationary density or its fixed points are."""
    ends = _drawn_ranges(generator)
    if ends is None or len(ends) != process.dimension:
        return Picture()
    return _model(process, ends, order=order)


def _model(
    process: DiffusionProcess,
    ends: Sequence[Range],
    draws: DrawnModels[Any] | None = None,
    confidence: float = 0.95,
    order: int = 1,
) -> Picture:
    if process.dimension == 1:
        return Picture(curves=curves_of(process, draws, ends[0], confidence))
    if process.dimension > 2:
        return Picture()
    section = section_of(process, draws, ends, confidence) if order == 2 else None
    return Picture(curves=section, field=drift_field(process, ends))


def _around(scales: Scales, bounds: Range, period: float | None) -> Range:
    """Return the bulk of a variable's samples and a margin; of an angle the whole turn [state]."""
    if period is not None:
        return -period / 2, period / 2
    low, high = scales.bulk
    margin = MARGIN * (high - low)
    return max(low - margin, bounds[0]), min(high + margin, bounds[1])


def _finite_domain(generator: GeneratorReport) -> Range | None:
    """Return the interval of one variable, or the turn of an angle, that was analysed."""
    low, high = generator.domain
    return (low, high) if np.isfinite(low) and np.isfinite(high) else None


def _drawn_ranges(generator: GeneratorReport) -> list[Range] | None:
    law = generator.stationary
    if law is not None and len(law.grid) == law.density.ndim:
        inhabited = law.density > MASS * np.max(law.density)
        ends = []
        for k, grid in enumerate(law.grid):
            seen = grid[inhabited.any(axis=tuple(i for i in range(law.density.ndim) if i != k))]
            ends.append((float(seen[0]), float(seen[-1])))
        return ends if all(low < high for low, high in ends) else None
    domain = _finite_domain(generator)
    if domain is not None:
        return [domain]
    places = np.array([p.at for p in generator.fixed_points])
    if not places.size:
        return None
    reach = np.maximum(np.ptp(places, axis=0), np.maximum(np.abs(places).max(axis=0), 1.0))
    return [
        (float(a), float(b))
        for a, b in zip(places.min(axis=0) - reach, places.max(axis=0) + reach, strict=True)
    ]
