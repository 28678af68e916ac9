"""Models near a reference, all at once: on the reference's panels, where they share points, matrices and loops.

Most need only those near it; what the reference's panels do not resolve is tried on finer ones. A model that does not fit there
either, has other fixed points, lives further out or has no stationary law, is left to be analysed alone. The numbers are those of
its own analysis to about 1e-4.
"""

from collections.abc import Callable, Iterator, Sequence

import numpy as np
from numpy.typing import NDArray

from worker.generator.line.domain.domain_scan import Window
from worker.generator.line.domain.essential_support import Span, inhabited, part_of
from worker.generator.line.finite_volumes import Cells, cut_into_cells
from worker.generator.line.integrated_autocorrelation import log_integrated_times
from worker.generator.line.landscape import Landscape, with_reference
from worker.generator.line.passages.committors import committors_of_many
from worker.generator.line.passages.exits import Triple, gaps_beyond, log_exit
from worker.generator.line.passages.kramers import log_kramers_time
from worker.generator.line.passages.mean_times import log_mean_time
from worker.generator.line.passages.quantiles import MOST_SAMPLES, log_quantiles_of_many
from worker.generator.line.passages.variance import log_deviations
from worker.generator.line.spectrum import CLOSE, eigenfunctions_on, mesh
from worker.generator.numerics.quadrature import WEIGHTS
from worker.generator.process import DiffusionProcess, FloatArray
from worker.generator.process_batch import among
from worker.generator.quantities.correlations import Memory
from worker.generator.quantities.report import GeneratorReport, Range
from worker.generator.uncertainty.batch_mesh import (
    Frame,
    Models,
    frame_of,
    models_on,
)
from worker.generator.uncertainty.batch_potential import extrema_and_work, topographies
from worker.generator.uncertainty.batch_selection import fitting, roomier, too_wide
from worker.generator.uncertainty.mesh_adaptation import near
from worker.generator.uncertainty.sampled_correlations import CurvePair, curves_near
from worker.generator.uncertainty.sampled_model import (
    Sample,
    exits_of,
    grid_of_functions,
    rates_of,
)
from worker.generator.uncertainty.sturm_bisection import slowest_rates

BATCH = 100
"""Models whose arrays are held at once."""


def analysed_together(
    processes: Sequence[DiffusionProcess],
    reference: GeneratorReport,
    pairs: tuple[Range, ...],
    observed: Range | None,
) -> list[Sample | None]:
    """A sample for each process; None for one that has to be analysed alone."""
    found: list[Sample | None] = [None] * len(processes)
    frame = frame_of(processes, reference, pairs, observed)
    if frame is None or too_wide(frame.landscape):
        return found
    rooms: tuple[Callable[[Sequence[DiffusionProcess]], Frame], ...] = (
        lambda _: near(frame),
        lambda _: frame,
        lambda rest: roomier(frame, rest),
    )
    for room in rooms:
        left = [index for index, sample in enumerate(found) if sample is None]
        if not left:
            break
        shared = room(among(processes, left))
        span = _span_of(shared)
        for first in range(0, len(left), BATCH):
            batch = left[first : first + BATCH]
            landscape, models = fitting(models_on(shared, among(processes, batch)), shared)
            if len(models.rows):
                for row, sample in _samples(
                    landscape, models, shared, pairs, span, np.array(batch)
                ):
                    found[batch[row]] = sample
    return found


def rates_together(
    processes: Sequence[DiffusionProcess], reference: GeneratorReport, observed: Range | None
) -> list[tuple[float, ...] | None]:
    """The rates alone of each process, as far as the reference has them [1/time]; None for one to be analysed alone."""
    found: list[tuple[float, ...] | None] = [None] * len(processes)
    frame = frame_of(processes, reference, (), observed)
    if frame is None or too_wide(frame.landscape):
        return found
    span = _span_of(frame)
    for first in range(0, len(processes), BATCH):
        landscape, models = fitting(models_on(frame, processes[first : first + BATCH]), frame)
        if len(models.rows):
            threshold = models.threshold * (1 - CLOSE)
            for row, rates in enumerate(_rates(landscape, frame, span)):
                found[first + int(models.rows[row])] = tuple(
                    float(rate) for rate in rates if rate < threshold[row]
                )
    return found


def _span_of(frame: Frame) -> Span:
    """Where the reference's law lives."""
    return inhabited(frame.landscape, len(rates_of(frame.reference)))


