"""Models near a reference, on its panels: which of them fit there, and how those are held that turn outward beyond the data.

What a model does where the data never were does not decide: it is continued inward from the panel on which its drift first
points outward, or its noise vanishes, and the change counts in `ergodic` only.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from worker.generator.errors import GeneratorError
from worker.generator.line.domain.boundaries import far_limits
from worker.generator.line.domain.domain_scan import Window, choose_window
from worker.generator.line.domain.metastable import SMALLEST_BARRIER
from worker.generator.line.fixed_points import FixedPoint
from worker.generator.line.landscape import Landscape
from worker.generator.line.stationary import StationaryLaw
from worker.generator.process import DiffusionProcess, FloatArray, scalar_view
from worker.generator.process_batch import Family, among, coefficients_at
from worker.generator.quantities.report import GeneratorReport, Range
from worker.generator.uncertainty.sampled_model import looked_at, rates_of

DIP = 0.1
"""A minimum of a below this part of its surroundings may be a zero; the model is analysed alone."""
HEAVY = -3.5
"""Power of a tail above which what lies beyond the panels counts in the variance."""
STEP = 0.75
"""Least fall of the log-density over each panel beyond where a model is held."""
FASTER = 4.0
"""How many times faster than the fastest rate asked for a model relaxes where it is held: a gentle slope, and weak noise on it,
would relax slowly, and its rates be taken for the model's."""
SMALLEST_NOISE = 1e-3
"""Share of the largest a on the panels that a has at a finite end with a wall."""

FADED = 0.2
"""Share of the least a where the data were at which a, further out, counts as vanishing."""

SIDES: tuple[Literal[-1], Literal[1]] = (-1, 1)

Bools = NDArray[np.bool_]


@dataclass(frozen=True, slots=True, eq=False)
class Models:
    """m models with a law on the panels: b and a at the panels' nodes (m, P, ORDER).

    rows       (m,) which of the processes they are
    ergodic    (m,) they have a stationary law on their own domain too
    cut        (m, 2) first panel below and above that was continued inward; −1 where none was
    walled     (m, 2) held by a wall below and above, so that the density need not have fallen
    threshold  (m,) bottom of the continuous spectrum [1/time]; inf where there is none
    power      (m,) of the heavier of the density's tails; −inf where it does not fall like a power
    """

    rows: NDArray[np.int64]
    b: FloatArray
    a: FloatArray
    ergodic: Bools
    cut: NDArray[np.int64]
    walled: Bools
    threshold: FloatArray
    power: FloatArray

    def where(self, chosen: Bools) -> "Models":
        """Some of them."""
        return Models(*(getattr(self, name)[chosen] for name in self.__slots__))


@dataclass(frozen=True, slots=True, eq=False)
class Frame:
    """What the models share.

    landscape  the reference's, without those near a zero of a beyond the data
    window     the points of the first look, on the whole domain of the models
    bounds     the models' domain
    inside     the reference's fixed points on the panels
    kept       where models have to be like the reference: data, wells, and what is asked for; None where there are no data
    """

    reference: GeneratorReport
    landscape: Landscape
    window: Window
    bounds: Range
    inside: tuple[FixedPoint, ...]
    kept: Range | None

    @property
    def points(self) -> FloatArray:
        return np.concatenate([self.window.points, self.landscape.at_nodes[0].ravel()])


def frame_of(
    processes: Sequence[DiffusionProcess],
    reference: GeneratorReport,
    pairs: Sequence[Range],
    observed: Range | None,
) -> Frame | None:
    """None where models like the processes have to be analysed alone."""
    law = reference.stationary
    if not processes or not isinstance(law, StationaryLaw) or processes[0].periods[0] is not None:
        return None
    first = scalar_view(processes[0])
    if first.bounds != reference.domain and reference.ergodic and observed is None:
        return None
    landscape = _without_zeros(law.landscape, first.bounds, reference.domain, observed)
    if landscape is None:
        return None
    try:
        window = choose_window(first, looked_at(reference, observed))
    except GeneratorError:
        return None
    edges = landscape.edges
    inside = tuple(point for point in reference.fixed_points if edges[0] < point.at[0] < edges[-1])
    kept = None
    if observed is not None:
        wells = [point.at[0] for point in inside if point.stable]
        needed = [*observed, *wells, *(point for pair in pairs for point in pair)]
        kept = min(needed), max(needed)
    return Frame(reference, landscape, window, first.bounds, inside, kept)


