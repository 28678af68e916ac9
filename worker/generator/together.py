"""Models near a reference, all at once: on the reference's panels, where they share points, matrices and loops.

A model that does not fit there, because it is not resolved, has other fixed points, lives further out or has no stationary law,
is left to be analysed alone. The numbers are those of its own analysis to about 1e-4 of their value.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Literal

import numpy as np
from numpy.polynomial.legendre import legder, legval
from numpy.typing import NDArray

from worker.generator.bisection import slowest_rates
from worker.generator.boundaries import End, classify_end
from worker.generator.cells import cut_into_cells
from worker.generator.errors import GeneratorError
from worker.generator.kramers import Extrema, log_kramers_time, with_widths
from worker.generator.landscape import Landscape
from worker.generator.panels import MAX_RISE
from worker.generator.passages import log_mean_time
from worker.generator.process import DiffusionProcess, FloatArray, scalar_view, values
from worker.generator.quadrature import CUMULATIVE, NODES, ORDER, TO_LEGENDRE, WEIGHTS
from worker.generator.report import GeneratorReport, Range
from worker.generator.sample import DEPTH, Sample, looked_at, rates_of
from worker.generator.spectrum import CLOSE, mesh
from worker.generator.stationary import StationaryLaw
from worker.generator.wells import FixedPoint
from worker.generator.window import Window, choose_window

BATCH = 100
"""Models whose arrays are held at once."""
RESOLVED = 1e-6
"""Last Legendre coefficients of ψ and log a with which a model counts as resolved on the reference's panels."""
DIP = 0.1
"""A minimum of a below this part of its surroundings may be a zero; the model is analysed alone."""
HEAVY = -3.5
"""Power of a tail above which what lies beyond the panels counts in the variance."""
LARGEST_SPAN = 300.0
"""Range of the logarithms of masses and resistances that floating numbers hold with room to spare."""

SIDES: tuple[Literal[-1], Literal[1]] = (-1, 1)

Bools = NDArray[np.bool_]


@dataclass(frozen=True, slots=True, eq=False)
class _Model:
    """A model with a stationary law on the reference's domain: b and a at the panels' nodes (P, ORDER), its ends there.

    ergodic   it has one on its own domain too
    """

    b: FloatArray
    a: FloatArray
    ends: tuple[End, End]
    ergodic: bool = True


@dataclass(frozen=True, slots=True, eq=False)
class _Frame:
    """What the models share: the reference, its panels, the points of the first look at it; all points, and their order."""

    reference: GeneratorReport
    landscape: Landscape
    window: Window
    points: FloatArray
    order: NDArray[np.int64]

    def model_of(self, process: DiffusionProcess) -> _Model | None:
        """The model, or None where something about it is not like the reference."""
        open_model = scalar_view(process)
        model = open_model if self.reference.ergodic else replace(open_model, bounds=self.reference.domain)
        if model.bounds != self.reference.domain:
            return None
        b, a = values(model.b, self.points), values(model.a, self.points)
        if not (np.isfinite(b).all() and np.isfinite(a).all() and (a > 0).all()):
            return None
        scanned, shape = len(self.window.points), self.landscape.psi.shape
        rising = (b > 0)[self.order[b[self.order] != 0]]
        if _may_vanish(a[:scanned]) or np.count_nonzero(rising[1:] != rising[:-1]) != len(_inside(self.reference)):
            return None
        window = replace(self.window, drift=b[:scanned], diffusion=a[:scanned])
        ends = classify_end(model, window, -1), classify_end(model, window, 1)
        if any(end.problem is not None or end.zone is not None for end in ends):
            return None
        if any(end.power is not None and np.isinf(end.at) and end.power > HEAVY for end in ends):
            return None
        ergodic = self.reference.ergodic or not any(
            classify_end(open_model, self.window, side).problem is not None for side in SIDES
        )
        return _Model(b[scanned:].reshape(shape), a[scanned:].reshape(shape), ends, ergodic)