def _samples(
    landscape: Landscape,
    models: Models,
    frame: Frame,
    pairs: tuple[Range, ...],
    span: Span,
    numbers: NDArray[np.int64],
) -> Iterator[tuple[int, Sample]]:
    """The sample of each model, with its number among the processes at hand; `numbers` are those among all."""
    rates = _rates(landscape, frame, span)
    log_total, mean, variance, skewness, kurtosis = _moments(landscape, frame.window)
    found = extrema_and_work(landscape, models.b, frame.inside)
    extrema = found[0]
    topography = topographies(landscape, models.b, found, frame.inside, frame.reference, log_total)
    cells = cut_into_cells(landscape)
    known = [passage.mean_time.log_value is not None for passage in frame.reference.passages]
    endless = np.full(len(rates), np.inf)
    times = [
        log_mean_time(cells, *pair) if finite else endless
        for pair, finite in zip(pairs, known, strict=True)
    ]
    kramers = [log_kramers_time(extrema, *pair) for pair in pairs]
    exits = [_exit(cells, asked) for asked in exits_of(frame.reference)]
    deviations = _log_deviations(cells, landscape, frame, pairs)
    first = np.flatnonzero(numbers[models.rows] < MOST_SAMPLES)
    quantiles = _log_quantiles(landscape, frame, first, times)
    curves = _curves(landscape, frame, first)
    committors = _committors(landscape, frame.reference)
    integrated = log_integrated_times(
        part_of(landscape, span), part_of(frame.landscape, span), mean, variance
    )
    threshold = models.threshold * (1 - CLOSE)
    isolated = np.where(rates < threshold[:, None], rates, np.nan)
    functions = _eigenfunctions(landscape, frame, span, first, isolated)
    for row, index in enumerate(models.rows):
        yield (
            int(index),
            Sample(
                ergodic=bool(models.ergodic[row]),
                settled=True,
                rates=tuple(isolated[row][np.isfinite(isolated[row])].tolist()),
                mean=float(mean[row]),
                variance=float(variance[row]),
                log_times=tuple(float(time[row]) for time in times),
                log_kramers=tuple(
                    None if np.isnan(time[row]) else float(time[row]) for time in kramers
                ),
                exits=tuple(
                    (float(probability[row]), float(time[row])) for probability, time in exits
                ),
                log_integrated_time=float(integrated[row]),
                skewness=float(skewness[row]) if models.power[row] < -4 else None,
                kurtosis=float(kurtosis[row]) if models.power[row] < -5 else None,
                log_deviations=tuple(
                    None if np.isnan(log[row]) else float(log[row]) for log in deviations
                ),
                committors=tuple(None if band is None else band[row] for band in committors),
                topography=topography[row],
                log_quantiles=tuple(found.get(row) for found in quantiles),
                autocorrelation=curves[row][0] if row in curves else None,
                power_spectrum=curves[row][1] if row in curves else None,
                eigenfunctions=functions.get(row),
            ),
        )


def _exit(cells: Cells, asked: Triple) -> tuple[FloatArray, FloatArray]:
    """(m,) probability to leave at the upper end, and log of the mean time."""
    start, low, high = asked
    if start in (low, high):
        count = len(cells.log_resistance)
        return np.full(count, float(start == high)), np.full(count, -np.inf)
    probability, time = log_exit(cells, asked, gaps_beyond(cells, asked))
    return np.exp(probability), np.asarray(time)


def _rates(landscape: Landscape, frame: Frame, span: Span) -> FloatArray:
    """(m, k) rates: the reference's, times the ratio of both on the same coarse cells, where most of the cells' error cancels."""
    exact = rates_of(frame.reference)
    if not len(exact):
        return np.zeros((len(landscape.psi), 0))
    fine = _spectral_cells(landscape, frame, span)
    rates = (4 * slowest_rates(fine, exact) - slowest_rates(fine.halved(), exact)) / 3
    return np.asarray(exact * rates[1:] / rates[0])


def _spectral_cells(landscape: Landscape, frame: Frame, span: Span) -> Cells:
    """Of the reference and then of the models, an even number, fine enough for the reference's rates."""
    parts, rows = mesh(
        part_of(frame.landscape, span), 1.5 * float(rates_of(frame.reference)[-1]), 1
    )
    if parts.sum() % 2:
        parts[np.argmin(parts)] = 2  # Cells merge in pairs.
    return cut_into_cells(part_of(with_reference(landscape, frame.landscape), span), parts, rows)