def _without_zeros(
    landscape: Landscape, bounds: Range, domain: Range, observed: Range | None
) -> Landscape | None:
    """The panels up to where a vanishes towards an end of the domain that is not the models' own: nothing there is singular.
    None where the process gets there, or that end is their own."""
    singular = (landscape.exponent != 0) | (landscape.order != 0)
    if not singular.any():
        return landscape
    x, psi, log_a = landscape.at_nodes
    at_own_end = [bounds[side] == domain[side] and singular[-side] for side in (0, 1)]
    if observed is None or any(at_own_end):
        return None
    seen = (x >= observed[0]) & (x <= observed[1])
    least = log_a[seen].min() + np.log(FADED)
    kept = np.flatnonzero(((log_a > least) | seen).all(axis=1))
    rows = slice(int(kept[0]), int(kept[-1]) + 1)
    height = psi - log_a
    fall = height.max() - np.array([height[rows][0, 0], height[rows][-1, -1]])
    if np.any((fall < SMALLEST_BARRIER) & singular[[0, -1]]):
        return None
    zero = np.zeros(rows.stop - rows.start)
    return Landscape(
        landscape.base[rows],
        landscape.low[rows],
        landscape.high[rows],
        zero,
        zero,
        psi[rows],
        log_a[rows],
    )


def models_on(frame: Frame, processes: Sequence[DiffusionProcess]) -> Models:
    """Those of the processes that are like the reference."""
    scanned, points = len(frame.window.points), frame.points
    rows = [row for row, bounds in enumerate(_bounds_of_each(processes)) if bounds == frame.bounds]
    b, a = coefficients_at(among(processes, rows), points)
    shape = (len(rows), *frame.landscape.psi.shape)
    models = Models(
        rows=np.array(rows, dtype=np.int64),
        b=b[:, scanned:].reshape(shape),
        a=a[:, scanned:].reshape(shape),
        ergodic=np.full(len(rows), True),
        cut=np.full((len(rows), 2), -1),
        walled=np.full((len(rows), 2), False),
        threshold=np.full(len(rows), np.inf),
        power=np.full(len(rows), -np.inf),
    )
    fits = np.full(len(rows), True)
    for side in SIDES:
        models, fit = _with_end(frame, models, b[:, :scanned], a[:, :scanned], side)
        fits &= fit
    models = models.where(fits)
    flat = models.a.reshape(len(models.rows), shape[1] * shape[2])
    sound = np.all(flat > 0, axis=1) & ~_may_vanish(flat) & np.isfinite(models.b).all(axis=(1, 2))
    rising = models.b.reshape(flat.shape) > 0
    return models.where(
        sound & (np.count_nonzero(np.diff(rising, axis=1), axis=1) == len(frame.inside))
    )


def _bounds_of_each(processes: Sequence[DiffusionProcess]) -> Iterator[Range | None]:
    """None for a process that cannot be analysed."""
    if isinstance(processes, Family):
        yield from [scalar_view(processes[0]).bounds] * len(processes)
        return
    for process in processes:
        try:
            yield scalar_view(process).bounds
        except GeneratorError:
            yield None