def analysed_together(
    processes: Sequence[DiffusionProcess], reference: GeneratorReport, pairs: tuple[Range, ...], observed: Range | None
) -> list[Sample | None]:
    """A sample for each process; None for one that has to be analysed alone."""
    found: list[Sample | None] = [None] * len(processes)
    frame = _frame(processes, reference, observed)
    if frame is None:
        return found
    for first in range(0, len(processes), BATCH):
        models = {}
        for index, process in enumerate(processes[first : first + BATCH], first):
            try:
                model = frame.model_of(process)
            except GeneratorError:
                continue
            if model is not None:
                models[index] = model
        if models:
            for index, sample in zip(models, _samples(list(models.values()), frame, pairs), strict=True):
                found[index] = sample
    return found


def _frame(processes: Sequence[DiffusionProcess], reference: GeneratorReport, observed: Range | None) -> _Frame | None:
    law = reference.stationary
    if not processes or not isinstance(law, StationaryLaw) or processes[0].periods[0] is not None:
        return None
    landscape = law.landscape
    cells = cut_into_cells(landscape)
    too_wide = max(np.ptp(cells.log_resistance), np.ptp(cells.log_mass)) > LARGEST_SPAN
    if too_wide or landscape.exponent.any() or landscape.order.any():
        return None
    try:
        window = choose_window(replace(scalar_view(processes[0]), bounds=reference.domain), looked_at(reference, observed))
    except GeneratorError:
        return None
    points = np.concatenate([window.points, landscape.at_nodes[0].ravel()])
    return _Frame(reference, landscape, window, points, np.argsort(points, kind="stable"))


def _inside(reference: GeneratorReport) -> list[FixedPoint]:
    """The reference's fixed points in its domain: those of a model held before it escapes may lie further out."""
    return [point for point in reference.fixed_points if reference.domain[0] < point.at[0] < reference.domain[1]]


def _may_vanish(a: FloatArray) -> bool:
    lower, middle, upper = a[:-2], a[1:-1], a[2:]
    return bool(np.any((middle < DIP * np.maximum(lower, upper)) & (middle <= lower) & (middle <= upper)))


def _samples(models: list[_Model], frame: _Frame, pairs: tuple[Range, ...]) -> list[Sample | None]:
    b, a = np.stack([model.b for model in models]), np.stack([model.a for model in models])
    landscape = _stacked(frame.landscape, b, a)
    fits = _resolved(landscape, frame.landscape, b, a) & np.array([_fallen(landscape, i, m.ends) for i, m in enumerate(models)])
    if not fits.any():
        return [None] * len(models)
    landscape = replace(landscape, psi=landscape.psi[fits], log_a=landscape.log_a[fits])
    rates = _rates(landscape, frame)
    mean, variance = _moments(landscape, frame.window)
    extrema = _extrema(landscape, b[fits], frame.reference)
    cells = cut_into_cells(landscape)
    known = [passage.mean_time.log_value is not None for passage in frame.reference.passages]
    endless = np.full(len(rates), np.inf)
    times = [log_mean_time(cells, *pair) if finite else endless for pair, finite in zip(pairs, known, strict=True)]
    kramers = [log_kramers_time(extrema, *pair) for pair in pairs]
    samples: list[Sample | None] = [None] * len(models)
    for row, index in enumerate(np.flatnonzero(fits)):
        threshold = min(end.threshold for end in models[index].ends) * (1 - CLOSE)
        samples[index] = Sample(
            ergodic=models[index].ergodic,
            settled=True,
            rates=tuple(float(rate) for rate in rates[row] if rate < threshold),
            mean=float(mean[row]),
            variance=float(variance[row]),
            log_times=tuple(float(time[row]) for time in times),
            log_kramers=tuple(None if np.isnan(time[row]) else float(time[row]) for time in kramers),
        )
    return samples


def _stacked(reference: Landscape, b: FloatArray, a: FloatArray) -> Landscape:
    """The models' landscape on the reference's panels."""
    half = reference.half[:, None]
    slope = 2 * b / a
    total = half[:, 0] * (slope @ WEIGHTS)
    psi = (np.cumsum(total, axis=-1) - total)[..., None] + half * (slope @ CUMULATIVE.T)
    return replace(reference, psi=psi, log_a=np.log(a), tails=(-np.inf, -np.inf))


def _resolved(landscape: Landscape, reference: Landscape, b: FloatArray, a: FloatArray) -> Bools:
    """Whether each model is as smooth as the panels need, and not much steeper there than the reference."""
    half = reference.half[:, None]
    left = np.abs((2 * b / a) @ TO_LEGENDRE[-2:].T) * half, np.abs(landscape.log_a @ TO_LEGENDRE[-2:].T)
    smooth = np.max(np.maximum(*left), axis=(-2, -1)) < RESOLVED
    rise, usual = (np.ptp(psi, axis=-1) for psi in (landscape.psi, reference.psi))
    return np.asarray(smooth & np.all(rise < 2 * np.maximum(usual, MAX_RISE), axis=-1))