def _eigenfunctions(
    landscape: Landscape, frame: Frame, span: Span, rows: NDArray[np.int64], rates: FloatArray
) -> dict[int, FloatArray]:
    """Of the models `rows`, on the reference's grid: the reference's, moved by the difference of both on the same cells.

    rates   (m, k) of all models, as far as they are isolated; nan beyond
    """
    grid, spectrum = grid_of_functions(frame.reference), frame.reference.spectrum
    if grid is None or spectrum is None or spectrum.eigenfunctions is None or not len(rows):
        return {}
    cells = _spectral_cells(landscape.where(rows), frame, span)
    on_cells = slowest_rates(cells, rates_of(frame.reference))
    own, *found = (
        eigenfunctions_on(cells.where(i), on_cells[i], grid) for i in range(len(on_cells))
    )
    known = np.isfinite(rates[rows])[..., None]
    moved = np.where(known, spectrum.eigenfunctions.real + np.array(found) - own, np.nan)
    return dict(zip(rows.tolist(), moved, strict=True))


def _log_deviations(
    cells: Cells, landscape: Landscape, frame: Frame, pairs: tuple[Range, ...]
) -> list[FloatArray]:
    """Of each passage's time: the reference's, times the ratio of both on the same coarse cells; (m,) each, nan where there is
    none."""
    cells_of_reference = cut_into_cells(frame.landscape)
    found = []
    for passage, pair in zip(frame.reference.passages, pairs, strict=True):
        exact = None if passage.deviation is None else passage.deviation.log_value
        if exact is None:
            found.append(np.full(len(landscape.psi), np.nan))
        else:
            found.append(
                exact + log_deviations(cells, *pair) - log_deviations(cells_of_reference, *pair)
            )
    return found


def _log_quantiles(
    landscape: Landscape, frame: Frame, rows: NDArray[np.int64], log_times: list[FloatArray]
) -> list[dict[int, FloatArray]]:
    """For each passage, of the models `rows`: its quantiles (k,)."""
    if not len(rows):
        return [{} for _ in log_times]
    some = landscape.where(rows)
    return [
        dict(
            zip(
                rows.tolist(),
                log_quantiles_of_many(some, frame.landscape, passage, times[rows]),
                strict=True,
            )
        )
        for passage, times in zip(frame.reference.passages, log_times, strict=True)
    ]


def _curves(landscape: Landscape, frame: Frame, rows: NDArray[np.int64]) -> dict[int, CurvePair]:
    """Autocorrelation and power spectrum of the models `rows`."""
    memory = frame.reference.memory
    if not isinstance(memory, Memory) or not len(rows):
        return {}
    found = curves_near(landscape.where(rows), frame.landscape, memory)
    return {int(row): found.of(i) for i, row in enumerate(rows)}


def _committors(landscape: Landscape, reference: GeneratorReport) -> list[FloatArray | None]:
    """(m, n) of each committor that the reference has; None where it reaches beyond the panels."""
    found: list[FloatArray | None] = []
    for committor in reference.committors:
        if committor.found is None:
            continue
        grid = committor.found.grid[0]
        inside = landscape.edges[0] <= grid[0] and grid[-1] <= landscape.edges[-1]
        found.append(
            committors_of_many(landscape, (committor.start, committor.to), grid) if inside else None
        )
    return found


def _moments(
    landscape: Landscape, window: Window
) -> tuple[FloatArray, FloatArray, FloatArray, FloatArray, FloatArray]:
    """(m,) log ∫π, mean, variance, skewness and kurtosis [state], [state²]."""
    x, psi, log_a = landscape.at_nodes
    height = psi - log_a
    top = height.max(axis=(-2, -1), keepdims=True)
    weight = landscape.half[:, None] * WEIGHTS * np.exp(height - top)
    total = weight.sum(axis=(-2, -1), keepdims=True)
    weight /= total
    z = (x - window.centre) / window.scale
    mean = np.sum(weight * z, axis=(-2, -1))
    z = z - mean[:, None, None]
    power, central = weight * z, []
    for _ in range(3):
        power *= z
        central.append(np.sum(power, axis=(-2, -1)))
    variance, third, fourth = central
    shape = third / variance**1.5, fourth / variance**2
    log_total = (top + np.log(total))[:, 0, 0]
    return log_total, window.centre + window.scale * mean, window.scale**2 * variance, *shape