def _with_end(
    frame: Frame, models: Models, b: FloatArray, a: FloatArray, side: Literal[-1, 1]
) -> tuple[Models, Bools]:
    """The models held on one side, and whether they can be told from the panels; b and a at the points of the first look."""
    column, x = (0, frame.window.points[::-1]) if side < 0 else (1, frame.window.points)
    b, a = (b[:, ::-1], a[:, ::-1]) if side < 0 else (b, a)
    outside = side * (x - frame.window.centre) > 0
    x, b, a = x[outside], b[:, outside], a[:, outside]
    positive = np.isfinite(a) & np.isfinite(b) & (a > 0)
    everywhere = np.asarray(positive.all(axis=1))
    open_end = bool(np.isinf(frame.bounds[column]))
    closed = frame.bounds[column] != frame.reference.domain[column]
    if open_end:
        returns, power, threshold = far_limits(np.abs(x - frame.window.centre), b, a, side)
    else:
        returns, power, threshold = (
            everywhere.copy(),
            np.full(len(b), -np.inf),
            np.full(len(b), np.inf),
        )
    # Where the noise ends inside the domain, a drift that points back keeps the process from there.
    first_bad = np.argmin(positive, axis=1)
    pulled_back = side * b[np.arange(len(b)), np.maximum(first_bad - 1, 0)] < 0
    lawful = np.where(everywhere, returns, pulled_back if frame.kept is not None else False)
    models, cut = _continued_inward(frame, models, column, side, turning=open_end)
    walled = np.logical_or(cut >= 0, np.full(len(cut), closed or not open_end))
    # A model that runs away beyond the panels is held where they end.
    fits: Bools = np.logical_or(walled | ~returns, ~(power > HEAVY))
    if frame.kept is None:
        fits &= everywhere
    if not open_end and not closed:
        fits &= a[:, -1] > SMALLEST_NOISE * a.max(axis=1)
    if frame.kept is None and not closed:
        fits &= returns
    held = models.walled.copy()
    held[:, column] = walled
    cuts = models.cut.copy()
    cuts[:, column] = cut
    return replace(
        models,
        ergodic=models.ergodic & lawful,
        walled=held,
        cut=cuts,
        threshold=np.minimum(models.threshold, np.where(walled | ~returns, np.inf, threshold)),
        power=np.maximum(models.power, np.where(walled | ~returns, -np.inf, power)),
    ), fits


def _continued_inward(
    frame: Frame, models: Models, column: int, side: int, *, turning: bool
) -> tuple[Models, NDArray[np.int64]]:
    """The models with a drift that falls back by `STEP` a panel from the first panel on that is not like the others; and
    which that is (m,), −1 where there is none.

    turning   whether an outward drift is a reason, as it is not before a wall
    """
    none = np.full(len(models.rows), -1)
    if frame.kept is None:
        return models, none
    x = frame.landscape.at_nodes[0]
    beyond = side * (x - frame.kept[column]) > 0
    outer = np.flatnonzero(beyond.all(axis=1))[::side]
    if not len(outer) or len(outer) == len(beyond):
        return models, none
    seen = (x >= frame.kept[0]) & (x <= frame.kept[1])
    least = np.where(seen, models.a, np.inf).min(axis=(1, 2), keepdims=True)
    bad = ~(
        np.isfinite(models.a) & np.isfinite(models.b) & (models.a > FADED * np.maximum(least, 0))
    )
    if turning:
        bad = bad | (side * models.b > 0)
    unlike = np.any(bad & beyond, axis=2)
    flags = unlike[:, outer]
    # A panel that is beyond in part only is kept whole.
    flags[:, 0] |= np.delete(unlike, outer, axis=1).any(axis=1)
    found = flags.any(axis=1)
    cut = np.where(found, outer[np.argmax(flags, axis=1)], -1)
    b, a = models.b.copy(), models.a.copy()
    for model in np.flatnonzero(found):
        at = int(cut[model])
        rows, last = (
            (slice(at, None), a[model, at - 1, -1])
            if side > 0
            else (slice(0, at + 1), a[model, at + 1, 0])
        )
        a[model, rows] = last
        b[model, rows] = falling(frame, side, rows, last)
    return replace(models, b=b, a=a), cut


def falling(frame: Frame, side: int, rows: slice, a: float) -> FloatArray:
    """(n_rows, 1) drift that keeps a model of constant noise from going further out on these panels: equation (G55)."""
    rates = rates_of(frame.reference)
    # The continuous spectrum of a slope s of the log-density begins at a s²/8.
    least = np.sqrt(8 * FASTER * rates[-1] / a) if len(rates) and a > 0 else 0.0
    slope = np.maximum(STEP / 2 / frame.landscape.half[rows], least)
    return np.asarray(-side * slope / 2 * a)[:, None]


def _may_vanish(a: FloatArray) -> Bools:
    lower, middle, upper = a[:, :-2], a[:, 1:-1], a[:, 2:]
    return np.asarray(
        np.any(
            (middle < DIP * np.maximum(lower, upper)) & (middle <= lower) & (middle <= upper),
            axis=1,
        )
    )