def _fallen(landscape: Landscape, index: int, ends: tuple[End, End]) -> bool:
    """Whether the density is low enough at both ends of the panels that nothing beyond them counts."""
    height = landscape.psi[index] - landscape.log_a[index] / 2
    fall = np.max(height) - np.array([height[0, 0], height[-1, -1]])
    return all(end.wall or depth > DEPTH for end, depth in zip(ends, fall, strict=True))


def _rates(landscape: Landscape, frame: _Frame) -> FloatArray:
    """(m, k) rates: the reference's, times the ratio of both on the same coarse cells, where most of the cells' error cancels."""
    exact = rates_of(frame.reference)
    if not len(exact):
        return np.zeros((len(landscape.psi), 0))
    parts, rows = mesh(frame.landscape, 1.5 * float(exact[-1]), 1)
    if parts.sum() % 2:
        parts[np.argmin(parts)] = 2  # Cells merge in pairs.
    psi = np.concatenate([frame.landscape.psi[None], landscape.psi])
    log_a = np.concatenate([frame.landscape.log_a[None], landscape.log_a])
    fine = cut_into_cells(replace(landscape, psi=psi, log_a=log_a), parts, rows)
    rates = (4 * slowest_rates(fine, exact) - slowest_rates(fine.halved(), exact)) / 3
    return np.asarray(exact * rates[1:] / rates[0])


def _moments(landscape: Landscape, window: Window) -> tuple[FloatArray, FloatArray]:
    """Mean (m,) and variance (m,) [state], [state²]."""
    x, psi, log_a = landscape.at_nodes
    height = psi - log_a
    weight = landscape.half[:, None] * WEIGHTS * np.exp(height - height.max(axis=(-2, -1), keepdims=True))
    weight /= weight.sum(axis=(-2, -1), keepdims=True)
    z = (x - window.centre) / window.scale
    mean = np.sum(weight * z, axis=(-2, -1))
    variance = np.sum(weight * (z - mean[:, None, None]) ** 2, axis=(-2, -1))
    return window.centre + window.scale * mean, window.scale**2 * variance


def _extrema(landscape: Landscape, b: FloatArray, reference: GeneratorReport) -> Extrema:
    """The fixed points of each model (m, n), found as roots of the polynomials that the panels hold of b."""
    inside = _inside(reference)
    count, stable = len(inside), np.array([point.stable for point in inside], bool)
    flat = b.reshape(len(b), -1)
    # A node that is a fixed point itself has the sign of the one before it.
    known = np.maximum.accumulate(np.where(flat != 0, np.arange(flat.shape[1]), 0), axis=1)
    crossing = np.diff(np.take_along_axis(flat > 0, known, axis=1)) != 0
    usual = np.count_nonzero(crossing, axis=1) == count
    nodes = np.zeros((len(b), count), dtype=np.int64)
    nodes[usual] = known[:, :-1][crossing & usual[:, None]].reshape(np.count_nonzero(usual), count)
    panel, first = np.divmod(nodes, ORDER)
    models = np.arange(len(b))[:, None]
    polynomial = np.moveaxis(b[models, panel] @ TO_LEGENDRE.T, -1, 0)
    slope = np.asarray(legder(polynomial), dtype=np.float64)
    t = NODES[first]
    for _ in range(20):
        t = np.clip(t - legval(t, polynomial, tensor=False) / legval(t, slope, tensor=False), -1.1, 1.1)
    half = landscape.half[panel]
    at = landscape.base[panel] + landscape.low[panel] + half * (t + 1)
    psi, log_a = (
        np.asarray(legval(t, np.moveaxis(table[models, panel] @ TO_LEGENDRE.T, -1, 0), tensor=False), dtype=np.float64)
        for table in (landscape.psi, landscape.log_a)
    )
    psi = np.where(usual[:, None], psi, np.nan)
    return with_widths(at, stable, psi, log_a, np.asarray(legval(t, slope, tensor=False) / half, dtype=np.float64))
